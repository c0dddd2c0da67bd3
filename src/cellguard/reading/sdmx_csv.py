"""SDMX-CSV as a table of cells: identifiers without their labels, and what CONF_STATUS says of each observation.

Versions 1.0 and 2.0 begin with DATAFLOW, or with STRUCTURE and STRUCTURE_ID; then come the dimensions, OBS_VALUE and
attributes. With labels, headings and codes read ``ID: Label``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from cellguard.errors import InputError

VALUE = "OBS_VALUE"
CONFIDENTIALITY = "CONF_STATUS"
SENSITIVE, STATUS = "sensitive", "status"  # columns that are added
HEADINGS = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "DATAFLOW", "ACTION")
CONFIDENTIAL = {
    "A": "Primary confidentiality due to small counts",
    "C": "Confidential statistical information",
    "G": "Primary confidentiality due to dominance by one or two units",
    "M": "Primary confidentiality due to data declared confidential based on other measures of concentration",
    "O": "Primary confidentiality due to dominance by one unit",
    "T": "Primary confidentiality due to dominance by two units",
    "X": "Confidentiality due to military secrecy",
}
SECONDARY = {
    "D": "Secondary confidentiality set by the sender, not for publication",
    "S": "Secondary confidentiality set and managed by the receiver, not for publication",
}
NOT_PUBLISHED = {
    "E": "Not for publication until the embargo time elapses; free for publication after it",
    "N": "Not for publication, restricted for internal use only",
}
FREE = {"F": "Free (free for publication)"}
CONF_STATUS = CONFIDENTIAL | SECONDARY | NOT_PUBLISHED | FREE
_OLD = {"P": "C"}  # primary, in code lists before the present one


def is_sdmx_csv(header: Sequence[str]) -> bool:
    """Return whether a header line is that of SDMX-CSV.

    >>> is_sdmx_csv(["STRUCTURE", "STRUCTURE_ID", "ACTION", "AREA", "OBS_VALUE"]), is_sdmx_csv(["area", "value"])
    (True, False)
    """
    names = [name.partition(":")[0].strip() for name in header]
    return VALUE in names and (names[0] == "DATAFLOW" or names[:2] == ["STRUCTURE", "STRUCTURE_ID"])


def dimensions_of(header: Sequence[str]) -> list[str]:
    """Return the columns that stand where dimensions do: before the observed value.

    >>> dimensions_of(["STRUCTURE", "STRUCTURE_ID", "ACTION", "AREA", "TIME_PERIOD", "OBS_VALUE", "CONF_STATUS"])
    ['AREA', 'TIME_PERIOD']
    """
    return [name for name in header[: list(header).index(VALUE)] if name not in HEADINGS]


def as_cells(columns: pa.Table, name: str) -> pa.Table:
    """Return the observations with plain identifiers; ``name`` is the file in messages.

    Where there is a CONF_STATUS, the column `sensitive` says yes of what the sender calls confidential, and `status`
    what is suppressed with it (`secondary`) or not for publication (`unpublished`).
    """
    if any(":" in heading for heading in columns.column_names):
        plain = [heading.partition(":")[0].strip() for heading in columns.column_names]
        columns = pa.table([_identifiers(columns.column(i)) for i in range(columns.num_columns)], names=plain)
    if "ACTION" in columns.column_names:
        deleted = pc.sum(pc.equal(pc.utf8_upper(columns.column("ACTION")), "D")).as_py()
        if deleted:
            raise InputError(f"{name}: {deleted:,} rows have the ACTION D (delete); give the data as they are now")
    if CONFIDENTIALITY not in columns.column_names or {SENSITIVE, STATUS} & set(columns.column_names):
        return columns
    letters = [_OLD.get(word, word) for word in map(str.strip, columns.column(CONFIDENTIALITY).to_pylist())]
    strange = sorted({word for word in letters if word and word not in CONF_STATUS})
    if strange:
        known = ", ".join(sorted(CONF_STATUS))
        raise InputError(f"{name}: CONF_STATUS has {', '.join(map(repr, strange[:5]))}; the code list has {known}")
    said = dict.fromkeys(SECONDARY, "secondary") | dict.fromkeys(NOT_PUBLISHED, "unpublished")
    columns = columns.append_column(SENSITIVE, pa.array(["yes" if word in CONFIDENTIAL else "no" for word in letters]))
    return columns.append_column(STATUS, pa.array([said.get(word, "") for word in letters]))


def _identifiers(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.utf8_trim_whitespace(pc.replace_substring_regex(column, pattern=r"(?s): .*$", replacement=""))
