"""Ready-made tables: ``<READTABLE>``, with the statuses, levels, costs and contributions that the file gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.argus.blocks import Block, Specified
from cellguard.argus.costs import cost_of
from cellguard.argus.own_table import (
    MANUAL,
    PROTECTED,
    SAFE,
    SAFE_MANUAL,
    SECONDARY,
    UNSAFE,
    ArgusTable,
    Status,
    keys_of,
)
from cellguard.argus.places import Places
from cellguard.argus.primary import Looked, floored, judge, manual_levels
from cellguard.argus.records import numbers_of, plain_text, read_fields
from cellguard.argus.spanning import Spanning, padded, spanning_of
from cellguard.argus.totals import Cells, Totals, with_totals
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.hierarchy.hierarchy import Hierarchy
from cellguard.hierarchy.recode import cut
from cellguard.microdata.rda import Metadata, Variable, read_rda_of_cells
from cellguard.table.fact import Count, Top, Total
from cellguard.table.facts import Facts
from cellguard.table.table import rounding_of

_EMPTY_LETTERS = ("E", "Z")


def tables_of_files(block: Block, places: Places, tell: Callable[[str], None]) -> list[ArgusTable]:
    """Read all tables of a block, each from its own file or several from one."""
    return [_Reader(table, block, places, tell).read() for table in block.tables]


@dataclass(frozen=True)
class _Said:
    """What the columns of a file say of statuses and levels; ``status`` is 0 where nothing is."""

    status: Status
    lower: FloatArray
    upper: FloatArray


class _Reader:
    """Reads one table."""

    def __init__(self, table: Specified, block: Block, places: Places, tell: Callable[[str], None]) -> None:
        self.table, self.block, self.places, self.tell = table, block, places, tell
        self.spec, self.rule = table.spec, table.rule
        self.metadata = read_rda_of_cells(places.find(table.metadata))
        self.path = places.find(table.data, self.metadata.folder)
        self.fields = read_fields(self.path, self.metadata)
        self.lines = _line_numbers(self.path)

    def read(self) -> ArgusTable:
        """Read the table, compute what totals are asked for, and apply its rules."""
        spanning, codes = self._codes()
        shape = [len(s.tree.codes) for s in spanning]
        response = self._response()
        value = self._numbers(response)
        freq, counted = self._freq(value)
        shadow_name = self.spec.shadow
        shadow = self._numbers(self._named(shadow_name)) if shadow_name else value.copy()
        tops = self._tops(shadow, freq, counted)
        here = Cells(codes, value, freq, shadow, tops)
        used = (freq != 0) | (value != 0)
        self._refuse_repeats(keys_of(codes, shape), used)
        said = self._said(value, freq)
        cost = cost_of(self.spec, value, freq, self._costs())
        found = self._totals(here.take(used), spanning)
        rows = np.flatnonzero(used)
        old = np.where(found.old >= 0, rows[np.maximum(found.old, 0)] if len(rows) else -1, -1)
        own = _decimals(found.cells.value)
        decimals = own if response.decimals is None else min(response.decimals, own)
        made = ArgusTable(
            number=self.table.number,
            name=f"table{self.table.number}",
            spanning=tuple(spanning),
            response="Freq" if self.spec.is_count else response.name,
            is_count=self.spec.is_count,
            decimals=decimals,
            rule=self.rule,
            codes=found.cells.codes,
            value=found.cells.value,
            freq=found.cells.freq,
            holdings=np.zeros(len(found.cells.value)),
            shadow=found.cells.shadow,
            cost=np.where(old >= 0, cost.numbers[old], np.abs(found.cells.value)),
            tops=found.cells.tops,
            status=np.full(len(old), SAFE, np.int8),
            lower=np.zeros(len(old)),
            upper=np.zeros(len(old)),
            counted=counted,
            cost_name=cost.name,
            shadow_name=shadow_name or ("" if self.spec.is_count else response.name),
            tolerance=found.off,
            distant=cost.distant,
            declared=None if self.spec.is_count else response.decimals,
        )
        judged = self._judged(made, said, old)
        self.tell(
            f"Table {self.table.number}: {' x '.join(self.spec.by)} | {made.response}: {len(made):,} cells, "
            f"{int(judged.unsafe.sum()):,} unsafe"
        )
        return judged

    def _codes(self) -> tuple[list[Spanning], np.ndarray]:
        """Return the spanning variables, and the place of each row's codes in their trees."""
        spanning, columns = [], []
        quoted = _is_quoted(self.path)
        for name in self.spec.by:
            variable = self._named(name)
            column = self.fields.column(variable.name)
            column = column if quoted else pc.utf8_trim_whitespace(column)
            hrc = self.places.find(variable.hrc, self.metadata.folder, self.path.parent) if variable.hrc else None
            found = column.unique().to_pylist()
            # What stands behind the name of a column are codes for missing only if the table has them.
            present = tuple(code for code in variable.missing if padded(code, 0) in {f.strip() for f in found})
            one = _pruned(spanning_of(replace(variable, missing=present, name=name), found, hrc), found)
            place = {code: self._place(one, code) for code in found}
            written = column.to_pylist()
            positions = np.array([place[code] for code in written], np.int32)
            if (positions < 0).any():
                row = int(np.flatnonzero(positions < 0)[0])
                known = [code.strip() for code in one.tree.codes]
                hint = did_you_mean(written[row].strip(), known)
                raise InputError(f"{self._where(row, variable)}: a code of {name!r} is not known{hint}")
            spanning.append(one)
            columns.append(positions)
        return spanning, np.stack(columns, axis=1)

    @staticmethod
    def _place(spanning: Spanning, written: str) -> int:
        code = spanning.code(written)
        return -1 if code is None else spanning.tree.position[code]

    def _named(self, name: str) -> Variable:
        for variable in self.metadata.variables:
            if variable.name.lower() == name.lower():
                return variable
        names = [v.name for v in self.metadata.variables]
        raise InputError(f"{self.metadata.source}: no variable {name!r}{did_you_mean(name, names)}")

    def _response(self) -> Variable:
        if not self.spec.is_count:
            return self._named(self.spec.response)
        counts = [v for v in self.metadata.variables if v.role == "count"]
        if not counts:
            raise InputError(f"{self.metadata.source}: <freq> is asked for, but no variable has <FREQUENCY>")
        return counts[0]

    def _numbers(self, variable: Variable) -> FloatArray:
        return numbers_of(self.fields.column(variable.name), (), self.path.name, variable.name)[0]

    def _of_role(self, role: str) -> list[Variable]:
        return [v for v in self.metadata.variables if v.role == role]

    def _freq(self, value: FloatArray) -> tuple[FloatArray, bool]:
        """Return the number of contributors, 1 for each cell if nobody counted them."""
        counts = self._of_role("count")
        if not counts:
            self.tell(f"Table {self.table.number}: no variable has <FREQUENCY>; every cell has frequency 1")
            return np.ones(len(value)), False
        freq = self._numbers(counts[0])
        self._refuse(freq < 0, counts[0], "a frequency is below 0; correct it")
        bad = (freq == 0) & (value != 0)
        self._refuse(bad, counts[0], "the frequency is 0, but the response is not; correct one")
        return freq, True

    def _refuse(self, bad: BoolArray, variable: Variable, words: str) -> None:
        """Refuse the first row that is bad."""
        if bad.any():
            raise InputError(f"{self._where(int(np.flatnonzero(bad)[0]), variable)}: {words}")

    def _tops(self, shadow: FloatArray, freq: FloatArray, counted: bool) -> FloatArray:
        """Return the largest contributions; one that is left open is as large as it can be."""
        columns = self._of_role("top")
        tops = np.zeros((len(shadow), len(columns)))
        left, guessed = np.abs(shadow), 0
        for rank, variable in enumerate(columns):
            text = pc.utf8_trim_whitespace(self.fields.column(variable.name))
            blank = np.asarray(pc.is_in(text, pa.array(["", ".", "-"])).to_numpy(), bool)
            numbers = self._numbers(variable)
            most = np.minimum(left, tops[:, rank - 1]) if rank else left
            unknown = blank & ((freq > rank) if counted else (most > 0))
            guessed += int(unknown.sum())
            tops[:, rank] = np.where(unknown, most, numbers)
            rising = tops[:, rank] > most + 1e-9 * np.maximum(np.abs(shadow), 1)
            words = "a contribution is larger than the one before it, or than what is left of the response"
            self._refuse(rising, variable, f"{words}; give the largest first")
            left = np.maximum(left - tops[:, rank], 0)
        if guessed:
            self.tell(f"{guessed:,} largest contributions are blank; the rules take them as large as they can be")
        return tops

    def _costs(self) -> FloatArray | None:
        if self.spec.cost in {"", "-1", "-2", "-3"}:
            return None
        return self._numbers(self._named(self.spec.cost))

    def _totals(self, cells: Cells, spanning: list[Spanning]) -> Totals:
        asked = 0 if self.block.read is None else self.block.read.totals
        if asked == 0:
            return Totals(cells, np.arange(len(cells.value)), None)
        found = with_totals(cells, [s.tree for s in spanning])
        changed = int((found.old < 0).sum())
        if asked == 2:
            self.tell(f"Table {self.table.number}: sums may be off by {found.off or 0:g}")
            return Totals(cells, np.arange(len(cells.value)), found.off)
        if changed:
            self.tell(f"Table {self.table.number}: {changed:,} totals were missing or no sums, and have been computed")
        return Totals(found.cells, found.old, None)

    def _said(self, value: FloatArray, freq: FloatArray) -> _Said:
        """Read the statuses and levels of a file, if they count."""
        n = len(value)
        silent = _Said(np.zeros(n, np.int8), np.full(n, np.nan), np.full(n, np.nan))
        columns = self._of_role("status")
        if not self.rule.uses_status or not columns:
            return silent
        words = [word.strip() for word in self.fields.column(columns[0].name).to_pylist()]
        meaning = _meanings(self.metadata)
        for row, word in enumerate(words):
            if word.upper() not in meaning:
                known = ", ".join(sorted(meaning))
                shown = f" {word!r}" if len(word) < 3 and word.isalpha() else ""  # else it may be a value
                raise InputError(f"{self._where(row, columns[0])}: unknown status{shown}; known are {known}")
        status = np.array([meaning[word.upper()] for word in words], np.int8)
        return _Said(status, *(self._levels(role) for role in ("lower", "upper")))

    def _levels(self, role: str) -> FloatArray:
        columns = self._of_role(role)
        if not columns:
            return np.full(len(self.fields), np.nan)
        text = pc.utf8_trim_whitespace(self.fields.column(columns[0].name))
        blank = np.asarray(pc.is_in(text, pa.array(["", ".", "-"])).to_numpy(), bool)
        levels = np.where(blank, np.nan, self._numbers(columns[0]))
        self._refuse(levels < 0, columns[0], "a protection level is below 0; levels are distances from the value")
        return levels

    def _judged(self, table: ArgusTable, said: _Said, old: np.ndarray) -> ArgusTable:
        """Apply the rules, or take the statuses that are given."""
        if not self.rule.uses_status:
            return self._by_rules(table)
        given = old >= 0
        status = np.where(given, said.status[old], 0)
        status = np.where(status == 0, SAFE_MANUAL, status).astype(np.int8)
        lower, upper = manual_levels(table.with_status(status), np.isin(status, UNSAFE))
        for level, mine in ((lower, said.lower), (upper, said.upper)):
            wanted = np.where(given, mine[old], np.nan)
            here = np.isin(status, UNSAFE) & ~np.isnan(wanted)
            level[here] = wanted[here]
        none = np.isin(status, UNSAFE) & (lower + upper <= 0)  # an unsafe cell is never known exactly
        return replace(table, status=status, lower=lower, upper=np.where(none, table.unit, upper))

    def _by_rules(self, table: ArgusTable) -> ArgusTable:
        rule = self.rule
        if rule.holdings.applies or rule.weighted:
            raise InputError(f"table {self.table.number}: a ready-made table has neither holdings nor weights")
        if table.tops.shape[1] < rule.respondents.ranks:
            raise InputError(
                f"{self.metadata.source}: the rules look at the {rule.respondents.ranks} largest contributions, and "
                f"{table.tops.shape[1]} variables have <MAXSCORE>; add them"
            )
        if rule.respondents.requested:
            raise InputError(f"table {self.table.number}: REQ needs the records, and this is a ready-made table")
        if rule.respondents.frequent and not table.counted and not table.is_count:
            raise InputError(f"{self.metadata.source}: FREQ needs a variable with <FREQUENCY>; add one")
        ranks = table.tops.shape[1]
        facts: dict[object, object] = {Total(): table.shadow, Count(): table.freq}
        if ranks:
            facts[Top(ranks)] = table.tops
        seen = Looked(Facts(facts), table.freq)  # type: ignore[arg-type]
        judged = judge(rule, table.value, table.unit, seen, None, table.freq)
        status = judged.status
        if rule.missing_is_safe:
            for spanning, column in zip(table.spanning, table.codes.T, strict=True):
                status[np.isin(column, [spanning.tree.position[code] for code in spanning.missing])] = SAFE
        lower, upper = floored(status, judged.lower, judged.upper, table.unit)
        return replace(table, status=status, lower=lower, upper=upper)

    def _refuse_repeats(self, keys: np.ndarray, used: BoolArray) -> None:
        rows = np.flatnonzero(used)
        order = rows[np.argsort(keys[rows], kind="stable")]
        again = np.flatnonzero(keys[order][1:] == keys[order][:-1])
        if len(again):
            first, second = int(order[again[0]]), int(order[again[0] + 1])
            raise InputError(f"{self.path.name} line {self.lines[second]}: the same cell as line {self.lines[first]}")

    def _where(self, row: int, variable: Variable) -> str:
        column = [v.name for v in self.metadata.variables].index(variable.name) + 1
        return f"{self.path.name} line {self.lines[row]}, field {column}"


def _meanings(metadata: Metadata) -> Mapping[str, int]:
    """Return what each status of a file means; those of the metadata go before the usual ones."""
    usual = {"S": SAFE, "U": MANUAL, "P": PROTECTED, "M": SECONDARY, **dict.fromkeys(_EMPTY_LETTERS, SAFE), "": SAFE}
    own = {"<SAFE>": SAFE, "<UNSAFE>": MANUAL, "<PROTECT>": PROTECTED}
    return usual | {metadata.letters[key].strip().upper(): status for key, status in own.items()}


def _pruned(spanning: Spanning, found: list[str]) -> Spanning:
    """Return a variable without the codes below those that are the most detailed ones of the table."""
    tree = spanning.tree
    below = np.zeros(len(tree.codes), bool)  # whether the code or one below it is in the table
    below[[tree.position[code] for code in map(spanning.code, found) if code]] = True
    deeper = np.zeros(len(tree.codes), bool)
    for position in range(len(tree.codes) - 1, 0, -1):
        above = tree.parent[position]
        deeper[above] |= below[position]
        below[above] |= below[position]
    inner = set(tree.parent[1:].tolist())
    stumps = [tree.codes[i] for i in sorted(inner) if below[i] and not deeper[i]]
    if not stumps:
        return spanning
    kept = cut(tree, stumps)
    return replace(spanning, tree=Hierarchy(kept.codes, kept.parent))


def _is_quoted(path: Path) -> bool:
    return plain_text(path).lstrip()[:1] == '"'


def _line_numbers(path: Path) -> list[int]:
    return [number for number, line in enumerate(plain_text(path).split("\n"), 1) if line.strip()]


def _decimals(numbers: FloatArray) -> int:
    half = rounding_of(numbers)
    return 0 if half == 0 else 6 if np.isnan(half) else round(-np.log10(2 * half))
