// The frame: who sits there, which room is open, and the news that make rooms draw again.

import { ask, attempt, fill, h, isMaker, post, speak, state, t } from "./kit.js";
import { drawJob } from "./job.js";
import { drawData } from "./data.js";
import { drawRules } from "./rules.js";
import { drawTables } from "./tables.js";
import { drawMap, isMap } from "./map.js";
import { drawRuns, tellWork } from "./runs.js";
import { drawCompare } from "./compare.js";
import { drawSign } from "./sign.js";

const ROOMS = { data: drawData, rules: drawRules, tables: drawTables, protect: drawRuns, compare: drawCompare, sign: drawSign };
// A map has a room of its own instead of those of tables.
const MAP_ROOMS = { data: drawData, map: drawMap, protect: drawRuns, sign: drawSign };
const rooms = () => (isMap() ? MAP_ROOMS : ROOMS);
const room = document.getElementById("room");
const side = document.getElementById("side");
const here = () => (location.hash.slice(1) in rooms() ? location.hash.slice(1) : state.session.job ? (isMaker() ? (isMap() ? "map" : "rules") : "sign") : "data");

export async function draw() {
  if (state.session.job) await attempt(async () => { state.job = await ask("job"); });
  const name = here();
  fill(document.getElementById("rooms"), 
    h("ol", {}, Object.keys(rooms()).map((key) =>
      h("li", {}, h("a", { href: `#${key}`, "aria-current": key === name ? "page" : null }, t(`room_${key}`))))));
  document.getElementById("where").textContent = [state.session.folder, state.session.job].filter(Boolean).join(" / ");
  document.getElementById("who").textContent = `${state.session.name || t("no_name")} · ${t(`role_${state.session.role}`)}`;
  document.title = `${state.session.job ?? state.session.folder} – cellguard studio`;
  document.body.dataset.room = name;
  const panel = h("div", { id: "panel" });
  fill(side, panel, h("div", { id: "job-pane" }));
  drawJob();
  // A stage of its own: what an earlier room still draws is seen by nobody.
  const stage = h("div", { class: "stage" }, h("p", { class: "muted" }, t("loading")));
  fill(room, stage);
  await attempt(() => rooms()[name](stage, panel));
}

// What other pages, editors and runs changed is drawn again, but never under somebody's hands.
function listen() {
  const source = new EventSource("/api/news");
  source.onmessage = (event) => {
    const before = state.news;
    const now = (state.news = JSON.parse(event.data));
    tellWork(now.work);
    const changed = (key) => before[key] !== undefined && JSON.stringify(before[key]) !== JSON.stringify(now[key]);
    if (changed("job")) { location.reload(); return; }
    const ended = before.work && !before.work.over && now.work?.over;
    const event_ = { stamp: changed("stamp"), runs: changed("runs"), record: changed("record"), folder: changed("folder"), ended };
    if (Object.values(event_).some(Boolean)) document.dispatchEvent(new CustomEvent("news", { detail: event_ }));
  };
  source.onerror = () => { document.body.dataset.gone = "yes"; };
  source.onopen = () => { delete document.body.dataset.gone; };
}

async function introduce(again = false) {
  const kept = localStorage.getItem(`name-${state.session.role}`);
  const dialog = document.getElementById("ask-name");
  const input = document.getElementById("name");
  if (!again && (state.session.name || kept)) {
    if (!state.session.name) state.session.name = (await post("who", { name: kept })).name;
    return;
  }
  input.value = state.session.name || kept || "";
  dialog.showModal();
  await new Promise((done) => dialog.addEventListener("close", done, { once: true }));
  if (!input.value.trim()) return;
  state.session.name = (await post("who", { name: input.value })).name;
  localStorage.setItem(`name-${state.session.role}`, state.session.name);
}

async function begin() {
  const theme = document.getElementById("theme");
  const paint = (value) => { value ? (document.documentElement.dataset.theme = value) : delete document.documentElement.dataset.theme; };
  theme.value = localStorage.getItem("theme") || "";
  paint(theme.value);
  theme.addEventListener("change", () => { localStorage.setItem("theme", theme.value); paint(theme.value); });
  const tongue = document.getElementById("language");
  const usual = navigator.language.slice(0, 2);
  tongue.value = localStorage.getItem("language") || (["fr", "de"].includes(usual) ? usual : "en");
  await speak(tongue.value);
  tongue.addEventListener("change", async () => { localStorage.setItem("language", tongue.value); await speak(tongue.value); await draw(); });
  state.session = await ask("session");
  await introduce();
  document.getElementById("who").addEventListener("click", () => attempt(async () => { await introduce(true); await draw(); }));
  addEventListener("hashchange", draw);
  await draw();
  listen();
  document.body.dataset.ready = "yes";
}

attempt(begin);
