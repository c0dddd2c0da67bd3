"""Adjustment as an object for Python: `protect(..., method=TabularAdjustment())`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cellguard.job.chosen import Chosen


@dataclass(frozen=True)
class TabularAdjustment(Chosen):
    """Move unsafe cells away from their true value, and all others as little as possible, so that all sums hold.

    Parameters
    ----------
    weights
        What a move of one unit costs: ``"one"``, ``"value"`` or ``"inverse"`` (1 / value).
    distance
        ``"l1"`` makes the sum of all moves least, ``"l2"`` that of their squares.
    keep
        Cells that are published as they are, or ``"totals"``.
    search
        ``"auto"`` chooses sides by an integer program where the set is small, ``"heuristic"`` never does.
    unproven
        ``"accept"`` releases the tables, although nothing is proven about attackers who know the method.

    References
    ----------
    Dandekar, R. A. and Cox, L. H. (2002). Synthetic tabular data: an alternative to complementary cell suppression.
    Manuscript, Energy Information Administration. Castro, J. (2012). Recent advances in optimization techniques for
    statistical tabular data protection. *European Journal of Operational Research* 216(2), 257-269.

    Examples
    --------
    >>> import cellguard as cg
    >>> firms = {"region": ["N"] * 2 + ["S"] * 9 + ["W"] * 9, "pay": [10] * 2 + [50] * 8 + [51] + [30] * 9}
    >>> made = cg.protect(firms, by=["region"], value="pay", rules=cg.MinFrequency(3),
    ...                   method=TabularAdjustment(keep=["Total"], unproven="accept"))
    >>> total, north, *rest = map(int, made.release["table"].value)
    >>> total, north, north + sum(rest)
    (741, 22, 741)
    """

    weights: str = "one"
    distance: str = "l1"
    keep: str | Sequence[str] = ()
    search: str = "auto"
    unproven: str = "refuse"
    method: ClassVar[str] = "adjust"
    said: ClassVar[Mapping[str, Any]] = {}

    def options(self) -> dict[str, Any]:
        """Return what a job's table says under `protect`."""
        return super().options() | {"keep": self.keep if isinstance(self.keep, str) else list(self.keep)}
