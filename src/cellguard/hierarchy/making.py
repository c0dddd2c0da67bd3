"""How hierarchies are made and recoded, as methods of `Hierarchy`; the work is done in the other files of this folder.

These are imported when a method is called, since they themselves need `Hierarchy`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from cellguard.hierarchy.hierarchy import Hierarchy

TOTAL = "Total"
NOTHING: Mapping[str, str] = {}


class Making:
    """The ways to make a hierarchy (``labels``: what people call the codes) and to make a coarser one of it."""

    @staticmethod
    def flat(codes: Iterable[str], *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
        """Return the codes side by side under a total, in the order given, in which rows will be released.

        >>> import cellguard as cg
        >>> cg.Hierarchy.flat(["small", "large"]).codes
        ('Total', 'small', 'large')
        """
        from cellguard.hierarchy.build import flat

        return flat(codes, total=total, labels=labels)

    @staticmethod
    def from_parents(pairs: Iterable[tuple[str, str]], *, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
        """Return the hierarchy of (code, parent) pairs; the total is the code with a blank parent.

        >>> import cellguard as cg
        >>> cg.Hierarchy.from_parents([("All", ""), ("A", "All"), ("A1", "A")]).parent_of("A1")
        'A'
        """
        from cellguard.hierarchy.build import from_parents

        return from_parents(pairs, labels=labels)

    @staticmethod
    def from_levels(
        rows: Iterable[Sequence[str]], *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING
    ) -> Hierarchy:
        """Return the hierarchy of rows with one column per level, coarsest first; the total is in no column.

        A blank to the right, or the same code again, means that the row has no deeper level.

        >>> import cellguard as cg
        >>> cg.Hierarchy.from_levels([("A", "A1"), ("A", "A2"), ("B", "B")]).codes
        ('Total', 'A', 'A1', 'A2', 'B')
        """
        from cellguard.hierarchy.build import from_levels

        return from_levels(rows, total=total, labels=labels)

    @staticmethod
    def by_digits(
        codes: Iterable[str], digits: Sequence[int], *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING
    ) -> Hierarchy:
        """Return the hierarchy that the digits of the codes spell: each level adds so many characters.

        >>> import cellguard as cg
        >>> cg.Hierarchy.by_digits(["2", "1012", "1011"], [1, 1, 2]).codes
        ('Total', '1', '10', '1011', '1012', '2')
        """
        from cellguard.hierarchy.build import by_digits

        return by_digits(codes, digits, total=total, labels=labels)

    @staticmethod
    def read_levels(path: str | Path, *, total: str = TOTAL, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
        """Read a CSV file with a header line and one column per level, coarsest first, as `from_levels`."""
        from cellguard.hierarchy.codelists import read_levels

        return read_levels(path, total=total, labels=labels)

    @staticmethod
    def read_parents(path: str | Path, *, total: str | None = None, labels: Mapping[str, str] = NOTHING) -> Hierarchy:
        """Read a CSV file with the columns ``code`` and ``parent``; the total is the code with a blank parent."""
        from cellguard.hierarchy.codelists import read_parents

        return read_parents(path, total=total, labels=labels)

    @staticmethod
    def read_hrc(
        path: str | Path, *, lead: str = "@", total: str = TOTAL, labels: Mapping[str, str] = NOTHING
    ) -> Hierarchy:
        """Read a τ-ARGUS ``.hrc`` file: one code per line, the depth told by so many ``lead`` strings in front."""
        from cellguard.hierarchy.hrc import read_hrc

        return read_hrc(path, lead=lead, total=total, labels=labels)

    @staticmethod
    def read_codelist(
        path: str | Path, name: str, *, total: str | None = None, labels: Mapping[str, str] = NOTHING
    ) -> Hierarchy:
        """Read a code list of an SDMX structure message (SDMX-ML 2.1 or 3.0, or SDMX-JSON)."""
        from cellguard.hierarchy.sdmx import read_codelist

        return read_codelist(f"{path}#{name}", Path(path), name, total=total, labels=labels)

    @staticmethod
    def read_labels(path: str | Path) -> Mapping[str, str]:
        """Read a CSV file with the columns ``code`` and ``label``, to be given as ``labels``."""
        from cellguard.hierarchy.codelists import read_labels

        return read_labels(path)

    def merge(self, groups: Mapping[str, Sequence[str]]) -> Hierarchy:
        """Merge codes with the same parent into a new code, which gets all their children: {new: [old, ...]}.

        >>> import cellguard as cg
        >>> cg.Hierarchy.flat(["S1", "S2", "S3"]).merge({"S1-2": ["S1", "S2"]}).codes
        ('Total', 'S1-2', 'S3')
        """
        from cellguard.hierarchy.recode import merge

        return merge(cast("Hierarchy", self), groups)

    def cut(self, codes: Iterable[str]) -> Hierarchy:
        """Cut off everything below the given codes, which become leaves.

        >>> import cellguard as cg
        >>> cg.Hierarchy.from_levels([("A", "A1"), ("A", "A2"), ("B", "B1")]).cut(["A"]).codes
        ('Total', 'A', 'B', 'B1')
        """
        from cellguard.hierarchy.recode import cut

        return cut(cast("Hierarchy", self), codes)

    def to_level(self, level: int) -> Hierarchy:
        """Cut off everything deeper than a level; level 0 is the total.

        >>> import cellguard as cg
        >>> cg.Hierarchy.from_levels([("A", "A1"), ("B", "B1")]).to_level(1).codes
        ('Total', 'A', 'B')
        """
        from cellguard.hierarchy.recode import to_level

        return to_level(cast("Hierarchy", self), level)
