"""What the compiled cores of tabulation know of a cell, side by side in one row of whole numbers.

First come how many contribute and the sums of positive and of negative contributions; then the largest contributions,
and then the largest without a waiver, each as value, holder and, where there is one, a number that goes with it. A
holder is stored as its number + 1, so that 0 is nobody.
"""

from __future__ import annotations

COUNT, POSITIVE, NEGATIVE, FIRST = range(4)
VALUE, HOLDER, EXTRA = range(3)
