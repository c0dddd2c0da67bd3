"""Edges of a hierarchy, and what to say of those that form no tree.

A file of a hierarchy may be one of data by mistake: then its numbers are values, and its words may be names. So numbers
are reported by their line only, and so is everything where most of a file does not fit together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cellguard.errors import HierarchyError, did_you_mean
from cellguard.hierarchy.confidential_codes import named
from cellguard.reading.vocabulary import is_number

_FEW = 5


class Edge(NamedTuple):
    """A code, the code above it ('' for the total) and where that is said, as 'nace.csv line 4' or ''.

    Codes of a ``hushed`` edge are not shown in messages: the file seems to be one of data.
    """

    code: str
    parent: str
    where: str = ""
    hushed: bool = False

    @property
    def start(self) -> str:
        """The beginning of a message about it."""
        return f"{self.where}: " if self.where else ""

    @property
    def see(self) -> str:
        """The hint to where it stands."""
        return f" (see {self.where})" if self.where else ""

    @property
    def name(self) -> str:
        """The code in quotes, if it may be shown."""
        return "" if self.hushed else named(self.code, self.where)

    @property
    def above(self) -> str:
        """The parent in quotes, if it may be shown."""
        return "" if self.hushed else named(self.parent, self.where)


def second_mention(first: Edge, second: Edge) -> HierarchyError:
    """Return the error about a code that comes twice."""
    code = f"the code {second.name}".rstrip()
    if first.parent == second.parent:
        return HierarchyError(f"{second.start}{code} is a duplicate{first.see}; list it once")
    return HierarchyError(
        f"{second.start}{code} has two parents: {second.above or 'one'} here and {first.above or 'another'}"
        f"{first.see}; give each code one parent (a second grouping goes into `also`)"
    )


def two_totals(first: Edge, second: Edge) -> HierarchyError:
    """Return the error about two codes without a parent."""
    return HierarchyError(
        f"{second.start}{second.name or 'the code'} has a blank parent, and so has {first.name or 'another'}"
        f"{first.see}; a hierarchy has one total"
    )


def unknown_parent(strange: Sequence[Edge], seen: Mapping[str, Edge]) -> HierarchyError:
    """Return the error about the first edge whose parent is no code."""
    edge = strange[0]
    if edge.where and len(strange) > _FEW and 2 * len(strange) > len(seen):
        share = f"{len(strange)} of {len(seen)} codes have such parents; is it the right file?"
        return HierarchyError(f"{edge.start}the parent of the code is not a code of the hierarchy; {share}")
    near = did_you_mean(edge.parent, [code for code in seen if not is_number(code)])
    parent = f"the parent {edge.above}".rstrip()
    return HierarchyError(f"{edge.start}{parent} of {edge.name or 'the code'} is not a code of the hierarchy{near}")


def cycle(loop: Sequence[Edge]) -> HierarchyError:
    """Return the error about codes that stand under each other."""
    names = " under ".join(edge.name or "a number" for edge in (*loop, loop[0]))
    return HierarchyError(f"{loop[0].start}the codes {names} form a cycle; one of them must have another parent")


def source_of(edges: Iterable[Edge]) -> str:
    """Return the beginning of a message about the file that edges are from."""
    return next((e.where.rsplit(" line ", 1)[0] + ": " for e in edges if e.where), "")
