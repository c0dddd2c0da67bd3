"""From records and the commands about them to tables: ``<READMICRODATA>`` with ``<RECODE>``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from cellguard.argus import commands as c
from cellguard.argus.batch_methods import METHODS
from cellguard.argus.blocks import Block, Specified
from cellguard.argus.costs import Cost, cost_of
from cellguard.argus.faults import placed
from cellguard.argus.own_table import SAFE, UNSAFE, ArgusTable, keys_of
from cellguard.argus.places import Places
from cellguard.argus.primary import Looked, floored, judge
from cellguard.argus.recoding import by_file, to_level
from cellguard.argus.records import codes_of, numbers_of, read_fields
from cellguard.argus.safety_rule import Level
from cellguard.argus.spanning import Spanning, spanning_of
from cellguard.argus.tabulating import Records, Tabulated, tabulate
from cellguard.arrays import BoolArray, FloatArray
from cellguard.errors import InputError, did_you_mean
from cellguard.microdata.rda import Metadata, Variable, read_rda
from cellguard.run_context import Run
from cellguard.table.fact import Requested
from cellguard.table.table import rounding_of

_YES, _NO = "yes", "no"


def tables_of_records(
    block: Block, places: Places, tell: Callable[[str], None], run: Run
) -> tuple[list[ArgusTable], Records]:
    """Read the records of a block, and make all of its tables; return these and the records."""
    first = block.tables[0]
    metadata = read_rda(places.find(first.metadata), elsewhere=True)
    records, decimals = _read(block, metadata, places.find(first.data), places, tell)
    tables = []
    for table in block.tables:
        made = _Maker(records, metadata, table, decimals, run).make()
        tell(
            f"Table {table.number}: {' x '.join(table.spec.by)} | {made.response}: {len(made):,} cells, "
            f"{int(made.unsafe.sum()):,} unsafe"
        )
        tables.append(made)
    return tables, records


def _read(
    block: Block, metadata: Metadata, path: Path, places: Places, tell: Callable[[str], None]
) -> tuple[Records, dict[str, int]]:
    """Read the variables that the tables need; the codes are those after recoding."""
    fields = read_fields(path, metadata)
    columns: dict[str, pa.Array] = {}
    spanning: dict[str, Spanning] = {}
    for name in dict.fromkeys(name for table in block.tables for name in table.spec.by):
        variable = _categorical(metadata, name)
        codes, index = codes_of(fields, variable, metadata.delimiter is not None)
        hrc = places.find(variable.hrc, metadata.folder, path.parent) if variable.hrc else None
        before = spanning_of(variable, codes, hrc)
        spanning[name], new = _recoded(
            before, [r for r in block.recodes if r.variable.lower() == name.lower()], places, tell, block.name
        )
        columns[name] = _meant(before, new, codes, path.name).take(index)
    _refuse_strangers(block, spanning)
    decimals: dict[str, int] = {}
    for name in dict.fromkeys(n for table in block.tables for n in _numeric(table)):
        variable = metadata.variable(name)
        numbers, absent = numbers_of(fields.column(name), variable.missing, path.name, name)
        if absent:
            tell(f"{absent:,} records have no number in {name!r}; they count as 0")
        columns[f"number {name}"] = pa.array(numbers)
        decimals[name] = min(variable.decimals or 0, decimals_of(numbers))
    roles = _roles(block, metadata, fields, columns, path.name)
    return Records(pa.table(columns), spanning, roles), decimals


def _categorical(metadata: Metadata, name: str) -> Variable:
    variable = next((v for v in metadata.variables if v.name.lower() == name.lower()), None)
    if variable is None:
        raise InputError(
            f"{metadata.source}: no variable {name!r}{did_you_mean(name, [v.name for v in metadata.variables])}"
        )
    if not variable.is_code and variable.is_number:
        raise InputError(f"{metadata.source}: {name!r} is not a spanning variable; add <RECODEABLE> to it")
    return replace(variable, name=name)


def _numeric(table: Specified) -> list[str]:
    spec = table.spec
    cost = [] if spec.cost in {"", "-1", "-2", "-3"} else [spec.cost]
    return [name for name in ([] if spec.is_count else [spec.response]) + [spec.shadow] + cost if name]


def _recoded(
    spanning: Spanning, recodes: Sequence[c.Recode], places: Places, tell: Callable[[str], None], name: str
) -> tuple[Spanning, dict[str, str]]:
    """Return a variable after all its recodings, the last one counting, and the new code of each leaf."""
    if not recodes:
        return spanning, {}
    last = recodes[-1]
    with placed(name, last.line):
        found = to_level(spanning, last.level) if last.level else by_file(spanning, places.find(last.file))
    tell(f"Variable {spanning.name} has been recoded: {found.closed} codes closed or merged")
    return found.spanning, found.code


def _meant(spanning: Spanning, new: dict[str, str], codes: Sequence[str], file: str) -> pa.Array:
    """Return the code of the tree for each different code of the records."""
    leaves = set(spanning.tree.leaves)
    meant = []
    for code in codes:
        own = spanning.code(code) if code.strip() else None
        if own is None and not code.strip() and spanning.missing:
            own = spanning.missing[0]
        if own is None or own not in leaves:
            what = (
                "blank" if not code.strip() else "not in the hierarchy" if own is None else "no code of a single record"
            )
            cure = f"correct {spanning.variable.hrc or 'the records'}, or name it as a code for missing"
            raise InputError(f"{file}: a code of {spanning.name!r} is {what}; {cure}")
        meant.append(new.get(own, own))
    return pa.array(meant, pa.string())


def _refuse_strangers(block: Block, spanning: dict[str, Spanning]) -> None:
    for recode in block.recodes:
        if recode.variable.lower() not in {name.lower() for name in spanning}:
            with placed(block.name, recode.line):
                raise InputError(
                    f"no table has the variable {recode.variable!r}{did_you_mean(recode.variable, spanning)}"
                )


def _roles(
    block: Block, metadata: Metadata, fields: pa.Table, columns: dict[str, pa.Array], file: str
) -> dict[str, str]:
    """Add the columns of weights, holdings and requests that the rules need; return their names."""
    roles = {}
    rules = [table.rule for table in block.tables]
    if any(rule.weighted for rule in rules):
        name = _role(metadata, "weight", "WGT(1)")
        columns["weight"] = pa.array(numbers_of(fields.column(name), (), file, name)[0])
        roles["weight"] = "weight"
    if any(rule.holdings.applies for rule in rules):
        columns["holding"] = fields.column(_role(metadata, "holding", "a rule about holdings")).combine_chunks()
        roles["holding"] = "holding"
    if any(level.requested for rule in rules for level in (rule.respondents, rule.holdings)):
        name = _role(metadata, "request", "REQ")
        wanted = [code.strip() for code in metadata.variable(name).request]
        said = [text.strip() for text in fields.column(name).to_pylist()]
        for number, code in enumerate(wanted):
            columns[f"request {number}"] = pa.array([_YES if text == code else _NO for text in said])
        roles |= {f"request {number}": f"request {number}" for number in range(len(wanted))}
    key = metadata.of_role("record_key")
    if key is not None and any(METHODS[said.method].file for said in block.suppress):
        columns["key of the record"] = pa.array(numbers_of(fields.column(key), (), file, key)[0])
        roles["record_key"] = "key of the record"
    return roles


def _role(metadata: Metadata, role: str, wanted: str) -> str:
    name = metadata.of_role(role)
    if name is None:
        raise InputError(
            f"{metadata.source}: {wanted} needs a variable with <{role.upper()}>; name one, or leave it out"
        )
    return name


def decimals_of(numbers: FloatArray) -> int:
    """Return how many decimals numbers have, 6 at most."""
    half = rounding_of(numbers)
    return 0 if half == 0 else 6 if np.isnan(half) else round(-np.log10(2 * half))


class _Maker:
    """Makes one table of the records."""

    def __init__(
        self, records: Records, metadata: Metadata, table: Specified, decimals: dict[str, int], run: Run
    ) -> None:
        self.records, self.metadata, self.table, self.decimals, self.run = records, metadata, table, decimals, run
        self.spec, self.rule = table.spec, table.rule
        self.spanning = tuple(records.spanning[name] for name in self.spec.by)
        self.shape = [len(s.tree.codes) for s in self.spanning]

    def _tabulate(self, value: str, level: Level, **more: object) -> Tabulated:
        """Tabulate a variable, '' for the number of records."""
        column = f"number {value}" if value else "count"
        return tabulate(self.records, self.spec.by, column, level, run=self.run, **more)  # type: ignore[arg-type]

    def make(self) -> ArgusTable:
        """Make the table, and apply its rules."""
        rule, weighted = self.rule, self.rule.weighted
        response = "" if self.spec.is_count else self.spec.response
        counts = self._tabulate("", Level())
        keys, freq = keys_of(counts.codes, self.shape), counts.facts.total
        value = self._values(response, keys, weighted)
        shadow_name = self.spec.shadow or response
        seen = self._look(shadow_name, keys, rule.respondents, freq)
        held = self._look(shadow_name, keys, rule.holdings, freq, holdings=True) if rule.holdings.applies else None
        decimals = self.decimals.get(response, 0) if response else decimals_of(value)
        unit = 10.0**-decimals
        judged = judge(rule, value, unit, seen, held, freq)
        status = judged.status
        if rule.missing_is_safe:
            status[self._missing(counts)] = SAFE
        lower, upper = floored(status, judged.lower, judged.upper, unit)
        cost = self._cost(keys, value, freq)
        ranks = rule.respondents.ranks
        return ArgusTable(
            number=self.table.number,
            name=f"table{self.table.number}",
            spanning=self.spanning,
            response=response or "Freq",
            is_count=not response,
            decimals=decimals,
            rule=rule,
            codes=counts.codes,
            value=value,
            freq=freq,
            holdings=np.zeros(len(freq)) if held is None else held.freq,
            shadow=seen.facts.total if not self.spec.is_count else value,
            cost=cost.numbers,
            tops=_tops(seen, ranks),
            status=status,
            lower=lower,
            upper=upper,
            cost_name=cost.name,
            shadow_name=shadow_name,
            holding_tops=np.zeros((0, 0)) if held is None else _tops(held, rule.holdings.ranks),
            distant=cost.distant,
            declared=(self.metadata.variable(response).decimals or 0) if response else None,
        )

    def _values(self, response: str, keys: np.ndarray, weighted: bool) -> FloatArray:
        made = self._tabulate(response, Level(), weighted=weighted)
        return made.facts.total[made.at(keys, self.shape)]

    def _look(
        self,
        value: str,
        keys: np.ndarray,
        level: Level,
        freq: FloatArray,
        *,
        holdings: bool = False,
    ) -> Looked:
        weighted = self.rule.weighted
        asked, anybody = {}, None
        if not value:  # a table of counts: only FREQ looks at it
            counted = self._tabulate("", Level(), weighted=weighted, holdings=holdings)
            rows = counted.at(keys, self.shape)
            many = counted.facts.count if holdings and counted.facts.count is not None else counted.facts.total
            return Looked(counted.facts.take(rows), many[rows])
        made = self._tabulate(value, level, weighted=weighted, holdings=holdings)
        rows = made.at(keys, self.shape)
        if level.requested:
            for number in range(2):
                if f"request {number}" in self.records.roles:
                    answered = self._tabulate(
                        value, level, weighted=weighted, holdings=holdings, requests=f"request {number}"
                    )
                    made, rows = answered, answered.at(keys, self.shape)
                    asked[number] = np.asarray(answered.facts[Requested()], bool)[rows]
            anybody = self._anybody_asked(keys)
        facts = made.facts.take(rows)
        seen = freq if facts.count is None else facts.count
        if weighted and not holdings and level.frequent:
            weights = self._tabulate("", Level(), weighted=True)
            seen = weights.facts.total[weights.at(keys, self.shape)]
        return Looked(facts, seen, asked, anybody)

    def _anybody_asked(self, keys: np.ndarray) -> BoolArray:
        """Return the cells in which anybody asked for protection."""
        found = np.zeros(len(keys), bool)
        for number in range(2):
            name = f"request {number}"
            if name not in self.records.roles:
                continue
            mine = self.records.columns.filter(pa.compute.equal(self.records.columns.column(name), _YES))
            if mine.num_rows:
                made = tabulate(replace(self.records, columns=mine), self.spec.by, "count", Level(), run=self.run)
                found |= made.at(keys, self.shape) >= 0
        return found

    def _missing(self, counts: Tabulated) -> BoolArray:
        """Return the cells of which some code is one for missing."""
        found = np.zeros(len(counts.codes), bool)
        for spanning, column in zip(self.spanning, counts.codes.T, strict=True):
            found |= np.isin(column, [spanning.tree.position[code] for code in spanning.missing])
        return found

    def _cost(self, keys: np.ndarray, value: FloatArray, freq: FloatArray) -> Cost:
        spec = self.spec
        variable = None
        if spec.cost and spec.cost not in {"-1", "-2", "-3"}:
            variable = self._values(spec.cost, keys, self.rule.weighted)
        return cost_of(spec, value, freq, variable)


def _tops(seen: Looked, ranks: int) -> FloatArray:
    """Return the largest contributions, as many as the rules look at; of counts there are none."""
    known = seen.facts.tops
    if known is None or ranks == 0:
        return np.zeros((len(seen.freq), 0))
    wide = np.zeros((len(seen.freq), ranks))
    most = min(ranks, known.shape[1])
    wide[:, :most] = known[:, :most]
    return wide


__all__ = ["UNSAFE", "decimals_of", "tables_of_records"]
