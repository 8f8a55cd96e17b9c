(() => {
"use strict";
// Draws the figures from the JSON beside it (see figures.py for its codes); nothing is loaded from anywhere.
const $ = id => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const DRAWN = Number($("data").dataset.drawn);
const METHODS = ["#0072b2", "#cc79a7", "#009e73", "#e69f00", "#d55e00", "#56b4e9", "#f0e442", "#999999"];
const coarse = matchMedia("(pointer: coarse)").matches;
const narrow = () => innerWidth < 600;
const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
// plotly reads a little HTML in its labels
const safe = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const labels = data.labels.map(safe);
const at = tick => data.origin + data.unit * tick;
const config = {
  responsive: true, displaylogo: false, scrollZoom: false, showTips: false, displayModeBar: coarse ? true : "hover",
  modeBarButtons: [["zoomIn2d", "zoomOut2d", "resetScale2d", "toImage"]],
};

function axis(more) {
  return { gridcolor: css("line"), linecolor: css("line"), zeroline: false, tickfont: { size: 12 }, ...more };
}

function layout(more) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: css("ink") },
    hoverlabel: { font: { size: 13 } }, margin: { l: 8, r: 12, t: coarse ? 30 : 10, b: 8 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: css("soft"), activecolor: css("ink") },
    dragmode: coarse ? false : "zoom", ...more,
  };
}

function timeAxis(more) {
  return axis({ type: data.dated ? "date" : "linear", automargin: true, nticks: narrow() ? 5 : 10, ...more });
}

// The gap map as a picture in the axes' own coordinates: a rectangle for each run of bins in the same state.
function mapRuns() {
  const { x, z, bins } = data.map, runs = [];
  z.forEach((row, j) => {
    for (let from = 0, to; row && from < bins; from = to) {
      for (to = from + 1; to < bins && row[to] === row[from];) to++;
      if (row[from] !== "0") runs.push({ j, state: Number(row[from]), from: x[from], to: x[to] });
    }
  });
  return runs;
}

function mapImage(runs) {
  const { x } = data.map, canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
  const high = labels.length <= 60 ? 20 : Math.max(Math.floor(8000 / labels.length), 1), rim = high >= 20 ? 2 : 0;
  canvas.width = 3000;
  canvas.height = labels.length * high;
  const across = canvas.width / (x.at(-1) - x[0] || 1);
  pen.fillStyle = css("m0");
  labels.forEach((_, j) => pen.fillRect(0, j * high + rim / 2, canvas.width, high - rim));
  for (const { j, state, from, to } of runs) {
    pen.fillStyle = css("m" + state);
    pen.fillRect((from - x[0]) * across, j * high + rim / 2, Math.max((to - from) * across, 2), high - rim);
  }
  return canvas.toDataURL();
}

function drawMap() {
  const { x, rows } = data.map, runs = mapRuns(), start = at(x[0]), end = at(x.at(-1));
  const words = ["observed", "partly filled", rows > 1 ? "mostly filled" : "filled", "left empty"];
  // points that nobody sees carry the words under the pointer; of very many runs the longest have them
  const told = runs.toSorted((a, b) => (b.to - b.from) - (a.to - a.from)).slice(0, 4000);
  const trace = {
    type: "scatter", mode: "markers", marker: { size: 18, opacity: 0 },
    x: told.map(run => at((run.from + run.to) / 2)), y: told.map(run => labels[run.j]),
    text: told.map(run => words[run.state]), hovertemplate: "%{y}<br>%{x}<br>%{text}<extra></extra>",
  };
  const height = Math.min(Math.max(labels.length * 20, 60), 760) + (coarse ? 74 : 54);
  Plotly.react($("map"), [trace], layout({
    height, hovermode: "closest", xaxis: timeAxis({ showgrid: false, range: [start, end] }),
    yaxis: axis({
      type: "category", categoryorder: "array", categoryarray: labels, range: [labels.length - 0.5, -0.5],
      automargin: true, showgrid: false, ticks: "",
      tickfont: { size: narrow() ? 10 : 12 }, ...(labels.length <= 35 ? { dtick: 1 } : {}),
    }),
    images: [{
      source: mapImage(runs), xref: "x", yref: "y", x: start, y: -0.5, sizex: end - start, sizey: labels.length,
      sizing: "stretch", layer: "below",
    }],
  }), config);
}

function drawBars() {
  const { column, cells, empty } = data.bars;
  if (!column.length) { $("bars").remove(); $("bars-key").remove(); return; }
  const bar = ({ name, x, color }) => ({
    type: "bar", orientation: "h", name: safe(name), x, y: column.map(j => labels[j]),
    marker: { color }, hovertemplate: "%{y}<br>%{x:,} cells<extra>%{fullData.name}</extra>",
  });
  const parts = data.methods.map((name, k) => ({ name, x: cells[k], color: METHODS[k % METHODS.length] }));
  const drawn = [...parts, { name: "left empty", x: empty, color: css("m3") }].filter(part => part.x.some(Boolean));
  // plotly's own legend would lie on the bars of a narrow page
  $("bars-key").replaceChildren(...drawn.map(({ name, color }) => {
    const word = document.createElement("span");
    word.textContent = name;
    word.style.setProperty("--own", color);
    return word;
  }));
  Plotly.react($("bars"), drawn.map(bar), layout({
    barmode: "stack", bargap: 0.25, height: column.length * 22 + 50, dragmode: false, margin: { l: 8, r: 12, t: 8, b: 8 },
    xaxis: axis({ automargin: true, fixedrange: true, nticks: narrow() ? 4 : 8 }),
    yaxis: axis({
      type: "category", autorange: "reversed", automargin: true, fixedrange: true, showgrid: false, dtick: 1,
      tickfont: { size: narrow() ? 10 : 12 },
    }),
  }), { ...config, displayModeBar: false });
}

const numbers = text => text ? text.split(",").map(v => v === "" ? null : Number(v)) : [];

// Takes one column apart: lines of observed points, stretches of fills from neighbour to neighbour, polygons.
function takeApart(one) {
  const step = numbers(one.t), value = numbers(one.v);
  const lo = numbers(one.lo), hi = numbers(one.hi);
  const line = { x: [], y: [] }, fill = { x: [], y: [], text: [] }, dots = { x: [], y: [], text: [] };
  const band = { x: [], y: [] }, lone = { x: [], y: [] }, sole = { x: [], y: [], text: [] };
  let tick = 0, filled = 0, stretch = [], chain = [], before = null;

  function polygon(points) {
    if (points.length < 2) return;
    for (const p of points) { band.x.push(p.x); band.y.push(p.hi); }
    for (const p of points.slice().reverse()) { band.x.push(p.x); band.y.push(p.lo); }
    band.x.push(points[0].x, null); band.y.push(points[0].hi, null);
  }
  function endStretch() {
    const own = stretch.filter(p => p.text);
    for (const p of stretch) { fill.x.push(p.x); fill.y.push(p.y); fill.text.push(p.text); }
    fill.x.push(null); fill.y.push(null); fill.text.push("");
    for (const part of [own.length <= 2 ? dots : null, stretch.length === 1 ? sole : null])
      if (part) for (const p of own) { part.x.push(p.x); part.y.push(p.y); part.text.push(p.text); }
    if (lo.length) {
      let run = [];
      for (const p of stretch) if (p.lo === null || p.hi === null) { polygon(run); run = []; } else run.push(p);
      polygon(run);
    }
    stretch = [];
  }
  function endChain() {
    if (chain.length === 1) { lone.x.push(chain[0].x); lone.y.push(chain[0].y); }
    for (const p of chain) { line.x.push(p.x); line.y.push(p.y); }
    line.x.push(null); line.y.push(null);
    chain = [];
  }
  for (let k = 0; k < value.length; k++) {
    tick += step[k];
    const code = one.s.charCodeAt(k) - 48, p = { x: at(tick), y: value[k], lo: value[k], hi: value[k], text: "" };
    if (code < 4) {
      if (!(code & 1) && chain.length) endChain();
      chain.push(p);
      if (stretch.length) { if (code & 2) stretch.push({ ...p }); endStretch(); }
    } else {
      const method = data.methods[one.m.charCodeAt(filled) - 97] ?? "";
      p.text = "filled by " + safe(method);
      if (lo.length) {
        p.lo = lo[filled]; p.hi = hi[filled];
        if (p.lo !== null && p.hi !== null) p.text += `<br>${p.lo} to ${p.hi}`;
      }
      filled++;
      if (code === 4 && stretch.length) endStretch();
      if (code === 5 && !stretch.length && before) stretch.push({ ...before });
      stretch.push(p);
    }
    before = p;
  }
  if (chain.length) endChain();
  if (stretch.length) endStretch();
  if (dots.x.length > 1500) return { line, lone, fill, dots: sole, band };  // many are slow, and lines are there
  return { line, lone, fill, dots, band };
}

// plotly gives the ends of a time axis as "2013-04-08 17:30:12.5", in full or cut short
function milliseconds(end) {
  if (typeof end === "number") return end;
  const [day, time = "00:00"] = end.split(" ");
  return Date.parse(`${day}T${time.length === 2 ? time + ":00" : time}Z`);
}

function extent(parts, from, to) {
  let low = Infinity, high = -Infinity;
  for (const { x, y } of [parts.line, parts.fill, parts.band])
    for (let k = 0; k < x.length; k++)
      if (x[k] !== null && x[k] >= from && x[k] <= to) {
        low = Math.min(low, y[k]); high = Math.max(high, y[k]);
      }
  if (!(low <= high)) return null;
  const room = (high - low) * 0.06 || Math.abs(high) * 0.01 || 1;
  return [low - room, high + room];
}

function drawSeries(figure, one) {
  const parts = takeApart(one), blue = css("observed"), orange = css("filled");
  const trace = (name, part, more) => ({ type: "scatter", name, x: part.x, y: part.y, connectgaps: false, ...more });
  const hover = { hovertemplate: "%{x}<br><b>%{y}</b><br>%{text}<extra></extra>" };
  const traces = [
    trace("interval", parts.band, {
      mode: "lines", fill: "toself", fillcolor: css("band"), line: { width: 0 }, hoverinfo: "skip",
    }),
    trace("observed", parts.line, {
      mode: "lines", line: { color: blue, width: 1.2 }, hovertemplate: "%{x}<br><b>%{y}</b><extra>observed</extra>",
    }),
    trace("observed points", parts.lone, { mode: "markers", marker: { color: blue, size: 2.5 }, hoverinfo: "skip" }),
    trace("filled", parts.fill, {
      mode: "lines", line: { color: orange, width: 2 }, text: parts.fill.text, ...hover,
    }),
    trace("filled points", parts.dots, {
      mode: "markers", marker: { color: orange, size: 4 }, text: parts.dots.text, ...hover,
    }),
  ].filter(t => t.x.length || t.name === "observed");
  const range = extent(parts, -Infinity, Infinity), whole = [at(data.map.x[0]), at(data.map.x.at(-1))];
  const slider = { visible: true, thickness: 0.13, bgcolor: css("panel"), bordercolor: css("line"), range: whole };
  if (range) slider.yaxis = { rangemode: "fixed", range };
  Plotly.react(figure, traces, layout({
    height: narrow() ? 260 : 300, hovermode: "closest",
    xaxis: timeAxis({ range: whole, rangeslider: slider }),
    yaxis: axis({ automargin: true, nticks: 6, fixedrange: true, ...(range ? { range } : {}) }),
  }), config);
  if (figure.dataset.listens) return;
  figure.dataset.listens = "yes";
  // the y axis follows what is in sight
  figure.on("plotly_relayout", change => {
    if (!Object.keys(change).some(key => key.startsWith("xaxis"))) return;
    const ends = figure.layout.xaxis.range.map(milliseconds);
    const seen = extent(figure.parts, ends[0], ends[1]);
    if (seen) Plotly.relayout(figure, { "yaxis.range": seen });
  });
  figure.on("plotly_click", ({ points: [point] }) => {
    if (point.data.name.startsWith("filled")) tellParent({ t1: "gap", column: one.c, x: milliseconds(point.x), dated: data.dated });
  });
  figure.parts = parts;
}

// Inside another page (t1 serve) the report tells which filled stretch was clicked, and how high it is.
function tellParent(message) {
  if (parent !== window) parent.postMessage(message, "*");
}

function place(parent, one) {
  const title = document.createElement("h3"), note = document.createElement("small");
  title.className = "title";
  title.textContent = data.labels[one.c] + " ";
  note.textContent = one.missing ? `${one.missing.toLocaleString("en")} missing` : "complete";
  if (one.step) note.textContent += `; thinned, extremes of every ${one.step.toLocaleString("en")} rows kept`;
  title.append(note);
  const figure = document.createElement("div");
  figure.className = "figure series";
  figure.style.minHeight = "260px";
  parent.append(title, figure);
  return figure;
}

const shown = [];  // [figure, series]
let queue = [];
function next() {
  const job = queue.shift();
  if (!job) { document.body.dataset.ready = "yes"; return; }
  job();
  setTimeout(next, 0);  // the page stays usable meanwhile
}

function drawAll() {
  const idle = !queue.length;
  queue = [drawMap, drawBars, ...shown.map(([figure, one]) => () => drawSeries(figure, one))];
  if (idle) next();
}

for (const one of data.series.slice(0, DRAWN)) shown.push([place($("first"), one), one]);
const others = data.series.slice(DRAWN);
if (others.length) {
  $("others").hidden = false;
  others.forEach((one, k) => $("pick").add(new Option(`${data.labels[one.c]} (${one.missing ? one.missing.toLocaleString("en") + " missing" : "complete"})`, String(k))));
  const pick = () => {
    const one = others[Number($("pick").value)];
    $("picked").querySelectorAll(".figure").forEach(old => Plotly.purge(old));
    $("picked").replaceChildren();
    const figure = place($("picked"), one);
    shown.splice(DRAWN, 1, [figure, one]);
    return () => drawSeries(figure, one);
  };
  pick();
  $("pick").addEventListener("change", () => pick()());
}
drawAll();
if (parent !== window) document.body.classList.add("inside");
new ResizeObserver(() => tellParent({ t1: "height", height: document.body.scrollHeight })).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
