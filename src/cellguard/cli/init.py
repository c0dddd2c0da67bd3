"""`cellguard init`: a commented job for a ready-made table (or for records), guessed from its columns."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cellguard.cli.init_records import TOTALS, column_key, dimension_names, draft_records_job, look_at, looks_like_cells
from cellguard.cli.yaml_words import in_comment, text_of
from cellguard.errors import InputError
from cellguard.spec.names import plain_name
from cellguard.table.facts import FloatArray
from cellguard.table.source import Source, open_source

_COUNT = re.compile(r"(?i)^(n|n_?obs|count|freq\w*|firms|respondents|enterprises|units|nb\w*)$")
_TOP = re.compile(r"(?i)^(max\w*|top\w*|largest\w*|x[1-9])$")


@dataclass(frozen=True)
class _Guess:
    """What the columns of a file seem to be."""

    dimensions: dict[str, str]
    layered: list[str]
    value: str
    count: str | None
    top: list[str]
    others: list[str]


def draft_job(data: Path, folder: Path) -> str:
    """Return the text of a job for the table or the records in a file; paths in it are relative to the job's folder."""
    opened, columns = look_at(data)
    if not looks_like_cells(columns):
        return draft_records_job(data, folder, opened, columns)
    source = open_source(data)
    guess = _guess(source, [c.name for c in columns if c.zeros or c.is_code])
    lines = [
        "# A cellguard job. Read it, correct it, then run: cellguard assess JOB",
        "# `cellguard schema` describes every key.",
        "version: 1",
        "",
        "dimensions:",
    ]
    names = dimension_names(list(guess.dimensions))
    for column, total in guess.dimensions.items():
        lines += _dimension(column, names[column], total, column in guess.layered)
    path = os.path.relpath(data.resolve(), folder.resolve())
    lines += [
        "",
        "tables:",
        f"  - name: {plain_name(data.stem, 'table')}",
        f"    by: [{', '.join(map(text_of, names.values()))}]",
    ]
    lines += [f"    value: {text_of(guess.value)}                # what the cells sum"]
    known = [f"source: {text_of(path)}"]
    known += [f"count: {text_of(guess.count)}"] if guess.count else []
    known += [f"top: [{', '.join(map(text_of, guess.top))}]"] if guess.top else []
    lines += [f"    cells: {{{', '.join(known)}}}"]
    if not guess.count:
        lines += ["    # add `count: COLUMN` (number of respondents) to `cells` for the rule min_frequency"]
    lines += ["    # a list of rules means: unsafe if any of them says so", "    rules:"]
    lines += _rules(guess)
    lines += [
        "    # apriori: apriori.csv          # single cells: must_publish, must_suppress, waived, ...",
        "    # publish: {REGION: [0, 1]}     # the levels shown, if not all",
    ]
    if guess.others:
        lines += ["", f"# Columns not used: {in_comment(guess.others)}"]
    lines += [
        "",
        "# What an attacker knows of every cell beforehand.",
        "attack: {lower: 0, upper: unbounded}",
        "",
    ]
    return "\n".join(lines)


def _dimension(column: str, name: str, total: str, layered: bool) -> list[str]:
    said = ", ".join(filter(None, [column_key(column, name), f"total: {text_of(total)}"]))
    if not layered:
        return [f"  {text_of(name)}: {{{said}}}          # codes side by side under the total"]
    return [
        f"  # the codes of {name} do not add up side by side, so they have several levels:",
        "  # give `levels` (CSV, one column a level), or instead `parents` (code, parent), `digits` or `hrc`",
        f"  {text_of(name)}: {{{said}, levels: {plain_name(name)}_levels.csv}}",
    ]


def _rules(guess: _Guess) -> list[str]:
    rules = ["      - {min_frequency: 3}"] if guess.count else []
    if len(guess.top) >= 2:
        rules.append("      - {p_percent: 10}")
    elif guess.top:
        rules.append("      - {dominance: {n: 1, k: 85}}")
    if not rules:
        rules.append("      []   # no rule fits these columns: name `count`, `top`, or a yes/no column for `given`;")
        rules.append("      # while no rule is applied, nothing is called safe")
    return rules


def _guess(source: Source, code_like: Sequence[str]) -> _Guess:
    numbers: dict[str, FloatArray] = {}
    dimensions: dict[str, str] = {}
    others: list[str] = []
    for name in source.names:
        try:
            numbers[name] = source.numbers(name)
        except InputError:
            codes = set(source.codes(name)[0]) if _is_code_column(source, name) else set()
            total = next((t for t in TOTALS if t in codes), None)
            if total:
                dimensions[name] = total
            else:
                others.append(name)
    if not dimensions:
        raise InputError(f"{source.place.name}: no column of codes holds a total; a table of cells needs its totals")
    count = next((n for n in numbers if _COUNT.match(n)), None)
    top = [n for n in numbers if _TOP.match(n)]
    values = [n for n in numbers if n != count and n not in top]
    # What looks like codes, a year say, is the value only if nothing else can be.
    values.sort(key=lambda name: name in code_like)
    if not values and count is None:
        raise InputError(f"{source.place.name}: no column holds numbers; a table needs cell totals")
    value = values[0] if values else "count"
    figures = numbers[value] if values else numbers[str(count)]
    layered = [d for d in dimensions if not _adds_up(source, dimensions, d, figures)]
    return _Guess(dimensions, layered, value, count, _sorted_tops(top, numbers), others + values[1:])


def _is_code_column(source: Source, name: str) -> bool:
    try:
        source.codes(name)
    except InputError:
        return False
    return True


def _adds_up(source: Source, dimensions: dict[str, str], dimension: str, values: FloatArray) -> bool:
    """Tell whether, at the totals of all other dimensions, the codes of this one sum to its total."""
    here = np.ones(len(source), bool)
    for name, total in dimensions.items():
        if name != dimension:
            here &= np.array(source.text(name).to_pylist()) == total
    is_total = here & (np.array(source.text(dimension).to_pylist()) == dimensions[dimension])
    whole, parts = values[is_total].sum(), values[here & ~is_total].sum()
    return bool(abs(whole - parts) <= 1e-6 * max(abs(whole), 1))


def _sorted_tops(top: Sequence[str], numbers: dict[str, FloatArray]) -> list[str]:
    return sorted(top, key=lambda name: -float(numbers[name].sum()))
