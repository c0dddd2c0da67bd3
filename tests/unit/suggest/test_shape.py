"""`init`: what a file is: cells by their codes, totals of any name, points, signed values; and its warnings."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from cellguard.inputs.tables import build_tables
from cellguard.job.jobfile import Job
from cellguard.pipeline import run
from cellguard.suggest.init import SCHEMA, suggest_job


def suggested(folder, rows, name="data.csv"):
    (folder / name).write_text("\n".join(",".join(map(str, row)) for row in rows) + "\n")
    return suggest_job(folder / name)


def loaded(folder, found):
    for name, text in (*found.files.items(), found.schema):
        (folder / name).write_text(text)
    (folder / "job.yaml").write_text(found.text)
    return Job.load(folder / "job.yaml")


def municipal(seed=0):
    """Persons by county, municipality, sex and age, as statistical offices hand them out: codes are numbers, too."""
    draw = np.random.default_rng(seed)
    rows = [("fylke", "kommune", "kjonn", "alder", "aar", "ant")]
    for kommune in range(1101, 1131):
        for sex in (1, 2):
            for age in (0, 18, 67):
                rows.append((kommune // 10, kommune, sex, age, 2024, int(draw.integers(0, 400))))
    return rows


def test_cells_are_known_by_their_codes_whatever_the_count_is_called(tmp_path):
    for name in ("ant", "antal", "weird"):
        rows = municipal()
        rows[0] = (*rows[0][:-1], name)
        found = suggested(tmp_path, rows)
        table = found.job["tables"][0]
        assert table["by"] == ["kommune", "kjonn", "alder"] and table["value"] == "count"
        assert table["cells"] == {"source": "data.csv", "count": name, "totals": "compute"}
        assert "fylke (it follows from kommune)" in found.text and "aar (it has one code)" in found.text
        tables = build_tables(loaded(tmp_path, found)).tables
        assert int(tables[0].value[0]) == sum(row[-1] for row in rows[1:])


def test_codes_are_never_summed(tmp_path):
    rows = [
        ("firm", "kommune", "nace", "staff"),
        *((f"f{i}", 1101 + i % 97, 10 + i % 40, i % 9 + i) for i in range(300)),
    ]
    assert suggested(tmp_path, rows).job["tables"][0]["value"] == "staff"
    alone = [row[:3] for row in rows]
    assert suggested(tmp_path, alone).job["tables"][0]["value"] == "count"


def test_records_with_a_value_each_are_no_cells(tmp_path):
    draw = np.random.default_rng(1)
    rows = [
        ("region", "sex", "income"),
        *((f"r{draw.integers(4)}", "fm"[draw.integers(2)], int(draw.integers(9999))) for _ in range(80)),
    ]
    assert "microdata" in suggested(tmp_path, rows).job


@pytest.mark.parametrize("total", ["Total_EAST", "I alt", "Insgesamt", "hele landet", "ZZ", "T"])
def test_totals_of_any_name_are_found_if_they_add_up(tmp_path, total):
    rows = [("region", "size", "turnover", "firms")]
    for size, times in (("Total", 3), ("small", 1), ("large", 2)):
        parts = {"N": 40 * times, "S": 35 * times, "W": 7 * times}
        rows += [(r, size, v, 9) for r, v in parts.items()] + [(total, size, sum(parts.values()), 27)]
    job = loaded(tmp_path, suggested(tmp_path, rows))
    assert job.dimensions["region"].total == total and len(build_tables(job).tables[0]) == 12


def test_t_is_a_code_like_others_unless_it_adds_up(tmp_path):
    rows = [("kind", "turnover"), *(("ABT"[i % 3], 10 + i) for i in range(90))]
    found = suggested(tmp_path, rows)
    assert "microdata" in found.job and found.job["tables"][0]["by"] == ["kind"]


def test_fractional_counts_point_at_the_rounded_column(tmp_path):
    rows = [("region", "size", "n", "n_rounded", "turnover"), *((r, s, 5.4 * w, round(5.4 * w), 90 * w) for r, s, w in (
        ("Total", "Total", 4), ("N", "Total", 2), ("S", "Total", 2), ("Total", "a", 2), ("Total", "b", 2),
        ("N", "a", 1), ("N", "b", 1), ("S", "a", 1), ("S", "b", 1)))]  # fmt: skip
    found = suggested(tmp_path, rows)
    assert found.job["tables"][0]["cells"]["count"] == "n_rounded"
    assert "n (it has decimals; n_rounded is the same, rounded)" in found.text


def test_values_of_either_sign_get_rules_that_fit(tmp_path):
    rows = [("region", "profit"), *(("NSW"[i % 3], 5 * i - 140) for i in range(60))]
    found = suggested(tmp_path, rows)
    table = found.job["tables"][0]
    assert table["negative"] == "absolute" and {"signed": {"usual": {"p_percent": 10}}} in table["rules"]
    assert run(loaded(tmp_path, found)).release is not None


def test_points_get_a_map(tmp_path):
    draw = np.random.default_rng(2)
    rows = [
        ("lon", "lat", "kind"),
        *((f"{a:.4f}", f"{b:.4f}", "ab"[i % 2]) for i, (a, b) in enumerate(draw.normal(50, 3, (400, 2)))),
    ]
    found = suggested(tmp_path, rows)
    assert found.job["redistribute"] == {"x": "lon", "y": "lat", "bins": 30}
    assert run(loaded(tmp_path, found)).verdict.kind
    points = [{"type": "Feature", "properties": {}, "geometry": {"type": "Point", "coordinates": [float(a), float(b)]}}
              for a, b in draw.normal(0, 900, (300, 2))]  # fmt: skip
    (tmp_path / "p.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": points}))
    assert suggest_job(tmp_path / "p.geojson").job["tables"][0]["protect"] == {"method": "redistribute"}


def test_what_to_look_at_first_is_said(tmp_path):
    rows = municipal()
    twice = suggested(tmp_path, [*rows, *rows[1:]])
    assert "# WARNING: each of the 180 lines comes twice: was the file pasted twice?" in twice.text
    many = [("clinic_ref", "sex", "cost"), *((f"c{i % 90}", "fm"[i % 2], 3 * i) for i in range(270))]
    assert "clinic_ref has 90 codes for 270 records: is it an identifier" in suggested(tmp_path, many).text
    assert "WARNING" not in suggested(tmp_path, rows).text


def test_the_job_names_a_schema_that_is_there_and_that_it_meets(tmp_path):
    found = suggested(tmp_path, municipal())
    name, text = found.schema
    assert found.text.splitlines()[0] == f"# yaml-language-server: $schema={SCHEMA}" and name == SCHEMA
    schema = json.loads(text)
    assert set(yaml.safe_load(found.text)) <= set(schema["properties"])
