"""The oracle beyond single cells: it must see sums and latent cells that a release tells, and none that it does not."""

import pytest

from fuzz.beyond import claimed, find_all
from fuzz.cases import Case, Records, csv_text
from fuzz.run import Kind, attack

SMALL = 5


def case(rows, tables, *, columns="r", **more):
    """A case from rows of codes, holding and value, and the tables as plain data; further roles are columns, too."""
    codes, holding, x = [row[0].split("/") for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    by = {name: [code[i] for code in codes] for i, name in enumerate(columns.split())}
    job = {"microdata": {"holding": "holding"}, "tables": tables}
    return Case(job | more.pop("job", {}), more.pop("files", {}), Records(by, {"x": x}, holding, **more))


def table(name, by, rules, value="x", **more):
    return {"name": name, "by": by.split(), "value": value, "rules": rules, **more}


def release(folder, **tables):
    """Released rows as texts: the codes, then the value, with - for a suppressed one."""
    for name, (by, *rows) in tables.items():
        split = [row.split() for row in rows]
        lines = [[*codes, "", "c"] if value == "-" else [*codes, value, ""] for *codes, value in split]
        (folder / f"{name}.csv").write_text(csv_text([*by.split(), "value", "flag"], lines))
    return folder


def others(place, many, value, mark="o"):
    return [(place, f"{mark}{place}{i}", value) for i in range(many)]


def told(case, folder):
    """What is told: kind, name and how well."""
    return {(found.goal.kind, found.goal.name, found.how) for found in find_all(case, folder)}


A_AND_B = ("sum", "t: A + t: B", "exactly")


def regions(rows, folder, rules, **more):
    """The total of rows in regions A to D, of which A and B are suppressed, and then C too."""
    made = case(rows, [table("t", "r", rules)], **more)
    weight = made.records.weight or [1] * len(rows)
    sums = dict.fromkeys("ABCD", 0)
    for (code, _, x), w in zip(rows, weight, strict=True):
        sums[code] += x * w
    everything = sum(sums.values())
    release(folder, t=("r", f"Total {everything}", "A -", "B -", f"C {sums['C']}", f"D {sums['D']}"))
    first = told(made, folder)
    release(folder, t=("r", f"Total {everything}", "A -", "B -", "C -", f"D {sums['D']}"))
    return first, told(made, folder)


def test_a_cell_with_more_than_fifty_respondents(tmp_path):
    rows = [("B", "g", 10_000), ("A", "g", 900), *others("A", 60, 5), *others("C", 5, 4000), *others("D", 5, 5000)]
    assert regions(rows, tmp_path, [{"p_percent": 10}]) == ({A_AND_B}, set())


ONE = [("A", "g", 1000), ("B", "g", 700), *others("C", 6, 300), *others("D", 6, 400)]


@pytest.mark.parametrize(
    ("rule", "role"),
    [
        ({"min_frequency": {"n": 3, "nonzero": True}}, None),
        ({"p_percent": {"p": 10, "waivers": True}}, "waiver"),
        ({"statisticon": 5}, None),
        ({"entropy": 3}, None),
        ({"request": 50}, "request"),
        ({"max_share": 60}, None),
        ({"prior_posterior": {"p": 10, "q": 50}}, None),
        ({"dominance": {"n": 1, "k": 60}}, None),
        ({"all": [{"min_frequency": 3}, {"p_percent": 10}]}, None),
    ],
)
def test_one_holding_in_two_cells_by_every_rule(rule, role, tmp_path):
    said = {"waiver": ["no"] * len(ONE), "request": ["yes" if who == "g" else "no" for _, who, _ in ONE]}
    marks = {role: said[role]} if role else {}
    first, then = regions(ONE, tmp_path, [rule], **marks)
    assert first == {A_AND_B}
    assert not then


def test_who_waived_or_did_not_ask_is_not_protected(tmp_path):
    yes, no = ["yes"] * len(ONE), ["no"] * len(ONE)
    assert regions(ONE, tmp_path, [{"p_percent": {"p": 10, "waivers": True}}], waiver=yes) == (set(), set())
    assert regions(ONE, tmp_path, [{"request": 50}], request=no) == (set(), set())


@pytest.mark.parametrize("weight", [1, 2])
def test_weights(weight, tmp_path):
    first, then = regions(ONE, tmp_path, [{"min_frequency": 3}], weight=[weight] * len(ONE))
    assert (first, then) == ({A_AND_B}, set())
    by_share, _ = regions(ONE, tmp_path, [{"p_percent": 10}], weight=[weight] * len(ONE))
    assert by_share == ({A_AND_B} if weight == 1 else set())  # what else the weights stand for is enough


def test_a_policy_that_counts_nobody_with_nothing(tmp_path):
    rows = [("A", "g", 1000), ("B", "g", 700), *others("A", 2, 0), *others("B", 2, 0), *ONE[2:]]
    rules = [{"min_frequency": 3}]
    assert regions(rows, tmp_path, rules, job={"policy": "g_confid"})[0] == {A_AND_B}
    assert regions(rows, tmp_path, rules)[0] == set()


def test_rules_of_another_table_about_the_same_cells(tmp_path):
    rows = [("B", "g", 10_000), ("A", "g", 900), *others("A", 45, 7), *others("C", 5, 4000), *others("D", 5, 5000)]
    tables = [table("t1", "r", [{"min_frequency": 2}]), table("t2", "r", [{"p_percent": 10}])]
    both = ("r", "Total 56215", "A -", "B -", "C 20000", "D 25000")
    release(tmp_path, t1=both, t2=both)
    assert told(case(rows, tables), tmp_path) == {("sum", "t1: A + t1: B", "exactly")}
    both = ("r", "Total 56215", "A -", "B -", "C -", "D 25000")
    release(tmp_path, t1=both, t2=both)
    assert not told(case(rows, tables), tmp_path)


def test_a_sum_of_more_than_forty_cells(tmp_path):
    cells = [f"m{i:02}" for i in range(41)]
    rows = [(code, "g", 100 + i) for i, code in enumerate(cells)] + others("n0", 9, 300) + others("n1", 9, 300)
    made = case(rows, [table("t", "r", [{"min_frequency": 3}, {"p_percent": 10}])])
    everything = sum(x for _, _, x in rows)
    hidden = [f"{code} -" for code in cells]
    release(tmp_path, t=("r", f"Total {everything}", *hidden, "n0 2700", "n1 2700"))
    (found,) = find_all(made, tmp_path)
    assert (found.goal.kind, found.least, found.most) == ("sum", 4920, 4920)
    release(tmp_path, t=("r", f"Total {everything}", *hidden, "n0 -", "n1 2700"))
    assert not told(made, tmp_path)


NEAR = [("r0/c0", "g", 1000), ("r0/c1", "g", 1000), *others("r0/c2", 5, 2), *others("r1/c0", 6, 250)]
NEAR += [*others("r1/c1", 6, 250), *others("r1/c2", 5, 2), *others("r0/c3", 6, 300), *others("r1/c3", 6, 300)]


def test_a_sum_that_is_nearly_known(tmp_path):
    """r0/c2 is between 0 and 20, so that what one holding has in r0 is known to within 1 %."""
    rules = [{"min_frequency": 3}, {"p_percent": 10}]
    made = case(NEAR, [table("t", "r c", rules)], columns="r c")
    rows = ["Total Total 8620", "Total c0 2500", "Total c1 2500", "Total c2 20", "Total c3 3600"]
    rows += ["r0 Total 3810", "r1 Total 4810", "r0 c3 1800", "r1 c3 1800"]
    rows += [f"r{i} c{j} -" for i in (0, 1) for j in (0, 1, 2)]
    release(tmp_path, t=("r c", *rows))
    exact = ("sum", "t: r0/c0 + t: r0/c1 + t: r0/c2", "exactly")
    assert told(made, tmp_path) == {exact, ("sum", "t: r0/c0 + t: r0/c1", "within")}
    rows[7:9] = ["r0 c3 -", "r1 c3 -"]  # 20 is still all that c2 has
    release(tmp_path, t=("r c", *rows))
    assert not told(made, tmp_path)


def test_a_sum_that_only_differences_of_relations_tell(tmp_path):
    """Where one of two cells goes up the other goes down, though no relation has both."""
    rows = [("r0/c0", "g", 500), ("r1/c1", "g", 600), *others("r0/c1", 6, 90), *others("r1/c2", 6, 80)]
    rows += [*others("r2/c0", 6, 70), *others("r2/c2", 6, 60)]
    rows += [row for place in ("r0/c2", "r1/c0", "r2/c1") for row in others(place, 6, 50)]
    made = case(rows, [table("t", "r c", [{"min_frequency": 3}])], columns="r c")
    assert sum(x for _, _, x in rows) == 3800
    open_ = ["Total Total 3800", "Total c0 1220", "Total c1 1440", "Total c2 1140"]
    open_ += ["r0 Total 1340", "r1 Total 1380", "r2 Total 1080", "r0 c2 300", "r1 c0 300", "r2 c1 300"]
    hidden = [f"r{i} c{j} -" for i, j in ((0, 0), (0, 1), (1, 1), (1, 2), (2, 0), (2, 2))]
    release(tmp_path, t=("r c", *open_, *hidden))
    assert not told(made, tmp_path)  # both go up together: what one holding has there is 0 to 2200
    swapped = [
        ("r0/c1" if place == "r1/c1" else "r1/c1" if place == "r0/c1" else place, *more) for place, *more in rows
    ]
    made = case(swapped, made.job["tables"], columns="r c")
    sums = {place: sum(x for at, _, x in swapped if at == place) for place in ("r0/c0", "r0/c1", "r1/c1")}
    open_[4] = f"r0 Total {sums['r0/c0'] + sums['r0/c1'] + 300}"
    open_[5] = f"r1 Total {sums['r1/c1'] + 480 + 300}"
    release(tmp_path, t=("r c", *open_, *hidden))
    assert told(made, tmp_path) == {("sum", "t: r0/c0 + t: r0/c1", "exactly")}


def test_sums_of_counts(tmp_path):
    tree = csv_text(["code", "parent"], [["Total", ""], ["G", "Total"], ["b", "Total"], ["a", "G"], ["c", "G"]])
    rows = [*[("b", f"h{i % 3}", 1) for i in range(5)], *[("a", f"h{i % 2}", 1) for i in range(5)]]
    rows += [("c", "h0", 1), ("c", "h1", 1)]
    tables = [table("t", "r", [{"min_frequency": 3}], "count")]
    made = case(rows, tables, job={"dimensions": {"r": {"parents": "r.csv"}}}, files={"r.csv": tree})
    release(tmp_path, t=("r", "Total 12", "G -", "b 5", "a -", "c -"))
    found = told(made, tmp_path)
    assert ("sum", "t: a + t: c", "exactly") in found
    release(tmp_path, t=("r", "Total 12", "G -", "b -", "a -", "c -"))
    assert not told(made, tmp_path)


def test_what_is_left_of_all_without_two_populations(tmp_path):
    rows = [row for place in ("N/a", "N/b", "S/a", "S/b", "S/c") for row in others(place, 6, 100)]
    rows += others("N/c", 1, 100)
    rules = [{"min_frequency": 3}, {"p_percent": 10}]
    tables = [table("all", "r", rules)]
    tables += [table(f"t{code}", "r", rules, where={"s": [code]}) for code in "ab"]
    made = case(rows, tables, columns="r s")
    parts = {f"t{code}": ("r s", f"Total {code} 1200", f"N {code} 600", f"S {code} 600") for code in "ab"}
    release(tmp_path, all=("r", "Total 3100", "N 1300", "S 1800"), **parts)
    found = {(kind, name.rpartition(" ")[2], how) for kind, name, how in told(made, tmp_path)}
    assert found == {("rest", "N/c", "exactly")}
    release(tmp_path, all=("r", "Total 3100", "N -", "S -"), **parts)
    assert not told(made, tmp_path)


PEOPLE = {"M/Am/yes": 11, "M/Am/no": 10, "F/Am/yes": 5, "F/Am/no": 1, "F/Ro/yes": 8, "F/Ro/no": 11}
TWO_WAY = {
    "t1": ("g c", "Total Total 46", "Total Am 27", "Total Ro 19", "F Total 25", "F Am 6", "F Ro 19", "M Total 21"),
    "t2": ("g y", "Total Total 46", "Total no 22", "Total yes 24", "F Total 25", "F no 12", "F yes 13", "M Total 21"),
    "t3": ("c y", "Total Total 46", "Total no 22", "Total yes 24", "Am Total 27", "Am no 11", "Am yes 16"),
}
TWO_WAY["t1"] += ("M Am 21", "M Ro 0")
TWO_WAY["t2"] += ("M no 10", "M yes 11")
TWO_WAY["t3"] += ("Ro Total 19", "Ro no 11", "Ro yes 8")


def test_three_two_way_tables_tell_a_cell_behind_them(tmp_path):
    rows = [row for place, many in PEOPLE.items() for row in others(place, many, 1)]
    tables = [table(name, by[0], [{"min_frequency": 3}], "count") for name, by in TWO_WAY.items()]
    made = case(rows, tables, columns="g c y")
    release(tmp_path, **TWO_WAY)
    assert told(made, tmp_path) == {("latent", "count by g/c/y: F/Am/no", "exactly")}
    hidden = {name: (by, *(row if "Total" in row else f"{row.rpartition(' ')[0]} -" for row in rows_))
              for name, (by, *rows_) in TWO_WAY.items()}  # fmt: skip
    release(tmp_path, **hidden)
    assert not told(made, tmp_path)


def test_a_margin_that_no_table_lists(tmp_path):
    """Published are leaves and the total: the group between them is a sum that everybody forms."""
    lines = [["Total", ""], ["G", "Total"], ["H", "Total"], ["a", "G"], ["b", "G"], ["c", "H"], ["d", "H"]]
    tree = csv_text(["code", "parent"], lines)
    rows = [("a", "g", 50), ("b", "g", 70), *others("c", 6, 30), *others("d", 6, 40)]
    tables = [table("t", "r", [{"p_percent": 10}], publish={"r": [0, 2]})]
    made = case(rows, tables, job={"dimensions": {"r": {"parents": "r.csv"}}}, files={"r.csv": tree})
    release(tmp_path, t=("r", "Total 540", "a -", "b -", "c 180", "d 240"))
    assert told(made, tmp_path) == {("sum", "t: a + t: b", "exactly")}  # which is G: judged by its own table's rules
    release(tmp_path, t=("r", "Total 540", "a -", "b -", "c -", "d 240"))
    assert not told(made, tmp_path)


def test_counts_are_never_negative(tmp_path):
    """Values may be of either sign, counts may not: what a count is at most tells the one beside it."""
    rows = [*others("r0/c0", 1, -5), *others("r0/c1", 1, 7), *others("r1/c0", 4, -3), *others("r1/c1", 4, 9)]
    rules = [{"min_frequency": 3}]
    tables = [table("v", "r", rules, negative="absolute"), table("n", "r c", rules, "count")]
    made = case(rows, tables, columns="r c", job={"attack": {"lower": "unbounded"}})
    counts = ("r c", "Total Total 10", "Total c0 5", "Total c1 5", "r0 Total 2", "r1 Total 8")
    counts += tuple(f"r{i} c{j} -" for i in (0, 1) for j in (0, 1))
    release(tmp_path, v=("r", "Total 26", "r0 -", "r1 -"), n=counts)
    assert {(one.goal.name, one.least, one.most) for one in find_all(made, tmp_path)} >= {("n: r0/Total", 2, 2)}
    small = [
        table("v", "r", rules, negative="absolute"),
        table("n", "r c", [{"min_frequency": {"n": 9, "hide": "small"}}], "count"),
    ]
    found = find_all(case(rows, small, columns="r c", job={"attack": {"lower": "unbounded"}}), tmp_path)
    assert {(one.goal.name, one.least, one.most) for one in found} >= {("n: r0/c0", 0, 2)}


def test_values_of_either_sign_are_not_bounded_by_zero(tmp_path):
    rows = [("A", "g", 1000), ("B", "h", -700), *others("C", 6, 300), *others("D", 6, 400)]
    rules, more = [{"min_frequency": 3}], {"job": {"attack": {"lower": "unbounded"}}}
    made = case(rows, [table("t", "r", rules, negative="absolute")], **more)
    release(tmp_path, t=("r", "Total 4500", "A -", "B -", "C -", "D 2400"))
    assert not told(made, tmp_path)
    release(tmp_path, t=("r", "Total 4500", "A -", "B -", "C 1800", "D 2400"))
    (found,) = find_all(made, tmp_path)
    assert (found.goal.name, found.least, found.most, found.goal.lower) == ("t: A + t: B", 300, 300, 170)


def test_what_is_named_as_not_checked_is_not_claimed(tmp_path):
    made = case(ONE, [table("t", "r", [{"p_percent": 10}])])
    release(tmp_path, t=("r", "Total 5900", "A -", "B -", "C 1800", "D 2400"))
    found = find_all(made, tmp_path)
    assert found and claimed(found, ["latent", "differences"]) == found
    assert not claimed(found, ["sums"])
    assert attack(made, tmp_path).kind is Kind.disclosed
    assert attack(made, tmp_path, not_checked=["sums"]).kind is Kind.open
