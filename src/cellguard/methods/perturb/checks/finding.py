"""`Finding`: something that a check before release found, with the cells that it is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, NamedTuple

Kind = Literal[
    "sensitive",
    "implied",
    "disclosed",
    "coalition",
    "interval",
    "range",
    "few",
    "together",
    "ratio",
    "trend",
    "known",
    "conflict",
]


class Cell(NamedTuple):
    """A cell by the name of its table and its own."""

    table: str
    cell: str

    def __str__(self) -> str:
        return f"{self.table}: {self.cell}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found: in which cells, whom it concerns (their keys), and whether it forbids a release.

    ``coefficients`` belong to the cells where it is their combination that discloses something. ``figures`` hold
    confidential numbers, so they stay inside; ``text`` holds none.
    """

    kind: Kind
    text: str
    cells: tuple[Cell, ...]
    blocks: bool = True
    units: tuple[str, ...] = ()
    coefficients: tuple[Fraction, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    def combination(self) -> str:
        """Return the cells with their coefficients, as '1/2 (t: A) - 1/2 (t: B)'."""
        words = []
        for share, cell in zip(self.coefficients, self.cells, strict=False):
            size = "" if abs(share) == 1 else f"{abs(share)} "
            words.append(f"{'-' if share < 0 else '+'} {size}({cell})")
        return " ".join(words).removeprefix("+ ")

    def record(self) -> dict[str, Any]:
        """Return everything as plain data, for the internal report."""
        return {
            "kind": self.kind,
            "blocks": self.blocks,
            "text": self.text,
            "cells": [str(cell) for cell in self.cells],
            "combination": self.combination(),
            "units": list(self.units),
            "figures": dict(self.figures),
        }
