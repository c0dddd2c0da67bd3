"""All cells of a suppressed set as files for structural business statistics (SBS): for transmission. Confidential."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cellguard.io.writers.sbs import SAFE, sbs_text, shares
from cellguard.rules.rule import Rule

if TYPE_CHECKING:
    from cellguard.methods.suppress.files.transmission import SentTable

_SECONDARY = "D"


def sbs_cells(sent: Sequence[SentTable]) -> dict[str, str]:
    """Return for each table a line per cell that is published or would be, and not empty: codes, value, respondents,
    flag, and for some flags the shares of the largest.

    The flags, as τ-ARGUS has them: V published, A too few respondents, B dominance of one or any other reason, C
    dominance of more, F p % or prior-posterior, D secondary. A cell that several rules call unsafe has the flag of the
    first. Behind B and C stands the share of the two largest together, behind F that of each, in percent.
    """
    return {here.table.name: sbs_text(_rows(here)) for here in sent}


def _rows(here: SentTable) -> Iterator[tuple[object, ...]]:
    table = here.table
    count = table.facts.count
    if count is None:
        count = table.value if table.is_count else np.full(len(table), np.nan)
    for cell, codes in enumerate(zip(*table.code_texts(), strict=True)):
        status, many = here.status[cell], float(count[cell])
        empty = not many > 0 and float(here.value[cell]) == 0 and status == "published"
        if status == "unpublished" or empty:
            continue
        told = "" if np.isnan(many) else f"{many:.0f}"
        yield (*codes, here.value[cell], told, *_flag(here, cell))


def _flag(here: SentTable, cell: int) -> list[str]:
    """Return the flag of a cell, and the shares that belong to it."""
    if here.status[cell] == "published":
        return [SAFE]
    if here.status[cell] == "secondary":
        return [_SECONDARY]
    fired = (rule for rule, unsafe in zip(here.rules, here.unsafe, strict=True) if unsafe[cell])
    flag = next(fired, Rule).sbs_flag
    facts = here.table.facts
    if flag == "A" or facts.tops is None:
        return [flag]
    largest = np.nan_to_num(facts.tops[cell]).tolist()
    return [flag, *shares(largest, float(facts.basis[cell]), each=flag == "F")]
