"""Ratios and trends: two responses, or two years, of a unit whose perturbed contributions are both known (6.3).

With one multiplier a unit, m X / m Z = X / Z: the ratio is the true one. Attribute multipliers perturb it a little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from cellguard.protect.perturb.disclosed import Disclosed
from cellguard.protect.perturb.finding import Finding
from cellguard.table.facts import FloatArray

_EXACT = 1e-9


def ratios(checked: Sequence[Disclosed], multipliers: Mapping[str, FloatArray]) -> list[Finding]:
    """Return the units of which perturbed contributions to two responses are determined, or known to a coalition.

    ``multipliers`` are for each leaf response those of the units. A ratio that is not perturbed at all forbids the
    release; one that attribute multipliers perturb is reported, with how far.
    """
    found = []
    for unit, here in sorted(_known(checked).items()):
        for (response, one), (other, two) in combinations(sorted(here.items()), 2):
            moved = abs(float(multipliers[response][unit] / multipliers[other][unit]) - 1)
            how = "exactly" if moved < _EXACT else "but for what the attribute multipliers changed"
            text = f"the ratio of {response} and {other} of one contributor is disclosed {how}"
            cells = tuple(dict.fromkeys([*one.cells, *two.cells]))
            key = str(checked[0].unknowns.keys[unit])
            found.append(Finding("ratio", text, cells, moved < _EXACT, (key,), (), {"moved": moved}))
    return found


def _known(checked: Sequence[Disclosed]) -> dict[int, dict[str, Finding]]:
    """Return for each unit the responses to which its perturbed contribution is known to somebody, with the finding."""
    known: dict[int, dict[str, Finding]] = {}
    for found in checked:
        for unknowns, finding in found.told.items():
            for unknown in unknowns:
                for unit in found.unknowns.units_of(unknown).tolist():
                    known.setdefault(unit, {}).setdefault(found.unknowns.response[unknown], finding)
    return known
