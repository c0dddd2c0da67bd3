"""Sums of hidden cells that a single relation tells: no rule may call one of them unsafe by its own respondents.

Where the hidden cells of a relation are all on one side of it, their sum is known; and so is the sum with one of them
replaced by the hidden parts of a relation of its own. A respondent of several of the cells counts once, with the sum of
what it contributes. Amounts are stored rounded up, so a sum is refused only if it is unsafe whatever was rounded.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from cellguard.verify.cells import Cells
from cellguard.verify.facts import Facts
from cellguard.verify.insiders import Contributors
from cellguard.verify.job import Job
from cellguard.verify.numbers import Bools
from cellguard.verify.relations import Matrix
from cellguard.verify.rows import PUBLISHED, Rows
from cellguard.verify.rule_words import parse_rule
from cellguard.verify.rules import Every, Frequency, Rule, Weighted
from cellguard.verify.stages import Refused

MOST_CELLS, MOST_SUMS = 40, 30  # of a sum, and of a relation; what is larger, or beyond, is not claimed
_LARGEST = 12  # contributions that a rule looks at, at most

Sum = tuple[int, ...]


def check_unions(known: Contributors, cells: Cells, rows: Rows, relations: Matrix, job: Job) -> int:
    """Refuse sums that readers know and a rule of their table calls unsafe; return how many were looked at."""
    hidden = np.ones(cells.count, dtype=bool)
    hidden[cells.cell[rows.status == PUBLISHED]] = False
    table = np.searchsorted(cells.offsets, cells.first_row(), side="right") - 1
    judged = [not t.count and not said.get("negative") for t, said in zip(cells.spec.tables, job.tables, strict=True)]
    rules = [[part for rule in t.rules for part in _parts(parse_rule(rule))] for t in cells.spec.tables]
    seen, somebody = set[Sum](), np.diff(known.starts) > 0
    for union in _known(relations, hidden):
        of, those = np.unique(table[list(union)]), list(union)
        if union in seen or of.size > 1 or not judged[of[0]] or somebody[those].sum() < 2:
            continue
        if known.told[those].all() and not known.rest[those].any():
            seen.add(union)
            facts = _facts(known, union, 10.0 ** -cells.spec.grains[cells.spec.tables[of[0]].group])
            if facts is not None and any(rule.judge(facts).unsafe[0] for rule in rules[of[0]]):
                raise Refused(f"readers know a sum of hidden cells that is unsafe, with {cells.cell_name(union[0])}")
    return len(seen)


def _parts(rule: Rule) -> list[Rule]:
    """Return the rules that a sum is judged by: of numbers of respondents and of shares, each part by itself."""
    if isinstance(rule, Every):
        return [part for inner in rule.rules for part in _parts(inner)]
    plain = isinstance(rule, Frequency) and not rule.nonzero and not rule.small
    return [rule] if plain or (isinstance(rule, Weighted) and not rule.waivers) else []


def _known(relations: Matrix, hidden: Bools) -> Iterator[Sum]:
    """Go through the sums of hidden cells that relations tell, as they are and with one cell replaced by its parts."""
    own, parts = list[Sum](), dict[int, list[Sum]]()
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        terms, signs = relations.indices[part], relations.data[part]
        if (np.abs(signs) != 1).any():
            continue
        there = hidden[terms]
        if there.any() and np.unique(signs[there]).size == 1:
            own.append(tuple(sorted(terms[there].tolist())))
        for sign in (1, -1):
            whole, inner = terms[signs == sign], terms[(signs != sign) & there]
            if terms.size > 2 and whole.size == 1 and hidden[whole[0]] and inner.size:
                parts.setdefault(int(whole[0]), []).append(tuple(inner.tolist()))
    for union in own:
        more = [_replaced(union, cell, inner) for cell in union for inner in parts.get(cell, [])]
        every = [union, *more] if len(more) < MOST_SUMS else [union]
        yield from (some for some in every if 1 < len(some) <= MOST_CELLS)


def _replaced(union: Sum, cell: int, inner: Sum) -> Sum:
    """Return a sum with the parts of one of its cells in the cell's place; nothing if one would be there twice."""
    others = set(union) - {cell}
    return () if others & set(inner) else tuple(sorted(others | set(inner)))


def _facts(known: Contributors, union: Sum, grain: float) -> Facts | None:
    """Return what the rules see of a sum, its largest contributions less what rounding may have added to them."""
    entry = np.concatenate([np.arange(known.starts[c], known.starts[c + 1]) for c in union])
    who, place = np.unique(known.insider[entry], return_inverse=True)
    if not who.size:
        return None
    amounts = -np.sort(-np.bincount(place, np.maximum(known.amount[entry], 0).astype(float), who.size))
    tops = np.zeros(_LARGEST)
    tops[: min(who.size, _LARGEST)] = np.maximum(amounts[:_LARGEST] - len(union), 0)
    nothing, none = np.full(1, np.nan), pa.nulls(1, pa.string())
    return Facts(
        False, np.array([amounts.sum() * grain]), np.array([float(who.size)]), tuple((tops * grain).reshape(-1, 1)), {},
        np.full(1, -1), none, none, nothing, nothing,
    )  # fmt: skip
