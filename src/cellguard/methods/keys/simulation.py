"""The attack by trial: the noise is drawn again and again, and the attacker's guesses are compared with the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.methods.keys.perturbation_table import PerturbationTable
from cellguard.methods.keys.perturbing import KeyedCells
from cellguard.methods.keys.posterior import infer
from cellguard.methods.keys.record_keys import Secret
from cellguard.run_context import UNWATCHED, Run


@dataclass(frozen=True)
class Simulation:
    """How often an attacker who always names the likeliest count is right about small cells, and how sure it was.

    ``right`` is the share of right guesses, ``claimed`` the mean posterior of what was guessed, ``above`` the share of
    draws in which the posterior of some small count was above the limit.
    """

    draws: int
    right: float
    claimed: float
    above: float


def simulate(
    cells: KeyedCells,
    table: PerturbationTable,
    secret: Secret,
    prior: FloatArray,
    *,
    draws: int,
    limit: float,
    run: Run = UNWATCHED,
) -> Simulation:
    """Draw the noise anew, publish, attack, and compare."""
    right, claimed, guesses, above = 0, 0.0, 0, 0
    for draw in range(draws):
        run.heed()
        run.tell(f"simulation {draw + 1:,} of {draws:,}", draw, draws)
        # Other seeds give other noise; the seed of the release itself tells nothing of them.
        again = replace(secret, seed=draw, lookup="hashed")
        seen = cells.seen(cells.published(table, again), table, again, prior)
        found = infer(seen, run=run)
        best = found.chances.argmax(axis=1)
        guess = found.base + best
        here = cells.small
        right += int((guess == cells.count)[here].sum())
        claimed += float(found.chances[np.arange(len(best)), best][here].sum())
        guesses += int(here.sum())
        above += bool(found.largest(cells.threshold)[cells.shown].max(initial=0.0) > limit)
    share = max(guesses, 1)
    return Simulation(draws, right / share, claimed / share, above / max(draws, 1))
