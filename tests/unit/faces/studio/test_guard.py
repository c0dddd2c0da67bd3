"""The one way in: host, token, cookie, word, policy, uploads, paths, log; an attack on each."""

import io
import logging
import zipfile

import duckdb
import pytest
from starlette.testclient import TestClient

from cellguard.errors import InputError
from cellguard.faces.studio import routes_job
from cellguard.faces.studio.guard import AWAY
from cellguard.faces.studio.serve import Place, Server, studio_of
from cellguard.faces.web import POLICY
from cellguard.pipeline import job_folder
from unit.faces.studio.conftest import HOST, JOB, PORT


@pytest.fixture
def stranger(app):
    return TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)


def test_a_link_is_good_once_and_its_cookie_is_for_this_site_only(stranger, sessions):
    link = f"/enter?token={sessions.links['maker']}"
    entered = stranger.get(link)
    cookie = entered.headers["set-cookie"].lower()
    assert entered.status_code == 303 and entered.headers["location"] == "/"
    assert "httponly" in cookie and "samesite=strict" in cookie and f"cellguard-{PORT}=" in cookie
    other = TestClient(stranger.app, base_url=f"http://{HOST}", follow_redirects=False)
    assert other.get(link).status_code == 401 and "maker" not in sessions.links
    assert stranger.get(link).status_code == 303  # the same browser may come again


@pytest.mark.parametrize(
    "path", ["/", "/api/session", "/api/job", "/assets/main.js", "/api/news", "/api/openapi.json", "/x"]
)
@pytest.mark.parametrize("cookie", [None, "guessed", ""])
def test_nobody_sees_anything_without_a_session(stranger, path, cookie):
    if cookie is not None:
        stranger.cookies.set(f"cellguard-{PORT}", cookie)
    answer = stranger.get(path)
    assert answer.status_code == 401 and answer.text == AWAY


@pytest.mark.parametrize("token", ["", "x", "é", "a" * 5000])
def test_wrong_tokens_do_not_open(stranger, token):
    assert stranger.get("/enter", params={"token": token}).status_code == 401
    assert stranger.post("/enter").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:4711", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:4711.evil.example", ""]
)
def test_other_names_do_not_lead_here(maker, host):
    assert maker.client.get("/api/session", headers={"Host": host}).status_code == 421


def test_this_machine_has_two_names(maker):
    assert maker.client.get("/api/session", headers={"Host": f"localhost:{PORT}"}).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-Cellguard-Word": "guessed"}, {"X-Cellguard-Word": ""}])
def test_what_changes_anything_needs_the_word_of_the_session(maker, folder, headers):
    for method, path in (
        ("POST", "protect"),
        ("PUT", "job"),
        ("PUT", "files/a.csv"),
        ("POST", "states/undo"),
        ("DELETE", "job"),
    ):
        assert maker.client.request(method, f"/api/{path}", json={}, headers=headers).status_code == 403
    assert not (folder / "a.csv").exists()


def test_a_page_of_another_site_cannot_ask_even_with_the_word(maker):
    headers = {"X-Cellguard-Word": maker.word, "Origin": "http://evil.example"}
    assert maker.client.post("/api/stop", json={}, headers=headers).status_code == 403


def test_the_word_of_one_session_is_no_other_sessions(maker, checker):
    assert maker.client.post("/api/stop", json={}, headers={"X-Cellguard-Word": checker.word}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/assets/main.js", "/api/job", "/api/nothing", "/assets/..%2Fguard.py"])
def test_every_answer_forbids_what_the_pages_do_not_need(maker, path):
    headers = maker.client.get(path).headers
    assert headers["content-security-policy"] == POLICY and "unsafe" not in POLICY
    assert headers["x-content-type-options"] == "nosniff" and headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_pages_have_no_inline_script_style_or_foreign_address(maker):
    page = maker.client.get("/").text
    assert "<style" not in page and "style=" not in page and "onclick" not in page and "http" not in page
    assert page.count("<script") == page.count('<script type="module" src="/assets/') == 1


@pytest.mark.parametrize(
    "name", ["index.py", "..%2Fapp.py", "%2e%2e/guard.py", "regular-table.LICENSE.txt.py", ".html"]
)
def test_only_assets_are_given_out(maker, name):
    assert maker.client.get(f"/assets/{name}").status_code == 404


def test_an_upload_is_its_owners_only_and_replaces_nothing(maker, folder):
    assert maker.upload("more.csv", b"a,b\n1,2\n").status_code == 200
    assert (folder / "more.csv").stat().st_mode & 0o777 == 0o600
    again = maker.upload("more.csv", b"c\n3\n")
    assert again.status_code == 409 and (folder / "more.csv").read_bytes() == b"a,b\n1,2\n"
    assert maker.upload("job.yaml", JOB.encode()).status_code == 409


def test_an_upload_that_is_too_large_leaves_nothing(maker, folder):
    before = sorted(path.name for path in folder.iterdir())
    answer = maker.upload("big.csv", b"x" * 10_001)
    assert answer.status_code == 413 and "most allowed" in answer.json()["error"]
    assert maker.upload("empty.csv", b"").status_code == 422
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "name",
    [
        "..%2Fout.csv",
        "%2Fetc%2Fx.csv",
        ".hidden.csv",
        "a%00.csv",
        "run.sh",
        "x.html",
        "..",
        "a%5Cb.csv",
        "x" * 300 + ".csv",
    ],
)
def test_an_upload_goes_nowhere_else(maker, folder, name):
    before = set(folder.parent.rglob("*"))
    assert maker.upload(name, b"a\n1\n").status_code in (404, 405, 422)
    assert set(folder.parent.rglob("*")) == before


def test_a_question_may_not_be_endless(maker):
    body = b'{"text": "' + b"x" * 6_000_000 + b'", "version": ""}'
    headers = {"X-Cellguard-Word": maker.word}
    assert maker.client.put("/api/job", content=body, headers=headers).status_code == 413
    assert maker.client.put("/api/job", content=iter([b"{}"]), headers=headers).status_code == 411


@pytest.mark.parametrize("source", ["../firms.csv", "/etc/passwd", "postgresql://db/x"])
def test_a_job_of_the_page_reads_nothing_outside(maker, folder, source):
    told = maker.get("job").json()
    text = JOB.replace("source: firms.csv", f"source: '{source}'")
    answer = maker.put("job", text=text, version=told["version"])
    assert answer.status_code == 422 and (folder / "job.yaml").read_text() == JOB
    (folder / "other.yaml").write_text(text)
    maker.post("open", job="other.yaml")
    assert not maker.found()["ready"]


def test_what_a_link_in_the_folder_leads_to_is_outside(maker, folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "secret.csv").write_text("firm,region,size,turnover\nf,N,a,812\n")
    (other / "secret.yaml").write_text(JOB)
    for name in ("secret.csv", "secret.yaml"):
        (folder / name).symlink_to(other / name)
    assert maker.get("data/secret.csv").status_code == 422
    assert maker.post("jobs", data="secret.csv", job="x.yaml").status_code == 422
    assert maker.post("open", job="secret.yaml").status_code == 422
    version = maker.get("job").json()["version"]
    text = JOB.replace("source: firms.csv", "source: secret.csv")
    assert maker.put("job", text=text, version=version).status_code == 422


@pytest.mark.parametrize("query", ["SELECT * FROM read_csv('{}')", "SELECT * FROM '{}'", "COPY t TO '{}'"])
def test_a_query_of_a_job_reads_and_writes_nothing_outside(maker, folder, tmp_path_factory, query):
    other = tmp_path_factory.mktemp("other") / "secret.csv"
    other.write_text("firm,region,size,turnover\nf,N,a,812\n")
    before = other.read_bytes()
    with duckdb.connect(folder / "d.duckdb") as data:
        data.execute("CREATE TABLE t AS SELECT * FROM read_csv(?)", [str(folder / "firms.csv")])
    version = maker.get("job").json()["version"]
    source = f'source: d.duckdb, query: "{query.format(other)}"'
    maker.put("job", text=JOB.replace("source: firms.csv", source), version=version)
    told = maker.found()
    assert not told["ready"] and told["work"]["error"] and "812" not in str(told)
    assert other.read_bytes() == before


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{'bcdefghi'[i]}: &{'bcdefghi'[i]} [{', '.join(['*' + 'abcdefgh'[i]] * 9)}]\n" for i in range(8)
)


def test_a_job_that_grows_when_it_is_read_is_refused(maker, folder):
    version = maker.get("job").json()["version"]
    answer = maker.put("job", text=BOMB, version=version)
    assert answer.status_code == 422 and "aliases" in answer.json()["error"]
    (folder / "bomb.yaml").write_text(BOMB)
    assert maker.post("open", job="bomb.yaml").status_code == 200
    assert "aliases" in maker.get("job").json()["error"] and not maker.found()["ready"]


def test_a_job_that_is_too_large_is_neither_taken_nor_opened(maker, folder, studio, monkeypatch):
    monkeypatch.setattr(job_folder, "LARGEST", 1_000)
    monkeypatch.setattr(routes_job, "LARGEST", 1_000)
    large = JOB + "# " + "x" * 1_000
    assert maker.upload("large.yaml", large.encode()).status_code == 413
    (folder / "large.yaml").write_text(large)
    answer = maker.post("open", job="large.yaml")
    assert answer.status_code == 422 and "too large for a job" in answer.json()["error"]
    assert maker.get("job").json()["name"] == "job.yaml"
    (folder / "job.yaml").write_bytes(b"\xff")  # what is open is broken by an editor; the pages still hear of it
    assert studio.news()["job"] == "job.yaml" and maker.get("job").status_code == 422


@pytest.mark.parametrize("name", ["../job.yaml", "/etc/hosts", "firms.csv", ".job.yaml", "no.yaml", ""])
def test_only_jobs_of_the_folder_are_opened(maker, name):
    assert maker.post("open", job=name).status_code == 422


def test_a_checker_makes_nothing_and_a_maker_signs_nothing(maker, checker):
    for path in ("protect", "states/undo", "states/redo", "what-if"):
        assert checker.post(path).status_code == 403, path
    assert checker.put("job", text=JOB, version="").status_code == 403
    assert checker.upload("a.csv", b"a\n1\n").status_code == 403
    assert maker.post("decide", what="accept", run=1).status_code == 422


def test_errors_and_log_tell_nothing_of_the_data(maker, monkeypatch, capfd, caplog):
    def broken(path):
        raise ValueError("the turnover of firm f3 is 812")

    monkeypatch.setattr(routes_job, "describe_data", broken)
    with caplog.at_level(logging.DEBUG):
        answer = maker.get("data/firms.csv")
    assert answer.status_code == 500 and answer.json()["error"].startswith("internal error: ValueError (test_guard.py")
    out = capfd.readouterr()
    for text in (answer.text, out.out, out.err, caplog.text):
        assert "812" not in text and "f3" not in text
    assert "internal error: ValueError" in out.err


def test_a_report_is_kept_apart_from_the_site(maker, studio):
    maker.post("protect")
    maker.wait(studio)
    page = maker.get("runs/1/download/report")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts") and "allow-same-origin" not in policy
    assert "default-src 'none'" in policy and "script-src 'sha256-" in policy
    assert maker.get("runs/1/download/..%2Fjob").status_code in (404, 422)


def test_the_server_listens_on_this_machine_unless_told_otherwise(folder):
    server = Server(studio_of(Place.of(folder / "job.yaml")))
    assert server._socket.getsockname()[0] == "127.0.0.1" and server.link("maker").startswith(
        f"http://127.0.0.1:{server.port}/enter?token="
    )
    assert server.link("maker") != server.link("checker") and len(server.sessions.links["maker"]) > 40
    server._socket.close()


def test_what_is_opened_is_said_by_the_path(folder, tmp_path_factory):
    home = folder.resolve()
    assert Place.of(folder) == Place(home, "job.yaml", None, home)
    assert Place.of(folder / "firms.csv") == Place(home, None, "firms.csv", home)
    assert Place.of(folder / "job.yaml", folder.parent) == Place(home, "job.yaml", None, home.parent)
    for path, root in ((folder / "no", None), (folder / "job.yaml", tmp_path_factory.mktemp("x"))):
        with pytest.raises(InputError):
            Place.of(path, root)


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("path", ["/api/job", "/api/session", "/api/files", "/assets/main.js"])
def test_a_page_of_another_server_on_this_machine_reads_nothing(maker, site, path):
    assert maker.client.get(path, headers={"Sec-Fetch-Site": site}).status_code == 403
    assert maker.client.get(path, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert maker.client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 200  # a link that is followed


@pytest.mark.parametrize("what", ["certificate", "job", "report"])
def test_links_within_a_run_lead_nowhere(maker, studio, folder, tmp_path_factory, what):
    maker.post("protect")
    maker.wait(studio)
    secret = tmp_path_factory.mktemp("other") / "secret"
    secret.write_text("812")
    inside = folder / "job-runs" / "001" / "internal"
    name = {"certificate": "certificate.json", "job": "job.yaml", "report": "report.html"}[what]
    (inside / name).unlink()
    (inside / name).symlink_to(secret)
    for path in (f"runs/1/download/{what}", "runs/1/difference", "runs", "tables?run=1", "runs/1/public?table=firms"):
        answer = maker.get(path)
        assert answer.status_code in (200, 422) and "812" not in answer.text, path
    assert maker.get(f"runs/1/download/{what}").status_code == 422
    assert maker.post("runs/1/verify").status_code == 422


def test_a_run_or_a_record_that_is_a_link_is_none(maker, folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "001" / "internal").mkdir(parents=True)
    (folder / "job-runs").symlink_to(other)
    assert maker.get("runs").json()["runs"] == []
    (other / "record").write_text("")
    (folder / "job.decisions.jsonl").unlink(missing_ok=True)
    (folder / "job.decisions.jsonl").symlink_to(other / "record")
    assert maker.get("record").status_code == 422
    assert maker.put("job", text=JOB + "# more\n", version=maker.get("job").json()["version"]).status_code == 422
    assert (other / "record").read_text() == ""


def test_a_small_file_that_is_large_inside_is_refused(maker, folder):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/worksheets/sheet1.xml", b"<row/>" * 200_000)
    assert len(packed.getvalue()) < 10_000
    assert maker.upload("bomb.xlsx", packed.getvalue()).status_code == 413 and not (folder / "bomb.xlsx").exists()


def test_a_file_of_very_many_columns_is_refused_at_once(maker, folder):
    (folder / "wide.csv").write_text(",".join(f"c{i}" for i in range(6_000)) + "\n")
    answer = maker.get("data/wide.csv")
    assert answer.status_code == 422 and "columns" in answer.json()["error"]


@pytest.mark.parametrize("name", ["Ada\u200b", "\u202eadA", "A\u00adda", "\u2060", "Ada\x07"])
def test_a_name_with_signs_that_nobody_sees_is_refused(checker, name):
    assert checker.post("who", name=name).status_code == 422


def test_a_maker_is_known_in_any_width_of_letters(maker, checker, studio):
    maker.post("protect")
    maker.wait(studio)
    assert checker.post("who", name="\uff21\uff44\uff41").json() == {"name": "Ada"}
    answer = checker.post("decide", what="accept", run=1, reason="x")
    assert answer.status_code == 422 and "somebody else must accept it" in answer.json()["error"]
