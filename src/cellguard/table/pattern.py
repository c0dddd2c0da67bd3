"""`Pattern`: which cells are suppressed; `Release`: what leaves the building, without any suppressed value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, InternalError, did_you_mean
from cellguard.table.arrow import Streams, of_all, of_cells
from cellguard.table.printed import parse_printed, printed, rounded
from cellguard.table.public_codes import PublicDimension, public_dimensions
from cellguard.table.tableset import TableSet

if TYPE_CHECKING:
    import pyarrow as pa

    from cellguard.hierarchy.hierarchy import Dimension
    from cellguard.table.table import Table

STATUS = ("published", "primary", "secondary", "unpublished")


@dataclass(frozen=True, eq=False)
class Pattern:
    """A suppression pattern: which distinct cells of a set are primary and which are secondary suppressions.

    `suppress` finds a pattern, and `audit` judges any.

    Parameters
    ----------
    tables
        The linked set of tables.
    primary
        Which distinct cells are suppressed because they are unsafe.
    secondary
        Which distinct cells are suppressed to protect these.

    Examples
    --------
    >>> import cellguard as cg, numpy as np
    >>> t = cg.cells({"r": ["Total", "N", "S"], "x": [5, 2, 3]}, by=["r"], value="x")
    >>> cg.Pattern(cg.link(t), np.array([False, True, False]), np.array([False, False, True]))
    <Pattern: 1 primary and 1 secondary of 3 distinct cells>
    """

    tables: TableSet
    primary: BoolArray
    secondary: BoolArray

    def __repr__(self) -> str:
        hidden = f"{int(self.primary.sum())} primary and {int(self.secondary.sum())} secondary"
        return f"<Pattern: {hidden} of {len(self.tables)} distinct cells>"

    @cached_property
    def unpublished(self) -> BoolArray:
        """The distinct cells that no table shows."""
        shown = np.zeros(len(self.tables), bool)
        for table, cells in zip(self.tables.tables, self.tables.cells_of, strict=True):
            shown[cells[~table.unpublished]] = True
        return ~shown

    @property
    def hidden(self) -> BoolArray:
        """The cells that are suppressed wherever they would be shown."""
        return self.primary | self.secondary

    @property
    def unknown(self) -> BoolArray:
        """The cells that an attacker does not see."""
        return self.hidden | self.unpublished

    def status(self, number: int) -> npt.NDArray[np.str_]:
        """Return the status of each cell of one table, by its position in the set."""
        table, cells = self.tables.tables[number], self.tables.cells_of[number]
        status = np.full(len(table), STATUS[0], "U11")
        status[self.secondary[cells]] = STATUS[2]
        status[self.primary[cells]] = STATUS[1]
        status[table.unpublished] = STATUS[3]
        return status


@dataclass(frozen=True, eq=False)
class ReleasedTable(Streams):
    """One table as published: its codes as text, its values as whole units of their last decimal.

    A suppressed cell has None for a value; so has one that has none at all. Values become text where they are written.
    """

    name: str
    by: tuple[str, ...]
    codes: tuple[npt.NDArray[np.object_], ...]
    units: Sequence[int | None]
    suppressed: BoolArray
    response: str
    population: str
    decimals: int

    def __post_init__(self) -> None:
        if any(self.units[row] is not None for row in np.flatnonzero(self.suppressed).tolist()):
            raise InternalError(f"table {self.name!r}: a suppressed cell of the release has a value")

    @classmethod
    def of(
        cls,
        table: Table,
        units: Sequence[int | None],
        *,
        suppressed: BoolArray | None = None,
        decimals: int | None = None,
    ) -> ReleasedTable:
        """Return a table with these values in place of the true ones: one for each cell that is not unpublished."""
        rows = np.flatnonzero(~table.unpublished)
        names = tuple(d.name for d in table.dimensions)
        hidden = np.zeros(len(rows), bool) if suppressed is None else suppressed
        decimals = table.decimals if decimals is None else decimals
        codes = table.code_texts(rows)
        return cls(table.name, names, codes, units, hidden, table.response, table.population, decimals)

    @classmethod
    def of_texts(
        cls,
        name: str,
        by: tuple[str, ...],
        codes: tuple[npt.NDArray[np.object_], ...],
        value: Iterable[str],
        suppressed: BoolArray,
        response: str,
        population: str,
        decimals: int,
    ) -> ReleasedTable:
        """Return a table whose values are printed already; nothing where there is no value."""
        units = [parse_printed(text, decimals) if text else None for text in value]
        return cls(name, by, codes, units, suppressed, response, population, decimals)

    def __len__(self) -> int:
        return len(self.units)

    def __repr__(self) -> str:
        return f"<ReleasedTable {self.name!r}: {len(self)} cells by {', '.join(self.by)}, {self.hidden} suppressed>"

    @property
    def hidden(self) -> int:
        """How many cells are suppressed."""
        return int(self.suppressed.sum())

    @cached_property
    def value(self) -> list[str]:
        """The values as they are printed; nothing where there is none."""
        return ["" if units is None else printed(units, self.decimals) for units in self.units]

    @cached_property
    def figures(self) -> FloatArray:
        """The floating-point numbers nearest to the values; NaN where there is none."""
        one = 10**self.decimals
        return np.array([np.nan if units is None else units / one for units in self.units], float)

    def to_arrow(self) -> pa.Table:
        """Return dimension columns, ``value`` (null where suppressed) and ``flag`` (``c`` there, else empty)."""
        value = [
            None if units is None else number for units, number in zip(self.units, self.figures.tolist(), strict=True)
        ]
        flag = np.where(self.suppressed, "c", "").tolist()
        return of_cells(self.by, self.codes, {"value": value, "flag": flag})


@dataclass(frozen=True, eq=False)
class Release(Streams):
    """All tables as published. It holds no suppressed value, so writers of published files can show none.

    A release is an Arrow table, as a whole (with a column ``table``; all tables must have the same dimensions) or
    table by table: dimension columns, ``value`` (null where suppressed) and ``flag`` (``c`` where suppressed, else
    empty). `Audit.release` returns it for a safe pattern.

    Parameters
    ----------
    tables
        The published tables.
    dimensions
        The codes that the tables show, with their tree, levels and labels.
    about
        What the method adds to the metadata of a table.
    raw_codes
        Whether codes are written as they are, even those that a spreadsheet would run as a formula.

    Examples
    --------
    >>> import cellguard as cg, pyarrow as pa
    >>> t = cg.cells({"r": ["Total", "N", "S", "W"], "x": [100, 20, 50, 30], "n": [19, 1, 9, 9]},
    ...              by=["r"], value="x", count="n")
    >>> needs = cg.require(cg.assess(t, cg.MinFrequency(3)))
    >>> release = cg.audit(needs, cg.suppress(needs).pattern).release()
    >>> pa.table(release["table"]).to_pydict()
    {'r': ['Total', 'N', 'S', 'W'], 'value': [100.0, None, 50.0, None], 'flag': ['', 'c', '', 'c']}
    """

    tables: tuple[ReleasedTable, ...]
    dimensions: tuple[PublicDimension, ...] = ()
    about: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    raw_codes: bool = False

    @classmethod
    def of(cls, tables: Sequence[ReleasedTable], dimensions: Mapping[str, Dimension], **more: Any) -> Release:  # noqa: ANN401
        """Return a release of these tables, with what may be shown of their dimensions."""
        rows = [(table.by, table.codes) for table in tables]
        return cls(tuple(tables), public_dimensions(rows, dimensions), **more)

    def __repr__(self) -> str:
        return f"<Release {', '.join(table.name for table in self.tables)}>"

    def __getitem__(self, name: str) -> ReleasedTable:
        for table in self.tables:
            if table.name == name:
                return table
        raise InputError(f"no table {name!r}{did_you_mean(name, [table.name for table in self.tables])}")

    def to_arrow(self) -> pa.Table:
        """Return the rows of all tables, with a column ``table`` in front."""
        return of_all({table.name: table.to_arrow() for table in self.tables})


def release(pattern: Pattern, amounts: Sequence[int], grains: Sequence[int]) -> Release:
    """Return what may be published, of the exact values of the distinct cells.

    A value is ``amounts`` whole grains, and a grain is a unit of the decimal that ``grains`` says.
    """
    linked = pattern.tables
    released = []
    for table, cells in zip(linked.tables, linked.cells_of, strict=True):
        if table.release != "here":
            continue
        rows = np.flatnonzero(~table.unpublished)
        hidden, shown = pattern.hidden[cells[rows]], cells[rows].tolist()
        exact = rounded([int(amounts[c]) for c in shown], [int(grains[c]) for c in shown], table.decimals)
        units = [None if gone else value for gone, value in zip(hidden.tolist(), exact, strict=True)]
        released.append(ReleasedTable.of(table, units, suppressed=hidden))
    return Release.of(released, linked.dimensions)
