"""Rules at equal strictness: calibration, own tables, pages and the command."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError
from cellguard.evaluate.draws import draw_cells
from cellguard.evaluate.families import Family, parse_families
from cellguard.evaluate.own_tables import own_tables_page, study_job
from cellguard.evaluate.rule_figures import safe_map
from cellguard.evaluate.rule_page import (
    agreement_sections,
    rule_study_data,
    rule_study_page,
    study_setting,
    study_sizes,
)
from cellguard.evaluate.rule_study import agreement_over_sizes, contours, study_cells, study_rules
from cellguard.faces.cli.main import cli
from cellguard.job.jobfile import Job
from cellguard.report.evaluation import table
from cellguard.table.facts import contributions
from cellguard.table.signed_cells import signed_contributions

TWO = {"D": Family.of("dominance", n=2), "P": Family.of("p_percent")}


def test_calibration_takes_the_nearest_number_and_the_smallest_strictness_on_ties():
    facts = contributions([6, 3, 1], [5, 4, 1], [4, 3, 3], [8, 1, 1])
    study = study_cells(facts, TWO, target=0.5, whole=True)
    for name in TWO:
        counts = study.counts(name)
        distance = np.where(study.allowed[name], np.abs(counts - 2), 99)
        assert study.chosen[name].strictness == study.grid[int(np.argmin(distance))]
        assert study.chosen[name].unsafe == counts[study.grid.index(study.chosen[name].strictness)]


def test_a_strictness_that_a_rule_refuses_is_not_used():
    study = study_rules(TWO, cells=100)
    assert not study.allowed["D"][study.grid.index(100)]
    assert np.isnan(contours({"D": TWO["D"]}, sizes=[4], cells=100)["D"][0, -1])


def test_a_given_strictness_is_kept():
    study = study_rules(TWO, cells=100, fixed={"P": 33})
    assert study.chosen["P"].strictness == 33


def test_the_safe_map_follows_the_rule():
    axis, cells, unsafe = safe_map(cg.PPercent(10), 4, steps=50)
    row, column = np.argwhere(unsafe)[0]
    first, second = axis[row], axis[column]
    assert 1 - first - second < 0.1 * first
    row, column = np.argwhere(cells & ~unsafe)[0]
    assert 1 - axis[row] - axis[column] >= 0.1 * axis[row] - 1e-9


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["dominance n=2"], "at least two"),
        (["dominace n=2", "p_percent"], "did you mean 'dominance'"),
        (["dominance", "p_percent"], "all parameters must be given but one"),
        (["dominance n=two", "p_percent"], "written as a name and numbers"),
        (["min_frequency n=3", "p_percent"], "it has no percentage that is free"),
    ],
)
def test_rules_that_cannot_be_compared_are_refused_in_words(texts, words):
    with pytest.raises(InputError, match=words):
        parse_families(texts)


@pytest.fixture
def job(tmp_path):
    rng = np.random.default_rng(2)
    rows = [f"{rng.choice(list('ABCD'))},{rng.choice(list('xyz'))},{int(rng.lognormal(4, 2)) + 1}" for _ in range(90)]
    (tmp_path / "r.csv").write_text("a,b,x\n" + "\n".join(rows) + "\n")
    table = "{name: t, by: [a, b], value: x, rules: [{min_frequency: 3}]}"
    (tmp_path / "job.yaml").write_text(f"version: 1\nmicrodata: {{source: r.csv}}\ntables: [{table}]\n")
    return Job.load(tmp_path / "job.yaml")


def test_on_own_tables_each_cell_of_disagreement_is_told_with_its_figures(job):
    (study,) = study_job(job, TWO, fixed={"P": 20, "D": 75})
    split = study.disagreements()
    assert split
    for cell in split:
        by = cell["unsafe by"]
        assert ("D" in by) == (cell["figures"]["D"] > 75)
        assert ("P" in by) == (cell["figures"]["P"] < 20)
        assert len(by) == 1
        assert cell["shares"] == sorted(cell["shares"], reverse=True)


def test_own_tables_give_a_confidential_page(job):
    page = own_tables_page(study_job(job, TWO))
    assert "Confidential" in page
    assert "//" not in page.split("</style>")[1].replace("http://www.w3.org", "").split("<script")[0]


def test_the_page_of_drawn_cells_has_all_pictures_and_figures_of_every_setting():
    settings = [study_setting(TWO, cells=60, n=n) for n in (4, 6)]
    page = rule_study_page(settings, [study_sizes(TWO, cells=60)])
    assert page.count("<svg") == 13 and "Contributions of either sign" in page
    assert "Confidential" not in page
    assert str(rule_study_data(settings[0].study)["pairs"]["D-P"]["both"]) in page
    anchors = [part.split('"')[0] for part in page.split('<section id="')[1:]]
    assert len(anchors) == len(set(anchors)) == 9 and anchors[0] == "overview"
    first = page.split('<section id="')[1]
    assert all(one.drawn in first and f"{one.study.agreements['D', 'P'].kappa:.2f} (" in first for one in settings)
    assert (
        "the seed 1; each rule shall call 12 of 60 unsafe; negative draws: keep" in first
        and "Viera and Garrett (2005)" in first
    )
    (again,) = agreement_sections(settings[0].study, settings[0].drawn)
    assert all(figure["picture"] in page for figure in again.data["figures"])  # the same pictures, to the letter


def test_the_command_compares_drawn_cells_and_own_tables(job, tmp_path):
    asked = ["compare-rules", "--rule", "dominance n=2", "--rule", "p_percent", "--cells", "100"]
    result = CliRunner().invoke(cli, [*asked, "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["exponential(1), n = 4"]["cells"] == 100
    out = tmp_path / "own.html"
    result = CliRunner().invoke(cli, [*asked[:-2], str(job.folder / "job.yaml"), "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "kappa" in result.stdout
    assert out.stat().st_mode & 0o077 == 0


def test_agreement_over_sizes_is_that_of_each_size():
    kappas = agreement_over_sizes(TWO, sizes=[4, 6], cells=200)
    assert kappas["D", "P"].tolist() == [study_rules(TWO, n=n, cells=200).agreements["D", "P"].kappa for n in (4, 6)]


def test_cells_are_drawn_from_own_records_and_the_page_is_confidential(job, tmp_path):
    drawn, page = f"{job.folder / 'r.csv'}:x", tmp_path / "p.html"
    rules = ["--rule", "dominance n=2", "--rule", "p_percent"]
    asked = ["compare-rules", *rules, "--distribution", drawn, "--cells", "60", "--out", str(page), "--json"]
    result = CliRunner().invoke(cli, asked)
    assert result.exit_code == 0, result.output
    (study,) = json.loads(result.stdout).values()
    assert study["cells"] == 60 and len(study["rules"]["p_percent"]["unsafe_by_strictness"]) == 100
    assert "Confidential" in page.read_text() and page.stat().st_mode & 0o077 == 0
    wrong = CliRunner().invoke(cli, ["compare-rules", "--distribution", drawn[:-1] + "y"])
    assert "no column 'y'" in str(wrong.exception)


def test_parameters_beyond_100_reach_what_others_cannot():
    asked = ["compare-rules", "--n", "10", "--cells", "200", "--json"]
    for more, reached in (((), False), (("--parameters", "300"), True)):
        (study,) = json.loads(CliRunner().invoke(cli, [*asked, *more]).stdout).values()
        assert study["rules"]["P"]["reached"] == reached


def test_small_tables_reach_the_nearest_whole_number_and_none_where_the_given_rule_calls_none(job):
    (study,) = study_job(job, TWO, fixed={"P": 1})
    assert study.study.chosen["P"].unsafe == study.study.chosen["D"].unsafe == 0
    assert all(chosen.reached for chosen in study.study.chosen.values())
    page = own_tables_page([study])
    assert "<svg" not in page  # without a disagreement there is nothing to draw


def test_words_and_figures_are_set_apart_in_tables():
    made = table(("", "rule", "share", "far"), [("a", "p_percent 10", "1.5 %", "no end"), ("b", "", "-2e-05", "1,000")])
    assert made["figures"] == [False, False, True, True]


def test_cells_with_negative_totals_are_compared_by_the_sizes_of_their_contributions(tmp_path):
    rows = [f"{cell},{sign * value}" for cell, sign in (("A", 1), ("B", -1), ("C", -1)) for value in (90, 8, 5, 4)]
    (tmp_path / "r.csv").write_text("\n".join(["r,x", *rows]))
    table = {"name": "t", "by": ["r"], "value": "x", "negative": "absolute", "rules": []}
    data = {"version": 1, "microdata": {"source": "r.csv"}, "attack": {"lower": "unbounded"}, "tables": [table]}
    job = Job.parse(data, folder=tmp_path)
    families, fixed = parse_families(["p_percent p=20", "dominance n=1"])
    (study,) = study_job(job, families, fixed=fixed)
    assert len(study.study) == 4, "the total, and three cells of which two are below 0"
    assert study.study.verdicts("p_percent").tolist() == [False, True, True, True]
    assert all((here >= 0).all() and (here <= 1).all() for here in [study.study.largest / study.study.total[:, None]])


def test_a_rule_whose_prior_knowledge_is_50_can_be_compared_and_named():
    families, _ = parse_families(["prior_posterior q=50", "p_percent"])
    assert [str(family) for family in families.values()] == ["prior_posterior (p, 50)", "p_percent p"]
    assert study_rules(families, cells=200).rules["prior_posterior"] is not None


def test_two_variants_of_one_rule_have_two_names():
    families, _ = parse_families(["statisticon both_pairs=1", "statisticon"])
    assert list(families) == ["statisticon both_pairs=1", "statisticon"]


def test_a_rule_that_calls_no_cell_unsafe_is_taken_at_its_strictest():
    """Of ten normal contributions p % calls no cell unsafe: it is p = 100 that comes nearest, not p = 1."""
    study = study_rules(distribution="normal(100, 50)", n=10)
    assert study.counts("P").max() == 0 and (study.chosen["P"].strictness, study.chosen["P"].missed) == (100, "beyond")


def test_why_a_number_is_not_reached_is_told_apart():
    alike = contributions(*[[6, 3, 1]] * 10)
    for whole, why in ((True, "coarse"), (False, "tied")):
        study = study_cells(alike, TWO, target=0.5, fixed={"P": 50}, whole=whole)
        assert (study.chosen["D"].missed, study.chosen["P"].missed) == (why, "given")
    assert study_cells(alike, TWO, target=0.5, fixed={"P": 10}).chosen["P"].words.startswith("the strictness is given")
    few = study_cells(contributions(*[[5] * 9] * 10), {"P": TWO["P"], "D": TWO["D"]}, target=0.5)
    assert (few.chosen["P"].strictness, few.chosen["P"].missed) == (100, "beyond")
    assert study_rules(TWO, cells=1000).chosen["P"].missed is None


def test_each_rule_calls_exactly_the_wanted_number_unsafe():
    """Equal strictness is equal to the cell: the parameter lies between the figures of two cells."""
    for seed, (n, drawn) in enumerate([(3, "exponential(1)"), (4, "lognormal(0, 2)"), (5, "pareto(2)")], 1):
        study = study_rules(distribution=drawn, n=n, cells=300, seed=seed)
        for name, rule in study.rules.items():
            assert study.chosen[name].unsafe == study.verdicts(name).sum() == 60
            facts = draw_cells(drawn, n, cells=300, seed=seed).facts
            assert rule.unsafe(facts).sum() == 60, "the rule as it is written says so itself"
            order = np.sort(rule.measure(facts))
            beyond = order[-61:-59] if name == "D" else order[59:61]
            assert beyond[0] <= study.chosen[name].strictness <= beyond[1]


def test_the_target_is_what_the_given_rule_calls_unsafe():
    study = study_rules(TWO, cells=400, fixed={"P": 10})
    assert study.chosen["D"].unsafe == study.chosen["P"].unsafe and study.chosen["D"].reached


def test_rules_inside_rules_are_compared():
    texts = ["signed usual=(dominance n=2) by=variance", "all (p_percent) (min_frequency n=9)", "p_percent p=12"]
    families, fixed = parse_families(texts)
    assert [str(family) for family in families.values()] == [
        "signed (dominance (2, k), by variance)",
        "p_percent p and min_frequency 9",
        "p_percent p",
    ]
    assert fixed == {"p_percent": 12}
    study = study_rules(families, distribution="normal(50, 50)", n=6, cells=300)
    signed = study.rules["signed"]
    drawn = draw_cells("normal(50, 50)", 6, cells=300).contributions
    assert study.verdicts("signed").tolist() == signed.unsafe(signed_contributions(*drawn)).tolist()
    assert safe_map(signed, 4, steps=10)[2].any()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("all p_percent", "stands in brackets"),
        ("all (p_percent) (dominance n=2)", "exactly one must have a percentage that is free, not 2"),
        ("all (p_percent) (p_percnt)", "did you mean 'p_percent'"),
        ("signed usual=(all (p_percent))", "its brackets do not fit"),
        ("signed", "it lacks usual"),
        ("p_percent p=-3", "percentages above 0"),
    ],
)
def test_rules_inside_rules_are_refused_in_words(text, words):
    with pytest.raises(InputError, match=words):
        parse_families([text, "dominance n=2"])


def test_the_two_kinds_of_a_group_are_told_apart():
    """Statisticon calls cells unsafe where the second is small, and where two are large: their median is neither."""
    study = study_rules()
    one, two = study.modes("S", "P")
    assert len(one) + len(two) == len(study.group("S", "P"))
    assert len(one) > 10 and len(two) > 10
    assert one.typical[1] < 0.15 < 0.35 < two.typical[1]


def test_many_seeds_give_ranges_and_files_give_what_is_drawn(tmp_path):
    asked = ["compare-rules", "--cells", "50", "--seeds", "3", "--out", str(tmp_path / "p.html"), "--json"]
    result = CliRunner().invoke(cli, [*asked, "--csv", str(tmp_path / "all")])
    assert result.exit_code == 0, result.output
    (told,) = json.loads(result.stdout).values()
    kappas = [study_rules(cells=50, seed=seed).agreements["P", "S"].kappa for seed in (1, 2, 3)]
    seen = told["over_seeds"]["pairs"]["P-S"]["kappa"]
    assert (seen["least"], seen["most"]) == (round(min(kappas), 6), round(max(kappas), 6))
    page = (tmp_path / "p.html").read_text()
    assert "Over 3 seeds" in page and "Where the borders" in page and "alone calls" in page
    study = study_rules(cells=50)
    files = {path.name: list(csv.reader(path.read_text().splitlines())) for path in (tmp_path / "all").iterdir()}
    assert sorted(files) == [
        *("cells.csv", "contours.csv", "groups.csv", "matrix-1-D.csv", "matrix-1-P.csv", "matrix-1-S.csv"),
        "strictness.csv",
    ]
    matrix = np.array(files["matrix-1-P.csv"][1:], int)[:, 1:]
    assert (matrix == study.unsafe["P"]).all()
    said = [int(row[-1]) for row in files["cells.csv"][1:]]
    assert said == study.verdicts("S").astype(int).tolist()
    assert len(files["groups.csv"]) == 1 + 3 * 2 * 3 and len(files["contours.csv"]) > 3 * 18 * 99
    again = CliRunner().invoke(cli, [*asked[:-1], "--csv", str(tmp_path / "all")])
    assert again.exit_code, "nothing is written over without --force"
