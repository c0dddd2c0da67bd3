// The job file, which is always in sight: its text, what is wrong with it, and a way to change it.

import { ask, attempt, button, fill, h, isMaker, put, state, t, toast } from "./kit.js";

export function drawJob() {
  const pane = document.getElementById("job-pane");
  if (!pane) return;
  if (!state.job) { fill(pane); return; }
  const area = h("textarea", { id: "job-text", spellcheck: "false", rows: 24, "aria-label": t("job_text"), readonly: !isMaker() });
  area.value = state.job.text;
  const note = h("p", { class: state.job.error ? "error" : "good", id: "job-note" }, state.job.error || t("job_good"));
  const save = button(t("job_save"), async () => {
    state.job = await put("job", { text: area.value, version: state.job.version });
    toast(t("job_saved"));
    drawJob();
    document.dispatchEvent(new CustomEvent("news", { detail: { stamp: true } }));
  }, { class: "main", id: "job-save" });
  const back = button(t("job_back"), () => drawJob(), {});
  const tools = h("p", { class: "tools", hidden: true }, save, back);
  area.addEventListener("input", () => { tools.hidden = area.value === state.job.text; });
  area.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); save.click(); }
  });
  fill(pane, h("details", { open: true, class: "pane" }, h("summary", {}, h("h2", {}, state.job.name)), note, area, isMaker() ? tools : null));
}

// Another page or an editor changed the job: its text is renewed, unless somebody writes in it here.
document.addEventListener("news", (event) => {
  if (!event.detail.stamp || !state.session?.job) return;
  attempt(async () => {
    const area = document.getElementById("job-text");
    const dirty = area && state.job && area.value !== state.job.text;
    const now = await ask("job");
    if (now.version === state.job?.version) { state.job = now; return; }
    if (dirty) { toast(t("job_elsewhere"), true); return; }
    state.job = now;
    drawJob();
  });
});
