"""`protect` and `crosstab`: from a frame to a protected table in one call, by the same pipeline as a job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.formula_tables import from_formula
from cellguard.faces.python.frame_sources import resolved
from cellguard.faces.python.kinds import is_path, kind_of, to_arrow
from cellguard.faces.python.result import COUNT, SUM, MeanFrame, ProtectedFrame
from cellguard.faces.python.watching import watched
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.job.jobfile import Job
from cellguard.job.rulespec import dump_rule, refuse_shares
from cellguard.methods.suppress.result import SuppressionResult
from cellguard.pipeline import run
from cellguard.reading.csvfile import read_list
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.rule import Rule
from cellguard.rules.simple import MinFrequency
from cellguard.run_context import Listener, Run
from cellguard.seam.outcome import Outcome

_FRAME = "the frame"
Rules = Rule | Mapping[str, Any] | Sequence[Rule | Mapping[str, Any]]
RESEARCH = (MinFrequency(10), Dominance(2, 90.0), PPercent(10.0))  # what trusted research environments ask for


def protect(
    data: object,
    by: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    value: str | None = None,
    *,
    rules: Rules | Mapping[str, Rules],
    tables: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    weight: str | None = None,
    respondent: str | None = None,
    holding: str | None = None,
    cost: str | Mapping[str, Any] = "value",
    name: str = "table",
    options: Mapping[str, Any] | None = None,
    within: Run = Run(),  # noqa: B008
    progress: bool | Listener = False,
) -> ProtectedFrame:
    """Make a table from records, suppress as little of it as possible, and prove that the rest is safe.

    Parameters
    ----------
    data
        Records: a pandas, polars or Arrow frame, a DuckDB relation, a mapping of columns, an Arrow data set, a path,
        several files as ``"2026/*.parquet"``, or an address such as ``https://...`` or ``s3://...``.
    by
        The dimensions: columns, or names of ``hierarchies``. Several tables are a mapping from names to dimensions.
    value
        The column to sum; without it records are counted.
    rules
        One rule or a list, as objects (``cg.PPercent(10)``) or as jobs write them (``{"p_percent": 10}``).
    tables
        In place of ``by`` a formula as in R, ``"~ nation + age * continent"``: its terms are the published tables, one
        linked set, with the columns that nest as levels of one dimension. The column to sum may stand left of ``~``.
    hierarchies
        For dimensions: a `Hierarchy`, the path of a CSV or ``.hrc`` file, or a list of columns that nest, coarsest
        first, as ``{"activity": ["A10", "A21", "A88"]}``.
    weight, respondent, holding
        The columns of the survey weight, of the respondent, and of the group that the respondent belongs to.
    cost
        What suppressing a cell costs.
    name
        The name of the table.
    options
        Further keys of a table in a job, as ``{"decimals": 1}``.
    within
        A `Run`: progress, a deadline, threads, and `Run.stop` to end it from another thread.
    progress
        Whether to write the phases of the work to the standard error, or a function that takes each event.

    Returns
    -------
    ProtectedFrame
        The protected table, which shows itself as frames, words, a page and pictures.

    Raises
    ------
    InputError
        If the data or an argument is wrong.
    NotProtected
        If no pattern can be safe.

    Examples
    --------
    >>> firms = {"region": ["N"] * 3 + ["S"] * 4 + ["W"] * 4, "turnover": [90, 8, 2, 30, 40, 35, 30, 20, 20, 20, 20]}
    >>> protect(firms, by=["region"], value="turnover", rules=PPercent(10)).why("N")[-2]
    'N is primary: p_percent 10.'
    """
    kind = ("pandas" if _has_pandas() else "pyarrow") if is_path(data) else kind_of(data)
    data = resolved(data)
    drawn = from_formula(data, tables, by, value, hierarchies or {}, name)
    how = {"value": drawn.value or "count", "protect": {"cost": cost}}
    listed = [{**one, **drawn.options(options or {}, one["name"])} for one in _tables(drawn.by, rules, how)]
    roles = {"weight": weight, "respondent": respondent, "holding": holding}
    return _shown(_run(data, listed, drawn.hierarchies, roles, watched(within, progress)), kind)


def _run(
    data: object,
    tables: list[dict[str, Any]],
    hierarchies: Mapping[str, object],
    roles: Mapping[str, str | None],
    within: Run,
) -> Outcome[SuppressionResult]:
    """Run the job of a call."""
    held: dict[str, object] = {} if is_path(data) else {_FRAME: to_arrow(data)}
    spec = {
        "version": 1,
        "microdata": {"source": str(data) if is_path(data) else _FRAME} | {r: c for r, c in roles.items() if c},
        "dimensions": _dimensions(hierarchies, held),
        "tables": tables,
    }
    return run(Job.parse(spec, source="the call", held=held), within=within)


def _tables(tables: Mapping[str, object], rules: object, how: Mapping[str, object]) -> list[dict[str, Any]]:
    return [{"name": name, "by": _columns(by), "rules": _rules(rules, name), **how} for name, by in tables.items()]


def _shown(outcome: Outcome[SuppressionResult], kind: str) -> ProtectedFrame:
    return ProtectedFrame(outcome.method, outcome.protected, outcome.seconds, outcome.made, kind)


def crosstab(
    rows: Any,  # noqa: ANN401
    columns: Any,  # noqa: ANN401
    values: Any = None,  # noqa: ANN401
    *,
    aggfunc: str | None = None,
    rules: Rules | None = None,
    **more: Any,  # noqa: ANN401
) -> ProtectedFrame:
    """Cross two columns as ``pandas.crosstab`` with margins does, suppress what is unsafe, and prove the rest safe.

    Secondary suppressions keep the unsafe cells from being worked out from the margins. A mean and a count give the
    sum, so sums and counts are protected together and suppressed in the same cells, and means are shown where both are
    published.

    Parameters
    ----------
    rows, columns
        A column, or a list of columns, each.
    values
        The column to sum; without it records are counted.
    aggfunc
        ``sum``, ``mean`` or, without values, ``count``.
    rules
        The sensitivity rules: by default those of many research data centres, `MinFrequency(10)`, and for sums
        `Dominance(2, 90)` and `PPercent(10)`.
    **more
        Arguments of `protect`; ``weight``, ``respondent`` and ``holding`` are columns.

    Returns
    -------
    ProtectedFrame
        The protected table.

    Raises
    ------
    InputError
        If the columns have different lengths, or ``aggfunc`` is another one.
    NotProtected
        If no pattern can be safe.

    Examples
    --------
    >>> import cellguard as cg
    >>> outcome = cg.crosstab(["a"] * 30 + ["b"] * 13, (["x", "y", "y"] * 10) + ["x"] * 2 + ["y"] * 11)
    >>> outcome.crosstab().to_pydict()
    {'rows': ['a', 'b', 'Total'], 'x': [None, None, 12.0], 'y': [None, None, 31.0], 'Total': [30.0, 13.0, 43.0]}
    """
    if aggfunc not in {None, "count", "sum", "mean"}:
        raise InputError(
            f"aggfunc must be 'count', 'sum' or 'mean', not {aggfunc!r}: suppression protects what adds up, and "
            "means only "
            "as sums divided by counts"
        )
    if (aggfunc in {"sum", "mean"}) != (values is not None):
        raise InputError("give `values` together with aggfunc='sum' or 'mean'; without both, records are counted")
    frame: dict[str, Any] = {}
    by = [*_named(rows, "rows", frame), *_named(columns, "columns", frame)]
    value = _named([values], "values", frame)[0] if values is not None else None
    for role in ("weight", "respondent", "holding"):
        if _is_column(more.get(role)):
            more[role] = _named([more[role]], role, frame)[0]
    chosen = rules if rules is not None else (RESEARCH if values is not None else RESEARCH[:1])
    first = rows[0] if isinstance(rows, list) and rows and _is_column(rows[0]) else rows
    work: Callable[..., ProtectedFrame] = _means if aggfunc == "mean" else protect
    return replace(work(to_arrow(frame), by, value, rules=chosen, **more), kind=kind_of(first))


def _means(
    data: object,
    by: Sequence[str],
    value: str,
    *,
    rules: Rules,
    hierarchies: Mapping[str, object] | None = None,
    cost: str | Mapping[str, Any] = "value",
    options: Mapping[str, Any] | None = None,
    within: Run = Run(),  # noqa: B008
    progress: bool | Listener = False,
    **roles: str,
) -> MeanFrame:
    """Protect sums and counts of the same cells with one pattern. All see that a cell without records has no mean."""
    unknown = set(roles) - {"weight", "respondent", "holding"}
    if unknown:
        raise InputError(f"aggfunc='mean' knows no argument {min(unknown)!r}")
    listed = _rules(rules, SUM)
    counted = [rule for rule in listed if "min_frequency" in rule]
    if not counted:
        raise InputError("means need a rule for the number of records too; add cg.MinFrequency(10) to `rules`")
    alike = {"by": list(by), "zeros": "known"}
    tables = [
        {"name": SUM, "value": value, "rules": listed, **alike, **(options or {})},
        {"name": COUNT, "value": "count", "rules": counted, **alike},
    ]
    for table, other in zip(tables, ("count", value), strict=True):
        table["protect"] = {"cost": cost, "hide_with": [other]}
    outcome = _run(data, tables, hierarchies or {}, roles, watched(within, progress))
    return MeanFrame(outcome.method, outcome.protected, outcome.seconds, outcome.made)


def _is_column(data: object) -> bool:
    return not isinstance(data, (str, int, float)) and hasattr(data, "__len__")


def _named(data: Any, word: str, frame: dict[str, Any]) -> list[str]:  # noqa: ANN401
    """Put one or several columns into a frame, each under its own name or else the word, and return their names."""
    several = isinstance(data, list) and bool(data) and all(_is_column(item) for item in data)
    names = []
    for number, column in enumerate(data if several else [data], 1):
        own = getattr(column, "name", None)
        name = str(own) if own else word if len(data if several else [data]) == 1 else f"{word}{number}"
        if name in frame:
            raise InputError(f"two columns are called {name!r}; rename one of them")
        frame[name] = list(column) if isinstance(column, (list, tuple)) else column
        names.append(name)
    return names


def _columns(columns: object) -> list[str]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InputError(f"`by` must be a list of columns; give [{columns!r}]")
    return [str(column) for column in columns]


def _rules(rules: object, table: str) -> list[Any]:
    """Return the rules of a table as jobs write them."""
    if isinstance(rules, Mapping) and (
        table in rules or any(isinstance(r, (list, tuple, Rule)) for r in rules.values())
    ):
        if table not in rules:
            raise InputError(f"`rules` names no rules for the table {table!r}{did_you_mean(table, rules)}")
        rules = rules[table]
    listed = rules if isinstance(rules, Sequence) and not isinstance(rules, str) else [rules]
    for rule in listed:
        if not isinstance(rule, (Rule, Mapping)):
            raise InputError(f"a rule is an object such as cg.PPercent(10), or {{'p_percent': 10}}, not {rule!r}")
        if isinstance(rule, Rule):
            refuse_shares(rule)
    return [dump_rule(rule) if isinstance(rule, Rule) else rule for rule in listed]


def _dimensions(hierarchies: Mapping[str, object], held: dict[str, object]) -> dict[str, Any]:
    """Return the dimensions as jobs write them; what is in memory is held under a name of its own."""
    found: dict[str, Any] = {}
    for name, given in hierarchies.items():
        if isinstance(given, Hierarchy):
            held[f"the hierarchy of {name}"] = given
            found[name] = {"parents": f"the hierarchy of {name}", "total": given.total}
        elif is_path(given):
            found[name] = {_way(str(given)): str(given)}
        elif isinstance(given, (list, tuple)) and all(isinstance(column, str) for column in given):
            found[name] = {"levels": list(given)}
        elif isinstance(given, Mapping):
            found[name] = dict(given)
        else:
            raise InputError(
                f"the hierarchy of {name!r} must be a Hierarchy, a path, or a list of columns that nest, coarsest first"
            )
    return found


def _way(path: str) -> str:
    """Return how a job names a file of a hierarchy."""
    if path.lower().endswith(".hrc"):
        return "hrc"
    return "parents" if {"code", "parent"} <= {name.strip() for name in read_list(path).header} else "levels"


def _has_pandas() -> bool:
    from importlib.util import find_spec

    return find_spec("pandas") is not None
