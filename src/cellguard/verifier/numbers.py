"""Decimal text as whole numbers of grains, exactly: no value ever passes through a float.

Arrays of whole numbers are int64 while every number stays below 10^18, so that a sum or difference of two of them
cannot overflow; beyond that they are object arrays of Python integers.
"""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cellguard.verifier.stages import Refused

Ints: TypeAlias = NDArray[Any]
Int64: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Floats: TypeAlias = NDArray[np.float64]

SAFE_DIGITS = 18
SAFE = 10**SAFE_DIGITS
LARGEST = 2**63 - 1
_PLAIN = r"^(?P<sign>-?)(?P<whole>[0-9]+)(?:\.(?P<rest>[0-9]+))?$"


def texts(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a text column as one array."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], pa.string())
    return whole.cast(pa.string())


def bools(array: pa.Array) -> Bools:
    """Return an Arrow yes-or-no array as numpy's."""
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=bool)


def floors(column: pa.Array, decimals: int, where: str) -> tuple[Ints, Bools]:
    """Return floor(number * 10^decimals) of each decimal text, and whether that is the number itself.

    >>> low, exact = floors(pa.array(["1.5", "-0.25", "3"]), 1, "here")
    >>> low.tolist(), exact.tolist()
    ([15, -3, 30], [True, False, True])
    """
    parts = pc.extract_regex(column, _PLAIN)
    bad = ~bools(pc.is_valid(parts))
    if bad.any():
        raise Refused(f"{where} line {int(np.argmax(bad)) + 2} holds something that is not a plain decimal number")
    sign, whole, rest = (pc.struct_field(parts, [i]) for i in range(3))
    kept = pc.utf8_slice_codeunits(rest, 0, decimals) if decimals else pa.array([""] * len(rest), pa.string())
    beyond = pc.utf8_slice_codeunits(rest, decimals)
    digits = pc.binary_join_element_wise(whole, pc.utf8_rpad(kept, decimals, padding="0"), "")
    magnitude = _integers(digits)
    exact = ~bools(pc.match_substring_regex(beyond, "[1-9]"))
    negative = bools(pc.equal(sign, "-"))
    return np.where(negative, -magnitude - ~exact, magnitude), exact


def _integers(digits: pa.Array) -> Ints:
    """Return non-negative whole numbers from their digits: int64 if all have at most 18, else Python integers."""
    short = pc.utf8_ltrim(digits, characters="0")
    longest = pc.max(pc.utf8_length(short)).as_py() or 0
    if longest <= SAFE_DIGITS:
        filled = pc.if_else(pc.equal(short, ""), "0", short)
        return np.asarray(pc.cast(filled, pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)
    if longest > 4000:
        raise Refused("a number has more than 4000 digits")
    return np.array([int(text or "0") for text in short.to_pylist()], dtype=object)


def grains(column: pa.Array, decimals: int, where: str) -> Ints:
    """Return each decimal text in grains of 10^-decimals; refuse what is not a whole multiple of one."""
    low, exact = floors(column, decimals, where)
    if not exact.all():
        raise Refused(f"{where} line {int(np.argmin(exact)) + 2} is not a whole multiple of the grain")
    return low


def check_plainest(column: pa.Array, decimals: int, where: str) -> None:
    """Refuse a number that is not written in the one way in which a folder writes it: with exactly these decimals.

    Zeros more in front or behind say nothing of the number, but their number could.

    >>> check_plainest(pa.array(["12.50", "-0.25", "0.00"]), 2, "here")
    >>> check_plainest(pa.array(["7", "012"]), 0, "here")
    Traceback (most recent call last):
    cellguard.verifier.stages.Refused: here line 3 is not written with exactly 0 decimals and no zeros in front
    """
    rest = rf"\.[0-9]{{{decimals}}}" if decimals else ""
    good = pc.match_substring_regex(column, f"^-?(?:0|[1-9][0-9]*){rest}$")
    below = pc.match_substring_regex(column, "^-[0.]*$")
    bad = ~bools(good) | bools(below)
    if bad.any():
        line = int(np.argmax(bad)) + 2
        raise Refused(f"{where} line {line} is not written with exactly {decimals} decimals and no zeros in front")


def grains_or_zero(column: pa.Array, decimals: int, where: str) -> Ints:
    """Return each decimal text in grains, a blank as 0."""
    return grains(pc.if_else(pc.equal(column, ""), "0", column), decimals, where)


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Return a numeric column as plain decimal text: of a float, the shortest that reads back as the same float."""
    text = texts(column)
    raised = bools(pc.fill_null(pc.match_substring(text, "e"), False))
    if not raised.any():
        return text
    words = text.to_pylist()
    for i in np.flatnonzero(raised):
        words[i] = format(Decimal(words[i]), "f")
    return pa.array(words, pa.string())


def fraction(text: object, where: str) -> Fraction:
    """Return one decimal text as an exact fraction."""
    if not isinstance(text, str) or len(text) > 4000 or not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", text, re.ASCII):
        raise Refused(f"{where} is not a number as plain decimal text")
    return Fraction(text)


def difference(left: Ints, right: Ints | int) -> Int64:
    """Return left - right exactly, cut off at the largest int64 on both sides (no stored move exceeds that)."""
    wide = isinstance(right, int) and abs(right) >= SAFE
    if wide or left.dtype == object or (isinstance(right, np.ndarray) and right.dtype == object):
        left = left.astype(object)
        right = right.astype(object) if isinstance(right, np.ndarray) else right
    return narrow(left - right)


def narrow(numbers: Ints) -> Int64:
    """Return whole numbers as int64, cut off at its limits."""
    if numbers.dtype == object:
        numbers = np.clip(numbers, -LARGEST, LARGEST)
    return numbers.astype(np.int64)


def scaled(numbers: Ints, factor: int) -> Ints:
    """Return numbers * factor exactly, as Python integers where int64 would not do."""
    largest = int(np.abs(numbers).max(initial=0))
    if numbers.dtype == object or largest * abs(factor) >= SAFE:
        return numbers.astype(object) * factor
    return numbers * np.int64(factor)


def rounded(numbers: Ints, factor: int) -> Ints:
    """Return numbers / factor rounded to whole numbers, halves to even.

    >>> rounded(np.array([15, 25, -15, 14]), 10).tolist()
    [2, 2, -2, 1]
    """
    if factor > LARGEST:
        numbers = numbers.astype(object)
    low = numbers // factor
    rest = (numbers - low * factor).astype(object if factor >= SAFE else numbers.dtype)
    up = (2 * rest > factor) | ((2 * rest == factor) & (low % 2 == 1))
    return low + up
