// Protect: a run with its progress, a way to stop it, and what came of each run, against the one before.

import { add, ask, attempt, button, chip, field, fill, h, isMaker, number, options, post, state, t, toast } from "./kit.js";

let place;

export async function drawRuns(room) {
  place = room;
  if (!state.session.job) { fill(room, h("h1", {}, t("room_protect")), h("p", {}, t("no_job"))); return; }
  const { runs } = await ask("runs");
  fill(room, 
    h("h1", {}, t("room_protect")),
    h("p", { class: "lead" }, t(searches() ? "protect_lead" : "protect_lead_other")),
    isMaker() ? form(runs) : null,
    h("div", { id: "work", role: "status", "aria-live": "polite" }),
    h("div", {}, runs.length ? runs.map((run, i) => runBox(run, i === 0)) : h("p", { class: "muted" }, t("runs_none"))));
  tellWork(state.news.work);
}

// Suppression searches, so it may be given an effort, a time and a pattern to begin with; other methods just run.
const searches = () => state.job?.method === "suppress";

function form(runs) {
  const effort = h("select", {}, options([["", t("effort_job")], ...["quick", "normal", "best"].map((e) => [e, t(`effort_${e}`)])], ""));
  const seconds = h("input", { type: "number", min: 1, step: 1, placeholder: t("no_limit") });
  const warm = h("input", { type: "checkbox", disabled: !runs.some((run) => run.released) });
  const go = button(t("protect"), async () => {
    const told = await post("protect", { ...(effort.value ? { effort: effort.value } : {}), ...(seconds.value ? { seconds: Number(seconds.value) } : {}), warm: warm.checked });
    tellWork(told.work);
  }, { class: "main", id: "protect" });
  return h("form", { class: "row card", onsubmit: (event) => { event.preventDefault(); go.click(); } },
    searches() ? [field(t("effort"), effort), field(t("seconds_most"), seconds), h("label", { class: "inline" }, warm, t("warm"))] : null, go);
}

// What goes on, wherever it was begun.
export function tellWork(work) {
  const node = document.getElementById("work");
  if (!node) return;
  if (!work) { fill(node); return; }
  if (work.over) { fill(node, work.error ? h("p", { class: "error" }, work.error) : h("p", { class: "muted" }, t("work_done", { kind: t(`work_${work.kind}`), seconds: number(work.seconds) }))); return; }
  let box = node.querySelector(".progress");
  if (!box) {
    const stop = button(t("stop"), () => post("stop"), { id: "stop", title: t("stop_words") });
    const end = button(t("end"), () => post("stop", { at_once: true }), { class: "quiet" });
    box = h("div", { class: "progress card" }, h("p", {}, h("strong", { class: "phase" }), " ", h("span", { class: "muted text" })), h("progress", { max: 1, "aria-label": t("progress") }), h("p", {}, [stop, " ", end], h("span", { class: "muted seconds" })));
    fill(node, box);
  }
  box.querySelector(".phase").textContent = `${t(`work_${work.kind}`)}${work.stopping ? ` – ${t("stopping")}` : ""}`;
  box.querySelector(".text").textContent = work.text;
  box.querySelector(".seconds").textContent = ` ${t("seconds", { n: number(work.seconds) })}`;
  const bar = box.querySelector("progress");
  work.share === null ? bar.removeAttribute("value") : (bar.value = work.share);
}

export function verdict(run) {
  const kind = run.released ? (run.summary.verdict === "safe" ? "safe" : "undecided") : "unsafe";
  return h("div", { class: `verdict ${kind}` }, h("p", { class: "headline" }, run.summary.headline), run.summary.caveat ? h("p", {}, run.summary.caveat) : null);
}

function runBox(run, open) {
  if (run.error) return h("section", { class: "card" }, h("h2", {}, t("run_n", { n: run.number })), h("p", { class: "error" }, run.error));
  const set = run.summary.set ?? {};
  const box = h("details", { class: "card run", open, "data-run": run.number },
    h("summary", {}, h("h2", {}, t("run_n", { n: run.number })), " ", chip(run.current ? "good" : "old", t(run.current ? "current" : "older")), " ", stand(run), h("span", { class: "muted" }, run.standing ? ` ${run.standing.who}, ${when(run.standing.at)}` : "")),
    verdict(run),
    h("dl", { class: "figures" }, ["cells", "primary", "secondary"].filter((key) => key in set).map((key) => h("div", {}, h("dt", {}, t(`fig_${key}`)), h("dd", {}, number(set[key])))),
      run.summary.gap !== undefined && run.summary.gap !== null ? h("div", {}, h("dt", {}, t("fig_gap")), h("dd", {}, `${(100 * run.summary.gap).toFixed(1)} %`)) : null),
    (run.summary.warnings ?? []).map((text) => h("p", { class: "warning" }, text)),
    h("p", { class: "tools" }, run.summary.folder === "redistribute" ? null : button(t("look_at"), () => { state.run = run.number; location.hash = "tables"; }, { class: "look" }), " ",
      run.report ? h("a", { href: `/api/runs/${run.number}/download/report`, target: "_blank", rel: "noopener" }, t("report")) : null, " ",
      h("a", { href: "#sign" }, t("to_sign"))),
    command(run),
    difference(run));
  return box;
}

export const when = (at) => new Date(at).toLocaleString(document.documentElement.lang, { dateStyle: "medium", timeStyle: "short" });
export const stand = (run) => (run.standing ? chip(run.standing.state, t(`stand_${run.standing.state}`)) : null);

function command(run) {
  if (!run.standing) return null;
  const text = run.standing.command;
  return h("details", {}, h("summary", {}, t("command_title")),
    h("p", { class: "muted" }, !run.current ? t("command_older") : run.standing.again ? t("command_words") : t(`command_${run.standing.why}`)),
    h("pre", { tabindex: "0" }, h("code", { class: "command" }, text)),
    button(t("copy"), async () => { await navigator.clipboard.writeText(text); toast(t("copied")); }));
}

function difference(run) {
  const box = h("details", { class: "difference" }, h("summary", {}, t("difference")));
  box.addEventListener("toggle", () => attempt(async () => {
    if (!box.open || box.querySelector("table, p")) return;
    const told = await ask(`runs/${run.number}/difference`);
    if (told.other === null) { box.append(h("p", { class: "muted" }, t("difference_none"))); return; }
    const plain = (value) => (typeof value === "number" ? number(Math.round(value * 1000) / 1000) : value ?? "–");
    add(box,
      h("table", { class: "list narrow" }, h("thead", {}, h("tr", {}, h("td", {}), h("th", { scope: "col", class: "n" }, t("run_n", { n: told.other })), h("th", { scope: "col", class: "n" }, t("run_n", { n: run.number })))),
        h("tbody", {}, Object.entries(told.figures).map(([key, pair]) => h("tr", {}, h("th", { scope: "row" }, t(`fig_${key}`)), pair.map((value) => h("td", { class: "n" }, plain(value))))))),
      h("p", {}, t("changes", { n: number(told.many) })),
      told.changes.length ? h("div", { class: "scroll tall", role: "region", tabindex: "0", "aria-label": t("difference") }, h("table", { class: "list" }, h("thead", {}, h("tr", {}, ["table", "cell", "before", "now"].map((key) => h("th", { scope: "col" }, t(key))))),
        h("tbody", {}, told.changes.map(([table, cell, old, now]) => h("tr", {}, h("td", {}, table), h("th", { scope: "row" }, cell), h("td", {}, word(old)), h("td", {}, word(now))))))) : null);
  }));
  return box;
}

const word = (status) => t(`status_${status.replace(" ", "_")}`);

document.addEventListener("news", (event) => {
  if (document.body.dataset.room !== "protect" || !place) return;
  const { runs, record, ended, stamp } = event.detail;
  if (runs || record || ended || stamp) attempt(() => drawRuns(place));
});
