// What was understood of a file: its columns with their gaps, and its first rows.
import { $, el } from "./dom.js";

const number = value => value === null ? "" : Math.abs(value) >= 1e6 || (value && Math.abs(value) < 1e-3) ? value.toExponential(2) : Number(value.toPrecision(6)).toLocaleString("en");

export function showColumns(look, kinds, changed) {
  const body = document.querySelector("#columns tbody");
  const chosen = new Map(Array.from(body.rows, row => [row.dataset.name, row.querySelector("select")?.value ?? ""]));
  const listed = new Map(look.columns.map(one => [one.name, one]));
  // columns that were taken out stay in the list, so that they can be put back
  const kept = Array.from(body.rows, row => row.dataset.name).filter(name => !listed.has(name) && look.all_columns.includes(name) && !look.time.includes(name) && !look.id.includes(name));
  const names = look.all_columns.filter(name => listed.has(name) || kept.includes(name));
  for (const one of look.columns) if (!names.includes(one.name)) names.push(one.name);  // of a table that was turned upright
  body.replaceChildren(...names.map(name => listed.has(name) ? row(listed.get(name), kinds, chosen.get(name) ?? "", changed) : outRow(name, changed)));
  drawStrips(look);
}

function box(name, checked, changed) {
  const input = el("input", { type: "checkbox", checked });
  input.addEventListener("change", changed);
  return el("th", { scope: "row" }, el("label", { title: name }, input, el("span", { textContent: name })));
}

function row(one, kinds, kind, changed) {
  const select = el("select", { ariaLabel: `${one.name} is taken for`, title: one.why });
  select.append(new Option(one.kind, ""), ...kinds.filter(name => name !== one.kind).map(name => new Option(name, name)));
  select.value = kind && kind !== one.kind ? kind : "";
  if (kind === one.kind) { select.options[0].value = kind; }
  select.addEventListener("change", changed);
  const made = el("tr", {}, box(one.name, true, changed), el("td", { className: "word" }, select),
    el("td", { textContent: one.missing ? one.missing.toLocaleString("en") : "none" }),
    el("td", { className: "extra", textContent: one.gaps ? one.gaps.toLocaleString("en") : "" }),
    el("td", { className: "extra", textContent: one.longest ? one.longest.toLocaleString("en") : "" }),
    el("td", { className: "extra", textContent: number(one.low) }), el("td", { className: "extra", textContent: number(one.high) }),
    el("td", { className: "strip" }, el("canvas", { ariaHidden: "true" })));
  made.dataset.name = one.name;
  return made;
}

function outRow(name, changed) {
  const made = el("tr", { className: "out" }, box(name, false, changed), el("td", { className: "word", colSpan: 7, textContent: "left as it is" }));
  made.dataset.name = name;
  return made;
}

export function drawStrips(look) {
  const css = getComputedStyle(document.documentElement), colour = name => css.getPropertyValue(`--${name}`).trim();
  const shades = [colour("seen"), colour("part"), colour("gone")];
  const strips = new Map(look.columns.map(one => [one.name, one.map]));
  for (const line of document.querySelectorAll("#columns tbody tr")) {
    const canvas = line.querySelector("canvas"), map = strips.get(line.dataset.name);
    if (!canvas || !map) continue;
    const wide = Math.max(Math.round(canvas.clientWidth * devicePixelRatio), 1), pen = canvas.getContext("2d");
    canvas.width = wide;
    canvas.height = 20;
    pen.fillStyle = shades[0];
    pen.fillRect(0, 0, wide, 20);
    map.forEach((share, k) => {
      if (!share) return;
      pen.fillStyle = share < 0.5 ? shades[1] : shades[2];
      const from = Math.floor(k * wide / map.length);
      pen.fillRect(from, 0, Math.max(Math.ceil((k + 1) * wide / map.length) - from, 2), 20);
    });
  }
}

export function showPreview(look) {
  const names = look.all_columns.slice(0, look.preview.length);
  const head = el("tr", {}, ...names.map(name => el("th", { scope: "col", textContent: name, title: name })));
  const rows = (look.preview[0] ?? []).map((_, i) => el("tr", {}, ...look.preview.map(column => {
    const text = column[i] ?? "";
    return el("td", text.trim() ? { textContent: text, title: text } : { textContent: "–", className: "gap" });
  })));
  document.querySelector("#preview thead").replaceChildren(head);
  document.querySelector("#preview tbody").replaceChildren(...rows);
}
