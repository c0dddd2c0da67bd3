"""τ-ARGUS metadata (``.rda``) of microdata: where each variable stands in the file, and what it is.

Format: τ-ARGUS manual 4.1, section on the metadata file. A first line ``<SEPARATOR> ";"`` means free format, with the
variables in their order; otherwise each variable has a starting position and a width.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cellguard.errors import InputError, did_you_mean, file_name
from cellguard.reading.csvfile import text_lines
from cellguard.reading.dialect import DELIMITERS, Dialect
from cellguard.reading.encodings import read_text

_TOKEN = re.compile(r'"([^"]*)"|(<[^>]*>)|(\S+)')
# What statuses are where the metadata of a table do not say.
LETTERS: Mapping[str, str] = {"<SAFE>": "S", "<UNSAFE>": "U", "<PROTECT>": "P"}


class OutsideFile(InputError):
    """The metadata name a file outside of their own folder, which nobody allowed."""


@dataclass(frozen=True)
class Variable:
    """One variable of a ``.rda`` file. ``start`` is 0 in free format."""

    name: str
    start: int
    width: int
    missing: tuple[str, ...] = ()
    is_code: bool = False
    is_number: bool = False
    decimals: int | None = None
    request: tuple[str, ...] = ()
    total: str | None = None
    labels: str | None = None
    digits: tuple[int, ...] = ()
    hrc: str | None = None
    lead: str = "@"
    role: str = ""
    line: int = 0


@dataclass(frozen=True)
class Metadata:
    """A ``.rda`` file: its variables in order, and for free format the delimiter.

    ``elsewhere`` allows it to name files outside of its own folder and that of the microdata. ``letters`` are the
    statuses of ready-made cells: what is written for safe, unsafe and protected ones.
    """

    source: str
    delimiter: str | None
    variables: tuple[Variable, ...]
    folder: Path = field(default_factory=Path)
    elsewhere: bool = False
    letters: Mapping[str, str] = field(default_factory=lambda: dict(LETTERS))

    def variable(self, name: str) -> Variable:
        """Return a variable, or raise an error that names the nearest ones."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise InputError(f"{self.source}: no variable {name!r}{did_you_mean(name, [v.name for v in self.variables])}")

    def of_role(self, role: str) -> str | None:
        """Return the name of the variable that is the weight, the holding or the request; None if there is none."""
        return next((v.name for v in self.variables if v.role == role), None)

    @property
    def dialect(self) -> Dialect:
        """How the lines of the microdata are cut."""
        names = tuple(v.name for v in self.variables)
        if self.delimiter is not None:
            return Dialect(self.delimiter, columns=names)
        return Dialect(columns=names, fields=tuple((v.start, v.width) for v in self.variables))

    @property
    def absent(self) -> Mapping[str, tuple[str, ...]]:
        """The entries of each variable that mean that nothing is known."""
        return {v.name: v.missing for v in self.variables if v.missing}

    def file(self, name: str, beside: Path) -> Path:
        """Return the path of a file that the metadata name: as given, or beside the metadata or the microdata.

        These files come from systems that do not tell capitals from small letters, so neither does the search. Metadata
        may come from anywhere, so unless that is allowed they reach no other folder: not by an absolute path, by
        ``..`` or through a link.
        """
        steps = re.split(r"[\\/]+", name)
        outside = Path(name).is_absolute() or ".." in steps
        for folder in (self.folder, beside):
            if (self.elsewhere or not outside) and (folder / name).is_file():
                return self._inside(folder / name, folder, name)
            for path in sorted(folder.iterdir()) if folder.is_dir() else ():
                if path.name.lower() == steps[-1].lower():
                    return self._inside(path, folder, name)
        if outside and not self.elsewhere:
            raise self._refusal(name)
        raise InputError(f"{self.source} names the file {name!r}, which is neither beside it nor beside the records")

    def _inside(self, path: Path, folder: Path, name: str) -> Path:
        if self.elsewhere or path.resolve().is_relative_to(folder.resolve()):
            return path
        raise self._refusal(name)

    def _refusal(self, name: str) -> OutsideFile:
        return OutsideFile(
            f"{self.source} names the file {name!r}, which is outside of its folder; copy it beside the metadata, or, "
            "if you trust them, say `microdata: {files_elsewhere: true}`"
        )


def read_rda(path: str | Path, *, elsewhere: bool = False) -> Metadata:
    """Read the metadata of microdata; ``elsewhere`` allows them to name files in other folders."""
    metadata = parse_rda(read_text(path), source=file_name(path))
    return replace(metadata, folder=Path(path).parent, elsewhere=elsewhere)


def describes_cells(path: str | Path) -> bool:
    """Return whether metadata describe a table of cells, and not records."""
    return any(key in _TABULAR for key in re.findall(r"<[^>]*>", read_text(path).upper()))


def read_rda_of_cells(path: str | Path) -> Metadata:
    """Read the metadata of a table of cells: its columns in their order, and which hold counts and largest ones.

    There a variable has no place and no width: behind its name stand only the codes for missing.
    """
    metadata = _parse(
        read_text(path), file_name(path), lambda tokens, _, __: Variable(tokens[0], 0, 0, tuple(tokens[1:]))
    )
    return replace(metadata, delimiter=metadata.delimiter or ";", folder=Path(path).parent)


def parse_rda(text: str, *, source: str = "the metadata") -> Metadata:
    """Return the metadata in the text of a ``.rda`` file.

    >>> metadata = parse_rda('Region 1 2 99\\n <RECODEABLE>\\nTurnover 3 8\\n <NUMERIC>\\n <DECIMALS> 2')
    >>> metadata.dialect.fields, metadata.absent, metadata.variable("Turnover").decimals
    (((1, 2), (3, 8)), {'Region': ('99',)}, 2)
    """
    _refuse_tables(text, source)
    return _parse(text, source, _variable)


def _parse(text: str, source: str, make: Callable[[Sequence[str], bool, str], Variable]) -> Metadata:
    delimiter: str | None = None
    variables: list[Variable] = []
    letters = dict(LETTERS)
    for number, line in enumerate(text_lines(text), 1):
        tokens = [quoted or key or plain for quoted, key, plain in _TOKEN.findall(plain_quotes(line))]
        if not tokens or line.lstrip().startswith("//"):
            continue
        where = f"{source} line {number}"
        if tokens[0].upper() == "<SEPARATOR>":
            delimiter = _separator(tokens, where)
        elif tokens[0].upper() == "<SPSS>":
            raise InputError(f"{where}: SPSS files are not read; export the records as CSV")
        elif tokens[0].upper() in LETTERS:
            letters[tokens[0].upper()] = _letter(tokens, where)
        elif tokens[0].startswith("<"):
            if not variables:
                raise InputError(f"{where}: {tokens[0]} stands before the first variable")
            variables[-1] = _with_keywords(variables[-1], tokens, where)
        else:
            variables.append(replace(make(tokens, delimiter is not None, where), line=number))
    if not variables:
        raise InputError(f"{source}: no variables; each has a line with its name, position and width")
    twice = {v.name for v in variables if [w.name for w in variables].count(v.name) > 1}
    if twice:
        raise InputError(f"{source}: the variable {min(twice)!r} comes twice")
    return Metadata(source, delimiter, tuple(variables), letters=letters)


def plain_quotes(line: str) -> str:
    """Return a line with plain quotation marks where R wrote the curly ones of its language.

    >>> plain_quotes("<SEPARATOR> \u201c,\u201d")
    '<SEPARATOR> ","'
    """
    return line if '"' in line else re.sub("\u201c([^\u201c\u201d]*)\u201d", r'"\1"', line)


def _letter(tokens: Sequence[str], where: str) -> str:
    if len(tokens) != 2:
        raise InputError(f'{where}: {tokens[0].upper()} needs what such cells are marked with, as {tokens[0]} "S"')
    return tokens[1]


def _refuse_tables(text: str, source: str) -> None:
    for number, line in enumerate(text_lines(text), 1):
        keys = [key for key in re.findall(r"<[^>]*>", line.upper()) if key in _TABULAR]
        if keys:
            raise InputError(f"{source} line {number}: {keys[0]} describes a table of cells, not records; use `cells`")


def _separator(tokens: Sequence[str], where: str) -> str:
    if len(tokens) != 2 or len(tokens[1]) != 1:
        raise InputError(f'{where}: <SEPARATOR> needs one character, as <SEPARATOR> ";"')
    return tokens[1]


def _variable(tokens: Sequence[str], free: bool, where: str) -> Variable:
    wanted = "name and width" if free else "name, starting position and width"
    places, missing = tokens[1 : 2 if free else 3], tokens[2 if free else 3 :]
    if len(places) < (1 if free else 2) or not all(p.isdigit() and int(p) > 0 for p in places):
        raise InputError(f"{where}: a variable needs {wanted}, and then at most two codes for missing")
    start, width = (0, int(places[0])) if free else (int(places[0]), int(places[1]))
    if len(missing) > 2:
        raise InputError(f"{where}: a variable has at most two codes for missing")
    for code in missing:
        if len(code) > width:
            raise InputError(f"{where}: the missing code {code!r} is longer than the width {width}")
    return Variable(tokens[0], start, width, tuple(code for code in missing if code))


def _with_keywords(variable: Variable, tokens: Sequence[str], where: str) -> Variable:
    """Return a variable with what a line of keywords says; a line may hold several keywords."""
    starts = [i for i, token in enumerate(tokens) if token.startswith("<") and token.endswith(">")]
    for start, end in zip(starts, [*starts[1:], len(tokens)], strict=True):
        keyword, values = tokens[start].upper(), list(tokens[start + 1 : end])
        if keyword in _READ:
            try:
                variable = _READ[keyword](variable, values)
            except (ValueError, IndexError):
                raise InputError(f"{where}: {keyword} has a wrong or missing value") from None
        elif keyword not in _IGNORED:
            raise InputError(f"{where}: unknown keyword {keyword}{did_you_mean(keyword, [*_READ, *_IGNORED])}")
    return variable


def read_code_list(path: str | Path) -> dict[str, str]:
    """Read a τ-ARGUS code list (``.cdl``): a code and its label on each line."""
    lines = [line for line in text_lines(read_text(path)) if line.strip()]
    # A label may hold any of these characters, so the first that is in every line separates.
    mark = next((mark for mark in DELIMITERS if all(mark in line for line in lines)), ",")
    parts = (line.partition(mark) for line in lines if mark in line)
    return {code.rstrip(): label.strip() for code, _, label in parts}


def _path(values: Sequence[str]) -> str:
    """Return a path, which may have blanks and no quotes."""
    if not values:
        raise ValueError
    return " ".join(values)


def _levels(variable: Variable, values: Sequence[str]) -> Variable:
    digits = [int(value) for value in values]
    if variable.width and sum(digits) != variable.width:  # of a table nobody says how long codes are
        raise ValueError
    return replace(variable, digits=tuple(d for d in digits if d))


_READ: Mapping[str, Callable[[Variable, list[str]], Variable]] = {
    "<RECODEABLE>": lambda v, _: replace(v, is_code=True),
    "<RECODABLE>": lambda v, _: replace(v, is_code=True),
    "<NUMERIC>": lambda v, _: replace(v, is_number=True),
    "<DECIMALS>": lambda v, values: replace(v, decimals=int(values[0])),
    "<WEIGHT>": lambda v, _: replace(v, role="weight"),
    "<HOLDING>": lambda v, _: replace(v, role="holding"),
    "<RECORDKEY>": lambda v, _: replace(v, role="record_key"),
    "<REQUEST>": lambda v, values: replace(v, role="request", request=tuple(values)),
    "<TOTCODE>": lambda v, values: replace(v, total=values[0]),
    "<CODELIST>": lambda v, values: replace(v, labels=_path(values)),
    "<HIERLEVELS>": _levels,
    "<HIERCODELIST>": lambda v, values: replace(v, hrc=_path(values)),
    "<HIERLEADSTRING>": lambda v, values: replace(v, lead=values[0]),
    "<FREQUENCY>": lambda v, _: replace(v, role="count"),
    "<MAXSCORE>": lambda v, _: replace(v, role="top"),
    "<SHADOW>": lambda v, _: replace(v, role="shadow"),
    "<COST>": lambda v, _: replace(v, role="cost"),
    "<COSTVAR>": lambda v, _: replace(v, role="cost"),
    "<LOWERPL>": lambda v, _: replace(v, role="lower"),
    "<UPPERPL>": lambda v, _: replace(v, role="upper"),
    "<STATUS>": lambda v, _: replace(v, role="status"),
}
# The roles of columns that say something about single cells of a table.
SAID = ("shadow", "cost", "lower", "upper", "status")
_IGNORED = (
    "<HIERARCHICAL>",
    "<DISTANCE>",
    "<TRUNCABLE>",
    "<PFILE>",
    "<PFILE_FREQ>",
    "<PFILE_CONT>",
    "<PFILE_SEP>",
    "<CKM>",
    "<INCLUDEZEROS>",
    "<PARITY>",
    "<SEPARATION>",
    "<SCALING>",
)
_TABULAR = {
    "<SAFE>",
    "<UNSAFE>",
    "<PROTECT>",
    "<SHADOW>",
    "<COST>",
    "<COSTVAR>",
    "<LOWERPL>",
    "<UPPERPL>",
    "<FREQUENCY>",
    "<MAXSCORE>",
    "<STATUS>",
}
