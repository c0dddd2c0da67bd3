"""Maps in the studio: from points to a map, settings that are tried live, and a run that can be repeated."""

import csv
import io
import zipfile

import numpy as np
import pytest

from cellguard.faces.studio.app import guarded
from cellguard.faces.studio.studio import Studio
from cellguard.faces.web import served_names
from cellguard.job.jobfile import Job
from cellguard.methods.maps.trial import reading_of
from unit.faces.studio.conftest import PORT, Page

from system import command

_RANDOM = np.random.default_rng(1)
_POINTS = np.vstack([_RANDOM.normal(50, 8, (200, 2)), _RANDOM.uniform(0, 100, (60, 2))])
SHOPS = "east,north,kind\n" + "".join(f"{x:.1f},{y:.1f},{'ab'[i % 2]}\n" for i, (x, y) in enumerate(_POINTS))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shops.csv").write_text(SHOPS)
    return tmp_path


@pytest.fixture
def studio(folder):
    return Studio(folder)


@pytest.fixture
def mapped(maker):
    told = maker.post("jobs", data="shops.csv", job="map.yaml", map={"x": "east", "y": "north", "size": 10.0}).json()
    assert told["error"] == "" and told["method"] == "redistribute"
    return maker


def test_settings_are_tried_without_being_written(mapped, folder):
    before = (folder / "map.yaml").read_text()
    own = mapped.post("map/try").json()
    assert own["settings"] == {"size": 10.0, "algorithm": "group", "outliers": "remove", "min_frequency": 3}
    drawn = own["map"]
    assert sum(drawn["before"]) == 260 and min(v for v in drawn["after"] if v is not None) >= 3
    assert sum(value < 3 for value in drawn["before"]) == own["figures"]["sensitive"] > 0
    more = mapped.post("map/try", min_frequency=8, outliers="keep").json()
    assert min(v for v in more["map"]["after"] if v is not None) >= 8 and "8 records or more" in more["headline"]
    assert sum(v or 0 for v in more["map"]["after"]) == 260
    wide = mapped.post("map/try", size=25.0).json()
    assert len(wide["map"]["q"]) < len(drawn["q"]) and wide["size"] == 25.0
    cheap, dear = (mapped.post("map/try", algorithm=name).json()["figures"]["mu"] for name in ("optimal", "everybody"))
    assert cheap <= own["figures"]["mu"] and cheap <= dear
    assert (folder / "map.yaml").read_text() == before


def test_what_is_tried_is_what_the_command_line_makes_once_it_is_written(mapped, folder, studio):
    version = mapped.get("job").json()["version"]
    tried = mapped.post("map/try", size=14.0, min_frequency=4).json()["map"]
    assert mapped.put("map", size=14.0, min_frequency=4, version=version).status_code == 200
    assert mapped.put("map", size=15.0, version=version).status_code == 409  # made from an older version
    text = (folder / "map.yaml").read_text()
    assert "size: 14.0" in text and "min_frequency: 4" in text and text.startswith("# A cellguard job")
    mapped.post("protect")
    mapped.wait(studio)
    (run,) = mapped.get("runs").json()["runs"]
    assert run["released"] and run["standing"]["again"]  # counts draw no random numbers
    with (folder / "map-runs/001/release/map.csv").open() as file:
        released = sorted(int(row["value"]) for row in csv.DictReader(file))
    assert released == sorted(v for v in tried["after"] if v is not None)
    assert command.run(*run["standing"]["command"].split()[1:], cwd=folder).returncode == 0
    for path in (folder / "map-runs/001/release").iterdir():
        assert path.read_bytes() == (folder / "out/release" / path.name).read_bytes(), path.name


def test_a_checker_may_try_and_not_write(mapped, app, sessions):
    checker = Page(app, sessions, "checker", "Bea")
    assert checker.post("map/try", size=20.0).status_code == 200
    assert checker.put("map", size=20.0, version="").status_code == 403


@pytest.mark.parametrize(
    "said", [{"size": 0.0}, {"size": -1.0}, {"size": 1e-9}, {"min_frequency": 1}, {"algorithm": "x"}, {"x": "kind"}]
)
def test_settings_that_cannot_be_are_refused_in_words(mapped, said):
    answer = mapped.post("map/try", **said)
    assert answer.status_code == 422 and "internal" not in answer.json()["error"]


@pytest.mark.parametrize("points", [("east", "kind"), ("east", "east"), ("east", "no"), ("east", "'}\nversion: 2")])
def test_what_has_no_coordinates_makes_no_map(maker, folder, points):
    answer = maker.post("jobs", data="shops.csv", map=dict(zip("xy", points, strict=True)))
    assert answer.status_code == 422 and not (folder / "job.yaml").exists()


def test_a_job_of_tables_makes_no_map(maker):
    maker.post("jobs", data="shops.csv", tables=[{"by": ["kind"], "value": "count"}])
    assert maker.post("map/try").status_code == 422
    assert maker.put("map", size=3.0, version="").status_code == 422


def test_too_fine_a_map_is_not_tried(folder, sessions, monkeypatch):
    from cellguard.methods.maps import trial

    monkeypatch.setattr(trial, "_MOST_TRIED", 20)
    maker = Page(guarded(Studio(folder), sessions, served_names("127.0.0.1", PORT), PORT), sessions, "maker", "Ada")
    maker.post("jobs", data="shops.csv", job="map.yaml", map={"x": "east", "y": "north", "size": 5.0})
    assert "too many to be drawn" in maker.post("map/try").json()["error"]
    assert maker.post("map/try", size=60.0).status_code == 200


def test_a_map_is_checked_and_signed_and_two_runs_are_told_apart(mapped, app, sessions, studio):
    mapped.post("protect")
    mapped.wait(studio)
    mapped.put("map", min_frequency=5, version=mapped.get("job").json()["version"])
    mapped.post("protect")
    mapped.wait(studio)
    changed = mapped.get("runs/2/difference")
    assert changed.status_code == 200 and changed.json()["other"] == 1
    assert changed.json()["figures"] or changed.json()["many"]
    assert mapped.post("decide", what="request", run=2).status_code == 200
    checker = Page(app, sessions, "checker", "Bea")
    assert checker.post("decide", what="accept", run=2).status_code == 200
    signed = mapped.get("runs/2/download/release")
    names = zipfile.ZipFile(io.BytesIO(signed.content)).namelist()
    assert {"map.csv", "map.geojson", "sign-off.json"} <= set(names)
    assert not [name for name in names if "before" in name or "transfers" in name]


SQUARES = """\
version: 1
microdata: {source: shops.csv}
tables:
  - name: shops
    by: [square]
    value: count
    rules: [{min_frequency: 3}]
    protect: {method: METHOD}
METHOD: {x: east, y: north, grid: squares, size: 8}
"""


@pytest.fixture
def opened(maker, folder):
    def open_job(method, **more):
        text = SQUARES.replace("METHOD", method)
        (folder / "squares.yaml").write_text(
            text.replace("size: 8}", "size: 8, unproven: accept}" if more else "size: 8}")
        )
        assert maker.post("open", job="squares.yaml").status_code == 200
        return maker

    return open_job


def test_merged_squares_are_tried_and_written(opened, folder, studio):
    page = opened("merge")
    own = page.post("map/try").json()
    assert own["settings"] == {"size": 8.0, "largest": None, "min_frequency": 3} and own["method"] == "merge"
    assert "before" not in own["map"] and min(own["map"]["after"]) >= 3 and own["verdict"] == "safe"
    assert sum(own["map"]["after"]) == 260 and own["figures"]["unsafe"] > 0
    narrow = page.post("map/try", largest=16.0).json()
    assert narrow["figures"]["lost_records"] > 0 and sum(narrow["map"]["after"]) < 260
    assert page.post("map/try", largest=17.0).status_code == 422  # no doubling
    assert page.post("map/try", outliers="keep").status_code == 422
    version = page.get("job").json()["version"]
    assert page.put("map", size=10.0, largest=20.0, min_frequency=4, version=version).status_code == 200
    text = (folder / "squares.yaml").read_text()
    assert "largest: 20.0" in text and "size: 10.0" in text and "min_frequency: 4" in text
    tried = page.post("map/try").json()["map"]
    page.post("protect")
    page.wait(studio)
    with (folder / "squares-runs/001/release/shops.csv").open() as file:
        assert sorted(int(row["value"]) for row in csv.DictReader(file)) == sorted(tried["after"])
    version = page.get("job").json()["version"]
    assert page.put("map", largest=0.0, version=version).status_code == 200
    assert "largest" not in (folder / "squares.yaml").read_text()


def test_smoothed_squares_are_tried_and_written(opened, folder, studio):
    page = opened("smooth", accepted=True)
    own = page.post("map/try").json()
    assert own["settings"] == {"size": 8.0, "bandwidth": None, "risk": "external", "max_risk": 0.95, "min_frequency": 3}
    drawn = own["map"]
    assert len(drawn["before"]) == len(drawn["after"]) > own["figures"]["squares"] and sum(drawn["before"]) == 260
    assert sum(drawn["after"]) == pytest.approx(260, abs=2) and own["verdict"] != "safe"
    wide = page.post("map/try", bandwidth=16.0).json()
    assert max(wide["map"]["after"]) < max(drawn["after"])
    version = page.get("job").json()["version"]
    assert page.put("map", bandwidth=16.0, max_risk=0.5, version=version).status_code == 200
    page.post("protect")
    page.wait(studio)
    with (folder / "squares-runs/001/release/shops.csv").open() as file:
        released = sorted(float(row["value"]) for row in csv.DictReader(file))
    assert released == pytest.approx(sorted(wide["map"]["after"]))


def test_a_trial_is_made_anew_where_other_places_are_read(opened, folder):
    page = opened("merge")
    assert not page.post("map/try").json()["map"]["metres"]
    own = reading_of(Job.load(folder / "squares.yaml"))
    text = (folder / "squares.yaml").read_text()
    for said, again in (
        ("crs: EPSG:3035", False),
        ("crs: EPSG:4326, project: EPSG:3035", False),
        ("largest: 16", True),
    ):
        (folder / "squares.yaml").write_text(text.replace("grid: squares", f"grid: squares, {said}"))
        assert (reading_of(Job.load(folder / "squares.yaml")) == own) == again, said
    (folder / "squares.yaml").write_text(text.replace("grid: squares", "grid: squares, crs: EPSG:3035"))
    assert page.post("map/try").json()["map"]["metres"]
