// Data: the files of the folder, uploads, what columns seem to be, and a job made of what is chosen.

import { ask, attempt, button, field, fill, h, isMaker, number, options, post, state, t, toast } from "./kit.js";
import { draw } from "./main.js";

let lists, detail;

export async function drawData(room) {
  detail = h("section", { id: "described" });
  lists = h("div", { class: "cards" });
  fill(room, h("h1", {}, t("room_data")), h("p", { class: "lead" }, t("data_lead")), isMaker() ? dropZone() : null, lists, detail);
  const files = await listFiles();
  const first = state.session.data;
  if (first && files.data.includes(first) && !state.session.job) await describe(first);
}

async function listFiles() {
  const files = await ask("files");
  fill(lists,
    h("section", { class: "card" }, h("h2", {}, t("data_files")), list(files.data, describe, t("data_none"))),
    h("section", { class: "card" }, h("h2", {}, t("jobs")), list(files.jobs, openJob, t("jobs_none"), state.session.job)));
  return files;
}

function list(names, act, none, open = null) {
  if (!names.length) return h("p", { class: "muted" }, none);
  return h("ul", { class: "plain" }, names.map((name) =>
    h("li", {}, button(name, () => act(name), { class: "link" }), name === open ? h("span", { class: "muted" }, ` ${t("is_open")}`) : null)));
}

async function openJob(name) {
  await post("open", { job: name });
  state.session = { ...state.session, ...(await ask("session")) };
  state.table = state.run = null;
  state.look = {};
  location.hash === "#rules" ? await draw() : (location.hash = isMaker() ? "rules" : "sign");
}

function dropZone() {
  const input = h("input", { type: "file", id: "upload", class: "vh", multiple: true });
  const zone = h("label", { class: "drop", for: "upload" }, h("strong", {}, t("drop_here")), h("span", { class: "muted" }, t("drop_words")), input);
  const take = (files) => attempt(async () => {
    for (const file of files) await uploadFile(file);
    const data = [...files].find((file) => !/\.(ya?ml|hrc|rda)$/i.test(file.name));
    await listFiles();
    if (data && files.length === 1) await describe(data.name);
  });
  input.addEventListener("change", () => take([...input.files]));
  for (const kind of ["dragover", "dragenter"]) zone.addEventListener(kind, (event) => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => { event.preventDefault(); zone.classList.remove("over"); take([...event.dataTransfer.files]); });
  return zone;
}

async function uploadFile(file) {
  if (file.size > state.session.largest) throw new Error(t("too_large", { name: file.name, most: number(state.session.largest) }));
  const told = await ask(`files/${encodeURIComponent(file.name)}`, { method: "PUT", raw: file });
  toast(t("uploaded", { name: told.name, bytes: number(told.bytes) }));
}

async function describe(name) {
  fill(detail, h("p", { class: "muted" }, t("loading")));
  const data = await ask(`data/${encodeURIComponent(name)}`).catch((error) => { fill(detail, h("p", { class: "error" }, error.message)); throw error; });
  if (!data.records) {
    fill(detail, h("h2", {}, name), h("p", {}, t("ready_made")), makeForm(name, () => ({}))); return;
  }
  const choice = { roles: {}, files: {}, levels: new Set() };
  const rows = data.columns.map((column) => columnRow(column, data, choice));
  const tables = [firstTable(data)];
  const listed = h("div", {});
  const drawTables_ = () => fill(listed, ...tables.map((table, i) => tableRow(table, i, tables, data, drawTables_)));
  drawTables_();
  fill(detail, 
    h("h2", {}, name),
    h("p", {}, t("records_words", { rows: number(data.rows), columns: number(data.columns.length) })),
    h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t("columns") },
      h("table", { class: "list" },
        h("thead", {}, h("tr", {}, ["column", "holds", "different", "examples", "role", "why"].map((key) => h("th", { scope: "col" }, t(`col_${key}`))))),
        h("tbody", {}, rows))),
    h("h3", {}, t("tables_title")),
    listed,
    h("p", {}, button(t("add_table"), () => { tables.push({ ...firstTable(data) }); drawTables_(); })),
    makeForm(name, () => chosen(data, choice, tables)),
    mapForm(name, data));
  detail.scrollIntoView({ block: "nearest" });
}

const ROLES = ["", "respondent", "holding", "weight", "request"];

function columnRow(column, data, choice) {
  const own = ROLES.includes(column.role) ? column.role : "";
  if (own) choice.roles[column.name] = own;
  if (column.above.length) choice.levels.add(column.name);
  const said = { dimension: t("role_dimension"), value: t("role_value"), level: t("role_level") }[column.role] ?? t("role_none");
  const role = h("select", { "aria-label": t("role_of", { name: column.name }), onchange: () => { role.value ? (choice.roles[column.name] = role.value) : delete choice.roles[column.name]; } },
    options(ROLES.map((key) => [key, key ? t(`role_${key}`) : said]), own));
  const files = data.hierarchies[column.name] ?? [];
  const file = files.length ? h("select", { "aria-label": t("hierarchy_of", { name: column.name }), onchange: () => { file.value ? (choice.files[column.name] = file.value) : delete choice.files[column.name]; } },
    options([["", t("flat")], ...files.map((name) => [name, name])], files[0])) : null;
  if (file) choice.files[column.name] = files[0];
  const levels = column.above.length ? h("label", { class: "inline" },
    h("input", { type: "checkbox", checked: true, onchange: (event) => { choice.levels[event.target.checked ? "add" : "delete"](column.name); } }),
    t("levels_of", { chain: [...column.above, column.name].join(" > ") })) : null;
  return h("tr", {},
    h("th", { scope: "row" }, column.name),
    h("td", {}, t(`kind_${column.kind}`), column.blanks ? h("span", { class: "muted" }, ` ${t("blanks", { n: number(column.blanks) })}`) : null),
    h("td", { class: "n" }, number(column.different)),
    h("td", {}, column.examples.join(", ")),
    h("td", {}, role, file ? h("div", {}, t("hierarchy"), " ", file) : null, levels ? h("div", {}, levels) : null),
    h("td", { class: "muted" }, column.why));
}

const dimensionsOf = (data) => data.columns.filter((column) => column.kind === "code" && !ROLES.slice(1).includes(column.role)).map((column) => column.name);

function firstTable(data) {
  const [rows, columns] = data.columns.filter((column) => column.role === "dimension").map((column) => column.name);
  return { rows: rows ?? dimensionsOf(data)[0], columns: columns ?? "", also: "", value: data.columns.find((c) => c.role === "value")?.name ?? "count" };
}

function tableRow(table, i, tables, data, again) {
  const names = dimensionsOf(data).map((name) => [name, name]);
  const values = [["count", t("count_records")], ...data.columns.filter((c) => c.kind === "number").map((c) => [c.name, c.name])];
  const choose = (key, choices) => field(t(`table_${key}`), h("select", { onchange: (event) => { table[key] = event.target.value; } }, options(choices, table[key])));
  return h("fieldset", { class: "row" }, h("legend", {}, t("table_n", { n: i + 1 })),
    choose("rows", names), choose("columns", [["", t("none")], ...names]), choose("also", [["", t("none")], ...names]), choose("value", values),
    tables.length > 1 ? button(t("remove"), () => { tables.splice(i, 1); again(); }) : null);
}

function chosen(data, choice, tables) {
  const used = new Set(tables.flatMap((table) => [table.rows, table.columns, table.also]).filter(Boolean));
  const levels = {};
  for (const column of data.columns) if (choice.levels.has(column.name) && used.has(column.name) && !choice.files[column.name]) levels[column.name] = column.above;
  const files = Object.fromEntries(Object.entries(choice.files).filter(([name]) => used.has(name)));
  const roles = Object.fromEntries(Object.entries(choice.roles).map(([name, role]) => [role, name]));
  return {
    roles, files, levels,
    tables: tables.map((table) => ({ by: [...new Set([table.rows, table.columns, table.also].filter(Boolean))], value: table.value })),
  };
}

function makeForm(data, choice) {
  if (!isMaker()) return null;
  const name = h("input", { value: "job.yaml", maxlength: 100, pattern: "[A-Za-z0-9][A-Za-z0-9_\\-]*\\.ya?ml" });
  const go = button(t("make_job"), () => make({ data, job: name.value, ...choice() }), { class: "main", id: "make-job" });
  return h("div", { class: "row" }, field(t("job_name"), name), go);
}

// Points become a map: two columns of numbers, those that look like coordinates first.
function mapForm(name, data) {
  const numbers = data.columns.filter((column) => column.kind === "number").map((column) => column.name);
  if (!isMaker() || numbers.length < 2) return null;
  const like = (pattern, other) => numbers.find((column) => pattern.test(column)) ?? other;
  const pick = (id, chosen_) => h("select", { id }, options(numbers.map((column) => [column, column]), chosen_));
  const x = pick("map-x", like(/^(x|lon\w*|east\w*|rechts\w*)$/i, numbers[0])), y = pick("map-y", like(/^(y|lat\w*|north\w*|hoch\w*)$/i, numbers[1]));
  const size = h("input", { type: "number", min: 0, step: "any", placeholder: t("map_size_usual") });
  const job = h("input", { value: "map.yaml", maxlength: 100 });
  const go = button(t("map_make"), () => make({ data: name, job: job.value, map: { x: x.value, y: y.value, ...(Number(size.value) > 0 ? { size: Number(size.value) } : {}) } }), { id: "make-map" });
  return h("details", { id: "map-form", open: !dimensionsOf(data).length }, h("summary", {}, t("map_make_title")), h("p", { class: "muted" }, t("map_make_words")),
    h("div", { class: "row" }, field(t("map_x"), x), field(t("map_y"), y), field(t("map_size_is"), size), field(t("job_name"), job), go));
}

// Makes a job, opens it, and goes to the room where its rules or its map are.
async function make(asked) {
  await post("jobs", asked);
  state.session = { ...state.session, ...(await ask("session")) };
  state.table = state.run = null;
  state.look = {};
  location.hash = asked.map ? "map" : "rules";
}

document.addEventListener("news", (event) => {
  if (event.detail.folder && document.body.dataset.room === "data" && lists?.isConnected) attempt(listFiles);
});
