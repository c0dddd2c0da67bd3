"""From the parameters of one rule to those of another that is as strict, in percent.

References: *Handbook on Statistical Disclosure Control* (Hundepool et al. 2012), chapter 4; Cuppen, *Source Data
Perturbation in Statistical Disclosure Control* (2000), theorem 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from cellguard.errors import InputError
from cellguard.rules.limits import p_from_k as p_from_k
from cellguard.rules.linear import Dominance, PPercent, PriorPosterior
from cellguard.rules.parameters import percent

Relaxable = TypeVar("Relaxable", Dominance, PPercent, PriorPosterior)


def k_from_p(p: float) -> float:
    """Return the k for which every cell safe under (2, k) dominance is safe under p percent.

    >>> k_from_p(25)
    80.0
    """
    return 100 * 100 / (100 + p)


def p_from_prior_posterior(p: float, q: float) -> float:
    """Return the p of the p percent rule that judges as prior-posterior (p, q) does.

    >>> p_from_prior_posterior(10, 50)
    20.0
    """
    return 100 * p / q


def estimate_from_dominance(rule: Dominance, q: float = 100) -> PPercent | PriorPosterior:
    """Return the rule under which every cell is safe that is safe under (n, k): nobody among n - 1 comes near.

    That is (p, n)-safety with p = 100 (100 - k) / k: n - 1 contributors together cannot estimate another one to within
    p percent. If they know the rest beforehand to within ``q`` percent, p is q/100 of that. For n = 1 nobody is there
    to estimate, and the rule is refused.

    >>> str(estimate_from_dominance(Dominance(3, 80)))
    'p_percent 25 with coalitions of 2'
    """
    if rule.n < 2:
        raise InputError("dominance (1, k) says nothing of what one contributor knows of another; give n of 2 or more")
    p = p_from_k(rule.k)
    if q == 100:
        return PPercent(p, coalition=rule.n - 1, inclusive=rule.inclusive)
    return PriorPosterior(q / 100 * p, q, coalition=rule.n - 1, inclusive=rule.inclusive)


def q_halfway(p: float) -> float:
    """Return the suggested q, halfway between p and 100 percent.

    >>> round(q_halfway(p_from_k(70)), 4)
    71.4286
    """
    return p + (100 - p) / 2


def matched_p_and_q(k: float) -> tuple[float, float]:
    """Return the p and q that satisfy both p = q a (4.4) and `q_halfway`: p = a / (2 - a), a = 1/k - 1.

    >>> [round(x, 4) for x in matched_p_and_q(70)]
    [27.2727, 63.6364]
    """
    a = p_from_k(k) / 100
    if not a < 1:
        raise InputError(f"k must be above 50 percent for p to be below q, not {percent(k)}")
    p = 100 * a / (2 - a)
    return p, q_halfway(p)


def relaxed(rule: Relaxable, factor: float) -> Relaxable:
    """Return a rule relaxed for contributions of which some are negative: p / f, and 100 - k over f.

    >>> str(relaxed(Dominance(1, 80), 2)), str(relaxed(PPercent(10), 4))
    ('dominance (1, 90)', 'p_percent 2.5')
    """
    if not factor >= 1:
        raise InputError(f"a rule is relaxed by a factor of 1 or more, not {factor:g}")
    if isinstance(rule, Dominance):
        return replace(rule, k=100 - (100 - rule.k) / factor)
    return replace(rule, p=rule.p / factor)
