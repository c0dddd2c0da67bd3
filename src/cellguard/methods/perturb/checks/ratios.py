"""Ratios and trends: two responses, or two years, of a unit whose perturbed contributions are both known (6.3).

With one multiplier per unit, m X / m Z = X / Z: the ratio is the true one. Attribute multipliers perturb it a little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from cellguard.arrays import FloatArray
from cellguard.methods.perturb.checks.disclosed import Disclosed
from cellguard.methods.perturb.checks.finding import Finding

_EXACT = 1e-9
_CLOSE = 1e-4  # less than this is no perturbation


def ratios(checked: Sequence[Disclosed], multipliers: Mapping[str, FloatArray]) -> list[Finding]:
    """Return the units of which perturbed contributions to two responses are determined, or known to a coalition.

    ``multipliers`` are for each leaf response those of the units. A ratio that is not perturbed, or by less than
    0.01 %, forbids the release; one that attribute multipliers perturb is reported, with how far.
    """
    findings = []
    for unit, here in sorted(_known(checked).items()):
        for (response, one), (other, two) in combinations(sorted(here.items()), 2):
            if one.unknown == two.unknown:
                continue
            moved = abs(float(multipliers[response][unit] / multipliers[other][unit]) - 1)
            how = "but for what the attribute multipliers changed"
            how = "exactly" if moved < _EXACT else "to within 0.01 %" if moved < _CLOSE else how
            text = f"the ratio of {response} and {other} of one contributor is disclosed {how}"
            cells = tuple(dict.fromkeys([*one.finding.cells, *two.finding.cells]))
            key = str(checked[0].unknowns.keys[unit])
            findings.append(Finding("ratio", text, cells, moved < _CLOSE, (key,), (), {"moved": moved}))
    return findings


class _Known(NamedTuple):
    """How a perturbed contribution is known: by which finding, and as which unknown of which system."""

    finding: Finding
    unknown: tuple[int, int]


def _known(checked: Sequence[Disclosed]) -> dict[int, dict[str, _Known]]:
    """Return for each unit the responses to which its perturbed contribution is known to somebody.

    Of responses that are known as a sum only, the ratio is not known: they are one unknown.
    """
    known: dict[int, dict[str, _Known]] = {}
    for number, disclosed in enumerate(checked):
        for unknowns, finding in disclosed.told.items():
            for unknown in unknowns:
                for unit in disclosed.unknowns.units_of(unknown).tolist():
                    for leaf in disclosed.unknowns.leaves[unknown]:
                        known.setdefault(unit, {}).setdefault(leaf, _Known(finding, (number, unknown)))
    return known
