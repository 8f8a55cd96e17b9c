// A job: its progress, its result, the cells of a gap.
import { $, attempt, el, tell } from "./dom.js";
import { forget } from "./earlier.js";
import { ask } from "./server.js";

let job = null, source = null, clock = null, seenAt = 0;
const OVER = ["done", "failed", "cancelled"];
const LEARNS = /^(hiding|judging|training|tuning)/;  // stages in which stopping saves time

export async function showJob(id) {
  for (const part of ["running", "failed", "result"]) $(part).hidden = true;
  const found = await attempt(() => ask("GET", `/v1/jobs/${id}`));
  if (!found) { if ($("token").hidden) forget(id); return; }
  draw(found);
  const first = [$("job-name"), $("failed-title"), $("result-title")].find(one => one.checkVisibility());
  first?.focus();
  if (OVER.includes(found.state)) return;
  source = new EventSource(found.links.events);  // comes back by itself after a break
  source.addEventListener("job", event => draw(JSON.parse(event.data)));
  source.addEventListener("gone", () => { leaveJob(); tell({ detail: "The job was deleted." }); });
  clock = setInterval(tick, 500);
}

export function leaveJob() {
  source?.close();
  clearInterval(clock);
  source = clock = job = null;
  $("report").removeAttribute("src");
  $("cells").replaceChildren();
}

function draw(now) {
  const before = job?.state;
  job = now;
  seenAt = performance.now();
  $("running").hidden = OVER.includes(job.state);
  $("failed").hidden = job.state === "done" || !OVER.includes(job.state);
  $("result").hidden = job.state !== "done";
  if (OVER.includes(job.state)) { source?.close(); clearInterval(clock); }
  if (job.state === "done") { if (before !== "done") showResult(); }
  else if (OVER.includes(job.state)) showFailure();
  else showProgress();
}

// ---------------------------------------------------------------- progress

const spoken = text => text[0].toUpperCase() + text.slice(1);
function time(seconds) {
  const s = Math.max(Math.round(seconds), 0);
  return s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}

function showProgress() {
  $("job-name").textContent = job.name;
  const { progress } = job, waits = job.waiting ? `, ${job.waiting} more in the queue` : "";
  const stage = job.state === "queued" ? `Waiting for its turn${waits}` : progress ? spoken(progress.stage) : "Starting";
  if ($("stage").textContent !== stage) $("stage").textContent = stage;
  document.title = `${stage}: ${job.name}`;
  $("stop").hidden = progress?.seconds_left == null || !LEARNS.test(progress.stage);
  $("stop").disabled = Boolean(progress?.stopping);
  $("stop-note").hidden = $("stop").hidden || !progress.stopping;
  $("best").textContent = progress?.best_error == null ? "–" : progress.best_error.toPrecision(3);
  tick();
}

function tick() {
  const progress = job?.progress, since = (performance.now() - seenAt) / 1000;
  const spent = progress ? progress.seconds + since : 0;
  $("time-spent").textContent = progress ? time(spent) : "–";
  if (progress?.seconds_left == null || progress.stopping) {
    $("bar").removeAttribute("value");
    $("time-left").textContent = progress?.stopping ? "finishing" : "–";
    return;
  }
  const left = Math.max(progress.seconds_left - since, 0);
  $("bar").value = spent / Math.max(spent + left, 1e-9);
  $("time-left").textContent = left > 0 ? `at most ${time(left)}` : "finishing";
}

function showFailure() {
  const problem = job.problem ?? {};
  $("failed-title").textContent = job.state === "cancelled" ? `${job.name} was cancelled` : `${job.name} could not be filled`;
  $("failed-detail").textContent = job.state === "cancelled" ? "Nothing was filled. Choose the file again to start over." : spoken(problem.detail ?? "It failed.");
  $("failed-cure").textContent = problem.cure ?? "";
  document.title = $("failed-title").textContent;
}

// ---------------------------------------------------------------- result

function link(id, address, query) {
  $(id).href = query ? address + (address.includes("?") ? "&" : "?") + query : address;
}

function showResult() {
  const { summary, links } = job;
  const cells = summary.filled.toLocaleString("en"), left = summary.missing - summary.filled;
  $("result-title").textContent = `${cells} cell${summary.filled === 1 ? "" : "s"} filled in ${job.name}`;
  $("verdict").textContent = spoken(summary.verdict) + (left > 0 ? ` ${left.toLocaleString("en")} were left empty.` : "");
  document.title = `Filled: ${job.name}`;
  link("get-result", links.result);
  link("get-scorecard", links.scorecard);
  link("get-provenance", links.provenance);
  link("get-report", links.report, "download=true");
  $("model-note").hidden = !job.model;
  $("model-note").textContent = job.model ? `The model is kept: POST new rows to ${links.model}/fill.` : "";
  $("cells-column").replaceChildren(...summary.columns.map(name => new Option(name, name)));
  $("report").src = links.report;
  $("expires").textContent = job.expires ? `It is kept until ${new Date(1000 * job.expires).toLocaleDateString()}.` : "";
  $("result-title").focus({ preventScroll: true });
}

const digits = value => value === null ? "–" : Number(value.toPrecision(6)).toLocaleString("en", { maximumSignificantDigits: 6 });

async function showCells(query) {
  const found = await attempt(() => ask("GET", `/v1/jobs/${job.id}/cells?${new URLSearchParams(query)}`));
  if (!found) return;
  // a click may be told twice: what is shown already, perhaps with where it came from, stays
  const gap = `${job.id} ${found.column} ${found.cells[0].row}`, place = $("cells");
  if (place.dataset.gap === gap && place.children.length) return;
  place.dataset.gap = gap;
  const { cells } = found, first = cells[0], banded = cells.some(cell => cell.lo !== null);
  const heads = ["Row", ...(first.time ? ["Time"] : []), ...(first.id ? ["Series"] : []), "Fill", ...(banded ? ["From", "To"] : []), "Method", "Rule"];
  const rows = cells.map(cell => el("tr", {},
    el("th", { scope: "row", textContent: cell.row ?? "added" }),
    ...(first.time ? [el("td", { textContent: cell.time })] : []), ...(first.id ? [el("td", { textContent: cell.id })] : []),
    el("td", { textContent: digits(cell.value) }), ...(banded ? [el("td", { textContent: digits(cell.lo) }), el("td", { textContent: digits(cell.hi) })] : []),
    el("td", { textContent: cell.method ?? "left empty" }), el("td", { textContent: cell.rule ?? "" })));
  const tested = first.tested ? "Gaps like this one were tested: the scorecard says how wrong." : "No gap like this one could be tested.";
  const words = `${found.column}: a gap of ${first.gap_length.toLocaleString("en")} row${first.gap_length === 1 ? "" : "s"}. ${tested}${found.more ? ` ${found.more} further cells are in the provenance.` : ""}`;
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads.map(head => el("th", { scope: "col", textContent: head })))), el("tbody", {}, ...rows));
  const scroll = el("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "The cells of the gap" }, table);
  place.replaceChildren(el("p", { textContent: words }), scroll, origin(found));
  $("cells-column").value = found.column;
}

// Where the fill of the cell in the middle of a gap came from: how far it moves without each column.
function origin({ column, cells }) {
  const place = el("div", { className: "origin" });
  const middle = cells.filter(cell => cell.row !== null && cell.value !== null)[Math.floor(cells.length / 2)] ?? cells[0];
  if (!job.model || middle.row === null) {
    place.append(el("p", { className: "soft", textContent: "Where a fill came from can be asked when the model is kept (Options)." }));
    return place;
  }
  const button = el("button", { type: "button", textContent: "Where did this fill come from?" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    button.textContent = "Filling it again without each column …";
    const found = await attempt(() => ask("GET", `/v1/jobs/${job.id}/explain?${new URLSearchParams({ column, row: middle.row })}`));
    button.remove();
    if (!found) return;
    const looked = found.columns.some(one => one.attention !== null);
    const heads = ["Without", "The fill is", "Moved by", ...(looked ? ["T1 looked"] : [])];
    const rows = found.columns.map(one => el("tr", {}, el("th", { scope: "row", textContent: one.column }),
      el("td", { textContent: digits(one.without) }), el("td", { textContent: digits(one.moved) }),
      ...(looked ? [el("td", { textContent: one.attention === null ? "–" : `${Math.round(100 * one.attention)} %` })] : [])));
    const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads.map(head => el("th", { scope: "col", textContent: head })))), el("tbody", {}, ...rows));
    place.append(el("p", { textContent: `Row ${middle.row} was filled with ${digits(found.value)} by ${found.method}. The further the fill moves without a column, the more of it came from there.` }),
      el("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Where the fill came from" }, table));
  });
  place.append(el("p", {}, button));
  return place;
}

// The report tells how high it is, and which filled stretch was clicked.
addEventListener("message", event => {
  if (event.source !== $("report").contentWindow || !job) return;
  const told = event.data ?? {};
  if (told.t1 === "height" && Number.isFinite(told.height)) $("report").style.height = `${Math.min(Math.max(told.height, 300), 60000) + 4}px`;
  if (told.t1 === "gap" && Number.isInteger(told.column) && Number.isFinite(told.x)) {
    const where = told.dated ? { time: new Date(told.x).toISOString() } : { place: Math.max(Math.round(told.x), 0) };
    showCells({ column: job.summary.columns[told.column], ...where }).then(() => $("cells-form").scrollIntoView({ block: "start", behavior: "smooth" }));
  }
});

$("cells-form").addEventListener("submit", event => {
  event.preventDefault();
  const where = $("cells-where").value.trim() || "0";
  showCells({ column: $("cells-column").value, ...(/^\d+$/.test(where) ? { row: where } : { time: where }) });
});
$("stop").addEventListener("click", () => attempt(async () => draw(await ask("POST", `/v1/jobs/${job.id}/stop`))));
$("cancel").addEventListener("click", async () => { const now = await attempt(() => ask("POST", `/v1/jobs/${job.id}/cancel`)); if (now) draw(now); });
$("delete").addEventListener("click", async () => {
  const { id } = job;
  if (await attempt(() => ask("DELETE", `/v1/jobs/${id}`)) === null) { forget(id); location.href = "/"; }
});
