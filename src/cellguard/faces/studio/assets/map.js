// The map: before and after under a slider, with its settings live; nothing is written until somebody says so.

import "/assets/hexagons.js";
import { ask, attempt, button, field, fill, h, isMaker, language, number, options, post, put, state, t, toast } from "./kit.js";
import { drawJob } from "./job.js";

const FIGURES = ["hexagons", "shown", "sensitive", "outliers", "units_moved", "contributors_moved", "mu", "lost_records"];
let place, drawnFrom;

export const isMap = () => state.job?.method === "redistribute";

export async function drawMap(room) {
  place = room;
  const map = h("section", { id: "map", class: "hexmap" });
  const told = h("div", { id: "map-told", role: "status", "aria-live": "polite" });
  const head = [h("h1", {}, t("room_map")), h("p", { class: "lead" }, t("map_lead"))];
  fill(room, head, h("p", { class: "muted" }, t("loading")));
  let first;
  try {
    first = await post("map/try");
  } catch (error) {
    fill(room, head, h("p", { class: "error" }, error.message));
    return;
  }
  drawnFrom = state.job.version;
  const settings = { ...first.settings, size: first.size };
  const changed = {};
  let age = 0, waiting;
  const show = (found) => {
    fill(told, h("div", { class: `verdict ${found.verdict === "safe" ? "safe" : "unsafe"}` }, h("p", { class: "headline" }, found.headline), found.caveat ? h("p", {}, found.caveat) : null),
      h("dl", { class: "figures" }, FIGURES.filter((key) => found.figures[key] !== undefined && found.figures[key] !== null).map((key) => h("div", {}, h("dt", {}, t(`map_${key}`)), h("dd", {}, number(found.figures[key]))))),
      found.warnings.map((text) => h("p", { class: "warning" }, text)));
    drawHexagons_(map, found);
  };
  const change = (key, value) => {
    changed[key] = value;
    clearTimeout(waiting);
    waiting = setTimeout(async () => {
      const mine = ++age;
      try {
        const found = await post("map/try", changed);
        if (mine === age && map.isConnected) show(found);
      } catch (error) {
        if (mine === age && map.isConnected) { fill(told, h("p", { class: "error" }, error.message)); fill(map); }
      }
    }, 120);
  };
  fill(room, head, controls(settings, first.points, change), told, map, isMaker() ? h("p", {}, button(t("map_save"), async () => {
    await put("map", { ...changed, version: state.job.version });
    state.job = await ask("job");
    drawnFrom = state.job.version;
    drawJob();
    toast(t("rules_saved"));
  }, { class: "main", id: "map-save" })) : null);
  show(first);
}

// The size goes by powers, so that its slider is as fine for small hexagons as for large ones.
function controls(settings, points, change) {
  const kinds = (key, names) => field(t(`map_${key}_is`), h("select", { id: `map-${key}`, onchange: (event) => change(key, event.target.value) }, options(names.map((name) => [name, t(`map_${key}_${name}`)]), settings[key])));
  const fewest = h("input", { type: "number", id: "map-fewest", min: 2, step: 1, value: settings.min_frequency ?? "" });
  fewest.addEventListener("input", () => { const said = Number(fewest.value); if (Number.isInteger(said) && said >= 2) change("min_frequency", said); });
  const exact = h("input", { type: "number", id: "map-size", min: 0, step: "any", value: Number(settings.size.toPrecision(6)) });
  const slide = h("input", { type: "range", id: "map-slide", min: -1, max: 1, step: 0.02, value: 0, "aria-label": t("map_size_slide") });
  slide.addEventListener("input", () => { exact.value = Number((settings.size * 4 ** Number(slide.value)).toPrecision(4)); change("size", Number(exact.value)); });
  exact.addEventListener("input", () => { const said = Number(exact.value); if (said > 0) change("size", said); });
  return h("div", { class: "row card" },
    points ? [field(t("map_size_is"), exact), slide] : null, field(t("map_fewest_is"), fewest),
    kinds("algorithm", ["group", "nearest", "everybody", "optimal"]), kinds("outliers", ["remove", "redistribute", "keep"]));
}

function drawHexagons_(map, found) {
  const old = map.querySelector("[data-slider]")?.value ?? 50;
  const only = map.querySelector("[data-changes]")?.checked ?? false;
  const label = t("map_label", { n: number(found.map.q.length) });
  fill(map,
    h("p", { class: "tools" },
      h("label", { class: "slide" }, t("map_before"), " ", h("input", { type: "range", "data-slider": "", min: 0, max: 100, value: old, "aria-label": t("map_slider") }), " ", t("map_after")),
      h("label", { class: "inline" }, h("input", { type: "checkbox", "data-changes": "", checked: only }), t("map_changes")),
      ["in", "out", "whole"].map((way) => h("button", { type: "button", "data-zoom": way }, t(`map_zoom_${way}`)))),
    h("canvas", { tabindex: 0, role: "img", "aria-label": label }),
    h("p", { class: "detail muted", "aria-live": "polite" }),
    h("ul", { class: "legend plain", "aria-label": t("map_legend") }));
  const words = ["choose", "hidden", "before", "after", "below", "more", "raised", "gave", "gone", "same", "changes"];
  window.drawHexagons(map, found.map, { language, ...Object.fromEntries(words.map((word) => [word, t(`map_said_${word}`)])) });
}

document.addEventListener("news", (event) => {
  if (document.body.dataset.room !== "map" || !place || !event.detail.stamp || state.news.stamp === undefined) return;
  attempt(async () => {
    const now = await ask("job");
    if (now.version === drawnFrom && !event.detail.folder && now.version === state.job?.version) return;
    state.job = now;
    await drawMap(place);
  });
});
