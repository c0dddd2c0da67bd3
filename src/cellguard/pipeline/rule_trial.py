"""`RuleTrial`: how many cells rules would call unsafe, at once: the tables are made once, with facts for many rules.

What is counted are the cells that the rules of any table call unsafe, or a manual state does; nothing is protected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cellguard.errors import InputError
from cellguard.inputs.assessing import assess_tables
from cellguard.job.jobfile import Job
from cellguard.rules.assess import assess_table
from cellguard.rules.linear import Dominance
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.table.tableset import TableSet

_MOST_LISTED = 5  # of the largest contributions, which covers what rules of shares look at


@dataclass(frozen=True, eq=False)
class RuleTrial:
    """The tables of a job, ready for any rules. Confidential."""

    tables: TableSet

    @classmethod
    def of(cls, job: Job, *, within: Run = Run()) -> RuleTrial:  # noqa: B008
        """Make the tables of a job, if possible with facts that its own rules do not need."""
        attack = job.attack.model_copy(update={"insiders": False, "coalition": 1})
        plain = job.model_copy(update={"attack": attack})
        try:
            return cls(assess_tables(_with_more_facts(plain), within, {}).tables)
        except InputError:  # such facts cannot be had of these data, as where some are below 0
            return cls(assess_tables(plain, within, {}).tables)

    def count(self, rules: Mapping[str, Sequence[Rule]]) -> dict[str, Any]:
        """Return for each table how many cells its rules call unsafe, by rule and in all, and for the set.

        >>> import cellguard as cg
        >>> data = {"r": ["Total", "N", "S"], "x": [12, 5, 7], "n": [9, 2, 7]}
        >>> table = cg.cells(data, by=["r"], value="x", count="n")
        >>> trial = RuleTrial(cg.link(table))
        >>> trial.count({"table": [cg.MinFrequency(3)]})["tables"]
        {'table': {'cells': 3, 'unsafe': 1, 'by_rule': {'min_frequency 3': 1}}}
        """
        unsafe = np.zeros(len(self.tables), bool)
        counted: dict[str, dict[str, Any]] = {}
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            if table.name not in rules:
                continue
            whole = [rule for rule in rules[table.name] if rule.whole_rows]
            if whole:
                raise InputError(f"{whole[0]} judges whole rows, which is counted when the rules are applied")
            found = assess_table(table, tuple(rules[table.name]))
            unsafe[cells] |= found.primary
            by_rule = {str(rule): int(said.sum()) for rule, said in zip(found.rules, found.unsafe, strict=True)}
            counted[table.name] = {"cells": len(table), "unsafe": int(found.primary.sum()), "by_rule": by_rule}
        return {"tables": counted, "set": {"cells": len(self.tables), "unsafe": int(unsafe.sum())}}


def _with_more_facts(job: Job) -> Job:
    probe = Dominance(_MOST_LISTED, 50.0)
    tables = [
        t if t.cells or t.value == "count" else t.model_copy(update={"rules": [*t.rules, probe]}) for t in job.tables
    ]
    return job.model_copy(update={"tables": tables})
