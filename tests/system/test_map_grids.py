"""Maps of squares and areas, of coded records, projected, as GeoPackage and GeoParquet: from a job to its files."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError, NotProtected
from cellguard.faces.cli.main import cli

pyogrio = pytest.importorskip("pyogrio")
LAEA = "EPSG:3035"


@pytest.fixture
def home(tmp_path):
    rng = np.random.default_rng(1)
    places = np.vstack([rng.normal([4334000, 2684000], 3000, (300, 2)), rng.uniform(4310000, 4330000, (60, 2))])
    places[300:, 1] -= 1640000
    rows = "".join(f"{x:.1f},{y:.1f}\n" for x, y in places)
    (tmp_path / "points.csv").write_text("x,y\n" + rows)
    return tmp_path


def job(home, *, method="redistribute", formats=("csv",), table=None, source="points.csv", **settings):
    spec = {
        "version": 1,
        "microdata": {"source": source},
        "tables": [
            {
                "name": "shops",
                "by": ["square"],
                "value": "count",
                "rules": [{"min_frequency": 3}],
                "protect": {"method": method},
                **(table or {}),
            }
        ],
        method: settings,
        "output": {"formats": list(formats)},
    }
    if table and "cells" in table:
        del spec["microdata"]
    (home / "job.yaml").write_text(yaml.safe_dump(spec))
    return home / "job.yaml"


def made(path, out="out"):
    out = path.parent / out
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(out), "--force"])
    assert done.exit_code == 0, done.output
    return out / "release", done.output


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("algorithm", ["group", "nearest", "everybody", "optimal"])
def test_squares_are_redistributed_as_hexagons_are(home, algorithm):
    release, told = made(job(home, grid="squares", size=2000, crs=LAEA, algorithm=algorithm, neighbours=8))
    assert "every shown square has 3 records or more" in told
    shown = read(release / "shops_squares.csv")
    assert all(row["square"].startswith("CRS3035RES2000mN") and int(row["value"]) >= 3 for row in shown)
    features = json.loads((release / "shops.geojson").read_text())["features"]
    assert len(features) == len(shown) and len(features[0]["geometry"]["coordinates"][0]) == 5
    assert abs(features[0]["geometry"]["coordinates"][0][0][0]) < 180


def test_records_and_counts_that_carry_codes(home):
    release, _ = made(job(home, grid="squares", size=2000, crs=LAEA))
    x, y = np.loadtxt(home / "points.csv", delimiter=",", skiprows=1).T
    codes = [f"CRS3035RES2000mN{int(b // 2000) * 2000}E{int(a // 2000) * 2000}" for a, b in zip(x, y, strict=True)]
    (home / "coded.csv").write_text("GRD_ID\n" + "".join(f"{code}\n" for code in codes))
    again, _ = made(job(home, grid="squares", code="GRD_ID", source="coded.csv"), "coded")
    assert (again / "shops.csv").read_bytes() == (release / "shops.csv").read_bytes()
    assert (again / "shops.geojson").read_bytes() == (release / "shops.geojson").read_bytes()
    kinds, counts = np.unique(codes, return_counts=True)
    (home / "cells.csv").write_text("GRD_ID,n\n" + "".join(f"{a},{b}\n" for a, b in zip(kinds, counts, strict=True)))
    table = {"cells": {"source": "cells.csv", "count": "n"}}
    third, _ = made(job(home, grid="squares", code="GRD_ID", table=table), "cells")
    assert (third / "shops.csv").read_bytes() == (release / "shops.csv").read_bytes()


def test_geopackage_and_geoparquet_are_read_back_by_gdal_and_arrow(home):
    path = job(home, formats=["csv", "parquet"], grid="squares", size=2000, crs=LAEA, geopackage=True)
    release, _ = made(path)
    shown = read(release / "shops_squares.csv")
    about, table = pyogrio.read_arrow(release / "shops.gpkg")
    assert about["crs"] == LAEA and about["geometry_type"] == "MultiPolygon"
    assert table.column("square").to_pylist() == [row["square"] for row in shown]
    assert table.column("value").to_pylist() == [int(row["value"]) for row in shown]
    bounds = pyogrio.read_bounds(release / "shops.gpkg")[1]
    x, y = (np.array([float(row[axis]) for row in shown]) for axis in ("x", "y"))
    assert bounds[0] == pytest.approx(x - 1000) and bounds[3] == pytest.approx(y + 1000)
    first = (release / "shops.gpkg").read_bytes()
    made(path)
    assert (release / "shops.gpkg").read_bytes() == first, "the same map gives the same bytes"
    places = pq.read_table(release / "shops_squares.parquet")
    geo = json.loads(places.schema.metadata[b"geo"])
    assert geo["columns"]["geometry"]["crs"]["id"] == {"authority": "EPSG", "code": 3035}
    assert geo["columns"]["geometry"]["encoding"] == "WKB" and geo["primary_column"] == "geometry"
    ours = places.column("geometry").to_pylist()
    assert ours == [bytes(shape) for shape in table.column(about["geometry_name"] or "wkb_geometry").to_pylist()]


@pytest.mark.parametrize("encoding", ["WKB", "point"])
def test_points_come_from_geoparquet(home, encoding):
    import pyarrow as pa
    from pyproj import CRS

    release, _ = made(job(home, grid="squares", size=2000, crs=LAEA))
    x, y = np.loadtxt(home / "points.csv", delimiter=",", skiprows=1).T
    if encoding == "WKB":
        shapes = pa.array([b"\x01\x01\x00\x00\x00" + np.array(p, "<f8").tobytes() for p in zip(x, y, strict=True)])
    else:
        shapes = pa.StructArray.from_arrays([pa.array(x), pa.array(y)], names=["x", "y"])
    column = {"encoding": encoding, "geometry_types": ["Point"], "crs": CRS.from_user_input(LAEA).to_json_dict()}
    geo = {"version": "1.1.0", "primary_column": "where", "columns": {"where": column}}
    table = pa.table({"where": shapes}).replace_schema_metadata({"geo": json.dumps(geo)})
    pq.write_table(table, home / "points.parquet")
    again, _ = made(job(home, grid="squares", size=2000, source="points.parquet"), "again")
    assert (again / "shops.csv").read_bytes() == (release / "shops.csv").read_bytes()
    assert json.loads((again / "metadata.json").read_text())["tables"]["shops"]["crs"] == LAEA


def test_degrees_are_projected_on_request(home):
    from pyproj import Transformer

    x, y = np.loadtxt(home / "points.csv", delimiter=",", skiprows=1).T
    lon, lat = Transformer.from_crs(LAEA, "EPSG:4326", always_xy=True).transform(x, y)
    rows = "".join(f"{a!r},{b!r}\n" for a, b in zip(lon.tolist(), lat.tolist(), strict=True))
    (home / "degrees.csv").write_text("x,y\n" + rows)
    release, _ = made(job(home, grid="squares", size=2000, crs=LAEA))
    path = job(home, grid="squares", size=2000, crs="EPSG:4326", project=LAEA, source="degrees.csv")
    again, told = made(path, "again")
    assert "turned from EPSG:4326 into EPSG:3035" in told and "are degrees" not in told
    assert (again / "shops.csv").read_bytes() == (release / "shops.csv").read_bytes()
    for wrong, message in (
        ({"project": "EPSG:28992", "crs": "EPSG:4326"}, "no system of equal areas in metres"),
        ({"project": LAEA}, "needs the coordinate system of x and y"),
        ({"project": "EPSG:0", "crs": "EPSG:4326"}, "no coordinate system that is known"),
    ):
        with pytest.raises(InputError, match=message):
            cg.run(cg.Job.load(job(home, source="degrees.csv", **wrong)))


def outlines(home, wide=4, name="area"):
    features = []
    for i in range(wide):
        for j in range(wide):
            ring = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1], [i, j]]
            shape = {"type": "Polygon", "coordinates": [ring]}
            features.append({"type": "Feature", "properties": {name: f"m{i}{j}"}, "geometry": shape})
    (home / "areas.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def test_areas_by_polygons_and_by_a_list_are_redistributed_alike(home):
    outlines(home)
    rng = np.random.default_rng(2)
    x, y = rng.beta(2, 5, (2, 90)) * 4
    (home / "points.csv").write_text("x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(x, y, strict=True)))
    release, told = made(job(home, areas="areas.geojson", formats=["csv", "html"]))
    assert "every shown area has 3 records or more" in told
    shown = {row["square"]: int(row["value"]) for row in read(release / "shops.csv")}
    assert min(shown.values()) == 3 and sum(shown.values()) == 90
    assert len(json.loads((release / "shops.geojson").read_text())["features"]) == len(shown)
    codes = [f"m{int(a)}{int(b)}" for a, b in zip(x, y, strict=True)]
    (home / "coded.csv").write_text("mun\n" + "".join(f"{code}\n" for code in codes))
    cells = [(i, j) for i in range(4) for j in range(4)]
    pairs = [f"m{i}{j},m{a}{b}\n" for i, j in cells for a, b in ((i + 1, j), (i, j + 1)) if a < 4 and b < 4]
    (home / "pairs.csv").write_text("area,neighbour\n" + "".join(pairs))
    again, _ = made(job(home, adjacency="pairs.csv", code="mun", source="coded.csv"), "again")
    assert {row["square"]: int(row["value"]) for row in read(again / "shops.csv")} == shown
    assert not (again / "shops.geojson").exists(), "nobody said what the areas look like"
    (home / "pairs.csv").write_text("area,neighbour\n" + "".join(pairs[:-1]) + "m99,m00\n")
    with pytest.raises(InputError, match="has no area 'm99'"):
        cg.run(cg.Job.load(job(home, areas="areas.geojson", adjacency="pairs.csv")))


def test_an_island_can_neither_give_nor_take(home):
    (home / "pairs.csv").write_text("area,neighbour\na,b\nc,\n")
    (home / "coded.csv").write_text("mun\n" + "a\n" * 9 + "b\n" + "c\n" * 2)
    path = job(home, adjacency="pairs.csv", code="mun", source="coded.csv", outliers="keep")
    with pytest.raises(NotProtected, match="cannot be reached"):
        cg.run(cg.Job.load(path))
    removed = cg.run(cg.Job.load(job(home, adjacency="pairs.csv", code="mun", source="coded.csv")))
    assert any("1 areas have no neighbour (c)" in note for note in removed.summary["warnings"])
    assert removed.protected.after.tolist() == [7, 3, 0]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"code": "c"}, "`code` is for squares and areas"),
        ({"grid": "squares", "shape": 2.0}, "`shape` is for hexagons"),
        ({"grid": "squares", "code": "c", "size": 100.0}, "`size` is in the codes of the squares already"),
        ({"areas": "a.geojson", "size": 5.0}, "`size` does not go with areas"),
        ({"adjacency": "a.csv"}, "name the column of codes"),
        ({"neighbours": 6}, "neighbours: must be 4 or 8"),
    ],
)
def test_settings_that_make_no_grid_are_refused(home, settings, message):
    with pytest.raises(JobError, match=message):
        cg.Job.load(job(home, **settings))


def test_jobs_are_written_as_they_are_read(home):
    for settings in ({"grid": "squares", "size": 2000.0}, {"bins": 9}, {"areas": "a.geojson"}):
        whole = cg.Job.load(job(home, **settings))
        assert cg.Job.parse(whole.model_dump(), folder=home).model_dump() == whole.model_dump()


def test_a_merged_map_is_written_whole(home):
    table = {"rules": [{"min_frequency": 3}], "protect": {"method": "merge"}}
    rows = (home / "points.csv").read_text().splitlines()[:301]  # the town alone
    (home / "points.csv").write_text("\n".join([*rows, ""]))
    path = job(home, method="merge", grid="squares", size=1000, crs=LAEA, formats=["csv", "html"], table=table)
    release, told = made(path)
    assert "Safe from differences: every shown square satisfies min_frequency 3" in told
    shown, inside = read(release / "shops_squares.csv"), read(home / "out/internal/shops.csv")
    assert sum(int(row["value"]) for row in shown) == 300 and min(int(row["value"]) for row in shown) >= 3
    assert len({row["size"] for row in shown}) > 2
    codes = {row["square"] for row in shown}
    assert {row["shown_in"] for row in inside} == codes
    for row in inside:
        assert (row["square"] in codes) == (row["status"] == "published")
    page = (release / "report.html").read_text()
    data = json.loads(page.split('id="grids">')[1].split("</script>")[0])
    assert sorted(data["after"]) == sorted(int(row["value"]) for row in shown) and "before" not in data
    assert "unsafe" not in page.split("<main")[1].split("<script")[0]
    for command in ("protect", "map"):
        dry = CliRunner().invoke(cli, [command, str(path), "--dry-run"])
        assert "this map must not be published as it is" in dry.output, dry.output
    part = next(row for row in inside if row["square"] not in codes)
    words = CliRunner().invoke(cli, ["explain", str(home / "out"), part["square"]]).output
    assert f"It is shown as a part of {part['shown_in']}." in words


def test_a_map_that_is_nearly_one_cell_is_warned_about(home):
    """All points: few of them are far from the town, and make one large square of nearly everything."""
    _, told = made(job(home, method="merge", grid="squares", size=1000, crs=LAEA))
    assert "cells are shown as one: what is far from all others" in told and "`largest` leaves it out" in told


def test_a_limit_leaves_cells_out_and_says_so(home):
    _, told = made(job(home, method="merge", grid="squares", size=1000, crs=LAEA, largest=2000))
    assert "are unsafe at their largest size and are left out" in told and "shown as one" not in told
    assert "attackers who know the total" in told and "records (" in told.replace("record (", "records (")
    with pytest.raises(InputError, match="cannot be reached by doubling"):
        cg.run(cg.Job.load(job(home, method="merge", grid="squares", size=1000, largest=3000)))


def test_areas_are_merged_by_adjacency(home):
    outlines(home)
    rng = np.random.default_rng(2)
    x, y = rng.beta(1, 6, (2, 60)) * 4
    v = np.ceil(rng.lognormal(3, 1, 60))
    rows = "".join(f"{a},{b},{c:.0f}\n" for a, b, c in zip(x, y, v, strict=True))
    (home / "points.csv").write_text("x,y,v\n" + rows)
    table = {"value": "v", "rules": [{"min_frequency": 3}, {"p_percent": 10}], "by": ["area"]}
    release, told = made(job(home, method="merge", areas="areas.geojson", table=table))
    shown = read(release / "shops_regions.csv")
    assert "every shown region satisfies" in told
    assert sum(float(row["value"]) for row in shown) == v.sum()
    members = [area for row in shown for area in row["areas"].split()]
    assert len(members) == len(set(members)), "no area is in two regions"
    kinds = {f["geometry"]["type"] for f in json.loads((release / "shops.geojson").read_text())["features"]}
    assert "MultiPolygon" in kinds


@pytest.mark.parametrize(
    ("method", "settings", "message"),
    [
        ("merge", {}, "hexagons cannot be merged"),
        ("merge", {"areas": "a.geojson", "largest": 5.0}, "`largest` is for squares"),
        ("merge", {"grid": "squares", "most_areas": 5}, "`most_areas` is for areas"),
        ("smooth", {}, "only squares can be smoothed"),
        ("smooth", {"grid": "squares", "max_risk": -1.0}, "max_risk"),
    ],
)
def test_what_other_maps_cannot_have_is_refused(home, method, settings, message):
    with pytest.raises(JobError, match=message):
        cg.Job.load(job(home, method=method, **settings))


def test_a_smoothed_map_is_released_only_if_somebody_answers_for_it(home):
    path = job(home, method="smooth", grid="squares", size=1000, crs=LAEA)
    done = CliRunner().invoke(cli, ["protect", str(path), "--out", str(home / "out")])
    assert done.exit_code == 1 and "NOT PROVEN: smoothing proves nothing" in done.output
    assert not (home / "out/release").exists()
    path = job(home, method="smooth", grid="squares", size=1000, crs=LAEA, unproven="accept", formats=["csv", "html"])
    outcome = cg.run(cg.Job.load(path))
    assert outcome.release is not None and outcome.verdict.kind == "not proven"
    assert outcome.protected.smoothed.total.sum() == pytest.approx(360)


def test_policies_of_maps_are_compared(home):
    from cellguard.evaluate.candidates import parse_policies
    from cellguard.evaluate.policies import compare_policies

    whole = cg.Job.load(job(home, method="merge", grid="squares", size=5000.0, crs=LAEA))
    found = compare_policies(whole, parse_policies("merge,redistribute,smooth,suppress", []))
    verdicts = {point.name: point.verdict for point in found.points if not point.is_end}
    assert verdicts["merge"] == "safe" and verdicts["smooth"] == "not proven", verdicts
    assert verdicts["redistribute"] == "safe"
