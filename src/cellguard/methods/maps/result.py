"""A map, redistributed: what may be shown, what was moved, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.geometry.tiling import Tiling
from cellguard.job.jobfile import Job
from cellguard.methods.maps.magnitudes import Values
from cellguard.methods.maps.mapping import Redistribution
from cellguard.methods.maps.places import Tiles
from cellguard.methods.maps.shown_result import Placed, ShownResult
from cellguard.methods.maps.spec import RedistributeSpec, table_of
from cellguard.methods.maps.transfers import Transfers
from cellguard.rules.rule import fewest_of
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict

QUESTION = "whether the policy's own rules still find a sensitive cell on the map that is shown"
_LIKELY = NotChecked("likelihood", "how likely a cell at the threshold had fewer records", "everybody")
_KNOWING = NotChecked(
    "knowledge", "attackers who know that records were moved, or the counts of other cells", "insiders"
)
_OTHERS = NotChecked("other releases", "other maps and tables of the same records", "everybody")
_ASKED = NotChecked("size", "attackers who know the smaller size of cells that was asked for", "insiders")
_SEVERAL = NotChecked("contributors", "attackers who know several contributions of a cell", "insiders")


@dataclass(frozen=True, eq=False)
class MapResult(ShownResult):
    """A map before and after. Confidential, all but ``shown`` and the release.

    ``counts`` or ``values`` is there, as the map has counts or sums; ``others`` has what the other algorithms would
    have done. ``asked`` is the grid that the job asked for, if it had to be coarsened.
    """

    job: Job
    tiles: Tiles
    asked: Tiling
    counts: Redistribution | None
    values: Values | None
    others: Mapping[str, Redistribution]
    decimals: int
    notes: tuple[str, ...]
    digests: Mapping[str, str]
    crs: str | None = None

    @property
    def inputs(self) -> Mapping[str, str]:
        """The digests of the files as they were when they were read."""
        return self.digests

    @property
    def spec(self) -> RedistributeSpec:
        """What the job says of the map."""
        return RedistributeSpec.of(self.job)

    @property
    def threshold(self) -> int:
        """The least number of records of a shown cell; 1 if no rule asks for more."""
        return self.spec_threshold or 1

    @cached_property
    def spec_threshold(self) -> int | None:
        """The least number of records that the rules ask for, if they do."""
        return fewest_of(table_of(self.job).rules)

    @property
    def before(self) -> FloatArray:
        """The true value of each cell."""
        return self.values.before.total if self.values else self.tiles.count.astype(float)

    @cached_property
    def after(self) -> FloatArray:
        """The value of each cell as it may be shown, 0 where it was removed."""
        return self.values.after.total if self.values else self._redistribution.after.astype(float)

    @property
    def _redistribution(self) -> Redistribution:
        if self.counts is None:
            raise AssertionError("a map has counts or values")
        return self.counts

    @property
    def transfers(self) -> Transfers:
        """What was moved from where to where."""
        return self.values.transfers if self.values else self._redistribution.transfers

    @property
    def is_shown(self) -> BoolArray:
        """Which cells are on the released map."""
        return (self.values.after.count if self.values else self._redistribution.after) > 0

    @property
    def sensitive(self) -> BoolArray:
        """Which cells have too few records."""
        count: LongArray = self.tiles.count
        return (count > 0) & (count < self.threshold)

    @property
    def placed(self) -> Placed:
        """The cells that are left on the map."""
        here = self.is_shown
        return Placed(self.tiles.grid, self.tiles.q[here], self.tiles.r[here], self.after[here])

    @property
    def map_crs(self) -> str | None:
        """The coordinate system."""
        return self.crs

    @property
    def question(self) -> str:
        """Whether there are sensitive cells left."""
        return QUESTION

    @cached_property
    def verdict(self) -> Verdict:
        """What is known of the map, and what was not checked."""
        asked = (_ASKED,) if self.tiles.grid != self.asked else ()
        if self.values is None:
            text = (
                f"safe from recovery: every shown {self.tiles.grid.word} has {self.threshold} records or more, and no "
                f"count below {self.threshold} can be worked out from the map, which may be the true one"
            )
            return Verdict(Kind.SAFE, text, (_LIKELY, _KNOWING, _OTHERS, *asked))
        stuck, close = int(self.values.stuck.sum()), int(self.values.close.sum())
        if stuck:
            return Verdict(Kind.UNSAFE, f"UNSAFE: rules still find {stuck:,} sensitive: {self.values.why}", (_SEVERAL,))
        if close:
            near = f"{close:,} totals are within {self.values.closeness:g} % of a true largest value"
            if self.spec.keep_away > 0:
                return Verdict(Kind.UNSAFE, f"UNSAFE: {near}", (_SEVERAL,))
            return Verdict(Kind.NOT_PROVEN, f"NOT PROVEN: {near}", (_SEVERAL,), accepted=True)  # `keep_away: 0` says so
        text = (
            f"no rule finds a sensitive {self.tiles.grid.word}, and no changed total is within "
            f"{self.values.closeness:g} % of a true largest value, also for the runner-up"
        )
        return Verdict(Kind.SAFE, f"safe from direct estimates: {text}", (_SEVERAL, _KNOWING, _OTHERS, *asked))

    @property
    def utility(self) -> float:
        """The utility U: which share of all that the map had is where it was."""
        whole = float(self.before.sum())
        return 1 - _share(float(np.abs(self.before - self.after).sum()) / 2 + self._lost / 2, whole) if whole else 1.0

    @property
    def _lost(self) -> float:
        return float(self.before.sum() - self.after.sum())

    def summary(self) -> Summary:
        """Return counts, mu and what the verdict says; no value of a cell."""
        facts = {
            "released": self.release is not None,
            "grid": dict(self.tiles.grid.about()),
            "crs": self.crs,
            "coarsened": self.tiles.grid != self.asked,
            "algorithms": {name: {"mu": other.mu} for name, other in self.others.items()},
        }
        return Summary("redistribute", self.verdict, {table_of(self.job).name: self._about()}, self.notes, facts)

    def _about(self) -> dict[str, Any]:
        both = {
            "hexagons": len(self.tiles.count),
            "shown": int(self.is_shown.sum()),
            "sensitive": int(self.sensitive.sum()),
            "threshold": self.spec_threshold,
            "records": int(self.tiles.count.sum()),
            "utility": self.utility,
        }
        if self.values is not None:
            done = self.values
            return both | {
                "outliers": int(done.treated.outliers.sum()),
                "removed": int(done.removed.sum()),
                "lost_records": int(self.tiles.count.sum() - done.after.count.sum()),
                "lost_share": _share(done.lost_value, float(done.before.total.sum())),
                "contributors_moved": done.transfers.units_moved,
                "mu": done.mu,
                "passed_share": _share(done.passed, float(done.before.total.sum())),
                "passes": done.passes,
                "changed": int((np.abs(self.after - self.before) > 1e-9 * np.maximum(self.before, 1)).sum()),
            }
        map_ = self._redistribution
        at_threshold = map_.after == self.threshold
        raised = at_threshold & (self.tiles.count < self.threshold)
        return both | {
            "outliers": int(map_.treated.outliers.sum()),
            "lost_records": map_.lost,
            "lost_share": _share(map_.lost, float(self.tiles.count.sum())),
            "units_moved": map_.transfers.units_moved,
            "mu": map_.mu,
            "least_mu": self.others["optimal"].mu if "optimal" in self.others else None,
            "u2_sum": map_.measures.u2_sum,
            "u2_mean": map_.measures.u2_mean,
            "at_threshold": int(at_threshold.sum()),
            "raised": int(raised.sum()),
        }


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
