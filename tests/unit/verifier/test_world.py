"""The world behind the tables: correct ones pass, and forged ones are refused with all digests computed anew."""

import json

import pytest

from cellguard.verifier.verify import verify
from unit.verifier import folders, worlds
from unit.verifier.folders import details, failed, row, seal, sign, write

import quick_yaml


def forged(tmp_path, name, change):
    content = worlds.ALL[name]()
    change(content)
    return failed(write(tmp_path / "out", content))


@pytest.mark.parametrize("name", worlds.ALL)
def test_correct_world_passes(tmp_path, name):
    found = verify(write(tmp_path / "out", worlds.ALL[name]()))
    assert [c.detail for c in found.checks if not c.passed] == []
    assert not any("cross" in warning for warning in found.warnings)


def witnesses(*moves):
    def change(content):
        content["witnesses"] = worlds.both(list(moves))

    return change


def line(number, **fields):
    """Change a cell between: its value, or its part of a dimension."""

    def change(content):
        group, at, parts, value = content["between"][number]
        parts = {d: fields.get(d, part) for d, part in parts.items()}
        content["between"][number] = (group, fields.get("cluster", at), parts, fields.get("value", value))

    return change


def clusters(response, *found):
    def change(content):
        content["clusters"] = {response: list(found)}

    return change


def part(dimension, leaf, number, column=0):
    def change(content):
        content["parts"][dimension][column][leaf] = number

    return change


def drop_between(content):
    del content["between"][2]
    content["witnesses"] = [
        (d, [(t, r - (t == -1 and r > 2), m) for t, r, m in moves if (t, r) != (-1, 2)])
        for d, moves in content["witnesses"]
    ]


AB, BC, AC = ({"a": 0, "b": 0}, {"b": 0, "c": 0}, {"a": 0, "c": 0})
FORGED = {
    "region against municipality": ("levels", witnesses((1, 1, 2), (1, 3, -2))),
    "a part that joins what a table divides": ("levels", part("region", "S1", 0)),
    "a part that divides too much": ("levels", part("region", "S1", 2)),
    "a part too many": ("levels", part("region", "S1", 9)),
    "a partition that is not there": (
        "levels",
        clusters("turnover", worlds.cluster(["coarse"], 1, region=2), worlds.cluster(["fine"], region=0)),
    ),
    "clusters merged into the coarser one": (
        "levels",
        clusters("turnover", worlds.cluster(["coarse", "fine"], region=1)),
    ),
    "margin against cross table": ("margin", witnesses((1, 0, 2), (1, 2, -2))),
    "a cluster that lacks a dimension": (
        "margin",
        clusters("turnover", worlds.cluster(["short"], 1, region=0), worlds.cluster(["long"], region=0)),
    ),
    "a cell between dropped": ("groupings", drop_between),
    "a cell between of another value": ("groupings", line(0, value=25)),
    "a cell between twice": ("groupings", line(0, region=1)),
    "a cell between of no part": ("groupings", line(0, region=7)),
    "a cell between of no cluster": ("groupings", line(0, cluster=1)),
    "cells between that do not follow": ("groupings", witnesses((0, 1, 2), (0, 2, -2))),
    "cells between that move apart": (
        "groupings",
        witnesses((0, 1, 2), (0, 2, -2), (-1, 0, 2), (-1, 2, -1), (-1, 3, -1)),
    ),
    "a cycle given as a tree": (
        "crossing",
        clusters(
            "turnover",
            worlds.cluster(["ab"], 1, **AB),
            worlds.cluster(["bc"], 2, **BC),
            worlds.cluster(["ac"], **AC),
        ),
    ),
    "a cycle of two clusters": (
        "crossing",
        clusters("turnover", worlds.cluster(["ab"], 1, **AB), worlds.cluster(["ac", "bc"], a=0, c=0)),
    ),
    "a crossing cell between dropped": ("crossing", drop_between),
    "a row without anybody": (
        "somebody",
        witnesses((0, 1, -1), (0, 2, 1), (-1, 0, -1), (-1, 2, 1)),
    ),
    "a base without anybody": ("somebody", lambda c: (line(0, value=0)(c), line(1, value=5)(c))),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_world_is_refused(tmp_path, name):
    folder, change = FORGED[name]
    assert 6 in forged(tmp_path, folder, change)


@pytest.mark.parametrize("zeros", [False, True])
def test_nothing_moves_to_where_nobody_is(tmp_path, zeros):
    """Persons have no row of W, or say that they are none."""
    content = worlds.nobody()
    if zeros:
        content["tables"][1][0]["zeros"] = "possible"
        content["tables"][1][1].append(row("W", "0", count="0"))
    assert failed(write(tmp_path / "before", content)) == []
    content["witnesses"].append((1, [(0, 2, -2), (0, 3, 2)]))
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == [6] and "nobody" in details(certificate)


def test_counts_of_contributors_tell_nobody_anything(tmp_path):
    """That a row of magnitudes has no contributors is not published."""
    content = worlds.nobody()
    about, _ = content["tables"][1]
    values = [row("Total", "42"), row("N", "2"), row("S", "40"), row("W", "0", count="0")]
    content["tables"][1] = ({**about, "response": "wages", "count": False, "zeros": "possible"}, values)
    content["grains"][1]["response"] = "wages"
    content["witnesses"].append((1, [(0, 2, -2), (0, 3, 2)]))
    assert failed(write(tmp_path / "out", content)) == []


def test_emptiness_is_asked_of_what_a_full_table_leaves_out(tmp_path):
    """B has nobody outside N, so all of it is the row of N; the table of N alone does not tell."""
    sector = [("0", "Total", "", ""), ("0", "A", "Total", ""), ("0", "B", "Total", "")]
    whole = [row("Total", "120"), row("A", "100", "secondary")]
    whole += [row("B", "20", "primary", ("0", "2", "0"), need_lower=0.0, **folders.UNSAFE)]
    north = [row("A N", "60"), row("B N", "20")]
    persons = [row(f"{codes} s", "9", count="9") for codes in ("A N", "A S", "B N")]
    many = folders.spec("persons", ["sector", "region", "size"], response="count", count=True)
    content = folders.plan(
        [
            (folders.spec("whole", ["sector"]), whole),
            (folders.spec("north", ["sector", "region"]), north),
            (many, persons),
        ],
        {"sector": sector, "region": folders.REGION[:3], "size": folders.SIZE},
        [(1, [(0, 1, -2), (0, 2, 2), (-1, 0, -2), (-1, 1, 2)])],
        between=[(0, 1, {"sector": 0, "region": 1}, 40), (0, 1, {"sector": 1, "region": 1}, 0)],
    )
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == [5, 6] and "persons" in details(certificate)
    assert "the difference was not judged of the populations of whole and north" in details(certificate)


@pytest.mark.parametrize("name", ["crossing", "counts"])
def test_negative_crossing_cell(tmp_path, name):
    """The same tables with another crossing table: every other cell is 0, and then a witness takes some below."""

    def change(content):
        content["between"] = [
            (g, c, parts, 10 if sum(parts.values()) % 2 else 0) for g, c, parts, _ in content["between"]
        ]

    assert forged(tmp_path / "witness", name, change) == [6]

    def negative(content):
        content["between"] = [
            (g, c, parts, 11 if sum(parts.values()) % 2 else -1) for g, c, parts, _ in content["between"]
        ]

    assert forged(tmp_path / "base", name, negative) == [6]
    content = worlds.ALL[name]() | {"attack": {"lower": "unbounded", "upper": "unbounded", "percent": None}}
    negative(content)
    # Values may be negative where the job says so; counts are not, whatever it says.
    assert (6 in failed(write(tmp_path / "signed", content))) == (name == "counts")


def test_counts_move_in_whole_numbers_between_too(tmp_path):
    """The cells of the tables move by 1, but those between by halves."""

    def change(content):
        between = [(t, r, 1 if m > 0 else -1) for t, r, m in content["witnesses"][0][1] if t == -1]
        content["witnesses"] = [(2, [m for m in content["witnesses"][0][1] if m[0] >= 0] + between)]

    assert 6 in forged(tmp_path, "counts", change)


def accept(folder):
    """Let the stored job say that crossing tables are not checked."""
    job = quick_yaml.load((folder / "internal/job.yaml").read_text())
    job["attack"]["crossing"] = "not_checked"
    folders.write_job(folder, job)
    return seal(folder)


def unchecked():
    content = worlds.crossing()
    content["between"] = []
    content["witnesses"] = [(d, [m for m in moves if m[0] >= 0]) for d, moves in content["witnesses"]]
    return content


def test_crossing_not_checked_is_said(tmp_path):
    content = unchecked()
    assert failed(write(tmp_path / "silent", content)) == [6]
    content["crossing"] = "not_checked"
    certificate = write(tmp_path / "out", content)
    assert failed(certificate) == [1]
    found = verify(accept(tmp_path / "out"))
    assert found.valid
    assert any("cross" in warning for warning in found.warnings) and "cross" in found.checks[5].detail


def test_a_job_that_does_not_ask_for_the_check_claims_none(tmp_path):
    write(tmp_path / "out", worlds.crossing())
    assert failed(accept(tmp_path / "out")) == [1]


def test_not_checked_has_no_cells_between(tmp_path):
    write(tmp_path / "out", worlds.crossing() | {"crossing": "not_checked"})
    assert 6 in failed(accept(tmp_path / "out"))


@pytest.mark.parametrize("word", ["", "no", True, None])
def test_crossing_is_one_of_two_words(tmp_path, word):
    assert 1 in forged(tmp_path, "levels", lambda content: content.update(crossing=word))


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.clear(),
        lambda world: world.append(world[0]),
        lambda world: world[0].update(response="other"),
        lambda world: world[0]["clusters"].clear(),
        lambda world: world[0]["clusters"].reverse(),
        lambda world: world[0]["clusters"].pop(),
        lambda world: world[0]["clusters"][0].update(parent=0),
        lambda world: world[0]["clusters"][0].update(parent=None),
        lambda world: world[0]["clusters"][0].update(parent=2),
        lambda world: world[0]["clusters"][0].update(tables=[]),
        lambda world: world[0]["clusters"][0].update(tables=["coarse", "coarse"]),
        lambda world: world[0]["clusters"][0].update(tables=["coarse", "fine"]),
        lambda world: world[0]["clusters"][0].update(tables=["other"]),
        lambda world: world[0]["clusters"][0].update(parts={"other": 0}),
        lambda world: world[0]["clusters"][0].update(parts={"region": -1}),
        lambda world: world[0]["clusters"][0].update(parts=[]),
        lambda world: world[0]["clusters"][1].update(parent=1),
    ],
)
def test_clusters_of_a_wrong_form(tmp_path, change):
    certificate = write(tmp_path / "out", worlds.levels())
    document = json.loads(certificate.read_text())
    change(document["world"])
    assert 1 in failed(sign(certificate, document))


@pytest.mark.parametrize("name", ["internal/world.parquet", "internal/parts/region.csv"])
def test_missing_files(tmp_path, name):
    certificate = write(tmp_path / "out", worlds.levels())
    (tmp_path / "out" / name).unlink()
    assert {6, 9} <= set(failed(certificate))
    assert {6, 9} <= set(failed(seal(tmp_path / "out")))


def test_a_file_of_parts_without_a_dimension(tmp_path):
    write(tmp_path / "out", worlds.levels())
    folders.write_csv(tmp_path / "out/internal/parts/other.csv", [["leaf", "0"]])
    assert failed(seal(tmp_path / "out")) == [9]


def test_leaves_of_the_parts_are_those_of_the_hierarchy(tmp_path):
    for number, change in enumerate((lambda ls: ls[:-1], lambda ls: [*ls, ls[1]], lambda ls: [*ls, ["x", 0, 0]])):
        certificate = write(tmp_path / str(number), worlds.levels())
        path = tmp_path / str(number) / "internal/parts/region.csv"
        folders.write_csv(path, change(folders.read_csv(path)))
        assert 6 in failed(seal(tmp_path / str(number))), details(certificate)


def test_listed_count_stays_one_or_more(tmp_path):
    content = folders.frequencies()
    content["tables"][0][1].pop()
    content["tables"][0][0]["zeros"] = "known"
    assert failed(write(tmp_path / "one", content)) == []
    content["witnesses"] = [(1, [(0, 1, -2), (0, 2, 2)])]
    assert failed(write(tmp_path / "none", content)) == [6]


def test_equation_across_levels(tmp_path):
    """Turnover by region, its parts by municipality: a region's turnover is known though no cells are tied."""

    def table(name, rows):
        return folders.spec(name, ["region"], response=name), rows

    whole = [row("Total", "60"), row("N", "20", "primary", ("2", "2", "0"), **folders.UNSAFE)]
    whole += [row("S", "40", "secondary")]
    parts = [row("N1", "5"), row("N2", "5"), row("S1", "10"), row("S2", "10")]
    content = folders.plan(
        [table("turnover", whole), table("domestic", parts), table("export", parts)],
        {"region": worlds.LEVELS},
        worlds.both([(0, 1, 2), (0, 2, -2)]),
        clusters={"turnover": [worlds.cluster(["turnover"], region=1)]},
        parts={"region": [dict(worlds.COARSE)]},
    )
    assert failed(write(tmp_path / "free", content)) == []
    content["equations"] = ["turnover = domestic + export"]
    assert failed(write(tmp_path / "tied", content)) == [6]


def test_equation_between_responses_of_different_shape(tmp_path):
    content = folders.equation()
    sizes = [row("Total", "45"), row("s", "20"), row("l", "25")]
    content["tables"].append((folders.spec("sizes", ["size"], response="domestic"), sizes))
    content["hierarchies"]["size"] = folders.SIZE
    assert failed(write(tmp_path / "out", content)) == [6]
