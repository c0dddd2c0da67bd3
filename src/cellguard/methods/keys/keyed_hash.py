"""SipHash-2-4 of pairs of numbers, for whole columns: without the secret nobody can tell its values from chance.

J.-P. Aumasson and D. J. Bernstein, *SipHash: a fast short-input PRF* (2012). The message is two little-endian words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cellguard.arrays import LongArray

Words = npt.NDArray[np.uint64]
_PART = 1 << 15  # rows at a time, which stay in the processor's memory
_LAST = np.uint64(16 << 56)  # the length of the message, 16 bytes, in the last word


def keyed_hash(secret: bytes, first: LongArray, second: LongArray) -> Words:
    """Return the 64-bit hash of each pair of numbers, by a secret of 16 bytes.

    >>> int(keyed_hash(bytes(range(16)), np.array([0x0706050403020100]), np.array([0x0F0E0D0C0B0A0908]))[0]) == (
    ...     0x3f2acc7f57c29bdb)
    True
    """
    k0, k1 = (np.uint64(int.from_bytes(secret[i : i + 8], "little")) for i in (0, 8))
    hashed = np.empty(len(first), np.uint64)
    for begin in range(0, len(first), _PART):
        here = slice(begin, begin + _PART)
        hashed[here] = _hash(k0, k1, first[here].astype(np.uint64), second[here].astype(np.uint64))
    return hashed


def _hash(k0: np.uint64, k1: np.uint64, first: Words, second: Words) -> Words:
    ones = np.ones(len(first), np.uint64)
    v = [
        ones * (k0 ^ np.uint64(0x736F6D6570736575)),
        ones * (k1 ^ np.uint64(0x646F72616E646F6D)),
        ones * (k0 ^ np.uint64(0x6C7967656E657261)),
        ones * (k1 ^ np.uint64(0x7465646279746573)),
    ]
    for word in (first, second, ones * _LAST):
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    v[2] ^= np.uint64(0xFF)
    for _ in range(4):
        _round(v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _round(v: list[Words]) -> None:
    v[0] += v[1]
    v[2] += v[3]
    v[1] = _turned(v[1], 13) ^ v[0]
    v[3] = _turned(v[3], 16) ^ v[2]
    v[0] = _turned(v[0], 32)
    v[2] += v[1]
    v[0] += v[3]
    v[1] = _turned(v[1], 17) ^ v[2]
    v[3] = _turned(v[3], 21) ^ v[0]
    v[2] = _turned(v[2], 32)


def _turned(words: Words, bits: int) -> Words:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))
