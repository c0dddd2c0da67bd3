"""A smoothed map: what would be shown, and how risky it is by the measures of sdcSpatial."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cellguard.arrays import BoolArray, FloatArray
from cellguard.geometry.squaregrid import Squares
from cellguard.methods.maps.shown_result import LocatedResult, Placed
from cellguard.methods.maps.smoothing.kernel_smoothing import Raster
from cellguard.methods.maps.spec import SmoothSpec, table_of
from cellguard.rules.rule import fewest_of
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict

QUESTION = "nothing: smoothing proves nothing, and its measures are of risk only"
_UNDONE = NotChecked("kernel", "attackers who know the kernel and undo the smoothing", "everybody")
_OTHERS = NotChecked("other releases", "other maps and tables of the same records", "everybody")


@dataclass(frozen=True, eq=False)
class SmoothResult(LocatedResult):
    """A map of squares before and after smoothing. Confidential, all but ``shown`` and the release."""

    grid: Squares
    before: Raster
    smoothed: Raster
    bandwidth: float

    @property
    def after(self) -> FloatArray:
        """The smoothed figure of each square that has records."""
        return self.smoothed.total[self.tiles.q - self.smoothed.left, self.tiles.r - self.smoothed.low]

    @property
    def is_shown(self) -> BoolArray:
        """All squares are shown."""
        return np.ones(len(self.tiles.q), bool)

    @property
    def placed(self) -> Placed:
        """Every square that anything of a record reaches."""
        q, r = np.nonzero(self.smoothed.reached)
        return Placed(self.grid, q + self.smoothed.left, r + self.smoothed.low, self.smoothed.total[q, r])

    @property
    def question(self) -> str:
        """Nothing."""
        return QUESTION

    @cached_property
    def measures(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """How many squares are sensitive of how many, before and after."""
        said, fewest = SmoothSpec.of(self.job), fewest_of(table_of(self.job).rules) or 1
        return tuple(  # type: ignore[return-value]
            (int(one.sensitive(said.risk, said.max_risk, fewest).sum()), int(one.reached.sum()))
            for one in (self.before, self.smoothed)
        )

    @cached_property
    def verdict(self) -> Verdict:
        """That nothing is proven; a map is released only if somebody answers for it."""
        (was, of), (is_, all_) = self.measures
        kind = SmoothSpec.of(self.job).risk
        text = (
            f"NOT PROVEN: smoothing proves nothing. By the {kind} risk {is_:,} of {all_:,} squares "
            f"({is_ / max(all_, 1):.1%}) are sensitive, before it were {was:,} of {of:,} ({was / max(of, 1):.1%})"
        )
        accepted = SmoothSpec.of(self.job).unproven == "accept"
        return Verdict(Kind.NOT_PROVEN, text, (_UNDONE, _OTHERS), accepted=accepted)

    def summary(self) -> Summary:
        """Return what was smoothed, how risky it is and what the verdict says; no value of a square."""
        (was, of), (is_, all_) = self.measures
        said = SmoothSpec.of(self.job)
        facts = {
            **self.facts,
            "bandwidth": self.bandwidth,
            "risk": said.risk,
            "max_risk": said.max_risk,
        }
        about = {
            "squares": of,
            "sensitive": was,
            "sensitive_share": was / max(of, 1),
            "shown": all_,
            "still_sensitive": is_,
            "still_sensitive_share": is_ / max(all_, 1),
            "records": int(self.tiles.count.sum()),
        }
        return Summary("smooth", self.verdict, {table_of(self.job).name: about}, self.located.notes, facts)
