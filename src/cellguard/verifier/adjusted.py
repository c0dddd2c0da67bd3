"""Check a folder of adjusted tables against its seal: moves and sums are worked out again, without the engine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from cellguard.verifier.numbers import bools
from cellguard.verifier.rounded import Work, verify_sealed
from cellguard.verifier.rounded_tables import RoundedTable, read_table
from cellguard.verifier.stored import Folder
from cellguard.verifier.verify import Verification

SEAL = "adjustment.json"
COLUMNS = ("value", "published", "status", "reasons", "need_below", "need_above")
STATUSES = frozenset({"adjusted", "unchanged", "protected", "kept", "unpublished"})
NOT_CHECKED = (
    "which cells are unsafe and what they need: the rules are not applied again",
    "what somebody who knows the method, the unsafe cells or the sides concludes",
    "that no adjustment is cheaper",
    "sums between tables of different responses",
    "pages, and public files that are no CSV files, but for their digests",
)


def verify_adjusted(
    seal: str | Path, *, release: str | Path | None = None, internal: str | Path | None = None
) -> Verification:
    """Check an output folder of adjusted tables; whatever is wrong with its files is a failed check."""
    return verify_sealed(_Adjusted, seal, release=release, internal=internal)


class _Adjusted(Work):
    """The checks of adjusted tables: those of rounded ones, but for how far values moved."""

    seal: ClassVar[str] = SEAL
    tables_are: ClassVar[str] = "adjusted"
    not_checked: ClassVar[tuple[str, ...]] = NOT_CHECKED
    releasable: ClassVar[frozenset[str]] = frozenset({"safe", "no rule", "not proven"})
    metadata: ClassVar[tuple[str, tuple[str, ...]]] = ("adjustment", ("additive", "weights", "distance"))

    def __init__(self, path: Path, folder: Folder) -> None:
        super().__init__(path, folder)
        self.checks = (
            ("Digests", self._check_digests),
            ("Claims", self._check_claims),
            ("Released rows", self._check_released),
            ("Moves", self._check_moves),
            ("Common cells", self._check_common),
            ("Sums", self._check_sums),
        )

    def _read(self, said: Mapping[str, Any]) -> RoundedTable:
        return read_table(self._folder, said, COLUMNS, STATUSES, {"adjust"})

    def _check_moves(self) -> str:
        cells = 0
        for table in self._tables:
            true, told = table.value, table.published
            unit = 10 ** (table.grains - table.spec.decimals)
            table.refuse(table.seen & (told % unit != 0), "is no whole number of published units")
            table.refuse(table.seen & (true == 0) & (told != 0), "is a true zero that was changed")
            still = table.has("kept") | table.has("unchanged")
            table.refuse(table.seen & still & (2 * np.abs(told - true) > unit), "is said to be unchanged, and is not")
            named = ~bools(pc.equal(table.columns["reasons"], "")) & table.seen
            unsafe = table.has("protected")
            table.refuse(named & ~unsafe, "is unsafe by a rule, but is not said to be protected")
            below, above = table.numbers("need_below", np.inf), table.numbers("need_above", np.inf)
            table.refuse(unsafe & ~((below > 0) & (above > 0)), "is unsafe, but needs no move")
            near = (true - told < below) & (told - true < above)
            table.refuse(unsafe & near, "is unsafe, but did not move far enough")
            cells += int(unsafe.sum())
        return f"{cells} unsafe rows are a protection level away, and zeros and kept values stay"
