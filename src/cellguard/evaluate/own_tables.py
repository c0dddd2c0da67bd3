"""Rules compared on the user's own tables: on which cells do they disagree, and what do these look like?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.arrays import Positions
from cellguard.errors import InputError
from cellguard.evaluate.families import Family, thesis
from cellguard.evaluate.rule_page import agreement_sections, rule_study_data
from cellguard.evaluate.rule_study import GRID, RuleStudy, study_cells
from cellguard.job.jobfile import Job
from cellguard.pipeline import assess_job
from cellguard.report.evaluation import evaluation_page, part, table
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.table.table import Table

_MOST_SHOWN = 200


@dataclass(frozen=True, eq=False)
class TableStudy:
    """Rules compared on the cells of a table to which somebody contributes more than 0 by size. Confidential.

    ``cells`` are the positions of these cells in the table; ``left_out`` is how many others it has.
    """

    table: Table
    cells: Positions
    study: RuleStudy

    @property
    def left_out(self) -> int:
        """The number of cells to which nobody contributes anything but 0."""
        return len(self.table) - len(self.cells)

    def disagreements(self) -> list[dict[str, Any]]:
        """Return every cell on which not all rules agree: which ones call it unsafe, their figures and shares."""
        verdicts = np.stack([self.study.verdicts(name) for name in self.study.families])
        split = np.flatnonzero(verdicts.any(axis=0) & ~verdicts.all(axis=0))
        facts = self.table.facts.take(self.cells[split])
        measures = {name: rule.measure(facts) for name, rule in self.study.rules.items()}
        shares = 100 * self.study.largest[split] / self.study.total[split, None]
        return [
            {
                "cell": self.table.cell_name(int(self.cells[cell])),
                "unsafe by": [name for name, said in zip(self.study.families, verdicts[:, cell], strict=True) if said],
                "figures": {name: round(float(values[row]), 2) for name, values in measures.items()},
                "shares": [round(share, 2) for share in shares[row].tolist()],
            }
            for row, cell in enumerate(split.tolist())
        ]


def study_job(
    job: Job,
    families: Mapping[str, Family] | None = None,
    *,
    target: float | None = None,
    grid: Sequence[float] = GRID,
    fixed: Mapping[str, float] | None = None,
    whole: bool = False,
    run: Run = Run(),  # noqa: B008
) -> list[TableStudy]:
    """Compare rules on each table of a job, whatever rules the job has.

    Each rule is calibrated to call the share ``target`` of a table's cells unsafe; by default as many as the first
    rule with the strictness that ``fixed`` gives it does, or a fifth of them.
    """
    families, fixed = families or thesis(), fixed or {}
    asked: list[Rule] = [f.rule(fixed[name]) if name in fixed else f.example for name, f in families.items()]
    tables = [table.model_copy(update={"rules": asked}) for table in job.tables]
    findings = assess_job(job.model_copy(update={"tables": tables}), within=run).findings
    settings: dict[str, Any] = {"target": target, "grid": grid, "fixed": fixed, "whole": whole}
    return [_study(here.table, families, settings) for here in findings.by_table]


def _study(table: Table, families: Mapping[str, Family], settings: Mapping[str, Any]) -> TableStudy:
    cells = np.flatnonzero(table.facts.basis > 0)
    if not len(cells):
        raise InputError(f"table {table.name!r} has no cell with contributions above 0, so there is nothing to compare")
    return TableStudy(table, cells, study_cells(table.facts.take(cells), families, **settings))


def own_tables_data(studies: Sequence[TableStudy]) -> dict[str, Any]:
    """Return the comparison on each table as plain data. Confidential."""
    return {here.table.name: _data(here) for here in studies}


def _data(here: TableStudy) -> dict[str, Any]:
    left = {"left_out": here.left_out, "disagreements": here.disagreements()}
    return {**rule_study_data(here.study), **left}


def own_tables_page(studies: Sequence[TableStudy]) -> str:
    """Return the comparison on each table as a page. Confidential."""
    sections = []
    for number, here in enumerate(studies):
        split = here.disagreements()
        places = [f"x{place} %" for place in range(1, here.study.largest.shape[1] + 1)]
        rows = [
            (
                cell["cell"],
                ", ".join(cell["unsafe by"]),
                *(f"{figure:.2f}" for figure in (*cell["figures"].values(), *cell["shares"])),
            )
            for cell in split[:_MOST_SHOWN]
        ]
        heads = ("Cell", "unsafe by", *(f"figure of {name}" for name in here.study.families), *places)
        more = f"The first {_MOST_SHOWN} of {len(split):,} cells." if len(split) > _MOST_SHOWN else ""
        disagreed = f"{len(split):,} {'cell' if len(split) == 1 else 'cells'}"
        empty = f" ({here.left_out:,} others have no contribution but 0)" if here.left_out else ""
        words = (f"{len(here.study):,} cells{empty}; {_calibrated(here.study)}. The rules disagree on {disagreed}.",)
        shown = [table(heads, rows, note=more)] if rows else []
        sections.append(part(f"table-{number}", here.table.name, words=words, tables=shown))
        sections += agreement_sections(here.study, of=here.table.name)
    names = ", ".join(here.table.name for here in studies)
    intro = "On which cells of your own tables the rules disagree, when all of them call about equally many unsafe."
    return evaluation_page(f"Rules compared on {names}", "Comparison of rules", intro, sections, confidential=True)


def _calibrated(study: RuleStudy) -> str:
    """Describe how strict each rule is, how many cells it calls unsafe, and where that is not the wanted
    number.
    """
    return "; ".join(
        f"{rule} calls {chosen.unsafe:,} unsafe{f' ({chosen.words})' if chosen.words else ''}"
        for rule, chosen in ((rule, study.chosen[name]) for name, rule in study.rules.items())
    )
