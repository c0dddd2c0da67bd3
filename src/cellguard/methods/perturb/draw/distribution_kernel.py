"""The two sums behind the distribution of a cell's noise, see `distribution`."""

from __future__ import annotations

import math

import numpy as np

from cellguard.kernels.kernel import kernel


@kernel
def by_patterns(step, spread, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Average over all directions, of which the first may be fixed; each pattern differs from the last in one sign."""
    n = len(step)
    sign = np.ones(n)
    centre = 0.0
    for i in range(n):
        centre += step[i]
    total = 0.0
    patterns = 1 << max(n - 1, 0)
    for pattern in range(patterns):
        if pattern:
            flip = 1
            while not (pattern >> (flip - 1)) & 1:
                flip += 1
            sign[flip] = -sign[flip]
            centre += 2 * sign[flip] * step[flip]
        if spread > 0:
            scale = spread * math.sqrt(2.0)
            total += 0.5 * (math.erfc((bound - centre) / scale) + math.erfc((bound + centre) / scale))
        elif abs(centre) > bound * (1 - 1e-12):
            total += 1.0
    return total / patterns


@kernel
def by_characteristic(step, spread, bound):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Integrate by the trapezoidal rule. Steps that stay small have cos x = exp(-x^2/2 - x^4/12 - x^6/45) by sums."""
    far = 9.0
    last = far / spread
    width = bound
    for i in range(len(step)):
        width += step[i]
    h = 2 * math.pi / (width + far * spread)
    large = 0
    while large < len(step) and step[large] * last > 0.1:
        large += 1
    second, fourth, sixth = 0.0, 0.0, 0.0
    for i in range(large, len(step)):
        square = step[i] * step[i]
        second += square / 2
        fourth += square * square / 12
        sixth += square * square * square / 45
    total = bound / 2
    t = h
    while t < last:
        square = t * t
        phi = math.exp(-square * (spread * spread / 2 + second + square * (fourth + square * sixth)))
        for i in range(large):
            phi *= math.cos(step[i] * t)
            if abs(phi) < 1e-18:
                break
        total += math.sin(bound * t) / t * phi
        t += h
    return min(max(1 - 2 * h / math.pi * total, 0.0), 1.0)
