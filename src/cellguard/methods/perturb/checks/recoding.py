"""A plan of recoding: which neighbouring codes to merge so that no cell is supersensitive, tried out on the tables.

Merges for single cells (`redesign`) may contradict one another, or make another table worse. A plan is one recoding of
all tables: codes that follow one another under the same parent, each in one merge only. It is found step by step, the
merge first that leaves the fewest supersensitive cells, and each step is judged by making the tables with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import merge
from cellguard.methods.perturb.cells.calibration import CalibrationTable, calibration_table
from cellguard.methods.perturb.cells.sensitivity import Needs, needs_of, supersensitive
from cellguard.run_context import UNWATCHED, Run

_WORK = 6_000_000  # records that may be tabulated again, in all tables together
_JOINED = " + "


@dataclass(frozen=True, eq=False)
class Recoding:
    """Merges by dimension, each a run of neighbouring codes; how many supersensitive cells there are, and how many are
    left in the tables made with it; ``complete`` is False where not all merges could be tried.
    """

    merges: tuple[tuple[str, tuple[str, ...]], ...]
    before: int
    left: int
    complete: bool

    def __str__(self) -> str:
        words = [f"{_JOINED.join(codes)} of {name!r}" for name, codes in self.merges]
        end = "none" if not self.left else f"{self.left:,}"
        return f"merge {', '.join(words)}: tried out, it leaves {end} of {self.before:,} supersensitive cells"


def recoding_plan(tables: Sequence[CalibrationTable], *, run: Run = UNWATCHED) -> Recoding:
    """Return the merges that leave the fewest supersensitive cells, as far as can be found step by step.

    Dimensions with several groupings are left as they are.
    """
    now, budget = {t.name: t for t in tables}, _WORK
    before = best = _count(now)
    merges: dict[str, list[tuple[str, ...]]] = {}
    complete = True
    while best:
        trials = list[tuple[int, str, tuple[str, str], dict[str, CalibrationTable]]]()
        for name, pair in _pairs(now):
            changed = [t for t in now.values() if any(_has(d, name, pair) for d in t.table.dimensions)]
            budget -= sum(len(t.records) for t in changed)
            if budget < 0:
                complete = False
                break
            run.check()
            made = {t.name: t for t in (_recoded(t, name, pair) for t in changed)}
            trials.append((_count({**now, **made}), name, pair, made))
        least = min((trial[0] for trial in trials), default=best)
        if least >= best:
            break
        best, name, pair, made = next(trial for trial in trials if trial[0] == least)
        now |= made
        _note(merges.setdefault(name, []), pair)
        if not complete:
            break
    listed = tuple((name, codes) for name, runs in merges.items() for codes in runs)
    return Recoding(listed, before, best, complete)


def _count(tables: Mapping[str, CalibrationTable]) -> int:
    return sum(int(supersensitive(needs_of(table)).sum()) for table in tables.values())


def _has(dimension: Dimension, name: str, pair: tuple[str, str]) -> bool:
    return dimension.name == name and dimension.main.position.keys() >= set(pair)


def _pairs(tables: Mapping[str, CalibrationTable]) -> list[tuple[str, tuple[str, str]]]:
    """Return the neighbours of codes of supersensitive cells, as (dimension, codes), each once, in order."""
    pairs: dict[tuple[str, tuple[str, str]], None] = {}
    for table in tables.values():
        needs: Needs = needs_of(table)
        for cell in np.flatnonzero(supersensitive(needs)).tolist():
            for dimension, column in zip(table.table.dimensions, table.table.codes, strict=True):
                for pair in _neighbours(dimension, dimension.codes[column[cell]]):
                    pairs.setdefault((dimension.name, pair))
    return list(pairs)


def _neighbours(dimension: Dimension, code: str) -> list[tuple[str, str]]:
    """Return a code with the one before and the one after it, if these are siblings that can be merged with it."""
    main = dimension.main
    if len(dimension.hierarchies) > 1 or code == main.total:
        return []
    siblings = [
        c for c in main.children(main.parent_of(code) or "") if bool(main.children(c)) == bool(main.children(code))
    ]
    at = siblings.index(code)
    return [(siblings[i], siblings[i + 1]) for i in (at - 1, at) if 0 <= i < len(siblings) - 1]


def _recoded(table: CalibrationTable, name: str, pair: tuple[str, str]) -> CalibrationTable:
    """Make a table again with two codes of a dimension merged."""
    into = {_JOINED.join(pair): list(pair)}
    by = [Dimension(d.name, merge(d.main, into)) if _has(d, name, pair) else d for d in table.table.dimensions]
    return calibration_table(
        table.records,
        dict(zip(table.columns, by, strict=True)),
        table.response,
        name=table.name,
        rule=table.rule,
        others=table.others,
        levels=table.table.levels,
    )


def _note(runs: list[tuple[str, ...]], pair: tuple[str, str]) -> None:
    """Add a merge to the runs of a dimension; codes that are runs themselves grow into one."""
    codes = tuple(code for part in pair for code in next((r for r in runs if _JOINED.join(r) == part), (part,)))
    runs[:] = [r for r in runs if _JOINED.join(r) not in pair] + [codes]
