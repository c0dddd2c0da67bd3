// The map: before and after under a slider, with its settings live; nothing is written until somebody says so.

import "/assets/hexagons.js";
import { ask, attempt, button, field, fill, h, isMaker, language, number, options, post, put, state, t, toast } from "./kit.js";
import { drawJob } from "./job.js";

const FIGURES = ["hexagons", "cells", "squares", "shown", "sensitive", "still_sensitive", "unsafe", "kept", "outliers", "units_moved", "contributors_moved", "mu", "lost_records"];
const METHODS = ["redistribute", "merge", "smooth"];
const TIMES = [2, 4, 8, 16, 32, 64];
let place, drawnFrom;

export const isMap = () => METHODS.includes(state.job?.method);

export async function drawMap(room) {
  place = room;
  const map = h("section", { id: "map", class: "hexmap" });
  const told = h("div", { id: "map-told", role: "status", "aria-live": "polite" });
  const head = [h("h1", {}, t("room_map")), h("p", { class: "lead" }, t(state.job.method === "redistribute" ? "map_lead" : `map_lead_${state.job.method}`))];
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

// The size goes by powers, so that its slider is as fine for small cells as for large ones.
function controls(settings, points, change) {
  const choice = (key, names, said) => field(t(`map_${key}_is`), h("select", { id: `map-${key}`, onchange: (event) => change(key, said(event.target.value)) }, options(names, `${settings[key]}`)));
  const kinds = (key, names) => (key in settings ? choice(key, names.map((name) => [name, t(`map_${key}_${name}`)]), (value) => value) : null);
  const amount = (key, said, least = 0) => {
    const input = h("input", { type: "number", id: `map-${key}`, min: least, step: "any", value: said });
    input.addEventListener("input", () => { const value = Number(input.value); if (value > 0) change(key, value); });
    return field(t(`map_${key}_is`), input);
  };
  const fewest = h("input", { type: "number", id: "map-fewest", min: 2, step: 1, value: settings.min_frequency ?? "" });
  fewest.addEventListener("input", () => { const said = Number(fewest.value); if (Number.isInteger(said) && said >= 2) change("min_frequency", said); });
  return h("div", { class: "row card" },
    points ? sizes(settings, change) : null, field(t("map_fewest_is"), fewest),
    "bandwidth" in settings ? amount("bandwidth", settings.bandwidth ?? "") : null,
    kinds("risk", ["external", "internal", "discrete"]), "max_risk" in settings ? amount("max_risk", settings.max_risk) : null,
    kinds("algorithm", ["group", "nearest", "everybody", "optimal"]), kinds("outliers", ["remove", "redistribute", "keep"]));
}

// The size of cells, and how many times as wide merged ones may become, which goes with it.
function sizes(settings, change) {
  const exact = h("input", { type: "number", id: "map-size", min: 0, step: "any", value: Number(settings.size.toPrecision(6)) });
  const slide = h("input", { type: "range", id: "map-slide", min: -1, max: 1, step: 0.02, value: 0, "aria-label": t("map_size_slide") });
  const now = settings.largest ? `${Math.round(settings.largest / settings.size)}` : "0";
  const largest = "largest" in settings ? h("select", { id: "map-largest" }, options([["0", t("no_limit")], ...TIMES.map((times) => [`${times}`, t("map_times", { n: times })])], now)) : null;
  const said = (size) => { change("size", size); if (largest && largest.value !== "0") change("largest", size * Number(largest.value)); };
  slide.addEventListener("input", () => { exact.value = Number((settings.size * 4 ** Number(slide.value)).toPrecision(4)); said(Number(exact.value)); });
  exact.addEventListener("input", () => { const size = Number(exact.value); if (size > 0) said(size); });
  largest?.addEventListener("change", () => change("largest", Number(exact.value) * Number(largest.value)));
  return [field(t(settings.algorithm ? "map_size_is" : "map_cell_is"), exact), slide, largest ? field(t("map_largest_is"), largest) : null];
}

function drawHexagons_(map, found) {
  const old = map.querySelector("[data-slider]")?.value ?? 50;
  const only = map.querySelector("[data-changes]")?.checked ?? false;
  const label = t(found.map.before ? "map_label" : "map_label_shown", { n: number(found.map.after.length) });
  const both = Boolean(found.map.before);
  fill(map,
    h("p", { class: "tools" },
      !both ? null : h("label", { class: "slide" }, t("map_before"), " ", h("input", { type: "range", "data-slider": "", min: 0, max: 100, value: old, "aria-label": t("map_slider") }), " ", t("map_after")),
      !both ? null : h("label", { class: "inline" }, h("input", { type: "checkbox", "data-changes": "", checked: only }), t("map_changes")),
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
