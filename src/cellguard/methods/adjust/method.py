"""Adjustment as jobs know it: assess, move, check exactly, and release only what somebody answers for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

from cellguard.errors import listing
from cellguard.inputs.assessment import Assessment
from cellguard.inputs.changing_method import ChangingMethod
from cellguard.io.changed_tables import Columns
from cellguard.io.sealed import write_seal
from cellguard.io.write import plain
from cellguard.job.jobfile import Job
from cellguard.job.specs import ProtectSpec
from cellguard.methods.adjust.look import LOOK
from cellguard.methods.adjust.plan import plan_of
from cellguard.methods.adjust.result import AdjustmentResult
from cellguard.methods.adjust.search import adjust
from cellguard.methods.adjust.spec import SHARED, AdjustOptions, options_of
from cellguard.run_context import Run, timed
from cellguard.seam.look import Look
from cellguard.seam.outcome import Outcome
from cellguard.verifier.adjusted import SEAL, verify_adjusted
from cellguard.verifier.verify import Verification


@dataclass(frozen=True, eq=False)
class Adjust(ChangingMethod[AdjustmentResult]):
    """Move the unsafe cells of all tables of a job to a side, and all other cells as little as possible.

    ``accept_no_rules`` releases tables to which no rule is applied.
    """

    accept_no_rules: bool = False
    name: ClassVar[str] = "adjust"
    participle: ClassVar[str] = "adjusted"
    options: ClassVar[type[ProtectSpec]] = AdjustOptions
    keeps_internal: ClassVar[bool] = True
    look: ClassVar[Look] = LOOK
    robustness: ClassVar[str] = (
        "Later tables of the same respondents belong into the same job: another adjustment gives true values away."
    )
    flexibility: ClassVar[str] = (
        "Published values add up exactly; sums and differences of them may be nearer to the truth than cells are."
    )

    @classmethod
    def fault(cls, job: Job) -> str | None:
        """Describe what the job says in vain, or differently of tables that share it."""
        if job.previous:
            return (
                "`previous` is not looked at when tables are adjusted, and another adjustment of the same firms gives "
                "true values away; leave it out, and put the tables of both releases into one job, or suppress them"
            )
        said = [(table.name, options_of(table.protect)) for table in job.tables]
        for key in SHARED:
            if len({getattr(options, key) for _, options in said}) > 1:
                who = listing([f"{name}: {getattr(options, key)}" for name, options in said])
                return f"tables of a job are one linked set and share `{key}`; they say {who}"
        return None

    def protect(self, assessed: Assessment, run: Run, seconds: dict[str, float]) -> AdjustmentResult:
        """Move the cells, and check that nothing is broken."""
        plan = plan_of(assessed.job, assessed.needs)
        with timed("adjusting", run, seconds) as here:
            heuristic = options_of(self.job.tables[0].protect).search == "heuristic"
            adjusted = adjust(plan, heuristic=heuristic, run=here)
        return AdjustmentResult(assessed, adjusted, self.accept_no_rules)

    def columns(self, outcome: Outcome[AdjustmentResult]) -> Mapping[str, Columns]:
        """Return true values, statuses, reasons, and how far unsafe cells had to move below or above."""
        done = outcome.protected
        plan, set_ = done.adjusted.plan, done.assessed.tables
        exact = plan.grains.exact()
        more: dict[str, Columns] = {}
        for number, (table, cells) in enumerate(zip(set_.tables, set_.cells_of, strict=True)):
            at = cells.tolist()
            sides: dict[str, Sequence[object]] = {
                name: [plain(Decimal(int(need[c])).scaleb(-int(plan.grains.decimals[c]))) if may[c] else "" for c in at]
                for name, need, may in (
                    ("need_below", plan.need_below, plan.may_fall),
                    ("need_above", plan.need_above, plan.may_rise),
                )
            }
            more[table.name] = {
                "value": [plain(exact[c]) for c in at],
                "status": done.status(number),
                "reasons": done.assessed.findings.by_table[number].reasons(),
                **sides,
            }
        return more

    def about(self, outcome: Outcome[AdjustmentResult], table: str) -> Mapping[str, Any]:
        """Return that the table is adjusted, and that it adds up."""
        return {"method": self.name, "adjustment": outcome.protected.words()}

    def seal(self, outcome: Outcome[AdjustmentResult], folder: Path) -> None:
        """Write the digests of all files, and what `verify` needs to work the adjustment out again."""
        done = outcome.protected
        by_name = {table.name: table for table in done.tables}
        grains = int(done.adjusted.plan.grains.decimals.max(initial=0))
        tables = [
            {
                "name": name,
                "by": [d.name for d in by_name[name].dimensions],
                "response": by_name[name].response,
                "population": by_name[name].population,
                "decimals": by_name[name].decimals,
                "grains": max(grains, by_name[name].decimals),
                "kind": self.name,
                **done.words(),
                "keep": [],
            }
            for name in done.names()
        ]
        write_seal(folder, SEAL, outcome, tables)

    @classmethod
    def verify(cls, folder: Path) -> Verification | None:
        """Work the adjustment out again, with code of its own."""
        seal = folder / "internal" / SEAL
        return verify_adjusted(seal) if seal.is_file() else None

    def pages(self, outcome: Outcome[AdjustmentResult]) -> Mapping[str, str]:
        """Return the officer's page and, if there is a release, the public one."""
        from cellguard.methods.adjust import page
        from cellguard.report import render

        render.require_extra()
        pages = {"internal/report.html": page.internal_page(outcome)}
        if outcome.release is not None:
            pages["release/report.html"] = page.public_page(outcome)
        return pages
