"""A source over HTTP: answers in every format, keys, limits, and questions that are wrong, hostile or huge."""

import io
import json

import pyarrow as pa
import pytest
import yaml
from fastapi.testclient import TestClient

from cellguard.faces.service.app import Service, gated
from cellguard.faces.service.keys import new_key

from source_folders import make_source, make_two_groupings

HOST = "127.0.0.1:8000"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_source(tmp_path_factory.mktemp("service"))


@pytest.fixture(scope="module")
def service(folder):
    return Service(folder, open_to_all=True)


@pytest.fixture(scope="module")
def client(service):
    return TestClient(gated(service, [HOST]), base_url=f"http://{HOST}", raise_server_exceptions=False)


def table(client, kind="json", **more):
    return client.get("/api/table", params={"by": ["region"], "value": "staff", "format": kind} | more)


def test_every_format_tells_the_same(client):
    plain = table(client).json()
    assert plain["answered"] and plain["columns"] == ["region", "value"]
    told = dict(plain["rows"])
    lines = table(client, "csv").text.split()
    assert lines[0] == "region,value,flag" and [line.split(",")[1] for line in lines[1:]] == [*map(str, told.values())]
    arrow = pa.ipc.open_stream(io.BytesIO(table(client, "arrow").content)).read_all()
    assert arrow["value"].to_pylist() == [float(value) for value in told.values()]
    sdmx = table(client, "sdmx").text.splitlines()
    assert sdmx[1].split(",")[4] == told["Total"] and sdmx[1].startswith("datastructure,CELLGUARD:STAFF(1.0.0),I")


def test_a_question_as_an_object_is_the_same_question(client):
    first = table(client, where="size:small", level="region:1")
    body = {"by": ["region"], "value": "staff", "where": {"size": ["small"]}, "levels": {"region": [1]}}
    again = client.post("/api/table", json=body)
    assert again.json() == first.json() and again.headers["x-repeated"] == "true"


def test_about_says_what_may_be_asked_and_what_is_checked(client):
    about = client.get("/api/about").json()
    assert [v["name"] for v in about["variables"]] == ["region", "branch", "size", "legal"]
    assert about["checked"] and about["not_checked"] and about["exposure"]["turnover"] > 0
    assert client.get("/api/openapi.json").json()["paths"]["/api/table"]["get"]["summary"]


def test_sdmx_clients_can_ask(client):
    from pysdmx.io import read_sdmx

    csv = client.get("/sdmx/data/dataflow/CELLGUARD/STAFF/1.0.0/N1+N2._T.small._T")
    assert csv.status_code == 200, csv.text
    lines = [line.split(",") for line in csv.text.splitlines()]
    assert lines[0][3:8] == ["REGION", "BRANCH", "SIZE", "LEGAL", "OBS_VALUE"]
    assert [line[3:7] for line in lines[1:]] == [["N1", "Total", "small", "Total"], ["N2", "Total", "small", "Total"]]
    message = read_sdmx(csv.text, validate=False)
    assert len(message.data[0].data) == 2
    structure = client.get("/sdmx/structure/datastructure/CELLGUARD/STAFF/1.0.0")
    assert {d.id for d in read_sdmx(structure.text, validate=False).get_data_structure_definitions()} == {
        "TURNOVER",
        "STAFF",
    }
    assert client.get("/sdmx/data/STAFF/N9._T._T._T").status_code == 422
    assert client.get("/sdmx/data/PROFIT/all").status_code == 422


HOSTILE = [
    {"by": ["region'; drop table answers; --"]},
    {"by": ["../../etc/passwd"]},
    {"by": ["region"], "where": {"size": ["small' or '1'='1"]}},
    {"by": ["region"], "where": {"size": [f"c{i}" for i in range(100_000)]}},
    {"by": ["region"], "where": {"size": {"$gt": ""}}},
    {"by": ["region"], "where": {"size": [None]}},
    {"by": [["region"]]},
    {"by": "region"},
    {"by": None},
    {},
    {"by": ["region"] * 3},
    {"by": ["\x00"]},
    {"by": ["\ud800"]},
    {"by": ["region"], "value": "\ud800"},
    {"by": ["region"], "value": 7},
    {"by": ["region"], "levels": {"region": [10**30]}},
    {"by": ["region"], "levels": {"region": [-1]}},
    {"by": ["region"], "levels": {"region": [True]}},
    {"by": ["region"], "levels": {"region": []}},
    {"by": ["region"], "levels": {"size": [1]}},
    {"by": ["region"], "format": "exe"},
    {"by": ["region"], "format": ["json"]},
    {"by": ["region"], "who": "root"},
    {"by": ["region", "branch", "size", "legal"], "value": "turnover", "extra": 1},
    {"by": ["r" * 100_000]},
]


@pytest.mark.parametrize("asked", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_questions_are_refused_in_words(client, service, asked):
    body = json.dumps({"value": "turnover", **asked}).encode()
    before = service.source.exposure
    said = client.post("/api/table", content=body)
    assert said.status_code in {413, 422} and said.json()["error"], said.text
    assert len(said.text) < 1_000 and service.source.exposure == before


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"7", b"\xff\xfe", b"[" * 100_000, b'{"by": NaN}', b'{"by":["region"],"value":1e999}']
)
def test_what_is_no_question_is_refused(client, body):
    assert client.post("/api/table", content=body).status_code == 422


def test_wrong_addresses_are_refused(client):
    for path in ("/api/table?by=region&where=size", "/api/table?level=region:x&by=region", "/api/table?x=1"):
        assert client.get(path).status_code == 422
    for path in ("/assets/..%2f..%2fapp.py", "/assets/app.py", "/nothing", "/sdmx/data/x"):
        assert client.get(path).status_code == 404
    assert client.get("/api/table?by=" + "r" * 20_000).status_code == 414
    assert client.get("/api/about", headers={"host": "evil.example"}).status_code == 421
    assert client.post("/api/table", content=b"x", headers={"content-length": "9" * 30}).status_code == 413
    assert client.delete("/api/table").status_code == 405


def test_a_table_that_is_too_large_is_refused(tmp_path):
    home = make_source(tmp_path, limits={"cells": 20})
    client = TestClient(gated(Service(home, open_to_all=True), [HOST]), base_url=f"http://{HOST}")
    said = client.get("/api/table", params={"by": ["region", "branch"], "value": "staff"})
    assert said.status_code == 422 and "at most 20" in said.json()["error"]


def test_refusals_are_told_with_their_reason_and_never_as_a_table(client):
    asked = {
        "by": ["region"],
        "where": {"size": ["large"], "branch": ["A"], "legal": ["plc"]},
        "levels": {"region": [2]},
    }
    said = client.post("/api/table", json={"value": "staff", **asked}).json()
    assert said["answered"] is False and "too few contributors" in said["reason"] and "rows" not in said
    csv = client.post("/api/table", json={"value": "staff", "format": "csv", **asked})
    assert csv.status_code == 409 and csv.json()["answered"] is False


def test_keys_users_and_limits(tmp_path):
    home = make_two_groupings(tmp_path, limits={"per_minute": 6, "answers": 1})
    key, other = new_key(home, "ann"), new_key(home, "bob")
    assert key not in (home / "keys.json").read_text() and (home / "keys.json").stat().st_mode & 0o077 == 0
    client = TestClient(gated(Service(home, open_to_all=False), [HOST]), base_url=f"http://{HOST}")
    first = {"by": "z1", "value": "y"}
    assert client.get("/api/table", params=first).status_code == 401
    assert client.get("/api/table", params=first, headers={"x-api-key": "guess"}).status_code == 401
    ann, bob = {"x-api-key": key}, {"authorization": f"Bearer {other}"}
    assert client.get("/api/table", params=first, headers=ann).json()["answered"]
    assert client.get("/api/table", params=first, headers=ann).json()["answered"], "the same again is free"
    more = client.get("/api/table", params={"by": "size", "value": "y"}, headers=ann).json()
    assert not more["answered"] and "as many answers" in more["reason"]
    assert client.get("/api/table", params={"by": "size", "value": "y"}, headers=bob).json()["answered"]
    statuses = [client.get("/api/about", headers=ann).status_code for _ in range(5)]
    assert statuses[-1] == 429 and client.get("/api/about", headers=bob).status_code == 200
    log = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    assert [line["end"] for line in log][:4] == ["answered", "repeated", "refused", "answered"]
    assert {line["user"] for line in log} == {"ann", "bob"} and all(set(line) == set(log[0]) for line in log)
    shown = client.get("/api/table", params=first, headers=bob).json()["rows"]
    assert not any(value in (home / "audit.jsonl").read_text() for *_, value in shown if value)


def test_damaged_keys_are_told(tmp_path):
    from cellguard.errors import InputError
    from cellguard.faces.service.keys import read_keys

    (tmp_path / "keys.json").write_text("[1]")
    with pytest.raises(InputError, match=r"keys\.json cannot be read"):
        read_keys(tmp_path)
    for name in ("public", "", "a b", "x" * 99):
        with pytest.raises(InputError, match="user's name"):
            new_key(tmp_path, name)


def test_the_command_makes_keys_and_wants_them(folder):
    from click.testing import CliRunner

    from cellguard.faces.cli.main import cli

    done = CliRunner().invoke(cli, ["serve", str(folder)])
    assert "no user has a key yet" in str(done.exception)
    done = CliRunner().invoke(cli, ["serve", str(folder), "--new-key", "ann"])
    assert done.exit_code == 0 and len(done.stdout.split()[0]) > 40
    assert yaml.safe_load((folder / "keys.json").read_text()).keys() == {"ann"}
    (folder / "keys.json").unlink()
