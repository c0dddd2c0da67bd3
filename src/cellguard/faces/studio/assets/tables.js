// Tables: the grid with its tools, and the panel about one cell.

import { ask, attempt, button, field, fill, h, isMaker, KIND, MARKS, number, options, post, state, statusWord, t, toast } from "./kit.js";
import { Grid } from "./grid.js";
import { drawPanel } from "./panel.js";

let grid, about, look, room, panel, figure;
let changing = false; // whether a change of this page is on its way
let drawn = ""; // the stamp of what it led to
const STATES = { p: "must_publish", s: "must_suppress", w: "waived", x: "", Delete: "" };

export async function drawTables(place, side) {
  [room, panel] = [place, side];
  if (!state.session.job) { fill(room, h("h1", {}, t("room_tables")), h("p", {}, t("no_job"))); return; }
  const runs = (await ask("runs")).runs.filter((run) => !run.error && run.summary.folder !== "redistribute");
  if (state.run && !runs.some((run) => run.number === state.run)) state.run = null;
  if (!state.run) {
    const found = await waitForFindings();
    if (!found) return;
  }
  const tables = (await ask(`tables${state.run ? `?run=${state.run}` : ""}`)).tables;
  if (!tables.includes(state.table)) state.table = tables[0];
  const source = { table: state.table, ...(state.run ? { run: state.run } : {}) };
  const told = await post("window", { ...source, bottom: 1, right: 1 });
  figure = told.figures[0];
  const key = `${state.table}/${told.dimensions.map((d) => d.name)}`;
  look = state.look[key] ??= { ...told.look, search: "", statuses: [], reasons: [] };
  look.statuses = look.statuses.filter((word) => told.words.includes(word));
  look.reasons = look.reasons.filter((reason) => reason in told.reasons);
  about = { ...told, source, title: state.table, table: state.table, figure: () => figure, corner: () => look.rows + (look.columns ? ` \\ ${look.columns}` : "") };
  const canvas = h("div", { class: "canvas", id: "grid" });
  fill(room, 
    h("h1", {}, t("room_tables")),
    h("div", { class: "row tools" }, chooseTable(tables), chooseRun(runs), chooseFigure()),
    h("div", { class: "row tools" }, pivot(), search(), foldTools(), undoTools()),
    filters(),
    legend(),
    canvas,
    h("p", { class: "muted", id: "grid-note", role: "status" }),
    h("details", { class: "keys" }, h("summary", {}, t("keys_title")), h("p", {}, t("keys_words"))));
  grid = new Grid(canvas, about, { look: () => look, chosen: (cell) => drawPanel(panel, codesOf(cell), source, setState), press });
  await attempt(() => grid.renew({ keep: false }));
  note();
}

async function waitForFindings() {
  for (;;) {
    const found = await ask("found");
    if (found.ready) { state.found = found; return found; }
    if (document.body.dataset.room !== "tables") return null;
    if (found.work.over) { fill(room, h("h1", {}, t("room_tables")), h("p", { class: "error" }, found.work.error), isMaker() ? undoTools() : null); return null; }
    fill(room, h("h1", {}, t("room_tables")), h("p", { class: "muted", role: "status" }, t("making", { text: found.work.text || "…", seconds: found.work.seconds })));
    await new Promise((done) => setTimeout(done, 500));
  }
}

const again = () => drawTables(room, panel);
const renew = () => attempt(async () => { await grid.renew(); note(); });

function codesOf(cell) {
  return about.dimensions.map((d) => (d.name === look.rows ? cell.row : d.name === look.columns ? cell.column : look.fixed[d.name]));
}

function chooseTable(tables) {
  return field(t("table"), h("select", { id: "table", onchange: (event) => { state.table = event.target.value; again(); } }, options(tables.map((name) => [name, name]), state.table)));
}

function chooseRun(runs) {
  const choices = [["", t("as_found")], ...runs.map((run) => [String(run.number), t("run_n", { n: run.number }) + (run.current ? "" : ` (${t("older")})`)])];
  return field(t("shown"), h("select", { id: "run", onchange: (event) => { state.run = Number(event.target.value) || null; again(); } }, options(choices, state.run ? String(state.run) : "")));
}

function chooseFigure() {
  if (about.figures.length < 2) return null;
  return field(t("figure"), h("select", { id: "figure", onchange: (event) => { figure = event.target.value; renew(); } }, options(about.figures.map((name) => [name, t(`figure_${name.replace(" ", "_")}`)]), figure)));
}

function pivot() {
  const names = about.dimensions.map((d) => [d.name, d.name]);
  const change = (side) => (event) => {
    const [old, now] = [look[side], event.target.value || null];
    const other = side === "rows" ? "columns" : "rows";
    if (now && look[other] === now) look[other] = old;
    else if (old) look.fixed[old] = about.totals[old];
    if (now) delete look.fixed[now];
    look[side] = now;
    [look.row_fold, look.column_fold] = [{ depth: 1, turned: [] }, { depth: 1, turned: [] }];
    if (look[other] && look[other] in look.fixed) delete look.fixed[look[other]];
    again();
  };
  const sides = [field(t("rows"), h("select", { id: "rows", onchange: change("rows") }, options(names, look.rows)))];
  if (names.length > 1) sides.push(field(t("columns"), h("select", { id: "columns", onchange: change("columns") }, options(names, look.columns))));
  for (const name of Object.keys(look.fixed)) sides.push(slice(name));
  return sides;
}

function slice(name) {
  const id = `codes-${about.dimensions.findIndex((d) => d.name === name)}`;
  const listed = h("datalist", { id });
  const input = h("input", { list: id, value: look.fixed[name], class: "slice", "data-slice": name });
  input.addEventListener("focus", () => attempt(async () => {
    if (listed.children.length) return;
    const told = await ask(`tree?table=${encodeURIComponent(state.table)}&dimension=${encodeURIComponent(name)}${state.run ? `&run=${state.run}` : ""}`);
    listed.append(...told.codes.map(([code, label]) => h("option", { value: code }, label)));
  }), { once: true });
  input.addEventListener("change", () => { look.fixed[name] = input.value; renew(); });
  return h("label", { class: "field" }, h("span", {}, name), input, listed);
}

function search() {
  let waiting;
  const input = h("input", { type: "search", id: "search", value: look.search, placeholder: t("search_words") });
  input.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => { look.search = input.value; renew(); }, 200); });
  return field(t("search"), input);
}

function foldTools() {
  const all = (depth) => () => { look.row_fold = { depth, turned: [] }; look.column_fold = { depth, turned: [] }; return renew(); };
  return h("span", { class: "group" }, button(t("open_all"), all(99), { id: "open-all" }), button(t("close_all"), all(1), { id: "close-all" }));
}

function undoTools() {
  if (!isMaker()) return null;
  const act = (what) => () => change(`states/${what}`, {}, () => t(`${what}_done`));
  return h("span", { class: "group" }, button(t("undo"), act("undo"), { id: "undo" }), button(t("redo"), act("redo"), { id: "redo" }));
}

function filters() {
  const toggle = (list, value) => (event) => {
    const at = list.indexOf(value);
    at < 0 ? list.push(value) : list.splice(at, 1);
    event.currentTarget.setAttribute("aria-pressed", String(at < 0));
    renew();
  };
  const one = (list, value, text, kind) => h("button", { type: "button", class: `filter ${kind ?? ""}`, "aria-pressed": String(list.includes(value)), onclick: toggle(list, value) }, text);
  const jump = (back) => button(back ? t("previous") : t("next"), () => seek(back), { id: back ? "previous" : "next" });
  return h("div", { class: "filters", role: "group", "aria-label": t("filter") },
    Object.entries(about.counts).map(([word, many]) => one(look.statuses, word, `${MARKS[word] ?? ""} ${statusWord(word)} (${number(many)})`, KIND[word])),
    Object.entries(about.reasons).map(([reason, many]) => one(look.reasons, reason, `${reason} (${number(many)})`)),
    jump(true), jump(false));
}

async function seek(back) {
  if (!look.statuses.length && !look.reasons.length) { toast(t("filter_first")); return; }
  const { place } = await post("seek", { ...about.source, look, row: grid.focus.y, column: grid.focus.x, back });
  place ? await grid.go(place[1], place[0]) : toast(t("nothing_found"));
}

function legend() {
  return h("p", { class: "legend" }, about.words.filter((word) => word in about.counts).map((word) => h("span", {}, h("span", { class: `chip ${KIND[word] ?? "shown"}` }, MARKS[word] ?? "1"), ` ${statusWord(word)}`)));
}

function note() {
  const node = document.getElementById("grid-note");
  if (!node) return;
  const [rows, columns] = grid.size;
  const canvas = document.getElementById("grid");
  canvas.style.height = rows < 16 ? `${Math.max(rows, 2) * 29 + 60}px` : "";
  grid.draw();
  node.textContent = rows ? t("grid_note", { cells: number(about.cells), rows: number(rows), columns: number(columns) }) + (look.statuses.length || look.reasons.length ? ` ${t("picked", { n: number(grid.matches) })}` : "") : t("nothing_found");
}

// What is pressed in the grid; true if it meant something.
function press(kind, first, second) {
  if (kind === "fold") {
    const fold = first === "row" ? look.row_fold : look.column_fold;
    const at = fold.turned.indexOf(second);
    at < 0 ? fold.turned.push(second) : fold.turned.splice(at, 1);
    renew();
    return true;
  }
  if (first === "/") { document.getElementById("search").focus(); return true; }
  if (first === "n" || first === "N") { attempt(() => seek(first === "N")); return true; }
  if (!isMaker()) return false;
  if (first === "ctrl-z" || first === "u") { document.getElementById("undo").click(); return true; }
  if (first === "ctrl-y") { document.getElementById("redo").click(); return true; }
  if (first in STATES) { setState({ status: STATES[first] }); return true; }
  return false;
}

// Says something of the chosen cells: a state, a cost.
async function setState(said) {
  await attempt(async () => {
    const cells = (await grid.chosenCells()).map(codesOf);
    await change("states", { table: state.table, cells, ...said }, (told) => t("states_set", { n: number(told.changed) }));
  });
}

// Makes a change, draws what it led to, and stays at the cell.
async function change(path, body, words) {
  changing = true;
  try {
    const focus = grid ? { ...grid.focus } : null;
    const told = await post(path, body);
    drawn = told.stamp;
    toast(words(told));
    await again();
    if (focus && document.getElementById("grid")) await grid.go(focus.x, focus.y);
  } finally {
    changing = false;
  }
}

document.addEventListener("news", (event) => {
  if (document.body.dataset.room !== "tables" || !event.detail.stamp || state.run || !grid) return;
  if (changing || state.news.stamp === drawn) return;
  if (document.querySelector("dialog[open]")) return;
  const focus = { ...grid.focus };
  const inside = document.activeElement?.closest("#grid");
  attempt(async () => { await again(); if (inside) await grid.go(focus.x, focus.y); });
});
