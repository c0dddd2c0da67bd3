"""The grammar of batch files (``.arb``): every line is checked by itself, and then the order of the commands.

Reference: the manual of τ-ARGUS 4.1, section on the batch command file; where the program differs from it, the program
counts. Commands may be written in capitals or small letters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from cellguard.argus import commands as c
from cellguard.argus.batch_methods import METHODS, Method
from cellguard.argus.faults import BatchError, Fault
from cellguard.argus.own_commands import parse_own
from cellguard.argus.safety_rule import parse_safety_rule
from cellguard.argus.scanner import Scanner
from cellguard.errors import did_you_mean, file_name
from cellguard.microdata.rda import plain_quotes
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text

KINDS = {1: "CSV", 2: "pivot table", 3: "code, value", 4: "SBS", 5: "intermediate", 6: "JJ", 7: "CKM"}
OPTIONS = ("AS", "SE", "FL", "QU", "HL", "SO", "AR", "HI", "TR", "AO", "AD", "AC")
SOLVERS = ("FREE", "CPLEX", "XPRESS")


def read_batch(path: str | Path) -> tuple[c.Batch, list[Fault]]:
    """Read a batch file: its commands, and all faults of its lines and of their order."""
    return parse_batch(read_text(path), file_name(path))


def parse_batch(text: str, name: str = "the batch") -> tuple[c.Batch, list[Fault]]:
    """Return the commands of a batch, and its faults.

    >>> batch, faults = parse_batch("<SUPPRES> OPT(1)")
    >>> print(faults[0])
    the batch line 1, column 1: unknown command <SUPPRES>; did you mean '<SUPPRESS>'?
    """
    found: list[c.Command] = []
    faults: list[Fault] = []
    is_count = False
    for number, line in enumerate(text_lines(text), 1):
        here = Scanner(name, number, plain_quotes(line.rstrip("\r\n")))
        if here.done or here.text[here.position :].startswith(("//", "\\\\")):
            continue
        try:
            command = _command(here, first=not found, is_count=is_count)
        except BatchError as error:
            faults.extend(error.faults)
            continue
        if command is None:
            continue
        is_count = command.is_count if isinstance(command, c.SpecifyTable) else is_count
        found.append(command)
    batch = c.Batch(name, tuple(found))
    return batch, faults or _faults_of_order(batch)


def _command(here: Scanner, *, first: bool, is_count: bool) -> c.Command | None:
    start = here.position
    if not here.take("<"):
        raise here.fault("a line begins with a command such as <SUPPRESS>, or with // for a comment")
    keyword = here.word(">").upper()
    here.need(">", "at the end of the command")
    if keyword == "COMMENT":
        return None
    if keyword == "SAFETYRULE":
        return c.Rules(here.line, here.text, parse_safety_rule(here, is_count))
    if keyword not in _READERS:
        near = did_you_mean(f"<{keyword}>", [f"<{known}>" for known in (*_READERS, "SAFETYRULE", "COMMENT")])
        raise here.fault(f"unknown command <{keyword}>", near.removeprefix("; "), position=start)
    if keyword == "SILENT" and not first:
        raise here.fault("<SILENT> is the first command of a batch", "move it to the top", position=start)
    command = _READERS[keyword](here, keyword)
    here.end(f"<{keyword}>")
    return command


def _plain(here: Scanner, keyword: str) -> c.Command:
    return c.Plain(here.line, here.text, keyword)


def _refused(here: Scanner, keyword: str) -> c.Command:
    cure = "delete it: linked tables need no cover table" if keyword == "COVER" else "read the table with <READTABLE>"
    raise here.fault(f"<{keyword}> is not done by this program", cure)


def _named(here: Scanner, keyword: str) -> c.Command:
    file = here.word("") if here.peek() == '"' else here.rest()
    if not file:
        raise here.fault(f"<{keyword}> names no file", f'write <{keyword}> "FILE"')
    return c.Named(here.line, here.text, keyword, file)


def _solver(here: Scanner, keyword: str) -> c.Command:
    here.skip()
    start, name = here.position, here.word().upper()
    if name not in SOLVERS:
        raise here.fault(f"unknown solver {name!r}{did_you_mean(name, SOLVERS)}", position=start)
    here.rest()  # a licence, which nothing here needs
    return c.Plain(here.line, here.text, keyword)


def _specify(here: Scanner, keyword: str) -> c.Command:
    by = [here.word('|"')]
    while here.peek() not in {"|", ""}:
        by.append(here.word('|"'))
    if not all(by):
        raise here.fault("a spanning variable has no name", 'write <SPECIFYTABLE> "V1""V2"|"RESPONSE"')
    here.need("|", "between the spanning variables and the response")
    response = here.word("|")
    if not response:
        raise here.fault("the response has no name", 'write "VARIABLE", or <freq> to count records')
    shadow = here.word("|") if here.take("|") else ""
    cost = here.word("|,") if here.take("|") else ""
    power = 1.0
    if here.peek() and here.peek() in ",|":
        here.take(here.peek())
        if here.peek() and here.peek() not in "|,":
            start = here.position
            power = here.number("lambda")
            if not 0 <= power <= 1:
                raise here.fault("lambda must lie between 0 and 1", "1 takes costs as they are", position=start)
        while here.peek() and here.peek() in "|,":
            here.take(here.peek())
    return c.SpecifyTable(here.line, here.text, tuple(by), response, shadow, cost, power)


def _read_table(here: Scanner, keyword: str) -> c.Command:
    here.skip()
    start, word = here.position, here.word(" \t").upper()
    totals, keep = word[:1] or "0", word[1:] or here.word(" \t").upper() or "F"
    if totals not in {"0", "1", "2"} or keep not in {"T", "F"}:
        raise here.fault(
            f"<READTABLE> cannot be told {word!r}", "write 0, 1 (compute totals) or 2, and perhaps T or F", start
        )
    return c.ReadTable(here.line, here.text, int(totals), keep == "T")


def _apriori(here: Scanner, keyword: str) -> c.Command:
    file = here.word()
    here.need(",", "after the file")
    table = here.whole("the number of the table")
    here.need(",", "after the number of the table")
    separator = here.word()
    if separator == "" or (len(separator) > 1 and separator != "\\t"):
        raise here.fault("the separator is one character in quotes", 'write ","')
    ignore, expand = True, False
    if here.take(",") and here.peek() != ",":
        ignore = here.whole("whether errors are ignored", among=(0, 1)) == 1
    if here.take(","):
        expand = here.whole("whether trivial levels are expanded", among=(0, 1)) == 1
    return c.Apriori(here.line, here.text, file, table, "\t" if separator == "\\t" else separator, ignore, expand)


def _recode(here: Scanner, keyword: str) -> c.Command:
    table = here.whole("the number of the table")
    here.need(",", "after the number of the table")
    variable = here.word()
    here.need(",", "after the variable")
    file = here.rest()
    if not file:
        raise here.fault("<RECODE> names neither a file nor a level", 'write <RECODE> 1, VARIABLE, "FILE.grc"')
    if file.isdigit() and len(file) == 1 and file != "0":
        return c.Recode(here.line, here.text, table, variable, level=int(file))
    return c.Recode(here.line, here.text, table, variable, file=file)


def _suppress(here: Scanner, keyword: str) -> c.Command:
    here.skip()
    start, method = here.position, here.word("(").upper()
    if method not in METHODS:
        raise here.fault(f"unknown method {method!r}{did_you_mean(method, list(METHODS))}", position=start)
    known = METHODS[method]
    here.need("(", f"after {method}")
    table = here.whole("the number of the table")
    args = []
    while here.take(","):
        args.append(here.number(f"an argument of {method}"))
    here.need(")", f"at the end of {method}")
    if len(args) > known.most:
        raise here.fault(
            f"{method} takes {known.most + 1} arguments at most, and this has {len(args) + 1}", position=start
        )
    if table == 0 and not known.linked:
        raise here.fault(f"{method} does not protect linked tables", _linked_cure(known), position=start)
    return c.Suppress(here.line, here.text, method, table, tuple(args), _perturbation_table(here, known))


def _linked_cure(known: Method) -> str:
    if known.changes:
        return "say it for each table; tables of one part are made together"
    return "use MOD(0,...) or GH(0,...)"


def _perturbation_table(here: Scanner, known: Method) -> str:
    """Take the file of a method that reads one; of several only one of counts is read."""
    if not known.file or here.done:
        return ""
    start, file = here.position, here.word("|")
    if here.take("|"):
        raise here.fault(
            "perturbation tables of sums are not read from a batch", "write a job with magnitude_key", position=start
        )
    return file


def _write_table(here: Scanner, keyword: str) -> c.Command:
    here.need("(", "after <WRITETABLE>")
    table = here.whole("the number of the table")
    here.need(",", "after the number of the table")
    here.skip()
    kind = here.whole("the format", among=tuple(KINDS))
    here.need(",", "after the format")
    options = _options(here, kind)
    here.need(",", "after the options")
    file = here.word(")")
    if not file:
        raise here.fault("<WRITETABLE> names no file", 'write (TABLE,FORMAT,OPTIONS,"FILE")')
    here.need(")", "at the end")
    return c.WriteTable(here.line, here.text, table, kind, options, file)


def _options(here: Scanner, kind: int) -> dict[str, bool]:
    """Read options such as ``AS+SE-``, or the numbers by which earlier versions said the same."""
    options = dict.fromkeys(OPTIONS, False) | {"QU": True, "FL": kind == 2}
    here.skip()
    start, text = here.position, here.word().replace(" ", "").upper()
    if text.isdigit():
        return options | _by_number(here, kind, int(text), start)
    while text:
        name, sign, text = text[:2], text[2:3], text[3:]
        if name not in OPTIONS or sign not in {"+", "-"}:
            raise here.fault(
                f"unknown option {name + sign!r}", f"known are {', '.join(OPTIONS)}, each with + or -", position=start
            )
        options[name] = sign == "+"
    return options


def _by_number(here: Scanner, kind: int, number: int, start: int) -> dict[str, bool]:
    one, two = bool(number & 1), bool(number & 2)
    meanings = {
        1: {},
        2: {"AS": one},
        3: {"AS": one, "SE": two},
        4: {"HL": one, "SE": two},
        5: {"SO": not one},
        6: {},
        7: {},
    }
    if number > 3:
        raise here.fault(f"unknown options {number}", "write them as AS+SE+", position=start)
    return meanings[kind]


_READERS: Mapping[str, Callable[[Scanner, str], c.Command]] = {
    **dict.fromkeys(("LOGBOOK", "VERSIONINFO", "OPENMICRODATA", "OPENTABLEDATA", "OPENMETADATA"), _named),
    **dict.fromkeys(("READMICRODATA", "CLEAR", "GOINTERACTIVE", "SILENT", "ANCO"), _plain),
    **dict.fromkeys(("COVER", "JJ"), _refused),
    "SOLVER": _solver,
    "SPECIFYTABLE": _specify,
    "READTABLE": _read_table,
    "APRIORI": _apriori,
    "APRIORY": _apriori,
    "RECODE": _recode,
    "SUPPRESS": _suppress,
    "WRITETABLE": _write_table,
    "CELLGUARD": parse_own,
}


class _Order:
    """What has been said so far of the data that are open, for the order of commands."""

    def __init__(self) -> None:
        self.data = self.metadata = self.read = self.specified = False
        self.tables, self.micro = 0, False
        self.suppressed: set[int] = set()

    def fault(self, command: c.Command) -> tuple[str, str] | None:
        """Take a command; return what is wrong with its place, and what to do."""
        match command:
            case c.Named(keyword="OPENMICRODATA" | "OPENTABLEDATA"):
                return self._open(command)
            case c.Named(keyword="OPENMETADATA"):
                return self._meta()
            case c.SpecifyTable():
                return self._specify(command)
            case c.Rules():
                specified, self.specified = self.specified, False
                return None if specified else ("<SAFETYRULE> has no table", "put it after its <SPECIFYTABLE>")
            case c.Plain(keyword="READMICRODATA") | c.ReadTable():
                return self._read(isinstance(command, c.ReadTable))
            case c.Plain(keyword="CLEAR"):
                self.__init__()  # type: ignore[misc]
            case c.Apriori() | c.Recode() | c.Suppress() | c.WriteTable():
                return self._use(command, command.table, isinstance(command, c.Suppress))
            case c.Own(word=word) if word in {"AUDIT", "PRIMARY", "NONSTRUCTURAL", "SINGLETONS"}:
                return self._use(command, int(command.args[0]), False)
        return None

    def _open(self, command: c.Named) -> tuple[str, str] | None:
        micro = command.keyword == "OPENMICRODATA"
        if self.read or (self.data and not (self.metadata and self.tables and not micro and not self.micro)):
            return f"<{command.keyword}> comes after other data", "close these with <CLEAR> first"
        self.data, self.metadata, self.micro = True, False, micro
        return None

    def _meta(self) -> tuple[str, str] | None:
        if not self.data or self.metadata:
            return "<OPENMETADATA> belongs to no data", "put it after <OPENMICRODATA> or <OPENTABLEDATA>"
        self.metadata = True
        return None

    def _specify(self, command: c.SpecifyTable) -> tuple[str, str] | None:
        if not self.metadata or self.read:
            return "<SPECIFYTABLE> must come after <OPENMETADATA> and before the data are read", "move it"
        if len(set(command.by)) < len(command.by):
            return "a spanning variable comes twice", "name each once"
        self.tables, self.specified = self.tables + 1, True
        return None

    def _read(self, tables: bool) -> tuple[str, str] | None:
        if not self.tables or self.read:
            return "there is nothing to read here", "specify a table first, and read once"
        if tables == self.micro:
            right = "<READMICRODATA>" if self.micro else "<READTABLE>"
            return "the data that are open are read in another way", f"write {right}"
        self.read = True
        return None

    def _use(self, command: c.Command, table: int, linked: bool) -> tuple[str, str] | None:
        if not self.read:
            return "the data have not been read yet", "put <READMICRODATA> or <READTABLE> before"
        if not (0 if linked else 1) <= table <= self.tables:
            return f"there is no table {table}", f"{self.tables} are specified"
        if isinstance(command, c.Recode) and not self.micro:
            return "ready-made tables cannot be recoded", "recode them before, or use the records"
        if isinstance(command, c.Recode | c.Apriori) and self.suppressed & {0, table}:
            return f"table {table} is suppressed already, and would not be proven any more", "put it before <SUPPRESS>"
        if isinstance(command, c.Suppress):
            self.suppressed.add(table)
        return None


def _faults_of_order(batch: c.Batch) -> list[Fault]:
    order, faults = _Order(), []
    for command in batch.commands:
        wrong = order.fault(command)
        if wrong:
            indent = len(command.text) - len(command.text.lstrip())
            faults.append(Fault(batch.name, command.line, indent + 1, *wrong))
    return faults


def without_interactive(commands: Sequence[c.Command]) -> tuple[tuple[c.Command, ...], bool]:
    """Return the commands up to ``<GOINTERACTIVE>``, and whether there is one."""
    for number, command in enumerate(commands):
        if isinstance(command, c.Plain) and command.keyword == "GOINTERACTIVE":
            return tuple(commands[:number]), True
    return tuple(commands), False
