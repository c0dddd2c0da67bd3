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
    hide_below
        Cells that are not 0 but nearer to it than this are hidden.
    keep
        Cells that are published as they are.
    if_unsafe
        What to do if unsafe cells stay too well known: ``"refuse"``, ``"hide"`` or ``"coarser"``.
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
    hide_below: float | None = None
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
    """Round each value to the nearest multiple of the base, halves up; the parameters are those of `RandomRounding`.

    What is rounded up or down follows from the value, so an attacker knows half as much of each cell more than with
    `RandomRounding` to the same base.

    Examples
    --------
    >>> import cellguard as cg
    >>> people = {"region": ["N"] * 13 + ["S"] * 22 + ["W"] * 4}
    >>> made = cg.protect(people, by=["region"], rules=cg.MinFrequency(8), method=ConventionalRounding(10))
    >>> made.release["table"].value
    ['40', '10', '20', '0']
    """

    said: ClassVar[Mapping[str, Any]] = {"kind": "conventional"}
