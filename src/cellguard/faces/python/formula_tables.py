"""From a formula to the tables of a job: as few as show its cells and no others, tied by their dimensions.

Columns that nest, as municipality in county, are levels of one dimension. So each term is a point: a level of each
dimension, 0 for the total. A table of a job shows a box of such points, levels times levels (`publish`), and the
formula is covered with boxes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

from cellguard.errors import InputError, did_you_mean
from cellguard.faces.python.formula import Formula, Term, parse
from cellguard.faces.python.formula_cells import summed
from cellguard.faces.python.kinds import is_path, to_arrow
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.microdata.nesting import nested_hierarchy
from cellguard.microdata.opened import Opened
from cellguard.microdata.sources import open_records

Point = tuple[int, ...]
Box = list[list[int]]
_SAFE = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(frozen=True)
class FormulaTables:
    """What a formula asks for, in the words of a job: the value, the dimensions of each table, what each shows."""

    value: str | None
    by: Mapping[str, Any]
    hierarchies: Mapping[str, object]
    publish: Mapping[str, dict[str, list[int]]] = field(default_factory=dict)
    cells: Mapping[str, object] = field(default_factory=dict)

    def source(self, table: str) -> dict[str, str]:
        """Return where the cells of a table are, if the formula has summed them."""
        return {"source": table} if table in self.cells else {}

    def options(self, given: Mapping[str, Any], table: str) -> dict[str, Any]:
        """Return further keys of a table: those given for all tables, and which levels the formula shows."""
        if table not in self.publish:
            return dict(given)
        if "publish" in given:
            raise InputError("a formula says itself what is shown; leave `publish` out of `options`")
        return {**given, "publish": self.publish[table]}


def from_formula(
    data: object,
    formula: str | None,
    by: Any,  # noqa: ANN401
    value: str | None,
    hierarchies: Mapping[str, object],
    name: str,
    freq: str | None = None,
) -> FormulaTables:
    """Return the tables of a call: of its formula, or else those that ``by`` names.

    With ``freq`` rows are inner cells, which are summed for each table of the formula.
    """
    if formula is None:
        if by is None:
            raise InputError("say which tables: by=['region', 'age'], or tables='~ region * age'")
        if isinstance(by, str) and "~" in by:
            raise InputError(f"a formula goes into `tables`: tables={by!r}")
        return FormulaTables(value, by if isinstance(by, Mapping) else {name: by}, hierarchies)
    if by is not None:
        raise InputError("give one of `by` and `tables`: a formula names the columns itself")
    opened = open_records(data if is_path(data) else to_arrow(data), name="the frame")
    drawn = tables_of(formula, opened, hierarchies, value=value, name=name)
    return drawn if freq is None else _with_cells(drawn, opened, freq)


def _with_cells(drawn: FormulaTables, opened: Opened, freq: str) -> FormulaTables:
    """Return the tables with their cells, and columns that nest as hierarchies, which cells need."""
    trees = {
        name: nested_hierarchy(opened, given) if isinstance(given, (list, tuple)) else given
        for name, given in drawn.hierarchies.items()
    }
    numbers = list(dict.fromkeys([freq, *([drawn.value] if drawn.value else [])]))
    cells = {table: summed(opened, by, numbers) for table, by in drawn.by.items()}
    return replace(drawn, hierarchies=trees, cells=cells)


def tables_of(
    text: str, opened: Opened, hierarchies: Mapping[str, object], *, value: str | None = None, name: str = "table"
) -> FormulaTables:
    """Return the tables of a formula over some records.

    >>> rows = {"region": ["N", "N", "S"], "town": ["n1", "n2", "s1"], "age": ["old", "young", "old"]}
    >>> tables = tables_of("~ (region + town) * age", open_records(rows), {})
    >>> tables.by, tables.hierarchies
    ({'table': ['town', 'age']}, {'town': ['region', 'town']})
    """
    formula = parse(text)
    if formula.response and value and formula.response != value:
        raise InputError(f"the formula sums {formula.response!r} and `value` says {value!r}; give one of them")
    response = None if formula.response == "count" and "count" not in opened.columns else formula.response or value
    _check_columns(formula, opened, hierarchies, response)
    chains = _chains(formula, opened, hierarchies)
    depths = [_depth(chain, hierarchies) for chain in chains]
    dimensions = [chain[-1] for chain in chains]
    points = {p for term in formula.terms for p in _points(term, chains, depths)}
    boxes = _boxes(points, depths)
    by: dict[str, list[str]] = {}
    publish: dict[str, dict[str, list[int]]] = {}
    nested: dict[str, object] = {}
    for i, chain in enumerate(chains):
        if len(chain) > 1:
            _refuse_ragged(opened, chain, whole=all(_is_whole(box[i], depths[i]) for box in boxes))
            nested[chain[-1]] = list(chain)
    for box in boxes:
        across = [i for i, levels in enumerate(box) if levels != [0]] or [0]
        label = name if len(boxes) == 1 else _label(chains, box, across, by)
        by[label] = [dimensions[i] for i in across]
        shown = {dimensions[i]: box[i] for i in across if len(box[i]) <= depths[i]}
        if shown:
            publish[label] = shown
    return FormulaTables(response, by, {**hierarchies, **nested}, publish)


def _label(chains: Sequence[Sequence[str]], box: Box, across: list[int], taken: Mapping[str, object]) -> str:
    """Name a table after the finest columns that it shows."""
    finest = [chains[i][min(max(box[i]), len(chains[i])) - 1] for i in across if box[i] != [0]]
    label = "_".join(_SAFE.sub("_", column) for column in finest) or "total"
    return label if label not in taken else f"{label}_{len(taken) + 1}"


def _check_columns(formula: Formula, opened: Opened, hierarchies: Mapping[str, object], value: str | None) -> None:
    for column in formula.columns:
        if column in hierarchies:
            continue
        if column not in opened.columns:
            raise InputError(
                f"the formula names {column!r}, which is no column of {opened.name}"
                f"{did_you_mean(column, [*opened.columns, *hierarchies])}"
            )
    if value in formula.columns:
        raise InputError(f"the formula has {value!r} on both sides; what is summed cannot span the tables too")


def _chains(formula: Formula, opened: Opened, hierarchies: Mapping[str, object]) -> list[tuple[str, ...]]:
    """Return the columns as dimensions: those that nest as the levels of one, coarsest first."""
    own = [column for column in formula.columns if column not in hierarchies]
    pairs = [(a, b) for a in own for b in own if a != b and _may_nest(formula.terms, a, b)]
    above: dict[str, list[str]] = {b: [] for b in own}
    for coarse, fine in pairs:
        if _settles(opened, fine, coarse) and not (coarse in above and fine in above[coarse]):
            above[fine].append(coarse)
    _refuse_given(formula, opened, hierarchies, own)
    inner = {coarse for found in above.values() for coarse in found}
    chains = []
    for column in formula.columns:
        if column in inner:
            continue
        upper = sorted(above.get(column, []), key=lambda one: len(above[one]))
        _refuse_branches(column, upper, above)
        chains.append((*upper, column))
    taken: dict[str, str] = {}
    for chain in chains:
        for column in chain[:-1]:
            if column in taken:
                raise InputError(
                    f"the formula has {chain[-1]!r} and {taken[column]!r}, both of which nest in {column!r} but not in "
                    f"each other; leave {column!r} out, or write a job in which one is an `also` of the other"
                )
            taken[column] = chain[-1]
    place = {column: i for i, column in enumerate(formula.columns)}
    return sorted(chains, key=lambda chain: min(place[column] for column in chain))


def _refuse_given(formula: Formula, opened: Opened, hierarchies: Mapping[str, object], own: Sequence[str]) -> None:
    """Refuse columns beside a dimension whose hierarchy is given and that settles them."""
    for name in (column for column in formula.columns if column in hierarchies):
        given = hierarchies[name]
        levels = list(given) if isinstance(given, (list, tuple)) else [name]
        for column in own:
            nests = levels[-1] in opened.columns and _settles(opened, levels[-1], column)
            if column in levels or (nests and _may_nest(formula.terms, column, name)):
                raise InputError(
                    f"the formula has {name!r}, whose hierarchy is given, and {column!r}, which is a level of it; "
                    f"leave {column!r} out of the formula, or {name!r} out of `hierarchies`"
                )


def _refuse_branches(column: str, upper: Sequence[str], above: Mapping[str, list[str]]) -> None:
    for coarse, fine in pairwise(upper):
        if coarse not in above[fine]:
            raise InputError(
                f"{column!r} nests in both {coarse!r} and {fine!r}, which do not nest in each other; leave one out of "
                "the formula, or write a job with a dimension that has the other as an `also`"
            )


def _may_nest(terms: Sequence[Term], coarse: str, fine: str) -> bool:
    """Tell whether a formula does not itself cross two columns: only a:b/… or either without the other may nest."""
    with_fine = [term for term in terms if fine in term]
    both = [term for term in with_fine if coarse in term]
    return not both or len(both) == len(with_fine)


def _settles(opened: Opened, fine: str, coarse: str) -> bool:
    """Tell whether every code of one column comes with one code of another, and there are several of those."""
    text = opened.engine.sql.text
    few, many = (f"coalesce({text(opened.column(name))}, '')" for name in (coarse, fine))
    question = f"(SELECT {few} AS a, {many} AS b FROM {opened.scan} GROUP BY 1, 2) AS pairs"  # noqa: S608
    pairs, above, below = opened.rows(f"SELECT count(*), count(DISTINCT a), count(DISTINCT b) FROM {question}")[0]  # noqa: S608
    return bool(pairs == below and above > 1)


def _refuse_ragged(opened: Opened, chain: Sequence[str], *, whole: bool) -> None:
    """Refuse codes that stand for themselves one level deeper, if tables show some levels only: they are one cell."""
    if whole:
        return
    text = opened.engine.sql.text
    for coarse, fine in pairwise(chain):
        a, b = (f"coalesce({text(opened.column(name))}, '')" for name in (coarse, fine))
        if opened.rows(f"SELECT count(*) FROM {opened.scan} WHERE {a} = {b}")[0][0]:  # noqa: S608
            raise InputError(
                f"{fine!r} nests in {coarse!r}, but some of its codes are those of {coarse!r} again, so that the "
                "levels cannot be shown one without the other; cross both with the same columns, or name the codes of "
                f"{fine!r} anew"
            )


def _depth(chain: Sequence[str], hierarchies: Mapping[str, object]) -> int:
    """Return how many levels a dimension has below its total."""
    given = hierarchies.get(chain[-1])
    if given is None:
        return len(chain)
    if isinstance(given, Hierarchy):
        return int(given.level.max())
    if isinstance(given, (list, tuple)):
        return len(given)
    raise InputError(
        f"in a formula, the hierarchy of {chain[-1]!r} must be a Hierarchy (cg.Hierarchy.read_hrc reads a file) or a "
        "list of columns that nest, coarsest first"
    )


def _points(term: Term, chains: Sequence[tuple[str, ...]], depths: Sequence[int]) -> list[Point]:
    """Return a term as levels: its finest column of each dimension, or all levels of a hierarchy that is given."""
    ranges = []
    for chain, depth in zip(chains, depths, strict=True):
        named = [level for level, column in enumerate(chain, 1) if column in term]
        ranges.append([0] if not named else [max(named)] if len(chain) == depth else range(1, depth + 1))
    return list(product(*ranges))


def _boxes(points: set[Point], depths: Sequence[int]) -> list[Box]:
    """Cover points with boxes of points: from the deepest one that is open, as far as each dimension goes."""
    open_points, boxes = set(points), []
    while open_points:
        start = max(open_points, key=lambda p: (sum(level > 0 for level in p), sum(p), p))
        box = [[level] for level in start]
        for i, depth in enumerate(depths):
            for level in range(depth, -1, -1):
                grown = [*box[:i], sorted({*box[i], level}), *box[i + 1 :]]
                if points.issuperset(product(*grown)):
                    box = grown
        boxes.append(box)
        open_points.difference_update(product(*box))
    return boxes


def _is_whole(levels: Sequence[int], depth: int) -> bool:
    """Tell whether a box has all levels of a dimension below the total, or none."""
    return len({*levels} - {0}) in (0, depth)
