"""`Table`: the confidential cells of one published table, in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray, Positions
from cellguard.errors import InputError, Place, UnknownCode, did_you_mean
from cellguard.hierarchy.hierarchy import Dimension, IntArray
from cellguard.table.apriori import Apriori, State
from cellguard.table.facts import Facts
from cellguard.table.keys import combine, find
from cellguard.table.relations import Block, Relations, build_relations

Zeros = Literal["known", "possible"]
Levels = Mapping[str, Sequence[int]]
Origin = Literal["cells", "merged", "stored", "records"]
Released = Literal["here", "nowhere", "latent", "fitted", "sums", "earlier"]
# Tables that cellguard adds, since readers may work out their cells, and what people call them.
ADDED: Mapping[str, str] = {
    "latent": "cells that no table lists",
    "fitted": "counts that no table lists",
    "sums": "sums of cells",
}


@dataclass(frozen=True, eq=False)
class Table:
    """The cells of one table in columns: one code column per dimension, one array per fact. Confidential.

    Cells of two tables are one cell if their response, their population and all codes that are not totals agree.
    `cells` reads a ready-made table, `tabulate` makes one from records.

    Parameters
    ----------
    name
        The name of the table.
    dimensions
        Its dimensions.
    codes
        One column of codes per dimension, as positions.
    facts
        What is known of each cell besides its codes: value, counts, largest contributions.
    apriori
        Statements about single cells.
    response, population
        What is summed over whom.
    is_count
        Whether it is a frequency table.
    sums_weights
        Whether its counts are estimated by weights.
    zeros
        Whether empty cells are public zeros (``known``) or may be suppressed (``possible``).
    decimals
        The decimals published.
    tolerance
        How far a sum may be off.
    place
        Where the input is, for messages.
    rows
        The row of each cell in the input, -1 for cells without one.
    levels
        The levels shown of some dimensions, if not all.
    origin
        Where the facts are from: ready-made cells, such cells merged by a recoding, an output folder, or records.
    release
        Where the table is published: in the release of its set (``here``), in an earlier one, or nowhere, because its
        cells are latent, fitted, or sums of cells of other tables.

    Examples
    --------
    >>> import cellguard as cg
    >>> table = cg.cells({"r": ["Total", "N", "S"], "x": [12, 5, 7]}, by=["r"], value="x")
    >>> table, table.find("N"), table.relation_name(0)
    (<Table 'table': 3 cells by r>, 1, 'Total = N + S')
    """

    name: str
    dimensions: tuple[Dimension, ...]
    codes: tuple[IntArray, ...]
    facts: Facts
    apriori: Apriori
    response: str
    population: str = "all"
    is_count: bool = False
    sums_weights: bool = False
    zeros: Zeros = "known"
    decimals: int = 0
    tolerance: float | None = None
    place: Place = field(default_factory=lambda: Place("the cells", unit="row"))
    rows: npt.NDArray[np.intp] = field(default_factory=lambda: np.zeros(0, np.intp))
    levels: Levels | None = None
    origin: Origin = "cells"
    release: Released = "here"

    def __len__(self) -> int:
        return len(self.facts.total)

    def __repr__(self) -> str:
        return f"<Table {self.name!r}: {len(self)} cells by {', '.join(d.name for d in self.dimensions)}>"

    @property
    def value(self) -> FloatArray:
        """The cell totals."""
        return self.facts.total

    @property
    def response_key(self) -> tuple[str, str]:
        """What the table is about: its response and its population."""
        return self.response, self.population

    def code_texts(self, rows: Positions | slice = slice(None)) -> tuple[npt.NDArray[np.object_], ...]:
        """Return for each dimension the codes of some cells, or of all, as texts."""
        return tuple(np.array(d.codes, object)[c[rows]] for d, c in zip(self.dimensions, self.codes, strict=True))

    @property
    def never_negative(self) -> bool:
        """Whether every reader knows that no cell is below 0, whatever values may be: numbers of records are not."""
        return self.is_count or self.sums_weights

    @property
    def unit(self) -> float:
        """One unit of the last published decimal."""
        return float(10.0**-self.decimals)

    @property
    def is_latent(self) -> bool:
        """Whether the table stands for cells behind others, and is judged only where no other table lists them."""
        return self.release in {"latent", "fitted"}

    @property
    def is_unreleased(self) -> bool:
        """Whether no release, of now or earlier, shows the table."""
        return self.release not in {"here", "earlier"}

    @property
    def is_added(self) -> bool:
        """Whether cellguard added the table since readers may work out its cells: latent cells, or sums of cells."""
        return self.release in ADDED

    @cached_property
    def unpublished(self) -> BoolArray:
        """The cells that are not in the release: of a level that is not shown, or said to be so."""
        if self.is_unreleased:
            return np.ones(len(self), bool)
        hidden = self.apriori.has(State.unpublished)
        for dimension, column in zip(self.dimensions, self.codes, strict=True):
            if self.levels and dimension.name in self.levels:
                hidden = hidden | ~np.isin(dimension.level[column], list(self.levels[dimension.name]))
        return hidden

    @cached_property
    def _structure(self) -> tuple[Relations, list[Block]]:
        return build_relations(self.dimensions, self.codes)

    @property
    def relations(self) -> Relations:
        """The matrix M with M @ value = 0: parent - sum of children, one row per relation."""
        return self._structure[0]

    @cached_property
    def rounding(self) -> float:
        """How far rounding may have moved the values, see `rounding_of`."""
        return rounding_of(self.value)

    def cell_name(self, cell: int) -> str:
        """Return the codes of a cell as people write them.

        >>> from cellguard.table.read import cells
        >>> table = cells({"region": ["Total", "North"], "x": [5, 5]}, by=["region"], value="x")
        >>> table.cell_name(1)
        'North'
        """
        return "/".join(d.codes[c[cell]] for d, c in zip(self.dimensions, self.codes, strict=True))

    def message_name(self, cell: int) -> str:
        """Return the codes of a cell as messages show them: without those that may be values."""
        return "/".join(d.tell(d.codes[c[cell]]) for d, c in zip(self.dimensions, self.codes, strict=True))

    def in_words(self, cell: int, codes: str) -> str:
        """Return a cell, given with its codes, as people know it: nobody has heard of a table that was added."""
        if self.release == "sums":
            (dimension,), (column,) = self.dimensions, self.codes
            code = dimension.codes[column[cell]]
            return dimension.labels.get(code, code)
        if self.release == "latent":
            return f"{codes} (by {', '.join(d.name for d in self.dimensions)}; no table lists it)"
        return f"{self.name}: {codes}"

    def find(self, cell: str | Sequence[str]) -> int:
        """Return the position of a cell given as ``"North/B"`` or ``("North", "B")``."""
        parts = cell.split("/") if isinstance(cell, str) else list(cell)
        if len(parts) != len(self.dimensions):
            names = "/".join(d.name for d in self.dimensions)
            raise InputError(f"a cell of table {self.name!r} is written as {names}; {cell!r} has {len(parts)} codes")
        for part, dimension in zip(parts, self.dimensions, strict=True):
            if part not in dimension.position:
                raise UnknownCode(
                    f"no code {part!r} in dimension {dimension.name!r}{did_you_mean(part, dimension.told)}"
                )
        sizes = [len(d.codes) for d in self.dimensions]
        wanted = [np.array([d.position[part]], np.int32) for part, d in zip(parts, self.dimensions, strict=True)]
        both = [np.concatenate([c, w]) for c, w in zip(self.codes, wanted, strict=True)]
        keys = combine(both, sizes)
        position = int(find(keys[-1:], keys[:-1])[0])
        if position < 0:
            raise InputError(f"table {self.name!r} has no cell {'/'.join(parts)!r}: the combination is empty")
        return position

    def where(self, cell: int) -> str:
        """Return where a cell stands in the input, as 'cells.csv line 7'."""
        row = int(self.rows[cell]) if len(self.rows) else cell
        return self.place.row(row) if row >= 0 else f"{self.place.name} (an empty combination)"

    def relation_name(self, relation: int) -> str:
        """Return a relation in words, as 'North/Total = North/A + North/B'."""
        matrix, blocks = self._structure
        terms = slice(matrix.indptr[relation], matrix.indptr[relation + 1])
        cells, signs = matrix.indices[terms], matrix.data[terms]
        parts = [self.message_name(cell) for cell in cells[signs < 0]] or ["nothing (all its parts are empty)"]
        if (signs > 0).any():
            whole = self.message_name(cells[signs > 0][0])
        else:
            whole = self._missing_parent(cells[0], next(b for b in blocks if b.start <= relation < b.stop))
        shown = " + ".join(parts[:6]) + (f" + {len(parts) - 6} more" if len(parts) > 6 else "")
        return f"{whole} = {shown}"

    def _missing_parent(self, child: int, block: Block) -> str:
        codes = [d.tell(d.codes[c[child]]) for d, c in zip(self.dimensions, self.codes, strict=True)]
        dimension = self.dimensions[block.dimension]
        codes[block.dimension] = dimension.tell(dimension.codes[block.above[self.codes[block.dimension][child]]])
        return f"{'/'.join(codes)} (no such row, so 0)"


def rounding_of(values: FloatArray) -> float:
    """Return half the unit that the values seem to be rounded to; 0 for whole values, NaN for unrounded ones.

    >>> rounding_of(np.array([1.25, 3.0]))
    0.005
    """
    size = np.abs(values)
    for decimals in range(7):
        scaled = size * 10.0**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-6 + 4e-16 * scaled).all():
            return 0.5 * 10.0**-decimals if decimals else 0.0
    return float("nan")
