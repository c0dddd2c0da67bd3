"""The formats that a job may ask for. Built-in ones load when they are needed; packages add theirs as entry points.

A format is one module (or any object) with what `Format` has. A package of a user's own declares it under
``[project.entry-points."cellguard.formats"]``, as ``toy = "my_package.toy"``; ``output: {formats: [toy]}`` then works.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from cellguard.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from cellguard.table.pattern import Release

GROUP = "cellguard.formats"
PAGES = "html"  # the pages of a method, which are more than its release
ALWAYS = ("csv", "metadata")  # what a certificate speaks of
_BUILT_IN = {
    "csv": "cellguard.io.writers.csv_files",
    "metadata": "cellguard.io.writers.metadata",
    "csvw": "cellguard.io.writers.csvw",
    "datapackage": "cellguard.io.writers.datapackage",
    "eurostat": "cellguard.io.writers.eurostat",
    "parquet": "cellguard.io.writers.parquet",
    "px": "cellguard.io.writers.px",
    "sbs": "cellguard.io.writers.sbs",
    "sdmx": "cellguard.io.writers.sdmx",
    "xlsx": "cellguard.io.writers.workbook",
}


class Format(Protocol):
    """What a format has: its name, the modules that it needs with what pip installs them by, and its writer.

    ``write`` puts the files of a release into an empty folder: exactly those that ``files`` names, and the same bytes
    whenever it gets the same release, since `verify` writes them again to compare.
    """

    @property
    def name(self) -> str:
        """What a job calls the format."""
        ...

    @property
    def extra(self) -> Mapping[str, str]:
        """The modules that it needs beyond those of cellguard, and what to give pip to get each."""
        ...

    def write(self, release: Release, folder: Path) -> None:
        """Write the files of a release."""
        ...

    def files(self, release: Release) -> Sequence[str]:
        """Return the names of the files of a release."""
        ...


def format_names() -> list[str]:
    """Return what a job may ask for: the built-in formats and those of other packages."""
    return list(dict.fromkeys([*sorted({*_BUILT_IN, PAGES} - {"metadata"}), *sorted(_of_packages())]))


def format_fault(name: str) -> str | None:
    """Explain why a job may not ask for a format; None if it may."""
    if name in (*_BUILT_IN, PAGES) and name != "metadata":
        return None
    names = format_names()
    if name in names:
        return None
    *others, last = map(repr, names)
    near = did_you_mean(name, names)
    return f"must be {', '.join(others)} or {last}{near if near.startswith('; did') else ''}"


def find_format(name: str) -> Format:
    """Return the format of that name; a package can add formats, but never take the place of a built-in one."""
    if name in _BUILT_IN:
        return cast("Format", import_module(_BUILT_IN[name]))
    found = _of_packages().get(name, ())
    if not found:
        raise InputError(f"there is no format {name!r} here{did_you_mean(name, format_names())}")
    if len(found) > 1:
        listed = " and ".join(sorted(_package(entry) for entry in found))
        raise InputError(f"there are several formats {name!r}: of {listed}; uninstall all but one")
    return _loaded(found[0])


def check_formats(names: Collection[str]) -> None:
    """Refuse formats that cannot be written here, before any work is done."""
    for name in sorted({*names, *ALWAYS} - {PAGES}):
        for module, package in find_format(name).extra.items():
            if find_spec(module) is None:
                raise InputError(f"the format {name} needs {module}; get it with: pip install '{package}'")


def built_in() -> list[str]:
    """Return the formats that cellguard itself writes."""
    return list(_BUILT_IN)


def _of_packages() -> dict[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=GROUP):
        if entry.name not in (*_BUILT_IN, PAGES):
            found[entry.name] = (*found.get(entry.name, ()), entry)
    return found


@cache
def _loaded(entry: EntryPoint) -> Format:
    try:
        loaded = entry.load()
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"the format {entry.name!r} of {_package(entry)} cannot be loaded ({type(error).__name__}); is it whole?"
        ) from error
    lacks = [part for part in ("name", "extra", "write", "files") if not hasattr(loaded, part)]
    if lacks or loaded.name != entry.name:
        why = f"it lacks {', '.join(lacks)}" if lacks else f"its name is {loaded.name!r}"
        raise InputError(f"the format {entry.name!r} of {_package(entry)} is none: {why}")
    return cast("Format", loaded)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else entry.value
