"""Whatever is asked, by somebody who is in, the studio answers in words: schemathesis finds no internal error."""

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis")

LEFT_OUT = {"/api/news"}  # which does not end


@pytest.fixture
def schema(maker):
    return schemathesis.openapi.from_dict(maker.get("openapi.json").json())


def ask_all(maker, schema, examples):
    statuses = {}
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path in LEFT_OUT:
            continue

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case):
            statuses.setdefault(f"{case.method} {case.path}", set()).add(_status(maker, case))

        ask()
    return statuses


def _status(maker, case):
    known = {"table": "firms", "dimension": "region", "name": "firms.csv"}
    path = case.path
    for name, value in (case.path_parameters or {}).items():
        path = path.replace(f"{{{name}}}", str(known.get(name, value)).replace("/", "%2F"))
    body = case.body if isinstance(case.body, (dict, list, str, int, float, bool)) else None
    if isinstance(body, dict):
        body |= {key: value for key, value in known.items() if key in body and key != "name"}
    headers = {"X-Cellguard-Word": maker.word}
    query = {key: known.get(key, value) for key, value in (case.query or {}).items()}
    answer = maker.client.request(case.method, path.replace("\n", ""), params=query, json=body, headers=headers)
    assert answer.status_code < 500, (case.method, path, answer.text[:300])
    return answer.status_code


def test_no_request_is_an_internal_error(maker, schema, studio):
    statuses = ask_all(maker, schema, 8)
    assert len(statuses) > 20 and any(200 in seen for seen in statuses.values())


@pytest.mark.long
def test_no_request_is_an_internal_error_in_large_numbers(maker, schema, studio):
    ask_all(maker, schema, 150)
