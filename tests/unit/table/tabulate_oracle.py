# ruff: noqa: S608  (the text of the queries comes from the tests alone)
"""Tabulation written down once more: plain SQL for the facts that roll up, brute force for the others."""

from __future__ import annotations

from functools import cache
from itertools import product

import duckdb
import numpy as np
import pyarrow as pa

from cellguard.microdata.units import Units
from cellguard.table.fact import Records, Requested, Signs, Unwaived

from oracle import ancestors


def lines(dimension):
    """Return (leaf, code) for every leaf, itself and every code above it in any hierarchy."""
    found = set()
    for hierarchy in dimension.hierarchies:
        above = ancestors(hierarchy)
        found |= {(leaf, code) for leaf in hierarchy.leaves for code in (leaf, *above[leaf])}
    return sorted(found)


def make_units(codes, values, holding, *, weight=None, waived=None, requested=None):
    """Return records from text codes by column, values by response and a name of a holding each."""
    many = len(holding)
    labels = {name: sorted(set(texts)) for name, texts in codes.items()}
    at = {name: {code: i for i, code in enumerate(labels[name])} for name in codes}
    names = {name: i for i, name in enumerate(sorted(set(holding)))}
    return Units(
        columns=tuple(codes),
        labels=tuple(tuple(labels[name]) for name in codes),
        codes=tuple(np.array([at[name][c] for c in texts], np.int32) for name, texts in codes.items()),
        values={name: np.asarray(v, float) for name, v in values.items()},
        weight=None if weight is None else np.asarray(weight, float),
        respondent=np.arange(many),
        holding=np.array([names[name] for name in holding], np.int64),
        waived=np.zeros(many, bool) if waived is None else np.asarray(waived, bool),
        requested=np.zeros(many, bool) if requested is None else np.asarray(requested, bool),
    )


@cache
def connect(threads):
    """Return the one connection with so many threads."""
    connection = duckdb.connect()
    connection.execute(f"set threads = {threads}")
    return connection


def sql_cells(units, by, response, *, top, scale=1, threads=2):
    """Return {codes: (records, holdings, total, positive, negative, largest, asks, unwaived)} from plain SQL.

    Values times ``scale`` are whole, so that sums are exact. One GROUP BY sums holdings inside the cells.
    """
    columns = {
        f"d{i}": pa.array([units.labels[units.columns.index(c)][k] for k in codes.tolist()])
        for i, (c, codes) in enumerate((c, units.codes[units.columns.index(c)]) for c in by)
    }
    columns["h"] = pa.array(units.holding)
    columns["x"] = pa.array(np.rint(units.values[response] * scale).astype(np.int64))
    columns["waived"], columns["asks"] = pa.array(units.waived), pa.array(units.requested)
    connection = connect(threads)
    connection.register("r", pa.table(columns))
    for i, dimension in enumerate(by.values()):
        leaf, code = zip(*lines(dimension), strict=True)
        connection.register(f"a{i}", pa.table({"leaf": list(leaf), "code": list(code)}))
    k = len(by)
    codes = ", ".join(f"c{i}" for i in range(k))
    joins = " ".join(f"join a{i} on a{i}.leaf = r.d{i}" for i in range(k))
    named = ", ".join(f"a{i}.code c{i}" for i in range(k))
    found = connection.execute(
        "with asking as (select h, bool_and(waived) waived, bool_or(asks) asks from r group by h), "
        f"part as (select {named}, r.h, sum(x)::bigint x, count(*) n from r {joins} group by all), "
        f"ranked as (select p.*, s.waived, s.asks, "
        f"row_number() over (partition by {codes} order by x desc, h) rank, "
        f"row_number() over (partition by {codes}, waived order by x desc, h) inner_rank "
        "from part p join asking s using (h)) "
        f"select {codes}, sum(n)::bigint, count(*), sum(x)::bigint, coalesce(sum(x) filter (x > 0), 0)::bigint, "
        f"coalesce(sum(x) filter (x < 0), 0)::bigint, list(x order by rank) filter (rank <= {top}), "
        f"bool_or(asks) filter (rank = 1), max(x) filter (inner_rank = 1 and not waived) from ranked group by {codes}"
    ).fetchall()
    return {row[:k]: row[k:] for row in found}


def found_cells(table, *, scale=1):
    """Return the same of a tabulated table."""
    facts = table.facts
    codes = zip(
        *([d.codes[c] for c in column.tolist()] for d, column in zip(table.dimensions, table.codes, strict=True)),
        strict=True,
    )
    whole = [np.rint(np.asarray(a) * scale).astype(np.int64).tolist() for a in (facts.total, *facts[Signs()].T)]
    tops = np.rint(facts.tops * scale).astype(np.int64).tolist()
    count = facts.count.astype(int).tolist()
    free = [None if np.isnan(x) else round(x * scale) for x in facts[Unwaived(1)][:, 0].tolist()]
    records, asked = facts[Records()].astype(int).tolist(), facts[Requested()].tolist()
    rows = zip(records, count, *whole, tops, asked, free, strict=True)
    return {
        key: (n, many, x, up, down, tops[:many], asks, unwaived)
        for key, (n, many, x, up, down, tops, asks, unwaived) in zip(codes, rows, strict=True)
    }


def members(units, by):
    """Return {codes: positions of the records in that cell}, by brute force."""
    above = [{} for _ in by]
    for d, dimension in enumerate(by.values()):
        for leaf, code in lines(dimension):
            above[d].setdefault(leaf, []).append(code)
    found = {}
    for i in range(len(units)):
        own = [units.labels[units.columns.index(c)][units.codes[units.columns.index(c)][i]] for c in by]
        for cell in product(*(above[d][code] for d, code in enumerate(own))):
            found.setdefault(cell, []).append(i)
    return found
