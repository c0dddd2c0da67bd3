"""A released CSV file as columns: the guard of codes that a spreadsheet would run is taken off where there is one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from cellguard.verifier.numbers import bools
from cellguard.verifier.spec import TableSpec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_bytes, read_csv, read_json

METADATA = "release/metadata.json"
RELEASED = ("value", "flag")
_FORMULA = "^'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"


def read_released(folder: Folder, table: TableSpec) -> list[pa.Array]:
    """Return the columns of a release file: the codes themselves, then value and flag as they stand there."""
    columns = read_csv(folder, table.release, table.headed(RELEASED))
    guarded = guarded_dimensions(folder, table)
    for i, name in enumerate(table.by):
        if name in guarded:
            columns[i] = _without_guard(columns[i], f"{table.release}, {name},")
    return columns


def guarded_dimensions(folder: Folder, table: TableSpec) -> list[str]:
    """Return the dimensions whose codes the metadata of the release call guarded."""
    tables: Any = read_json(read_bytes(folder, METADATA), METADATA).get("tables")
    about = tables.get(table.name) if isinstance(tables, dict) else None
    named = about.get("guarded", []) if isinstance(about, dict) else []
    if not isinstance(named, list) or named != [name for name in table.by if name in named]:
        raise Refused(f"{METADATA} does not name dimensions of {table.name} as guarded, in their order")
    return named


def _without_guard(column: pa.Array, where: str) -> pa.Array:
    """Take one apostrophe off every text that has one before a sign that opens a formula; refuse one without."""
    opens = pc.match_substring_regex(column, _FORMULA)
    marked = pc.starts_with(column, "'")
    bare = bools(pc.and_(opens, pc.invert(marked)))
    if bare.any() or not pc.any(opens).as_py():
        raise Refused(f"{where} is not guarded, although {METADATA} says so")
    return pc.if_else(opens, pc.utf8_slice_codeunits(column, 1), column)
