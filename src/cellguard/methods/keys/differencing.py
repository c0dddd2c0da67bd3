"""What sums and differences of several noisy counts still hide, in closed form.

The noise of n cells that share no key is independent, so its variance is n times that of one; its distribution is the
n-fold convolution. An attacker who works out a count as a sum or difference of n published ones, and to whom every
count is as likely beforehand, is right at most as often as the likeliest total noise occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cellguard.methods.keys.perturbation_table import PerturbationTable


@dataclass(frozen=True)
class Hidden:
    """The noise of a sum or difference of ``cells`` published counts: its variance, and how often a guess is right."""

    cells: int
    variance: float
    guess: float


def still_hidden(table: PerturbationTable, numbers: Sequence[int] = (1, 2, 3, 4, 6, 10, 20)) -> list[Hidden]:
    """Return what differences of so many large counts hide.

    >>> from cellguard.methods.keys.design import Design
    >>> hidden = still_hidden(Design(2, 1.0).table(), [1, 2])
    >>> [(one.cells, round(one.variance, 6), round(one.guess, 4)) for one in hidden]
    [(1, 1.0, 0.383), (2, 2.0, 0.2746)]
    """
    one = table.chances()[table.last]
    variance = table.variance(table.last)
    found, total, many = [], np.ones(1), 0
    for cells in sorted(numbers):
        while many < cells:
            total, many = np.convolve(total, one), many + 1
        found.append(Hidden(cells, cells * variance, float(total.max())))
    return found
