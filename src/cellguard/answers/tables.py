"""An answer as a table of Arrow, as CSV and as SDMX-CSV."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from cellguard.answers.answer import Answer
from cellguard.errors import InputError
from cellguard.io import layout
from cellguard.io.write import csv_text
from cellguard.io.writers.sdmx_ids import code_ids, name_ids
from cellguard.io.writers.sdmx_structure import AGENCY, RESERVED, VERSION

WITHHELD = "x"


def answer_table(answer: Answer) -> pa.Table:
    """Return the table of an answer: a column per variable, ``value``, and ``flag`` (x: withheld)."""
    columns = [*map(pa.array, _codes(answer)), pa.array(_numbers(answer), _kind(answer)), pa.array(_flags(answer))]
    return pa.table(columns, names=layout.released(answer.question.by))


def answer_csv(answer: Answer) -> str:
    """Return an answer as CSV, with the digits that are published."""
    codes = _codes(answer)
    values = ["" if value is None else value for value in answer.values]
    return csv_text(layout.released(answer.question.by), zip(*codes, values, _flags(answer), strict=True))


def answer_sdmx(answer: Answer, codelists: Sequence[Sequence[str]]) -> str:
    """Return an answer as SDMX-CSV 2.0; ``codelists`` are all codes of each variable, so that ids stay the same."""
    codes = _codes(answer)
    dimensions = name_ids(answer.question.by, RESERVED)
    ids = [code_ids(listed) for listed in codelists]
    header = ["STRUCTURE", "STRUCTURE_ID", "ACTION", *(dimensions[by] for by in answer.question.by), *RESERVED]
    flow = next(iter(name_ids([answer.question.value]).values()))
    identity = ("datastructure", f"{AGENCY}:{flow}({VERSION})", "I")
    columns = [[known[code] for code in column] for known, column in zip(ids, codes, strict=True)]
    values = ["" if value is None else value for value in answer.values]
    status = ["Q" if value is None else "A" for value in answer.values]
    secret = ["C" if value is None else "F" for value in answer.values]
    rows = zip(*columns, values, status, secret, strict=True)
    return csv_text(header, ((*identity, *row) for row in rows))


def _codes(answer: Answer) -> tuple[tuple[str, ...], ...]:
    if not answer.answered:
        raise InputError(f"there is no table: {answer.reason}")
    return answer.codes


def _flags(answer: Answer) -> list[str]:
    return [WITHHELD if value is None else "" for value in answer.values]


def _numbers(answer: Answer) -> list[float | int | None]:
    convert = float if answer.decimals else int
    return [None if value is None else convert(value) for value in answer.values]


def _kind(answer: Answer) -> pa.DataType:
    return pa.float64() if answer.decimals else pa.int64()
