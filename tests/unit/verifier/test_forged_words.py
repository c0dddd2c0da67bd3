"""Words for people: what a headline claims must be what was checked. Here of folders that look at respondents."""

import json
import shutil

import pytest

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.pipeline import verify as verify_folder
from unit.verifier import folders

CODES = [("A", "s", 6), ("A", "m", 1), ("A", "l", 5), ("B", "s", 1), ("B", "m", 1), ("B", "l", 3), ("C", "s", 4)]
CODES += [("C", "m", 5), ("C", "l", 4)]


def protected(folder, rules=({"min_frequency": 3}, {"p_percent": 10}), **attack):
    """Turnover by region and size, and firms by region; some firms have several records."""
    codes = [(region, size) for region, size, many in CODES for _ in range(many)]
    lines = [f"i{n},h{n * 7 % 22},{r},{s},{(n * 37) % 90 + 5}" for n, (r, s) in enumerate(codes)]
    (folder / "r.csv").write_text("\n".join(["id,h,region,size,x", *lines]))
    tables = [
        {"name": "t", "by": ["region", "size"], "value": "x", "rules": list(rules)},
        {"name": "n", "by": ["region"], "value": "count", "rules": [{"min_frequency": 3}]},
    ]
    records = {"source": "r.csv", "respondent": "id", "holding": "h"}
    said = {"version": 1, "microdata": records, "tables": tables, "attack": attack}
    OutputFolder(folder / "out").write(run(Job.parse(said, folder=folder)))
    return folder / "out"


@pytest.fixture(scope="module", params=[{}, {"coalition": 2}, {"insiders": False}], ids=str)
def made(request, tmp_path_factory):
    return protected(tmp_path_factory.mktemp("words"), **request.param)


def refused(out):
    found = verify_folder(folders.seal(out))
    return [f"{check.name}: {check.detail}" for check in found.checks if not check.passed]


def change(out, name, how):
    path = out / f"internal/{name}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    how(document)
    folders.write_json(path, document)


def in_both(out, **said):
    for name in ("summary", "certificate"):
        change(out, name, lambda found: found.update({key: value for key, value in said.items() if key in found}))


def test_the_words_of_a_folder_are_those_of_its_claim(made):
    assert refused(made) == []


SINGLES = "0 single-respondent cells are suppressed in the same sums as others"
CLAIMS = [
    "Safe against everybody",
    "Safe against outsiders and every single respondent",
    "Safe against outsiders and up to 2 respondents together",
    "Safe against outsiders and up to 4 respondents together, what respondents know beyond listed cells not checked",
    f"Safe against outsiders only; insiders not checked: {SINGLES}",
    "",
]


@pytest.mark.parametrize("text", CLAIMS)
def test_another_headline_is_refused(made, tmp_path, text):
    """None of these names all that was not checked: counts and values of several tables are in each folder."""
    out = shutil.copytree(made, tmp_path / "out")
    in_both(out, headline=text)
    assert [words for words in refused(out) if "headline" in words]


def test_each_attack_that_nobody_checked_is_named(made, tmp_path):
    """Leaving one out of the list, or of the caveat, or of both and of the headline, is seen."""
    keys = json.loads((made / "internal/summary.json").read_text())["not_checked"]
    assert len(keys) >= 5
    for key in keys:
        out = shutil.copytree(made, tmp_path / key)
        in_both(out, not_checked=[other for other in keys if other != key])
        assert [words for words in refused(out) if f"leaves out {key}" in words]
        before = json.loads((made / "internal/summary.json").read_text())["caveat"]
        in_both(out, not_checked=keys, caveat=before.replace("other", "no"))
        assert [words for words in refused(out) if "caveat" in words] or "other" not in before


def test_an_attack_more_may_be_said_not_to_be_checked(tmp_path):
    """A folder may claim less than it proves, but in the words in which a folder says it."""
    out = protected(tmp_path)
    summary = json.loads((out / "internal/summary.json").read_text())
    keys = ["counts_and_values", "differences", *summary["not_checked"][1:]]
    tie = "counts and values of several tables together"
    caveat = summary["caveat"].replace(f"{tie[1:]} not", f"{tie[1:]} not checked; differences of populations not")
    text = summary["headline"].replace(tie, f"{tie} and differences of populations")
    assert keys != summary["not_checked"] and caveat != summary["caveat"] and text != summary["headline"]
    in_both(out, not_checked=keys, caveat=caveat, headline=text)
    assert refused(out) == []
    in_both(out, not_checked=[*keys, "gods"])
    assert [words for words in refused(out) if "not_checked" in words]


def test_sums_that_the_words_speak_of_are_claimed(tmp_path):
    """Without its claim about sums a folder must not say that only those of several relations are open.

    Where tables are made from records, a run judges sums, and no folder is without them, whatever it says.
    """
    out = protected(tmp_path, rules=[{"min_frequency": 2}])
    assert not json.loads((out / "internal/certificate.json").read_text())["sums"]["tables"]
    change(out, "certificate", lambda found: found.update(sums=None))
    for path in [out / "internal/sums.parquet", *(out / "internal/facts").glob("told*.parquet")]:
        path.unlink()
    assert [words for words in refused(out) if "caveat" in words]
    assert [words for words in refused(out) if "sums.beyond" in words]
    caveat = json.loads((out / "internal/summary.json").read_text())["caveat"]
    judged = "sums of three or more suppressed cells that only several relations together give"
    assert judged in caveat
    in_both(out, caveat=caveat.replace(judged, "sums of suppressed cells (unions)"))
    change(out, "summary", lambda found: found["sums"].update(beyond=["all"]))
    assert [words.partition(":")[0] for words in refused(out)] == ["rules and protection levels"]


def test_who_chose_the_cells_is_no_matter_of_words(made, tmp_path):
    """That a program chose secondaries shows in their states, and random costs in the seed that is kept."""
    for choice in ("given", "random", "the stars"):
        out = shutil.copytree(made, tmp_path / choice)
        change(out, "summary", lambda found, choice=choice: found.update(choice=choice))
        assert [words for words in refused(out) if "who chose" in words]


def test_what_is_not_checked_is_named(made, tmp_path):
    """Invented figures of the search pass, and everybody is told that nobody checked them."""
    out = shutil.copytree(made, tmp_path / "out")
    change(out, "summary", lambda found: found.update(lower_bound=1e9, gap=0.0, cost=1.0, praise="the best of all"))
    rows = folders.read_csv(out / "internal/t.csv")
    at = [rows[0].index(name) for name in ("reasons", "cost")]
    hidden = next(row for row in rows if "primary" in row)
    hidden[at[0]], hidden[at[1]] = "because of the weather", "17"
    folders.write_csv(out / "internal/t.csv", rows)
    found = verify_folder(folders.seal(out))
    assert found.valid
    named = {"lower_bound", "gap", "cost", "praise", "seconds", "versions", "single_respondent_cells", "set.relations"}
    assert {f"internal/summary.json: {key}" for key in named} <= set(found.not_checked)
    assert {"internal/*.csv: reasons", "internal/*.csv: cost", "internal/report.html"} <= set(found.not_checked)
    for key in ("headline", "caveat", "verdict", "tables", "settings", "set.witnesses"):
        assert f"internal/summary.json: {key}" not in found.not_checked


def test_a_folder_says_what_it_claims(made, tmp_path):
    """What is valid is no more than that; of a folder that fails nothing is claimed."""
    found = verify_folder(made / "internal/certificate.json")
    said = json.loads((made / "internal/summary.json").read_text())
    assert found.claims == (said["headline"], said["caveat"])
    out = shutil.copytree(made, tmp_path / "out")
    in_both(out, headline="Safe against everybody")
    assert verify_folder(folders.seal(out)).claims == ()


def test_wider_intervals_are_named_and_narrower_ones_refused(made, tmp_path):
    out = shutil.copytree(made, tmp_path / "out")
    rows = folders.read_csv(out / "internal/t.csv")
    low, high, value = (rows[0].index(name) for name in ("interval_lower", "interval_upper", "value"))
    hidden = next(row for row in rows if "primary" in row)
    before = hidden[low], hidden[high]
    hidden[low], hidden[high] = "0", "inf"
    folders.write_csv(out / "internal/t.csv", rows)
    found = verify_folder(folders.seal(out))
    assert found.valid and any("interval_lower" in name for name in found.not_checked)
    for ends in ((hidden[value], before[1]), (before[0], hidden[value])):
        hidden[low], hidden[high] = ends
        folders.write_csv(out / "internal/t.csv", rows)
        assert [words for words in refused(out) if "a witness leads out of" in words]
