"""The stored facts of each table: totals, counts, largest contributions, marks and what was stated in advance."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.categories import Axes
from cellguard.verifier.numbers import Bools, Floats, Int64, bools, plain, texts
from cellguard.verifier.spec import TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_parquet

STATES = ("must_publish", "must_suppress", "waived", "unpublished", "secondary")
MUST_PUBLISH, MUST_SUPPRESS, WAIVED, UNPUBLISHED, SECONDARY = range(5)
RECORDS = ("base", "unwaived1", "requested", "contributors", "nonzero", "sizes", "entropy")
SIGNS, MIDDLE = ("positive", "negative"), ("median", "median_size", "median_squares")
SAID = ("state", "cost", "lower", "upper", "need_lower", "need_upper")


@dataclass(frozen=True)
class Facts:
    """The facts of one table's rows; NaN where a number is not given, state -1 where nothing was said.

    Facts that only tables made from records have are None or empty where the file lacks them: ``base`` (the total that
    contributions relate to, the published one if None), ``excess`` (what the largest contributors' published weights
    stand for beyond themselves), ``unwaived`` (the largest contribution without a waiver, NaN if all have waived) and
    ``requested`` (1 where the largest contributor asked for protection).
    ``contributors`` is how many contributions the basis is made of, the count if None, and ``nonzero`` how many
    respondents have more than 0. Where contributions may be negative, ``sizes`` is the sum that rules relate them to,
    ``signs`` are the sums of either sign, ``extremes`` the contributions farthest from 0, ``squares`` the sums of
    squares about the mean without the 0, 1, ... first of these, ``middle`` the median, that of sizes and the squares
    about the median, and ``entropy`` that of the shares of sizes.
    ``lower`` and ``upper`` are plain decimal text, since bounds are compared exactly, ``-inf`` and ``inf`` where a cell
    has none; ``marks`` hold 1, 0 or NaN. ``axes`` are the rows' codes, for rules that look at several rows.
    """

    frequency: bool
    total: Floats
    count: Floats
    tops: tuple[Floats, ...]
    marks: Mapping[str, Floats]
    state: Int64
    lower: pa.Array
    upper: pa.Array
    need_lower: Floats
    need_upper: Floats
    base: Floats | None = None
    excess: tuple[Floats, ...] = ()
    unwaived: Floats | None = None
    requested: Floats | None = None
    cost: Floats | None = None
    axes: Axes | None = None
    counted: Floats | None = None
    nonzero: Floats | None = None
    sizes: Floats | None = None
    signs: tuple[Floats, ...] = ()
    extremes: tuple[Floats, ...] = ()
    squares: tuple[Floats, ...] = ()
    middle: tuple[Floats, ...] = ()
    entropy: Floats | None = None

    @property
    def basis(self) -> Floats:
        """The total that contributions relate to."""
        if self.sizes is not None:
            return self.sizes
        return self.total if self.base is None else self.base

    @property
    def contributors(self) -> Floats:
        """How many contributions the basis is made of."""
        return self.count if self.counted is None else self.counted

    @property
    def gross(self) -> Floats:
        """The sum of the sizes of contributions, as far as it is known, at least the size of the total."""
        sizes = self.signs[0] - self.signs[1] if self.signs else 0.0 if self.sizes is None else self.sizes
        return np.maximum(np.abs(self.total), sizes)

    @property
    def said(self) -> tuple[Bools, ...]:
        """For which rows something was stated in advance: a state, a cost, a bound below and above, a protection level
        of either.
        """
        cost = np.zeros(self.total.size, dtype=bool) if self.cost is None else ~np.isnan(self.cost)
        bounds = (bools(pc.is_valid(bound)) for bound in (self.lower, self.upper))
        return self.state >= 0, cost, *bounds, ~np.isnan(self.need_lower), ~np.isnan(self.need_upper)

    @property
    def scale(self) -> Floats:
        """How many published units stand for one of the basis, at least 1."""
        ones = np.ones(self.total.size)
        return np.maximum(np.divide(self.total, self.basis, out=ones, where=self.basis > 0), 1.0)


def read_facts(folder: Folder, table: TableSpec, codes: list[pa.Array]) -> Facts:
    """Read the facts of a table; refuse rows that are not the internal file's, unknown columns and non-numbers."""
    stored_facts = read_parquet(folder, table.facts)
    names = stored_facts.schema.names
    tops = [n for n in names if re.fullmatch(r"top[1-9][0-9]*", n)]
    signed = _signed(names)
    marks = [n for n in names if n.startswith("mark:")]
    excess = [n for n in names if re.fullmatch(r"excess[1-9][0-9]*", n)]
    optional = [n for n in RECORDS if n in names]
    dimensions = [f"by:{d}" for d in table.by]
    known = {*dimensions, "total", "count", *tops, *excess, *optional, *chain(*signed.values()), *SAID}
    if set(names) - set(marks) != known:
        raise Refused(f"{table.facts} does not have exactly the columns that facts have")
    ranks = range(1, len(tops) + 1)
    if tops != [f"top{i}" for i in ranks] or (excess and excess != [f"excess{i}" for i in ranks]):
        raise Refused(f"{table.facts} does not have its largest contributions in order")
    _same_rows(stored_facts, table, codes)

    def numbers(name: str) -> Floats:
        return _numbers(stored_facts, name, table)

    facts = Facts(
        frequency=table.count,
        total=numbers("total"),
        count=numbers("count"),
        tops=tuple(numbers(name) for name in tops),
        marks={name.removeprefix("mark:"): _marks(stored_facts, name, table) for name in marks},
        state=_states(stored_facts, table),
        lower=_bound(stored_facts, "lower", -np.inf, table),
        upper=_bound(stored_facts, "upper", np.inf, table),
        need_lower=numbers("need_lower"),
        need_upper=numbers("need_upper"),
        base=numbers("base") if "base" in optional else None,
        excess=tuple(numbers(name) for name in excess),
        unwaived=numbers("unwaived1") if "unwaived1" in optional else None,
        requested=_marks(stored_facts, "requested", table) if "requested" in optional else None,
        cost=numbers("cost"),
        counted=numbers("contributors") if "contributors" in optional else None,
        sizes=numbers("sizes") if "sizes" in optional else None,
        nonzero=numbers("nonzero") if "nonzero" in optional else None,
        entropy=numbers("entropy") if "entropy" in optional else None,
        **{kind: tuple(numbers(name) for name in columns) for kind, columns in signed.items()},  # type: ignore[arg-type]
    )
    _check_signed(facts, table)
    if any(np.isnan(column).any() for column in (facts.basis, *facts.excess)):
        raise Refused(f"{table.facts} misses a base or an excess")
    if any((column < 0).any() for column in facts.excess):
        raise Refused(f"{table.facts} has a negative excess")
    if np.isnan(facts.total).any() or any((n < 0).any() for n in (facts.count, facts.need_lower, facts.need_upper)):
        raise Refused(f"{table.facts} misses a total, or has a negative count or need")
    return facts


def _signed(names: list[str]) -> dict[str, list[str]]:
    """Return the columns about contributions of either sign, by what they say; those that are numbered in order."""
    extremes = [f"extreme{i}" for i in range(1, len(names)) if f"extreme{i}" in names]
    squares = [f"squares{i}" for i in range(len(names)) if f"squares{i}" in names]
    if extremes != [f"extreme{i + 1}" for i in range(len(extremes))]:
        raise Refused("the facts do not have their extremes in order")
    if squares != [f"squares{i}" for i in range(len(squares))]:
        raise Refused("the facts do not have their squares in order")
    groups = {"signs": SIGNS, "middle": MIDDLE}
    whole = {kind: [*group] if set(group) & set(names) else [] for kind, group in groups.items()}
    return {"extremes": extremes, "squares": squares, **whole}


def _check_signed(facts: Facts, table: TableSpec) -> None:
    """Refuse facts about contributions of either sign that no contributions can have."""
    single = [column for column in (facts.counted, facts.nonzero, facts.sizes, facts.entropy) if column is not None]
    several = (*facts.signs, *facts.extremes, *facts.squares, *facts.middle)
    dust = 1e-9 * np.maximum(facts.gross, 1)
    odd = [
        any(np.isnan(column).any() for column in (*single, *several)),
        any((column < 0).any() for column in (*single, *facts.signs[:1], *facts.squares, *facts.middle[1:])),
        any((column > 0).any() for column in facts.signs[1:]),
        any((np.abs(b) > np.abs(a) + dust).any() for a, b in pairwise(facts.extremes)),
        bool(facts.signs) and facts.base is None and (np.abs(facts.total - sum(facts.signs)) > dust).any(),
        facts.counted is not None and (facts.counted < facts.count).any(),
        facts.nonzero is not None and (facts.nonzero > facts.count).any(),
    ]
    if any(odd):
        raise Refused(f"{table.facts} says of contributions of either sign what cannot be")


def _same_rows(stored_facts: pa.Table, table: TableSpec, codes: list[pa.Array]) -> None:
    if stored_facts.num_rows != len(codes[0]):
        raise Refused(f"{table.facts} has {stored_facts.num_rows} rows, but {table.internal} has {len(codes[0])}")
    for name, column in zip((f"by:{d}" for d in table.by), codes, strict=True):
        stored = stored_facts.column(name)
        if not _is_text(stored.type) or stored.null_count:
            raise Refused(f"{table.facts}: column {name} is not text without gaps")
        differs = ~bools(pc.equal(texts(stored), column))
        if differs.any():
            row = int(np.argmax(differs))
            raise Refused(f"{table.facts} row {row} is not that of {table.internal} line {row + 2}")


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(inner) or pa.types.is_large_string(inner))


def _numbers(stored_facts: pa.Table, name: str, table: TableSpec, also: float = 0.0) -> Floats:
    """Return a numeric column, NaN where it is null; refuse NaN and infinite numbers of its own, but for ``also``."""
    column = stored_facts.column(name)
    if pa.types.is_null(column.type):
        return np.full(len(column), np.nan)
    if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type)):
        raise Refused(f"{table.facts}: column {name} is not numeric")
    given = ~np.asarray(pc.is_null(column).to_numpy(), dtype=bool)
    values = np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    if not (np.isfinite(values[given]) | (values[given] == also)).all():
        raise Refused(f"{table.facts}: column {name} holds something that is not a finite number")
    return values


def _bound(stored_facts: pa.Table, name: str, none: float, table: TableSpec) -> pa.Array:
    _numbers(stored_facts, name, table, none)
    column = stored_facts.column(name)
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.string())
    return plain(column)


def _marks(stored_facts: pa.Table, name: str, table: TableSpec) -> Floats:
    column = stored_facts.column(name)
    if not pa.types.is_boolean(column.type):
        raise Refused(f"{table.facts}: column {name} is not yes or no")
    return np.asarray(pc.cast(pc.cast(column, pa.int8()), pa.float64()).to_numpy(), dtype=np.float64)


def _states(stored_facts: pa.Table, table: TableSpec) -> Int64:
    column = stored_facts.column("state")
    if pa.types.is_null(column.type):
        return np.full(len(column), -1, dtype=np.int64)
    if not _is_text(column.type):
        raise Refused(f"{table.facts}: column state is not text")
    words = texts(column)
    known = pc.index_in(words, value_set=pa.array(STATES, pa.string()))
    unknown: Bools = bools(pc.and_(pc.is_valid(words), pc.is_null(known)))
    if unknown.any():
        raise Refused(f"{table.facts} row {int(np.argmax(unknown))} has an unknown state")
    return np.asarray(pc.fill_null(known, -1).to_numpy(zero_copy_only=False), dtype=np.int64)
