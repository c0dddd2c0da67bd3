"""What `cellguard.protect` gives: an outcome that shows itself as frames, words, a page and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cellguard.attack.audit import Audit
from cellguard.errors import InputError, NotProtected, did_you_mean, listing
from cellguard.faces.python.kinds import as_kind
from cellguard.faces.python.wide import grid_html, wide_arrow
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io.folder import OutputFolder
from cellguard.methods.suppress.explained_cell import Context, explain_one
from cellguard.methods.suppress.report.figures import heat_map, loss_by_level
from cellguard.methods.suppress.report.page import internal_page
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.report.render import require_extra
from cellguard.seam.outcome import Outcome
from cellguard.table.contributions import contributions_of
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.printed import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN, SUM, COUNT = "mean", "sum", "count"  # the tables of means: what is shown, and what is protected


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedFrame(Outcome[SuppressionResult]):
    """An `Outcome` that shows itself. ``kind`` is the library whose frames it gives: that of the data.

    What `table`, `tables`, `crosstab` and a notebook show is what may be published; `why`, `report`, `audit` and the
    pictures are confidential.
    """

    kind: str = "pyarrow"

    @property
    def _released(self) -> Release:
        if self.release is None:
            raise NotProtected(f"nothing may be shown: {self.verdict.text}")
        return self.release

    @property
    def _dimensions(self) -> Mapping[str, Dimension]:
        return {d.name: d for table in self.protected.tables for d in table.dimensions}

    @property
    def tables(self) -> dict[str, Any]:
        """The protected tables by name: dimension columns, ``value`` (missing where suppressed), ``flag`` (c there)."""
        return {table.name: as_kind(table.to_arrow(), self.kind) for table in self._released.tables}

    @property
    def table(self) -> Any:  # noqa: ANN401
        """The protected table, as a frame of the kind that came in; of several tables take `tables`."""
        return as_kind(self._released[self._one(None)].to_arrow(), self.kind)

    def crosstab(self, table: str | None = None, *, where: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Return a table wide, as a crosstab with margins: rows by the first dimension, columns by the second.

        Suppressed cells are missing. Further dimensions stand at their total, or at the codes of ``where``.
        """
        wide = wide_arrow(self._released[self._one(table)], self._dimensions, where or {})
        if self.kind != "pandas":
            return as_kind(wide, self.kind)
        frame = wide.to_pandas().set_index(wide.column_names[0])
        by = self._released[self._one(table)].by
        frame.columns.name = by[1] if len(by) > 1 else None
        return frame

    def why(self, cell: str, *, table: str | None = None) -> list[str]:
        """Describe what a cell is, what each rule says of it, and why it is suppressed or may be seen.
        Confidential.
        """
        found, needs = self.protected, self.protected.audit.needs
        intervals, inside = found.intervals, found.audit.inside
        ends = (
            {}
            if intervals is None
            else {
                int(c): (float(intervals.lower[c]), float(intervals.upper[c])) for c in np.flatnonzero(intervals.hidden)
            }
        )
        who = None if inside is None else contributions_of(needs.tables)
        size = 1 if inside is None else inside.size
        context = Context(found.known.sums, found.explanations, who, size, found.hidden_with, ends)
        return explain_one(found.findings, needs, found.audit.pattern, cell, table=table, context=context)

    @property
    def audit(self) -> Audit:
        """The attack on the result: verdict, intervals, witnesses. Confidential."""
        return self.protected.audit

    def report(self, path: str | Path | None = None, *, force: bool = False) -> str:
        """Return the officer's page as HTML, or write it to a file and return its path. Confidential."""
        from cellguard.io.write import write_text

        require_extra()
        page = internal_page(self)
        if path is None:
            return page
        write_text(Path(path), page, force=force, confidential=True)
        return str(path)

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write release, internal files, certificate and pages, as `cellguard protect` does; return the folder."""
        OutputFolder(folder).write(self, force=force)
        return Path(folder)

    def plot(self, what: str = "heat", table: str | None = None) -> Figure:
        """Draw a table (``heat``) or which share of each level is suppressed (``loss``). Confidential."""
        drawings = {"heat": heat_map, "loss": loss_by_level}
        if what not in drawings:
            raise InputError(f"no picture {what!r}{did_you_mean(what, drawings)}")
        return drawings[what](self.audit.pattern, self._one(table))

    @property
    def _grids(self) -> Sequence[ReleasedTable]:
        return self._released.tables

    def _repr_html_(self) -> str:
        if self.release is None:
            return f"<p>Nothing may be shown: {self.verdict.text}</p>"
        grids = [grid_html(table, self._dimensions) for table in self._grids]
        return f"<p>{self.verdict.text}</p>" + "".join(grids)

    def _one(self, name: str | None) -> str:
        names = [table.name for table in self.protected.tables if not table.is_added]
        if name is None and len(names) > 1:
            raise InputError(f"there are several tables; say which of {listing(names)}")
        if name is not None and name not in names:
            raise InputError(f"no table {name!r}{did_you_mean(name, names)}")
        return name or names[0]


@dataclass(frozen=True, eq=False, repr=False)
class MeanFrame(ProtectedFrame):
    """Sums and counts that were protected together, shown as means.

    A mean is worked out from what is published of both, so it tells nothing that they do not. `tables` has all three;
    `write` writes the sums and the counts.
    """

    @property
    def _released(self) -> Release:
        release = super()._released
        return replace(release, tables=(mean_table(release[SUM], release[COUNT]), *release.tables))

    @property
    def _grids(self) -> Sequence[ReleasedTable]:
        return self._released.tables[:1]

    def why(self, cell: str, *, table: str | None = None) -> list[str]:
        """Explain why the sum of a cell is suppressed or may be seen, or its count (``table="count"``).
        Confidential.
        """
        return super().why(cell, table=table or SUM)

    def plot(self, what: str = "heat", table: str | None = None) -> Figure:
        """Draw the sums, or the counts (``table="count"``). Confidential."""
        return super().plot(what, table or SUM)

    def _one(self, name: str | None) -> str:
        return MEAN if name in {None, MEAN} else super()._one(name)


def mean_table(sums: ReleasedTable, counts: ReleasedTable) -> ReleasedTable:
    """Return published sums divided by published counts of the same cells; suppressed where one of them is."""
    hidden = sums.suppressed | counts.suppressed
    decimals = sums.decimals + 2
    shown = ~hidden & (np.nan_to_num(counts.figures) != 0)
    means = iter(nearest((sums.figures[shown] / counts.figures[shown]).tolist(), decimals))
    units = [next(means) if there else None for there in shown.tolist()]
    return replace(sums, name=MEAN, units=units, suppressed=hidden, response=f"mean {sums.response}", decimals=decimals)
