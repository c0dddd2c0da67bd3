"""Questions as requests say them, and answers in the format that is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa

from cellguard.answers.answer import Answer
from cellguard.answers.answering import AnsweringSource
from cellguard.answers.question import Question
from cellguard.answers.tables import answer_csv, answer_sdmx, answer_table
from cellguard.errors import InputError, did_you_mean

KINDS = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "arrow": "application/vnd.apache.arrow.stream",
    "sdmx": "application/vnd.sdmx.data+csv; version=2.0.0; charset=utf-8",
}


def question_of_query(query: Sequence[tuple[str, str]]) -> tuple[Question, str]:
    """Return the question and the format of a query: by=region&by=size&value=x&where=size:small&level=region:1.

    >>> question, kind = question_of_query([("by", "region"), ("value", "x"), ("where", "size:small")])
    >>> question.words, kind
    ('x by region where size is small', 'json')
    """
    by, where, levels = list[str](), dict[str, list[str]](), dict[str, list[int]]()
    value, kind = "count", "json"
    for name, text in query:
        if name == "by":
            by += text.split(",")
        elif name == "value":
            value = text
        elif name == "format":
            kind = text
        elif name == "where":
            variable, code = _pair(name, text)
            where.setdefault(variable, []).append(code)
        elif name == "level":
            variable, level = _pair(name, text)
            if not (level.isascii() and level.isdecimal() and len(level) < 3):
                raise InputError("`level` must be a whole number, as level=region:1")
            levels.setdefault(variable, []).append(int(level))
        else:
            raise InputError(f"no parameter {name[:40]!r}{did_you_mean(name, ['by', 'value', 'where', 'level'])}")
    return Question.of(by, where=where, value=value, levels=levels), known_kind(kind)


def question_of_body(body: bytes) -> tuple[Question, str]:
    """Return the question and the format of a body of JSON."""
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise InputError("the body is not JSON") from None
    if not isinstance(said, Mapping):
        raise InputError('the body must be an object, as {"by": ["region"], "value": "turnover"}')
    known = ("by", "value", "where", "levels", "format")
    if strange := [name for name in said if name not in known]:
        raise InputError(f"no key {str(strange[0])[:40]!r}{did_you_mean(str(strange[0]), known)}")
    kind = said.get("format", "json")
    value = said.get("value", "count")
    question = Question.of(said.get("by"), where=said.get("where"), value=value, levels=said.get("levels"))
    return question, known_kind(kind)


def known_kind(kind: object) -> str:
    """Return a format, if there is one of that name."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError(f"no format {str(kind)[:40]!r}; there are {', '.join(KINDS)}")
    return kind


def rendered(source: AnsweringSource, answer: Answer, kind: str) -> bytes:
    """Return an answer in a format; a refusal is told as JSON."""
    if kind == "json" or not answer.answered:
        return json.dumps(_plain(source, answer), ensure_ascii=False).encode()
    how: dict[str, Callable[[], bytes]] = {
        "csv": lambda: answer_csv(answer).encode(),
        "arrow": lambda: _stream(answer_table(answer)),
        "sdmx": lambda: answer_sdmx(answer, [source.variables[name].codes for name in answer.question.by]).encode(),
    }
    return how[kind]()


def about(source: AnsweringSource, who: str) -> dict[str, Any]:
    """Return what may be asked, what was told so far, and what is checked."""
    return {
        "title": source.spec.title,
        "values": list(source.values),
        "variables": [
            {
                "name": name,
                "levels": int(dimension.level.max()) + 1,
                "codes": [
                    {"code": code, "level": int(level), "label": dimension.main.labels.get(code, code)}
                    for code, level in zip(dimension.codes, dimension.level.tolist(), strict=True)
                ][:5_000],
            }
            for name, dimension in source.variables.items()
        ],
        "exposure": {name: round(share, 4) for name, share in source.exposure.items() if name in source.values},
        "limits": source.spec.limits.model_dump(),
        "left": source.left(who),
        "rules": list(source.rules),
        "checked": list(source.checked),
        "not_checked": list(source.not_checked),
    }


def _plain(source: AnsweringSource, answer: Answer) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "question": answer.question.plain(),
        "words": answer.question.words,
        "answered": answer.answered,
        "reason": answer.reason,
        "new_cells": answer.new,
        "exposure": round(answer.exposure, 4),
        "number": answer.number,
        "checked": list(source.checked),
        "not_checked": list(source.not_checked),
    }
    if answer.answered:
        rows = zip(*answer.codes, answer.values, strict=True)
        return {**plain, "withheld": answer.withheld, "columns": [*answer.question.by, "value"], "rows": list(rows)}
    return {**plain, "instead": [{**q.plain(), "words": q.words} for q in answer.instead]}


def _stream(table: pa.Table) -> bytes:
    sink = BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _pair(name: str, text: str) -> tuple[str, str]:
    variable, colon, rest = text.partition(":")
    if not colon:
        raise InputError(f"`{name}` must be variable:code, as {name}=region:1")
    return variable, rest
