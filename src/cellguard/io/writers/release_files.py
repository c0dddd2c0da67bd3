"""The publishable half of an output folder: every format writes its own files, and nothing else."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from cellguard.errors import InputError
from cellguard.job.formats import ALWAYS, PAGES, Format, check_formats, find_format
from cellguard.table.pattern import Release

PAGE = "report.html"  # of the method


def write_release(folder: Path, release: Release, formats: Collection[str] = ()) -> None:
    """Write the formats that are asked for, and those that every release has.

    A `Release` is all they get, so there is no suppressed value to let out. Each writes into an empty folder, so that
    none touches the files of another.
    """
    check_formats(formats)
    folder.mkdir()
    for name in (*ALWAYS, *sorted(set(formats) - {*ALWAYS, PAGES})):
        with TemporaryDirectory(dir=folder) as apart:
            _write_apart(find_format(name), release, Path(apart), taken={path.name for path in folder.iterdir()})
            for path in Path(apart).iterdir():
                path.replace(folder / path.name)


def _write_apart(form: Format, release: Release, folder: Path, taken: Collection[str]) -> None:
    """Write the files of a format, and refuse any that it does not name or that are another's."""
    named = list(form.files(release))
    for file in named:
        if file != Path(file).name or file in {"", ".", ".."}:
            raise InputError(f"the format {form.name!r} calls a file {file!r}, which is no plain name")
        if file in {PAGE, *taken} or named.count(file) > 1:
            raise InputError(f"the format {form.name!r} writes {file}, which a release has already")
    form.write(release, folder)
    made = {path.name for path in folder.iterdir() if path.is_file() and not path.is_symlink()}
    if made != set(named) or made != {path.name for path in folder.iterdir()}:
        raise InputError(f"the format {form.name!r} does not write exactly the files that it names; correct `files`")
