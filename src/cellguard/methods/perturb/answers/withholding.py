"""Which cells of a question are shown: all that tell nothing more, and of the others as many as can be.

Every finding names the cells that take part in its combination. Interior cells are settled first: of those in findings
the ones that most findings share, and that hold the fewest contributors, are withheld, and all is looked at again.
Totals and subtotals come next, and then withheld cells are tried once more. The work is counted, not timed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.methods.perturb.answers.asked import Asked
from cellguard.methods.perturb.answers.system import System, Trial

_TAKES_PART = 0.05
_ROUNDS, _MARGIN_ROUNDS, _RETRIES = 10, 4, 3


@dataclass(frozen=True, eq=False)
class Decision:
    """Which cells are shown, with the trial that says so; None if they follow from what is published, or none are.

    ``kinds`` are what stood against showing all.
    """

    shown: BoolArray
    trial: Trial | None
    kinds: tuple[str, ...]


def decide(system: System, asked: Asked, *, withhold: bool = True) -> Decision:
    """Return what of a question can be shown beside all that was answered; all or nothing without ``withhold``."""
    if system.implied(asked.cells, asked.alone):
        return Decision(asked.alone, None, ())
    everything = system.trial(asked.cells, asked.alone)
    if everything.clean:
        return Decision(asked.alone, everything, ())
    kinds = tuple(sorted({finding.kind for finding in everything.findings}))
    nothing = Decision(np.zeros(len(asked), bool), None, kinds)
    if not withhold:
        return nothing
    system.prepare(asked.cells)
    inner = asked.alone & asked.interior
    settled = _repair(system, asked, inner, droppable=inner, rounds=_ROUNDS, first=None)
    if settled is None:
        return nothing
    margins = asked.alone & ~asked.interior
    if margins.any():
        both = _repair(system, asked, settled.shown | margins, droppable=margins, rounds=_MARGIN_ROUNDS, first=None)
        settled = both or settled
    settled = _retried(system, asked, settled)
    return Decision(settled.shown, settled, kinds)


def _repair(
    system: System, asked: Asked, shown: BoolArray, *, droppable: BoolArray, rounds: int, first: Trial | None
) -> Trial | None:
    """Return a trial that tells nothing more, of so few cells less as the rounds find; None if they find none."""
    shown = shown.copy()
    for number in range(rounds):
        trial = first if first is not None and number == 0 else system.trial(asked.cells, shown)
        if trial.clean:
            return trial if shown.any() else None
        less = _worst(system, asked, trial, droppable & shown, hard=number >= rounds - 3)
        if not less.any():
            return None
        shown &= ~less
    trial = system.trial(asked.cells, shown)
    return trial if trial.clean and shown.any() else None


def _worst(system: System, asked: Asked, trial: Trial, droppable: BoolArray, *, hard: bool) -> BoolArray:
    """Return the cells to withhold next: few that take part in all findings; every one of them if it is ``hard``."""
    less = np.zeros(len(asked), bool)
    less[trial.unresolved] = True
    less &= droppable
    if not trial.findings:
        return less
    rows, share = system.taking_part(trial)
    may = droppable[rows]
    takes = (share > _TAKES_PART) & may[:, None]
    own = _cells_of(asked, trial)
    if hard or not takes.any():
        less[rows[takes.any(axis=1)]] = True
        return np.asarray((less | own) & droppable, bool)
    weight = 1 / np.sqrt(asked.width[rows] + 1.0)
    open_ = takes.any(axis=0)
    while open_.any():
        gain = takes[:, open_].sum(axis=1) * weight
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        less[rows[best]] = True
        open_ &= ~takes[best]
    return less if less.any() else np.asarray(own & droppable, bool)


def _cells_of(asked: Asked, trial: Trial) -> BoolArray:
    """Return the cells that contributors of findings are in."""
    unknowns = np.array([u for f in trial.findings for u in f.unknowns], np.int64)
    part = asked.cells.leaf[unknowns]
    hit = np.zeros(asked.cells.sums.shape[1])
    hit[part[part >= 0]] = 1
    return np.asarray(asked.cells.sums @ hit > 0, bool)


def _retried(system: System, asked: Asked, settled: Trial) -> Trial:
    """Show cells again that need not be withheld now that others are: the largest first, half of them at a time."""
    left = np.flatnonzero(asked.alone & ~settled.shown)
    left = left[np.argsort(-asked.width[left], kind="stable")]
    for _ in range(_RETRIES):
        if not len(left):
            break
        some = left[: max(1, len(left) // 2)]
        more = settled.shown.copy()
        more[some] = True
        trial = system.trial(asked.cells, more)
        if trial.clean:
            settled, left = trial, left[len(some) :]
        else:
            left = some if len(some) < len(left) else left[:0]
    return settled
