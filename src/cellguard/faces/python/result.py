"""What `cellguard.protect` gives: an outcome that shows itself as frames, words, a page and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cellguard.attack.audit import Audit
from cellguard.errors import InputError, NotProtected, did_you_mean, listing
from cellguard.faces.python.habits import OUTCOME, no_attribute
from cellguard.faces.python.kinds import released_frame
from cellguard.faces.python.notebook import grid_html, wide_html
from cellguard.faces.python.python_words import in_python
from cellguard.faces.python.wide import Key, Layout, Part, Wide, fixed_codes, frame_of, hidden_frame, spread
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
from cellguard.words.language import speaking

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEAN, SUM, COUNT = "mean", "sum", "count"  # the tables of means: what is shown, and what is protected
_CURES = {
    "no rule": "; give `rules`, for instance cg.MinFrequency(3)",
    "not proven": "; where the method has the setting, unproven='accept' releases it on your own answer",
}


@dataclass(frozen=True)
class Shape:
    """How the tables of a call are one frame: what stands above the columns of each table, and the axes.

    ``means`` are tables that are worked out from two published ones: their names, of the sums and of the counts.
    """

    parts: Sequence[tuple[Key, str]] = ()
    layout: Layout | None = None
    means: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class ProtectedFrame(Outcome[Any]):
    """An `Outcome` that shows itself. ``kind`` is the library whose frames it gives: that of the data.

    What `table`, `tables`, `crosstab` and a notebook show is what may be published; `why`, `report`, `audit` and the
    pictures are confidential.
    """

    kind: str = "pyarrow"
    shape: Shape = Shape()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            no_attribute(self, name, OUTCOME)

    def __getitem__(self, name: object) -> Any:  # noqa: ANN401
        raise InputError("an outcome is no frame; `.table` is the frame of its table, `.tables` has those of several")

    @property
    def _released(self) -> Release:
        release = self.release
        if release is None:
            raise NotProtected(f"nothing may be shown: {self.verdict.text}{_CURES.get(str(self.verdict.kind), '')}")
        means = [mean_table(name, release[sums], release[counts]) for name, (sums, counts) in self.shape.means.items()]
        return replace(release, tables=(*means, *release.tables)) if means else release

    @property
    def _dimensions(self) -> Mapping[str, Dimension]:
        return {d.name: d for table in self.protected.tables for d in table.dimensions}

    @property
    def _counted(self) -> set[str]:
        """The names of the tables whose values are whole counts."""
        return {table.name for table in self.protected.tables if table.is_count and not table.decimals}

    def _frame(self, table: ReleasedTable) -> Any:  # noqa: ANN401
        return released_frame(table.to_arrow(), self.kind, counted=table.name in self._counted)

    @property
    def tables(self) -> dict[str, Any]:
        """The protected tables by name: dimension columns, ``value`` (missing where suppressed), ``flag`` (c there)."""
        return {table.name: self._frame(table) for table in self._released.tables}

    @property
    def table(self) -> Any:  # noqa: ANN401
        """The protected table, as a frame of the kind that came in; of several tables take `tables`."""
        return self._frame(self._released[self._one(None)])

    def crosstab(
        self, table: str | None = None, *, where: Mapping[str, object] | None = None, mark: str | None = None
    ) -> Any:  # noqa: ANN401
        """Return a table wide, with its margins last: rows by the first dimension, columns by all others.

        Parameters
        ----------
        table
            The name of one of several tables.
        where
            The codes at which further dimensions stand, as ``{"year": "2024"}``; they are then no columns.
        mark
            Give text instead of numbers, with this word in suppressed cells, as ``mark="c"``. Without it suppressed
            cells are missing (NaN, or NA among counts), and empty ones are 0.
        """
        wide, layout = self._wide(table, where)
        return frame_of(wide, layout, self.kind, mark)

    def suppressed(self, table: str | None = None, *, where: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401
        """Return which cells of `crosstab` are suppressed: True there, False where a cell is published or empty."""
        wide, layout = self._wide(table, where)
        return hidden_frame(wide, layout, self.kind)

    def _wide(self, name: str | None, where: Mapping[str, object] | None) -> tuple[Wide, Layout]:
        released, shape = self._released, self.shape
        if shape.layout is not None and name is None and not where:
            parts = [Part(keys, released[one], one in self._counted) for keys, one in shape.parts]
            return spread(parts, shape.layout), shape.layout
        table = released[self._one(name)]
        fixed = fixed_codes(table, self._dimensions, where)
        layout = Layout.of(table, self._dimensions, list(fixed))
        if not layout.columns:
            layout = replace(layout, key_names=(None,))
            return spread([Part((table.response,), table, table.name in self._counted)], layout, fixed), layout
        return spread([Part((), table, table.name in self._counted)], layout, fixed), layout

    def _suppressed_result(self, word: str) -> SuppressionResult:
        if not isinstance(self.protected, SuppressionResult):
            raise InputError(f"`{word}` explains suppressed cells, and these tables are {self.method.participle}")
        return self.protected

    def why(self, cell: str, *, table: str | None = None) -> list[str]:
        """Describe what a cell is, what each rule says of it, and why it is suppressed or may be seen.
        Confidential.
        """
        found = self._suppressed_result("why")
        means = self.shape.means
        table = means[next(iter(means))][0] if table is None and means else means.get(table or "", (table,))[0]
        needs = found.audit.needs
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
        return self._suppressed_result("audit").audit

    def report(self, path: str | Path | None = None, *, force: bool = False) -> str:
        """Return the officer's page as HTML, or write it to a file and return its path. Confidential."""
        from cellguard.io.write import write_text

        require_extra()
        with speaking(self.job.language):
            if isinstance(self.protected, SuppressionResult):
                page = internal_page(self)
            else:
                page = self.method.pages(self)["internal/report.html"]
        if path is None:
            return page
        write_text(Path(path), page, force=force, confidential=True)
        return str(path)

    def write(self, folder: str | Path, *, force: bool = False) -> Path:
        """Write release, internal files, certificate and pages, as `cellguard protect` does; return the folder."""
        with in_python():
            OutputFolder(folder).write(self, force=force)
        return Path(folder)

    def plot(self, what: str = "heat", table: str | None = None) -> Figure:
        """Draw a table (``heat``) or which share of each level is suppressed (``loss``). Confidential."""
        drawings = {"heat": heat_map, "loss": loss_by_level}
        if what not in drawings:
            raise InputError(f"no picture {what!r}{did_you_mean(what, drawings)}")
        means = self.shape.means
        name = means[next(iter(means))][0] if table is None and means else self._one(table)
        return drawings[what](self.audit.pattern, name)

    def _repr_html_(self) -> str:
        if self.release is None:
            return f"<p>Nothing may be shown: {self.verdict.text}</p>"
        if self.shape.layout is not None:
            grids = [wide_html(*self._wide(None, None))]
        else:
            grids = [grid_html(table, self._dimensions) for table in self._released.tables]
        return f"<p>{self.verdict.text}</p>" + "".join(grids)

    def _one(self, name: str | None) -> str:
        names = [*self.shape.means, *(table.name for table in self.protected.tables if not table.is_added)]
        if name is None and self.shape.parts:
            names = [part for _, part in self.shape.parts]
        if name is None and len(names) > 1:
            raise InputError(f"there are several tables; say which of {listing(names)}")
        if name is not None and name not in names:
            raise InputError(f"no table {name!r}{did_you_mean(name, names)}")
        return name or names[0]


def mean_table(name: str, sums: ReleasedTable, counts: ReleasedTable) -> ReleasedTable:
    """Return published sums divided by published counts of the same cells; suppressed where one of them is.

    A mean is worked out from what is published of both, so it tells nothing that they do not.
    """
    hidden = sums.suppressed | counts.suppressed
    decimals = sums.decimals + 2
    shown = ~hidden & (np.nan_to_num(counts.figures) != 0)
    means = iter(nearest((sums.figures[shown] / counts.figures[shown]).tolist(), decimals))
    units = [next(means) if there else None for there in shown.tolist()]
    return replace(sums, name=name, units=units, suppressed=hidden, response=f"mean {sums.response}", decimals=decimals)
