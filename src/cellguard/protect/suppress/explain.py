"""Which cells protect which: from a short move for every unsafe cell, through hidden cells only."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.protect.suppress.cuts import targets_of
from cellguard.protect.suppress.repair import Repairer
from cellguard.protect.suppress.system import build_system
from cellguard.protection import Requirements
from cellguard.table.pattern import Pattern

MOST = 3_000  # needs up to which every cell is explained beforehand; single cells can always be asked for


@dataclass(frozen=True, eq=False)
class Explanations:
    """For unsafe cells the cells through which they are protected; for these the unsafe cells that they protect."""

    through: dict[int, list[int]]
    protects: dict[int, list[int]]


def explain_pattern(needs: Requirements, pattern: Pattern, only: int | None = None) -> Explanations:
    """Explain the unsafe cells of a pattern, or ``only`` one of them, as distinct cells; a short move for each need."""
    system = build_system(needs, np.ones(len(needs.tables)))
    hidden = np.bincount(system.merged.merged, pattern.unknown, system.n) > 0
    repairer = Repairer(system)
    members: dict[int, list[int]] = {}
    for cell, merged in enumerate(system.merged.merged.tolist()):
        members.setdefault(merged, []).append(cell)
    wanted = None if only is None else int(system.merged.merged[only])
    through: dict[int, set[int]] = {}
    for target in targets_of(system):
        if wanted is not None and target.cell != wanted:
            continue
        flow = repairer.flow(target, system.hidden, system.cost + 1e-9, allowed=hidden & ~system.never)
        moved = [] if flow is None else [int(c) for c in flow.cells if c != target.cell]
        cells = {cell for c in moved for cell in members[c]}
        for unsafe in members[target.cell]:
            if needs.primary[unsafe]:
                through.setdefault(unsafe, set()).update(cells)
    protects: dict[int, list[int]] = {}
    for unsafe in sorted(through):
        for cell in through[unsafe]:
            protects.setdefault(cell, []).append(unsafe)
    return Explanations({cell: sorted(others) for cell, others in through.items()}, protects)
