"""A smaller problem: cells that must move together, or against each other, become one; the way back is kept."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cellguard.attack.problem import UNLIMITED, Problem, Whole
from cellguard.table.facts import BoolArray
from cellguard.table.relations import distinct_rows


@dataclass(frozen=True, eq=False)
class Reduction:
    """Moves of fewer variables: cell c moves by ``sign[c]`` times variable ``variable[c]``; sign 0 cannot move.

    ``need_up`` and ``need_down`` are what some cell behind a variable needs; ``sliding`` the width.
    """

    matrix: sp.csr_array
    variable: npt.NDArray[np.intp]
    sign: Whole
    down: Whole
    up: Whole
    need_up: Whole
    need_down: Whole
    sliding: Whole
    whole: BoolArray

    @property
    def n(self) -> int:
        """The number of variables."""
        return len(self.down)

    def expand(self, moves: Whole) -> Whole:
        """Return the moves of all cells from those of the variables: the way back."""
        return self.sign * moves[self.variable]


def reduce_problem(problem: Problem) -> Reduction:
    """Substitute until every relation has three cells or more.

    A relation with one unknown cell fixes it; one with two ties them: d_i = d_j, or d_i = -d_j.
    """
    n = len(problem.cells)
    variable: npt.NDArray[np.intp] = np.arange(n)
    sign = np.ones(n, np.int64)
    matrix = distinct_rows(problem.matrix.astype(np.float64))
    while True:
        single, pair = _short_rows(matrix)
        if not len(single) and not len(pair):
            break
        group, side, many = _tie(matrix, single, pair)
        place = (np.arange(len(group)), group)
        contract = sp.csr_array((side.astype(np.float64), place), shape=(len(group), many))
        matrix = distinct_rows(sp.csr_array(matrix @ contract))
        sign = sign * side[variable]
        variable = group[variable]
    return _collect(problem, matrix.astype(np.int64), variable, sign)


def _short_rows(matrix: sp.csr_array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the rows with one term, and those with two terms of equal size."""
    terms = np.diff(matrix.indptr)
    two = np.flatnonzero(terms == 2)
    start = matrix.indptr[two]
    return np.flatnonzero(terms == 1), two[np.abs(matrix.data[start]) == np.abs(matrix.data[start + 1])]


def _tie(
    matrix: sp.csr_array, single: npt.NDArray[np.intp], pair: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], Whole, int]:
    """Return for each column its group, its sign in it (0 if it cannot move), and the number of groups.

    Each column has two nodes, for d and for -d. Tied nodes are connected; a column whose two nodes are connected is 0.
    """
    n = matrix.shape[1]
    start = matrix.indptr[pair]
    i, j = matrix.indices[start], matrix.indices[start + 1]
    same = matrix.data[start] * matrix.data[start + 1] < 0
    alone = matrix.indices[matrix.indptr[single]]
    left = np.concatenate([i, i + n, alone])
    right = np.concatenate([np.where(same, j, j + n), np.where(same, j + n, j), alone + n])
    graph = sp.csr_array((np.ones(len(left)), (left, right)), shape=(2 * n, 2 * n))
    _, label = connected_components(graph, directed=False)
    plus, minus = label[:n], label[n:]
    dead = plus == minus
    # Mirrored components come in pairs; the one with the smaller label stands for both.
    name = np.minimum(plus, minus)
    side = np.where(dead, 0, np.where(plus <= minus, 1, -1)).astype(np.int64)
    _, group = np.unique(name, return_inverse=True)
    return group.astype(np.intp), side, int(group.max(initial=-1)) + 1


def _collect(problem: Problem, matrix: sp.csr_array, variable: npt.NDArray[np.intp], sign: Whole) -> Reduction:
    many = matrix.shape[1]
    alive = np.zeros(many, bool)
    alive[variable[sign != 0]] = True
    up = _extreme(variable, sign, np.full(many, UNLIMITED), np.minimum, problem.up, problem.down)
    down = _extreme(variable, sign, np.full(many, UNLIMITED), np.minimum, problem.down, problem.up)
    whole = np.zeros(many, bool)
    whole[variable[problem.whole]] = True
    none = np.zeros(many, np.int64)
    bare = Reduction(matrix, variable, sign, np.where(alive, down, 0), np.where(alive, up, 0), none, none, none, whole)
    return with_needs(bare, problem)


def with_needs(reduction: Reduction, problem: Problem) -> Reduction:
    """Return the reduction with the needs of a problem's cells: of all behind a variable the largest."""
    zero = np.zeros(reduction.n, np.int64)
    variable, sign = reduction.variable, reduction.sign
    return replace(
        reduction,
        need_up=_extreme(variable, sign, zero, np.maximum, problem.upper, problem.lower),
        need_down=_extreme(variable, sign, zero, np.maximum, problem.lower, problem.upper),
        sliding=_extreme(variable, sign, zero, np.maximum, problem.sliding, problem.sliding),
    )


def _extreme(
    variable: npt.NDArray[np.intp], sign: Whole, start: Whole, ufunc: np.ufunc, ahead: Whole, astern: Whole
) -> Whole:
    """Return the extreme over the cells behind each variable: of one array if they move with it, else of the other."""
    found = start.copy()
    for way, amounts in ((sign > 0, ahead), (sign < 0, astern)):
        ufunc.at(found, variable[way], amounts[way])
    return found
