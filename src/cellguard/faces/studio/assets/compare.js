// Compare: what if the rules, the cost, the effort or the method were others? Side by side, with risk and utility.

import { ask, attempt, button, chip, field, fill, h, isMaker, post, state, t } from "./kit.js";
import { tellWork } from "./runs.js";

let place;

export async function drawCompare(room) {
  place = room;
  if (!state.session.job) { fill(room, h("h1", {}, t("room_compare")), h("p", {}, t("no_job"))); return; }
  const told = await ask("what-if");
  const kept = room.querySelector("form");
  fill(room, h("h1", {}, t("room_compare")), h("p", { class: "lead" }, t("compare_lead")), isMaker() ? kept ?? form() : null, h("div", { id: "work", role: "status" }), result(told));
  tellWork(state.news.work);
}

function form() {
  const checks = (name, choices, chosen) => h("fieldset", { class: "checks" }, h("legend", {}, t(name)), choices.map(([value, text]) =>
    h("label", { class: "inline" }, h("input", { type: "checkbox", name, value, checked: chosen.includes(value) }), text)));
  const rules = h("textarea", { rows: 3, id: "policies", placeholder: "p_percent p=5; min_frequency n=3\np_percent p=15; min_frequency n=3" });
  const form_ = h("form", { class: "card" },
    checks("methods", [["suppress", t("method_suppress")], ["perturb", t("method_perturb")]], ["suppress"]),
    checks("costs", ["value", "count", "constant", "log"].map((c) => [c, c]), []),
    checks("efforts", ["quick", "normal", "best"].map((e) => [e, t(`effort_${e}`)]), []),
    field(t("policies"), rules));
  const picked = (name) => [...form_.querySelectorAll(`input[name=${name}]:checked`)].map((input) => input.value);
  form_.append(h("p", {}, button(t("compare_go"), async () => {
    const told = await post("what-if", { methods: picked("methods"), costs: picked("costs"), efforts: picked("efforts"), rules: rules.value.split("\n").map((line) => line.trim()).filter(Boolean) });
    tellWork(told.work);
  }, { class: "main", id: "compare" })));
  return form_;
}

function result(told) {
  if (!told.points.length) return h("p", { class: "muted" }, t("compare_none"));
  const share = (value) => (typeof value === "number" ? `${(100 * value).toFixed(1)} %` : "");
  const heads = ["policy", "utility", "risk", "inside_risk", "verdict"];
  return h("section", { id: "compared" },
    h("p", { class: "lead" }, told.words),
    (told.differences ?? []).map((line) => h("p", { class: "muted" }, line)),
    h("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": t("room_compare") }, h("table", { class: "list" },
      h("thead", {}, h("tr", {}, heads.map((key, i) => h("th", { scope: "col", class: i && i < 4 ? "n" : null }, t(`head_${key}`))))),
      h("tbody", {}, told.points.map((point, i) => h("tr", { class: point.best ? "whole" : "" },
        h("th", { scope: "row" }, `${i + 1}. ${point.policy} `, point.best ? chip("good", t("recommended")) : null),
        h("td", { class: "n" }, share(point.utility)), h("td", { class: "n" }, share(point.risk ?? point.risk_at_least)),
        h("td", { class: "n" }, point.measured && share(point.inside_risk)),
        h("td", {}, point.is_end ? "" : point.fault || point.verdict)))))),
    told.drawn ? h("img", { class: "map", src: `/api/what-if/map.svg?${Date.now()}`, alt: t("map_alt") }) : null);
}

document.addEventListener("news", (event) => {
  if (document.body.dataset.room === "compare" && place && event.detail.ended) attempt(() => drawCompare(place));
});
