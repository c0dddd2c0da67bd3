"""From residues modulo several primes to the fractions that they stand for, if these are short."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt


def fractions_of(residues: Sequence[Sequence[int]], primes: Sequence[int]) -> list[Fraction] | None:
    """Return the fractions that have the residues modulo the first primes, or None if one of them is too long.

    >>> half = [pow(2, -1, 101), pow(2, -1, 103)]
    >>> fractions_of([[half[0], 3], [half[1], 3]], (101, 103))
    [Fraction(1, 2), Fraction(3, 1)]
    """
    modulus, values = 1, [0] * len(residues[0])
    for residue, prime in zip(residues, primes, strict=False):
        step = pow(modulus, -1, prime)
        values = [v + modulus * ((int(r) - v) * step % prime) for v, r in zip(values, residue, strict=True)]
        modulus *= prime
    fractions = [short_fraction(value, modulus) for value in values]
    known = [fraction for fraction in fractions if fraction is not None]
    return known if len(known) == len(fractions) else None


def short_fraction(residue: int, modulus: int) -> Fraction | None:
    """Return the fraction with small numerator and denominator that has this residue (Wang 1981).

    >>> short_fraction(pow(2, -1, 101) * 3 % 101, 101)
    Fraction(3, 2)
    """
    most = isqrt(modulus // 2)
    above, below = (modulus, 0), (residue % modulus, 1)
    while below[0] > most:
        times = above[0] // below[0]
        above, below = below, (above[0] - times * below[0], above[1] - times * below[1])
    return Fraction(below[0], below[1]) if 0 < abs(below[1]) <= most else None
