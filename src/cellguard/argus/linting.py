"""The check of a batch without running it: every fault of the batch, and of each file that it names, with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cellguard.argus import commands as c
from cellguard.argus.batch_parser import read_batch, without_interactive
from cellguard.argus.blocks import Block, plan_of
from cellguard.argus.places import Places
from cellguard.argus.recoding import lines_of_recode
from cellguard.argus.spanning import hrc_edges
from cellguard.argus.tab_tables import tables_of_files
from cellguard.errors import CellguardError, InputError
from cellguard.microdata.rda import Metadata, Variable, read_rda, read_rda_of_cells
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text


def lint(path: Path, data: Path | None, tell: Callable[[str], None]) -> int:
    """Report every fault of a batch and of its files; return 0 if there is none, else 2."""
    if not path.is_file():
        raise InputError(f"no file {str(path)!r}; name a batch")
    notes: list[str] = []
    faults = faults_of(path, Places(path.absolute().parent, data, notes.append))
    for note in notes:
        tell(f"note: {note}")
    for fault in faults:
        tell(fault)
    tell(f"{len(faults)} fault{'' if len(faults) == 1 else 's'}")
    return 2 if faults else 0


def faults_of(path: Path, places: Places) -> list[str]:
    """Return all faults of a batch; of files only if the batch itself has none."""
    batch, faults = read_batch(path)
    if faults:
        return [str(fault) for fault in faults]
    commands, interactive = without_interactive(batch.commands)
    found: list[str] = []
    if interactive and len(commands) + 1 < len(batch.commands):
        left = batch.commands[len(commands) + 1]
        found.append(f"{batch.name} line {left.line}, column 1: nothing is done after <GOINTERACTIVE>; move it up")
    for block in plan_of(commands, batch.name).blocks:
        found += _of_block(block, places)
    return list(dict.fromkeys(found))


def _of_block(block: Block, places: Places) -> list[str]:
    found: list[str] = []
    for table in block.tables:
        try:
            metadata_path = places.find(table.metadata)
            metadata = read_rda(metadata_path, elsewhere=True) if block.micro else read_rda_of_cells(metadata_path)
            data = places.find(table.data, metadata.folder)
        except CellguardError as error:
            found.append(_placed(table.spec, str(error)))
            continue
        found += _of_variables(table.spec, metadata, places, data.parent)
        for said in table.apriori:
            found += _of_apriori(said, len(table.spec.by), places)
    for recode in block.recodes:
        found += _of_recode(recode, places)
    if not block.micro and not found:
        try:
            tables_of_files(block, places, lambda text: None)
        except CellguardError as error:
            found.append(str(error))
    return found


def _placed(command: c.Command, text: str) -> str:
    return f"line {command.line} of the batch: {text}"


def _of_variables(spec: c.SpecifyTable, metadata: Metadata, places: Places, folder: Path) -> list[str]:
    """Return the faults of the variables of a table, and of the files of their hierarchies."""
    found: list[str] = []
    known = {v.name.lower(): v for v in metadata.variables}
    costs = [] if spec.cost in {"", "-1", "-2", "-3"} else [spec.cost]
    numeric = [name for name in ([] if spec.is_count else [spec.response]) + [spec.shadow, *costs] if name]
    for name in [*spec.by, *numeric]:
        if name.lower() not in known:
            column = spec.text.find(name) + 1
            found.append(f"line {spec.line} of the batch, column {column}: {metadata.source} has no variable {name!r}")
    for name in spec.by:
        variable = known.get(name.lower())
        if variable is not None and variable.hrc:
            found += _of_hierarchy(variable, metadata, places, folder)
    return found


def _of_hierarchy(variable: Variable, metadata: Metadata, places: Places, folder: Path) -> list[str]:
    try:
        path = places.find(str(variable.hrc), metadata.folder, folder)
        hrc_edges(read_text(path), variable.lead, variable.total or "Total", path.name)
    except CellguardError as error:
        return [f"{metadata.source} line {variable.line}: {error}"]
    return []


def _of_apriori(said: c.Apriori, dimensions: int, places: Places) -> list[str]:
    try:
        path = places.find(said.file)
    except CellguardError as error:
        return [_placed(said, str(error))]
    found = []
    for number, line in enumerate(text_lines(read_text(path)), 1):
        fields = line.rstrip("\r\n").split(said.separator)
        if line.strip() and len(fields) <= dimensions:
            found.append(f"{path.name} line {number}, column 1: expected {dimensions} codes and a command")
    return found


def _of_recode(recode: c.Recode, places: Places) -> list[str]:
    if recode.level:
        return []
    try:
        lines_of_recode(places.find(recode.file))
    except CellguardError as error:
        return [_placed(recode, str(error))]
    return []
