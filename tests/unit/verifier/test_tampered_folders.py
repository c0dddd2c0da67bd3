"""Changes on purpose, with all digests computed anew, are refused by the check that is there for them."""

import json

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cellguard.verifier.verify import verify
from unit.verifier import folders
from unit.verifier.folders import details, failed, row, seal, sign, write, write_witnesses

import quick_yaml


def tampered(tmp_path, name, change):
    """Write a correct folder, change its plan, and return the checks that fail."""
    content = folders.ALL[name]()
    change(content)
    return failed(write(tmp_path / "out", content))


def edited(tmp_path, name, file, edit):
    """Write a correct folder, edit the lines of a CSV file, and return the checks that fail."""
    certificate = write(tmp_path / "out", folders.ALL[name]())
    path = tmp_path / "out" / file
    lines = folders.read_csv(path)
    folders.write_csv(path, edit(lines) or lines)
    seal(tmp_path / "out")
    return failed(certificate)


def set_field(line, column, value):
    def edit(lines):
        lines[line][lines[0].index(column)] = value

    return edit


def rows_of(content, table=0):
    return content["tables"][table][1]


# 1: cells and relations


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("internal/turnover.csv", set_field(3, "region", "X")),
        ("internal/hierarchies/region.csv", set_field(2, "code", "X")),
        ("internal/hierarchies/region.csv", set_field(2, "parent", "")),
        ("internal/hierarchies/region.csv", set_field(2, "parent", "W")),
        ("internal/hierarchies/region.csv", set_field(2, "code", "W")),
        ("internal/hierarchies/region.csv", set_field(2, "hierarchy", "2")),
        ("internal/hierarchies/region.csv", lambda lines: lines[:1]),
        ("internal/turnover.csv", set_field(0, "region", "place")),
        ("internal/turnover.csv", lambda lines: lines[:1]),
    ],
)
def test_unknown_codes_and_broken_hierarchies(tmp_path, file, edit):
    assert 1 in edited(tmp_path, "square", file, edit)


@pytest.mark.parametrize("text", ["turnover = domestic + imports", "turnover", "= domestic", "a = b = c", "turnover ="])
def test_equation_that_cannot_be_read(tmp_path, text):
    assert 1 in tampered(tmp_path, "equation", lambda c: c.update(equations=[text]))


def test_hierarchies_with_different_totals(tmp_path):
    def change(content):
        content["hierarchies"]["region"][4] = ("1", "coast", "", "")
        del content["hierarchies"]["region"][5]

    assert 1 in tampered(tmp_path, "grouped", change)


@pytest.mark.parametrize("key", ["rules", "attack", "equations", "by", "value", "tables"])
def test_certificate_of_another_job(tmp_path, key):
    certificate = write(tmp_path / "out", folders.square())
    path = tmp_path / "out/internal/job.yaml"
    job = quick_yaml.load(path.read_text())
    other = {"rules": [{"p_percent": 20}], "by": ["region"], "value": "count"}
    if key in other:
        job["tables"][0][key] = other[key]
    job |= {"attack": {"attack": job["attack"] | {"lower": 1}}, "equations": {"equations": ["a = b"]}}.get(key, {})
    folders.write_job(tmp_path / "out", job | ({"tables": []} if key == "tables" else {}))
    seal(tmp_path / "out")
    assert failed(certificate)[0] == 1
    assert key == "tables" or failed(certificate) == [1]


def test_job_in_other_words_is_the_same_job(tmp_path):
    certificate = write(tmp_path / "out", folders.square())
    path = tmp_path / "out/internal/job.yaml"
    job = quick_yaml.load(path.read_text())
    job["tables"][0] |= {"rules": [{"p_percent": 10}], "value": "x", "decimals": 0, "population": "all"}
    job["attack"] = {"lower": 0, "upper": "unbounded", "percent": None, "insiders": False, "coalition": 1}
    folders.write_job(tmp_path / "out", job)
    seal(tmp_path / "out")
    assert failed(certificate) == []


def test_groupings_of_different_leaves(tmp_path):
    def change(content):
        content["hierarchies"]["region"][3] = ("0", "X", "Total", "")

    assert 1 in tampered(tmp_path, "grouped", change)


# 2: rows


@pytest.mark.parametrize(
    ("file", "edit"),
    [
        ("release/turnover.csv", lambda lines: lines[:-1]),
        ("release/turnover.csv", lambda lines: [*lines, lines[-1]]),
        ("release/turnover.csv", lambda lines: [*lines, ["C", "X", "7", ""]]),
        ("release/turnover.csv", lambda lines: [lines[0], lines[2], lines[1], *lines[3:]]),
        ("release/turnover.csv", set_field(0, "flag", "flags")),
        ("internal/turnover.csv", lambda lines: lines[:-1]),
        ("internal/turnover.csv", lambda lines: [*lines, lines[-1]]),
        ("internal/turnover.csv", set_field(1, "status", "hidden")),
        ("internal/turnover.csv", set_field(1, "value", "1e3")),
        ("internal/turnover.csv", set_field(1, "value", "540.5")),
        ("internal/turnover.csv", set_field(1, "value", "")),
        ("internal/turnover.csv", set_field(1, "value", "541")),
        ("internal/turnover.csv", set_field(1, "count", "10")),
        ("internal/turnover.csv", set_field(1, "count", "")),
        ("internal/turnover.csv", set_field(1, "count", "-9")),
    ],
)
def test_rows_that_do_not_match(tmp_path, file, edit):
    assert 2 in edited(tmp_path, "square", file, edit)


def test_row_twice_everywhere(tmp_path):
    found = tampered(tmp_path, "square", lambda c: rows_of(c).append(rows_of(c)[15]))
    assert 2 in found


def test_linked_copies_that_differ(tmp_path):
    def change(content):
        rows_of(content)[3] = row("C", "101")

    assert tampered(tmp_path, "linked", change) == [2]


@pytest.mark.parametrize("column", ["by:industry", "total", "count"])
def test_facts_of_other_rows(tmp_path, column):
    certificate = write(tmp_path / "out", folders.square())
    path = tmp_path / "out/internal/facts/turnover.parquet"
    table = pq.read_table(path)
    at = table.schema.names.index(column)
    pq.write_table(table.set_column(at, column, pc.take(table.column(column), list(range(15, -1, -1)))), path)
    seal(tmp_path / "out")
    assert 2 in failed(certificate)


# 3: published values


@pytest.mark.parametrize(
    ("line", "column", "value"),
    [
        (1, "value", "541"),
        (1, "value", ""),
        (1, "flag", "c"),
        (6, "value", "20"),
        (6, "flag", ""),
        (1, "value", "540.4"),
        (1, "value", "0540"),
        (1, "value", "540.0"),
        (1, "value", "00000540"),
    ],
)
def test_release_shows_something_else(tmp_path, line, column, value):
    found = edited(tmp_path, "square", "release/turnover.csv", set_field(line, column, value))
    assert 3 in found and 9 not in found


@pytest.mark.parametrize(
    ("true", "shown", "right"), [("104.5", "104", True), ("104.5", "105", False), ("105.5", "106", True)]
)
def test_halves_go_to_even(tmp_path, true, shown, right):
    def change(content):
        rows_of(content)[0] |= {"value": true, "shown": shown}
        rows_of(content)[3] |= {"value": str(float(true) - 52.5), "shown": str(int(float(true) - 52.5))}

    assert tampered(tmp_path, "tenths", change) == ([] if right else [3])


@pytest.mark.parametrize("shown", ["0104", "104.0", "-0", "00", "-0.0"])
def test_a_number_is_written_in_one_way(tmp_path, shown):
    """How many zeros are in front of it, or whether nothing has a sign, could tell something else."""
    zero = "1" not in shown

    def change(content):
        rows_of(content)[0] |= {"value": "0" if zero else "104", "shown": shown}

    assert 3 in tampered(tmp_path, "tenths", change)


def test_metadata_that_says_more(tmp_path):
    certificate = write(tmp_path / "out", folders.square())
    path = tmp_path / "out/release/metadata.json"
    content = json.loads(path.read_text())
    for change in ({"suppressed": 5}, {"cells": 15}, {"hidden_total": 160}, {"decimals": 1}):
        folders.write_metadata(tmp_path / "out", {"turnover": content["tables"]["turnover"] | change})
        seal(tmp_path / "out")
        assert failed(certificate) == [3], change
    for text in (f"{json.dumps(content)}\n", json.dumps(content | {"hidden_total": 160}, indent=1) + "\n"):
        path.write_text(text)
        seal(tmp_path / "out")
        assert failed(certificate) == [3], text


# 4: primaries hidden everywhere


@pytest.mark.parametrize("status", ["published", "secondary"])
def test_status_in_one_of_two_tables(tmp_path, status):
    found = tampered(tmp_path, "linked", lambda c: rows_of(c)[1].update(status=status))
    assert 2 in found
    assert (4 in found) == (status == "published")


def test_secondary_published_in_one_of_two_tables(tmp_path):
    assert 4 in tampered(tmp_path, "linked", lambda c: rows_of(c)[2].update(status="published"))


@pytest.mark.parametrize("line", [1, 2, 3])
@pytest.mark.parametrize("table", [0, 1])
def test_a_cell_that_only_one_of_two_tables_shows_has_its_status_there(tmp_path, table, line):
    def change(content):
        rows_of(content, table)[line if table == 0 else 3 * line].update(status="unpublished")

    assert tampered(tmp_path, "linked", change) == []


def test_unpublished_here_and_published_there_is_known(tmp_path):
    def change(content):
        rows_of(content, 0)[2]["status"] = "unpublished"
        rows_of(content, 1)[6]["status"] = "published"

    assert tampered(tmp_path, "linked", change) == [6]


def test_unpublished_in_one_table_does_not_let_two_others_differ(tmp_path):
    def third(status):
        def change(content):
            rows_of(content, 0)[1]["status"] = "unpublished"
            rows = [row("Total", "180"), row("A", "20", status, ("2", "2", "0"), **folders.UNSAFE)]
            rows += [row("B", "60", "secondary"), row("C", "100")]
            content["tables"].append((folders.spec("again", ["industry"]), rows))

        return change

    assert tampered(tmp_path / "a", "linked", third("primary")) == []
    assert tampered(tmp_path / "b", "linked", third("published")) == [2, 4, 5, 6]
    assert tampered(tmp_path / "c", "linked", third("secondary")) == [2, 5]


def test_value_leaked_in_one_of_two_tables(tmp_path):
    found = edited(tmp_path, "linked", "release/short.csv", set_field(2, "value", "20"))
    assert {3, 4} <= set(found)


# 5: rules and protection levels


@pytest.mark.parametrize("needs", [("1", "2", "0"), ("2", "1", "0"), ("", "", ""), ("0", "0", "1"), ("-2", "2", "0")])
def test_needs_lowered(tmp_path, needs):
    assert 5 in tampered(tmp_path, "square", lambda c: rows_of(c)[5].update(needs=needs))


def test_primary_called_secondary_or_unpublished(tmp_path):
    change = {"status": "secondary", "needs": ("", "", "")}
    assert tampered(tmp_path / "a", "square", lambda c: rows_of(c)[5].update(change)) == [5]
    change = {"status": "unpublished", "needs": ("", "", "")}
    assert tampered(tmp_path / "b", "square", lambda c: rows_of(c)[5].update(change)) == [5]
    assert tampered(tmp_path / "c", "square", lambda c: rows_of(c)[5].update(status="unpublished")) == []


def test_primary_without_any_need(tmp_path):
    def change(content):
        rows_of(content)[6] |= {"status": "primary"}

    assert tampered(tmp_path, "square", change) == [5]


def test_rule_with_unknown_parameter(tmp_path):
    for rule in ({"p_percent": {"p": 10, "q": 1}}, {"p_percent": {}}, {"p_percent": True}, {"all": []}, {"linear": 3}):
        found = tampered(tmp_path / str(rule)[:12], "square", lambda c, r=rule: c["tables"][0][0].update(rules=[r]))
        assert 5 in found


def test_facts_that_a_rule_lacks(tmp_path):
    rules = [{"dominance": {"n": 3, "k": 75}}]
    assert 5 in tampered(tmp_path / "a", "square", lambda c: c["tables"][0][0].update(rules=rules))
    rules = [{"given": {"column": "secret"}}]
    assert 5 in tampered(tmp_path / "b", "square", lambda c: c["tables"][0][0].update(rules=rules))
    rules = [folders.FEWER]
    assert 5 in tampered(
        tmp_path / "c", "square", lambda c: (c["tables"][0][0].update(rules=rules), rows_of(c)[1].update(count=""))
    )


def test_zero_needs_a_width(tmp_path):
    assert tampered(tmp_path, "zero", lambda c: rows_of(c)[1].update(needs=("0", "0", "0"))) == [5]


def test_tenths_need_a_whole_unit(tmp_path):
    assert tampered(tmp_path, "tenths", lambda c: rows_of(c)[1].update(needs=("0.3", "0.3", "0.9"))) == [5]


# 6: witnesses


def change_moves(**entries):
    def change(content):
        content["witnesses"] = [
            (d, [(t, r, entries.get(f"w{w}r{r}", m)) for t, r, m in moves])
            for w, (d, moves) in enumerate(content["witnesses"])
        ]

    return change


def test_sums_that_are_not_kept(tmp_path):
    assert tampered(tmp_path, "square", change_moves(w0r10=1)) == [6]
    assert "witness 0 does not keep a relation" in details(tmp_path / "out/internal/certificate.json")


def test_huge_moves_do_not_overflow(tmp_path):
    content = folders.grouped()
    content["attack"] = {"lower": "unbounded", "upper": "unbounded", "percent": None}
    content["witnesses"].append((1, [(0, 1, 2**63 - 1), (0, 2, -(2**63 - 1))]))
    assert failed(write(tmp_path / "a", content)) == []
    # Four times 2^62 is 0 in an int64 that overflows.
    four = [("0", "Total", "", "")] + [("0", x, "Total", "") for x in "abcd"]
    rows = [row("Total", "40")] + [row(x, "10", "secondary") for x in "abcd"]
    content = folders.plan([(folders.spec("t", ["d"]), rows)], {"d": four}, [(1, [(0, i, 2**62) for i in range(1, 5)])])
    content["attack"]["lower"] = "unbounded"
    assert failed(write(tmp_path / "b", content)) == [6]


def test_published_cell_moved(tmp_path):
    def change(content):
        content["witnesses"].append((1, [(0, 5, 2), (0, 7, -2), (0, 9, -2), (0, 11, 2)]))

    assert tampered(tmp_path, "square", change) == [6]


def test_bounds_to_the_grain(tmp_path):
    def bound(lower):
        return lambda c: rows_of(c)[6]["facts"].update(lower=lower)

    assert tampered(tmp_path / "a", "square", bound(28.0)) == []
    assert tampered(tmp_path / "b", "square", bound(28.5)) == [6]
    assert tampered(tmp_path / "c", "square", bound(27.5)) == []
    upper = {"attack": {"lower": "0", "upper": "62", "percent": None}}
    assert tampered(tmp_path / "d", "square", lambda c: c.update(upper)) == []
    upper = {"attack": {"lower": "0", "upper": "61.99", "percent": None}}
    assert tampered(tmp_path / "e", "square", lambda c: c.update(upper)) == [6]


def test_percent_is_exact(tmp_path):
    def percent(text):
        return lambda c: c.update(attack={"lower": "0", "upper": "unbounded", "percent": text})

    assert tampered(tmp_path / "a", "square", percent("10")) == []
    assert 6 in tampered(tmp_path / "b", "square", percent("9.99"))


def test_hidden_value_outside_its_bounds(tmp_path):
    assert 6 in tampered(tmp_path, "square", lambda c: rows_of(c)[6]["facts"].update(lower=31.0))


def test_fraction_of_a_person(tmp_path):
    assert tampered(tmp_path, "frequencies", lambda c: c.update(witnesses=[(2, [(0, 1, 2), (0, 2, -2)])])) == [6]


def test_grain_of_frequencies(tmp_path):
    def change(content):
        content["grains"][0]["decimals"] = 1
        rows_of(content)[1]["needs"] = ("0", "0", "1")
        content["witnesses"] = [(1, [(0, 1, 10), (0, 2, -10)])]

    assert tampered(tmp_path, "frequencies", change) == [6]


@pytest.mark.parametrize(
    "witnesses",
    [
        [(0, [(0, 5, 2)])],
        [(-1, [(0, 5, 2)])],
        [(1, [(0, 5, 0)])],
        [(1, [(0, 5, -(2**63))])],
        [(1, [(1, 5, 2)])],
        [(1, [(-1, 5, 2)])],
        [(1, [(0, 16, 2)])],
        [(1, [(0, -1, 2)])],
        [(1, [(0, 5, 2), (0, 5, -2)])],
    ],
)
def test_witness_that_makes_no_sense(tmp_path, witnesses):
    assert 6 in tampered(tmp_path, "square", lambda c: c.update(witnesses=witnesses))


def test_cell_named_in_both_tables(tmp_path):
    moves = [(0, 1, 2), (1, 3, 2), (0, 2, -2), (1, 4, 2), (1, 7, -2)]
    assert 6 in tampered(tmp_path, "linked", lambda c: c["witnesses"].append((1, moves)))


def test_number_of_witnesses_and_their_columns(tmp_path):
    certificate = write(tmp_path / "out", folders.square())
    document = json.loads(certificate.read_text())
    for count in (1, 3, 0, 2**31):
        sign(certificate, document | {"witnesses": count})
        assert 6 in failed(certificate)
    sign(certificate, document)
    path = tmp_path / "out/internal/certificate.parquet"
    table = pq.read_table(path)
    wide = table.set_column(0, "witness", table.column(0).cast(pa.int64()))
    gaps = table.set_column(3, "move", pa.array([None, *table.column(3).to_pylist()[1:]], pa.int64()))
    split = table.set_column(4, "denominator", pa.array([2, *[1] * 7], pa.int64()))
    for other in (wide, gaps, split, table.drop_columns(["row"])):
        pq.write_table(other, path)
        seal(tmp_path / "out")
        assert 6 in failed(certificate)


def test_empty_cell_that_another_table_shows_is_known(tmp_path):
    """A table with possible zeros hides a zero that a table with known zeros leaves out for all to see."""
    content = folders.zero()
    rows = [
        row("Total Total", "160"),
        row("Total s", "160"),
        row("S Total", "60", "secondary"),
        row("S s", "60", "secondary"),
    ]
    rows += [row("W Total", "100", "unpublished", state="unpublished"), row("W s", "100", "secondary")]
    other = folders.spec("sizes", ["region", "size"])
    content["tables"].append((other, rows))
    content["hierarchies"]["size"] = folders.SIZE
    # N is shown nowhere in the second table, so nothing is known of it.
    moves = [[(0, 1, 1), (0, 3, -1), (1, 5, -1)], [(0, 2, -1), (0, 3, 1), (1, 3, -1), (1, 5, 1)]]
    content["witnesses"] = [(1, moves[1])]
    assert failed(write(tmp_path / "a", content)) == [7]
    rows.append(row("N s", "0"))
    content["witnesses"] = [(1, moves[0])]
    assert 6 in failed(write(tmp_path / "b", content))


def test_relations_of_the_second_grouping(tmp_path):
    def change(content):
        rows = rows_of(content)
        rows[2]["status"], rows[3]["status"] = "published", "secondary"
        content["witnesses"] = [(1, [(0, 1, 2), (0, 3, -2)]), (1, [(0, 1, -2), (0, 3, 2)])]

    assert tampered(tmp_path / "a", "grouped", change) == [6]

    def without(content):
        change(content)
        del rows_of(content)[4:]

    assert tampered(tmp_path / "b", "grouped", without) == []


def test_relations_of_the_equation(tmp_path):
    def change(content):
        content["witnesses"] = [(d, moves[:2]) for d, moves in content["witnesses"]]

    assert tampered(tmp_path / "a", "equation", change) == [6]

    def without(content):
        change(content)
        content["equations"] = []

    assert tampered(tmp_path / "b", "equation", without) == []


# 7: protection levels are reached


def test_witness_one_grain_short(tmp_path):
    def change(content):
        content["witnesses"][0] = (1, [(t, r, m // 2) for t, r, m in content["witnesses"][0][1]])

    assert tampered(tmp_path / "a", "square", change) == [7]
    assert tampered(tmp_path / "b", "square", lambda c: c["witnesses"].pop()) == [7]
    assert tampered(tmp_path / "c", "frequencies", lambda c: c.update(witnesses=[])) == [7]


def test_fractions_of_a_grain_are_not_a_grain(tmp_path):
    def change(content):
        content["witnesses"][0] = (
            10,
            [(t, r, 10 * m - (1 if m > 0 else -1)) for t, r, m in content["witnesses"][0][1]],
        )

    assert tampered(tmp_path, "square", change) == [7]


def test_need_of_a_published_cell(tmp_path):
    assert tampered(tmp_path, "square", lambda c: rows_of(c)[0].update(needs=("1", "", ""))) == [7]


# 8 and 9: insiders and files


@pytest.mark.parametrize("insiders", [["h"], [1], {}, None, "", [[]]])
def test_insiders_claimed(tmp_path, insiders):
    assert tampered(tmp_path, "square", lambda c: c.update(insiders=insiders)) == [8]


@pytest.mark.parametrize("name", ["release/secret.csv", "internal/notes.txt", "release/hierarchies/x.csv"])
def test_extra_file_with_its_digest(tmp_path, name):
    certificate = write(tmp_path / "out", folders.square())
    (tmp_path / "out" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "out" / name).write_text("20")
    seal(tmp_path / "out")
    assert failed(certificate) == [9]


def test_hierarchy_that_no_table_uses_is_allowed(tmp_path):
    content = folders.square()
    content["hierarchies"]["size"] = folders.SIZE
    assert failed(write(tmp_path / "out", content)) == []


@pytest.mark.parametrize("name", ["internal/job.yaml", "internal/summary.json", "release/metadata.json"])
def test_file_left_out_with_its_digest(tmp_path, name):
    certificate = write(tmp_path / "out", folders.square())
    (tmp_path / "out" / name).unlink()
    seal(tmp_path / "out")
    assert 9 in failed(certificate)


@pytest.mark.parametrize("key", ["format", "claim", "tables", "grains", "attack", "witnesses", "trusted", "equations"])
def test_certificate_of_another_form(tmp_path, key):
    certificate = write(tmp_path / "out", folders.square())
    document = json.loads(certificate.read_text())
    sign(certificate, {k: v for k, v in document.items() if k != key})
    assert 1 in failed(certificate)
    for junk in (None, [], {}, 7, -1, "x", True, [1], [{}], {"lower": 0}, 1.5):
        if junk != document[key]:
            sign(certificate, document | {key: junk})
            assert failed(certificate), junk
    sign(certificate, document | {"more": 1})
    assert 1 in failed(certificate)


@pytest.mark.parametrize("name", ["../turnover", "a/b", "", ".hidden", 3])
def test_names_that_lead_elsewhere(tmp_path, name):
    certificate = write(tmp_path / "out", folders.square())
    document = json.loads(certificate.read_text())
    document["tables"][0]["name"] = name
    sign(certificate, document)
    assert 1 in failed(certificate)


def test_repeated_key_and_infinite_number(tmp_path):
    certificate = write(tmp_path / "out", folders.square())
    text = certificate.read_text()
    for other in (text.replace("{", '{"format": 2,', 1), text.replace('"format": 2', '"format": Infinity'), "{" + text):
        certificate.write_text(other)
        assert failed(certificate) == list(range(1, 11))


def test_messages_hold_no_value(tmp_path):
    """All values are odd numbers of seven digits, so that none can appear by chance."""
    content = folders.square()
    for r in rows_of(content):
        r["value"] = str(int(r["value"]) * 10_007 + 7_000_001)
    content["witnesses"] = [(1, [(t, r, m * 7_654_321) for t, r, m in w]) for _, w in content["witnesses"]]
    certificate = write(tmp_path / "out", content)
    words = details(certificate) + str(verify(certificate).warnings)
    numbers = [int(n) for n in "".join(c if c.isdigit() else " " for c in words).split()]
    assert failed(certificate) and max(numbers) < 10_000


def test_witnesses_file_is_read_once_and_whole(tmp_path):
    content = folders.square()
    certificate = write(tmp_path / "out", content)
    write_witnesses(tmp_path / "out", content["witnesses"][:1])
    seal(tmp_path / "out")
    assert {6, 7} <= set(failed(certificate))
