"""`cellguard init` for a ready-made table: a commented job, guessed from its columns and from the sums of its cells."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cellguard.errors import InputError
from cellguard.hierarchy.build import TOTAL
from cellguard.job.names import plain_name
from cellguard.microdata.rda import SAID, Metadata
from cellguard.reading.dialect import Dialect
from cellguard.suggest.columns import COUNT_NAME, TOTALS, Column
from cellguard.suggest.hierarchies import Figures, Levels, find_levels, levels_of_metadata, written_levels
from cellguard.suggest.records import attack_words, column_key, dimension_names
from cellguard.suggest.shape import InnerCells, looks_like_code
from cellguard.suggest.sums import parents_by_sums
from cellguard.suggest.yaml_words import in_comment, text_of
from cellguard.table.facts import FloatArray
from cellguard.table.source import Source, open_source

NOTHING: Mapping[str, str] = {}
_MOST_COMPARED = 2_000_000_000  # figures, when every code is held against every other one
_TOP = re.compile(r"(?i)^(max\w*|top\w*|largest\w*|x[1-9])$")


@dataclass(frozen=True)
class Draft:
    """The text of a job, and the files that it needs beside it, by their names."""

    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    cells: bool = False

    def with_tolerance(self, off: int) -> str:
        """Return the text of a job that allows sums of ready-made cells to be off by so much."""
        said = f"    tolerance: {off}          # some sums are off by up to {off}: values rounded one by one?\n"
        return self.text.replace("    # a list of rules means", said + "    # a list of rules means", 1)


@dataclass(frozen=True)
class _Guess:
    """What the columns of a file seem to be; ``broken`` are columns of numbers with a fault, and the fault."""

    source: Source
    dimensions: dict[str, str]
    numbers: dict[str, FloatArray]
    value: str
    count: str | None
    top: list[str]
    others: list[str]
    broken: dict[str, str]
    why: dict[str, str]


def draft_cells_job(
    data: Path,
    folder: Path,
    columns: Sequence[Column],
    *,
    metadata: Metadata | None = None,
    inner: InnerCells | None = None,
    totals: Mapping[str, str] = NOTHING,
    warned: Sequence[str] = (),
) -> Draft:
    """Return a job for a table of cells: ``inner`` ones without totals, or with the codes of ``totals`` by column.

    ``warned`` is what a person should look at first.
    """
    commas = any(c.commas > c.numbers for c in columns)
    names = tuple(v.name for v in metadata.variables) if metadata else ()
    delimiter = metadata.delimiter if metadata else None
    source = open_source(data, Dialect(delimiter, "," if commas else None, columns=names))
    guess = _guess(source, columns, metadata, inner, totals)
    called = dimension_names(list(guess.dimensions))
    lines = [
        "# A cellguard job: a table of ready-made cells. Run: cellguard protect JOB --out OUT",
        "# What follows a # explains a guess; correct what is wrong. `cellguard schema` describes every key.",
        *(f"# WARNING: {in_comment([words])}" for words in warned),
        "version: 1",
        "",
        "dimensions:",
    ]
    files: dict[str, str] = {}
    for column, total in guess.dimensions.items():
        levels = None if inner else _levels(guess, column, data, folder, metadata)
        files |= levels.files if levels else {}
        lines += _dimension(column, called[column], total, levels, inner=inner is not None)
    lines += ["", "tables:", f"  - name: {plain_name(data.stem, 'table')}"]
    lines += [f"    by: [{', '.join(map(text_of, called.values()))}]"]
    lines += [f"    value: {text_of(guess.value)}                # {_value_words(guess)}"]
    path = os.path.relpath(data.resolve(), folder.resolve())
    lines += _cells_lines(guess, path, metadata, names, commas=commas, inner=inner is not None)
    lines += ["    # a list of rules means: unsafe if any of them says so", "    rules:", *_rules(guess)]
    said = _given_statuses(guess, metadata)
    if said:
        files[f"{data.stem}_statuses.csv"] = said
        lines += [
            f"    apriori: {text_of(f'{data.stem}_statuses.csv')}          # the statuses of the file, in our words"
        ]
    else:
        lines += ["    # apriori: apriori.csv          # single cells: must_publish, must_suppress, waived, ..."]
    left = [f"{name} ({guess.why[name]})" if name in guess.why else name for name in guess.others]
    more = [f"# Columns not used: {in_comment(left)}"] if left else []
    more += [
        f"# Not used, since it cannot be read as numbers: {in_comment([fault])}" for fault in guess.broken.values()
    ]
    lines += ["", *more] if more else []
    negative = guess.value in guess.numbers and bool((guess.numbers[guess.value] < 0).any())
    return Draft("\n".join([*lines, "", *attack_words(guess.value if negative else None), ""]), files, cells=True)


def _cells_lines(
    guess: _Guess, path: str, metadata: Metadata | None, names: Sequence[str], *, commas: bool, inner: bool
) -> list[str]:
    """Return the lines that say where the cells are, and what their columns hold."""
    known = [f"source: {text_of(path)}"]
    known += [f"count: {text_of(guess.count)}"] if guess.count else []
    known += [f"top: [{', '.join(map(text_of, guess.top))}]"] if guess.top else []
    known += [f"{key}: {text_of(name)}" for key, name in _statements(metadata).items()]
    known += ["totals: compute"] if inner else []
    known += ["decimal: ','"] if commas else []
    known += [f"columns: [{', '.join(map(text_of, names))}]"] if names else []
    why = "    # each combination of codes comes once, and no row holds a total: rows are cells, and totals are added"
    lines = [*([why] if inner else []), f"    cells: {{{', '.join(known)}}}"]
    if not guess.count:
        lines.append("    # add `count: COLUMN` (number of respondents) to `cells` for the rule min_frequency")
    return lines


def _statements(metadata: Metadata | None) -> dict[str, str]:
    """Return what the metadata say that columns hold about single cells: costs and protection levels."""
    keys = {"cost": "cost", "lower": "need_lower", "upper": "need_upper"}
    return {keys[v.role]: v.name for v in metadata.variables if v.role in keys} if metadata else {}


def _given_statuses(guess: _Guess, metadata: Metadata | None) -> str:
    """Return the statuses of a table of τ-ARGUS as statements about its cells; '' if it has none."""
    column = metadata.of_role("status") if metadata else None
    if metadata is None or column is None:
        return ""
    letters = metadata.letters
    words = {"U": "must_suppress", letters["<UNSAFE>"].upper(): "must_suppress", "M": "secondary", "P": "must_publish"}
    words[letters["<PROTECT>"].upper()] = "must_publish"
    words.pop(letters["<SAFE>"].upper(), None)
    said = [words.get(word.strip().upper(), "") for word in guess.source.text(column).to_pylist()]
    codes = [guess.source.text(name).to_pylist() for name in guess.dimensions]
    rows = [row for row in zip(*codes, said, strict=True) if row[-1]]
    if not rows:
        return ""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*guess.dimensions, "status"])
    writer.writerows(rows)
    return out.getvalue()


def _dimension(column: str, name: str, total: str, levels: Levels | None, *, inner: bool) -> list[str]:
    key = column_key(column, name)
    if inner:
        return [f"  {text_of(name)}: {{{key}}}          # codes side by side; a total is added"]
    said = ", ".join(filter(None, [key, f"total: {text_of(total)}"]))
    if levels is None:
        return [
            f"  # MISSING: the codes of {in_comment([name])} do not add up side by side, so they have several levels,",
            "  # and neither a file beside the data nor the values say which. Name: `levels: FILE.csv` (a column per",
            "  # level), `parents: FILE.csv` (columns code and parent), `hrc: FILE.hrc`, or say `digits: [1, 1, 2]`",
            f"  {text_of(name)}: {{{said}}}",
        ]
    if not levels.key:
        return [f"  {text_of(name)}: {{{said}}}          # codes side by side under the total: they add up"]
    return [f"  {text_of(name)}: {{{said}, {levels.key}}}          # {in_comment([levels.why])}"]


def _value_words(guess: _Guess) -> str:
    return "no other column holds numbers" if guess.value == "count" else "what the cells sum"


def _rules(guess: _Guess) -> list[str]:
    rules = ["      - {min_frequency: 3}"] if guess.count else []
    if guess.value != "count" and len(guess.top) >= 2:
        rules.append("      - {p_percent: 10}")
    elif guess.value != "count" and guess.top:
        rules.append("      - {dominance: {n: 1, k: 85}}")
    if not rules:
        rules.append("      []   # no rule fits these columns: name `count`, `top`, or a yes/no column for `given`;")
        rules.append("      # while no rule is applied, nothing is called safe")
    return rules


def _guess(
    source: Source,
    columns: Sequence[Column],
    metadata: Metadata | None,
    inner: InnerCells | None,
    totals: Mapping[str, str],
) -> _Guess:
    said = {v.name: v for v in metadata.variables} if metadata else {}
    looks = {column.name: column for column in columns}
    numbers, dimensions, broken = dict[str, FloatArray](), dict[str, str](), dict[str, str]()
    others, why = list[str](), dict(inner.left if inner else {})
    for name in source.names:
        if inner is not None and name in inner.dimensions:
            dimensions[name] = TOTAL
        elif said and said[name].is_code:
            dimensions[name] = said[name].total or _total(source, name) or TOTAL
        elif name in totals:
            dimensions[name] = totals[name]
        elif name in why or (said and said[name].role in SAID):
            others += [name] if name in why or said[name].role == "shadow" else []
        else:
            try:
                numbers[name] = source.settled([name]).numbers(name)
            except InputError as error:
                if looks[name].is_mostly_number:
                    broken[name] = str(error)
                else:
                    others.append(name)
    if not dimensions:
        raise InputError(f"{source.place.name}: no column of codes holds a total; a table of cells needs its totals")
    count = next((n for n in numbers if (said[n].role == "count" if said else COUNT_NAME.match(n))), None)
    count = inner.value if inner and inner.counts else count
    count, fractional = _whole(count, numbers)
    why |= fractional
    top = [n for n in numbers if (said[n].role == "top" if said else _TOP.match(n))]
    values = [n for n in numbers if n != count and n not in top and n not in fractional]
    # What looks like codes, a year say, is the value only if nothing else can be.
    values.sort(key=lambda name: looks[name].zeros > 0 or looks[name].is_code)
    coded = [name for name in values if count is not None and looks_like_code(looks[name])]
    why |= dict.fromkeys(coded, "it looks like codes, which are never summed")
    values = [name for name in values if name not in coded]
    if not values and broken:
        raise InputError(f"{next(iter(broken.values()))}. No other column holds values")
    if not values and count is None:
        raise InputError(f"{source.place.name}: no column holds numbers; a table needs cell totals")
    value = values[0] if values else "count"
    top.sort(key=lambda name: -float(numbers[name].sum()))
    return _Guess(
        source, dimensions, numbers, value, count, top, [*others, *fractional, *coded, *values[1:]], broken, why
    )


def _whole(count: str | None, numbers: Mapping[str, FloatArray]) -> tuple[str | None, dict[str, str]]:
    """Return the column of counts; where it has decimals, the rounded one beside it, if there is one."""
    if count is None or (numbers[count] == np.round(numbers[count])).all():
        return count, {}
    for name, other in numbers.items():
        if name != count and (other == np.round(other)).all() and (np.abs(other - numbers[count]) <= 1.0).all():
            return name, {count: f"it has decimals; {name} is the same, rounded"}
    return None, {
        count: "counts with decimals are no numbers of respondents: round them, or name the column they are rounded in"
    }


def _total(source: Source, name: str) -> str | None:
    """Return the code of the total that a column holds, None if it holds none."""
    try:
        codes = set(source.codes(name)[0])
    except InputError:
        return None
    return next((total for total in TOTALS if total in codes), None)


def _levels(guess: _Guess, column: str, data: Path, folder: Path, metadata: Metadata | None) -> Levels | None:
    """Return the levels of a dimension; without a key if its codes stand side by side, None if nobody can tell."""
    variable = metadata.variable(column) if metadata else None
    if metadata and variable and variable.hrc:
        return levels_of_metadata(metadata, variable, set(guess.source.codes(column)[0]), data, folder)
    figures = _figures(guess, column)
    total = guess.dimensions[column]
    if all(_near(figure.get(total, 0.0), sum(v for c, v in figure.items() if c != total)) for figure in figures):
        return Levels("", "")
    return find_levels(figures, total, data, folder) or _levels_by_sums(guess, column)


def _levels_by_sums(guess: _Guess, column: str) -> Levels | None:
    """Return the levels that follow from which codes are the sums of others, in all combinations of the rest."""
    source, total = guess.source, guess.dimensions[column]
    codes = source.text(column).to_pylist()
    others = [source.text(name).to_pylist() for name in guess.dimensions if name != column]
    rows = {code: i for i, code in enumerate(dict.fromkeys(codes))}
    columns = {cell: i for i, cell in enumerate(dict.fromkeys(zip(*others, strict=True)))} if others else {(): 0}
    if total not in rows or len(rows) ** 2 * len(columns) > _MOST_COMPARED:
        return None
    at = [columns[cell] for cell in zip(*others, strict=True)] if others else [0] * len(codes)
    place = [rows[code] for code in codes], at
    # Respondents too, where they add up as well: they tell codes apart that have no value at all.
    for told in (_both(guess), [_valued(guess)]):
        figures = np.hstack([_spread(numbers, place, (len(rows), len(columns))) for numbers in told])
        listed = [code for code in rows if code != total]
        above = parents_by_sums(listed, figures[[rows[code] for code in listed]], figures[rows[total]], total)
        if above is not None:
            break
    if above is None:
        return None
    words = "which codes are the sums of which others, guessed from the values alone; check it"
    return written_levels(column, [(total, ""), *above.items()], words)


def _both(guess: _Guess) -> list[FloatArray]:
    return [_valued(guess)] + ([guess.numbers[guess.count]] if guess.count and guess.value != "count" else [])


def _spread(numbers: FloatArray, place: tuple[list[int], list[int]], shape: tuple[int, int]) -> FloatArray:
    figures = np.zeros(shape)
    figures[place] = numbers
    return figures


def _valued(guess: _Guess) -> FloatArray:
    """Return what sums are looked for in. The value alone: a respondent in several cells counts once in their total."""
    return guess.numbers[guess.value if guess.value in guess.numbers else str(guess.count)]


def _figures(guess: _Guess, column: str) -> Figures:
    """Return the figures of each code where all other dimensions are at their total."""
    source = guess.source
    here = np.ones(len(source), bool)
    for name, total in guess.dimensions.items():
        if name != column:
            here &= np.array(source.text(name).to_pylist()) == total
    codes = np.array(source.text(column).to_pylist())[here].tolist()
    return (dict(zip(codes, _valued(guess)[here].tolist(), strict=True)),)


def _near(whole: float, parts: float) -> bool:
    return abs(whole - parts) <= 1e-6 * max(abs(whole), 1)
