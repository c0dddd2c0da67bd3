"""`cellguard map`: from points to a released map, its files, and what is refused."""

import csv
import json

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from click.testing import CliRunner

import cellguard as cg
from cellguard.errors import InputError, JobError, MissingExtra, NotProtected
from cellguard.faces.cli.main import cli
from cellguard.methods.maps.simulate import simulate

PUBLIC = {"shape", "step", "whole", "metres", "north"}  # of the grid and its legend, which are public


def command(*words):
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def home(tmp_path):
    x, y = simulate("piecewise", seed=1)
    value = np.ceil(np.random.default_rng(1).lognormal(3, 1.2, len(x)))
    rows = "".join(f"{a:.5f},{b:.5f},{c:.0f}\n" for a, b, c in zip(x, y, value, strict=True))
    (tmp_path / "points.csv").write_text("x,y,sales\n" + rows)
    return tmp_path


def job(home, *, formats=("csv",), rules=None, value="count", name="shops", more=None, table=None, **settings):
    spec = {
        "version": 1,
        "microdata": {"source": "points.csv"},
        "tables": [
            {
                "name": name,
                "by": ["hexagon"],
                "value": value,
                "rules": rules or [{"min_frequency": 3}],
                "protect": {"method": "redistribute"},
                **(table or {}),
            }
        ],
        "redistribute": settings or None,
        "output": {"formats": list(formats)},
        **(more or {}),
    }
    if table and "cells" in table:
        del spec["microdata"]
    path = home / "job.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_map_is_written_whole(home):
    path = job(home, formats=["csv", "html", "parquet"])
    whole = cg.Job.load(path)
    assert cg.Job.parse(whole.model_dump(), folder=home).model_dump() == whole.model_dump()
    out = home / "out"
    done = command("map", path, "--out", out)
    assert done.exit_code == 0, done.output
    assert "Safe from recovery: every shown hexagon has 3 records or more" in done.output
    assert "The total is not kept: 1 record (0.20% of the total) left the map." in done.output
    shown, inside = read(out / "release/shops.csv"), read(out / "internal/shops.csv")
    assert all(int(row["value"]) >= 3 and row["flag"] == "" for row in shown)
    assert sum(int(row["value"]) for row in shown) == sum(int(row["value"]) for row in inside) - 1
    features = json.loads((out / "release/shops.geojson").read_text())["features"]
    places = read(out / "release/shops_hexagons.csv")
    table = pq.read_table(out / "release/shops_hexagons.parquet").to_pydict()
    assert [f["properties"]["value"] for f in features] == table["value"] == [int(row["value"]) for row in places]
    ring = features[0]["geometry"]["coordinates"][0]
    assert len(ring) == 7 and ring[0] == ring[-1]
    assert np.mean(ring[:-1], axis=0) == pytest.approx([float(places[0]["x"]), float(places[0]["y"])])
    moves = read(out / "internal/shops_transfers.csv")
    summary = json.loads((out / "internal/summary.json").read_text())
    about = summary["tables"]["shops"]
    assert sum(int(m["units"]) * int(m["steps"]) for m in moves) == about["mu"] >= about["least_mu"]
    assert set(summary["algorithms"]) == {"group", "nearest", "everybody", "optimal"}
    pictures = {"shops.png", "shops.svg"}
    assert pictures <= {p.name for p in (out / "release").iterdir()}
    assert {"shops_before.png", "shops_risk_utility.svg"} <= {p.name for p in (out / "internal").iterdir()}
    u3 = [float(row["u3"]) for row in read(out / "internal/shops_measures_group.csv")]
    assert sum(u3) == pytest.approx(about["mu"])


def test_nothing_of_the_inside_is_in_the_release(home):
    """Not the map before, not what was moved, not even that something was: the same words whatever happened."""
    path = job(home, formats=["csv", "html"])
    command("map", path, "--out", home / "out")
    release = home / "out/release"
    about = json.loads((release / "metadata.json").read_text())
    assert set(about["tables"]["shops"]) == {
        "by",
        "response",
        "population",
        "decimals",
        "cells",
        "suppressed",
        "method",
    }
    page = (release / "report.html").read_text()
    data = json.loads(page.split('id="grids">')[1].split("</script>")[0])
    assert set(data) == {*PUBLIC, "q", "r", "after", "breaks"} and min(data["after"]) >= 3
    gone = next(row["hexagon"] for row in read(home / "out/internal/shops.csv") if row["change"] == "removed")
    for file in release.iterdir():
        assert gone.encode() not in file.read_bytes() and b"mu " not in file.read_bytes()
    settled = read(release / "shops_hexagons.csv")
    again = home / "again"
    again.mkdir()
    (again / "points.csv").write_text(
        "x,y\n" + "".join(f"{row['x']},{row['y']}\n" * int(row["value"]) for row in settled)
    )
    words = page.split("<main")[1].split("<canvas")[0]
    command("map", job(again, formats=["csv", "html"], bins=20), "--out", again / "out")
    assert (again / "out/release/report.html").read_text().split("<main")[1].split("<canvas")[0] == words


def test_values_are_redistributed_by_their_rules(home):
    rules = [{"min_frequency": 3}, {"p_percent": 10}, {"max_share": 60}, {"dominance": {"n": 2, "k": 90}}]
    path = job(home, rules=rules, value="sales", seed=5, outliers="redistribute")
    done = command("map", path, "--out", home / "out")
    assert done.exit_code == 0 and "Safe from direct estimates" in done.output, done.output
    assert "The total is kept" in done.output
    shown, inside = read(home / "out/release/shops.csv"), read(home / "out/internal/shops.csv")
    total = sum(float(row["value"]) for row in inside)
    assert sum(float(row["value"]) for row in shown) == pytest.approx(total, abs=len(shown))
    assert {row["change"] for row in inside} >= {"raised", "gave"}
    once = (home / "out/release/shops.csv").read_text()
    command("map", path, "--out", home / "two")
    assert (home / "two/release/shops.csv").read_text() == once
    printed = command("map", job(home, rules=rules, value="sales", keep_away=0), "--out", home / "printed")
    assert "NOT PROVEN" in printed.output and "within 10 % of a true largest value" in printed.output


def test_what_cannot_be_resolved_is_not_released(home):
    (home / "points.csv").write_text("x,y,sales\n" + "0,0,5\n" + "1,0,4\n1,0,3\n1,0,3\n1,0,3\n")
    path = job(home, rules=[{"p_percent": 10}], value="sales", size=1.0, formats=["csv", "html"])
    done = command("map", path, "--out", home / "out")
    assert done.exit_code == 1 and "UNSAFE: rules still find 1 sensitive" in done.output, done.output
    assert "min_frequency" in done.output and not (home / "out/release").exists()
    assert "Nothing was released" in (home / "out/internal/report.html").read_text()
    path = job(home, rules=[{"p_percent": 10}], value="sales", size=1.0, unresolved="remove")
    done = command("map", path, "--out", home / "out", "--force")
    assert done.exit_code == 0 and "left the map" in done.output
    assert len(read(home / "out/release/shops.csv")) == 1


def test_points_from_other_sources(home):
    """GeoJSON gives the same map as CSV, and weights the same as repeated points."""
    command("map", job(home), "--out", home / "csv")
    points = [(float(r["x"]), float(r["y"])) for r in read(home / "points.csv")]
    features = [
        {"type": "Feature", "properties": {"n": 1}, "geometry": {"type": "Point", "coordinates": p}} for p in points
    ]
    (home / "points.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    done = command("map", job(home, more={"microdata": {"source": "points.geojson"}}), "--out", home / "json")
    assert done.exit_code == 0, done.output
    expected = (home / "csv/release/shops.csv").read_text()
    assert (home / "json/release/shops.csv").read_text() == expected
    (home / "twice.csv").write_text("x,y,w\n" + "".join(f"{x},{y},2\n" for x, y in points))
    more = {"microdata": {"source": "twice.csv", "weight": "w"}}
    assert command("map", job(home, more=more), "--out", home / "twice").exit_code == 0
    assert sum(int(r["value"]) for r in read(home / "twice/internal/shops.csv")) == 1000
    (home / "twice.csv").write_text("x,y,w\n1,1,0.5\n")
    with pytest.raises(InputError, match="number of records at its place, a whole number"):
        cg.run(cg.Job.load(job(home, more=more)))


def placed(folder):
    """Return the GeoJSON of a map and the first corner of each hexagon."""
    made = json.loads((folder / "release/shops.geojson").read_text())
    return made, np.array([f["geometry"]["coordinates"][0][:6] for f in made["features"]])


def test_geojson_is_in_degrees_if_the_coordinate_system_is_known_and_says_so_if_not(home):
    """The centre of the Dutch grid is a church tower in Amersfoort."""
    pytest.importorskip("pyogrio")
    rng = np.random.default_rng(1)
    x, y = rng.normal([[155_000], [463_000]], 2_000, (2, 400))
    (home / "points.csv").write_text("x,y\n" + "".join(f"{a:.0f},{b:.0f}\n" for a, b in zip(x, y, strict=True)))
    done = command("map", job(home, size=1000), "--out", home / "unknown")
    assert "nothing says which coordinate system x and y are of" in done.output
    unknown, grid = placed(home / "unknown")
    assert unknown["crs"] is None and np.abs(grid.mean(axis=(0, 1)) - [155_000, 463_000]).max() < 2_000
    done = command("map", job(home, size=1000, crs="EPSG:28992"), "--out", home / "known")
    assert done.exit_code == 0 and "coordinate" not in done.output
    known, degrees = placed(home / "known")
    assert "crs" not in known and np.abs(degrees.mean(axis=(0, 1)) - [5.3872, 52.1552]).max() < 0.02
    pairs = {tuple(corner) for corner in degrees.reshape(-1, 2).tolist()}
    assert len(pairs) == len(np.unique(grid.reshape(-1, 2), axis=0)), "neighbours share their corners"
    assert read(home / "known/release/shops.csv") == read(home / "unknown/release/shops.csv")
    about = json.loads((home / "known/release/metadata.json").read_text())["tables"]["shops"]
    assert about["crs"] == "EPSG:28992"
    summary = json.loads((home / "known/internal/summary.json").read_text())
    assert summary["crs"] == "EPSG:28992"
    by_bins = cg.run(cg.Job.load(job(home, bins=12, crs="EPSG:28992"))).summary["grid"]
    assert by_bins["dy"] == pytest.approx(3**0.5 * by_bins["dx"]) and by_bins["dx"] > 500


def test_a_coordinate_system_that_nobody_knows_is_refused_before_anything_is_written(home, monkeypatch):
    pytest.importorskip("pyogrio")
    for wrong in ("EPSG:99999999", "Dutch"):
        with pytest.raises(InputError, match="is no coordinate system that is known"):
            cg.run(cg.Job.load(job(home, crs=wrong)))
    monkeypatch.setitem(__import__("sys").modules, "pyogrio.errors", None)
    with pytest.raises(MissingExtra, match=r"cellguard\[geo\]"):
        cg.run(cg.Job.load(job(home, crs="EPSG:28992")))
    assert cg.run(cg.Job.load(job(home, crs="EPSG:4326"))).protected.crs == "EPSG:4326"  # nothing is to be turned


def test_degrees_are_warned_about(home):
    """Those that a job or a GeoJSON file names, and those that only look like it."""

    def warned(**settings):
        return [note for note in cg.run(cg.Job.load(job(home, **settings))).summary["warnings"] if "degrees" in note]

    assert "may be degrees" in warned()[0] and "x and y are degrees" in warned(crs="EPSG:4326")[0]
    points = [(float(r["x"]), float(r["y"])) for r in read(home / "points.csv")]
    features = [{"type": "Feature", "geometry": {"type": "Point", "coordinates": p}} for p in points]
    whole = {"type": "FeatureCollection", "features": features}
    (home / "p.geojson").write_text(json.dumps(whole))
    assert "x and y are degrees" in warned(more={"microdata": {"source": "p.geojson"}})[0]


def test_a_map_that_is_flat_to_a_third_is_warned_about(home):
    def warned(**settings):
        done = cg.run(cg.Job.load(job(home, **settings)))
        about = done.summary["tables"]["shops"]
        (flat, *_) = [*(note for note in done.summary["warnings"] if "were raised" in note), None]
        return flat, about["raised"] / about["shown"]

    few, share = warned(bins=5)
    many, larger = warned(bins=30)
    assert few is None and share < 1 / 3 <= larger and f"({larger:.0%}) were raised to exactly 3" in many


def test_faults_of_geographic_files_are_told(home):
    def run(text, name="points.geojson"):
        (home / name).write_text(text)
        return cg.run(cg.Job.load(job(home, more={"microdata": {"source": name}})))

    with pytest.raises(InputError, match="feature 1: a map is made of points"):
        run('{"features": [{"geometry": {"type": "Polygon", "coordinates": []}}]}')
    with pytest.raises(InputError, match="not a GeoJSON feature collection"):
        run("{}")
    with pytest.raises(InputError, match="no feature"):
        run('{"features": []}')
    with pytest.raises(InputError, match="property 'x' besides"):
        run('{"features": [{"properties": {"x": 1}, "geometry": {"type": "Point", "coordinates": [1, 2]}}]}')


def test_geographic_files_need_an_extra(home, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyogrio.errors", None)
    (home / "points.gpkg").write_bytes(b"")
    with pytest.raises(MissingExtra, match=r"cellguard\[geo\]"):
        cg.run(cg.Job.load(job(home, more={"microdata": {"source": "points.gpkg"}})))


def test_a_geopackage_gives_the_same_map(home):
    pyogrio = pytest.importorskip("pyogrio")
    points = [(float(r["x"]), float(r["y"])) for r in read(home / "points.csv")]
    import struct

    shapes = np.array([struct.pack("<BIdd", 1, 1, *p) for p in points], object)
    numbers = np.arange(len(points))
    pyogrio.raw.write(
        home / "points.gpkg", shapes, [numbers], ["n"], geometry_type="Point", crs="EPSG:4326", driver="GPKG"
    )
    command("map", job(home), "--out", home / "csv")
    command("map", job(home, more={"microdata": {"source": "points.gpkg"}}), "--out", home / "gpkg")
    assert (home / "gpkg/release/shops.csv").read_text() == (home / "csv/release/shops.csv").read_text()


def test_ready_made_hexagons(home):
    small = {(0, 0): 1, (1, 0): 5, (0, 1): 4, (-1, 0): 2, (-1, 1): 3, (2, -1): 6, (7, 0): 1, (2, 0): 2}
    (home / "hex.csv").write_text("q,r,n\n" + "".join(f"{q},{r},{n}\n" for (q, r), n in small.items()))
    path = job(home, table={"cells": {"source": "hex.csv", "count": "n"}})
    outcome = cg.run(cg.Job.load(path))
    assert (
        outcome.summary["tables"]["shops"] | {"mu": 5, "least_mu": 5, "u2_sum": 8, "lost_records": 1}
        == (outcome.summary["tables"]["shops"])
    )
    shown = dict(zip(outcome.release["shops"].codes[0], outcome.release["shops"].value, strict=True))
    assert shown["h2:-1"] == "5" and "h7:0" not in shown and set(shown.values()) == {"3", "5"}
    (home / "hex.csv").write_text("q,r,n\n0,0,1\n1,0,1.5\n")
    with pytest.raises(InputError, match=r"hex.csv line 3.*'n'.*must be a whole number"):
        cg.run(cg.Job.load(path))


def test_wide_maps_are_not_compared(home, monkeypatch):
    monkeypatch.setattr("cellguard.methods.maps.method._MOST_COMPARED", 10)
    done = command("map", job(home, formats=["csv", "html"]), "--out", home / "out")
    assert done.exit_code == 0, done.output
    assert "not worked out, since the map is too wide" in (home / "out/internal/report.html").read_text()
    summary = json.loads((home / "out/internal/summary.json").read_text())
    assert summary["tables"]["shops"]["least_mu"] is None and list(summary["algorithms"]) == ["group"]


def test_hexagons_become_larger_where_there_are_too_few_records(home):
    path = job(home, bins=200)
    done = command("map", path, "--out", home / "out")
    assert done.exit_code == 0 and "the hexagons were made larger" in done.output, done.output
    assert "attackers who know the smaller size of cells that was asked for not checked" in done.output
    assert all(int(row["value"]) >= 3 for row in read(home / "out/release/shops.csv"))
    with pytest.raises(NotProtected, match="say `coarsen: true`"):
        cg.run(cg.Job.load(job(home, bins=200, coarsen=False)))
    (home / "points.csv").write_text("x,y\n1,1\n2,2\n")
    with pytest.raises(NotProtected, match="nothing can be shown"):
        cg.run(cg.Job.load(job(home, outliers="keep")))


def test_a_dry_run_and_other_commands(home):
    path = job(home)
    dry = command("map", path, "--dry-run")
    assert dry.exit_code == 0 and "must not be published as it is" in dry.output
    assert json.loads(command("map", path, "--dry-run", "--json").output)["tables"]["shops"]["sensitive"] == 30
    with pytest.raises(InputError, match="cellguard map JOB --dry-run"):
        cg.assess_job(cg.Job.load(path))
    assert command("protect", path, "--out", home / "out").exit_code == 0
    assert "h" in command("show", home / "out", "shops").output
    audited = command("audit", home / "out")
    assert isinstance(audited.exception, InputError) and "redistributed, not suppressed" in str(audited.exception)
    table = {"name": "t", "by": ["x"], "value": "count", "rules": [{"min_frequency": 3}]}
    (home / "other.yaml").write_text(
        yaml.safe_dump({"version": 1, "microdata": {"source": "points.csv"}, "tables": [table]})
    )
    assert isinstance(command("map", home / "other.yaml", "--out", home / "no").exception, JobError)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rules": [{"p_percent": 10}]}, "a map of counts has the one rule `min_frequency`"),
        ({"rules": [{"min_frequency": 1}]}, "min_frequency` of 2 or more"),
        ({"value": "sales", "rules": [{"prior_posterior": {"p": 10, "q": 50}}]}, "cannot be redistributed by the rule"),
        ({"size": 1.0, "bins": 5}, "give one of size and bins"),
        ({"more": {"known": "k.csv"}}, "`known` is not looked at"),
        ({"table": {"zeros": "known"}}, "`zeros` does not go with a map"),
        ({"more": {"microdata": {"source": "p.csv", "holding": "h"}}}, "`holding` of `microdata` is not looked at"),
        ({"more": {"microdata": {"source": "p.csv", "missing": {"value": "zero"}}}}, "points at 0 that have no place"),
        ({"table": {"cells": {"source": "h.csv", "count": "n", "top": ["m"]}}}, "`top` of `cells`"),
        ({"table": {"by": ["a", "b"]}}, "a map has one dimension"),
        ({"rules": [{"min_frequency": {"n": 3, "hide": "small"}}]}, "`hide: small` is for suppressed tables"),
        ({"rules": [{"min_frequency": {"n": 3, "nonzero": True}}]}, "`nonzero` is for suppressed tables"),
    ],
)
def test_what_a_map_cannot_have_is_refused(home, change, message):
    with pytest.raises(JobError, match=message):
        cg.Job.load(job(home, **change))
