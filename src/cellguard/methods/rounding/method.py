"""Rounding as jobs know it: assess, round, attack what an attacker concludes, and release only what that allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from cellguard.errors import InputError, listing
from cellguard.inputs.assessing import assess_tables, insiders_of, read_known_totals
from cellguard.inputs.assessment import Assessment
from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec
from cellguard.methods.rounding.attacked import Attacked, attack
from cellguard.methods.rounding.files.cells import write_cells
from cellguard.methods.rounding.files.sealed import read_seed, write_seal, write_seed
from cellguard.methods.rounding.look import LOOK
from cellguard.methods.rounding.plan import Plan, plan_of
from cellguard.methods.rounding.result import RoundingResult
from cellguard.methods.rounding.rounded import Rounded, round_cells
from cellguard.methods.rounding.screen import assessed_words, rounded_words
from cellguard.methods.rounding.spec import EFFORTS, SHARED, RoundOptions, options_of
from cellguard.randomness import checked_seed, fresh_seed
from cellguard.run_context import Budget, Run, timed
from cellguard.seam.look import Look
from cellguard.seam.method import Method
from cellguard.seam.outcome import Outcome
from cellguard.seam.screen import Screen
from cellguard.table.apriori import State
from cellguard.verifier.rounded import SEAL, verify_rounded
from cellguard.verifier.verify import Verification

_ROUNDS = 6  # of hiding, and doublings of the base


@dataclass(frozen=True, eq=False)
class Round(Method[Assessment, RoundingResult]):
    """Round all tables of a job to multiples of a base, each distinct cell once.

    ``seed_from`` is the output folder of an earlier run, whose secret seed is taken again; ``seed`` is for studies that
    release nothing. ``accept_no_rules`` releases tables to which no rule is applied.
    """

    accept_no_rules: bool = False
    seed_from: str | Path | None = None
    seed: int | None = None
    name: ClassVar[str] = "round"
    participle: ClassVar[str] = "rounded"
    options: ClassVar[type[ProtectSpec]] = RoundOptions
    keeps_internal: ClassVar[bool] = True
    repeatable: ClassVar[bool] = False
    look: ClassVar[Look] = LOOK
    robustness: ClassVar[str] = (
        "Later tables of the same respondents need the same seed: the same values rounded anew give true ones away."
    )
    flexibility: ClassVar[str] = (
        "Any table can be rounded; sums and differences of rounded values carry the rounding of all their parts."
    )

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says in vain, or differently of tables that share it."""
        if job.previous:
            return "`previous` is not looked at when tables are rounded; leave it out, and take the earlier run's seed"
        said = [(table.name, options_of(table.protect)) for table in job.tables]
        for key in SHARED:
            if len({getattr(options, key) for _, options in said}) > 1:
                who = listing([f"{name}: {getattr(options, key)}" for name, options in said])
                return f"tables of a job are one linked set and share `{key}`; they say {who}"
        if said[0][1].kind != "controlled" and (said[0][1].steps or said[0][1].search != "best"):
            return "`steps` and `search` go with `kind: controlled`; leave them out"
        return _small_count_fault(job) if said[0][1].kind == "small_counts" else None

    def assess(self, run: Run, seconds: dict[str, float]) -> Assessment:
        """Build the job's tables, link them, apply the rules and say what protection must achieve."""
        self._seed()  # what cannot be read is reported before the work
        return assess_tables(_with_insiders(self.job), run, seconds)

    def protect(self, assessed: Assessment, run: Run, seconds: dict[str, float]) -> RoundingResult:
        """Round every distinct cell, and attack the result; mend what is too well known if the job says how."""
        plan, seed = plan_of(assessed.job, assessed.tables), self._seed()
        with timed("rounding", run, seconds):
            rounded = self._rounded(plan, seed, run)
        run = self._within_budget(run)
        with timed("attacking what is published", run, seconds) as here:
            attacked = self._attack(assessed, rounded, here)
        doublings, mended = 0, np.zeros(len(assessed.tables), bool)
        wish = options_of(self.job.tables[0].protect).if_unsafe
        for _ in range(_ROUNDS if wish != "refuse" else 0):
            if not attacked.open.any():
                break
            run.check()
            if wish == "coarser":
                plan, doublings = plan.coarser(), doublings + 1
                rounded = self._rounded(plan, seed, run)
            else:
                more = _to_hide(assessed, rounded, attacked)
                if not more.any():
                    break
                mended |= more
                rounded = rounded.hiding(more)
            with timed("attacking what is published", run, seconds) as here:
                attacked = self._attack(assessed, rounded, here)
        kept = None if plan.kind == "conventional" else seed
        return RoundingResult(assessed, rounded, attacked, kept, doublings, mended, self.accept_no_rules)

    def _within_budget(self, run: Run) -> Run:
        """Return the run with the work that attacks may take from now on."""
        allowed = EFFORTS[options_of(self.job.tables[0].protect).effort]
        return run if allowed is None else replace(run, budget=Budget(allowed))

    def _rounded(self, plan: Plan, seed: int, run: Run) -> Rounded:
        first = options_of(self.job.tables[0].protect).search == "first"
        return round_cells(plan, seed, first=first, run=run)

    def _attack(self, assessed: Assessment, rounded: Rounded, run: Run) -> Attacked:
        return attack(
            assessed.needs,
            rounded,
            known=read_known_totals(assessed).sums,
            insiders=insiders_of(assessed),
            coalition=assessed.job.attack.coalition,
            run=run.endless(),
        )

    def _seed(self) -> int:
        """Return the seed: what the run or the job says, that of an earlier run, or a new secret one."""
        said = options_of(self.job.tables[0].protect)
        if self.seed_from is not None:
            if said.kind == "conventional" or said.seed is not None:
                raise InputError("--seed-from goes with rounding by chance whose job gives no `seed`")
            return read_seed(OutputFolder(self.seed_from))
        if self.seed is not None:
            return checked_seed(self.seed)
        return fresh_seed() if said.seed is None else said.seed

    def assessed_summary(self, assessed: Assessment) -> dict[str, Any]:
        """Return what the rules find."""
        plan_of(assessed.job, assessed.tables)
        return assessed.summary()

    def assessed_screen(self, assessed: Assessment) -> Screen:
        """Return what the rules find."""
        return assessed_words(self.assessed_summary(assessed))

    def screen(self, outcome: Outcome[RoundingResult], folder: Path | None) -> Screen:
        """Return the verdict, the tables, and what attackers conclude."""
        return rounded_words(outcome.summary, folder)

    def write_internal(self, outcome: Outcome[RoundingResult], inside: Path) -> None:
        """Write true and published values with what attackers conclude of each cell, and the seed."""
        write_cells(inside, outcome.protected)
        if outcome.protected.seed is not None:
            write_seed(inside, outcome.protected.seed)

    def about(self, outcome: Outcome[RoundingResult], table: str) -> Mapping[str, Any]:
        """Return how the table is rounded and whether it adds up: an attacker may know it, and a reader should."""
        return {"method": self.name, "rounding": outcome.protected.words(table)}

    def seal(self, outcome: Outcome[RoundingResult], folder: Path) -> None:
        """Write the digests of all files, and what `verify` needs to work the rounding out again."""
        write_seal(folder, outcome)

    @classmethod
    def verify(cls, folder: Path) -> Verification | None:
        """Work the rounding out again, with code of its own."""
        seal = folder / "internal" / SEAL
        return verify_rounded(seal) if seal.is_file() else None

    def pages(self, outcome: Outcome[RoundingResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.rounding.report import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_page(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_page(outcome)
        return pages


def _with_insiders(job: Job) -> Job:
    """Return the job with respondents as attackers: as it says, and if it does not, wherever it has their records."""
    if job.attack.insiders is not None:
        return job
    attack = job.attack.model_copy(update={"insiders": job.microdata is not None})
    return job.model_copy(update={"attack": attack})


def _small_count_fault(job: Job) -> str | None:
    """Describe what does not go with rounding small inner counts."""
    for table in job.tables:
        said = options_of(table.protect)
        if table.value != "count":
            return f"table {table.name!r}: `kind: small_counts` is for frequency tables; say `value: count`"
        if said.keep or said.suppress_below is not None or said.if_unsafe == "suppress":
            return (
                f"table {table.name!r}: with `kind: small_counts` all cells are sums of inner ones; leave `keep`, "
                "`suppress_below` and `if_unsafe: suppress` out"
            )
        if said.base != options_of(job.tables[0].protect).base:
            return "with `kind: small_counts` all tables of a job have one `base`"
    return None


def _to_hide(assessed: Assessment, rounded: Rounded, attacked: Attacked) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return the cells to hide next: the open ones and, where these are hidden, what they add up to or with."""
    may = rounded.seen & ~rounded.plan.kept & ~assessed.tables.stated(State.must_publish)
    hide = attacked.open & may
    if hide.any():
        return hide
    relations = abs(assessed.tables.relations)
    near = relations @ attacked.open.astype(float) > 0
    return (relations.T @ near.astype(float) > 0) & may & (rounded.plan.value != 0)
