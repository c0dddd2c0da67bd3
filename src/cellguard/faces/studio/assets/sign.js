// Check and sign: the audit of a run, what was decided and by whom, and the signed release.

import { ask, attempt, button, field, fill, h, isMaker, number, post, state, t, toast } from "./kit.js";
import { stand, tellWork, verdict, when } from "./runs.js";

let place;
let decidedAt = 0;

export async function drawSign(room) {
  place = room;
  if (!state.session.job) { fill(room, h("h1", {}, t("room_sign")), h("p", {}, t("no_job"))); return; }
  const [{ runs }, record, audit] = await Promise.all([ask("runs"), ask("record"), ask("audit")]);
  fill(room, 
    h("h1", {}, t("room_sign")),
    h("p", { class: "lead" }, t(isMaker() ? "sign_lead_maker" : "sign_lead_checker")),
    h("div", { id: "work", role: "status" }),
    runs.filter((run) => !run.error).map((run) => box(run, audit.run === run.number ? audit : null)),
    runs.length ? null : h("p", { class: "muted" }, t("runs_none")),
    h("section", {}, h("h2", {}, t("record")), h("p", { class: "muted" }, t("record_words")), listed(record)));
  tellWork(state.news.work);
}

function box(run, audit) {
  const checks = h("div", { class: "checks-found" });
  const reason = h("textarea", { rows: 2, maxlength: 5000, class: "reason" });
  const decide = (what) => button(t(`do_${what}`), async () => {
    await post("decide", { what, run: run.number, reason: reason.value });
    toast(t("decided"));
    decidedAt = Date.now();
    await drawSign(place);
  }, { class: what === "accept" || what === "request" ? "main" : "", "data-do": what });
  const link = (what, words) => h("a", { href: `/api/runs/${run.number}/download/${what}`, target: what.includes("report") ? "_blank" : null, rel: "noopener", "data-get": what }, t(words));
  return h("section", { class: "card run", "data-run": run.number },
    h("h2", {}, t("run_n", { n: run.number }), " ", stand(run)),
    run.standing && run.standing.by ? h("p", {}, t(`stood_${run.standing.state}`, { who: run.standing.by, when: when(run.standing.when) }), run.standing.reason ? h("q", {}, run.standing.reason) : null) : null,
    verdict(run),
    run.current ? null : h("p", { class: "warning" }, t("older_words")),
    h("p", { class: "tools" },
      run.certificate ? button(t("verify"), () => verify(run, checks), { class: "verify" }) : null, " ",
      run.certificate ? button(t("audit"), async () => tellWork((await post(`runs/${run.number}/audit`)).work), { class: "audit", title: t("audit_words") }) : null, " ",
      run.report ? link("report", "report") : null, " ", run.released && run.report ? link("public-report", "public_report") : null, " ",
      run.certificate ? link("certificate", "certificate") : null, " ", link("job", "job_resolved"), " ",
      run.standing?.state === "accepted" ? link("release", "download_signed") : null),
    checks,
    audit?.summary ? h("div", { class: `verdict ${audit.safe ? "safe" : "unsafe"} audited` }, h("p", { class: "headline" }, `${t("audited")} ${audit.summary.headline}`), h("p", {}, audit.summary.caveat ?? "")) : null,
    run.standing ? h("div", {}, field(t("reason"), reason), h("p", { class: "tools" }, isMaker() ? [run.released && run.standing.state !== "accepted" ? decide("request") : null, " "] : [run.released && run.standing.state !== "accepted" ? decide("accept") : null, " ", decide("refuse"), " "], decide("comment"))) : h("p", { class: "muted" }, t("not_here")));
}

async function verify(run, checks) {
  fill(checks, h("p", { class: "muted" }, t("loading")));
  const told = await post(`runs/${run.number}/verify`).catch((error) => { fill(checks); throw error; });
  fill(checks, 
    h("p", { class: told.valid ? "good" : "error", role: "status" }, t(told.valid ? "valid" : "not_valid")),
    h("ul", { class: "plain" }, told.checks.map((one) => h("li", {}, h("span", { class: `chip ${one.passed ? "good" : "p"}` }, one.passed ? "✓" : "✗"), ` ${one.number}. ${one.name}: `, h("span", { class: "muted" }, one.detail)))),
    told.not_checked.length ? h("p", { class: "muted" }, t("not_checked", { what: told.not_checked.join("; ") })) : null);
}

function listed(record) {
  if (!record.entries.length) return h("p", { class: "muted" }, t("record_none"));
  return h("div", { class: "scroll tall", role: "region", tabindex: "0", "aria-label": t("record") }, h("table", { class: "list", id: "record" },
    h("thead", {}, h("tr", {}, ["number", "at", "who", "what", "said"].map((key) => h("th", { scope: "col" }, t(`rec_${key}`))))),
    h("tbody", {}, record.entries.map((entry) => h("tr", {}, h("td", { class: "n" }, number(entry.number)), h("td", {}, when(entry.at)), h("td", {}, `${entry.who} (${t(`role_${entry.role}`)})`), h("td", {}, t(`did_${entry.what}`)), h("td", {}, words(entry)))))));
}

function words({ what, said }) {
  if (said.changes) {
    const one = ({ codes, now }) => `${codes.join("/")}: ${Object.entries(now).map(([key, value]) => `${key} ${value || "–"}`).join(", ")}`;
    return said.changes.slice(0, 3).map(one).join("; ") + (said.many > 3 ? ` (${number(said.many)})` : "");
  }
  if (what === "job") return t("job_version", { version: said.version });
  return [said.run ? t("run_n", { n: said.run }) : "", said.headline ?? "", said.reason ?? ""].filter(Boolean).join(": ");
}

document.addEventListener("news", (event) => {
  if (document.body.dataset.room !== "sign" || !place) return;
  if (!(event.detail.record || event.detail.runs || event.detail.stamp || event.detail.ended)) return;
  const mine = Date.now() - decidedAt < 2000;
  if (!mine && [...document.querySelectorAll(".reason")].some((area) => area.value || area === document.activeElement)) { toast(t("something_new")); return; }
  attempt(() => drawSign(place));
});
