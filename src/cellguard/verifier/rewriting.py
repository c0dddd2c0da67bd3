"""Files once more: whether each public one is, byte for byte, what is written from the released rows.

A suppressed value can stand in the title of a workbook, in a comment between its parts, in the script of a page. Nobody
lists all such places; so a file must be the very one that its writer makes of the rows that the CSV files show, which
hold no suppressed value. Writers are no part of the verifier: it is given a function that has them. What that reads are
CSV files and hierarchies that the checks have read, too.

So it is with files of the internal half that are to be sent to others: they are those that the stored cells give.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from cellguard.errors import CellguardError
from cellguard.verifier.formats import read_whole
from cellguard.verifier.spec import Spec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder, read_bytes

# From the release and the internal folder to the content of each file that can be written again, by its name.
Rewrite: TypeAlias = Callable[[Path, Path], Mapping[str, bytes]]
_HALF = "release/"
SENT = (".sbs", ".sdmx.csv")  # the endings of internal files that are to be sent to others


def written(folder: Folder, rewrite: Rewrite | None) -> dict[str, bytes]:
    """Return the content of these files as their writers make them; none without writers."""
    if rewrite is None:
        return {}
    try:
        return {name: bytes(made) for name, made in rewrite(folder.release, folder.internal).items()}
    except CellguardError as error:
        raise Refused(f"the public files cannot be written again to compare them: {error}") from None


def sent_files(files: Iterable[str], spec: Spec) -> list[str]:
    """Return the internal files that are to be sent to others."""
    stems = [table.internal.removesuffix(".csv") for table in spec.released]
    return sorted({f"{stem}{ending}" for stem in stems for ending in SENT} & set(files))


def check_sent(folder: Folder, files: Iterable[str], made: Mapping[str, bytes]) -> None:
    """Refuse a file to be sent that is not the one that the stored cells and rules give."""
    for name in files:
        if made.get(name) != read_bytes(folder, name):
            raise Refused(f"{name} is not, byte for byte, what the stored cells and rules give; protect again")


def check_rewritten(folder: Folder, files: Iterable[str], made: Mapping[str, bytes]) -> None:
    """Refuse a public file that is not the one that its writer makes of the released rows."""
    for name in sorted(file for file in files if file.startswith(_HALF)):
        if made.get(name) != read_bytes(folder, name):
            raise Refused(
                f"{name} is not, byte for byte, what is written from the released rows. If other versions wrote it "
                "than are installed here (internal/summary.json names them), use these, or protect again"
            )


def not_rewritten(files: Collection[str], spec: Spec) -> list[str]:
    """Return the files that only a comparison byte for byte can vouch for."""
    public = sorted(file for file in files if file.startswith(_HALF) and file not in read_whole(spec))
    return [*public, *sent_files(files, spec)]
