"""Values of one move of a system modulo a prime, by back substitution. Compiled."""

# mypy: ignore-errors
from __future__ import annotations

from cellguard.kernels.kernel import kernel
from cellguard.linalg.circuits_kernel import PRIME


@kernel
def substitute(pivot, columns, values, begin, length, x):  # noqa: ANN001, ANN201
    """Fill in the pivots of a move whose free columns are given."""
    for c in range(len(pivot) - 1, -1, -1):
        r = pivot[c]
        if r >= 0:
            total = 0
            for k in range(begin[r] + 1, begin[r] + length[r]):
                total = (total + values[k] * x[columns[k]]) % PRIME
            x[c] = (PRIME - total) % PRIME


@kernel
def quotients(numerator, denominator, result):  # noqa: ANN001, ANN201
    """Divide modulo the prime, where the denominator is not 0."""
    for i in range(len(result)):
        base, power, exponent = denominator[i], 1, PRIME - 2
        while exponent > 0:
            if exponent & 1:
                power = power * base % PRIME
            base = base * base % PRIME
            exponent >>= 1
        result[i] = numerator[i] * power % PRIME
