"""Pictures of perturbed tables: how multipliers are spread, and which cells got how much noise. Confidential.

Figures 3.1 and 5.1 of Cuppen (2000) on one's own data.
"""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from cellguard.arrays import BoolArray, FloatArray
from cellguard.methods.perturb.result import PerturbationResult
from cellguard.report.canvas import LINE, PRIMARY, SECONDARY
from cellguard.report.plot import Plot
from cellguard.report.section import Section
from cellguard.report.words import many
from cellguard.seam.outcome import Outcome

_MOST_CELLS = 1500
_BINS = 60


def pictures(outcome: Outcome[PerturbationResult]) -> Section:
    """Show how multipliers are spread, and noise against what each cell must have."""
    drawn = [one for one in (_multipliers(outcome), _noise(outcome)) if one is not None]
    words = (
        "Multipliers are as confidential as the records. In the second picture a cell below the line has less noise "
        "than it must have to be safe, and a cell left of 0 needs none.",
    )
    return Section("pictures", "Noise in pictures", {"words": words, "tables": [], "figures": drawn}, kind="evaluated")


def _multipliers(outcome: Outcome[PerturbationResult]) -> dict[str, str] | None:
    """Draw how many respondents have which multiplier (figure 3.1); those that are exactly 1 are counted apart."""
    made = outcome.protected.check.multipliers
    responses = dict.fromkeys(here.table.response for here in outcome.protected.check.tables)
    values = np.concatenate([np.asarray(leaf, float) for leaf in made.by_leaf(list(responses)).values()])
    moved = values[values != 1.0]
    if not len(moved):
        return None
    heights, edges = np.histogram(moved, bins=_BINS)
    most = float(heights.max())
    plot = Plot((min(float(edges[0]), 1.0), max(float(edges[-1]), 1.0)), (0.0, most), ("multiplier", "multipliers"))
    plot.bars(edges.tolist(), heights.tolist(), SECONDARY)
    plot.line((1.0, 0.0), (1.0, most))
    still = len(values) - len(moved)
    words = f"How far {len(moved):,} multipliers are from 1"
    return _figure(words + (f"; {still:,} more are 1" if still else ""), plot)


def _noise(outcome: Outcome[PerturbationResult]) -> dict[str, str]:
    """Draw the noise of each cell against the noise that it must have, both in percent of its total (figure 5.1)."""
    level, noise, unsafe = _cells(outcome)
    sensitive = level > 0
    shown = _spread_out(sensitive)
    most = float(level.max(initial=1.0))
    names = ("noise that the cell must have (S_N before noise), % of its total", "noise, % of its total")
    plot = Plot((float(level.min(initial=0.0)), most), (0.0, float(max(noise.max(initial=1.0), min(most, 100)))), names)
    for kind, colour, cross, size in (
        (~sensitive, LINE, False, 2.5),
        (sensitive & ~unsafe, SECONDARY, False, 3.5),
        (unsafe, PRIMARY, True, 4.0),
    ):
        at = np.flatnonzero(kind & shown)
        plot.points(zip(level[at].tolist(), noise[at].tolist(), strict=True), colour, cross=cross, size=size)
    reach = min(most, plot.up[1])
    plot.line((0.0, 0.0), (reach, reach))
    left = int((~shown).sum())
    served = many(int((sensitive & ~unsafe).sum()), "sensitive cell")
    words = f"Noise and sensitivity: {served} that their noise makes safe (blue discs), "
    words += f"{int(unsafe.sum()):,} still unsafe (crosses), {int((~sensitive).sum()):,} others (grey)"
    return _figure(words + (f", of which {left:,} are not drawn" if left else ""), plot)


def _figure(words: str, plot: Plot) -> dict[str, str]:
    return {"words": words, "picture": Markup(plot.svg(words)), "said": f"{words}."}  # noqa: S704 - our own words


def _cells(outcome: Outcome[PerturbationResult]) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return for all cells of all tables what noise they must have and have, in percent, and which are still unsafe."""
    parts = []
    for here in outcome.protected.check.tables:
        total = np.abs(here.table.total)
        share = np.divide(100.0, total, out=np.zeros(len(total)), where=total > 0)
        need = np.where(here.needs.sensitive, here.needs.need, np.minimum(here.needs.need, 0.0))
        parts.append(np.stack([np.maximum(share * need, -100.0), share * np.abs(here.noise), here.unsafe]))
    level, noise, unsafe = np.concatenate(parts, axis=1)
    return level, noise, unsafe.astype(bool)


def _spread_out(sensitive: BoolArray) -> BoolArray:
    """Return which cells are drawn: all that are sensitive, and so many of the others, evenly."""
    others = np.flatnonzero(~sensitive)
    kept = sensitive.copy()
    kept[others[:: max(1, -(-len(others) // _MOST_CELLS))]] = True
    return kept
