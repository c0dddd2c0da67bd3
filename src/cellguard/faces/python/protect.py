"""`protect`: from a frame to a protected table in one call, by the same pipeline as a job."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.formula_tables import from_formula
from cellguard.faces.python.frame_sources import resolved
from cellguard.faces.python.habits import method_cure, refuse_arguments
from cellguard.faces.python.kinds import is_path, kind_of, to_arrow
from cellguard.faces.python.python_words import in_python
from cellguard.faces.python.result import ProtectedFrame, Shape
from cellguard.faces.python.run_options import apart
from cellguard.faces.python.watching import watched
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.job.chosen import Chosen
from cellguard.job.jobfile import Job
from cellguard.job.registry import method_names, sections
from cellguard.job.rulespec import dump_rule, refuse_shares
from cellguard.job.specs import Spec
from cellguard.pipeline import run
from cellguard.reading.csvfile import read_list
from cellguard.rules.catalogue import rules as known_rules
from cellguard.rules.rule import Rule
from cellguard.run_context import Listener, Run

_FRAME = "the frame"
Rules = Rule | Mapping[str, Any] | Sequence[Rule | Mapping[str, Any]]


def protect(
    data: object,
    by: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    value: str | None = None,
    *,
    rules: Rules | Mapping[str, Rules] | None = None,
    tables: str | None = None,
    freq: str | None = None,
    hierarchies: Mapping[str, object] | None = None,
    weight: str | None = None,
    respondent: str | None = None,
    holding: str | None = None,
    attack: Mapping[str, object] | None = None,
    method: str | Mapping[str, object] | Chosen | Spec = "suppress",
    missing: str | Mapping[str, str] | None = None,
    cost: str | Mapping[str, Any] = "value",
    name: str = "table",
    options: Mapping[str, Any] | None = None,
    within: Run = Run(),  # noqa: B008
    progress: bool | Listener = False,
    **more: object,
) -> ProtectedFrame:
    """Make a table from records or inner cells, protect it, and prove that what is published is safe.

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
    freq
        The column of how many respondents each row stands for. Rows are then inner cells, one per combination of
        codes, and no respondents of their own; totals are added.
    hierarchies
        For dimensions: a `Hierarchy`, the path of a CSV or ``.hrc`` file, or a list of columns that nest, coarsest
        first, as ``{"activity": ["A10", "A21", "A88"]}``.
    weight, respondent, holding
        The columns of the survey weight, of the respondent, and of the group that the respondent belongs to.
    attack
        What an attacker knows beforehand: ``lower`` and ``upper`` bounds of every cell (``-math.inf`` for values that
        may be negative), or ``percent``; whether ``insiders`` attack; how many form a ``coalition``.
    method
        ``"suppress"``, ``"perturb"`` or another method of a job; as a mapping with its settings, as
        ``{"perturb": {"mu": 0.1}}``, and what a run is asked for, as ``{"perturb": {"multipliers": first}}`` with an
        earlier outcome, its file or a frame of it; or an object such as ``cg.RandomRounding(5)`` or
        ``cg.CellKey(deviation=5)``.
    missing
        What to do with missing values: ``"error"`` (default) or ``"drop"``; or, by kind, as
        ``{"value": "zero", "code": "category"}``.
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
    **more
        Nothing: what other packages call an argument is refused with what it is called here.

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
    >>> protect(firms, by=["region"], value="turnover", rules={"p_percent": 10}).why("N")[-2]
    'N is primary: p_percent 10.'
    """
    refuse_arguments("protect", more, inspect.signature(protect).parameters)
    if rules is None:
        raise InputError(
            "say what is sensitive: rules=cg.MinFrequency(3) for counts, rules=[cg.MinFrequency(3), cg.PPercent(10)] "
            "for sums; `cellguard rules` lists them all"
        )
    if not isinstance(attack or {}, Mapping):
        raise InputError(f"`attack` must be a mapping, as {{'lower': 0}} or {{'insiders': False}}, not {attack!r}")
    if not isinstance(value, str | None):
        raise InputError(
            f"`value` must be the name of one column, as value='turnover', not {type(value).__name__}; for several "
            "columns call cg.pivot_table, or protect them in one job"
        )
    kind = ("pandas" if _has_pandas() else "pyarrow") if is_path(data) else kind_of(data)
    data = resolved(data)
    drawn = from_formula(data, tables, by, value, hierarchies or {}, name, freq)
    named, settings, asked = _method(method)
    how: dict[str, Any] = {"value": drawn.value or "count"}
    chosen = method.options() if isinstance(method, Chosen) else {}
    how["protect"] = {"method": named, **({"cost": cost} if named == "suppress" else chosen)}
    listed = [_with(one, drawn.options(options or {}, one["name"])) for one in _tables(drawn.by, rules, how)]
    if freq is not None:
        roles = {"weight": weight, "respondent": respondent, "holding": holding, "missing": missing}
        _refuse_roles_of_cells({word: said for word, said in roles.items() if said is not None})
        for table in listed:
            table["cells"] = {"count": freq, "totals": "compute", **drawn.source(table["name"])}
    call = Call(
        data,
        listed,
        hierarchies=drawn.hierarchies,
        roles={"weight": weight, "respondent": respondent, "holding": holding},
        missing=missing,
        attack=attack or {},
        settings=settings,
        held=drawn.cells,
        asked=asked,
    )
    return call.run(watched(within, progress), kind)


def _with(table: dict[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with further keys; those of `protect` join what the call says of it."""
    return {**table, **options, "protect": {**table["protect"], **options.get("protect", {})}}


@dataclass(frozen=True, eq=False)
class Call:
    """What a call asks for: data, tables as jobs write them, and all else that a job says.

    ``held`` are things in memory that the job names, ``more`` further keys of the job, ``asked`` what the method is
    asked for this run only.
    """

    data: object
    tables: Sequence[Mapping[str, Any]]
    hierarchies: Mapping[str, object] = field(default_factory=dict)
    roles: Mapping[str, str | None] = field(default_factory=dict)
    missing: str | Mapping[str, str] | None = None
    attack: Mapping[str, object] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    held: Mapping[str, object] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)

    def job(self) -> Job:
        """Return the job of the call."""
        held: dict[str, object] = dict(self.held)
        if not is_path(self.data):
            held[_FRAME] = to_arrow(self.data)
        source = str(self.data) if is_path(self.data) else _FRAME
        tables = [dict(table) for table in self.tables]
        for table in tables:
            if "cells" in table:
                table["cells"] = {"source": source, **table["cells"]}
        spec: dict[str, Any] = {"version": 1, "dimensions": _dimensions(self.hierarchies, held), "tables": tables}
        if any("cells" not in table for table in tables):
            spec["microdata"] = {"source": source} | {r: c for r, c in self.roles.items() if c}
            if self.missing is not None:
                spec["microdata"]["missing"] = _missing(self.missing)
        if self.attack:
            spec["attack"] = dict(self.attack)
        return Job.parse({**spec, **self.settings, **self.more}, source="the call", held=held)

    def run(self, within: Run, kind: str, shape: Shape = Shape()) -> ProtectedFrame:  # noqa: B008
        """Run the job of the call; errors speak of Python's arguments."""
        with in_python():
            outcome = run(self.job(), within=within, **self.asked)
        return ProtectedFrame(outcome.method, outcome.protected, outcome.seconds, outcome.made, kind, shape)


def _method(said: str | Mapping[str, object] | Chosen | Spec) -> tuple[str, dict[str, object], dict[str, Any]]:
    """Return the name of a method, its settings as a job has them, and what it is asked for this run."""
    settings: object = None
    if isinstance(said, Chosen):
        name = said.method
    elif isinstance(said, Spec):
        kind = type(said)
        name = next((name for name, settings in sections().items() if issubclass(kind, settings)), kind.__name__)
        settings = said.model_dump(exclude_unset=True)
    elif isinstance(said, Mapping):
        if len(said) != 1:
            raise InputError("`method` names one method with its settings, as method={'perturb': {'mu': 0.1}}")
        ((name, settings),) = said.items()
    else:
        name = said
    if name not in method_names():
        raise InputError(f"no method {name!r}{method_cure(str(name), method_names())}")
    if not isinstance(settings, Mapping):
        return name, {} if settings is None else {name: settings}, {}
    settings, asked = apart(name, dict(settings))
    return name, {name: settings} if settings or not asked else {}, asked


def _missing(said: str | Mapping[str, str]) -> dict[str, str]:
    if isinstance(said, Mapping):
        return dict(said)
    if said not in {"error", "drop"}:
        raise InputError(
            "missing must be 'error', 'drop', or a mapping such as {'value': 'zero', 'code': 'category'}, "
            f"not {said!r}"
        )
    return {"value": said, "code": said}


def _refuse_roles_of_cells(said: Mapping[str, object]) -> None:
    if said:
        raise InputError(
            f"with `freq` each row is a cell of several respondents, so `{min(said)}` has no meaning; leave it out, or "
            "leave out `freq` if each row is one respondent"
        )


def _tables(tables: Mapping[str, object], rules: object, how: Mapping[str, object]) -> list[dict[str, Any]]:
    return [{"name": name, "by": _columns(by), "rules": job_rules(rules, name), **how} for name, by in tables.items()]


def _columns(columns: object) -> list[str]:
    if isinstance(columns, str) or not isinstance(columns, Sequence):
        raise InputError(f"`by` must be a list of columns; give [{columns!r}]")
    return [str(column) for column in columns]


def job_rules(rules: object, table: str) -> list[Any]:
    """Return the rules of a table as jobs write them."""
    if isinstance(rules, Mapping) and len(rules) == 1 and table not in rules:
        ((name, said),) = rules.items()
        if name in known_rules() and isinstance(said, list | tuple):
            raise InputError(
                f"the rule {name!r} takes one number, or its parameters by name, as {{'min_frequency': 3}} or "
                f"{{'dominance': {{'n': 2, 'k': 85}}}}, not {said!r}"
            )
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
            with in_python():
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
