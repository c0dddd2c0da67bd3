"""The one question to the engine, ``GROUP BY leaf codes, holding``, streamed into arrays; and the records themselves.

Sums must not depend on the order in which threads add, and a margin must be exactly the sum of its parts. So they are
sums of whole numbers: values in units of their last decimal, or of the sixth if they have more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cellguard.errors import InputError, InternalError
from cellguard.microdata.checked import Checked, Spread, several_records
from cellguard.microdata.grouped import COUNT, Grouped, in_several, of_holding
from cellguard.microdata.sql import Sql
from cellguard.microdata.units import Units
from cellguard.run_context import UNWATCHED, Run

_EXACT = 2.0**53
_HUGE_BITS = 125
_CHANGED = "the records changed while they were read; run again when no program writes to them"


@dataclass(frozen=True)
class _Sum:
    """A whole number to add up, and what to divide the sum by."""

    term: str
    unit: str
    double: str

    def of_rows(self) -> str:
        """Return the SQL of the sum over a group."""
        return f"CAST(sum({self.term}) AS {self.double}) / {self.unit}"

    def of_one(self) -> str:
        """Return the SQL of a single record's part."""
        return f"CAST({self.term} AS {self.double}) / {self.unit}"


def group_records(checked: Checked, *, run: Run = UNWATCHED) -> Grouped:
    """Sum the records by leaf codes and holding, in one query; tell how many are read."""
    sums = _sums(checked)
    batches = _stream(checked, _sql_of_groups(checked, sums) if checked.how.holding else _sql_of_singles(checked, sums))
    width = len(checked.how.codes)
    holding, columns = _filled(batches, checked, run)
    if checked.how.holding:
        _order_codes(holding, columns, width)
    if int(columns[width].sum()) != checked.kept:
        raise InputError(f"{checked.opened.name}: {_CHANGED}")
    codes, records, marks = columns[:width], columns[width], columns[-2:]
    keyed = checked.how.key is not None
    added = [column.astype(float, copy=False) for column in columns[width + 1 : -3 if keyed else -2]]
    names = list(checked.roles.responses)
    total = dict(zip(names, added[: len(names)], strict=True))
    has_weights = checked.how.weight is not None
    weighted = dict(zip([*names, COUNT], added[len(names) :], strict=True)) if has_weights else dict(total)
    return Grouped(
        columns=checked.roles.dimensions,
        labels=tuple(checked.labels[name] for name in checked.roles.dimensions),
        codes=tuple(code.astype(np.int32, copy=False) for code in codes),
        holding=holding,
        records=records.astype(np.int64, copy=False),
        total=total,
        weighted=weighted,
        waived=of_holding(marks[0].view(bool), holding, every=True),
        requested=of_holding(marks[1].view(bool), holding, every=False),
        has_weights=has_weights,
        has_requests=checked.roles.request is not None,
        name=checked.opened.name,
        read_units=lambda: read_units(checked),
        notes=(*checked.notes, *_repeats(checked, holding, records)),
        key=columns[-3].astype(np.int64, copy=False) if keyed else None,
        key_modulus=checked.roles.key_modulus if keyed else 1,
    )


def read_units(checked: Checked) -> Units:
    """Return the records themselves, in the order of the source."""
    how, width, ends = checked.how, len(checked.how.codes), len(checked.how.codes) + len(checked.how.values)
    respondent, holding = how.respondent or "nr", how.holding or how.respondent or "nr"
    values = [added.of_one() for added in _sums(checked)[: len(how.values)]]
    weight = f"CAST({how.weight or 1} AS {checked.opened.engine.sql.double})"
    wanted = [*_codes(checked), *values, weight, how.waived, how.requested, respondent, holding, "nr"]
    sql = f"SELECT {_aliased(wanted)} FROM {checked.opened.numbered} WHERE {how.keep}"
    table = pa.Table.from_batches(list(_stream(checked, sql)))
    *columns, respondents, holdings, row = table.columns
    order = np.argsort(_array(row.combine_chunks()), kind="stable")
    plain = [_array(column.combine_chunks())[order] for column in columns]
    return Units(
        columns=checked.roles.dimensions,
        labels=tuple(checked.labels[name] for name in checked.roles.dimensions),
        codes=tuple(code.astype(np.int32) for code in plain[:width]),
        values=dict(zip(checked.roles.responses, (v.astype(float) for v in plain[width:ends]), strict=True)),
        weight=plain[ends].astype(float) if how.weight else None,
        respondent=_dense(respondents)[order],
        holding=_dense(holdings)[order],
        waived=plain[-2].astype(bool),
        requested=plain[-1].astype(bool),
    )


def _why_none(checked: Checked) -> str:
    left = [note.partition(": ")[2].removesuffix(": left out") for note in checked.notes if note.endswith("left out")]
    return ": " + ", ".join(left) if left else ""


def _repeats(checked: Checked, holding: npt.NDArray[np.int64], records: npt.NDArray[np.generic]) -> list[str]:
    """Report respondents with several records, where they take the place of holdings."""
    if checked.roles.holding or not checked.roles.respondent or not len(holding):
        return []
    several = int((np.bincount(holding, records) > 1).sum())
    return [several_records(checked.opened.name, several)] if several else []


def _codes(checked: Checked) -> list[str]:
    labels = {i: checked.labels[name] for i, name in enumerate(checked.roles.dimensions)}
    return checked.opened.engine.number(checked.how.codes, labels)


def _sums(checked: Checked) -> list[_Sum]:
    """Return what to add up: each response; with weights also each weighted response, and the weights."""
    roles, how, spread = checked.roles, checked.how, checked.spread
    for name in roles.responses:
        if spread[name].size >= _EXACT:
            raise InputError(
                f"{checked.opened.name}, column {name!r}: the values add up to more than can be exact; "
                "give them in thousands or millions"
            )
    pairs = list(zip(how.values, (spread[name] for name in roles.responses), strict=True))
    sql = checked.opened.engine.sql
    plain = [_whole(value, here, checked.records, sql) for value, here in pairs]
    if how.weight is None or roles.weight is None:
        return plain
    weights = spread[roles.weight]
    both = [_whole(f"({value}) * {how.weight}", here.times(weights), checked.records, sql) for value, here in pairs]
    return [*plain, *both, _whole(how.weight, weights, checked.records, sql)]


def _whole(number: str, spread: Spread, records: int, sql: Sql) -> _Sum:
    """Count in units of the last decimal that is kept; numbers too large for that, in units of a power of two."""
    decimals = spread.kept
    if spread.largest * 10.0**decimals < _EXACT:
        return _Sum(f"CAST({sql.rounded(f'({number}) * 1e{decimals}')} AS BIGINT)", f"1e{decimals}", sql.double)
    room = _HUGE_BITS - math.frexp(spread.largest)[1] - math.frexp(float(records))[1]
    power = f"{2.0**room:.17e}"
    return _Sum(sql.huge_number(sql.nearest(f"({number}) * {power}")), power, sql.double)


def _aliased(wanted: Sequence[str]) -> str:
    return ", ".join(f"{each} AS a{i}" for i, each in enumerate(wanted))


def _sql_of_groups(checked: Checked, sums: Sequence[_Sum]) -> str:
    """Return the query: one row for each combination of leaf codes and holding, ordered by holding.

    Codes within a holding are put in order afterwards, see `_order_codes`: few holdings have several rows.
    """
    how, opened = checked.how, checked.opened
    codes = [f"k{i}" for i in range(len(how.codes))]
    inner = [f"{code} AS {name}" for code, name in zip(_codes(checked), codes, strict=True)]
    inner += [f"{how.holding} AS h", f"{how.waived} AS waived", f"{how.requested} AS requested"]
    inner += [f"{s.term} AS s{i}" for i, s in enumerate(sums)]
    inner += [f"{how.key} AS key" for _ in _keyed(checked)]
    outer = [*codes, "count(*)", *(replace(s, term=f"s{i}").of_rows() for i, s in enumerate(sums))]
    outer += _keyed(checked, "sum(key)")
    outer += [
        "bool_and(waived)" if checked.roles.waiver else "false",
        "bool_or(requested)" if checked.roles.request else "false",
        "h",
    ]
    keys = ", ".join(["h", *codes])
    return (
        f"SELECT {_aliased(outer)} FROM (SELECT {', '.join(inner)} FROM {opened.scan} WHERE {how.keep}) AS kept "
        f"GROUP BY {keys} ORDER BY h"
    )


def _sql_of_singles(checked: Checked, sums: Sequence[_Sum]) -> str:
    """Return the query where each record is its own holding: nothing to group."""
    how = checked.how
    wanted = [*_codes(checked), "CAST(1 AS BIGINT)", *(s.of_one() for s in sums)]
    wanted += [*_keyed(checked, f"({how.key})"), how.waived, how.requested]
    if checked.opened.origin:
        # What has no order is ordered by what it holds.
        order = ", ".join(str(i + 1) for i in range(len(wanted)))
        return f"SELECT {_aliased([*wanted, '0'])} FROM {checked.opened.scan} WHERE {how.keep} ORDER BY {order}"
    return f"SELECT {_aliased([*wanted, 'nr'])} FROM {checked.opened.numbered} WHERE {how.keep} ORDER BY nr"


def _keyed(checked: Checked, key: str = "") -> list[str]:
    """Return the SQL of a record key, or of the sum of some, modulo its range, if records have any."""
    return [] if checked.how.key is None else [f"CAST({key} % {checked.roles.key_modulus} AS BIGINT)"]


def _stream(checked: Checked, sql: str) -> Iterator[pa.RecordBatch]:
    """Run a query and return its rows in batches, codes as positions in their labels; no row at all is an error."""
    labels = [checked.labels[name] for name in checked.roles.dimensions]
    rows = 0
    for batch in checked.opened.stream(sql):
        if batch.num_rows:
            rows += batch.num_rows
            yield _numbered(batch, labels, checked.opened.name)
    if not rows:
        raise InputError(f"{checked.opened.name}: no record is left{_why_none(checked)}")


def _numbered(batch: pa.RecordBatch, labels: Sequence[Sequence[str]], name: str) -> pa.RecordBatch:
    """Number the codes of a batch, which stand first, where the engine has not done so."""
    columns = list(batch.columns)
    for i, known in enumerate(labels):
        if not pa.types.is_integer(columns[i].type):
            columns[i] = pc.index_in(columns[i].cast(pa.string()), pa.array(known, pa.string()))
            if columns[i].null_count:
                raise InputError(f"{name}: {_CHANGED}")
    return pa.record_batch(columns, [str(i) for i in range(len(columns))])


def _filled(
    batches: Iterator[pa.RecordBatch], checked: Checked, run: Run
) -> tuple[npt.NDArray[np.int64], list[npt.NDArray[np.generic]]]:
    """Return the number of each row's holding, and the other columns.

    There are at most as many rows as records kept, so the arrays are made once and filled: batches that are collected
    and joined take twice the memory.
    """
    holding = np.empty(checked.kept, np.int64)
    columns: list[npt.NDArray[np.generic]] = []
    rows, read, last = 0, 0, None
    for batch in batches:
        *parts, keys = batch.columns
        here = slice(rows, rows + batch.num_rows)
        if here.stop > checked.kept:
            raise InputError(f"{checked.opened.name}: {_CHANGED}")
        plain = [_array(part) for part in parts]
        columns = columns or [np.empty(checked.kept, part.dtype) for part in plain]
        for column, part in zip(columns, plain, strict=True):
            column[here] = part
        if checked.how.holding:
            holding[here] = _holdings(keys, last, int(holding[rows - 1]) if rows else -1)
            last = keys[-1].as_py()
        else:
            holding[here] = np.arange(here.start, here.stop)
        rows, read = here.stop, read + int(plain[len(checked.how.codes)].sum())
        run.heed()
        run.tell(f"{read:,} of {checked.kept:,} records read", read, checked.kept)
    for column in (holding, *columns):
        column.resize(rows, refcheck=False)
    return holding, columns


def _holdings(keys: pa.Array, last: object, number: int) -> npt.NDArray[np.int64]:
    """Number the holdings of a batch, which come in order, on from the last one of the batch before."""
    changed = np.ones(len(keys), np.int64)
    changed[1:] = _array(pc.not_equal(keys[1:], keys[:-1]))
    changed[0] = last is None or keys[0].as_py() != last
    return number + np.cumsum(changed)


def _order_codes(holding: npt.NDArray[np.int64], columns: list[npt.NDArray[np.generic]], width: int) -> None:
    """Put the rows of each holding in the order of their codes, the first columns."""
    rows = in_several(holding)
    order = rows[np.lexsort([*(column[rows] for column in columns[:width][::-1]), holding[rows]])]
    for column in columns:
        column[rows] = column[order]


def _array(column: pa.Array) -> npt.NDArray[np.generic]:
    """Return a column without gaps as an array; not by `to_numpy`, which loads pandas where it is installed."""
    if column.null_count:
        raise InternalError("the records have gaps that their check did not see")
    plain = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    kind = np.dtype("float64" if pa.types.is_float64(plain.type) else str(plain.type))
    if not len(plain):
        return np.zeros(0, kind)
    return np.frombuffer(plain.buffers()[1], kind, len(plain), plain.offset * kind.itemsize)


def _dense(column: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """Return numbers from 0 for the entries of a column, in the order of their sorted values."""
    encoded = column.dictionary_encode().combine_chunks()
    order = _array(pc.sort_indices(encoded.dictionary))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[_array(encoded.indices)]
