"""The published cells of a system of unknowns as a row space: what can be worked out from them, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, LongArray
from cellguard.linalg.rowspace import Combination, RowSpace
from cellguard.methods.perturb.checks.finding import Cell
from cellguard.methods.perturb.checks.judged import Shares
from cellguard.methods.perturb.checks.unknowns import Unknowns


@dataclass(frozen=True, eq=False)
class Published:
    """The cells of a system; ``rows`` are those that say something of their own.

    ``space`` is what they span, together with the constraints of the system, which come last.
    """

    system: Unknowns
    rows: LongArray
    space: RowSpace

    @cached_property
    def sure(self) -> BoolArray:
        """The unknowns that the cells determine."""
        return self.space.determined()

    @cached_property
    def independent(self) -> sp.csr_array:
        """Independent rows in the unknowns that are not determined; the columns of the others are empty."""
        open_ = sp.diags_array((~self.sure).astype(np.int64), format="csr", dtype=np.int64)
        part = sp.csr_array(self.space.matrix.astype(np.int64) @ open_)
        part.eliminate_zeros()
        return sp.csr_array(part[RowSpace(part).basis()])

    @cached_property
    def _cells(self) -> dict[tuple[tuple[int, int], ...], list[int]]:
        m = self.system.members
        ends = zip(m.indptr[:-1].tolist(), m.indptr[1:].tolist(), strict=True)
        rows_of: dict[tuple[tuple[int, int], ...], list[int]] = {}
        for row, (a, b) in enumerate(ends):
            inside = tuple(sorted(zip(m.indices[a:b].tolist(), m.data[a:b].tolist(), strict=True)))
            rows_of.setdefault(inside, []).append(row)
        return rows_of

    def showing(self, shares: Shares) -> list[int]:
        """Return the rows of the published cells that are this sum of unknowns themselves."""
        return self._cells.get(tuple(sorted((b, int(s)) for b, s in shares.items())), [])

    def spelled(self, sums: Sequence[Shares]) -> list[tuple[tuple[Cell, ...], tuple[Fraction, ...]]]:
        """Return for each sum of unknowns the cells whose combination gives it, with their coefficients.

        Where there is none no cell is named; where the coefficients are too long to be found, they are left out.
        """
        combinations = self.space.combinations(list(sums))
        return [((), ()) if how is None else self._named(how) for how in combinations]

    def _named(self, how: Combination) -> tuple[tuple[Cell, ...], tuple[Fraction, ...]]:
        cells = [at for at, row in enumerate(how.rows) if row < len(self.rows)]
        names = tuple(self.system.name(int(self.rows[how.rows[at]])) for at in cells)
        return names, tuple(how.coefficients[at] for at in cells) if how.coefficients else ()


def published(system: Unknowns, core: int) -> tuple[Published, list[str]]:
    """Return the cells that say something of their own; without the largest, and this is said, if they are too many.

    ``core`` is the largest number of rows to eliminate.
    """
    rows = np.flatnonzero(~system.follows)
    most = int(system.contributors.max(initial=0))
    space = _space(system, rows)
    limits: list[str] = []
    while space.core[0] > core and most > 1:
        most //= 2
        rows = np.flatnonzero(~system.follows & (system.contributors <= most))
        space = _space(system, rows)
        limits = [f"the linear system is large: only cells with at most {most} contributors were combined"]
    return Published(system, rows, space), limits


def _space(system: Unknowns, rows: LongArray) -> RowSpace:
    return RowSpace(sp.csr_array(sp.vstack([system.members[rows], system.constraints], format="csr")))
