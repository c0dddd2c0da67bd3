"""What was done to perturbed tables: the settings, how mu was chosen, and how much noise the cells carry."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from cellguard.methods.perturb.draw.balanced import Balance, Balanced
from cellguard.methods.perturb.draw.noise import NoiseStatistics, table_statistics
from cellguard.methods.perturb.draw.variance import published_variance
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.report.section import Section
from cellguard.report.words import many, share, short
from cellguard.rules.limits import NoiseRule
from cellguard.rules.parameters import percent
from cellguard.seam.outcome import Outcome

_MOST_CELLS, _MOST_MU = 10, 20
_METHODS = {
    "zes": "ZES: a random multiplier for each respondent, about mu away from 1, up or down",
    "balanced": "Balanced noise: a random multiplier for each respondent; sides are dealt so that the noise of cells "
    "that need none adds up to little",
    "marg": "MARG: margins move a little, and raking to them gives every cell a factor for all its contributors",
    "marg_zes": "MARG after ZES: random multipliers, then raking to the true margins",
    "opt": "OPT: multipliers that bring sensitive cells closest to their protection levels and others to their values",
    "least_loss": "Least loss: the least noise over all cells with which every sensitive cell is safe",
}


def perturbed(outcome: Outcome[PerturbationResult]) -> Section:
    """Describe what was perturbed, with which settings, and which tables the multipliers were drawn for."""
    tables = []
    for here in outcome.protected.check.tables:
        table = here.table.table
        tables.append(
            {
                "name": table.name,
                "by": [d.name for d in table.dimensions],
                "value": table.response,
                "kind": "counts" if table.is_count else "sums",
                "decimals": outcome.protected.decimals[table.name],
                "rule": "; or ".join(map(_rule, here.table.rules)),
                "figures": "; ".join(map(str, here.table.rules)),
                "sensitive": f"{many(int(here.needs.sensitive.sum()), 'cell')} of {len(table):,} before the noise, "
                f"{int(here.unsafe.sum()):,} with it",
                "flag": outcome.protected.flags[table.name],
            }
        )
    data = {"tables": tables, "settings": _settings(outcome), "warnings": list(outcome.summary.get("warnings", ()))}
    return Section("perturbed", "What was perturbed", data)


def _rule(rule: NoiseRule) -> str:
    """Say when a perturbed cell is unsafe."""
    who = {1: "somebody", 2: "one other contributor"}.get(rule.n, f"{rule.n - 1} other contributors together")
    knows = "" if rule.q == 100 else f", knowing all others to within {percent(rule.q)} %"
    return f"{who} can estimate the largest contributor to within {percent(100 * rule.accuracy)} %{knows}"


def _settings(outcome: Outcome[PerturbationResult]) -> list[tuple[str, str]]:
    made = outcome.protected.check.multipliers
    plan, how = made.plan, made.settings.attributes
    rows = [("Method", _method(outcome)), ("Multipliers", _distribution(outcome))]
    if plan.strata:
        by = "what their cells need" if plan.strata == "need" else plan.strata
        rows.append(
            ("Strata", f"by {by}: " + ", ".join(f"{label} mu = {mu:.3g}" for label, mu in plan.classes.items()))
        )
    rows += list(made.fit.facts) if made.fit is not None else []
    rows += _who(outcome)
    if made.settings.fitted is not None:
        rows.append(("Attribute multipliers", "every response was fitted by itself and has multipliers of its own"))
        return [*rows, *_about_records(outcome)]
    own = "none, so the ratio of two responses of one contributor is kept"
    if how.variant != "none":
        spread = "N(0, sd) added" if how.variant == "delta" else "multiplied by N(1, sd)"
        own = f"every response has its own: the respondent's, {spread}, sd = {how.sd:g}"
    rows.append(("Attribute multipliers", own))
    return [*rows, *_about_records(outcome)]


def _who(outcome: Outcome[PerturbationResult]) -> list[tuple[str, str]]:
    """Say who is perturbed, who drew again and who keeps a multiplier of an earlier year, where that was asked for."""
    made, rows = outcome.protected.check.multipliers, list[tuple[str, str]]()
    if made.plan.whom:
        rows.append(("Perturbed are", f"units {made.plan.whom}; all others keep their values"))
    if made.redrawn is not None:
        again = made.redrawn
        text = f"{many(again.units, 'unit')} of failing cells drew again, in {many(again.rounds, 'round')}"
        left = f"; {many(again.left, 'unit')} would still have to" if again.left else ""
        known = "; an attacker who knows that knows that the noise of a sensitive cell is at least its protection level"
        rows.append(("Redraw", text + left + (known if again.rounds else "")))
    if made.balance is not None:
        rows.append(("Balanced", _balanced(made.balance, made.settings.balanced)))
    if made.years is not None:
        text = f"{many(made.years.kept, 'respondent')} keep theirs of an earlier year, {made.years.new:,} are new"
        rows.append(("Years", f"{text}, {made.years.gone:,} are gone"))
    return rows


def _balanced(done: Balance, how: Balanced) -> str:
    """Say whose noise is balanced, and whose protects."""
    exact = f", {done.exact:,} of which keep their totals" if how.totals == "exact" else ""
    mine = f"{many(done.units, 'unit')} in {many(done.cells, 'cell')} that need no noise{exact}; theirs is taken to be"
    others = f"{many(len(done.guarded), 'unit')} among the largest of sensitive cells have noise by chance alone"
    return f"{mine} known to attackers. {others}"


def _about_records(outcome: Outcome[PerturbationResult]) -> list[tuple[str, str]]:
    made = outcome.protected.check.multipliers
    records, rows = made.records, list[tuple[str, str]]()
    if made.definitions.parts:
        sums = [f"{total} = {_signed(parts)}" for total, parts in made.definitions.parts.items()]
        rows.append(("Kept sums", "; ".join(sums)))
    counted = f"{many(len(records), 'record')}, {many(records.units, 'multiplier')}: one per respondent or holding"
    weighted = "; only what the sampled unit itself reported is perturbed, not what it stands for"
    rows.append(("Records", counted + ("" if records.weight is None else weighted)))
    return rows


def _signed(parts: Mapping[str, int]) -> str:
    return " ".join(f"{'−' if sign < 0 else '+'} {name}" for name, sign in parts.items()).removeprefix("+ ")


def _method(outcome: Outcome[PerturbationResult]) -> str:
    made = outcome.protected.check.multipliers
    if made.settings.method in _METHODS:
        return _METHODS[made.settings.method]
    d, cap = made.settings.mu.d, made.settings.mu.cap
    who = "all sensitive cells are safe together" if made.settings.mu.whole else "a sensitive cell is safe"
    text = f"ZES(mu): the smallest mu up to {cap:g} with which {who} with probability {d:g}"
    if made.choice is None or made.choice.asked:
        return text
    return f"{text}; but {made.choice.words()}, so mu = {made.plan.zes.mu:.3g} was used"


def _distribution(outcome: Outcome[PerturbationResult]) -> str:
    made = outcome.protected.check.multipliers
    zes, plan = made.plan.zes, made.plan
    centre = "mu of the stratum" if plan.strata else f"mu = {zes.mu:.3g}"
    signs = "as many up as down" if zes.directions == "balanced" else "up or down at random"
    dealt = made.settings.fitted.dealt if made.settings.fitted is not None else ""
    if dealt and made.settings.method != "marg_zes":
        words = {"equal": "the same for all", "size": "larger ones move more", "strata": "the same for all of a class"}
        return f"among respondents who are in the same cells: {words.get(dealt, 'random, with the total kept')}"
    if made.settings.method == "balanced":
        how = made.settings.balanced
        return f"1 ± r, r {how.shape} from {how.low:g} to {how.high:g}, of guarded units up or down at random"
    return f"1 ± r, r {zes.shape} with {centre} and sigma = {zes.deviation:.3g}, {signs}"


def chosen_mu(outcome: Outcome[PerturbationResult]) -> Section | None:
    """Show which mu each sensitive cell asks for, the largest first; nothing where mu was given."""
    choice = outcome.protected.check.multipliers.choice
    if choice is None:
        return None
    counted = Counter(cell.status for cell in choice.cells)
    order = sorted(choice.cells, key=lambda c: (not np.isnan(c.mu), -c.mu if not np.isnan(c.mu) else 0.0))
    rows = [
        {
            "table": cell.table,
            "codes": cell.name.replace("/", " / "),
            "mu": "none helps" if np.isnan(cell.mu) else f"{cell.mu:.4f}",
            "chance": f"{cell.probability:.3f}",
            "status": cell.status,
        }
        for cell in order[:_MOST_MU]
    ]
    words = ", ".join(f"{n:,} {status}" for status, n in counted.most_common())
    lead = f"Of {many(len(choice.cells), 'sensitive cell')}: {words}." if choice.cells else "No cell is sensitive."
    lead += f" {_used(outcome)}"
    if choice.asked:
        lead += f" All served cells are safe together with a probability of at least {choice.together:.3f}."
    return Section("mu", "How mu was chosen", {"lead": lead, "rows": rows, "more": len(order) - len(rows)})


def _used(outcome: Outcome[PerturbationResult]) -> str:
    """Describe which mu the multipliers were really drawn with."""
    made = outcome.protected.check.multipliers
    if made.plan.strata:
        text = "Used were " + ", ".join(f"mu = {mu:.4g} ({label})" for label, mu in made.plan.classes.items())
    else:
        text = f"Used was mu = {made.plan.zes.mu:.4g}"
    if made.choice is None or made.choice.asked:
        return text + "."
    return text + (", the least of a stratum." if made.plan.strata else ", since no cell asks for one that it can get.")


def noise(outcome: Outcome[PerturbationResult]) -> Section:
    """Show the result tables: percentage noise by group of cells, information loss, and averages of replications."""
    check, study = outcome.protected.check, outcome.protected.study
    name = "All tables" if len(check.tables) > 1 else check.tables[0].table.name
    shown = [_result(name, "this run", check.statistics)]
    shown[0]["rows"] += _dominated(outcome)
    if len(check.tables) > 1:
        for here in check.tables:
            alone = table_statistics([here.table], [here.total])
            shown.append(_result(here.table.name, "this run", alone, closed=True))
    data: dict[str, Any] = {"tables": shown, "study": "", "survey": _survey(outcome)}
    if study is not None:
        times = f"{study.replications:,}"
        shown.insert(1, _result(shown[0]["name"], f"averages of {times} replications", study.statistics()))
        ratio = study.mean_ratio[~np.isnan(study.mean_ratio)]
        bias = (
            f"On average over the replications the perturbed total is between {ratio.min():.4f} and {ratio.max():.4f} "
            "times the true one; without bias it tends to 1."
        )
        data |= {"study": times, "bias": bias if len(ratio) else "All totals are 0.", "cells": _variable(outcome)}
    return Section("noise", "Noise and information loss", data)


def _dominated(outcome: Outcome[PerturbationResult]) -> list[tuple[str, ...]]:
    """Return the noise of cells that are sensitive by the dominance rule, and of the others, whatever their S_N."""
    tables = outcome.protected.check.tables
    statistics = table_statistics([t.table for t in tables], [t.total for t in tables], by_dominance=True)
    rows = {row[0]: row for row in _result("", "", statistics)["rows"]}
    return [("dominated", *rows["sensitive"][1:]), ("not dominated", *rows["nonsensitive"][1:])]


def _survey(outcome: Outcome[PerturbationResult]) -> str:
    """Describe how much the sample and the noise make published totals vary; nothing for a census."""
    parts = []
    for here in outcome.protected.check.tables:
        sample, there = here.sampling_variance, here.table.total != 0
        if sample is not None and there.any():
            both = published_variance(sample, here.noise)
            parts.append(np.sqrt(np.array([sample, both])[:, there]) / np.abs(here.table.total[there]))
    if not parts:
        return ""
    cv = 100 * np.concatenate(parts, axis=1).mean(axis=1)
    return (
        f"The totals are estimates from a sample. Their coefficient of variation is {cv[0]:.2f} % on average over the "
        f"nonzero cells, and {cv[1]:.2f} % with the noise (Horvitz-Thompson, units drawn one by one with probability "
        "1 / weight; the variance of a published total is that of the sample plus the squared noise)."
    )


def _result(name: str, run: str, statistics: NoiseStatistics, *, closed: bool = False) -> dict[str, Any]:
    rows = [
        (word, *(f"{x:.2f}" if g.cells else "–" for x in (g.average, g.maximum, g.minimum)), f"{g.cells:,}")
        for word, g in statistics.groups.items()
    ]
    ratio = "–" if np.isnan(statistics.loss_per_percent) else short(statistics.loss_per_percent)
    return {
        "name": name,
        "run": run,
        "closed": closed,
        "rows": rows,
        "loss": short(statistics.loss),
        "ratio": ratio,
        "squared": short(statistics.squared),
    }


def _variable(outcome: Outcome[PerturbationResult]) -> list[dict[str, str]]:
    """Return the cells whose perturbed total varies most over the replications."""
    study = outcome.protected.study
    if study is None:
        return []
    order = np.argsort(-np.nan_to_num(study.cv, nan=-1.0), kind="stable")[:_MOST_CELLS]
    starts = np.cumsum([0, *(len(table) for table in study.tables)])
    rows = []
    for cell in order[~np.isnan(study.cv[order])].tolist():
        at = int(np.searchsorted(starts, cell, side="right")) - 1
        rows.append(
            outcome.protected.name(at, cell - int(starts[at]))
            | {
                "cv": f"{study.cv[cell]:.4f}",
                "ratio": f"{study.mean_ratio[cell]:.4f}",
                "unsafe": share(study.unsafe[cell], 1.0),
            }
        )
    return rows
