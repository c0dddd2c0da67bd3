"""What a crosstab or a pivot table asks for: columns as codes, the tables of a job, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.coding import MISSING, Coded, code_column, free_name, is_column, named_columns
from cellguard.faces.python.kinds import kind_of
from cellguard.faces.python.protect import Call, Rules, job_rules
from cellguard.faces.python.result import COUNT, MEAN, SUM, ProtectedFrame, Shape
from cellguard.faces.python.watching import watched
from cellguard.faces.python.wide import Key, Layout
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.simple import MinFrequency
from cellguard.run_context import Run
from cellguard.table.columns import all_headed

RESEARCH = (MinFrequency(10), Dominance(2, 90.0), PPercent(10.0))  # what trusted research environments ask for
_WORDS = {
    **dict.fromkeys(("sum", "nansum"), SUM),
    **dict.fromkeys(("mean", "average", "nanmean"), MEAN),
    **dict.fromkeys(("count", "size", "len"), COUNT),
}
_SHARES = {"all": "all", 0: "index", "index": "index", 1: "columns", "columns": "columns"}
_KNOWN = "the number of records"
_ROLES = ("weight", "respondent", "holding")
_MORE = ("hierarchies", "attack", "cost", "options", "within", "progress")
_PANDAS = ("index", "columns", "values", "aggfunc", "margins", "margins_name", "dropna", "normalize", "rules")
_PANDAS_DEFAULTS = {
    "observed": "categories that no record has are left out, as pandas does with observed=True; leave it out",
    "sort": "rows and columns are sorted; for another order make the column a pd.Categorical with ordered=True",
}
AggFunc = str | Callable[..., Any]
AggFuncs = AggFunc | Sequence[AggFunc] | Mapping[str, AggFunc]


@dataclass(frozen=True, eq=False)
class Wanted:
    """The arguments of pandas that say what a crosstab shows."""

    aggfunc: AggFuncs | None = None
    margins: bool = False
    margins_name: str = "All"
    dropna: bool = True
    normalize: bool | str | int = False
    rules: Rules | None = None

    @property
    def shares(self) -> str | None:
        """What shares are of: all, each row, each column, or None."""
        said = self.normalize
        if said is False or said is None:
            return None
        if said is not True and said not in _SHARES:
            raise InputError(f"normalize must be True, 'all', 'index' or 'columns', not {said!r}")
        return "all" if said is True else _SHARES[said]

    @property
    def has_margins(self) -> bool:
        """Whether margins are shown, or told by shares."""
        return self.margins or self.shares is not None

    @property
    def functions(self) -> list[tuple[str, str]]:
        """The functions: what they are called and what they are."""
        found = []
        given = self.aggfunc
        listed: Sequence[Any] = (
            [*given.values()] if isinstance(given, Mapping) else given if isinstance(given, (list, tuple)) else [given]
        )
        for one in listed:
            if isinstance(one, (list, tuple)):
                raise InputError(
                    "a mapping in `aggfunc` gives one function to each column; for several give a list to all columns, "
                    "as aggfunc=['sum', 'count']"
                )
            word = _word(one)
            if word not in _WORDS:
                raise InputError(
                    f"aggfunc must be 'count', 'sum' or 'mean', or a list of them, not {word!r}: suppression protects "
                    "what adds up, and means only as sums divided by counts"
                )
            if (word, _WORDS[word]) not in found or not isinstance(given, Mapping):
                found.append((word, _WORDS[word]))
        if not found:
            raise InputError("aggfunc is empty; say 'count', 'sum' or 'mean'")
        return found

    def asks(self, word: str, title: str) -> bool:
        """Tell whether a function is asked for of the values of that title."""
        return not isinstance(self.aggfunc, Mapping) or _word(self.aggfunc[title]) == word


def _word(function: AggFunc | None) -> str:
    """Return what a function is called."""
    if function is None:
        return COUNT
    return function if isinstance(function, str) else getattr(function, "__name__", repr(function))


@dataclass(frozen=True, eq=False)
class Figures:
    """The columns of values: what they are called by their names in the job, and the columns themselves.

    ``listed`` says whether a pivot table has them as a list; None for a crosstab, which has one.
    """

    titles: Mapping[str, str]
    frame: Mapping[str, Any]
    listed: bool | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], taken: Sequence[str], length: int, listed: bool | None) -> Figures:
        """Return columns of values under names that no dimension has."""
        titles, frame = dict[str, str](), dict[str, Any]()
        for title, column in given.items():
            if not is_column(column):
                raise InputError(f"`values` must be a column of numbers, as frame.{column}, not {column!r}")
            refuse_length(column, "values", length)
            name = free_name(f"{title}_value" if title.lower() == COUNT else title, [*taken, *frame])
            titles[name], frame[name] = title, plain_column(column)
        return cls(titles, frame, listed)


@dataclass(frozen=True, eq=False)
class Asked:
    """A crosstab as it was asked for: its columns as codes, its tables as a job has them, how it is shown.

    ``knows_total`` says that no margin is shown, and that the number of records counts as known.
    """

    coded: tuple[Coded, ...]
    frame: Mapping[str, Any]
    tables: Sequence[dict[str, Any]]
    shape: Shape
    dropna: bool
    roles: Mapping[str, str]
    more: Mapping[str, Any]
    kind: str
    totals: Mapping[str, str]
    knows_total: bool
    counts: str = COUNT  # the name of the table of counts

    def call(self) -> Call:
        """Return the call of the job."""
        trees: dict[str, object] = {coded.name: self.tree(coded) for coded in self.coded}
        held: dict[str, object] = {}
        if self.knows_total and any(table["name"] == self.counts for table in self.tables):
            names = all_headed([coded.name for coded in self.coded], ("table", "value"))
            held[_KNOWN] = {
                "table": [self.counts],
                **dict(zip(names, ([self.totals[c.name]] for c in self.coded), strict=True)),
            }
        return Call(
            pa.table({**{c.name: c.column for c in self.coded}, **self.frame}),
            self.tables,
            hierarchies=trees | (self.more.get("hierarchies") or {}),
            roles=self.roles,
            missing={"code": "drop" if self.dropna else "category", "value": "drop"},
            attack=self.more.get("attack") or {},
            held=held,
            more={"known": _KNOWN} if held else {},
        )

    def tree(self, coded: Coded) -> Hierarchy:
        """Return the codes of a dimension in their order, under its total."""
        return flat(coded.codes, total=self.totals[coded.name])

    def run(self) -> ProtectedFrame:
        """Protect it by itself."""
        return self.call().run(self.within, self.kind, self.shape)

    @property
    def within(self) -> Run:
        """The run that was given, watched if that was asked for."""
        return watched(self.more.get("within") or Run(), self.more.get("progress") or False)


Named = tuple[str, Any, Any]  # of a column: its name in the job, what it is called, its values


def ask(
    rows: Sequence[Named],
    across: Sequence[Named],
    figures: Figures,
    wanted: Wanted,
    more: Mapping[str, Any],
    *,
    own_totals: bool = False,
) -> Asked:
    """Return a crosstab as it is asked for; what is wrong with the arguments is said here.

    With ``own_totals`` the code of a dimension's total follows from its codes alone, whatever margins are called.
    """
    _refuse_unknown(more)
    _refuse_lengths([*rows, *across])
    coded = tuple(code_column(bare(column), name, title) for name, title, column in (*rows, *across))
    totals = {one.name: _own_total(one) if own_totals else total for total in [_total(coded, wanted)] for one in coded}
    frame, roles = _with_roles(coded, figures, more)
    tables, means, parts = _tables(coded, figures, wanted, more)
    if figures.titles and all(table["value"] == COUNT for table in tables):
        coded = (_without_values(coded[0], figures), *coded[1:])
    missing = [] if wanted.dropna else [MISSING]
    keys, names = _keys(parts, isinstance(wanted.aggfunc, (list, tuple)), figures.listed, across=bool(across))
    layout = Layout(
        tuple(name for name, _, _ in rows),
        tuple(name for name, _, _ in across),
        {one.name: [*one.codes, *(missing if one.column.null_count else [])] for one in coded},
        totals,
        titles={one.name: one.title for one in coded},
        labels={one.name: {MISSING: float("nan"), **one.labels} for one in coded},
        margins=wanted.has_margins,
        shown_margins=wanted.margins,
        margins_name=wanted.margins_name,
        normalize=wanted.shares,
        key_names=names,
    )
    kind = kind_of(bare((*rows, *across)[0][2]))
    knows = not wanted.has_margins and "weight" not in roles
    return Asked(coded, frame, tables, Shape(keys, layout, means), wanted.dropna, roles, more, kind, totals, knows)


def _without_values(coded: Coded, figures: Figures) -> Coded:
    """Return a dimension without codes where a value is missing: such records are not counted."""
    there = np.ones(len(coded.column), bool)
    for name in figures.titles:
        there &= np.asarray(pc.is_valid(pa.array(figures.frame[name])))
    return replace(coded, column=pc.if_else(pa.array(there), coded.column, pa.scalar(None, pa.string())))


def columns_of(given: Any, word: str, names: Sequence[object] | None, taken: Sequence[str]) -> list[Named]:  # noqa: ANN401
    """Return the columns of one side; an empty list has none."""
    return [] if isinstance(given, list) and not given else named_columns(given, word, names, taken)


def _total(coded: Sequence[Coded], wanted: Wanted) -> str:
    """Return the code of totals: what margins are called, unless a code is called so and no margin is shown."""
    name = wanted.margins_name
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"margins_name must be text, not {name!r}")
    for one in coded:
        if wanted.has_margins and name in one.labels:
            raise InputError(
                f"the column {one.title!r} has a code {name!r}, which is what margins are called; say "
                "margins_name='Total' or another word that is no code"
            )
    while any(name in one.labels for one in coded):
        name += "*"
    return name


def _own_total(coded: Coded) -> str:
    name = "All"
    while name in coded.labels:
        name += "*"
    return name


def _with_roles(
    coded: Sequence[Coded], figures: Figures, more: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the columns beside the dimensions, and which of them has which role."""
    frame, roles = dict(figures.frame), dict[str, str]()
    for word in _ROLES:
        column = more.get(word)
        if column is not None:
            if not is_column(column):
                raise InputError(f"`{word}` must be a column, as frame.{column}, not {column!r}")
            refuse_length(column, word, len(coded[0].column))
            title = str(getattr(column, "name", None) or word)
            roles[word] = free_name(title, [*(one.name for one in coded), *frame])
            frame[roles[word]] = plain_column(column)
    return frame, roles


def _tables(
    coded: Sequence[Coded], figures: Figures, wanted: Wanted, more: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, tuple[str, str]], list[tuple[Key, str]]]:
    """Return the tables of a job, which means are worked out from which of them, and what is shown, with its keys.

    A sum beside a count gives the mean, so where both are asked for they are suppressed in the same cells.
    """
    values, functions = list(figures.titles), wanted.functions
    kinds = {kind for _, kind in functions}
    if kinds - {COUNT} and not values:
        raise InputError("give `values` together with aggfunc='sum' or 'mean'; without both, records are counted")
    listed = job_rules(wanted.rules if wanted.rules is not None else RESEARCH if values else RESEARCH[:1], SUM)
    alike: dict[str, Any] = {"by": [one.name for one in coded], **(more.get("options") or {})}
    if not wanted.has_margins:
        alike["publish"] = {one.name: [1] for one in coded}
    asked = [(word, kind, v) for word, kind in functions for v in values if wanted.asks(word, figures.titles[v])]
    if isinstance(wanted.aggfunc, Mapping):  # column by column, as pandas has them
        asked.sort(key=lambda one: values.index(one[2]))
    summed = [value for value in values if any(kind != COUNT for _, kind, one in asked if one == value)]
    sums = {value: SUM if len(values) == 1 else f"{SUM}_{i}" for i, value in enumerate(summed, 1)}
    named = {name: value for value, name in sums.items()}
    together = MEAN in kinds or {SUM, COUNT} <= kinds
    tables = [{"name": name, "value": value, "rules": listed, **alike} for name, value in named.items()]
    if together or COUNT in kinds:
        tables.append({"name": COUNT, "value": COUNT, "rules": _counting(listed) if values else listed, **alike})
    for table in tables:
        table["protect"] = {"cost": more.get("cost") or "value"}
        if together:
            table["protect"]["hide_with"] = summed if table["name"] == COUNT else [COUNT]
            table["zeros"] = "known"
    means, parts = dict[str, tuple[str, str]](), list[tuple[Key, str]]()
    for word, kind, value in asked if values else [(word, kind, "") for word, kind in functions]:
        title, shown = figures.titles.get(value, ""), COUNT if kind == COUNT else sums.get(value, SUM)
        if kind == MEAN:
            shown = shown.replace(SUM, MEAN, 1)
            means[shown] = sums[value], COUNT
        parts.append(((word, title), shown))
    return tables, means, parts


def _counting(rules: Sequence[Any]) -> list[Any]:
    counted = [rule for rule in rules if "min_frequency" in rule]
    if not counted:
        raise InputError(
            "means and counts need a rule for the number of records too; add cg.MinFrequency(10) to `rules`"
        )
    return counted


def _keys(
    parts: Sequence[tuple[Key, str]], several: bool, listed: bool | None, *, across: bool
) -> tuple[list[tuple[Key, str]], Key]:
    """Return what stands above the columns of each table as pandas has it, and how many levels that are."""
    if listed is None:
        keep = [several or not across, False]
    else:
        keep = [several, listed or not across]
    kept = [(tuple(word for word, stays in zip(keys, keep, strict=True) if stays), table) for keys, table in parts]
    return kept, (None,) * sum(keep)


def plain_column(column: Any) -> Any:  # noqa: ANN401
    """Return a column as Arrow takes it."""
    column = bare(column)
    if kind_of(column) == "pandas":
        return pa.array(column, from_pandas=True)
    return column.to_arrow() if hasattr(column, "to_arrow") else pa.array(column)


@dataclass(frozen=True, eq=False)
class NamedColumn:
    """A column of a mapping or of Arrow, with its name."""

    name: str
    held: Any

    def __len__(self) -> int:
        return len(self.held)


def bare(column: Any) -> Any:  # noqa: ANN401
    """Return a column without the name that was put beside it."""
    return column.held if isinstance(column, NamedColumn) else column


def _refuse_unknown(more: Mapping[str, Any]) -> None:
    known = (*_ROLES, *_MORE)
    for word, said in more.items():
        if word in _PANDAS_DEFAULTS:
            if said is not True:
                raise InputError(f"{word}={said!r} is not taken: {_PANDAS_DEFAULTS[word]}")
        elif word not in known:
            raise InputError(f"no argument {word!r}{did_you_mean(word, (*known, *_PANDAS))}")


def _refuse_lengths(columns: Sequence[Named]) -> None:
    _, name, first = columns[0]
    for _, title, column in columns[1:]:
        refuse_length(column, str(title), len(first), str(name))
    labels = [column.index for _, _, column in columns if kind_of(column) == "pandas" and hasattr(column, "index")]
    if any(not labels[0].equals(other) for other in labels[1:]):
        raise InputError(
            "the columns have different indexes, so their rows are not the same records; filter the whole frame first "
            "and take all columns from it"
        )


def refuse_length(column: Any, word: str, length: int, other: str = "") -> None:  # noqa: ANN401
    """Refuse a column that is longer or shorter than the others."""
    if len(column) != length:
        raise InputError(
            f"{word!r} has {len(column):,} rows, and {repr(other) if other else 'the other columns have'} {length:,}; "
            "take all columns from one frame"
        )
