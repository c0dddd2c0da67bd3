"""The tables of a folder of rounded ones as both of its halves have them, and which cells add up to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.hierarchies import Dimension
from cellguard.verifier.numbers import Bools, Int64, bools, grains
from cellguard.verifier.spec import HERE, TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_csv

COLUMNS = (
    "value",
    "published",
    "count",
    "status",
    "reasons",
    "need_lower",
    "need_upper",
    "need_sliding",
    "interval_lower",
    "interval_upper",
)
STATUSES = frozenset({"rounded", "protected", "kept", "suppressed", "unsafe", "unpublished"})
KINDS = ("conventional", "random", "controlled", "small_counts")


@dataclass(frozen=True, eq=False)
class RoundedTable:
    """A table with its true and published values in grains; ``said`` is what the seal says of it."""

    spec: TableSpec
    said: Mapping[str, Any]
    columns: Mapping[str, pa.Array]
    value: Int64
    published: Int64
    seen: Bools

    @property
    def grains(self) -> int:
        """How many decimals the grains have."""
        return int(self.said["grains"])

    @property
    def shown(self) -> Bools:
        """The rows that the release has."""
        return ~self.has("unpublished")

    @property
    def kept(self) -> Bools:
        """The rows whose true value is published on wish."""
        names = pc.binary_join_element_wise(*(self.codes(d) for d in self.spec.by), "/")
        return self.has("kept") | bools(pc.is_in(names, value_set=pa.array(list(self.said["keep"]), pa.string())))

    def has(self, status: str) -> Bools:
        """Return the rows with a status."""
        return bools(pc.equal(self.columns["status"], status))

    def codes(self, name: str) -> pa.Array:
        """Return the codes of a dimension."""
        return self.columns[f"by:{name}"]

    def scaled(self, key: str) -> int:
        """Return a number that the seal gives, 0 if it does not, in grains; rounded up."""
        amount = Decimal(str(self.said.get(key, 0))).scaleb(self.grains)
        return int(amount.to_integral_value(rounding=ROUND_CEILING))

    def numbers(self, name: str, blank: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return a column of numbers, some of which may be blank, in grains."""
        texts = self.columns[name].to_pylist()
        scale = 10**self.grains
        return np.array([blank if text == "" else float(Fraction(text) * scale) for text in texts], float)

    def refuse(self, wrong: Bools, why: str) -> None:
        """Refuse the first row that is wrong."""
        if wrong.any():
            raise Refused(f"{self.spec.internal} line {int(np.argmax(wrong)) + 2} {why}")

    def families(self, dimensions: Mapping[str, Dimension]) -> Iterator[tuple[Int64, Int64]]:
        """Yield for each dimension and grouping the row of each whole (-1: none), and for each row the whole it is a
        part of (-1: of none).
        """
        codes = [dimensions[name].encode(self.codes(name), self.spec.internal) for name in self.spec.by]
        sizes = [len(dimensions[name].codes) for name in self.spec.by]
        key = np.ravel_multi_index(codes, sizes).astype(np.int64)
        order = np.argsort(key)
        strides = np.cumprod([1, *sizes[:0:-1]])[::-1]
        for d, name in enumerate(self.spec.by):
            occurs = np.zeros(sizes[d], bool)
            occurs[codes[d]] = True
            for above in dimensions[name].uppers(occurs):
                parent = above[codes[d]]
                whole = np.where(parent >= 0, key + (parent - codes[d]) * strides[d], -1)
                wholes, family = np.unique(whole[whole >= 0], return_inverse=True)
                place = np.minimum(np.searchsorted(key[order], wholes), len(key) - 1)
                rows = np.where(key[order][place] == wholes, order[place], -1) if len(key) else wholes
                of = np.full(len(key), -1)
                of[whole >= 0] = family
                yield rows, of


def read_table(folder: Folder, said: Mapping[str, Any]) -> RoundedTable:
    """Read the internal file of a table that the seal names."""
    head = (said["name"], tuple(said["by"]), said["response"], said["population"], said["decimals"])
    spec = TableSpec(*head, count=False, zeros="", tolerance=Fraction(0), rules=(), where=HERE)
    if said["kind"] not in KINDS or said["grains"] < said["decimals"]:
        raise Refused(f"table {spec.name} is said to be rounded in a way that is not known")
    read = read_csv(folder, spec.internal, spec.headed(COLUMNS))
    columns = dict(zip([*(f"by:{d}" for d in spec.by), *COLUMNS], read, strict=True))
    seen = ~bools(pc.equal(columns["published"], ""))
    published = pc.if_else(pa.array(seen), columns["published"], "0")
    value, shown = (
        np.asarray(grains(column, said["grains"], f"{spec.internal}, {name},"))
        for name, column in (("value", columns["value"]), ("published", published))
    )
    for name in set(columns["status"].to_pylist()) - STATUSES:
        raise Refused(f"{spec.internal} has the unknown status {name!r}")
    return RoundedTable(spec, said, columns, value, shown, seen)


def conventional(value: Int64, base: int) -> Int64:
    """Return the nearest multiples of the base; halves go up.

    >>> conventional(np.array([2, 3, -3]), 5).tolist()
    [0, 5, -5]
    """
    return (2 * value + base) // (2 * base) * base
