"""τ-ARGUS ``.hrc`` files: one code per line, the depth told by leading strings such as ``@``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from cellguard.errors import HierarchyError, file_name
from cellguard.hierarchy.build import TOTAL
from cellguard.hierarchy.confidential_codes import named
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy, grow
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text


def read_hrc(
    path: str | Path, *, lead: str = "@", total: str = TOTAL, labels: Mapping[str, str] = NOTHING
) -> Hierarchy:
    """Read a ``.hrc`` file; the total is never listed there (τ-ARGUS manual 4.1).

    Blanks in front of a code belong to it, since fixed-width codes have them; blanks behind it do not.
    """
    if str(path).lower().endswith(".csv"):
        raise HierarchyError(
            f"{file_name(path)}: `hrc` is for files of τ-ARGUS, one code a line; a CSV file goes into `levels` or "
            "`parents`"
        )
    return parse_hrc(read_text(path), lead=lead, total=total, source=file_name(path), labels=labels)


def parse_hrc(
    text: str, *, lead: str = "@", total: str = TOTAL, source: str = "", labels: Mapping[str, str] = NOTHING
) -> Hierarchy:
    """Return the hierarchy of the text of a ``.hrc`` file.

    >>> h = parse_hrc("North\\n@N1\\n@N2\\nSouth\\n")
    >>> [(code, h.parent_of(code)) for code in h.codes[1:]]
    [('North', 'Total'), ('N1', 'North'), ('N2', 'North'), ('South', 'Total')]
    """
    if not lead:
        raise HierarchyError("the lead string of a .hrc file must not be empty; it is usually '@'")
    edges = [Edge(total, "")]
    above = [total]
    for number, line in enumerate(text_lines(text), 1):
        code = line.rstrip()
        if not code:
            continue
        depth = 0
        while code.startswith(lead):
            code, depth = code[len(lead) :], depth + 1
        where = f"{source} line {number}" if source else f"line {number}"
        if depth >= len(above):
            raise HierarchyError(
                f"{where}: the code {named(code, where) or 'there'} is {depth - len(above) + 2} levels deeper than the "
                "line above it; the depth may rise by one only"
            )
        if code == total:
            raise HierarchyError(f"{where}: the total {total!r} is never listed in a .hrc file; delete the line")
        edges.append(Edge(code, above[depth], where))
        above[depth + 1 :] = [code]
    if len(edges) == 1:
        raise HierarchyError(f"{source or 'the text'}: no codes; a .hrc file holds one code a line")
    return grow(edges, labels=labels)
