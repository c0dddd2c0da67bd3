"""What users of other packages and of other offices write first, and what they are told: the cure, in our words."""

from types import SimpleNamespace

import pandas as pd
import pytest

import cellguard as cg

from system.command import run

FRAME = pd.DataFrame({"region": list("NNNSSSWWW") * 3, "size": list("abc") * 9, "x": range(10, 37)})
RULES = [cg.MinFrequency(2)]
JOB = """\
version: 1
microdata: {source: r.csv}
tables:
  - {name: t, by: [region, size], value: x, rules: [{min_frequency: 2}, {p_percent: 10}]}
"""
ARGUMENTS = {
    "values": "it is `value` here",
    "groupby": "it is `by` here",
    "columns": "it is `by` here",
    "where": "take the rows first",
    "maxN": "rules=cg.MinFrequency(3)",
    "primary": "rules=cg.MinFrequency(3)",
    "dimVar": "it is `by` here",
    "numVar": "it is `value` here",
    "freqVar": "it is `freq` here",
    "dimList": "it is `hierarchies` here",
    "contributorVar": "it is `respondent` here",
    "formula": "it is `tables` here",
    "respondents": "did you mean 'respondent'",
}
CALLS = {
    "an engine as a method": (lambda: asked(method="gauss"), "{'engine': 'gauss'}}, an engine of the method"),
    "a method of sdcTable": (lambda: asked(method="HITAS"), "{'engine': 'witness'}}"),
    "a method of tau-argus": (lambda: asked(method="OPT"), "{'engine': 'optimal'}}"),
    "no method at all": (lambda: asked(method="suppres"), "did you mean 'suppress'"),
    "the rule of ACRO": (lambda: asked(rules={"nk": {"n": 2, "k": 85}}), "it is 'dominance' here"),
    "a threshold": (lambda: asked(rules={"threshold": 3}), "it is 'min_frequency' here"),
    "a rule as a pair": (lambda: asked(rules={"dominance": [2, 85]}), "{'dominance': {'n': 2, 'k': 85}}"),
    "a rule as a list": (lambda: asked(rules={"min_frequency": [3]}), "{'min_frequency': 3}"),
    "two values": (lambda: asked(value=["x", "size"]), "must be the name of one column"),
    "an expression": (lambda: asked(value=SimpleNamespace()), "not SimpleNamespace"),
    "yes as R has it": (lambda: asked(progress="T"), "must be True, False or a function"),
    "cbind": (lambda: cg.protect(FRAME, tables="cbind(x, size) ~ region", rules=RULES), "a formula for each column"),
    "a frame to suppress": (lambda: cg.suppress(FRAME), "from a frame or a file take cg.protect"),
    "an outcome to verify": (lambda: cg.verify(asked()), "outcome.write('out')"),
    "an outcome as a frame": (lambda: asked()["t"], "`.table` is the frame"),
    "a home folder": (lambda: cg.protect("~/r.csv", by=["region"], rules=RULES), "~ is not taken for your home"),
}
ATTRIBUTES = {
    "a frame of the outcome": (lambda: asked().to_pandas, ".table is the frame"),
    "saving the outcome": (lambda: asked().save, ".write('out') writes the folder"),
    "a slip in the outcome": (lambda: asked().crostab, "did you mean 'crosstab'"),
    "ACRO": (lambda: cg.ACRO, "it is cg.Session(frame) here"),
    "NK": (lambda: cg.NK, "it is cg.Dominance(n, k) here"),
    "capitals": (lambda: cg.Protect, "did you mean 'protect'"),
    "a model in the session": (lambda: cg.Session(FRAME).ols, "session.regression(result)"),
    "a histogram": (lambda: cg.Session(FRAME).hist, "session.figure(figure, counts=[...])"),
    "groups in the session": (lambda: cg.Session(FRAME).groupby, "session.crosstab(...)"),
    "comments": (lambda: cg.Session(FRAME).add_comments, "session.comment(output, text)"),
    "outputs": (lambda: cg.Session(FRAME).print_outputs, "session.outputs has them"),
}
JOBS = {
    "a list without brackets": ("by: [region, size]", "by: region, size", "a list stands in brackets, as [a, b]"),
    "a decimal comma": ("p_percent: 10", "p_percent: 12,5", "a decimal number is written with a point, as 12.5"),
    "a sign of percent": ("p_percent: 10", "p_percent: 10%", "p must be a number, without the sign %"),
    "a method of the whole job": (
        "tables:",
        "protect: {method: round}\ntables:",
        "it stands in a table, beside its `name`",
    ),
    "a source of the whole job": ("tables:", "respondent: id\ntables:", "it stands in `microdata: {source: firms.csv"),
    "a folder of one table": ("value: x,", "value: x, output: {folder: o},", "it stands in the job, beside `tables`"),
    "a path of Windows": ("source: r.csv", 'source: "C:\\data\\r.csv"', "write paths with /, or in single quotes"),
}
COMMANDS = {
    "protect j.yaml --rule p_percent=10": "rules stand in the job",
    "protect j.yaml --output out": "Did you mean '--out'",
    "protect j.yaml --engine gauss": "the engine stands in the job",
    "init book.xlsx --sheet Data": "the first sheet is read",
    "explain out": "name a cell by its codes",
    "init book.xlsx": "Of the sheets the first one, 'Notes', is read; put 'Data' first",
}


def asked(data=FRAME, by=("region",), value="x", rules=RULES, **more):
    return cg.protect(data, list(by), value, rules=rules, **more)


@pytest.mark.parametrize("word", list(ARGUMENTS))
def test_what_others_call_an_argument(word):
    with pytest.raises(cg.InputError) as told:
        asked(**{word: 3})
    assert f"no argument {word!r}; {ARGUMENTS[word]}" in str(told.value).replace("say it as a rule, as ", "")


@pytest.mark.parametrize("name", list(CALLS))
def test_what_others_say(name):
    call, words = CALLS[name]
    with pytest.raises(cg.InputError) as told:
        call()
    assert words in str(told.value)


@pytest.mark.parametrize("name", list(ATTRIBUTES))
def test_what_others_look_for(name):
    call, words = ATTRIBUTES[name]
    with pytest.raises(AttributeError) as told:
        call()
    assert words in str(told.value)


def test_what_python_itself_looks_for_is_answered_as_ever():
    import copy

    outcome = asked()
    assert not hasattr(outcome, "_repr_latex_") and not hasattr(cg, "__wrapped__")
    assert copy.copy(outcome).verdict is outcome.verdict


@pytest.mark.parametrize("name", list(JOBS))
def test_what_is_written_into_jobs(tmp_path, name):
    before, after, words = JOBS[name]
    FRAME.to_csv(tmp_path / "r.csv", index=False)
    (tmp_path / "j.yaml").write_text(JOB.replace(before, after))
    done = run("protect", "j.yaml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2 and words in done.stderr


@pytest.mark.parametrize("typed", list(COMMANDS))
def test_what_is_typed(tmp_path, typed):
    with pd.ExcelWriter(tmp_path / "book.xlsx") as prover:
        pd.DataFrame({"note": ["read this"]}).to_excel(prover, sheet_name="Notes", index=False)
        FRAME.to_excel(prover, sheet_name="Data", index=False)
    (tmp_path / "j.yaml").write_text(JOB)
    done = run(*typed.split(), cwd=tmp_path)
    assert done.returncode == 2 and COMMANDS[typed].lower() in done.stderr.lower()
