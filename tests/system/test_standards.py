"""What is written in formats of standards is read back, cell by cell, by the libraries that others read it with."""

from __future__ import annotations

import csv
import json
import warnings
from decimal import Decimal

import pytest

import cellguard
from cellguard.verifier.verify import verify
from unit.verifier import folders

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
output: {folder: out, formats: [csv, parquet, xlsx, sdmx, px, csvw, datapackage, eurostat, sbs]}
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
        if path.suffix in (".parquet", ".xlsx"):  # read whole by the two tests below
            continue
        words = set(path.read_text().replace('"', " ").replace(",", " ").replace(";", " ").split())
        assert not secret & words, path.name


@pytest.mark.parametrize("name", ["by_area", "Sizes", "three"])
def test_parquet_is_read_by_polars(release, name):
    import polars

    found = polars.read_parquet(release / f"{name}.parquet").to_dicts()
    expected = [row | {"value": None if row["flag"] else Decimal(row["value"])} for row in rows(release, name)]
    assert found == expected


def test_the_workbook_is_read_by_openpyxl(release):
    import openpyxl

    prover = openpyxl.load_workbook(release / "tables.xlsx")
    shown = {str(cell.value) for sheet in prover.worksheets for row in sheet.iter_rows() for cell in row}
    grid = list(prover["by_area"].iter_rows(values_only=True))
    head = next(row for row in grid if "250+" in row)
    found = {
        (str(row[0]).strip(), code): row[head.index(code)]
        for row in grid[grid.index(head) + 1 :]
        for code in ("Total", *SIZES)
    }
    listed = {(row["area"], row["size class"]): row for row in rows(release, "by_area")}
    assert "c" in shown and set(listed) <= set(found)
    for key, row in listed.items():
        assert found[key] == ("c" if row["flag"] else pytest.approx(float(row["value"]), rel=1e-15)), key


def lines_without_header(path):
    import pandas

    return pandas.read_csv(path, header=None, dtype=str, keep_default_na=False, names=range(8)).fillna("").to_numpy()


@pytest.mark.parametrize("name", ["by_area", "Sizes", "three"])
def test_sbs_files_are_read_by_pandas_and_tell_no_reason(release, name):
    expected = rows(release, name)
    by = [column for column in expected[0] if column not in ("value", "flag")]
    for row, found in zip(expected, lines_without_header(release / f"{name}.sbs"), strict=True):
        codes, (value, count, flag, *rest) = found[: len(by)].tolist(), found[len(by) :]
        assert codes == [row[d] for d in by] and not count and not any(rest)
        assert (value, flag) == (row["value"], "c" if row["flag"] else "V")


def test_the_internal_sbs_file_says_why(release):
    inside = release.parent / "internal"
    with (inside / "by_area.csv").open(newline="") as file:
        cells = list(csv.DictReader(file))
    found = lines_without_header(inside / "by_area.sbs")
    flags = set()
    for cell, (area, size, value, count, flag, *tail) in zip(cells, found.tolist(), strict=True):
        assert (area, size, value, count) == (cell["area"], cell["size class"], cell["value"], cell["count"])
        few = "min_frequency" in cell["reasons"]
        expected = {"published": "V", "secondary": "D", "primary": "A" if few else "F"}[cell["status"]]
        flags.add(flag)
        assert flag == expected and len([t for t in tail if t]) == (2 if flag == "F" else 0), cell
        if flag == "F":  # 9871.5 of it are one respondent's
            assert Decimal(tail[0]) == (Decimal("9871.5") * 100 / Decimal(value)).quantize(Decimal("0.1"))
    assert flags == {"V", "D", "F"} or flags == {"V", "D", "F", "A"}


@pytest.mark.parametrize("name", ["by_area.sdmx.csv", "by_area.sbs"])
def test_verify_refuses_a_file_to_be_sent_that_says_something_else(release, name):
    folder = release.parent
    path, certificate = folder / "internal" / name, folder / "internal/certificate.json"
    before, sealed = path.read_text(), certificate.read_text()
    end = ",F\n" if name.endswith("csv") else ",V\n"
    try:
        path.write_text(before.replace(end, end.replace("F", "C").replace("V", "D"), 1))
        assert path.read_text() != before
        folders.seal(folder)
        done = run("verify", folder)
        assert done.returncode == 1 and f"{name} is not, byte for byte" in done.stdout
    finally:
        path.write_text(before)
        certificate.write_text(sealed)
    alone = verify(certificate)
    assert f"internal/{name}, byte for byte" in alone.not_checked
    assert f"internal/{name}" not in " ".join(cellguard.verify(folder).not_checked)


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
    import pandas

    for name in ("by_area", "Sizes", "three"):
        path = release / f"{name}.eurostat.csv"
        found = pandas.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
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
