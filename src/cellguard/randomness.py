"""Seeds and reproducible streams of random numbers.

A stream depends on the seed and on what it is for, and on nothing else: not on threads, not on what was drawn before.
Numbers are made from the raw bits of a named generator, so that they stay the same when a library's samplers change.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np
import numpy.typing as npt

from cellguard.errors import InputError

SEED_LIMIT = 2**63


class Stream:
    """Uniform random numbers, seeded; what is drawn next depends on what was drawn before."""

    def __init__(self, seed: int, *purpose: str | int) -> None:
        words = hashlib.sha256("\x1f".join(map(str, purpose)).encode()).digest()
        spawn = tuple(int.from_bytes(words[i : i + 4], "little") for i in range(0, 32, 4))
        self._bits = np.random.PCG64(np.random.SeedSequence(checked_seed(seed), spawn_key=spawn))

    def uniform(self, n: int) -> npt.NDArray[np.float64]:
        """Return n numbers above 0 and below 1: the midpoints of 2^52 equal intervals."""
        raw = self._bits.random_raw(n) >> np.uint64(12)
        return (raw.astype(np.float64) + 0.5) * 2.0**-52

    def signs(self, n: int) -> npt.NDArray[np.float64]:
        """Return n times +1 or -1, each with probability one half."""
        return np.where(self._bits.random_raw(n) >> np.uint64(63), 1.0, -1.0)

    def permutation(self, n: int) -> npt.NDArray[np.int64]:
        """Return the numbers 0 to n - 1 in random order."""
        return np.argsort(self._bits.random_raw(n), kind="stable").astype(np.int64)


def stream(seed: int, *purpose: str | int) -> Stream:
    """Return the stream of a seed for a purpose, as ``stream(7, "zes", "sizes")``.

    >>> bool((stream(7, "a").uniform(3) == stream(7, "a").uniform(3)).all())
    True
    >>> bool((stream(7, "a").uniform(3) == stream(7, "b").uniform(3)).any())
    False
    """
    return Stream(seed, *purpose)


def fresh_seed() -> int:
    """Return a seed that nobody can guess, from the operating system."""
    return secrets.randbelow(SEED_LIMIT)


def checked_seed(seed: int) -> int:
    """Return the seed if it is one: a whole number from 0 to 2^63 - 1.

    >>> checked_seed(-1)
    Traceback (most recent call last):
    ...
    cellguard.errors.InputError: a seed is a whole number from 0 to 2^63 - 1; this one is not
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= int(seed) < SEED_LIMIT:
        raise InputError("a seed is a whole number from 0 to 2^63 - 1; this one is not")
    return int(seed)
