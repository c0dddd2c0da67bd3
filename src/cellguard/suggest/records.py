"""`cellguard init` for records: a commented job, guessed from what the columns are called and what they hold."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cellguard.errors import InputError, listing
from cellguard.job.names import collision_fault, dimension_fault, plain_name
from cellguard.microdata.rda import Metadata
from cellguard.microdata.sources import Opened
from cellguard.reading.excel import EXCEL, sheet_names
from cellguard.suggest.columns import Column
from cellguard.suggest.hierarchies import pointed_levels
from cellguard.suggest.nesting import Nesting, chain_name, find_nesting
from cellguard.suggest.shape import looks_like_code, warnings_about
from cellguard.suggest.yaml_words import in_comment, text_of

_WEIGHT = re.compile(r"(?i)^(w|wgt\w*|wt\w*|wei?gh?t\w*|\w*_weight|poids\w*|pond\w*|coef\w*|gewicht\w*|hrf)$")
_PERSON = re.compile(
    r"(?i)^(\w*_?id|ident\w*|firm\w*|person\w*|respondent\w*|unit\w*|enterprise\w*|establishment\w*|record\w*|key|siret|"
    r"siren|lei|bvd\w*)$"
)
_GROUP = re.compile(r"(?i)^(\w*_?group\w*|gr(ou)?pe?\w*|\w*holding\w*|parent\w*|konzern\w*|owner\w*)$")
_VALUE = re.compile(
    r"(?i)(turnover|sales|revenue|value|amount|income|savings|wage|salar|production|output|chiffre|^ca$|umsatz|montant|^x$)"
)
_TIMES_GROUP = 100


@dataclass(frozen=True)
class Guess:
    """What the columns of records seem to be; ``why`` says of each role what it was guessed from."""

    respondent: str | None = None
    holding: str | None = None
    weight: str | None = None
    request: str | None = None
    dimensions: tuple[tuple[str, ...], ...] = ()
    more: tuple[tuple[str, ...], ...] = ()
    values: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    why: dict[str, str] = field(default_factory=dict)


def guess_roles(columns: Sequence[Column], opened: Opened, metadata: Metadata | None = None) -> Guess:
    """Guess the roles of the columns from their names and entries, or take those that metadata say."""
    left = {column.name: column for column in columns}
    why: dict[str, str] = {}

    def take(reason: str, names: Sequence[str | None]) -> str | None:
        name = next((name for name in names if name in left), None)
        if name is not None:
            del left[name]
            why[name] = reason
        return name

    said = metadata.of_role if metadata else (lambda _: None)
    weight = take("the metadata say so", [said("weight")]) or take(
        "by its name, and no entry is below 0", [c.name for c in columns if _is_weight(c)]
    )
    request = take("the metadata say so", [said("request")])
    unique = [c for c in left.values() if c.is_unique and (_PERSON.match(c.name) or not c.is_number) and not metadata]
    respondent = take(
        "each entry comes once", [c.name for c in sorted(unique, key=lambda c: not _PERSON.match(c.name))]
    )
    holding = take("the metadata say so", [said("holding")])
    if not metadata:  # which would say who is who
        respondent = respondent or take("by its name; who comes again counts once", _repeated(left, _PERSON))
        holding = take("by its name; several records have the same entry", _repeated(left, _GROUP))
    coded = {v.name for v in metadata.variables if v.is_code} if metadata else set()
    if metadata:
        nesting = Nesting(tuple((name,) for name in left if name in coded), {})
    else:
        nesting = find_nesting(opened, [c for c in left.values() if c.is_code and c.different > 1])
    chains = nesting.chains
    dimensions, more = _crossed(chains, nesting)
    values = _values(left, coded)
    used = {name for chain in chains for name in chain} | set(values)
    others = tuple(name for name in left if name not in used)
    return Guess(respondent, holding, weight, request, dimensions, more, values, others, why)


def _is_weight(column: Column) -> bool:
    return bool(_WEIGHT.match(column.name)) and column.is_number and not column.negative and not column.has_gaps


def _repeated(left: dict[str, Column], name: re.Pattern[str]) -> list[str]:
    """Return the columns of such a name with many different entries, which come more than once."""
    return [c.name for c in left.values() if name.match(c.name) and _TIMES_GROUP * c.different > c.rows]


def _crossed(
    chains: Sequence[tuple[str, ...]], nesting: Nesting
) -> tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """Return the first two chains that say something of their own: none settles the other; and all the others."""
    chosen: list[tuple[str, ...]] = []
    for chain in chains:
        if len(chosen) < 2 and not any(nesting.tied(chain, other) for other in chosen):
            chosen.append(chain)
    return tuple(chosen), tuple(chain for chain in chains if chain not in chosen)


def _values(left: dict[str, Column], coded: set[str]) -> tuple[str, ...]:
    """Return the columns of numbers, the likeliest first: called like a value, without entries below 0, first come."""
    names = [
        c.name
        for c in left.values()
        if c.is_number and not c.is_code and c.name not in coded and (_VALUE.search(c.name) or not looks_like_code(c))
    ]
    names = [name for name in names if name != "count"]
    return tuple(sorted(names, key=lambda name: (left[name].negative > 0, not _VALUE.search(name))))


def dimension_names(columns: Sequence[str]) -> dict[str, str]:
    """Return a name for the dimension of each column: the column's own, or a plain one where that names no file.

    >>> dimension_names(["region", "size/class", "size:class"])
    {'region': 'region', 'size/class': 'size_class', 'size:class': 'size_class_2'}
    """
    found: dict[str, str] = {}
    for column in columns:
        name = plain = column if dimension_fault(column) is None else plain_name(column)
        number = 1
        while collision_fault("dimensions", [*found.values(), name]) or name in found.values():
            number += 1
            name = f"{plain}_{number}"
        found[column] = name
    return found


def column_key(column: str, name: str) -> str:
    """Return what a dimension of the job says of its column: nothing if that has the same name."""
    return "" if column == name else f"column: {text_of(column)}"


def draft_records_job(
    data: Path,
    folder: Path,
    opened: Opened,
    columns: Sequence[Column],
    *,
    rda: Path | None = None,
    metadata: Metadata | None = None,
) -> str:
    """Return the text of a job for the records in a file; paths in it are relative to the job's folder."""
    guess = guess_roles(columns, opened, metadata)
    if not guess.dimensions:
        raise InputError(
            f"{opened.name}: no column looks like codes (few different entries, each several times) or holds a total "
            f"such as 'Total'; a table needs a dimension{_other_sheets(data)}"
        )
    finest = [chain[-1] for chain in guess.dimensions]
    warned = [] if metadata else warnings_about(opened, columns, finest, records=True)
    singleton = [chain[0] for chain in guess.dimensions if len(chain) == 1 and not metadata]
    layout = Layout(digits={name: found for name in singleton if (found := pointed_levels(opened, name))})
    return records_job_text(data, folder, columns, guess, layout, rda=rda, metadata=metadata, warned=warned)


def _other_sheets(data: Path) -> str:
    """Return that a workbook has more sheets than the first one, which is the one that is read."""
    if data.suffix.lower() not in EXCEL:
        return ""
    first, *others = sheet_names(data)
    return f". Of the sheets the first one, {first!r}, is read; put {listing(others)} first" if others else ""


@dataclass(frozen=True)
class Layout:
    """Which tables a job has: the column names of each one's dimensions, and its value. ``files`` are hierarchies in
    files, by column: the way to read it, and the file; ``digits`` are levels that codes spell, by column.
    """

    tables: tuple[tuple[tuple[str, ...], str], ...] = ()
    files: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    digits: Mapping[str, Sequence[int]] = field(default_factory=dict)


def records_job_text(
    data: Path,
    folder: Path,
    columns: Sequence[Column],
    guess: Guess,
    layout: Layout = Layout(),  # noqa: B008
    *,
    rda: Path | None = None,
    metadata: Metadata | None = None,
    warned: Sequence[str] = (),
) -> str:
    """Return the text of a job for records whose columns have these roles; by default it has one table."""
    by_name = {column.name: column for column in columns}
    names = dimension_names([chain_name(chain) for chain in guess.dimensions])
    finest = dict(zip((chain[-1] for chain in guess.dimensions), names.values(), strict=True))
    value = guess.values[0] if guess.values else "count"
    files = [os.path.relpath(path.resolve(), folder.resolve()) for path in (data, rda) if path]
    lines = [
        "# A cellguard job: a table made from records. Run: cellguard protect JOB --out OUT",
        "# What follows a # explains a guess; correct what is wrong. `cellguard schema` describes every key.",
        *(f"# WARNING: {in_comment([words])}" for words in warned),
        "version: 1",
        "",
        *_microdata(guess, files, by_name),
        "",
        "dimensions:",
    ]
    for chain, name in zip(guess.dimensions, names.values(), strict=True):
        lines += _dimension(chain, name, by_name, metadata, layout)
    lines += ["", "tables:"]
    stem = plain_name(data.stem, "table")
    for number, (by, what) in enumerate(layout.tables or ((tuple(finest), value),)):
        told = f"          # {_value_words(guess)}" if not layout.tables else ""
        lines += [f"  - name: {stem}{f'_{number + 1}' if number else ''}"]
        lines += [
            f"    by: [{', '.join(text_of(finest[column]) for column in by)}]",
            f"    value: {text_of(what)}{told}",
        ]
        lines += _rules(what, by_name, first=not number)
    more = [f"# Further dimensions to choose from: {_chains(guess.more)}"] if guess.more else []
    more += [f"# Further columns that look like values: {in_comment(guess.values[1:])}"] if guess.values[1:] else []
    more += [f"# Columns not used: {in_comment(guess.others)}"] if guess.others else []
    lines += ["", *more] if more else []
    asked = [what for _, what in layout.tables] or [value]
    below = next((what for what in asked if what in by_name and by_name[what].negative), None)
    lines += ["", *attack_words(below, insiders=True), ""]
    return "\n".join(lines)


def _rules(value: str, by_name: Mapping[str, Column], *, first: bool) -> list[str]:
    below = value in by_name and by_name[value].negative > 0
    lines = ["    # a list of rules means: unsafe if any of them says so"] if first else []
    lines += ["    rules:", "      - {min_frequency: 3}"]
    if below:  # values of either sign: rules see their sizes, and `signed` looks at signs and extremes, too
        signed = "      - {signed: {usual: {p_percent: 10}}}"
        return [*lines, signed, "    negative: absolute   # see negative values in the docs"]
    return [*lines, "      - {p_percent: 10}"] if value in by_name else lines


def attack_words(negative: str | None, *, insiders: bool = False) -> list[str]:
    """Return the lines about the attacker; ``negative`` is a value that has entries below 0.

    With ``insiders`` respondents are attackers too: an attacker who has records knows them, an attacker who has
    ready-made cells mostly does not.
    """
    words = ["# The a-priori bounds: what an attacker knows of every cell before the release."]
    if negative:
        words = [f"# {in_comment([negative])} has entries below 0, so an attacker cannot take 0 for the least."]
    if insiders:
        words += ["# With insiders each respondent is an attacker too; false looks at outsiders only, and is quicker."]
    least, more = "unbounded" if negative else "0", ", insiders: true" if insiders else ""
    return [*words, f"attack: {{lower: {least}, upper: unbounded{more}}}"]


def _chains(chains: Sequence[tuple[str, ...]]) -> str:
    return "; ".join(in_comment([" > ".join(chain)]) for chain in chains)


def _value_words(guess: Guess) -> str:
    if not guess.values:
        return "no column holds values, so records are counted"
    return "what the cells sum, " + ("by its name" if _VALUE.search(guess.values[0]) else "the first column of numbers")


def _dimension(
    chain: tuple[str, ...],
    name: str,
    by_name: dict[str, Column],
    metadata: Metadata | None,
    layout: Layout,
) -> list[str]:
    own = column_key(chain[-1], name)
    if chain[-1] in layout.files:
        way, file = layout.files[chain[-1]]
        return [f"  {text_of(name)}: {{{own}{', ' if own else ''}{way}: {text_of(file)}}}"]
    if chain[-1] in layout.digits:
        return [
            "  # guessed from the point in its codes: codes that begin alike are summed; `{}` leaves them side by side",
            f"  {text_of(name)}: {{{own}{', ' if own else ''}digits: {list(layout.digits[chain[-1]])}}}",
        ]
    different = by_name[chain[-1]].different
    if len(chain) > 1:
        return [
            f"  # every code of {in_comment(chain[-1:])} has one of {in_comment(chain[-2:-1])} in all records: levels",
            f"  {text_of(name)}: {{levels: [{', '.join(map(text_of, chain))}]}}",
        ]
    variable = metadata.variable(chain[0]) if metadata else None
    if variable and (variable.hrc or variable.digits):
        return [f"  {text_of(name)}: {{{column_key(chain[0], name)}}}   # its levels are those of the metadata"]
    return [
        f"  # {different} codes side by side; if they have levels, give a hierarchy: `levels` (a CSV file with one",
        "  # column per level, coarsest first, or a list of columns), `parents`, `digits` or `hrc`",
        f"  {text_of(name)}: {{{column_key(chain[0], name)}}}",
    ]


def _microdata(guess: Guess, files: Sequence[str], by_name: dict[str, Column]) -> list[str]:
    lines = ["microdata:", f"  source: {text_of(files[0])}"]
    lines += [f"  rda: {text_of(files[1])}          # names, places and roles of the columns"] if files[1:] else []
    numbers = [by_name[name] for name in (*guess.values, guess.weight) if name]
    if any(column.commas > column.numbers for column in numbers):
        lines.append("  decimal: ','          # numbers have a comma and no point")
    roles = {
        "respondent": ("who reported the record; counts once in each cell", guess.respondent),
        "holding": ("the group it belongs to; groups are counted then", guess.holding),
        "weight": ("published totals are weighted", guess.weight),
        "request": ("who asks for protection; see the rule `request`", guess.request),
    }
    for role, (words, name) in roles.items():
        if name:
            why = f" (guessed: {guess.why[name]})" if name in guess.why else ""
            lines.append(f"  {role}: {text_of(name)}          # {words}{why}")
    if not guess.respondent:
        lines.append("  # respondent: COLUMN     # without one, each record is a respondent of its own")
    return [*lines, *_gaps(guess, by_name)]


def _gaps(guess: Guess, by_name: dict[str, Column]) -> list[str]:
    """Return what the job says of blanks in the columns that it uses, so that it runs, and what else could be said."""
    codes = [chain[-1] for chain in guess.dimensions if by_name[chain[-1]].has_gaps]
    values = [name for name in guess.values[:1] if by_name[name].has_gaps]
    own = bool(guess.holding and by_name[guess.holding].has_gaps and guess.respondent)
    said, words = [], []
    if values:
        said.append("value: drop")
        words.append(f"{in_comment(values)} has blanks: such records are left out (or `zero`: they count, with 0)")
    if codes:
        said.append("code: category")
        words.append(f"{in_comment(codes)} has blanks: a category of their own (or `drop`)")
    if own:
        said.append("holding: own")
        words.append(f"{in_comment([str(guess.holding)])} has blanks: such respondents are groups of their own")
    if not said:
        return []
    return [*(f"  # {line}" for line in words), f"  missing: {{{', '.join(said)}}}"]
