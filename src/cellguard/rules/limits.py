"""What methods that change values must know of a rule: how close others may come, and how much the largest may make up.

Suppression asks a rule which cells are unsafe and how wide an interval must be. Perturbation asks for a `NoiseRule`, a
map for a `Ceiling`. A rule that gives none is refused there by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cellguard.errors import InputError
from cellguard.rules.parameters import check_whole, percent


def p_from_k(k: float) -> float:
    """Return the p of which `k_from_p` gives ``k``.

    >>> p_from_k(80)
    25.0
    """
    return 100 * (100 - k) / k


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """Unsafe if n - 1 contributors together can estimate the largest to within ``p`` percent (Cuppen 2000, 4.1).

    They know the others beforehand to within ``q`` percent. Where ``p`` is not given it is 100/k - 1 (theorem 4): every
    cell that is safe under (n, k) dominance is then safe under this rule.

    >>> round(NoiseRule(3, 70).accuracy, 6)
    0.428571
    """

    n: int = 3
    k: float = 70.0
    p: float | None = None
    q: float = 100.0

    def __post_init__(self) -> None:
        check_whole("perturbation rule", "n", self.n, 1)
        if not 0 < self.k < 100:
            raise InputError(f"perturbation rule: k must be above 0 and below 100 percent, not {percent(self.k)}")
        if not 0 < 100 * self.accuracy <= self.q <= 100:
            raise InputError(
                f"perturbation rule: needs 0 < p <= q <= 100, not p = {percent(100 * self.accuracy)} and "
                f"q = {percent(self.q)}; give p, or a larger k"
            )

    def __str__(self) -> str:
        return f"n = {self.n}, p = {percent(100 * self.accuracy)}, q = {percent(self.q)}"

    @property
    def accuracy(self) -> float:
        """p as a share."""
        return p_from_k(self.k) / 100 if self.p is None else self.p / 100

    @property
    def prior(self) -> float:
        """q as a share."""
        return self.q / 100


class Ceiling(NamedTuple):
    """A cell is safe if its ``n`` largest contributions are at most ``a`` times what is left after the ``m`` largest.

    ``near`` is how close, in percent of it, others may come to the largest, 0 if the rule does not speak of that.
    """

    n: int
    m: int
    a: float
    near: float = 0.0
