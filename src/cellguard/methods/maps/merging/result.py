"""A merged map: what may be shown, what is left out, and what differences tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cellguard.arrays import BoolArray, FloatArray, LongArray
from cellguard.geometry.areas import Areas
from cellguard.geometry.pieces import Quads, Regions
from cellguard.geometry.squaregrid import Squares
from cellguard.geometry.tiling import Tiling
from cellguard.methods.maps.merging.audit import Audit, audit
from cellguard.methods.maps.merging.merge import Merged
from cellguard.methods.maps.places import Tiles
from cellguard.methods.maps.shown_result import LocatedResult, Placed
from cellguard.methods.maps.spec import table_of
from cellguard.seam.summary import Summary
from cellguard.seam.verdict import Kind, NotChecked, Verdict

QUESTION = "whether differences of the cells that are shown, and the total, leave something that a rule finds unsafe"
_PLACES = NotChecked("places", "attackers who know which of the merged cells have records, or some of them", "insiders")
_TOTAL = NotChecked(
    "total", "attackers who know the total, and how cells that are left out beside others are chosen", "insiders"
)
_LIKELY = NotChecked("likelihood", "how likely a merged cell had few records", "everybody")
_OTHERS = NotChecked("other releases", "other maps and tables of the same records", "everybody")


@dataclass(frozen=True, eq=False)
class MergeResult(LocatedResult):
    """A map whose cells were merged. Confidential, all but ``shown`` and the release."""

    merged: Merged
    leaf: LongArray
    value: FloatArray

    @cached_property
    def is_shown(self) -> BoolArray:
        """Which of the cells before are shown as they are: neither merged nor left out."""
        shown = np.zeros(self.merged.tree.leaves, bool)
        shown[self.merged.shown[self.merged.shown < len(shown)]] = True
        return shown[self.leaves_with_records]

    @property
    def leaves_with_records(self) -> LongArray:
        """The leaf of each cell that has records."""
        return self.tiles.q if isinstance(self.tiles.grid, Areas) else np.arange(len(self.tiles.count))

    @property
    def after(self) -> FloatArray:
        """The figure of each cell before that is shown as it is, 0 for the others."""
        return np.where(self.is_shown, self.merged.known.total[self.leaves_with_records], 0.0)

    @cached_property
    def pieces(self) -> Tiling:
        """The cells that are shown."""
        tree, grid, shown = self.merged.tree, self.tiles.grid, self.merged.shown
        if isinstance(grid, Areas):
            members: dict[int, list[int]] = {node: [] for node in shown.tolist()}
            for area, node in enumerate(tree.roots_of(shown).tolist()):
                if node >= 0:
                    members[node].append(area)
            return Regions(grid, tuple(tuple(one) for one in members.values()))
        if not isinstance(grid, Squares):
            raise AssertionError("squares and areas can be merged")
        return Quads(grid, tree.level[shown], tree.q[shown], tree.r[shown])

    @property
    def placed(self) -> Placed:
        """The merged cells with their true figures."""
        number = np.arange(len(self.merged.shown))
        return Placed(self.pieces, number, np.zeros_like(number), self.merged.known.total[self.merged.shown])

    @cached_property
    def audit(self) -> Audit:
        """What differences of the shown cells tell, worked out from the outlines and the records."""
        inside = inside_of(self.pieces, self.tiles)
        figures = self.shown.table().figures
        rules = table_of(self.job).rules
        return audit(inside, figures, self.leaf, self.value, rules, unit=10.0**-self.decimals)

    @property
    def question(self) -> str:
        """What differences tell."""
        return QUESTION

    @cached_property
    def verdict(self) -> Verdict:
        """What is known of the map, and what was not checked; anything strange is unsafe."""
        found, word = self.audit, self.pieces.word
        if not found.is_safe:
            told = f"{found.unsafe:,} differences of shown cells tell what a rule finds unsafe"
            strange = f"{found.wrong + found.overlaps:,} shown cells are not what they should be"
            return Verdict(Kind.UNSAFE, f"UNSAFE: {told if found.unsafe else strange}", (_OTHERS,))
        if not len(self.shown):
            return Verdict(Kind.UNSAFE, "UNSAFE: nothing is left of the map", (_OTHERS,))
        left = ", and so does what is left out, taken together" if len(self.merged.left_out) else ""
        rules = "; ".join(map(str, table_of(self.job).rules))
        text = (
            f"safe from differences: every shown {word} satisfies {rules}{left}; none holds another one, so no "
            "difference of figures, nor of these and the total, tells what a rule finds unsafe"
        )
        total = (_TOTAL,) if len(self.merged.left_out) else ()
        return Verdict(Kind.SAFE, text, (_PLACES, _LIKELY, *total, _OTHERS))

    def summary(self) -> Summary:
        """Return counts, sizes and what the verdict says; no value of a cell."""
        facts = {**self.facts, "pieces": dict(self.pieces.about())}
        known, merged = self.merged.known, self.merged
        lost = int(known.count[merged.left_out].sum())
        about: dict[str, Any] = {
            "cells": len(self.tiles.count),
            "unsafe": int(known.unsafe(table_of(self.job).rules)[self.leaves_with_records].sum()),
            "kept": int(self.is_shown.sum()),
            "shown": len(self.shown),
            "records": int(self.tiles.count.sum()),
            "left_out": len(merged.unsafe),
            "left_out_beside": len(merged.beside),
            "lost_records": lost,
            "lost_share": lost / max(int(self.tiles.count.sum()), 1),
            "remainders": self.audit.remainders,
        }
        return Summary("merge", self.verdict, {table_of(self.job).name: about}, self.notes, facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """What an officer should know beyond the verdict."""
        merged, notes = self.merged, list(self.located.notes)
        if len(merged.left_out):
            many, beside = len(merged.unsafe), len(merged.beside)
            company = f", and {beside:,} safe ones with them, lest the total tell them" if beside else ""
            notes.append(f"{many:,} cells are unsafe at their largest size and are left out{company}")
        into = merged.tree.roots_of(merged.shown)[self.leaves_with_records]
        most = int(np.bincount(into[into >= 0]).max(initial=0))
        if most > len(into) / 2 and most > 1:
            key = "most_areas" if isinstance(self.tiles.grid, Areas) else "largest"
            notes.append(
                f"{most:,} of {len(into):,} cells are shown as one: what is far from all others makes its surroundings "
                f"large; `{key}` leaves it out instead"
            )
        return tuple(notes)


def inside_of(pieces: Tiling, tiles: Tiles) -> list[LongArray]:
    """Return the leaves of each shown cell, by where these are: nothing of the tree is used."""
    if isinstance(pieces, Regions):
        return [np.array(one, np.int64) for one in pieces.members]
    if not isinstance(pieces, Quads):
        raise AssertionError("squares and areas can be merged")
    found: list[list[int]] = [[] for _ in range(len(pieces.level))]
    for level in np.unique(pieces.level).tolist():
        numbers = np.flatnonzero(pieces.level == level).tolist()
        at = {(int(pieces.column[n]), int(pieces.row[n])): n for n in numbers}
        times = 2**level
        for leaf, place in enumerate(zip((tiles.q // times).tolist(), (tiles.r // times).tolist(), strict=True)):
            if place in at:
                found[at[place]].append(leaf)
    return [np.array(one, np.int64) for one in found]
