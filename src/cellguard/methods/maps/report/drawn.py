"""A map as plain data for a page that draws it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cellguard.arrays import FloatArray
from cellguard.methods.maps.result import MapResult

_CLASSES = 7


def before_and_after(done: MapResult) -> dict[str, Any]:
    """Return the hexagons with their values before and after, None where one is not shown. Confidential."""
    before, after = done.before.tolist(), done.after.tolist()
    if done.decimals == 0:
        before, after = [round(x) for x in before], [round(x) for x in after]
    return {
        "q": done.hexagons.q.tolist(),
        "r": done.hexagons.r.tolist(),
        "before": before,
        "after": [value if seen else None for value, seen in zip(after, done.is_shown.tolist(), strict=True)],
        "breaks": breaks(np.concatenate([done.before, done.after[done.is_shown]])),
    }


def breaks(values: FloatArray) -> list[float]:
    """Return where the classes of the legend begin: at round quantiles of the values."""
    if not len(values):
        return [0]
    ends = np.quantile(values, np.linspace(0, 1, _CLASSES + 1)[:-1], method="lower")
    neat = [float(f"{end:.2g}") if i else float(end) for i, end in enumerate(ends.tolist())]
    return sorted({int(x) if x == int(x) else x for x in neat})
