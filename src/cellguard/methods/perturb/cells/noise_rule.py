"""`NoiseRule`: how close a coalition may come to the largest contributor of a perturbed cell."""

from __future__ import annotations

from dataclasses import dataclass

from cellguard.errors import InputError
from cellguard.rules.conversions import p_from_k
from cellguard.rules.linear import Dominance
from cellguard.rules.parameters import check_whole, percent


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

    @property
    def dominance(self) -> Dominance:
        """The (n, k) dominance rule with the same n and k."""
        return Dominance(self.n, self.k)


def p_with_prior(k: float, q: float) -> float:
    """Return the smallest p for which cells safe under dominance with ``k`` are safe with prior knowledge ``q`` (4.4).

    >>> round(p_with_prior(70, 100), 4)
    42.8571
    """
    return q / 100 * p_from_k(k)


def q_halfway(p: float) -> float:
    """Return the suggested q, halfway between p and 100 percent.

    >>> round(q_halfway(p_from_k(70)), 4)
    71.4286
    """
    return p + (100 - p) / 2


def matched_p_and_q(k: float) -> tuple[float, float]:
    """Return the p and q that satisfy both `p_with_prior` and `q_halfway`: p = a / (2 - a) with a = 1/k - 1.

    >>> [round(x, 4) for x in matched_p_and_q(70)]
    [27.2727, 63.6364]
    """
    a = p_from_k(k) / 100
    if not a < 1:
        raise InputError(f"k must be above 50 percent for p to be below q, not {percent(k)}")
    p = 100 * a / (2 - a)
    return p, q_halfway(p)
