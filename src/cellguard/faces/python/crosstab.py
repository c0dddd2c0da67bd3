"""`crosstab` and `pivot_table` with the arguments of pandas: what they show is protected, and proven."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.asking import AggFunc, AggFuncs, Asked, Figures, NamedColumn, Wanted, ask, columns_of
from cellguard.faces.python.coding import is_column
from cellguard.faces.python.kinds import kind_of
from cellguard.faces.python.protect import Rules
from cellguard.faces.python.result import ProtectedFrame


def crosstab(
    index: Any,  # noqa: ANN401
    columns: Any,  # noqa: ANN401
    values: Any = None,  # noqa: ANN401
    rownames: Sequence[object] | None = None,
    colnames: Sequence[object] | None = None,
    aggfunc: AggFunc | Sequence[AggFunc] | None = None,
    margins: bool = False,
    margins_name: str = "All",
    dropna: bool = True,
    normalize: bool | str | int = False,
    *,
    rules: Rules | None = None,
    **more: Any,  # noqa: ANN401
) -> ProtectedFrame:
    """Cross columns as ``pandas.crosstab`` does, suppress what is unsafe, and prove the rest safe.

    Secondary suppressions keep unsafe cells from being worked out from margins, where these are shown, and from the
    number of records, which counts as known. A mean and a count give the sum, so sums and counts are protected together
    and suppressed in the same cells; means are shown where both are published.

    Parameters
    ----------
    index, columns
        A column, or a list of columns, each.
    values
        The column to sum; without it records are counted.
    rownames, colnames
        What the columns are called, if not by their own names.
    aggfunc
        ``sum``, ``mean`` or ``count``, as text or as the function of NumPy, or a list of them.
    margins
        Whether totals are shown, too.
    margins_name
        What they are called.
    dropna
        Whether records with a missing code are left out; else these are a category of their own. Records without a
        value are left out in any case.
    normalize
        Show shares of all (``True``), of each row (``"index"``) or column (``"columns"``). They are worked out from
        published cells and margins.
    rules
        The sensitivity rules: by default those of many research data centres, `MinFrequency(10)`, and for sums
        `Dominance(2, 90)` and `PPercent(10)`.
    **more
        ``weight``, ``respondent`` and ``holding`` are columns; ``hierarchies``, ``attack``, ``cost``, ``options``,
        ``within`` and ``progress`` are those of `protect`.

    Returns
    -------
    ProtectedFrame
        The protected table; its ``crosstab()`` is the frame that pandas would give.

    Raises
    ------
    InputError
        If the columns have different lengths, or ``aggfunc`` is another one.
    NotProtected
        If no pattern can be safe.

    Examples
    --------
    >>> import cellguard as cg
    >>> size, region = ["a"] * 30 + ["b"] * 13, (["x", "y", "y"] * 10) + ["x"] * 2 + ["y"] * 11
    >>> cg.crosstab(size, region, margins=True).crosstab().to_pydict()
    {'row_0': ['a', 'b', 'All'], 'x': [None, None, 12], 'y': [None, None, 31], 'All': [30, 13, 43]}
    """
    wanted = Wanted(aggfunc, margins, margins_name, dropna, normalize, rules)
    return ask_crosstab(index, columns, values, rownames, colnames, wanted, more).run()


def ask_crosstab(
    index: Any,  # noqa: ANN401
    columns: Any,  # noqa: ANN401
    values: Any,  # noqa: ANN401
    rownames: Sequence[object] | None,
    colnames: Sequence[object] | None,
    wanted: Wanted,
    more: Mapping[str, Any],
) -> Asked:
    """Return what a crosstab asks for."""
    rows = columns_of(index, "row", rownames, [])
    across = columns_of(columns, "col", colnames, [name for name, _, _ in rows])
    if not rows and not across:
        raise InputError("give at least one column in `index` or `columns`")
    if isinstance(values, list) and values and all(map(is_column, values)):
        raise InputError("`values` must be one column; for several take cg.pivot_table(frame, values=[...])")
    if values is not None and wanted.aggfunc is None:
        raise InputError("give aggfunc='sum', 'mean' or 'count' together with `values`, as pandas asks for too")
    given = {} if values is None else {str(getattr(values, "name", None) or "values"): values}
    taken, length = [name for name, _, _ in (*rows, *across)], len((*rows, *across)[0][2])
    return ask(rows, across, Figures.of(given, taken, length, None), wanted, more)


def pivot_table(
    data: Any,  # noqa: ANN401
    values: str | Sequence[str] | None = None,
    index: Any = None,  # noqa: ANN401
    columns: Any = None,  # noqa: ANN401
    aggfunc: AggFuncs = "mean",
    fill_value: object = None,
    margins: bool = False,
    dropna: bool = True,
    margins_name: str = "All",
    *,
    rules: Rules | None = None,
    **more: Any,  # noqa: ANN401
) -> ProtectedFrame:
    """Summarise columns of a frame as ``pandas.pivot_table`` does, suppress what is unsafe, and prove the rest safe.

    Parameters
    ----------
    data
        A frame, or a mapping of columns.
    values
        The column to summarise, or a list; not needed to count.
    index, columns
        Names of columns, or lists of names.
    aggfunc
        ``mean`` (as pandas has it), ``sum`` or ``count``, as text or as the function of NumPy, a list of them, or one
        for each column, as ``{"turnover": "sum", "jobs": "mean"}``.
    fill_value
        Not taken: a suppressed cell must not look like a value, and empty sums and counts are 0 already.
    margins, margins_name, dropna, rules, **more
        As in `crosstab`; ``weight``, ``respondent`` and ``holding`` may be names of columns.

    Returns
    -------
    ProtectedFrame
        The protected table; its ``crosstab()`` is the frame that pandas would give.

    Raises
    ------
    InputError
        If a column is not there, or ``aggfunc`` is another one.
    NotProtected
        If no pattern can be safe.

    Examples
    --------
    >>> import cellguard as cg
    >>> firms = {"region": ["N"] * 12 + ["S"] * 12 + ["W"] * 4, "jobs": list(range(5, 33))}
    >>> cg.pivot_table(firms, values="jobs", index="region", aggfunc="sum", margins=True).crosstab().to_pydict()
    {'region': ['N', 'S', 'W', 'All'], 'jobs': [None, 270.0, None, 518.0]}
    """
    if fill_value is not None:
        raise InputError(
            "fill_value would make suppressed cells look like values; leave it out: empty sums and counts are 0, and "
            "`crosstab(mark='c')` marks suppressed cells"
        )
    wanted = Wanted(aggfunc, margins, margins_name, dropna, rules=rules)
    return ask_pivot(data, values, index, columns, wanted, more).run()


def ask_pivot(data: Any, values: Any, index: Any, columns: Any, wanted: Wanted, more: Mapping[str, Any]) -> Asked:  # noqa: ANN401
    """Return what a pivot table asks for."""
    if index is None and columns is None:
        raise InputError("give `index`, or `columns`, or both: names of columns of the frame")
    values = columns_of_functions(values, wanted.aggfunc)
    frame = _Frame(data)
    rows = columns_of(frame.several(index), "row", None, [])
    across = columns_of(frame.several(columns), "col", None, [name for name, _, _ in rows])
    listed = isinstance(values, (list, tuple))
    names = list(values) if listed else [] if values is None else [values]
    taken = [name for name, _, _ in (*rows, *across)]
    figures = Figures.of({str(name): frame.column(name) for name in names}, taken, frame.rows, listed)
    roles = {
        word: frame.column(more[word]) for word in ("weight", "respondent", "holding") if more.get(word) is not None
    }
    return replace(ask(rows, across, figures, wanted, {**more, **roles}), kind=kind_of(data))


def columns_of_functions(values: Any, aggfunc: object) -> Any:  # noqa: ANN401
    """Return the columns of values: those that a mapping of functions names, if it is one."""
    if not isinstance(aggfunc, Mapping):
        return values
    named = sorted(str(name) for name in aggfunc)  # as pandas has them
    listed = values if isinstance(values, (list, tuple)) else named if values is None else [values]
    apart = sorted({*named} ^ {str(name) for name in listed})
    if apart:
        raise InputError(
            f"{apart[0]!r} is in only one of `values` and `aggfunc`; name each column in both, or leave `values` out"
        )
    return named


class _Frame:
    """A frame of any library, by the names of its columns."""

    def __init__(self, data: Any) -> None:  # noqa: ANN401
        named = data.column_names if isinstance(data, pa.Table) else data if isinstance(data, Mapping) else None
        if named is None and not hasattr(data, "columns"):
            raise InputError(
                f"`data` must be a frame or a mapping of columns, not {type(data).__name__}; read a file first, as "
                "with pandas.read_csv"
            )
        self._data, self._names = data, [str(name) for name in (data.columns if named is None else named)]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self._data[self._names[0]]) if self._names else 0

    def column(self, name: Any) -> Any:  # noqa: ANN401
        """Return a column by its name; a column stays itself."""
        if is_column(name):
            return name
        if str(name) not in self._names:
            raise InputError(f"the frame has no column {name!r}{did_you_mean(str(name), self._names)}")
        found = self._data[name]
        return found if getattr(found, "name", None) is not None else NamedColumn(str(name), found)

    def several(self, given: Any) -> list[Any]:  # noqa: ANN401
        """Return one or several columns."""
        listed = given if isinstance(given, (list, tuple)) else [] if given is None else [given]
        return [self.column(name) for name in listed]
