"""A studio over a small job, asked without a network, as its pages ask it."""

from __future__ import annotations

import time

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from cellguard.faces.studio.app import guarded
from cellguard.faces.studio.sessions import Sessions
from cellguard.faces.studio.studio import Limits, Studio
from cellguard.faces.web import served_names

FIRMS = "firm,region,size,turnover\n" + "".join(
    f"f{i},{'NNSSSWWWWW'[i % 10]},{'ab'[i % 3 % 2]},{17 * (i % 7) ** 3 + 5}\n" for i in range(40)
)
JOB = """# a small job
version: 1
microdata: {source: firms.csv, respondent: firm}
tables:
  - name: firms
    by: [region, size]
    value: turnover
    rules:
      - {min_frequency: 3}
"""
PORT = 4711
HOST = f"127.0.0.1:{PORT}"


class Page:
    """A browser that came in by a link."""

    def __init__(self, app, sessions, role, name):
        self.client = TestClient(app, base_url=f"http://{HOST}", follow_redirects=False, raise_server_exceptions=False)
        self.entered = self.client.get(f"/enter?token={sessions.links[role]}")
        self.word = self.client.get("/api/session").json()["word"]
        if name:
            assert self.post("who", name=name).status_code == 200

    def get(self, path, **more):
        return self.client.get(f"/api/{path}", **more)

    def post(self, path, **body):
        return self.client.post(f"/api/{path}", json=body, headers={"X-Cellguard-Word": self.word})

    def put(self, path, **body):
        return self.client.put(f"/api/{path}", json=body, headers={"X-Cellguard-Word": self.word})

    def upload(self, name, content):
        return self.client.put(f"/api/files/{name}", content=content, headers={"X-Cellguard-Word": self.word})

    def wait(self, studio):
        assert studio.work.wait(300).over and studio.work.error == ""
        return studio.work.result

    def found(self):
        for _ in range(100):
            told = self.get("found").json()
            if told["ready"] or told["work"]["over"]:
                return told
            time.sleep(0.05)
        raise AssertionError("the tables are not made")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "firms.csv").write_text(FIRMS)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


@pytest.fixture
def studio(folder):
    return Studio(folder, "job.yaml", Limits(upload=10_000))


@pytest.fixture
def sessions():
    return Sessions(["maker", "checker"])


@pytest.fixture
def app(studio, sessions):
    return guarded(studio, sessions, served_names("127.0.0.1", PORT), PORT)


@pytest.fixture
def maker(app, sessions):
    return Page(app, sessions, "maker", "Ada")


@pytest.fixture
def checker(app, sessions):
    return Page(app, sessions, "checker", "Bea")
