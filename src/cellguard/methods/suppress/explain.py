"""Which cells protect which: from a short move for every unsafe cell, through suppressed cells only.

Of a small set each move is looked for. Of a larger one most are read from the proof, whose short moves were found and
checked anyway; moves are looked for only for some of the cells that it leaves, and for the others when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray
from cellguard.attack.audit import Audit
from cellguard.attack.reliance import through_short_moves
from cellguard.methods.suppress.engines.cuts import Target, targets_of
from cellguard.methods.suppress.engines.repair import Repairer
from cellguard.methods.suppress.engines.system import System, build_system, manageable
from cellguard.protection import Requirements
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.pattern import Pattern

_FEW = 100  # unsafe cells for which moves are looked for: each is a few small programs
_LOOKED_AT = 30_000  # cells of these programs together, about 0.3 CPU seconds; explaining the rest waits until asked
_SHORT = 40  # variables that a move may have to explain anything


@dataclass(frozen=True, eq=False)
class Explanations:
    """For unsafe cells the cells through which they are protected; for these the unsafe cells that they protect.

    They are ``whole`` if no unsafe cell was left out.
    """

    through: dict[int, list[int]]
    protects: dict[int, list[int]]
    whole: bool = True


def explain_proof(audit: Audit, *, known: sp.csr_array | None = None, run: Run = UNWATCHED) -> Explanations:
    """Explain the unsafe cells of a proven pattern at little cost: from the moves that prove them, where these are
    short.
    """
    needs, pattern = audit.needs, audit.pattern
    unsafe = np.flatnonzero(needs.primary)
    proven = through_short_moves(audit, _SHORT) if len(unsafe) > _FEW else {}
    left = [int(cell) for cell in unsafe if int(cell) not in proven]
    largest = sorted(left, key=lambda cell: (-needs.upper[cell], cell))[:_FEW]
    more = explain_pattern(needs, pattern, only=largest, known=known, most=_LOOKED_AT, run=run) if largest else None
    through = {**({} if more is None else more.through), **proven}
    return _inverted(through, whole=len(through) == len(unsafe))


def explain_pattern(
    needs: Requirements,
    pattern: Pattern,
    only: Sequence[int] | None = None,
    *,
    known: sp.csr_array | None = None,
    most: int | None = None,
    run: Run = UNWATCHED,
) -> Explanations:
    """Explain the unsafe cells of a pattern, or ``only`` some of them, as distinct cells.

    A short move through suppressed cells is found for each need that no earlier move serves, until the programs had
    ``most`` cells together; what is left then is left out.
    """
    system = build_system(manageable(needs), np.ones(len(needs.tables)), known)
    unknown = np.ones(len(system.merged.merged), bool)
    unknown[: len(needs.tables)] = pattern.unknown
    hidden = (np.bincount(system.merged.merged, unknown, system.n) > 0) & ~system.never
    wanted = targets_of(system)
    if only is not None:
        some = set(system.merged.merged[list(only)].tolist())
        wanted = [target for target in wanted if target.cell in some]
    through: dict[int, set[int]] = {}
    left = set[int]()
    for number, (target, cells) in enumerate(_short_moves(system, hidden, wanted, most, run)):
        if cells is None:
            left.add(target.cell)
        else:
            through.setdefault(target.cell, set()).update(c for c in cells if c != target.cell)
        if number % 1_000 == 0:
            run.left(len(wanted) - number, len(wanted), "protection levels to explain")
            run.check()
    return _on_all_cells(system, {cell: others for cell, others in through.items() if cell not in left})


def _short_moves(
    system: System, hidden: BoolArray, wanted: list[Target], most: int | None, run: Run
) -> Iterator[tuple[Target, list[int] | None]]:
    """Go through targets with the cells of a move that serves each; nothing moves if no move does.

    Once programs had ``most`` cells, targets that no move so far serves come with None.
    """
    repairer, served = Repairer(system, run=run), dict[Target, list[int]]()
    for target in wanted:
        if target not in served:
            if most is not None and repairer.looked_at > most:
                yield target, None
                continue
            flow = repairer.flow(target, hidden, system.cost, allowed=hidden, local=True)
            flow = flow or repairer.flow(target, hidden, system.cost, allowed=hidden)
            cells = [] if flow is None else [int(c) for c in flow.cells]
            for other in {target} if flow is None else {target, *repairer.serves(flow)}:
                served.setdefault(other, cells)
        yield target, served[target]


def _on_all_cells(system: System, through: dict[int, set[int]]) -> Explanations:
    """Return explanations of merged cells as explanations of all the cells that they stand for: the way back."""
    members: dict[int, list[int]] = {}
    for cell, merged in enumerate(system.merged.merged[: len(system.needs.tables)].tolist()):
        members.setdefault(merged, []).append(cell)
    found: dict[int, list[int]] = {}
    for merged, others in through.items():
        cells = sorted(cell for other in others for cell in members.get(other, ()))
        for unsafe in members.get(merged, ()):
            if system.needs.primary[unsafe]:
                found[unsafe] = cells
    return _inverted(found)


def _inverted(through: dict[int, list[int]], *, whole: bool = True) -> Explanations:
    """Return explanations, with which cells each one protects."""
    protects: dict[int, list[int]] = {}
    for unsafe in sorted(through):
        for cell in through[unsafe]:
            protects.setdefault(cell, []).append(unsafe)
    return Explanations(through, protects, whole)
