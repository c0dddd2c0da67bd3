"""Check a folder of rounded tables against its seal: the rounding is worked out again, without the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.errors import InputError, file_name
from cellguard.verifier.digests import check_digests
from cellguard.verifier.hierarchies import Dimension, read_dimensions
from cellguard.verifier.numbers import Bools, bools, grains
from cellguard.verifier.released import METADATA, read_released
from cellguard.verifier.rounded_tables import RoundedTable, conventional, read_table
from cellguard.verifier.stages import Refused, attempt
from cellguard.verifier.stored import Folder, read_bytes, read_json
from cellguard.verifier.verify import Check, Verification
from cellguard.verifier.words import SUMMARY

SEAL = "rounding.json"
NOT_CHECKED = (
    "which cells are unsafe and what they need: the rules are not applied again",
    "that every value of an interval is possible: no witnesses are stored",
    "what respondents can work out",
    "that chance came from the stored seed",
    "pages, and public files that are no CSV files, but for their digests",
)


def verify_rounded(
    seal: str | Path, *, release: str | Path | None = None, internal: str | Path | None = None
) -> Verification:
    """Check an output folder of rounded tables; whatever is wrong with its files is a failed check."""
    path = Path(seal)
    if not path.is_file():
        raise InputError(f"{file_name(path)} is not a file; name an output folder of rounded tables")
    inner = Path(internal).resolve() if internal is not None else path.absolute().parent
    outer = Path(release).resolve() if release is not None else inner.parent / "release"
    work = _Work(path, Folder(outer, inner))
    checks = tuple(_run(number, name, method) for number, (name, method) in enumerate(work.checks, 1))
    claims = (str(work.document["headline"]),) if all(check.passed for check in checks) else ()
    return Verification(checks, (), (), {}, NOT_CHECKED, claims)


def _run(number: int, name: str, method: Callable[[], str]) -> Check:
    try:
        return Check(number, name, True, attempt(name, method))
    except Refused as error:
        return Check(number, name, False, str(error))


class _Work:
    """The files, each read once and only if a check asks for it."""

    def __init__(self, path: Path, folder: Folder) -> None:
        self._path, self._folder = path, folder
        self.checks: tuple[tuple[str, Callable[[], str]], ...] = (
            ("Digests", self._check_digests),
            ("Claims", self._check_claims),
            ("Released rows", self._check_released),
            ("Rounding", self._check_rounding),
            ("Common cells", self._check_common),
            ("Sums", self._check_sums),
            ("Intervals", self._check_intervals),
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The seal."""
        return read_json(self._path.read_bytes(), SEAL)

    @cached_property
    def _tables(self) -> tuple[RoundedTable, ...]:
        return tuple(read_table(self._folder, said) for said in self.document["tables"])

    @cached_property
    def _dimensions(self) -> Mapping[str, Dimension]:
        return read_dimensions(self._folder, list(dict.fromkeys(d for t in self._tables for d in t.spec.by)))

    @property
    def _released(self) -> bool:
        return bool(self.document["released"])

    def _check_digests(self) -> str:
        return f"{check_digests(self._folder, self.document, own=f'internal/{SEAL}', halves=1 + self._released)} files"

    def _check_claims(self) -> str:
        document, summary = self.document, read_json(read_bytes(self._folder, SUMMARY), SUMMARY)
        for key in ("headline", "verdict", "released", "not_checked"):
            if document.get(key) != summary.get(key):
                raise Refused(f"{SEAL} and {SUMMARY} do not say the same of {key!r}")
        if self._folder.release.is_dir() != self._released:
            raise Refused(f"{SEAL} and the folder do not agree on whether there is a release")
        if not self._released:
            return "verdict and headline; nothing was released"
        if document["verdict"] not in {"safe", "no rule"}:
            raise Refused(f"there is a release, although the verdict is {document['verdict']!r}")
        about = read_json(read_bytes(self._folder, METADATA), METADATA)["tables"]
        if set(about) != {said["name"] for said in document["tables"]}:
            raise Refused(f"{METADATA} names other tables than {SEAL}")
        for said in document["tables"]:
            told = about[said["name"]]
            own = {key: said[key] for key in ("kind", "base", "additive", "steps", "suppress_below") if key in said}
            if told.get("rounding") != own or told.get("decimals") != said["decimals"]:
                raise Refused(f"{METADATA} does not say how table {said['name']} is rounded as {SEAL} does")
        return "verdict, headline, and how the tables are rounded"

    def _check_released(self) -> str:
        if not self._released:
            return "nothing was released"
        rows = 0
        for table in self._tables:
            table.refuse(table.has("unsafe"), "is unsafe, although there is a release")
            columns = read_released(self._folder, table.spec)
            at = np.flatnonzero(table.shown)
            if len(columns[0]) != len(at):
                raise Refused(f"{table.spec.release} does not have the rows that {table.spec.internal} shows")
            for name, column in zip(table.spec.by, columns, strict=False):
                if not bools(pc.equal(column, table.codes(name).take(pa.array(at)))).all():
                    raise Refused(f"{table.spec.release} has other codes, or another order, than {table.spec.internal}")
            seen = table.seen[at]
            flag, value = columns[-1], columns[-2]
            if (bools(pc.equal(flag, "")) != seen).any() or (bools(pc.equal(value, "")) == seen).any():
                raise Refused(f"{table.spec.release} suppresses other cells than {table.spec.internal}")
            told = grains(value.filter(pa.array(seen)), table.spec.decimals, table.spec.release)
            if (told * 10 ** (table.grains - table.spec.decimals) != table.published[at][seen]).any():
                raise Refused(f"{table.spec.release} has other values than {table.spec.internal}")
            rows += len(at)
        return f"{rows} released rows"

    def _check_rounding(self) -> str:
        cells = 0
        for table in self._tables:
            base, least, kept = table.scaled("base"), table.scaled("suppress_below"), table.kept
            true, told = table.value, table.published
            table.refuse(table.seen & kept & (true != told), "is kept, but its true value is not published")
            if table.said["kind"] == "small_counts":
                inner = self._inner(table)
                table.refuse(inner & (true < 0), "has a negative count")
                table.refuse(inner & (true >= base) & (told != true), "is no small count, but was changed")
                table.refuse(inner & (true < base) & (told != 0) & (told != base), "is neither 0 nor the base")
                table.refuse(inner & (true == 0) & (told != 0), "is a zero that was rounded up")
                cells += int(inner.sum())
                continue
            moved = table.seen & ~kept
            table.refuse(moved & (told % base != 0), "is no multiple of the base")
            if table.said["kind"] == "conventional" and not self._coarser(table):
                table.refuse(moved & (told != conventional(true, base)), "is not rounded to the nearest multiple")
            table.refuse(
                moved & (np.abs(told - true) >= (1 + int(table.said.get("steps", 0))) * base * self._coarser_by(table)),
                "is rounded too far",
            )
            small = table.shown & ~kept & (true != 0) & (np.abs(true) < least)
            table.refuse(small & table.seen, "is below the threshold, but is shown")
            cells += int(moved.sum())
        return f"{cells} values"

    def _inner(self, table: RoundedTable) -> Bools:
        """Return the rows that are the sum of no others in any table of the group."""
        wholes = set[frozenset[tuple[str, str]]]()
        for other in (other for other in self._tables if other.spec.group == table.spec.group):
            names = self._names(other)
            for whole, _ in other.families(self._dimensions):
                wholes.update(names[row] for row in whole[whole >= 0].tolist())
        return np.array([name not in wholes for name in self._names(table)], bool)

    def _names(self, table: RoundedTable) -> list[frozenset[tuple[str, str]]]:
        """Return for each row the codes that are not totals."""
        totals = [self._dimensions[name].codes[0] for name in table.spec.by]
        rows = zip(*(table.codes(name).to_pylist() for name in table.spec.by), strict=True)
        return [frozenset((d, c) for d, c, t in zip(table.spec.by, row, totals, strict=True) if c != t) for row in rows]

    def _coarser_by(self, table: RoundedTable) -> int:
        """Return how much coarser the base of a table may be in which some of the cells are that this one has too."""
        group = [other.scaled("base") for other in self._tables if other.spec.group == table.spec.group]
        return -(-max(group) // table.scaled("base"))

    def _coarser(self, table: RoundedTable) -> bool:
        return self._coarser_by(table) > 1

    def _check_common(self) -> str:
        known: dict[tuple[Any, ...], tuple[int, int, bool]] = {}
        shared = 0
        for table in self._tables:
            facts = zip(table.value.tolist(), table.published.tolist(), table.seen.tolist(), strict=True)
            rows = zip(self._names(table), facts, table.shown.tolist(), strict=True)
            for row, (named, said, shown) in enumerate(rows):
                if not shown:
                    continue
                first = known.setdefault((*table.spec.group, named), said)
                if first != said:
                    raise Refused(f"{table.spec.internal} line {row + 2} differs from the same cell of another table")
                shared += first is not said
        return f"{shared} cells that several tables share"

    def _check_sums(self) -> str:
        sums = off = 0
        for table in self._tables:
            here = 0
            for whole, part in table.families(self._dimensions):
                at = np.flatnonzero(part >= 0)
                true, told, blank = (np.zeros(len(whole), np.int64) for _ in range(3))
                np.add.at(true, part[at], table.value[at])
                np.add.at(told, part[at], table.published[at])
                np.add.at(blank, part[at], (~table.seen[at]).astype(np.int64))
                there = whole >= 0
                if (true[there] != table.value[whole[there]]).any():
                    raise Refused(f"{table.spec.internal}: true values do not add up")
                seen = there & (blank == 0) & table.seen[whole]
                here += int((told[seen] != table.published[whole[seen]]).sum())
                sums += int(seen.sum())
            if table.said["kind"] in {"controlled", "small_counts"} and not table.said["additive"]:
                raise Refused(f"table {table.spec.name} is rounded so that it adds up, but is not said to")
            if table.said["additive"] and here:
                raise Refused(f"table {table.spec.name} is said to add up, but {here} published sums do not")
            off += here
        return f"{sums} sums of published values, of which {off} do not add up"

    def _check_intervals(self) -> str:
        cells = 0
        for table in self._tables:
            low, high = table.numbers("interval_lower", -np.inf), table.numbers("interval_upper", np.inf)
            table.refuse((table.value < low) | (table.value > high), "has a value outside its interval")
            down, up, wide = (table.numbers(name, 0.0) for name in ("need_lower", "need_upper", "need_sliding"))
            needy = bools(pc.not_equal(table.columns["need_lower"], "")) & table.shown
            near = (table.value - low < down - 1e-6) | (high - table.value < up - 1e-6) | (high - low < wide - 1e-6)
            table.refuse(needy & near & ~table.has("unsafe"), "does not reach its protection levels")
            cells += int(needy.sum())
        return f"the intervals of {cells} unsafe rows reach their protection levels, but for those called unsafe"
