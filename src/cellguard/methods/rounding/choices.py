"""Rounding as objects for Python: `protect(..., method=RandomRounding(5))`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from cellguard.job.chosen import Chosen


@dataclass(frozen=True)
class RandomRounding(Chosen):
    """Round each value up or down by chance, so that no value is biased. Tables then need not add up.

    Parameters
    ----------
    base
        Published values are multiples of it.
    suppress_below
        Cells that are not 0 but nearer to it than this are suppressed.
    keep
        Cells that are published as they are.
    if_unsafe
        What to do if unsafe cells stay too well known: ``"refuse"``, ``"suppress"`` or ``"coarser"``.
    seed
        The seed of chance; by default a secret one.

    References
    ----------
    Nargundkar, M. and Saveland, W. (1972). Random-rounding to prevent statistical disclosures. *Proceedings of the
    Social Statistics Section, American Statistical Association*, 382-385.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 13 + ["S"] * 22 + ["W"] * 4}
    >>> made = cg.protect(people, by=["region"], rules=cg.MinFrequency(8), method=RandomRounding(5, seed=2))
    >>> made.verdict.kind, [int(text) % 5 for text in made.release["table"].value]
    (<Kind.SAFE: 'safe'>, [0, 0, 0, 0])
    """

    base: float = 5
    suppress_below: float | None = None
    keep: Sequence[str] = ()
    if_unsafe: str = "refuse"
    seed: int | None = None
    method: ClassVar[str] = "round"
    said: ClassVar[Mapping[str, Any]] = {"kind": "random"}

    def options(self) -> dict[str, Any]:
        """Return what a job's table says under `protect`."""
        return super().options() | {"keep": list(self.keep)}


@dataclass(frozen=True)
class ConventionalRounding(RandomRounding):
    """Round each value to the nearest multiple of the base, halves up.

    What goes up follows from the value, so each published value leaves half as much open as with `RandomRounding`.

    Parameters
    ----------
    base
        Published values are multiples of it.
    suppress_below
        Cells that are not 0 but nearer to it than this are suppressed.
    keep
        Cells that are published as they are.
    if_unsafe
        What to do if unsafe cells stay too well known: ``"refuse"``, ``"suppress"`` or ``"coarser"``.
    seed
        Not looked at: nothing is drawn.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 13 + ["S"] * 22 + ["W"] * 4}
    >>> made = cg.protect(people, by=["region"], rules=cg.MinFrequency(8), method=ConventionalRounding(10))
    >>> made.release["table"].value
    ['40', '10', '20', '0']
    """

    said: ClassVar[Mapping[str, Any]] = {"kind": "conventional"}


@dataclass(frozen=True)
class ControlledRounding(RandomRounding):
    """Round each value to a multiple next to it, chosen by chance so that all published sums hold.

    Parameters
    ----------
    base
        Published values are multiples of it.
    suppress_below
        Cells that are not 0 but nearer to it than this are suppressed.
    keep
        Cells that are published as they are; they must be multiples of the base, or add up with others that are kept.
    if_unsafe
        What to do if unsafe cells stay too well known: ``"refuse"``, ``"suppress"`` or ``"coarser"``.
    seed
        The seed of chance; by default a secret one.
    steps
        How many multiples beyond the next ones a value may go; with 0 the rounding is zero-restricted.
    search
        ``"best"`` is the rounding nearest to what chance prefers, ``"first"`` the first that adds up.

    References
    ----------
    Cox, L. H. (1987). A constructive procedure for unbiased controlled rounding. *Journal of the American Statistical
    Association* 82(398), 520-524.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 13 + ["S"] * 22 + ["W"] * 4}
    >>> made = cg.protect(people, by=["region"], rules=cg.MinFrequency(8), method=ControlledRounding(5))
    >>> total, *parts = map(int, made.release["table"].value)
    >>> total == sum(parts), total in (35, 40)
    (True, True)
    """

    steps: int = 0
    search: str = "best"
    said: ClassVar[Mapping[str, Any]] = {"kind": "controlled"}


@dataclass(frozen=True)
class SmallCountRounding(Chosen):
    """Round only inner counts below the base, to 0 or the base; every other cell is summed up from inner cells.

    Tables add up, and sums stay near the true ones. The tables must be frequency tables, and one must span all
    dimensions.

    Parameters
    ----------
    base
        Inner counts below it are rounded.
    if_unsafe
        What to do if unsafe cells stay too well known: ``"refuse"`` or ``"coarser"``.
    seed
        The seed of chance; by default a secret one.

    References
    ----------
    Langsrud, Ø. and Heldal, J. (2018). An algorithm for small count rounding of tabular data. *Privacy in Statistical
    Databases*, Valencia.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 13 + ["S"] * 22 + ["W"] * 4 + ["E"] * 1}
    >>> made = cg.protect(people, by=["region"], rules=cg.MinFrequency(5), method=SmallCountRounding(5))
    >>> sorted(map(int, made.release["table"].value))  # which of the two small ones becomes 5 is drawn
    [0, 5, 13, 22, 40]
    """

    base: float = 5
    if_unsafe: str = "refuse"
    seed: int | None = None
    method: ClassVar[str] = "round"
    said: ClassVar[Mapping[str, Any]] = {"kind": "small_counts"}
