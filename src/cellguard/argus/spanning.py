"""Spanning variables: the codes of a table in the order in which files list them, with levels and missing codes.

Codes of free format get blanks in front up to the width of the variable, and the codes for missing come last, also if
no record has them. Codes of a file of a hierarchy are as written there: those of records are told by what is left
without blanks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cellguard.errors import HierarchyError, InputError
from cellguard.hierarchy.edges import Edge
from cellguard.hierarchy.hierarchy import Hierarchy, grow
from cellguard.microdata.rda import Variable
from cellguard.reading.csvfile import text_lines
from cellguard.reading.encodings import read_text

TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class Spanning:
    """A spanning variable with its tree; ``missing`` are its codes for missing, as the tree has them.

    ``hrc`` and ``lead`` are those of the file of the hierarchy, ``digits`` its levels, if the metadata name them.
    """

    variable: Variable
    tree: Hierarchy
    missing: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name."""
        return self.variable.name

    @property
    def is_hierarchical(self) -> bool:
        """Whether it has levels."""
        return bool(self.variable.hrc or self.variable.digits)

    @cached_property
    def by_text(self) -> Mapping[str, str]:
        """The code that is meant by one without blanks around it; '' where two differ in nothing else."""
        found: dict[str, str] = {}
        for code in self.tree.codes:
            text = code.strip()
            found[text] = code if text not in found else ""
        return found

    def code(self, written: str) -> str | None:
        """Return the code that is meant by what files have; the total may be blank."""
        if written in self.tree.position:
            return written
        text = written.strip()
        return self.by_text.get(text) or (None if text else self.tree.total)

    @cached_property
    def same(self) -> Mapping[str, tuple[str, ...]]:
        """For each code those that mean the same leaves, since levels between them are trivial."""
        leaves = self.tree.leaf_sets()
        groups: dict[frozenset[str], list[str]] = {}
        for code in self.tree.codes:
            groups.setdefault(leaves[code], []).append(code)
        return {code: tuple(group) for group in groups.values() for code in group}


def spanning_of(variable: Variable, found: Iterable[str], hrc: Path | None) -> Spanning:
    """Return a spanning variable from its metadata and the codes that the data have, without those of totals."""
    total = variable.total or TOTAL
    missing = tuple(dict.fromkeys(padded(code, variable.width) for code in variable.missing))
    codes = sorted({code for code in found if code not in missing and code != total and code.strip()})
    if hrc is not None:
        edges = hrc_edges(read_text(hrc), variable.lead, total, hrc.name)
    elif variable.digits:
        edges = _digit_edges(codes, variable, total)
    else:
        edges = [Edge(code, total) for code in codes]
    known = {edge.code.strip() for edge in edges}
    edges += [Edge(code, total) for code in missing if code.strip() not in known]
    tree = grow([Edge(total, ""), *edges])
    spanning = Spanning(variable, tree)
    meant = tuple(code for code in (spanning.by_text.get(m.strip()) for m in missing) if code)
    return replace(spanning, missing=meant)


def padded(code: str, width: int) -> str:
    """Return a code with blanks in front up to the width.

    >>> padded("14", 4)
    '  14'
    """
    return code.rjust(width)


def hrc_edges(text: str, lead: str, total: str, name: str) -> list[Edge]:
    """Return the codes of a file of a hierarchy with the codes above them; every fault has its line and column."""
    if not lead:
        raise HierarchyError(f"{name}: <HIERLEADSTRING> is empty; it is usually '@'")
    edges: list[Edge] = []
    above = [total]
    for number, line in enumerate(text_lines(text), 1):
        code = line.rstrip()
        depth = 0
        while code.startswith(lead):
            code, depth = code[len(lead) :], depth + 1
        if not code.strip():
            continue
        where = f"{name} line {number}"
        if depth >= len(above):
            raise HierarchyError(
                f"{where}, column 1: the code is {depth - len(above) + 2} levels below the line before it; one at most"
            )
        if code == total:
            raise HierarchyError(f"{where}, column {depth * len(lead) + 1}: the total is never listed; delete the line")
        edges.append(Edge(code, above[depth], where))
        above[depth + 1 :] = [code]
    if not edges:
        raise HierarchyError(f"{name}: no codes; write one per line")
    return edges


def _digit_edges(codes: Sequence[str], variable: Variable, total: str) -> list[Edge]:
    """Return the codes that digits spell; a code is as long as some level."""
    ends = [sum(variable.digits[: i + 1]) for i in range(len(variable.digits))]
    edges: dict[str, Edge] = {}
    for code in codes:
        if len(code) not in ends and len(code) != variable.width:
            raise InputError(
                f"a code of {variable.name!r} has {len(code)} characters, but its levels end at "
                f"{', '.join(map(str, ends))}; correct <HIERLEVELS>, or the data"
            )
        path = list(dict.fromkeys(code[:end] for end in ends if end <= len(code)))
        for parent, child in zip([total, *path], path, strict=False):
            edges.setdefault(child, Edge(child, parent))
    return sorted(edges.values(), key=lambda edge: edge.code)
