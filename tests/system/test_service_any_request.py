"""Whatever is asked of a source over HTTP is answered in words: schemathesis and near misses find no 500."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellguard.faces.service.app import Service, gated

from source_folders import make_keyed, make_suppressing, make_two_groupings

schemathesis = pytest.importorskip("schemathesis")
testclient = pytest.importorskip("fastapi.testclient")

HOST = "127.0.0.1:8000"
CALM = {"deadline": None, "database": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
NAMES = st.sampled_from(["region", "branch", "size", "legal", "z1", "z2", "count", "x", "turnover", "Total", ""])
CODES = st.sampled_from(["large", "small", "l", "s", "P", "U", "A", "ltd", "Total", "_T", "", "N1"]) | st.text(
    max_size=3
)
TEXTS = NAMES | CODES | st.none() | st.integers() | st.floats()
LEVELS = st.integers(-1, 4) | st.lists(st.integers(0, 3), max_size=3)
QUESTIONS = st.fixed_dictionaries(
    {"by": st.lists(NAMES, max_size=3, unique=True), "value": NAMES},
    optional={
        "where": st.dictionaries(NAMES, CODES | st.lists(TEXTS, max_size=3), max_size=2),
        "levels": st.dictionaries(NAMES, LEVELS, max_size=2),
        "format": st.sampled_from(["json", "csv", "arrow", "sdmx", "exe"]),
    },
)
KEYS = st.lists(st.sampled_from(["", "*", "_T", "l", "s", "P+Q", "large", "A+B", "A+_T", "nope", "+"]), max_size=5)


@pytest.fixture(params=[make_two_groupings, make_suppressing, make_keyed], ids=["perturb", "suppress", "keys"])
def client(request, tmp_path):
    service = Service(request.param(tmp_path, limits={"per_minute": 10**6}), open_to_all=True)
    app = gated(service, [HOST])
    yield testclient.TestClient(app, base_url=f"http://{HOST}", raise_server_exceptions=False)
    service.close()


def ask_all(client, examples):
    """Ask whatever the schema allows, and what is nearly right; return which statuses there were."""
    seen = set()

    def see(answer):
        assert answer.status_code < 500, (str(answer.request.url), answer.request.content[:300], answer.text[:300])
        seen.add(answer.status_code)

    for result in schemathesis.openapi.from_dict(client.get("/api/openapi.json").json()).get_all_operations():

        @settings(max_examples=examples, **CALM)
        @given(case=result.ok().as_strategy())
        def any_request(case):
            path = case.path
            for name, value in (case.path_parameters or {}).items():
                path = path.replace(f"{{{name}}}", str(value).replace("/", "%2F"))
            body = case.body if isinstance(case.body, (dict, list, str, int, float, bool)) else None
            see(client.request(case.method, path.replace("\n", ""), params=case.query or {}, json=body))

        any_request()

    @settings(max_examples=3 * examples, **CALM)
    @given(question=QUESTIONS)
    def nearly_right(question):
        see(client.post("/api/table", content=json.dumps(question).encode()))

    @settings(max_examples=examples, **CALM)
    @given(flow=st.sampled_from(["COUNT", "X", "TURNOVER", "x,COUNT,1.0"]), key=KEYS)
    def by_key(flow, key):
        see(client.get(f"/sdmx/data/{flow}/{'.'.join(key) or 'all'}"))

    nearly_right()
    by_key()
    return seen


def test_no_request_is_an_internal_error(client):
    assert ask_all(client, 6) >= {200, 422}


@pytest.mark.endless
def test_no_request_is_an_internal_error_in_large_numbers(client):
    ask_all(client, 250)
