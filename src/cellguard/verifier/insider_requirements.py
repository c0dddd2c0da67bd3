"""How far cells must move against insiders, from what these contribute and what the largest other respondent does."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from cellguard.verifier.cells import Cells
from cellguard.verifier.facts import WAIVED, Facts
from cellguard.verifier.numbers import Bools, Floats, Int64
from cellguard.verifier.requirements import Capacities, axes_of, judged_elsewhere, units
from cellguard.verifier.rows import Rows
from cellguard.verifier.rule_words import parse_rule
from cellguard.verifier.rules import unknown_names
from cellguard.verifier.spec import Group
from cellguard.verifier.verdict import DEFAULT_PERCENT


@dataclass(frozen=True)
class Demands:
    """How far cells must move: down, up and in all against outsiders (``needs``), and what the same depends on inside.

    ``signed`` marks cells that may be negative: nobody bounds such a cell by contributing to it.
    """

    value: Int64
    needs: tuple[Int64, Int64, Int64]
    limits: Capacities
    accuracy: Floats
    unit: Int64
    frequency: Bools
    told: Bools
    signed: Bools

    @property
    def cells(self) -> list[int]:
        """The cells that need anything."""
        down, up, either = self.needs
        cells: list[int] = np.flatnonzero(np.maximum(np.maximum(down, up), either) > 0).tolist()
        return cells

    def asked(self, cell: int, own: Int64, other: Int64) -> list[Int64]:
        """Return how far a cell must move for insiders who contribute ``own``, where other ones have ``other``."""
        asked = [np.full(own.size, need[cell]) for need in self.needs]
        if self.signed[cell] or not self.told[cell]:
            return asked
        level = self.level(cell, own, other)
        room = np.maximum(int(self.value[cell]) - own, 0)
        if self.frequency[cell]:
            asked[0] = np.minimum(asked[0], room)
        else:
            least, down = int(self.unit[cell]) - 1, np.minimum(level, room)
            asked = [down, level, np.where(np.maximum(down, level) < least, least, 0)]
        return [np.minimum(asked[0], self.limits.down[cell]), np.minimum(asked[1], self.limits.up[cell]), asked[2]]

    def level(self, cell: int, own: Int64, other: Int64) -> Int64:
        """Return how far estimates of the largest other ones must be able to go."""
        share = Fraction(repr(float(self.accuracy[cell]))) / 100
        more = np.array([int(x) * share.numerator // share.denominator for x in other.tolist()], dtype=np.int64)
        # A grain is less than a thousandth of what is published: the last one is left to rounding.
        return np.maximum(own + other + more - int(self.value[cell]) - 1, 0)


def read_demands(
    told: Bools,
    cells: Cells,
    rows: Rows,
    facts: Sequence[Facts],
    limits: Capacities,
    counted: Collection[Group] = frozenset(),
) -> Demands:
    """Return the protection levels of cells; ``told`` marks cells whose contributors are known, ``counted`` are never
    below 0.
    """
    lower = cells.spec.attack.lower
    plain = lower is not None and lower >= 0
    down, up, either = (_largest(cells, need) for need in (rows.lower, rows.upper, rows.sliding))
    return Demands(
        value=_on_cells(cells, rows),
        needs=(down, up, either),
        limits=limits,
        accuracy=_accuracy(cells, facts),
        unit=units(cells),
        frequency=_frequencies(cells),
        told=told,
        signed=~np.array([plain or group in counted for group in cells.spec.groups], dtype=bool)[cells.group],
    )


def _accuracy(cells: Cells, facts: Sequence[Facts]) -> Floats:
    """Return for each cell the largest accuracy of the rules that make it unsafe, or the usual one."""
    accuracy, elsewhere = np.zeros(cells.count), judged_elsewhere(cells)
    for i, table in enumerate(cells.spec.tables):
        cell = cells.cell[cells.rows(i)]
        here = replace(facts[i], axes=axes_of(cells, i))
        if table.count:
            here = replace(here, count=np.where(np.isnan(here.count), here.total, here.count))
        for given in table.rules:
            rule = parse_rule(given)
            unsafe = np.ones(cell.size, dtype=bool) if unknown_names([rule]) else rule.judge(here).unsafe
            unsafe = unsafe & ~elsewhere[cells.rows(i)] & (here.state != WAIVED)
            np.maximum.at(accuracy, cell[unsafe], 0.0 if unknown_names([rule]) else accuracy_of(given))
    return np.where(accuracy > 0, accuracy, DEFAULT_PERCENT)


def accuracy_of(rule: Mapping[str, Any]) -> float:
    """Return how closely nobody may come to a contribution, in percent of it."""
    name, words = next(iter(rule.items()))
    if name == "all":
        return max(accuracy_of(part) for part in words)
    if not isinstance(words, Mapping):
        return float(words) if name == "p_percent" else DEFAULT_PERCENT
    if name == "p_percent":
        return float(words["p"])
    if name == "prior_posterior":
        return 100 * float(words["p"]) / float(words["q"])
    return float(words.get("protection_percent", DEFAULT_PERCENT))


def _on_cells(cells: Cells, rows: Rows) -> Int64:
    return np.concatenate(rows.value).astype(np.int64)[cells.first_row()]


def _largest(cells: Cells, need: Int64) -> Int64:
    largest = np.zeros(cells.count, dtype=np.int64)
    np.maximum.at(largest, cells.cell, need)
    return largest


def _frequencies(cells: Cells) -> Bools:
    frequency = np.zeros(cells.count, dtype=bool)
    for i, table in enumerate(cells.spec.tables):
        if table.count:
            frequency[cells.cell[cells.rows(i)]] = True
    return frequency
