"""Data and structures of SDMX and PX as others write them become jobs, and what is wrong with them is told in words."""

from __future__ import annotations

import csv
import json
import warnings

import pytest

from cellguard.errors import InputError
from cellguard.hierarchy.sdmx import read_codelist, read_structure
from cellguard.reading.px import read_px
from cellguard.suggest.init import suggest_job
from cellguard.table.source import open_source

from system.command import run

AREAS = {"_T": "", "N": "", "n1": "N", "n2": "N", "S": "", "s1": "S", "s2": "S"}
SIZES = {"TOTAL": "", "1-9": "TOTAL", "10_49": "TOTAL", "GE50": "TOTAL"}
VALUES = {("n1", "1-9"): 40, ("n1", "10_49"): 51, ("n1", "GE50"): 9, ("n2", "1-9"): 33, ("n2", "10_49"): 62}
VALUES |= {("n2", "GE50"): 78, ("s1", "1-9"): 29, ("s1", "10_49"): 44, ("s1", "GE50"): 81}
VALUES |= {("s2", "1-9"): 35, ("s2", "10_49"): 57, ("s2", "GE50"): 90}


def under(tree, code):
    leaves = [leaf for leaf in tree if leaf not in tree.values()]
    top = next(iter(tree))
    return [leaf for leaf in leaves if leaf != top and (code in (leaf, tree[leaf], top))]


def observations(separator=""):
    """The lines of SDMX-CSV: all cells with totals, one of them confidential; with labels if there is a separator."""
    said = [f"{name}{separator}" for name in ("STRUCTURE", "STRUCTURE_ID", "ACTION", "FREQ", "AREA", "SIZE")]
    lines = [",".join([*said, f"TIME_PERIOD{separator}", "OBS_VALUE", "CONF_STATUS"])]
    for area in AREAS:
        for size in SIZES:
            value = sum(VALUES[a, s] for a in under(AREAS, area) for s in under(SIZES, size))
            status = "P" if (area, size) == ("n1", "GE50") else "F"
            codes = [f"{code}{separator}" for code in ("A", area, size, "2025")]
            lines.append(f"datastructure,AG:DSD_X(1.0),I,{','.join(codes)},{value},{status}")
    return "\n".join(lines) + "\n"


def message(version):
    """A structure message with two code lists and a DSD, whose AREA takes its list from the concept."""
    space = f"http://www.sdmx.org/resources/sdmxml/schemas/v{version}/"

    def refer(kind, identity, item=""):
        if version == "3_0":
            return f"urn:sdmx:org.sdmx.infomodel.{kind}=AG:{identity}(1.0){item and '.' + item}"
        if item:
            return f'<Ref id="{item}" maintainableParentID="{identity}" agencyID="AG"/>'
        return f'<Ref id="{identity}" agencyID="AG" version="1.0"/>'

    def above(code):
        if not code:
            return ""
        return f"<s:Parent>{code}</s:Parent>" if version == "3_0" else f'<s:Parent><Ref id="{code}"/></s:Parent>'

    def listed(identity, tree):
        codes = (f'<s:Code id="{c}"><c:Name>The {c}</c:Name>{above(p)}</s:Code>' for c, p in tree.items())
        return f'<s:Codelist id="{identity}" agencyID="AG"><c:Name>{identity}</c:Name>{"".join(codes)}</s:Codelist>'

    def enumerated(word, identity):
        return f"<s:{word}><s:Enumeration>{refer('codelist.Codelist', identity)}</s:Enumeration></s:{word}>"

    concept = f'<s:Concept id="AREA"><c:Name>Area</c:Name>{enumerated("CoreRepresentation", "CL_PLACES")}</s:Concept>'
    identity = f"<s:ConceptIdentity>{refer('conceptscheme.Concept', 'CS', 'AREA')}</s:ConceptIdentity>"
    dimensions = f'<s:Dimension id="FREQ"/><s:Dimension id="AREA">{identity}</s:Dimension>'
    dimensions += f'<s:Dimension id="SIZE">{enumerated("LocalRepresentation", "CL_CLASSES")}</s:Dimension>'
    return (
        f'<?xml version="1.0"?><m:Structure xmlns:m="{space}message" xmlns:s="{space}structure" '
        f'xmlns:c="{space}common"><m:Structures><s:Codelists>{listed("CL_PLACES", AREAS)}{listed("CL_CLASSES", SIZES)}'
        f'</s:Codelists><s:ConceptSchemes><s:ConceptScheme id="CS" agencyID="AG">{concept}</s:ConceptScheme>'
        f'</s:ConceptSchemes><s:DataStructures><s:DataStructure id="DSD_X" agencyID="AG"><s:DataStructureComponents>'
        f'<s:DimensionList id="D">{dimensions}<s:TimeDimension id="TIME_PERIOD"/></s:DimensionList>'
        "</s:DataStructureComponents></s:DataStructure></s:DataStructures></m:Structures></m:Structure>"
    )


def json_message():
    def listed(identity, tree):
        return {"id": identity, "name": identity, "codes": [{"id": c, "name": c, "parent": p} for c, p in tree.items()]}

    urn = "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=AG:{}(1.0)".format
    parts = [{"id": "FREQ"}, {"id": "AREA", "localRepresentation": {"enumeration": urn("CL_PLACES")}}]
    parts += [{"id": "SIZE", "localRepresentation": {"enumeration": urn("CL_CLASSES")}}]
    made = {"id": "DSD_X", "dataStructureComponents": {"dimensionList": {"dimensions": parts}}}
    lists = [listed("CL_PLACES", AREAS), listed("CL_CLASSES", SIZES)]
    return json.dumps({"data": {"codelists": lists, "dataStructures": [made]}})


STRUCTURES = {"ml-2.1": lambda: message("2_1"), "ml-3.0": lambda: message("3_0"), "json": json_message}


@pytest.mark.parametrize("kind", STRUCTURES)
@pytest.mark.parametrize("separator", ["", ": a label"])
def test_observations_and_their_structure_become_a_safe_release(tmp_path, kind, separator):
    (tmp_path / "flow.csv").write_text(observations(separator))
    (tmp_path / f"dsd.{'json' if kind == 'json' else 'xml'}").write_text(STRUCTURES[kind]())
    suggested = suggest_job(tmp_path / "flow.csv")
    dimensions = suggested.job["dimensions"]
    assert {name: spec["codelist"].partition("#")[2] for name, spec in dimensions.items()} == {
        "AREA": "CL_PLACES",
        "SIZE": "CL_CLASSES",
    }
    assert "FREQ (A everywhere)" in suggested.text and "TIME_PERIOD (2025 everywhere)" in suggested.text
    if kind != "ml-3.0" or separator:
        return
    done = run("init", "flow.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = run("protect", "job.yaml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out/release/flow.csv").open(newline="") as file:
        released = {(row["AREA"], row["SIZE"]): row["value"] for row in csv.DictReader(file)}
    assert released["n1", "GE50"] == "" and released["_T", "TOTAL"] == str(sum(VALUES.values()))
    assert sum(value == "" for value in released.values()) >= 4
    assert run("verify", "out", cwd=tmp_path).returncode == 0


def test_a_structure_that_sdmx1_writes(tmp_path):
    sdmx = pytest.importorskip("sdmx")
    from sdmx.model.common import Code, Codelist

    listed = Codelist(id="CL_AREA")
    for code in AREAS:
        listed.append(Code(id=code))
    for code, above in AREAS.items():
        if above:
            listed[above].append_child(listed[code])
    structure = sdmx.message.StructureMessage()
    structure.codelist["CL_AREA"] = listed
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (tmp_path / "made.xml").write_bytes(sdmx.to_xml(structure))
    tree = read_codelist("made.xml", tmp_path / "made.xml", "AREA")
    assert tree.total == "_T" and tree.parent_of("n2") == "N" and tree.parent_of("S") == "_T"


def test_records_use_a_code_list(tmp_path):
    (tmp_path / "dsd.xml").write_text(message("3_0"))
    lines = [f"{area},{i % 7}" for i in range(40) for area in ("n1", "n2", "s1", "s2")]
    (tmp_path / "r.csv").write_text("\n".join(["area,x", *lines]) + "\n")
    (tmp_path / "job.yaml").write_text(
        "version: 1\nmicrodata: {source: r.csv}\ndimensions: {area: {codelist: 'dsd.xml#CL_PLACES'}}\n"
        "tables: [{name: t, by: [area], value: x, rules: [{min_frequency: 3}]}]\n"
    )
    done = run("protect", "job.yaml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "out/release/t.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows[1:]] == list(AREAS)
    assert json.loads((tmp_path / "out/internal/summary.json").read_text())["inputs"].keys() >= {"dsd.xml", "r.csv"}
    assert run("verify", "out", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("not xml", "not an SDMX structure message"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><Structure>&a;</Structure>', "declares a document type"),
        ("<GenericData/>", "not a structure message of SDMX, but <GenericData>"),
        ("<Structure><Codelists/></Structure>", "has no code list"),
        (
            '<Structure><Codelist id="X"><Code id="a"><Parent>b</Parent></Code></Codelist></Structure>',
            "stands below 'b'",
        ),
        ('{"data": {"codelists": [{"name": "x"}]}}', "lacks parts"),
        ('{"data": ', "not an SDMX structure message"),
    ],
)
def test_structures_that_cannot_be_read(tmp_path, text, said):
    (tmp_path / "s.xml").write_text(text)
    with pytest.raises(InputError, match=said):
        read_codelist("s.xml", tmp_path / "s.xml", "X")


def test_codes_in_a_circle_and_lists_that_nobody_names(tmp_path):
    circle = '<Code id="a"><Parent>b</Parent></Code><Code id="b"><Parent>a</Parent></Code>'
    (tmp_path / "s.xml").write_text(f'<Structure><Codelist id="X"><Code id="t"/>{circle}</Codelist></Structure>')
    with pytest.raises(InputError):
        read_codelist("s.xml", tmp_path / "s.xml", "X")
    (tmp_path / "s.xml").write_text(message("2_1"))
    with pytest.raises(InputError, match=r"write `codelist: s\.xml#LIST`; known are 'CL_PLACES', 'CL_CLASSES'"):
        read_codelist("s.xml", tmp_path / "s.xml", "REGION")
    with pytest.raises(InputError, match="no code list 'CL_PLACE'; did you mean 'CL_PLACES'"):
        read_codelist("s.xml#CL_PLACE", tmp_path / "s.xml", "REGION")
    assert read_structure(tmp_path / "s.xml").list_of("AREA") == "CL_PLACES"


def test_observations_that_cannot_be_read(tmp_path):
    flow = tmp_path / "flow.csv"
    flow.write_text(observations().replace(",P\n", ",Q\n"))
    with pytest.raises(InputError, match=r"flow\.csv: CONF_STATUS has 'Q'; the code list has A, C, D"):
        open_source(flow)
    flow.write_text(observations().replace(",I,", ",D,", 1))
    with pytest.raises(InputError, match="1 rows have the ACTION D"):
        open_source(flow)
    lines = observations().splitlines()
    flow.write_text("\n".join([*lines, *(line.replace(",2025,", ",2026,") for line in lines[1:])]) + "\n")
    with pytest.raises(InputError, match=r"several periods \(2025, 2026\); they do not add up"):
        suggest_job(flow)


PX = """CHARSET="ANSI";
AXIS-VERSION="2000";
CODEPAGE="utf-8";
TITLE="Turnover; by "
"region";
CONTENTS="Turnover";
STUB="region";
HEADING="size";
VALUES("region")="All; of it","North",
"South";
VALUES[sv]("region")="Alla","Norr","Syd";
VALUES("size")="Total","small","large";
CODES("size")="T","S","L";
NOTE="two
lines";
DATA=
10 4 6
3 - 3
7 4 "."
;
"""


def test_a_px_file_is_a_table_of_cells(tmp_path):
    (tmp_path / "t.px").write_text(PX)
    found = read_px(tmp_path / "t.px").to_pylist()
    assert [tuple(row.values()) for row in found] == [
        ("All; of it", "T", "10"), ("All; of it", "S", "4"), ("All; of it", "L", "6"),
        ("North", "T", "3"), ("North", "S", "0"), ("North", "L", "3"),
        ("South", "T", "7"), ("South", "S", "4"),
    ]  # fmt: skip


def test_what_is_written_as_px_is_read_back(tmp_path):
    (tmp_path / "dsd.xml").write_text(message("2_1"))
    (tmp_path / "flow.csv").write_text(observations())
    job = {
        "version": 1,
        "dimensions": {"AREA": {"codelist": "dsd.xml"}, "SIZE": {"codelist": "dsd.xml"}},
        "tables": [{
            "name": "t", "by": ["AREA", "SIZE"], "value": "OBS_VALUE", "cells": {"source": "flow.csv"},
            "rules": [{"given": {"column": "sensitive", "protection_percent": 10}}],
        }],
        "output": {"formats": ["csv", "px"]},
    }  # fmt: skip
    (tmp_path / "job.yaml").write_text(json.dumps(job))
    done = run("protect", "job.yaml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out/release/t.csv").open(newline="") as file:
        released = [(row["AREA"], row["SIZE"], row["value"] or "..") for row in csv.DictReader(file)]
    back = [tuple(row.values()) for row in read_px(tmp_path / "out/release/t.px").to_pylist()]
    assert back == [(area, f"The {size}", value) for area, size, value in released] or back == released
    done = run("audit", "--table", "out/release/t.px", "--dim", "AREA:codelist=dsd.xml", "--dim",
               "SIZE:codelist=dsd.xml", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("DATA=", "DTA=", "it has no DATA"),
        ("10 4 6", "10 4", "DATA has 8 entries, but the variables span 9 cells"),
        ('"T","S","L"', '"T","S"', "2 CODES but 3 VALUES"),
        ('"T","S","L"', '"T","S","S"', "a code comes twice"),
        ('CONTENTS="Turnover";', "?", "line 6: not a keyword of PX"),
        ('"utf-8"', '"ebcdic-9"', "encoding that its CODEPAGE names"),
        ('STUB="region";', 'STUB="size";', "each once"),
        ("DATA=", 'KEYS("region")="VALUES";\nDATA=', "save it as a cube"),
    ],
)
def test_px_files_that_cannot_be_read(tmp_path, old, new, said):
    assert old in PX
    (tmp_path / "t.px").write_text(PX.replace(old, new, 1))
    with pytest.raises(InputError, match=said):
        read_px(tmp_path / "t.px")
