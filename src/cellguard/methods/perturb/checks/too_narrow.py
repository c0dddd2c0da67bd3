"""What an attacker concludes who knows the range of balanced noise: multipliers are 1 +- r with r in [low, high].

Let y = m X be the perturbed contribution of the largest contributor of a sensitive cell, and let the attacker know even
y: all other contributions and their noise. m is anywhere in [1 - high, 1 - low] or [1 + low, 1 + high], its side and
size are drawn by chance alone, and nothing else that is published depends on them. So X may be anything from
y / (1 + high) to y / (1 - high), but for the gap between the two sides. One estimate is within p of all of them iff

    (1 - p) y / (1 - high) <= (1 + p) y / (1 + high)      iff      high <= p.

So every rule needs `high` above its p. Who guesses the side is right in one of two cases, and then knows X to within
(high - low) / (2 + high + low) above, or (high - low) / (2 - high - low) below: that is said, and not prevented.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cellguard.methods.perturb.cells.sensitivity import Needs
from cellguard.methods.perturb.checks.finding import Cell, Finding
from cellguard.methods.perturb.draw.multipliers import Settings


def too_narrow(needs: Sequence[Needs], settings: Settings) -> list[Finding]:
    """Return the tables with a rule that asks for more than the range of balanced noise leaves open."""
    if settings.method != "balanced":
        return []
    high, findings = settings.balanced.high, []
    for here in needs:
        asked = max(rule.accuracy for rule in here.table.rules)
        cells = np.flatnonzero(here.sensitive).tolist()
        if cells and high <= asked:
            text = (
                "an attacker who knows the range of the noise estimates the largest contributor too closely: `high` "
                f"is {high:g}, and must be above {asked:g}"
            )
            names = tuple(Cell(here.table.name, here.table.table.cell_name(cell)) for cell in cells)
            findings.append(Finding("range", text, names))
    return findings


def guess_of_a_side(settings: Settings) -> float:
    """Return to within which share of it an attacker knows a contribution that guesses its side rightly.

    >>> from cellguard.methods.perturb.draw.balanced import Balanced
    >>> round(guess_of_a_side(Settings("balanced", balanced=Balanced(0.1, 0.2))), 4)
    0.0588
    """
    low, high = settings.balanced.low, settings.balanced.high
    return max((high - low) / (2 + high + low), (high - low) / (2 - high - low))
