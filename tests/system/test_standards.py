"""What is written in formats of standards is read back, cell by cell, by the libraries that others read it with."""

from __future__ import annotations

import csv
import json
import warnings
from decimal import Decimal

import pytest

from system.command import run

JOB = """\
version: 1
microdata: {source: r.csv}
dimensions:
  area: {levels: [region, town], labels: labels.csv}
tables:
  - {name: by_area, by: [area, size class], value: turnover, decimals: 1, rules: [{min_frequency: 3}, {p_percent: 10}]}
  - {name: Sizes, by: [size class], value: turnover, decimals: 1, rules: [{min_frequency: 3}]}
  - {name: three, by: [area, size class, sex], value: count, rules: [{min_frequency: 2}], zeros: known}
output: {folder: out, formats: [csv, sdmx, px, csvw, datapackage, eurostat]}
"""
SIZES = ("1-9", "10-49", "250+")


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    folder = tmp_path_factory.mktemp("standards")
    lines = ["town,region,size class,sex,turnover"]
    for i in range(60):
        town = ("n1", "n2", "s1", "s 2")[i % 4]
        region, size, sex = "NS"[i % 4 // 2], SIZES[i % 7 % 3], "fm"[i % 5 % 2]
        lines.append(f"{town},{region},{size},{sex},{i * 3 % 41 + 10}.5")
    lines += ["n1,N,250+,f,9871.5"]
    (folder / "r.csv").write_text("\n".join(lines) + "\n")
    (folder / "labels.csv").write_text('code,label\nN,North\nS,"The ""South"""\ns 2,"Åsa, town"\n')
    (folder / "job.yaml").write_text(JOB)
    done = run("protect", "job.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out/release"


def rows(release, name):
    with (release / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_there_is_something_to_tell_apart(release):
    assert {row["flag"] for row in rows(release, "by_area")} == {"", "c"}


def test_verify_takes_them_and_refuses_one_that_differs(release):
    folder = release.parent
    assert run("verify", folder).returncode == 0
    before = (release / "Sizes.px").read_text()
    try:
        (release / "Sizes.px").write_text(before.replace("SHOWDECIMALS=1", "SHOWDECIMALS=2"))
        assert run("verify", folder).returncode == 1
    finally:
        (release / "Sizes.px").write_text(before)


def test_no_writer_puts_what_is_suppressed_anywhere(release):
    with (release.parent / "internal/by_area.csv").open(newline="") as file:
        hidden = [row for row in csv.DictReader(file) if row["status"] in ("primary", "secondary")]
    shown = {row["value"] for row in rows(release, "by_area")}
    secret = {row["value"] for row in hidden} - shown
    assert secret
    for path in release.iterdir():
        words = set(path.read_text().replace('"', " ").replace(",", " ").replace(";", " ").split())
        assert not secret & words, path.name


@pytest.mark.parametrize("name", ["by_area", "Sizes", "three"])
def test_sdmx_csv_is_read_by_pysdmx(release, name):
    from pysdmx.io import read_sdmx

    dataset = read_sdmx(str(release / f"{name}.sdmx.csv"), validate=False).get_datasets()[0]
    expected = rows(release, name)
    assert dataset.short_urn == f"DataStructure=CELLGUARD:{name.upper()}(1.0.0)"
    assert len(dataset.data) == len(expected)
    for row, (_, found) in zip(expected, dataset.data.iterrows(), strict=True):
        value = found["OBS_VALUE"]
        assert (value != value or str(value) == "") if row["flag"] else Decimal(str(value)) == Decimal(row["value"])
        assert (found["OBS_STATUS"], found["CONF_STATUS"]) == (("Q", "C") if row["flag"] else ("A", "F"))


def test_the_internal_observations_say_why_each_is_confidential(release):
    from pysdmx.io import read_sdmx

    dataset = read_sdmx(str(release.parent / "internal/by_area.sdmx.csv"), validate=False).get_datasets()[0]
    with (release.parent / "internal/by_area.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    assert {cell["status"] for cell in cells} == {"published", "primary", "secondary"}
    for cell, (_, found) in zip(cells, dataset.data.iterrows(), strict=True):
        assert Decimal(str(found["OBS_VALUE"])) == Decimal(cell["value"])
        few = "min_frequency" in cell["reasons"]
        expected = {"published": "F", "secondary": "D", "primary": "A" if few else "M"}[cell["status"]]
        assert found["CONF_STATUS"] == expected, cell


def test_eurostat_s_columns_keep_confidentiality_apart_from_flags(release):
    for name in ("by_area", "Sizes", "three"):
        with (release / f"{name}.eurostat.csv").open(newline="") as file:
            found = list(csv.DictReader(file))
        assert list(found[0])[:2] == ["DATAFLOW", "LAST UPDATE"]
        for row, here in zip(rows(release, name), found, strict=True):
            assert (here["OBS_VALUE"], here["OBS_FLAG"]) == (row["value"], "")
            assert here["CONF_STATUS"] == ("C" if row["flag"] else "")


def test_the_structure_is_valid_and_pysdmx_knows_its_codes(release):
    from pysdmx.io import read_sdmx

    message = read_sdmx(str(release / "structure.sdmx.xml"), validate=True)
    lists = {one.id: one for one in message.get_codelists()}
    area = {code.id: code for code in lists["CL_AREA"].codes}
    assert list(area) == ["Total", "N", "n1", "n2", "S", "s_2", "s1"]
    assert area["S"].name == 'The "South"' and area["s_2"].name == "Åsa, town"
    assert [code.id for code in lists["CL_SIZE_CLASS"].codes] == ["Total", "1-9", "10-49", "250_"]
    structures = {one.id: one for one in message.get_data_structure_definitions()}
    assert [c.id for c in structures["BY_AREA"].components.dimensions] == ["AREA", "SIZE_CLASS"]
    assert set(structures) == {"BY_AREA", "SIZES", "THREE"}


def test_sdmx1_reads_structure_trees_and_data(release):
    import sdmx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        message = sdmx.read_sdmx(release / "structure.sdmx.xml")
        structure = message.structure["BY_AREA"]
        assert [d.id for d in structure.dimensions] == ["AREA", "SIZE_CLASS"]
        codes = message.codelist["CL_AREA"]
        above = {code: getattr(codes[code].parent, "id", None) for code in ("N", "S", "n1", "n2", "s1", "s_2")}
        assert above == {"N": "Total", "S": "Total", "n1": "N", "n2": "N", "s1": "S", "s_2": "S"}
        data = sdmx.read_sdmx(release / "by_area.sdmx.csv", structure=structure)
    found = [observation for part in data.data for observation in part.obs]
    assert len(found) == len(rows(release, "by_area"))


@pytest.mark.parametrize("name", ["by_area", "Sizes", "three"])
def test_px_files_are_read_by_pyaxis(release, name):
    pyaxis = pytest.importorskip("pyaxis.pyaxis")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        never = r"^nothing$"  # is made missing here: the marks shall be seen
        path = str(release / f"{name}.px")
        frame = pyaxis.parse(path, encoding="utf-8", null_values=never, sd_values=never)["DATA"]
    labels = {"N": "North", "S": "The 'South'", "s 2": "Åsa, town"}
    by = list(frame.columns[:-1])
    cube = {tuple(row[:-1]): row[-1] for row in frame.itertuples(index=False)}
    listed = {tuple(labels.get(row[d], row[d]) for d in by): row for row in rows(release, name)}
    assert set(listed) <= set(cube)
    for key, value in cube.items():
        row = listed.get(key)
        assert value.strip('"') == ("." if row is None else ".." if row["flag"] else row["value"])


def test_csvw_metadata_describe_the_files(release):
    from csvw import CSVW

    for name in ("by_area", "three"):
        described = CSVW(str(release / f"{name}.csv-metadata.json"), validate=True)
        assert described.is_valid
        table = described.tables[0]
        found = list(table.iterdicts())
        expected = rows(release, name)
        assert [row["value"] for row in found] == [Decimal(r["value"]) if not r["flag"] else None for r in expected]
        assert table.check_primary_key()


def test_the_release_is_a_data_package(release):
    from frictionless import Package

    report = Package(str(release / "datapackage.json")).validate()
    assert report.valid, report.flatten(["title", "message"])
    package = json.loads((release / "datapackage.json").read_text())
    assert [resource["name"] for resource in package["resources"]] == ["by_area", "sizes", "three"]
