"""The formats of a release that the verifier knows: which files each writes, and the one checker of each.

A file of any other format is only accepted if its own writer makes the very same bytes of the released rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from cellguard.verifier.cells import Cells
from cellguard.verifier.checks import check_metadata, check_published
from cellguard.verifier.job import read_job
from cellguard.verifier.page import NAME as PAGE
from cellguard.verifier.page import check_page
from cellguard.verifier.parquet_files import check_parquet
from cellguard.verifier.released import METADATA
from cellguard.verifier.rows import Published, Rows
from cellguard.verifier.spec import Spec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder
from cellguard.verifier.workbook import WORKBOOK, check_workbook


@dataclass(frozen=True)
class Released:
    """What a checker may look at: the folder, what its certificate says, the internal rows, and the CSV files."""

    folder: Folder
    cells: Cells
    rows: Rows
    release: Sequence[Published]


@dataclass(frozen=True)
class Format:
    """A format: its name, the files that it writes of a release, and what refuses files that show anything else.

    Every release has the files of one that is ``always`` written. Where ``text`` is True they are plain text, of which
    the check leaves nothing unread.
    """

    name: str
    files: Callable[[Spec], frozenset[str]]
    check: Callable[[Released], None]
    always: bool = False
    text: bool = False


def _check_csv(released: Released) -> None:
    check_published(released.cells, released.rows, released.release)


def _check_metadata(released: Released) -> None:
    check_metadata(released.folder, released.cells, released.release)


def _check_parquet(released: Released) -> None:
    for table in released.cells.spec.released:
        check_parquet(released.folder, table)


def _check_workbook(released: Released) -> None:
    check_workbook(released.folder, released.cells.spec)


def _check_page(released: Released) -> None:
    language = read_job(released.folder).words.get("language", "en")  # jobs of older versions name none
    check_page(released.folder, released.cells, released.release, str(language))


MANIFEST = (
    Format("CSV", lambda spec: frozenset(t.release for t in spec.released), _check_csv, always=True, text=True),
    Format("metadata", lambda spec: frozenset({METADATA}), _check_metadata, always=True, text=True),
    Format("Parquet", lambda spec: frozenset(t.parquet for t in spec.released), _check_parquet),
    Format("Excel", lambda spec: frozenset({WORKBOOK}), _check_workbook),
    Format("HTML", lambda spec: frozenset({PAGE}), _check_page),
)


def check_formats(released: Released, files: Collection[str]) -> None:
    """Refuse a file of a format that does not show, cell by cell, what it should; ``files`` are those of the folder.

    A format of which some files are missing is refused by `known_files`.
    """
    spec = released.cells.spec
    for form in MANIFEST:
        if form.always or form.files(spec) <= set(files):
            form.check(released)


def needed_files(spec: Spec) -> frozenset[str]:
    """Return the public files that every folder has."""
    return frozenset[str]().union(*(form.files(spec) for form in MANIFEST if form.always))


def known_files(spec: Spec, files: Collection[str]) -> frozenset[str]:
    """Return the public files that a folder may have; refuse a format of which it has some only."""
    for form in MANIFEST:
        of_format = form.files(spec)
        if of_format & set(files) and not of_format <= set(files):
            raise Refused(f"the release has {form.name} files of some tables only")
    return frozenset[str]().union(*(form.files(spec) for form in MANIFEST))


def read_whole(spec: Spec) -> frozenset[str]:
    """Return the public files in which nothing could stand that the checks do not read."""
    return frozenset[str]().union(*(form.files(spec) for form in MANIFEST if form.text))
