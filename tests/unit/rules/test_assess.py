"""`assess`: which cells are unsafe, and why."""

from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.errors import InputError
from cellguard.hierarchy.build import flat
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.rules.all_of import All
from cellguard.rules.assess import assess
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.simple import Given, MinFrequency
from cellguard.table.apriori import State
from cellguard.table.read import cells
from cellguard.table.tableset import link

REGION = Dimension("region", flat(["North", "East", "South"]))
# North has one large contributor, East has few respondents, South is safe.
REGIONS = {
    "region": ["Total", "North", "East", "South"],
    "turnover": [300, 100, 80, 120],
    "firms": [17, 5, 2, 10],
    "x1": [90, 90, 41, 30],
    "x2": [41, 6, 39, 30],
    "secret": ["no", "no", "yes", "no"],
}


def regions(name="regions", **changes):
    return cells(
        REGIONS | changes,
        by=[REGION],
        value="turnover",
        count="firms",
        top=["x1", "x2"],
        marks=["secret"],
        name=name,
    )


def says(table, **states):
    """The table with manual states of some cells."""
    state = table.apriori.state.copy()
    for cell, word in states.items():
        state[table.find(cell)] = State[word]
    return replace(table, apriori=replace(table.apriori, state=state))


def unsafe(findings):
    table = findings.by_table[0].table
    return [table.cell_name(i) for i in np.flatnonzero(findings.primary)]


def test_a_list_of_rules_means_any_of_them():
    assert unsafe(assess(regions(), [MinFrequency(3), PPercent(10)])) == ["North", "East"]


def test_all_means_every_one_of_them():
    assert unsafe(assess(regions(), [All((MinFrequency(3), PPercent(10)))])) == ["East"]


def test_without_rules_nothing_is_unsafe_and_the_findings_say_so():
    findings = assess(regions(), [])
    assert unsafe(findings) == [] and findings.without_rules == ("regions",)
    assert repr(findings) == "<Findings regions: 0 unsafe of 4 distinct cells; no rule was applied to regions>"
    assert assess(regions(), [MinFrequency(3)]).without_rules == ()


def test_rules_are_mandatory_for_every_table():
    linked = link([regions("a"), regions("b")])
    with pytest.raises(InputError, match=r"table 'a' has no rules; give it some, or \[\] to apply none on purpose"):
        assess(linked, {"b": [MinFrequency(3)]})
    assert assess(linked, {"a": [], "b": [MinFrequency(3)]}).without_rules == ("a",)


def test_rules_may_be_given_by_table():
    linked = link([regions("a"), regions("b", turnover=[300, 100, 80, 120])])
    findings = assess(linked, {"a": [], "b": [MinFrequency(3)]})
    assert findings["a"].primary.tolist() == [False] * 4
    assert findings["b"].primary.tolist() == [False, False, True, False]


def test_rules_for_an_unknown_table_are_refused_with_a_suggestion():
    with pytest.raises(InputError, match="no table 'region'; did you mean 'regions'"):
        assess(regions(), {"region": [MinFrequency(3)]})


def test_given_marks_make_cells_unsafe():
    findings = assess(regions(), [Given("secret")])
    assert unsafe(findings) == ["East"]
    assert findings.why("East") == ["given secret"]


def test_why_names_every_rule_that_fired_and_no_other():
    findings = assess(regions(), [MinFrequency(3), Dominance(2, 90), PPercent(10)])["regions"]
    assert findings.why("North") == ["dominance (2, 90)", "p_percent 10"]
    assert findings.why("East") == ["min_frequency 3", "dominance (2, 90)", "p_percent 10"]
    assert findings.why("South") == []
    assert findings.why(2) == findings.why(("East",)) == findings.why("East")


def test_reasons_of_all_cells_at_once():
    table = says(regions(), South="must_suppress", East="must_suppress")
    findings = assess(table, [MinFrequency(3), PPercent(10)])["regions"]
    assert findings.reasons() == [
        "",
        "p_percent 10",
        "min_frequency 3; p_percent 10; must_suppress",
        "must_suppress",
    ]
    assert ["; ".join(findings.why(i)) for i in range(4)] == findings.reasons()


def test_must_suppress_is_unsafe_whatever_the_rules_say():
    findings = assess(says(regions(), South="must_suppress"), [])
    assert unsafe(findings) == ["South"]
    assert findings.why("South") == ["must_suppress"]


def test_a_waived_cell_is_safe_and_has_no_reasons():
    findings = assess(says(regions(), North="waived"), [MinFrequency(3), PPercent(10)])
    assert unsafe(findings) == ["East"]
    assert findings.why("North") == []
    assert findings["regions"].reasons()[1] == ""


@pytest.mark.parametrize("state", ["unpublished", "secondary"])
def test_other_states_do_not_make_a_cell_safe(state):
    assert unsafe(assess(says(regions(), North=state), [PPercent(10)])) == ["North", "East"]


def test_an_unsafe_cell_that_must_be_published_is_a_contradiction():
    with pytest.raises(InputError) as error:
        assess(says(regions(), North="must_publish"), [PPercent(10)])
    message = str(error.value)
    assert "row 2: the cell North must be published, but is unsafe (p_percent 10)" in message
    assert "`waived`" in message


def test_a_safe_cell_may_be_required_to_be_published():
    assert unsafe(assess(says(regions(), South="must_publish"), [MinFrequency(3)])) == ["East"]


def two_tables(**states):
    """The regions, and the same regions by size; the regions' own cells are in both."""
    by_size = {
        "region": ["Total", "North", "East", "South"] * 2,
        "size": ["Total"] * 4 + ["large"] * 4,
        "turnover": [300, 100, 80, 120] * 2,
        "firms": [17, 5, 2, 10] * 2,
    }
    first = says(cells(by_size, by=[REGION, "size"], value="turnover", count="firms", name="by_size"), **states)
    return first, regions("regions")


def test_a_cell_unsafe_in_one_table_is_unsafe_in_all_that_show_it():
    findings = assess(link(two_tables()), {"by_size": [], "regions": [PPercent(10)]})
    assert findings["by_size"].primary.sum() == 0
    by_size, own = findings.shown_primary("by_size"), findings.shown_primary("regions")
    assert own.tolist() == [False, True, True, False]
    assert by_size.tolist() == [False, False, True, False, True, False, False, False]
    assert findings.primary.sum() == 2


def test_a_contradiction_is_found_through_a_linked_table():
    tables = two_tables(**{"North/Total": "must_publish"})
    with pytest.raises(
        InputError, match=r"North/Total must be published, but is unsafe \(in another table of the set\)"
    ):
        assess(link(tables), {"by_size": [], "regions": [PPercent(10)]})


def test_a_waiver_in_one_table_does_not_make_the_cell_safe_in_another():
    tables = two_tables(**{"North/Total": "waived"})
    findings = assess(link(tables), {"by_size": [MinFrequency(6)], "regions": [PPercent(10)]})
    assert findings["by_size"].why("North/Total") == []
    assert findings["regions"].why("North") == ["p_percent 10"]
    assert findings.shown_primary("by_size")[2]


def test_why_looks_in_the_first_table_that_has_the_cell():
    size = {"size": ["Total", "small", "large"], "turnover": [300, 180, 120], "firms": [17, 1, 16]}
    sizes = cells(size, by=["size"], value="turnover", count="firms", name="sizes")
    findings = assess(link([regions(), sizes]), [MinFrequency(3)])
    assert findings.why("East") == ["min_frequency 3"]
    assert findings.why("small") == ["min_frequency 3"]


def test_an_unknown_table_name_gets_a_suggestion():
    with pytest.raises(InputError, match="did you mean 'regions'"):
        assess(regions(), [])["region"]


@pytest.mark.parametrize(
    ("rule", "needs"),
    [
        (MinFrequency(3), "the rule min_frequency 3 needs the number of respondents of each cell; .*`count`"),
        (PPercent(10), "p_percent 10 needs the 2 largest contributions of each cell, but 1 are given.*`top`"),
        (Dominance(3, 70), "dominance .* needs the 3 largest contributions"),
        (Given("secrte"), "given secrte needs the column 'secrte'; did you mean 'secret'"),
        (All((Given("secret"), MinFrequency(3))), "number of respondents"),
    ],
    ids=str,
)
def test_a_missing_fact_is_named_with_its_cure(rule, needs):
    table = cells(REGIONS, by=["region"], value="turnover", top=["x1"], marks=["secret"], name="bare")
    with pytest.raises(InputError, match=f"table 'bare': .*{needs}"):
        assess(table, [rule])


NEGATIVE = {"turnover": [193, 100, -27, 120], "x1": [90, 90, 10, 30], "x2": [41, 6, 5, 30]}


@pytest.mark.parametrize("rule", [PPercent(10), Dominance(1, 80), All((MinFrequency(3), PPercent(10)))], ids=str)
def test_rules_of_shares_refuse_negative_values_and_tell_no_value(rule):
    with pytest.raises(InputError) as error:
        assess(regions(**NEGATIVE), [rule])
    message = str(error.value)
    assert "row 3: the cell East has a negative value or contribution" in message
    assert str(rule) in message
    assert "27" not in message


def test_a_negative_contribution_is_refused_even_in_a_positive_cell():
    with pytest.raises(InputError, match="row 3: the cell East"):
        assess(regions(x2=[41, 6, -1, 30]), [PPercent(10)])


def test_min_frequency_and_marks_accept_negative_values():
    assert unsafe(assess(regions(**NEGATIVE), [MinFrequency(3), Given("secret")])) == ["East"]


def made_from_records(values, rule):
    firms = cg.records({"region": ["N", "N", "S"], "x": values}, by=["region"], values=["x"])
    return cg.tabulate(firms, by=["region"], value="x", rules=rule)


def test_one_rule_is_as_good_as_a_list_of_one():
    table = made_from_records([5, 2, 7], cg.PPercent(10))
    one, several = cg.assess(table, cg.PPercent(10)), cg.assess(table, [cg.PPercent(10)])
    assert one.primary.tolist() == several.primary.tolist() and one.primary.any()
    assert cg.assess(table, {"table": cg.PPercent(10)}).primary.tolist() == one.primary.tolist()


@pytest.mark.parametrize("rules", ["p_percent", [cg.PPercent], cg.PPercent, 3])
def test_what_is_no_rule_is_refused(rules):
    table = made_from_records([5, 2, 7], cg.PPercent(10))
    with pytest.raises(cg.InputError, match="rules must be values such as"):
        cg.assess(table, rules)


def test_a_table_from_records_without_the_facts_is_told_how_to_get_them():
    with pytest.raises(cg.InputError, match=r"needs facts that the table was made without.*rules=\["):
        cg.assess(made_from_records([5, 2, 7], cg.MinFrequency(3)), cg.PPercent(10))
    with pytest.raises(cg.InputError, match="needs the column 'secret'"):
        cg.assess(made_from_records([5, 2, 7], cg.MinFrequency(3)), cg.Given("secret"))


def test_a_negative_value_of_records_is_told_with_file_and_column(tmp_path):
    path = tmp_path / "firms.csv"
    path.write_text("region,x\nN,5\nN,-2\nS,7\n")
    firms = cg.records(path, by=["region"], values=["x"])
    table = cg.tabulate(firms, by=["region"], value="x", rules=cg.PPercent(10))
    with pytest.raises(cg.InputError, match=r"firms\.csv, column 'x': the cell Total has a negative value"):
        cg.assess(table, cg.PPercent(10))
