"""True totals that an attacker has from elsewhere: what they and the perturbed cells tell together.

Let S and U be sets of contributors, U known: T(U) is true, and T_N(S) = T(S) + e_S is published. Then

    T(U) - T_N(S)             is the total of U without S, with the noise e_S, where S is in U;
    T_N(S) - T(U)             that of S without U, with the same noise, where U is in S;
    T_N(S) - (T_N(U) - T(U))  that of S with the noise e_S - e_U, in either case.

The last is what subtracting the other parts of a known margin gives: a cell that has nearly all noise of its margin is
known nearly exactly. What is left of a known total without the known ones inside of it is known, too. Besides, whoever
knows how noise is drawn estimates that of S from that of all known totals: with one multiplier per contributor, in all
responses, by least squares on what these have in common. Every such estimate is judged by S_N.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.methods.perturb.cells.sensitivity import in_spite_of, rest_of
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.checks.known_sets import KnownSet, KnownSets, KnownTotal
from cellguard.methods.perturb.checks.trends import Perturbed

_MOST = 1_000  # known totals that take part in least squares
_SLACK = 1e-9
_COMMON = "known totals together tell most of this cell's noise, since they have contributors in common"


@dataclass(frozen=True, slots=True)
class _Told:
    """An estimate that comes too close: at which cell, how, and how much noise it has of how much it needs."""

    cell: Cell
    text: str
    need: float
    noise: float

    @property
    def short(self) -> float:
        """S_N: by how much noise falls short."""
        return self.need - abs(self.noise)


def known_totals(
    tables: Sequence[Perturbed],
    known: Sequence[KnownTotal],
    added: Mapping[str, FloatArray],
    *,
    moved: BoolArray | None = None,
    one: bool = True,
) -> tuple[list[Finding], list[str]]:
    """Return what known totals and perturbed cells tell too closely, one finding a cell, and what was not looked at.

    ``added`` is for each response what each record adds to perturbed totals. ``moved`` says which units have a
    multiplier other than 1, ``one`` whether a unit has about the same one for all responses.
    """
    if not known:
        return [], []
    groups = [
        KnownSets(
            tuple(t for t in tables if t.table.response == response),
            tuple(k for k in known if k.table.response == response),
            added[response],
        )
        for response in dict.fromkeys(t.table.response for t in tables)
    ]
    told = [estimate for group in groups if group.sets for estimate in _told(group)]
    limits = []
    for together in [groups] if one else [[group] for group in groups]:
        told += _regressed(together, moved)
        if sum(len(group.sets) for group in together) > _MOST:
            limits.append(f"of known totals only {_MOST:,} took part in estimating the noise of cells")
    worst: dict[Cell, _Told] = {}
    for estimate in told:
        if estimate.cell not in worst or estimate.short > worst[estimate.cell].short:
            worst[estimate.cell] = estimate
    findings = [
        Finding("known", t.text, (t.cell,), figures={"need": t.need, "noise": t.noise, "S_N": t.short})
        for t in worst.values()
    ]
    return [*findings, *(finding for group in groups for finding in _shown_truly(group))], limits


def _told(group: KnownSets) -> Iterator[_Told]:
    """Return the estimates that come too close, of one published cell and what is known."""
    every = (*group.sets, *group.remainders)
    known = {one.inside.tobytes() for one in every}
    own, parts = np.asarray(group.rows @ group.noise, float), np.zeros(len(group.many), np.int64)
    for one in every:
        atoms = int(one.inside.sum())
        shared = np.asarray(group.rows @ one.inside.astype(np.int64))
        nested = (group.many > 0) & ((shared == group.many) ^ (shared == atoms))  # the one in the other, not the same
        around = nested & (shared == atoms)
        parts += around
        yield from _undone(group, one, np.flatnonzero(nested), own)
        for row in _exposed(group, one, np.flatnonzero(nested), own):
            rest = group.row(row) ^ one.inside
            if rest.tobytes() not in known:
                words = "what this cell has besides it" if around[row] else "what it has besides this cell"
                yield from _judged(group, row, rest, own[row], f"the total of {one.name} is known: {words}")
    for row in np.flatnonzero(parts > 1).tolist():
        rest = group.without(group.row(row))
        if rest.any() and rest.tobytes() not in known:
            words = "several totals in this cell are known: what it has besides them"
            yield from _judged(group, row, rest, own[row], words)


def _undone(group: KnownSets, one: KnownSet, rows: LongArray, own: FloatArray) -> Iterator[_Told]:
    """Return the cells that have too little noise besides that of a known set, or of what concerns them of it."""
    text = f"the total of {one.name} is known: without its noise too little is left in this cell"
    noise = own[rows] - float(group.noise @ one.inside)
    for row, left, need in _unsafe(group, rows, noise):
        yield _Told(group.name(row), text, need, left)
    for row in np.intersect1d(rows, group.sensitive).tolist():
        inside = group.row(row)
        near = group.without(one.inside, inside) if (inside & ~one.inside).sum() == 0 else one.inside
        for _, left, need in _unsafe(group, np.array([row]), own[[row]] - float(group.noise @ near)):
            yield _Told(group.name(row), text, need, left)


def _unsafe(group: KnownSets, rows: LongArray, noise: FloatArray) -> Iterator[tuple[int, float, float]]:
    """Return which cells are unsafe with this noise, and are not so as they are published; with noise and need."""
    number, cell = group.cells
    for at, here in enumerate(group.tables):
        mine = np.flatnonzero(number[rows] == at)
        cells = cell[rows[mine]]
        need, size = here.needs.need[cells], here.needs.size[cells]
        unsafe = in_spite_of(noise[mine], need, size)
        unsafe &= ~in_spite_of(here.total[cells] - here.table.total[cells], need, size)
        for i in np.flatnonzero(unsafe).tolist():
            yield int(rows[mine[i]]), float(noise[mine[i]]), float(need[i])


def _exposed(group: KnownSets, one: KnownSet, rows: LongArray, own: FloatArray) -> list[int]:
    """Return the cells of which the difference with a known set may need more noise than they have.

    Whatever a difference holds, its largest contributors are not larger than those of the set that it is part of.
    """
    if (group.plain < 0).any():
        return rows.tolist()  # contributions of a unit may cancel, and be larger in the difference
    amounts = np.sort(one.inside.astype(float) @ group.amounts)[::-1]
    whole, cells = float(group.size @ one.inside), np.asarray(group.rows[rows] @ group.size, float)
    bound = np.full(len(rows), -np.inf)
    for rule in group.rules:
        in_cell, in_set = group.tops[rows, : rule.n], amounts[: rule.n]
        top = np.where(cells > whole, in_cell.sum(axis=1), in_set.sum())
        first = np.where(cells > whole, in_cell[:, 0], in_set[0])
        bound = np.maximum(bound, rule.accuracy * first - rule.prior * (np.abs(whole - cells) - top))
    return rows[bound > np.abs(own[rows]) * (1 - _SLACK)].tolist()


def _judged(group: KnownSets, row: int, rest: BoolArray, noise: float, words: str) -> Iterator[_Told]:
    """Judge a set that is told with this noise."""
    whole = np.array([group.size @ rest])
    own = np.sort(np.abs(rest.astype(float) @ group.amounts))[::-1]
    for rule in group.rules:
        need = rule.accuracy * own[:1] - rule.prior * rest_of(whole, own[: rule.n].sum(keepdims=True))
        if in_spite_of(np.array([noise]), need, whole)[0]:
            yield _Told(group.name(row), f"{words} is told with too little noise", float(need[0]), float(noise))


def _regressed(groups: Sequence[KnownSets], moved: BoolArray | None) -> Iterator[_Told]:
    """Return the sensitive cells of which known totals tell most of the noise, by least squares."""
    sets = [(group, one) for group in groups for one in group.sets][:_MOST]
    if not sets:
        return
    keep = np.ones(sets[0][0].amounts.shape[1]) if moved is None else moved.astype(float)
    own = sp.csr_array(np.array([one.inside.astype(float) @ group.amounts for group, one in sets]) * keep)
    noise = np.array([group.noise @ one.inside for group, one in sets])
    told = np.linalg.pinv((own @ own.T).toarray(), rcond=1e-12, hermitian=True) @ noise
    for group in groups:
        rows = np.setdiff1d(group.sensitive, group.known_rows)
        shared = (sp.csr_array(group.rows[rows].astype(float) @ group.amounts) @ own.T).toarray()
        left = np.asarray(group.rows[rows] @ group.noise, float) - shared @ told
        for row, rest, need in _unsafe(group, rows, np.where(shared.any(axis=1), left, np.inf)):
            yield _Told(group.name(row), _COMMON, need, rest)


def _shown_truly(group: KnownSets) -> list[Finding]:
    """Return the sensitive cells whose total is known: no noise protects them."""
    text = "the total of this sensitive cell is known, so that no noise protects it"
    rows = np.intersect1d(group.sensitive, group.known_rows)
    return [Finding("known", text, (group.name(row),), blocks=False) for row in rows.tolist()]
