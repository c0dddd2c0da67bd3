"""Whether a new output differs from earlier ones by a few respondents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from cellguard.arrays import BoolArray
from cellguard.errors import NotProtected
from cellguard.inputs.shown.memory import HasShown, Shown
from cellguard.inputs.shown.nearness import Codes, Partition, near_cells, related


class Closeness:
    """Compares outputs by the respondents behind their cells; ``who`` is the respondent of each record, if told."""

    def __init__(self, who: Sequence[object] | None, fewest: int) -> None:
        self._who: Codes | None = None
        self._most, self._fewest = 1, fewest  # the most records that one respondent has
        if who is not None:
            self._who = np.unique(np.array([str(one) for one in who]), return_inverse=True)[1]
            self._most = int(np.bincount(self._who).max())
        self._pairs: dict[tuple[str, ...], bool] = {}  # which dimensions of a population are recodings of each other

    def refuse_near(self, members: BoolArray, outputs: Iterable[HasShown], left_out: int = 0) -> None:
        """Refuse an output about all records of an earlier one but a few, or about a few more.

        ``left_out`` is how many records the output leaves out since an entry is missing.
        """
        cure = (
            f". {left_out:,} records are left out since an entry of theirs is missing: dropna=False makes missing "
            "codes a category of their own"
            if left_out
            else ""
        )
        for output in outputs:
            for old in output.shown[:1]:
                apart = old.members != members
                few = int(apart.sum()) if self._who is None else len(np.unique(self._who[apart]))
                if 0 < few < self._fewest:
                    more = (members & apart).any() and not (old.members & apart).any()
                    who = f"{few} respondent{'s' if few > 1 else ''}"
                    relation = f"and {who} more" if more else f"but {who}"
                    raise NotProtected(
                        f"this output is about all records of {output.uid} {relation}: their difference would tell "
                        f"about so few. Use the same records for both, or take {output.uid} back with "
                        f"session.remove({output.uid!r}){cure}"
                    )

    def near(self, shown: Sequence[Shown], outputs: Iterable[HasShown]) -> set[tuple[str, tuple[str, ...]]]:
        """Return the cells of a new output that differ from earlier ones by a few respondents."""
        found = set()
        earlier = [(old, part) for o in outputs for old in o.shown for part in old.parts]
        for one in shown:
            others = [(other, part) for other in shown if other is not one for part in other.parts]
            for part in one.parts:
                for old, other in (*earlier, *others):
                    if not self._tied(one, part, old, other):
                        continue
                    near = near_cells(part, other, self._fewest, self._who, self._most)
                    found |= {(one.name, one.codes(n.cell)) for n in near}
                    near = near_cells(other, part, self._fewest, self._who, self._most)
                    found |= {(one.name, one.codes(n.smallest)) for n in near}
        return found

    def _tied(self, one: Shown, part: Partition, old: Shown, other: Partition) -> bool:
        """Return whether two sums may differ by few: other records, or dimensions that are recodings of each other."""
        if one.population != old.population:
            return True
        if part.by <= other.by or other.by <= part.by:
            return False
        return any(self._related(one, a, old, b) for a in part.by - other.by for b in other.by - part.by)

    def _related(self, one: Shown, a: str, old: Shown, b: str) -> bool:
        pair = one.population, *sorted((a, b))
        if pair not in self._pairs:
            self._pairs[pair] = related(one.columns[a], old.columns[b], self._fewest)
        return self._pairs[pair]
