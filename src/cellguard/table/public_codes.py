"""`PublicDimension`: the codes of a dimension that a release may show, with their tree, levels and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cellguard.arrays import BoolArray, IntArray
from cellguard.errors import InternalError

if TYPE_CHECKING:
    from cellguard.hierarchy.hierarchy import Dimension


@dataclass(frozen=True, eq=False)
class PublicDimension:
    """The codes that rows of a release have, and those above them, in the order of the hierarchy; no other code.

    ``parent`` holds the position of the code above each, -1 for the total; a code that only another grouping has hangs
    as it does there. ``level`` is the depth of each code, ``labels`` what people call it.

    >>> import cellguard as cg
    >>> region = cg.Hierarchy.from_levels([("North", "N1"), ("North", "N2"), ("South", "South")])
    >>> shown = PublicDimension.of(cg.Dimension("region", region), ["N1"])
    >>> shown.codes, shown.parent.tolist(), shown.level.tolist()
    (('Total', 'North', 'N1'), [-1, 0, 1], [0, 1, 2])
    """

    name: str
    codes: tuple[str, ...]
    parent: IntArray
    level: IntArray
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, dimension: Dimension, shown: Iterable[str]) -> PublicDimension:
        """Return what may be shown of a dimension of whose codes a release has these."""
        try:
            named = np.array([dimension.position[code] for code in shown], np.intp)
        except KeyError:
            raise InternalError(f"the release has a code that dimension {dimension.name!r} does not know") from None
        parent = first_parents(dimension)
        kept = np.flatnonzero(with_ancestors(parent, named))
        place = np.full(len(parent) + 1, -1, np.int32)  # the last entry is what -1 points to
        place[kept] = np.arange(len(kept))
        codes = tuple(dimension.codes[i] for i in kept)
        labels = dimension.labels
        return cls(
            dimension.name,
            codes,
            place[parent[kept]],
            dimension.level[kept],
            {code: labels[code] for code in codes if code in labels},
        )

    @cached_property
    def position(self) -> Mapping[str, int]:
        """The position of each code."""
        return {code: i for i, code in enumerate(self.codes)}


def first_parents(dimension: Dimension) -> IntArray:
    """Return the position of each code's parent in the first hierarchy that has the code; -1 for the total."""
    parent = dimension.parents[0].copy()
    for other in dimension.parents[1:]:
        parent = np.where(parent == -2, other, parent)
    return parent.astype(np.int32)


def with_ancestors(parent: IntArray, codes: npt.NDArray[np.integer]) -> BoolArray:
    """Return which codes are among some, given by their positions, or above one of them."""
    keep = np.zeros(len(parent), bool)
    new = np.unique(codes)
    while len(new):
        keep[new] = True
        above = np.unique(parent[new])
        new = above[(above >= 0) & ~keep[above]]
    return keep


def public_dimensions(
    rows: Sequence[tuple[Sequence[str], Sequence[npt.NDArray[np.object_]]]], dimensions: Mapping[str, Dimension]
) -> tuple[PublicDimension, ...]:
    """Return what may be shown of the dimensions of some tables, each given by their names and columns of codes."""
    shown: dict[str, set[str]] = {}
    for by, columns in rows:
        for name, column in zip(by, columns, strict=True):
            shown.setdefault(name, set()).update(column.tolist())
    return tuple(PublicDimension.of(dimensions[name], codes) for name, codes in shown.items())
