// Rules, with the number of unsafe cells while they are changed; how tables are protected; hierarchies with sums.

import { ask, attempt, button, field, fill, h, isMaker, number, options, post, put, state, t, toast } from "./kit.js";
import { drawJob } from "./job.js";

const SHORT = { min_frequency: ["n"], p_percent: ["p"], dominance: ["n", "k"], prior_posterior: ["p", "q"] };
let described;

export async function drawRules(room) {
  if (!state.session.job) { fill(room, h("h1", {}, t("room_rules")), h("p", {}, t("no_job"))); return; }
  if (state.job?.error) { fill(room, h("h1", {}, t("room_rules")), h("p", { class: "error" }, state.job.error)); return; }
  described ??= (await ask("rules")).rules;
  const own = state.job.tables.filter((table) => table.own);
  const rules = Object.fromEntries(own.map((table) => [table.name, table.rules.map((rule) => structuredClone(rule))]));
  const counts = h("p", { class: "live", id: "live", role: "status", "aria-live": "polite" }, t("counting"));
  const bars = h("div", { class: "bars", id: "bars" });
  const boxes = h("div", {});
  let waiting;
  const count = (wait = 150) => { clearTimeout(waiting); waiting = setTimeout(() => tryRules(rules, counts, bars), wait); };
  const redraw = () => { fill(boxes, ...own.map((table) => tableBox(table, rules, count, redraw))); };
  redraw();
  count(0);
  fill(room, 
    h("h1", {}, t("room_rules")),
    h("p", { class: "lead" }, t("rules_lead")),
    h("div", { class: "sticky" }, counts, bars),
    boxes,
    isMaker() ? h("p", {}, button(t("rules_save"), async () => {
      state.job = await put("rules", { rules, version: state.job.version });
      drawJob();
      toast(t("rules_saved"));
    }, { class: "main", id: "rules-save" })) : null,
    optionsBox(own),
    h("section", {}, h("h2", {}, t("trees_title")), h("p", { class: "muted" }, t("trees_words")), own.map(treeBoxes)));
}

async function tryRules(rules, counts, bars) {
  try {
    const told = await post("rules/try", { rules });
    if (!counts.isConnected) return;
    counts.textContent = t("live", { unsafe: number(told.set.unsafe), cells: number(told.set.cells), share: ((100 * told.set.unsafe) / Math.max(told.set.cells, 1)).toFixed(1) });
    counts.classList.remove("bad");
    fill(bars, h("table", { class: "list" }, h("tbody", {}, Object.entries(told.tables).flatMap(([name, table]) => [
      bar(name, table.unsafe, table.cells, true),
      ...Object.entries(table.by_rule).map(([rule, many]) => bar(rule, many, table.cells, false)),
    ]))));
  } catch (error) {
    counts.textContent = error.message;
    counts.classList.add("bad");
    fill(bars);
  }
}

function bar(name, many, cells, whole) {
  const meter = h("meter", { min: 0, max: cells || 1, "aria-label": name });
  meter.value = many;
  return h("tr", { class: whole ? "whole" : "" }, h("th", { scope: "row" }, name), h("td", { class: "n" }, number(many)), h("td", {}, meter));
}

function tableBox(table, rules, count, redraw) {
  const mine = rules[table.name];
  return h("fieldset", { class: "card", "data-table": table.name },
    h("legend", {}, `${table.name}: ${table.value} ${t("by")} ${table.by.join(", ")}`),
    h("p", { class: "muted" }, t("any_rule")),
    mine.length ? null : h("p", { class: "error" }, t("rules_none")),
    mine.map((rule, i) => ruleRow(rule, (now) => { mine[i] = now; count(); }, () => { mine.splice(i, 1); redraw(); count(); })),
    isMaker() ? h("p", {}, addRule((rule) => { mine.push(rule); redraw(); count(); })) : null);
}

function ruleRow(rule, change, remove) {
  const name = Object.keys(rule)[0];
  const about = described.find((one) => one.name === name);
  const said = rule[name];
  const keys = SHORT[name] ?? (about?.parameters.filter(([, kind, fallback]) => fallback === "" && /number|percent/.test(kind)).map(([key]) => key) ?? []);
  const value = (key) => (typeof said === "object" ? said[key] : said);
  const inputs = keys.map((key) => {
    const input = h("input", { type: "number", step: "any", min: "0", value: value(key) ?? "", "aria-label": `${name} ${key}`, disabled: !isMaker() });
    input.addEventListener("input", () => {
      if (input.value === "") return;
      const now = Number(input.value);
      change({ [name]: typeof said === "object" ? Object.assign(said, { [key]: now }) : now });
    });
    return h("label", { class: "inline" }, key, " ", input);
  });
  return h("div", { class: "rule" }, h("strong", {}, name), inputs, h("span", { class: "muted" }, about ? t("unsafe_if", { words: about.unsafe_if }) : ""),
    isMaker() ? button(t("remove"), remove, { class: "quiet", "aria-label": t("remove_rule", { name }) }) : null);
}

function addRule(add) {
  const choice = h("select", { "aria-label": t("add_rule"), class: "add-rule" }, options([["", t("add_rule")], ...described.filter((rule) => !rule.written.includes("...")).map((rule) => [rule.name, `${rule.name}: ${rule.unsafe_if}`])], ""));
  choice.addEventListener("change", () => {
    const about = described.find((rule) => rule.name === choice.value);
    if (about) add(read(about.written));
  });
  return choice;
}

// Reads a rule as jobs write it: {name: 3}, {name: {n: 3, k: 85}} or {name: {}}.
function read(text) {
  const [, name, rest] = text.match(/^\{(\w+): (.*)\}$/);
  if (!rest.startsWith("{")) return { [name]: Number(rest) };
  const pairs = rest.slice(1, -1).split(",").map((part) => part.trim()).filter(Boolean).map((part) => part.split(": "));
  return { [name]: Object.fromEntries(pairs.map(([key, value]) => [key, Number(value)])) };
}

function optionsBox(own) {
  if (state.job.method !== "suppress") return h("p", { class: "muted" }, t("method_is", { method: state.job.method }));
  const first = own[0].options;
  const cost = h("select", { disabled: !isMaker() }, options([...new Set([first.cost, "value", "count", "constant", "log"])].filter((c) => typeof c === "string").map((c) => [c, c]), first.cost));
  const effort = h("select", { disabled: !isMaker() }, options(["quick", "normal", "best"].map((e) => [e, t(`effort_${e}`)]), first.effort));
  const engine = h("select", { disabled: !isMaker() }, options([["", t("engine_usual")], ...state.job.engines.map((e) => [e, e])], first.engine ?? ""));
  return h("section", {}, h("h2", {}, t("options_title")), h("div", { class: "row" },
    typeof first.cost === "string" ? field(t("cost"), cost) : null, field(t("effort"), effort), field(t("engine"), engine),
    isMaker() ? button(t("options_save"), async () => {
      const said = { effort: effort.value };
      if (typeof first.cost === "string") said.cost = cost.value;
      if (engine.value) said.engine = engine.value;
      state.job = await put("options", { options: said, version: state.job.version });
      drawJob();
      toast(t("rules_saved"));
    }, { id: "options-save" }) : null));
}

function treeBoxes(table) {
  return h("div", {}, h("h3", {}, table.name), table.by.map((dimension) => {
    const box = h("details", { class: "tree" }, h("summary", {}, dimension));
    box.addEventListener("toggle", () => attempt(async () => {
      if (!box.open || box.querySelector("table")) return;
      const told = await ask(`tree?table=${encodeURIComponent(table.name)}&dimension=${encodeURIComponent(dimension)}`);
      box.append(h("div", { class: "scroll tall", role: "region", tabindex: "0", "aria-label": dimension }, h("table", { class: "list narrow" },
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, t("code")), h("th", { scope: "col", class: "n" }, t("sum")), h("th", { scope: "col", class: "n" }, t("unsafe_cells")))),
        h("tbody", {}, told.codes.map(([code, label, depth, sum, unsafe]) => h("tr", {},
          h("th", { scope: "row", class: `depth${Math.min(depth, 8)}` }, code, label ? h("span", { class: "muted" }, ` ${label}`) : null),
          h("td", { class: "n" }, sum), h("td", { class: "n" }, unsafe ? number(unsafe) : "")))))));
    }));
    return box;
  }));
}
