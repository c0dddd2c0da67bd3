"""A large folder is verified in seconds: no step goes through cells or moves one by one."""

import csv
import itertools
import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cellguard.verifier.verify import verify
from unit.verifier import folders

import quick_yaml


def tree(groups, size):
    """Groups of leaves under a total, and for each code the leaves below it."""
    lines, below = [("0", "Total", "", "")], {"Total": range(groups * size)}
    for g in range(groups):
        lines.append(("0", f"g{g}", "Total", ""))
        below[f"g{g}"] = range(g * size, (g + 1) * size)
    for leaf in range(groups * size):
        lines.append(("0", f"l{leaf}", f"g{leaf // size}", ""))
        below[f"l{leaf}"] = range(leaf, leaf + 1)
    return lines, below


def large(folder, groups, size, witnesses):
    """Two dimensions of ``groups`` times ``size`` leaves; every leaf cell is hidden, one in three is primary.

    Leaves pair up, so each block of two by two leaf cells moves in a circle; each witness moves all of them.
    """
    lines, below = tree(groups, size)
    leaves = groups * size
    rng = np.random.default_rng(1)
    inner = rng.integers(1000, 10_000_000, (leaves, leaves))
    primary = rng.random((leaves, leaves)) < 1 / 3
    codes = list(below)
    sums = np.array([[inner[np.ix_(below[a], below[b])].sum() for b in codes] for a in codes])
    content = folders.plan([(folders.spec("big", ["a", "b"]), [])], {"a": lines, "b": lines}, [])
    folders.write(folder, content)
    first = len(codes) - leaves
    hide = np.full(sums.shape, "published", dtype=object)
    hide[first:, first:] = np.where(primary, "primary", "secondary")
    _write_cells(folder, codes, sums, hide)
    i, j = np.meshgrid(np.arange(leaves), np.arange(leaves), indexing="ij")
    row = ((i + first) * len(codes) + j + first).ravel()
    sign = np.where((i + j) % 2 == 0, 1, -1).ravel() * 100
    number = np.repeat(np.arange(witnesses, dtype=np.int32), row.size)
    move = np.concatenate([sign * (-1) ** w for w in range(witnesses)])
    table = {"witness": number, "table": np.zeros(number.size, np.int32), "row": np.tile(row, witnesses)}
    table |= {"move": move, "denominator": np.ones(number.size, np.int64)}
    pq.write_table(pa.table(table), folder / "internal/certificate.parquet")
    path = folder / "internal/certificate.json"
    path.write_text(path.read_text().replace('"witnesses": 0', f'"witnesses": {witnesses}'))
    return folders.seal(folder), sums.size, move.size


def _write_cells(folder, codes, sums, status):
    n = len(codes)
    a, b = np.repeat(codes, n).tolist(), np.tile(codes, n).tolist()
    value, status = sums.ravel(), status.ravel()
    unsafe = status == "primary"
    with (folder / "internal/big.csv").open("w", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(["a", "b", *folders.ROW])
        for k in range(n * n):
            need = ["100", "100", "0"] if unsafe[k] else ["", "", ""]
            out.writerow([a[k], b[k], value[k], 9, status[k], "", 1, *need, "", ""])
    shown = status == "published"
    with (folder / "release/big.csv").open("w", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(["a", "b", "value", "flag"])
        out.writerows([a[k], b[k], value[k] if shown[k] else "", "" if shown[k] else "c"] for k in range(n * n))
    # One contribution makes a cell unsafe; what it needs was said beforehand.
    facts = {"by:a": a, "by:b": b, "total": value.astype(float), "count": np.full(n * n, 9)}
    facts |= {"top1": np.where(unsafe, value, value / 9), "top2": np.where(unsafe, 0.0, value / 9)}
    nothing = pa.nulls(n * n, pa.float64())
    facts |= {"state": pa.nulls(n * n, pa.string())} | dict.fromkeys(folders.SAID[1:], nothing)
    facts["need_upper"] = pa.array(np.where(unsafe, 100.0, np.nan), from_pandas=True)
    pq.write_table(pa.table(facts), folder / "internal/facts/big.parquet")
    hidden = int((~shown).sum())
    about = {"by": ["a", "b"], "response": "turnover", "population": "all", "decimals": 0}
    folders.write_metadata(folder, {"big": about | {"cells": n * n, "suppressed": hidden}})
    _write_summary(folder, status, value[~shown].sum())


def _write_summary(folder, status, hidden):
    counts = {word: int((status == word).sum()) for word in ("published", "primary", "secondary", "unpublished")}
    path = folder / "internal/summary.json"
    found = json.loads(path.read_text())
    found["tables"]["big"] |= {"cells": status.size, **counts, "suppressed_value": float(hidden)}
    found["set"] |= {"cells": status.size, "primary": counts["primary"], "secondary": counts["secondary"]}
    found["set"]["witnesses"] = 16
    folders.write_json(path, found)
    job = quick_yaml.load((folder / "internal/job.yaml").read_text())
    job["tables"][0]["apriori"] = "said.csv"
    folders.write_job(folder, job)


def test_twenty_thousand_cells_in_seconds(tmp_path):
    certificate, cells, moves = large(tmp_path / "out", groups=8, size=16, witnesses=16)
    begin = time.process_time()
    found = verify(certificate)
    seconds = time.process_time() - begin
    assert [c.detail for c in found.checks if not c.passed] == []
    assert (cells, moves) == (137**2, 128**2 * 16) and seconds < 10


def crossing(folder, sizes, witnesses):
    """Three two-way tables and every cell of the crossing table behind them; each witness moves all of these."""
    trees = {d: [("0", "Total", "", ""), *(("0", f"{d}{i}", "Total", "") for i in range(n))] for d, n in sizes.items()}
    tables = []
    for x, y in itertools.combinations(sizes, 2):
        (other,) = set(sizes) - {x, y}
        for_all = 10 * sizes[other]
        rows = [folders.row(f"{x}{i} {y}{j}", str(for_all)) for i in range(sizes[x]) for j in range(sizes[y])]
        for each in rows if (x, y) == ("a", "b") else ():
            each["status"] = "secondary"
        tables.append((folders.spec(x + y, [x, y]), rows))
    clusters = {"turnover": [{"tables": ["ab", "ac", "bc"], "parts": dict.fromkeys(sizes, 0), "parent": None}]}
    certificate = folders.write(folder, folders.plan(tables, trees, [], clusters=clusters))
    cover_cells = np.indices(tuple(sizes.values())).reshape(3, -1)
    parts = {f"part:{d}": cover_cells[i].astype(np.int32) for i, d in enumerate(sizes)}
    zero, many = np.zeros(cover_cells.shape[1], np.int32), cover_cells.shape[1]
    between = {"group": zero, "cluster": zero, **parts, "value": np.full(many, 10)}
    pq.write_table(pa.table(between), folder / "internal/world.parquet")
    a, b = np.indices((sizes["a"], sizes["b"])).reshape(2, -1)
    move = np.concatenate([(-1) ** (a + b) * sizes["c"], (-1) ** (cover_cells[0] + cover_cells[1])])
    row = np.concatenate([np.arange(a.size), np.arange(many)])
    table = np.repeat(np.array([0, -1], np.int32), [a.size, many])
    columns = {"witness": np.repeat(np.arange(witnesses, dtype=np.int32), row.size), "table": np.tile(table, witnesses)}
    columns |= {"row": np.tile(row, witnesses), "move": np.concatenate([move * (-1) ** w for w in range(witnesses)])}
    columns["denominator"] = np.ones(row.size * witnesses, np.int64)
    pq.write_table(pa.table(columns), folder / "internal/certificate.parquet")
    for path in (certificate, folder / "internal/summary.json"):
        path.write_text(path.read_text().replace('"witnesses": 0', f'"witnesses": {witnesses}'))
    return folders.seal(folder), many, move.size * witnesses


def test_a_large_crossing_table_in_seconds(tmp_path):
    certificate, cells, moves = crossing(tmp_path / "out", {"a": 30, "b": 30, "c": 40}, witnesses=10)
    begin = time.process_time()
    found = verify(certificate)
    seconds = time.process_time() - begin
    assert [c.detail for c in found.checks if not c.passed] == []
    assert (cells, moves) == (36_000, 369_000) and seconds < 10
