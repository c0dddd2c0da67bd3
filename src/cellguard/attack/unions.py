"""Sums of hidden cells that a reader can work out, tested by the tables' own rules with the respondents of the sum.

In a relation whose hidden cells are all parts of a published whole, their sum is known (the whole less the published
parts). If one of them is itself a whole, its own relation replaces it by its hidden parts, and so on: each such *union*
is known to every reader, and if one holds another, so is what it has beyond it. Of two cells all sums are found that
follow from any number of relations: those of which one cell goes down as far as the other goes up in every move. Larger
sums that only follow from several differences are not looked for. One respondent may be in several cells of a union,
and counts once with the sum of what it contributes there (the extended (p, q) rule of Daalmans and de Waal).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from cellguard.protection import Requirements
from cellguard.rules.assess import Findings
from cellguard.rules.rule import Rule, parts
from cellguard.solver.program import SEED
from cellguard.table.contributions import Contributions
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts
from cellguard.table.pattern import Pattern
from cellguard.types import BoolArray, FloatArray

_CELLS = 40  # of a union at most
_STEPS = 30  # replacements that are looked at per relation
_PAIRED = 20_000  # hidden cells of which all pairs are looked at
_ROUNDS, _STILL = 3_000, 1e-7  # of the search for a random move, and by how much two cells of one may differ


@dataclass(frozen=True, slots=True)
class Union:
    """Hidden distinct cells whose sum a reader knows and a rule calls unsafe; ``level`` is how far it must move."""

    cells: tuple[int, ...]
    level: float
    rule: str


Watch = Callable[[Pattern], Sequence[Union]]


def known_sums(relations: sp.csr_array, unknown: BoolArray) -> list[tuple[int, ...]]:
    """Return the sums of unknown cells that single relations tell, and what follows by replacing wholes by parts.

    >>> rows = sp.csr_array(np.array([[1, -1, -1, 0, 0], [0, 0, 1, -1, -1]]))
    >>> known_sums(rows, np.array([False, True, True, True, True]))
    [(1, 2), (1, 3, 4)]
    """
    relations = sp.csr_array(relations)
    below = _wholes(relations, unknown)
    sums: dict[tuple[int, ...], None] = {}
    for row in range(relations.shape[0]):
        cells, signs = _hidden_terms(relations, row, unknown)
        if not len(cells) or not ((signs == signs[0]) & (np.abs(signs) == 1)).all():
            continue
        queue, steps = [tuple(cells.tolist())], 0
        while queue and steps < _STEPS:
            union, steps = queue.pop(0), steps + 1
            if union in sums or len(union) > _CELLS:
                continue
            if len(union) > 1:
                sums[union] = None
            for whole in union:
                for inner in below.get(whole, ()):
                    others = set(union) - {whole}
                    if not others & set(inner):
                        queue.append(tuple(sorted(others | set(inner))))
    every = [*sums, *_differences(list(sums))]
    return list(dict.fromkeys([*every, *_pairs(relations, unknown)]))


def _pairs(relations: sp.csr_array, unknown: BoolArray) -> list[tuple[int, int]]:
    """Return the pairs of unknown cells whose sum is known, though neither is: by moves at random, all at once.

    In a random move that all relations allow, cells go as far as each other only if they do so in every move.
    """
    cells = np.flatnonzero(unknown)
    if not 2 <= len(cells) <= _PAIRED:
        return []
    matrix = sp.csr_array(relations[:, cells]).astype(float)
    matrix = sp.csr_array(matrix[np.flatnonzero(np.diff(matrix.indptr))])
    first, second = (_move(matrix, rng) for rng in np.random.default_rng(SEED).spawn(2))
    free = np.flatnonzero((np.abs(first) > _STILL) | (np.abs(second) > _STILL))
    order = free[np.argsort(np.abs(first[free]), kind="stable")]
    pairs = []
    for group in np.split(order, np.flatnonzero(np.diff(np.abs(first[order])) > _STILL) + 1):
        for a, b in combinations(sorted(group.tolist()), 2) if len(group) <= _CELLS else ():
            if abs(first[a] + first[b]) <= _STILL and abs(second[a] + second[b]) <= _STILL:
                pairs.append((int(cells[a]), int(cells[b])))
    return sorted(pairs)


def _move(matrix: sp.csr_array, rng: np.random.Generator) -> FloatArray:
    """Return a random move d with matrix @ d = 0: what is left of a random one without what relations forbid."""
    wish = rng.standard_normal(matrix.shape[1])
    forbidden = lsmr(matrix, matrix @ wish, atol=1e-14, btol=1e-14, conlim=0, maxiter=_ROUNDS)[0]
    return np.asarray(wish - forbidden, float)


def _differences(sums: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return what sums have beyond others that they hold, in two cells or more, and that is not among them.

    >>> _differences([(1, 2, 3, 4), (1, 2)])
    [(3, 4)]
    """
    having: dict[int, set[int]] = {}
    for number, union in enumerate(sums):
        for cell in union:
            having.setdefault(cell, set()).add(number)
    found = dict.fromkeys(sums)
    for number, inner in enumerate(sums):
        for outer in sorted(set.intersection(*(having[cell] for cell in inner)) - {number}):
            beyond = tuple(cell for cell in sums[outer] if cell not in inner)
            if len(beyond) > 1:
                found.setdefault(beyond)
    return list(found)[len(sums) :]


def _wholes(relations: sp.csr_array, unknown: BoolArray) -> dict[int, list[tuple[int, ...]]]:
    """Return for each hidden whole its hidden parts, once per relation that divides it."""
    below: dict[int, list[tuple[int, ...]]] = {}
    for row in range(relations.shape[0]):
        part = slice(relations.indptr[row], relations.indptr[row + 1])
        signs, cells = relations.data[part], relations.indices[part]
        if len(cells) < 3:
            continue
        odd = np.flatnonzero(signs > 0) if (signs > 0).sum() == 1 else np.flatnonzero(signs < 0)
        if len(odd) == 1 and unknown[cells[odd[0]]]:
            whole = int(cells[odd[0]])
            inner = tuple(int(c) for c in cells if c != whole and unknown[c])
            if inner:
                below.setdefault(whole, []).append(inner)
    return below


def _hidden_terms(relations: sp.csr_array, row: int, unknown: BoolArray) -> tuple[np.ndarray, np.ndarray]:
    part = slice(relations.indptr[row], relations.indptr[row + 1])
    hidden = unknown[relations.indices[part]]
    return np.sort(relations.indices[part][hidden]), relations.data[part][hidden]


def union_watch(findings: Findings, needs: Requirements, known: Contributions) -> Watch:
    """Return a function that finds the unsafe unions of a pattern."""
    tables = findings.tables
    rules = [[part for rule in here.rules for part in parts(rule) if _applies(part)] for here in findings.by_table]
    relations = sp.csr_array(needs.world.relations)

    def watch(pattern: Pattern) -> list[Union]:
        unknown = needs.world.extend(pattern.unknown & ~needs.world.ties.empty, True)
        unsafe = []
        for union in known_sums(relations, unknown):
            if union[-1] >= len(tables) or tables.is_count[list(union)].any() or not known.told[list(union)].all():
                continue
            judged = _judge(union, known, rules[int(tables.first[0][union[0]])])
            if judged is not None:
                unsafe.append(judged)
        return unsafe

    return watch


def _applies(rule: Rule) -> bool:
    """Tell whether a rule can judge a sum by what its respondents contribute."""
    return all(isinstance(fact, (Total, Count, Top)) for fact in rule.facts) and bool(rule.facts)


def _judge(union: tuple[int, ...], known: Contributions, rules: Sequence[Rule]) -> Union | None:
    """Judge a union by its own respondents; None if no rule calls it unsafe."""
    entry = np.concatenate([np.arange(known.start[c], known.start[c + 1]) for c in union])
    who, place = np.unique(known.insider[entry], return_inverse=True)
    # By their size, so that rules make sense with negative ones too.
    amounts = -np.sort(-np.abs(np.bincount(place, known.amount[entry], len(who))))
    total = float(amounts.sum())
    if any(known.rest[c] > 0 for c in union) or not len(who):
        return None  # so many respondents that not all are listed
    most = max((fact.n for rule in rules for fact in rule.facts if isinstance(fact, Top)), default=1)
    tops = np.zeros((1, most))
    tops[0, : min(most, len(amounts))] = amounts[:most]
    facts = Facts({Total(): np.array([total]), Count(): np.array([float(len(who))]), Top(most): tops})
    level, named = 0.0, ""
    for rule in rules:
        if rule.unsafe(facts)[0]:
            formula = float(rule.upper(facts)[0])
            need = rule.protection_percent / 100 * total if np.isnan(formula) else formula
            if need > level or not named:
                level, named = max(level, need), str(rule)
    return Union(union, level, named) if named else None
