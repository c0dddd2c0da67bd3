"""Published numbers: whole units of the last decimal, which stay exact, and the text that they are printed as."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cellguard.errors import InputError


def printed(units: int, decimals: int) -> str:
    """Return a number as it is published, with all its decimals; zero has no sign.

    >>> printed(-5, 2), printed(1234, 0), printed(10, 1), printed(0, 2)
    ('-0.05', '1234', '1.0', '0.00')
    """
    if not decimals:
        return str(units)
    digits = str(abs(units)).rjust(decimals + 1, "0")
    return f"{'-' if units < 0 else ''}{digits[:-decimals]}.{digits[-decimals:]}"


def parse_printed(text: str, decimals: int) -> int:
    """Return the units of a number that is printed with so many decimals, as `printed` does.

    >>> parse_printed("-0.05", 2), parse_printed("1234", 0)
    (-5, 1234)
    """
    if not re.fullmatch(r"-?[0-9]+" + rf"\.[0-9]{{{decimals}}}" * bool(decimals), text):
        raise InputError(f"a value is not a number with {decimals} decimals")
    return int(text.replace(".", ""))


def rounded(amounts: Sequence[int], grains: Sequence[int], decimals: int) -> list[int]:
    """Return whole numbers of grains, each of so many decimals, as units of the last decimal; halves go to even.

    >>> rounded([1250, 1350, -1250, 7], [3, 3, 3, 0], 1)
    [12, 14, -12, 70]
    """
    steps = {grain: 10 ** abs(grain - decimals) for grain in set(grains)}
    return [
        half_even(amount, steps[grain]) if grain > decimals else amount * steps[grain]
        for amount, grain in zip(amounts, grains, strict=True)
    ]


def nearest(values: Sequence[float], decimals: int) -> list[int]:
    """Return the units nearest to floating-point numbers, as exactly as printing them with so many decimals does.

    >>> nearest([0.125, 2.5, -1e-9, 1e22], 2) == [int(f"{x:.2f}".replace(".", "")) for x in [0.125, 2.5, -1e-9, 1e22]]
    True
    """
    ratios = [float(value).as_integer_ratio() for value in values]
    return [half_even(above * 10**decimals, below) for above, below in ratios]


def half_even(amount: int, step: int) -> int:
    """Return how many steps an amount is, rounded; half a step goes to the even neighbour."""
    whole, rest = divmod(amount, step)
    return whole + (2 * rest > step or (2 * rest == step and whole % 2 == 1))
