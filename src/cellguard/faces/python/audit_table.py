"""`audit_table`: what an attacker can conclude of a table that another tool protected, from a frame in one call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.kinds import as_kind, is_path, kind_of, to_arrow
from cellguard.faces.python.python_words import in_python, python_words
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.inputs.third_party_tables import ThirdParty
from cellguard.pipeline import audit_third_party
from cellguard.run_context import Run

_TABLE = "the table"
_GOOD = {"safe", "not exactly disclosed"}


@dataclass(frozen=True, eq=False)
class AuditedTable:
    """What an audit of another tool's table found. Confidential where true values were given.

    Parameters
    ----------
    summary
        Verdict, headline, counts, failing cells and intervals, as plain data.
    kind
        The library of the frames that it gives.
    """

    summary: Mapping[str, Any]
    kind: str = field(default="pyarrow", repr=False)

    def __repr__(self) -> str:
        return f"<AuditedTable: {self.headline}>"

    @property
    def verdict(self) -> str:
        """``safe`` or ``not exactly disclosed``, ``unsafe``, or ``undecided``."""
        return str(self.summary["verdict"])

    @property
    def is_safe(self) -> bool:
        """Whether no fault was found."""
        return self.verdict in _GOOD

    @property
    def headline(self) -> str:
        """What was found, in words."""
        return python_words(str(self.summary["headline"])).replace("in --intervals", "in `intervals`")

    @property
    def failing(self) -> Any:  # noqa: ANN401
        """The cells that are disclosed or not protected, how closely, and how that follows: one row per cell."""
        rows = [{**one, "how": _how(one.get("how"))} for one in self.summary["failing"]]
        names = ("cell", "lower", "upper", "how")
        return as_kind(pa.table({name: [row.get(name) for row in rows] for name in names}), self.kind)

    @property
    def intervals(self) -> Any:  # noqa: ANN401
        """What an attacker can conclude of each suppressed cell: its least and largest value (missing: unbounded)."""
        rows = self.summary["intervals"]
        columns = {name: [row[name] for row in rows] for name in ("cell", "lower", "upper")}
        return as_kind(pa.table(columns), self.kind)


def audit_table(
    data: object,
    by: Sequence[str] | Mapping[str, Hierarchy | str | Path],
    value: str = "value",
    *,
    flag: str | None = None,
    suppressed: Sequence[str] = (),
    true: str | None = None,
    primary: Sequence[str] = (),
    percent: float = 10.0,
    count: bool = False,
    attack: Mapping[str, float] | None = None,
    total: str | Mapping[str, str] | None = None,
    within: Run = Run(),  # noqa: B008
) -> AuditedTable:
    """Attack a table that another tool protected: work out what follows of each suppressed cell.

    Parameters
    ----------
    data
        One row per cell, totals among them: a frame, a mapping of columns, or a path. Suppressed cells have a missing
        value, or a mark such as ``x``, or a ``flag``.
    by
        The dimension columns; as a mapping, each with its `Hierarchy`, or the path of a file of levels or ``.hrc``.
    value
        The column of published values.
    flag, suppressed
        The column of statuses, and which of them mean suppressed if these are not those of a known tool.
    true
        The column of true values: then protection is judged, by ``percent`` on both sides.
    primary
        The statuses of the cells that must be protected (default: all that are suppressed).
    percent
        How far the attacker must stay from a cell, in percent of its value.
    count
        Whether values are whole counts.
    attack
        ``lower`` and ``upper`` bounds of every cell.
    total
        What totals are called, if not ``Total``; by column if they differ.
    within
        Progress and a way to stop.

    Returns
    -------
    AuditedTable
        ``is_safe``, ``headline``, and the frames ``failing`` and ``intervals``.

    Raises
    ------
    InputError
        If no cell is suppressed, or columns or codes are wrong.

    Examples
    --------
    >>> table = {"region": ["Total", "N", "S", "W"], "value": [100, None, 50, 30]}
    >>> found = audit_table(table, by=["region"])
    >>> found.is_safe, found.failing.to_pylist()[0]["cell"], found.failing.to_pylist()[0]["lower"]
    (False, 'the table: N', 20.0)
    """
    if isinstance(by, str) or not isinstance(by, (Sequence, Mapping)):
        raise InputError(f"`by` must be a list of columns; give [{by!r}]")
    bounds = dict(attack or {})
    unknown = set(bounds) - {"lower", "upper"}
    if unknown:
        raise InputError(f"attack has no {min(unknown)!r} here{did_you_mean(min(unknown), ['lower', 'upper'])}")
    trees = {name: tree for name, tree in by.items() if isinstance(tree, Hierarchy)} if isinstance(by, Mapping) else {}
    held: dict[str, object] = {} if is_path(data) else {_TABLE: to_arrow(data)}
    given = ThirdParty(
        [Path(str(data))] if is_path(data) else [Path(_TABLE)],
        [_words(name, by, total) for name in by if name not in trees],
        value=value,
        flag=flag,
        suppressed=tuple(map(str, suppressed)),
        count=count,
        lower=bounds.get("lower", 0.0),
        upper=bounds.get("upper", float("inf")),
        true=true,
        primary=tuple(map(str, primary)),
        percent=percent,
        held=held,
        trees=trees,
    )
    with in_python():
        summary = audit_third_party(given, within=within)
    return AuditedTable(summary, "pyarrow" if is_path(data) else kind_of(data))


def _words(name: str, by: object, total: str | Mapping[str, str] | None) -> str:
    """Return what is said of a dimension: its column, where its hierarchy is, what its total is called."""
    words = [str(name)]
    if isinstance(by, Mapping):
        path = str(by[name])
        words.append(f"hrc={path}" if path.lower().endswith(".hrc") else f"levels={path}")
    called = total.get(name) if isinstance(total, Mapping) else total
    return ":".join([*words, f"total={called}"] if called else words)


def _how(said: object) -> str:
    return "; ".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said or "")
