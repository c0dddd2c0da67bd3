"""`publish` with cell keys: what is not shown is nowhere, and the attack uses what is shown, by brute force."""

import csv
import json

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner

from cellguard.faces.cli.main import cli
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.posterior import Published, infer
from cellguard.methods.keys.shown import shown_relations
from cellguard.pipeline import verify

from keys_oracle import brute, publish

JOB = """version: 1
microdata: {source: f.csv, respondent: id}
dimensions: {reg: {digits: [1, 1, 1]}}
METHOD
tables:
  - {name: t, by: [reg], value: VALUE, RULES, publish: {reg: LEVELS}, protect: {method: NAME}}
"""


def run(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


def job(folder, name, value, rules, levels, settings=""):
    rng = np.random.default_rng(3)
    rows, k = ["id,reg,x"], 0
    for reg in ("AA1", "AA2", "AB1", "BA1", "BA2", "BB1", "BB2"):
        for _ in range(int(rng.integers(5, 12))):
            k += 1
            rows.append(f"F{k:03},{reg},{rng.integers(20, 90)}")
    (folder / "f.csv").write_text("\n".join(rows) + "\n")
    text = JOB.replace("METHOD", settings).replace("NAME", name).replace("VALUE", value)
    (folder / "job.yaml").write_text(text.replace("RULES", rules).replace("LEVELS", levels))
    return folder / "job.yaml"


def rows(path):
    return {row["reg"]: row for row in csv.DictReader(path.read_text().splitlines())}


@pytest.mark.parametrize("levels", ["[0, 1]", "[0, 3]", "[0, 2]"])
@pytest.mark.parametrize(
    ("name", "value", "rules"),
    [("cell_key", "count", "rules: [{min_frequency: 3}]"), ("magnitude_key", "x", "rules: [{p_percent: 10}]")],
)
def test_levels_that_are_not_shown_are_nowhere(tmp_path, name, value, rules, levels):
    made = job(tmp_path, name, value, rules, levels)
    done = run("protect", made, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    shown = rows(tmp_path / "out/release/t.csv")
    wanted = {int(level) for level in json.loads(levels)}
    assert {0 if code == "Total" else len(code) for code in shown} == wanted
    inside = rows(tmp_path / "out/internal/t.csv")
    assert set(shown) < set(inside)
    assert {row["status"] for code, row in inside.items() if code not in shown} == {"unpublished"}
    assert verify(tmp_path / "out").valid


def test_words_are_refused(tmp_path):
    made = job(tmp_path, "cell_key", "count", "rules: [{min_frequency: 3}]", "[0, 1]")
    made.write_text(made.read_text().replace("publish: {reg: [0, 1]}", "publish: nothing"))
    assert "leave the table out" in str(run("assess", made).exception)


def relations(members, groups):
    """Rows of wholes and parts: 1 and -1."""
    found = []
    for whole, parts in groups:
        row = np.zeros(len(members))
        row[whole] = 1
        row[parts] = -1
        found.append(row)
    return sp.csr_array(np.array(found))


@pytest.mark.parametrize("seed", range(25))
def test_the_posterior_is_that_of_all_truths_with_what_is_shown(seed):
    """Cells: total, two groups of two; the groups, or one of the four, are not published."""
    rng = np.random.default_rng(seed)
    table = Design(deviation=3, variance=1.5, small=1).table()
    members = [(0, 1, 2, 3), (0, 1), (2, 3), (0,), (1,), (2,), (3,)]
    groups = [(0, [1, 2]), (1, [3, 4]), (2, [5, 6])]
    counts = rng.integers(0, 4, 4)
    hidden = [[1, 2], [1], [3, 4], [3, 4, 5, 6], [2, 5]][seed % 5]
    shown = np.ones(7, bool)
    shown[hidden] = False
    said = np.array(publish(table, counts, members, rng))
    left = shown_relations(relations(members, groups), shown)
    filled, fixed = np.zeros(7, bool), np.zeros(7, bool)
    found = infer(
        Published(said, left.relations, table, table.chances(2**32), filled, fixed, np.ones(1), left_out=left.left_out)
    )
    seen = np.flatnonzero(shown).tolist()
    inner = sorted({i for cell in seen for i in members[cell]})
    pieces = _pieces([members[cell] for cell in seen])
    exact = _brute(
        table,
        said[seen].tolist(),
        [[p for p, piece in enumerate(pieces) if set(piece) <= set(members[c])] for c in seen],
        len(pieces),
    )
    if left.left_out:
        assert not found.exact.any()
        return
    assert inner and found.exact[seen].all()
    for place, cell in enumerate(seen):
        for count, chance in exact[place].items():
            assert found.of(count)[cell] == pytest.approx(chance, abs=1e-7), (cell, count)


def _pieces(sets):
    """Return the smallest published cells, of which all others are sums."""
    return [s for s in sets if not any(set(o) < set(s) for o in sets)]


def _brute(table, said, members, pieces):
    return brute(table, said, members, [members.index([p]) for p in range(pieces)])


def test_what_is_left_out_is_counted():
    members = [(0, 1, 2), (0,), (1,), (2,)]
    one = relations(members, [(0, [1, 2, 3])])
    assert shown_relations(one, np.array([True, True, False, True])).left_out == 1
    assert shown_relations(one, np.array([True, False, False, False])).left_out == 0
    assert shown_relations(one, np.array([False, True, True, True])).left_out == 0
    two = relations(members, [(0, [1, 2]), (0, [2, 3])])
    lost = shown_relations(two, np.array([False, True, True, True]))
    assert lost.left_out == 1, "two sums of one cell that nobody sees are equal, which is not used"
