// The panel about one cell: what it is, who is in it, what the rules say, and why it is suppressed.

import { ask, button, field, fill, h, isMaker, KIND, MARKS, post, state, statusWord, t } from "./kit.js";

let asking;

export async function drawPanel(panel, codes, source, setState) {
  asking?.abort();
  asking = new AbortController();
  let told;
  try {
    told = await ask("cell", { method: "POST", body: { ...source, codes }, signal: asking.signal });
  } catch (error) {
    if (error.name !== "AbortError") fill(panel, h("section", { class: "pane" }, h("h2", {}, codes.join(" / ")), h("p", { class: "muted" }, error.status === 404 ? t("no_cell") : error.message)));
    return;
  }
  const { card, run } = told;
  const status = run ? run.status : card.unsafe ? "unsafe" : "safe";
  const why = h("div", { class: "why" });
  fill(panel, h("section", { class: "pane", "aria-live": "polite", id: "cell" },
    h("h2", {}, codes.join(" / ")),
    card?.labels.some(Boolean) ? h("p", { class: "muted" }, card.labels.filter(Boolean).join(" / ")) : null,
    h("p", { class: "figure" }, h("strong", {}, run ? Object.values(run.figures)[0] || card?.value : card.value), " ",
      h("span", { class: `chip ${KIND[status] ?? "shown"}` }, `${MARKS[status] ?? ""} ${statusWord(status)}`)),
    run ? facts(run, card) : null,
    card ? known(card, status) : h("p", { class: "muted" }, t("older_run")),
    card && isMaker() && state.job?.method === "suppress" ? stateTools(card, told.said, setState) : null,
    run && state.job?.method === "suppress" ? h("p", {}, button(t("why"), () => explain(why, codes, source), { id: "why" })) : null,
    why));
}

function facts(run, card) {
  const told = card ? ["value", "respondents"] : [];
  const rows = Object.entries(run.figures).filter(([name, text]) => text !== "" && !told.includes(name));
  return h("dl", { class: "facts" }, rows.map(([name, text]) => [h("dt", {}, t(`figure_${name.replace(" ", "_")}`)), h("dd", {}, text)]));
}

function known(card, status) {
  const levels = Object.entries(card.levels);
  return h("div", {},
    card.count === null ? null : h("p", {}, t(card.count === 1 ? "one_respondent" : "respondents", { n: card.count })),
    card.contributions.length ? h("div", {}, h("h3", {}, t("contributions")), h("ol", { class: "shares" }, card.contributions.map(([amount, share]) => {
      const meter = h("meter", { min: 0, max: 100, "aria-hidden": "true" });
      meter.value = parseFloat(share) || 0;
      return h("li", {}, h("span", { class: "n" }, amount), " ", meter, h("span", { class: "n" }, share));
    }))) : null,
    card.rules.length ? h("div", {}, h("h3", {}, t("rules_say")), h("ul", { class: "plain" }, card.rules.map((rule) =>
      h("li", {}, h("span", { class: `chip ${rule.unsafe ? "p" : "shown"}` }, rule.unsafe ? `● ${t("status_unsafe")}` : t("status_safe")), ` ${rule.rule}: ${rule.figure}`, h("br"), h("span", { class: "muted" }, rule.meaning))))) : null,
    levels.length ? h("div", {}, h("h3", {}, t("levels")), h("dl", { class: "facts" }, levels.map(([name, amount]) => [h("dt", {}, t(`level_${name}`)), h("dd", {}, amount)]))) : null,
    card.exposed ? h("div", {}, h("h3", {}, t("if_published")), h("p", {}, exposed(card.exposed))) : null,
    card.unsafe && !["primary", "unsafe"].includes(status) ? h("p", { class: "error" }, t("now_unsafe")) : null);
}

function exposed([kind, percent]) {
  return t(`exposed_${kind}`, { percent: percent >= 100 ? Math.round(percent) : percent.toFixed(1) });
}

function stateTools(card, said, setState) {
  const states = [["must_publish", "P"], ["must_suppress", "S"], ["waived", "W"]];
  const cost = h("input", { type: "number", min: 0, step: "any", value: said.cost ?? "", id: "cost" });
  return h("div", { class: "states" },
    h("h3", {}, t("state")),
    h("div", { class: "row" },
      states.map(([name, key]) => h("button", { type: "button", "aria-pressed": String((said.status || card.state) === name), "data-state": name, title: t(`state_${name}_words`), onclick: () => setState({ status: name }) }, t(`state_${name}`), h("kbd", {}, key))),
      h("button", { type: "button", "data-state": "", disabled: !(said.status || card.state), onclick: () => setState({ status: "" }) }, t("state_none"), h("kbd", {}, "X"))),
    h("div", { class: "row" }, field(t("cost_of_cell"), cost), button(t("set"), () => setState({ cost: cost.value }), { id: "set-cost" })));
}

async function explain(place, codes, source) {
  fill(place, h("p", { class: "muted" }, t("loading")));
  const { lines } = await post("why", { ...source, codes }).catch((error) => { fill(place); throw error; });
  fill(place, h("ul", { class: "plain", id: "reasons" }, lines.filter((line) => !line.startsWith("  ")).slice(1).map((line) => h("li", {}, line))));
}
