// The page of t1 serve: a file, how it is understood, how to fill it, the job, its result.
// Everything that comes from a file is put into the page as text, never as HTML.
import { $, attempt, el, tell } from "./dom.js";
import { earlier, remember } from "./earlier.js";
import { ask, setToken, upload } from "./server.js";
import { drawStrips, showColumns, showPreview } from "./table.js";
import { showJob, leaveJob } from "./job.js";

let file = null, look = null, about = null, asked = 0;

// ---------------------------------------------------------------- step 1: a file

async function take(given) {
  if (about && given.size > about.limits.max_upload) {
    tell({ detail: `This server takes at most ${megabytes(about.limits.max_upload)}, and ${given.name} has ${megabytes(given.size)}.`, cure: "Split the file, or compress it with gzip." });
    return;
  }
  $("uploading").hidden = false;
  $("uploading-text").textContent = `Uploading ${given.name} …`;
  $("uploading-bar").removeAttribute("value");
  file = await attempt(() => upload("/v1/files", given, share => {
    $("uploading-bar").value = share;
    if (share === 1) { $("uploading-bar").removeAttribute("value"); $("uploading-text").textContent = `Reading ${given.name} …`; }
  }));
  if (file) await understand(true);
  $("uploading").hidden = true;
  $("file").value = "";
}

async function takeSample() {
  $("uploading").hidden = false;
  $("uploading-text").textContent = "Reading the sample …";
  $("uploading-bar").removeAttribute("value");
  file = await attempt(() => ask("POST", "/v1/files/sample"));
  if (file) await understand(true);
  $("uploading").hidden = true;
}

// ---------------------------------------------------------------- what was understood

async function understand(first = false) {
  const mine = ++asked;
  if (first) forgetGuesses();
  $("fill-note").textContent = first ? "" : "Reading again …";
  const found = await attempt(() => ask("POST", `/v1/files/${file.id}/look`, readingOptions()));
  if (mine !== asked) return;  // another correction came meanwhile
  $("fill-note").textContent = "";
  if (!found) {
    if (first) { showFileProblem(); }
    return;
  }
  look = found;
  $("start").hidden = true;
  $("looked").hidden = false;
  $("looked").classList.remove("unread");
  $("file-name").textContent = file.name;
  $("understood").replaceChildren(...look.understood.map(text => el("li", { textContent: text })));
  const share = look.missing / Math.max(look.rows * (look.columns.length + look.more_columns), 1);
  const count = look.missing ? `${look.missing.toLocaleString("en")} values are missing (${(100 * share).toFixed(1)} %).` : "No value is missing: there is nothing to fill.";
  $("understood").append(el("li", { textContent: `${look.rows.toLocaleString("en")} rows. ${count}` }));
  $("odd").hidden = !look.problems.length;
  $("odd-list").replaceChildren(...look.problems.map(text => el("li", { textContent: text })));
  if (first) fillChoices();
  showColumns(look, about ? about.kinds : [], () => understand());
  showPreview(look);
  $("left-alone").textContent = leftAlone();
  $("fill").disabled = !look.missing;
  summarise();
  if (first) { $("file-name").focus(); scrollTo(0, 0); }
}

// A file that cannot be read as it is: how to read it can be said, and the message stays above.
function showFileProblem() {
  look = null;
  $("start").hidden = true;
  $("looked").hidden = false;
  $("file-name").textContent = file.name;
  for (const id of ["understood", "odd-list"]) $(id).replaceChildren();
  $("odd").hidden = true;
  document.querySelector("#columns tbody").replaceChildren();
  document.querySelector("#preview thead").replaceChildren();
  document.querySelector("#preview tbody").replaceChildren();
  $("left-alone").textContent = "";
  $("looked").classList.add("unread");
  $("reading").open = true;
  $("fill").disabled = true;
  fillChoices();
}

function leftAlone() {
  const names = Object.entries(look.left_alone).slice(0, 12).map(([name, why]) => `${name} (${why})`);
  const more = look.more_columns ? ` ${look.more_columns} further columns are filled too, but not listed.` : "";
  return (names.length ? `Left as they are: ${names.join(", ")}.` : "") + more;
}

function fillChoices() {
  const names = look ? look.all_columns : [];
  for (const [id, chosen] of [["r-time", look ? look.time : []], ["r-id", look ? look.id : []]]) {
    const found = !look ? "found" : chosen.length ? `found: ${chosen.join(" + ")}` : "found: none";
    $(id).replaceChildren(new Option(found, ""), ...names.map(name => new Option(name, `=${name}`)));
  }
  const text = look && Object.keys(look.found).length > 0, sheets = /\.xlsx$/i.test(file.name);
  for (const one of document.querySelectorAll(".of-text")) one.hidden = look && !text;
  document.querySelector(".of-sheet").hidden = look && !sheets;
  for (const name of ["separator", "decimal", "encoding"]) {
    const [first, ...others] = $(`r-${name}`).options, value = look?.found[name];
    first.text = value ? `found: ${others.find(one => one.value === value)?.text ?? value}` : "found";
  }
}

function forgetGuesses() {
  $("reading").open = false;
  for (const field of document.querySelectorAll("#reading-fields [data-field]"))
    if (field.type === "checkbox") field.checked = false; else field.value = "";
  look = null;
  document.querySelector("#columns tbody").replaceChildren();
  $("bounds").replaceChildren();
  $("locks").replaceChildren();
  $("o-gap").value = "";
}

// ---------------------------------------------------------------- options

function readingOptions() {
  const options = {}, text = id => $(id).value.trim();
  for (const name of ["time", "id"]) if ($(`r-${name}`).value) options[name] = $(`r-${name}`).value.slice(1);
  if (text("r-missing")) options.missing_values = text("r-missing").split(",").map(part => part.trim()).filter(Boolean);
  if (text("r-format")) options.time_format = text("r-format");
  for (const name of ["separator", "decimal", "encoding", "layout"]) if ($(`r-${name}`).value) options[name] = $(`r-${name}`).value;
  if (text("r-header")) options.header_row = Number(text("r-header"));
  if (text("r-sheet")) options.sheet = text("r-sheet");
  for (const [id, name] of [["r-units", "units_row"], ["r-dayfirst", "dayfirst"]]) if ($(id).value) options[name] = $(id).value === "yes";
  if ($("r-sentinels").checked) options.keep_sentinels = true;
  const kind = {}, exclude = [];
  for (const row of document.querySelectorAll("#columns tbody tr")) {
    const select = row.querySelector("select");
    if (select && select.value) kind[row.dataset.name] = select.value;
    if (!row.querySelector("input").checked) exclude.push(row.dataset.name);
  }
  if (Object.keys(kind).length) options.kind = kind;
  if (exclude.length) options.exclude = exclude;
  return options;
}

function fillOptions() {
  const options = { budget: document.querySelector("[name=budget]:checked").value };
  if ($("o-method").value) options.method = $("o-method").value;
  if ($("o-intervals").value) options.intervals = Number($("o-intervals").value);
  if ($("o-gap").value) options.max_gap = Number($("o-gap").value);
  if ($("o-rows").checked) options.add_missing_rows = true;
  if ($("o-model").checked) options.keep_model = true;
  const minimum = {}, maximum = {};
  for (const row of $("bounds").children) {
    const [column, low, high] = row.querySelectorAll("select, input");
    if (low.value !== "") minimum[column.value] = Number(low.value);
    if (high.value !== "") maximum[column.value] = Number(high.value);
  }
  if (Object.keys(minimum).length) options.minimum = minimum;
  if (Object.keys(maximum).length) options.maximum = maximum;
  const locks = Array.from($("locks").children, row => Array.from(row.querySelectorAll("input"), one => one.value.trim()));
  const given = locks.filter(([from, to]) => from || to).map(([from, to]) => `${from}..${to}`);
  if (given.length) options.lock = given;
  return options;
}

function summarise() {
  const budget = { fast: "nothing is trained", "30s": "30 seconds", "5m": "5 minutes", quality: "at most 30 minutes" };
  const parts = [budget[document.querySelector("[name=budget]:checked").value]];
  parts.push($("o-method").value ? $("o-method").selectedOptions[0].text : "a blend of methods");
  parts.push($("o-intervals").value ? `${100 * Number($("o-intervals").value)} % intervals` : "no intervals");
  $("options-text").textContent = `${parts.join(", ")}`;
}

let ruleNumber = 0;
function rule(place, parts) {
  const row = el("div", { className: "rule" });
  for (const [label, control] of parts) {
    control.id = `rule-${++ruleNumber}`;
    row.append(el("div", {}, el("label", { htmlFor: control.id, textContent: label }), control));
  }
  const remove = el("button", { type: "button", textContent: "Remove" });
  remove.addEventListener("click", () => { row.remove(); $("add-bound").focus(); });
  row.append(remove);
  $(place).append(row);
  row.querySelector("select, input").focus();
}

function addBound() {
  const column = el("select");
  column.append(...look.columns.map(one => new Option(one.name, one.name)));
  rule("bounds", [["Column", column], ["Lowest", el("input", { type: "number", step: "any" })], ["Highest", el("input", { type: "number", step: "any" })]]);
}

function addLock() {
  rule("locks", [["From", el("input", { placeholder: look.time.length ? "2024-01-05" : "100" })], ["To", el("input", { placeholder: look.time.length ? "2024-01-06 12:00" : "200" })]]);
}

// ---------------------------------------------------------------- the job

// The same job asked for again, because no answer came, is one job; after an answer it is a new one.
let order = null;
function keyOf(options) {
  const what = JSON.stringify([file.id, options]);
  if (order?.what !== what) order = { what, key: Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, "0")).join("") };
  return order.key;
}

async function start() {
  const options = { ...readingOptions(), ...fillOptions() };
  $("fill").disabled = true;
  $("fill-note").textContent = "Checking …";
  const job = await attempt(async () => {
    await ask("POST", `/v1/files/${file.id}/look`, options);  // a wrong bound or lock is told before it is queued
    return ask("POST", "/v1/jobs", { file: file.id, options }, { "Idempotency-Key": keyOf(options) });
  });
  $("fill").disabled = false;
  $("fill-note").textContent = "";
  if (!job) return;
  order = null;
  remember(job);
  location.hash = `job=${job.id}`;
}

function showEarlier() {
  const jobs = earlier();
  $("recent").hidden = !jobs.length;
  $("recent-list").replaceChildren(...jobs.map(job => el("li", {},
    el("a", { href: `#job=${job.id}`, textContent: job.name }),
    el("span", { className: "soft", textContent: new Date(job.at).toLocaleString() }))));
}

function route() {
  const id = location.hash.match(/^#job=([0-9a-f]{32})$/)?.[1];
  tell(null);
  leaveJob();
  $("prepare").hidden = Boolean(id);
  $("job").hidden = !id;
  document.title = "T1: fill the gaps in a table";
  if (id) showJob(id);
  else { $("start").hidden = false; $("looked").hidden = true; showEarlier(); }
}

const megabytes = n => n >= 1e9 ? `${Number((n / 1e9).toPrecision(3))} GB` : `${Number((n / 1e6).toPrecision(3))} MB`;

async function begin() {
  about = await attempt(() => ask("GET", "/v1/about"));
  document.body.dataset.ready = "yes";
  if (!about && !$("token").hidden) { $("prepare").hidden = $("job").hidden = true; return; }
  if (about) {
    $("token").hidden = true;
    $("version").textContent = about.version;
    $("limit").textContent = `at most ${megabytes(about.limits.max_upload)}`;
    $("o-method").replaceChildren($("o-method").options[0], ...Object.entries(about.methods).map(([name, title]) => new Option(title, name)));
  }
  route();
}

// ---------------------------------------------------------------- listening

$("file").addEventListener("change", () => $("file").files[0] && take($("file").files[0]));
$("sample").addEventListener("click", takeSample);
for (const name of ["dragenter", "dragover"]) document.addEventListener(name, event => { event.preventDefault(); $("drop").classList.add("over"); });
document.addEventListener("dragleave", event => { if (!event.relatedTarget) $("drop").classList.remove("over"); });
document.addEventListener("drop", event => {
  event.preventDefault();
  $("drop").classList.remove("over");
  const given = event.dataTransfer?.files[0];
  if (given && !$("prepare").hidden) take(given);
});
$("other-file").addEventListener("click", () => { route(); $("sample").focus(); });
$("reading-fields").addEventListener("change", () => understand());
$("options").addEventListener("change", summarise);
$("add-bound").addEventListener("click", addBound);
$("add-lock").addEventListener("click", addLock);
$("fill").addEventListener("click", start);
$("token").addEventListener("submit", event => { event.preventDefault(); setToken($("token-text").value); begin(); });
addEventListener("hashchange", route);
addEventListener("resize", () => look && drawStrips(look));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => look && drawStrips(look));
begin();
