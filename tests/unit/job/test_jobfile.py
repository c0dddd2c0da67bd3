"""The job file: what it may say, and what is said of its faults."""

import json
import re

import numpy as np
import pytest
import yaml

from cellguard.errors import JobError
from cellguard.job.jobfile import Job, job_schema
from cellguard.job.rulespec import dump_rule
from cellguard.rules.all_of import All
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.rule import RULES
from cellguard.rules.simple import Given, MaxShare, MinFrequency

WHOLE = """\
version: 1
dimensions:
  industry:
    column: nace
    levels: nace.csv
    total: All
    labels: labels.csv
  region:
    parents: region.csv
    also:
      - name: tourist
        parents: tourist.csv
    recode:
      merge: {"S1-2": [S1, S2]}
      cut: [N]
      to_level: 2
  code:
    digits: [1, 1, 2]
  geo:
    hrc: geo.hrc
    lead: "-"
equations: ["turnover = domestic + export"]
tables:
  - name: ready_made
    by: [industry, region]
    value: TOT
    response: turnover
    population: firms
    decimals: 1
    zeros: possible
    impossible: none.csv
    publish: {industry: [0, 1]}
    tolerance: 0.5
    apriori: apriori.hst
    cells:
      source: cells.csv
      count: N
      holdings: H
      top: [MAX, MAX2]
      status: state
      cost: c
      need_lower: nl
      need_upper: nu
      lower: lo
      upper: up
      delimiter: ";"
      decimal: ","
      encoding: latin-1
    rules:
      - min_frequency: 3
      - p_percent: 10
      - all: [{max_share: 60}, {given: secret}]
attack:
  lower: unbounded
  upper: 1000
  percent: 50
  insiders: false
"""
SMALL = """\
version: 1
tables:
  - name: t
    by: [r]
    value: x
    rules: []
    cells: {source: t.csv}
"""


@pytest.fixture
def load(tmp_path):
    def write_and_load(text):
        path = tmp_path / "job.yaml"
        path.write_text(text, encoding="utf-8")
        return Job.load(path)

    return write_and_load


def faults(load, text):
    with pytest.raises(JobError) as error:
        load(text)
    return str(error.value)


def test_everything_that_a_job_may_say_is_read(load):
    job = load(WHOLE)
    table, region = job.tables[0], job.dimensions["region"]
    assert job.dimensions["industry"].model_dump(exclude_unset=True) == {
        "column": "nace",
        "levels": "nace.csv",
        "total": "All",
        "labels": "labels.csv",
    }
    assert (region.also[0].name, region.also[0].parents) == ("tourist", "tourist.csv")
    assert (region.recode.merge, region.recode.cut, region.recode.to_level) == ({"S1-2": ["S1", "S2"]}, ["N"], 2)
    assert job.dimensions["code"].digits == [1, 1, 2]
    assert (job.dimensions["geo"].hrc, job.dimensions["geo"].lead) == ("geo.hrc", "-")
    assert table.rules == [MinFrequency(3), PPercent(10), All((MaxShare(60), Given("secret")))]
    assert (table.publish, table.zeros, table.decimals, table.tolerance) == ({"industry": [0, 1]}, "possible", 1, 0.5)
    assert (table.cells.top, table.cells.decimal, table.cells.encoding) == (["MAX", "MAX2"], ",", "latin-1")
    assert (job.attack.lower, job.attack.upper, job.attack.percent) == (-np.inf, 1000, 50)


def test_defaults(load):
    job = load(SMALL)
    assert (job.attack.lower, job.attack.upper, job.insiders) == (0, np.inf, False)
    assert (job.tables[0].population, job.tables[0].zeros, job.tables[0].rules) == ("all", None, [])


def test_rules_are_mandatory_and_the_cure_is_told(load):
    message = faults(load, SMALL.replace("    rules: []\n", ""))
    assert message.startswith(
        "job.yaml line 3: tables[0].rules: this key is missing; every table needs rules, as `rules:"
    )
    assert "`rules: []` applies none on purpose, and then nothing is called safe" in message


@pytest.mark.parametrize("text", [WHOLE, SMALL], ids=["whole", "small"])
def test_a_job_survives_being_written_and_read(load, text):
    job = load(text)
    again = Job.parse(json.loads(job.model_dump_json()), folder=job.folder)
    assert again.model_dump() == job.model_dump() and again.tables == job.tables and again.insiders == job.insiders


def test_a_job_cannot_be_changed(load):
    with pytest.raises(ValueError, match="frozen"):
        load(SMALL).version = 2


def test_paths_start_from_the_folder_of_the_job_file(load, tmp_path):
    job = load(SMALL)
    assert job.folder == tmp_path
    assert job.path("data/t.csv") == tmp_path / "data" / "t.csv"


UNKNOWN = [  # a line of the whole job, what it becomes, the place and the suggestion
    ("equations:", "equation:", "equation", "equations"),
    ("attack:", "atack:", "atack", "attack"),
    ("    column:", "    colum:", "dimensions.industry.colum", "column"),
    ("      - name: tourist", "      - nam: tourist", "dimensions.region.also[0].nam", "name"),
    ("        parents: tourist", "        parent: tourist", "dimensions.region.also[0].parent", "parents"),
    ("      to_level:", "      level_to:", "dimensions.region.recode.level_to", "to_level"),
    ("    zeros:", "    zeroes:", "tables[0].zeroes", "zeros"),
    ("    response:", "    reponse:", "tables[0].reponse", "response"),
    ("      holdings:", "      holding:", "tables[0].cells.holding", "holdings"),
    ("      need_upper:", "      need_uper:", "tables[0].cells.need_uper", "need_upper"),
    ("  percent:", "  percentage:", "attack.percentage", "percent"),
]


@pytest.mark.parametrize(
    ("old", "new", "place", "suggestion"), UNKNOWN, ids=[new.strip(" -:") for _, new, *_ in UNKNOWN]
)
def test_an_unknown_key_is_told_with_its_line_and_a_suggestion(load, old, new, place, suggestion):
    assert WHOLE.count(f"\n{old}") == 1
    line = WHOLE[: WHOLE.index(f"\n{old}")].count("\n") + 2
    key = place.split(".")[-1]
    message = faults(load, WHOLE.replace(f"\n{old}", f"\n{new}"))
    assert f"job.yaml line {line}: {place}: unknown key '{key}'; did you mean '{suggestion}'" in message


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("p_persent: 10", "unknown rule 'p_persent'; did you mean 'p_percent'"),
        ("dominance: {n: 2, kk: 85}", "dominance has no parameter 'kk'; did you mean 'k'"),
        ("all: [{max_share: 60}, {gven: secret}]", "unknown rule 'gven'; did you mean 'given'"),
        ("p_percent: -1", "p_percent: p must be above 0"),
    ],
)
def test_a_wrong_rule_is_told_with_its_line(load, rule, said):
    message = faults(load, WHOLE.replace("p_percent: 10", rule))
    line = WHOLE[: WHOLE.index("p_percent: 10")].count("\n") + 1
    assert f"job.yaml line {line}: tables[0].rules[1]: {said}" in message


def test_insiders_are_looked_at_wherever_the_job_has_records_and_where_it_says_so(load):
    made = SMALL.replace("    cells: {source: t.csv}\n", "") + "microdata: {source: r.csv}\n"
    said = {word: f"attack: {{insiders: {word}}}\n" for word in ("true", "false")}
    assert [load(text).insiders for text in (SMALL, SMALL + said["true"])] == [False, True]
    assert [load(text).insiders for text in (made, made + said["false"])] == [True, False]
    assert load(made).model_dump()["attack"]["insiders"] is True  # whoever reads it later need not know the default


def test_methods_that_hide_nothing_are_not_asked_about_insiders(load):
    made = SMALL.replace("    cells: {source: t.csv}\n", "    protect: {method: perturb}\n")
    job = load(made.replace("rules: []", "rules: [{p_percent: 10}]") + "microdata: {source: r.csv, respondent: id}\n")
    assert not job.insiders and job.model_dump()["attack"]["insiders"] is None
    assert Job.parse(job.model_dump()).method == "perturb"


def test_a_table_has_cells_or_is_made_from_records(load):
    made = SMALL.replace("    cells: {source: t.csv}\n", "")
    assert "table 't' has no data: name its `cells`" in faults(load, made)
    assert load(made + "microdata: {source: firms.csv}\n").microdata.missing.value == "error"
    assert "every table has `cells`" in faults(load, SMALL + "microdata: {source: firms.csv}\n")
    assert "`survey` goes with tables from records" in faults(load, SMALL + "    survey: sample\n")


@pytest.mark.parametrize(
    ("more", "line", "place"),
    [
        ("dimensions:\n  r:\n    total: 01\n", 10, "dimensions.r.total"),
        ("dimensions:\n  r:\n    total: no\n", 10, "dimensions.r.total"),
        ("dimensions:\n  r:\n    recode:\n      cut: [yes]\n", 11, "dimensions.r.recode.cut[0]"),
        (
            "dimensions:\n  r:\n    recode:\n      merge:\n        a:\n          - 01\n",
            13,
            "dimensions.r.recode.merge.a[0]",
        ),
        ("dimensions:\n  r:\n    total: 2024-01-01\n", 10, "dimensions.r.total"),
    ],
)
def test_a_code_that_yaml_takes_for_something_else_must_be_quoted(load, more, line, place):
    assert f"job.yaml line {line}: {place}: must be text; put codes" in faults(load, SMALL + more)


def test_a_number_as_a_key_of_codes_must_be_quoted(load):
    message = faults(load, SMALL + "dimensions:\n  r:\n    recode:\n      merge:\n        01: [a]\n")
    assert message.startswith("job.yaml line 12: the key 1 is not text; put it into quotes; a decimal number")


def test_quoted_codes_stay_as_they_are(load):
    job = load(SMALL + 'dimensions: {r: {total: "01", recode: {cut: ["no"]}}}\n')
    assert (job.dimensions["r"].total, job.dimensions["r"].recode.cut) == ("01", ["no"])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("version: 1", "version: 2", "line 1: version: this cellguard reads jobs of `version: 1`"),
        ("version: 1\n", "", "line 1: version: this key is missing"),
        ("name: t", "name: a/b", r"line 3: tables\[0\].name: files are named after a table, and it must be letters"),
        ("by: [r]", "by: []", r"line 4: tables\[0\].by: .*name at least one"),
        ("by: [r]", "by: r", r"line 4: tables\[0\].by: must be a list, as"),
        ("by: [r]", "by: [r, r]", r"line 3: tables\[0\]: `by` names a dimension twice"),
        ("    value: x\n", "", r"line 3: tables\[0\].value: this key is missing"),
        ("value: x", "value: count", r"line 3: tables\[0\]: value: count is a frequency table; .*cells: \{count"),
        ("value: x", "value: x\n    decimals: -1", r"line 6: tables\[0\].decimals"),
        ("value: x", "value: x\n    decimals: 1.5", r"line 6: tables\[0\].decimals"),
        ("value: x", "value: x\n    zeros: maybe", r"line 6: tables\[0\].zeros: must be 'known' or 'possible'"),
        (
            "value: x",
            "value: x\n    zeros: known\n    impossible: i.csv",
            r"line 3: tables\[0\]: `impossible` goes with",
        ),
        ("value: x", "value: x\n    tolerance: -1", r"line 6: tables\[0\].tolerance"),
        ("value: x", "value: x\n    tolerance: .inf", r"line 6: tables\[0\].tolerance"),
        ("value: x", 'value: x\n    tolerance: "1"', r"line 6: tables\[0\].tolerance: .*valid number"),
        ("version: 1", "version: 1\nattack: {lower: low}", "line 2: attack.lower: .*valid number"),
        ("version: 1", "version: 1\nattack: {percent: 0}", "line 2: attack.percent"),
        ("version: 1", "version: 1\nattack: {lower: 5, upper: 3}", "line 2: attack.*lower must be below upper"),
        (
            "version: 1",
            "version: 1\ndimensions:\n  r: {levels: a.csv, hrc: b.hrc}",
            "line 3: dimensions.r: give one of levels and hrc, not both",
        ),
        ("version: 1", "version: 1\ndimensions:\n  r: {digits: []}", "line 3: dimensions.r.digits"),
    ],
)
def test_wrong_values_are_told_with_their_place(load, old, new, said):
    assert old in SMALL
    assert re.search(rf"job\.yaml {said}", faults(load, SMALL.replace(old, new)))


def test_all_faults_are_told_at_once(load):
    message = faults(load, SMALL.replace("value: x", "valu: x") + "attack: {percent: 0}\ndimensions: {r: {lvels: a}}\n")
    assert [line.split(":")[0] for line in message.splitlines()] == [
        "job.yaml line 9",
        "job.yaml line 5",
        "job.yaml line 8",
    ]


def test_a_job_that_is_no_mapping():
    with pytest.raises(JobError, match=r"the job: this is no job\. A job has keys such as"):
        Job.parse([1, 2])


def test_plain_data_from_python_is_checked_the_same():
    with pytest.raises(JobError, match=r"^the job: tables\[0\].nme: unknown key 'nme'; did you mean 'name'"):
        Job.parse({"version": 1, "tables": [{"nme": "t"}]})


# --- the JSON schema ---

KINDS = {"object": dict, "array": list, "string": str, "number": (int, float), "integer": int, "boolean": bool}


def conforms(data, schema, root):
    """Tell whether data conform to a JSON schema, for the keywords that the job's schema uses."""
    if "$ref" in schema:
        return conforms(data, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root)
    kind = schema.get("type")
    if kind == "null":
        return data is None
    if kind and (not isinstance(data, KINDS[kind]) or (isinstance(data, bool) and kind != "boolean")):
        return False
    if "const" in schema and data != schema["const"]:
        return False
    if "enum" in schema and data not in schema["enum"]:
        return False
    if "anyOf" in schema and not any(conforms(data, s, root) for s in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(conforms(data, s, root) for s in schema["oneOf"]) != 1:
        return False
    if isinstance(data, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        if not all(key in data for key in schema.get("required", [])):
            return False
        for key, value in data.items():
            part = known.get(key, rest)
            if part is False or (isinstance(part, dict) and not conforms(value, part, root)):
                return False
    if isinstance(data, list):
        return len(data) >= schema.get("minItems", 0) and all(conforms(v, schema.get("items", {}), root) for v in data)
    return True


@pytest.fixture(scope="module")
def schema():
    return job_schema()


def test_the_schema_is_json(schema):
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema


def test_every_reference_of_the_schema_leads_somewhere(schema):
    names = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)))
    assert names
    assert names <= schema["$defs"].keys()


@pytest.mark.parametrize("text", [WHOLE, SMALL], ids=["whole", "small"])
def test_a_good_job_conforms_to_the_schema(schema, text):
    assert conforms(yaml.safe_load(text), schema, schema)


@pytest.mark.parametrize(
    ("old", "new", "place", "suggestion"), UNKNOWN, ids=[new.strip(" -:") for _, new, *_ in UNKNOWN]
)
def test_the_schema_refuses_unknown_keys(schema, old, new, place, suggestion):
    assert not conforms(yaml.safe_load(WHOLE.replace(f"\n{old}", f"\n{new}")), schema, schema)


@pytest.mark.parametrize(
    "written",
    [
        {"min_frequency": 3},
        {"given": "secret"},
        dump_rule(Dominance(2, 85)),
        dump_rule(All((MaxShare(60), Given("secret")))),
        dump_rule(All((All((MaxShare(60), Given("secret"))), MinFrequency(3)))),
    ],
    ids=str,
)
def test_the_schema_accepts_the_rules_that_the_job_accepts(schema, written):
    job = yaml.safe_load(SMALL)
    job["tables"][0]["rules"] = [written]
    Job.parse(job)
    assert conforms(job, schema, schema)


@pytest.mark.parametrize(
    "written", [{"p_persent": 10}, {"dominance": 85}, {"min_frequency": "3"}, "p_percent"], ids=str
)
def test_the_schema_refuses_the_rules_that_the_job_refuses(schema, written):
    job = yaml.safe_load(SMALL)
    job["tables"][0]["rules"] = [written]
    assert not conforms(job, schema, schema)


def test_every_rule_is_in_the_schema(schema):
    choices = schema["$defs"]["Rule"]["oneOf"]
    assert {name for choice in choices for name in choice["properties"]} == {*RULES, "all"}
