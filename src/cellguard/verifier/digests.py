"""Which files an output folder holds, and whether each is the one that the certificate names."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from cellguard.verifier.formats import known_files, needed_files
from cellguard.verifier.rewriting import sent_files
from cellguard.verifier.spec import OFFICERS_PAGE, Spec
from cellguard.verifier.stages import Refused
from cellguard.verifier.stored import Folder

OWN = "internal/certificate.json"
SEED = "internal/seed.json"  # of random costs, where there are any
EXPLANATIONS = "internal/explanations.parquet"  # for people, and no part of the proof


def check_digests(folder: Folder, document: Mapping[str, Any], own: str = OWN, *, halves: int = 2) -> int:
    """Compare the certificate's own digest and that of every file; return how many files there are.

    ``own`` is the certificate's own name; of one half there is the internal folder and no release.
    """
    if document.get("digest") != digest(document):
        raise Refused("certificate.json does not have the digest that it names")
    files = document.get("files")
    if not isinstance(files, dict):
        raise Refused("certificate.json has no list of files")
    _no_links(folder, own)
    _only_halves(folder)
    _only_named_folders(folder, files)
    there = {name: path for name, path in _walk(folder, halves) if name != own}
    for name in sorted(set(files) - set(there)):
        raise Refused(f"{name} is missing")
    for name in sorted(set(there) - set(files)):
        raise Refused(f"{name} is extra: the certificate does not name it")
    for name in sorted(there):
        if files[name] != _sha256(there[name]):
            raise Refused(f"{name} is not the file that the certificate names")
    return len(there)


def check_names(spec: Spec, document: Mapping[str, Any], written: Callable[[], Collection[str]]) -> None:
    """Refuse a list of files that lacks one that folders have, or has one that none has.

    A public file of a format that the verifier does not know is among what its writer makes, which ``written`` tells.
    """
    needed = {*needed_files(spec), "internal/job.yaml", "internal/summary.json", "internal/certificate.parquet"}
    needed |= {"internal/world.parquet", *(f"internal/parts/{name}.csv" for name in spec.dimensions)}
    for table in spec.tables:
        needed |= {table.internal, table.facts}
    needed |= {f"internal/hierarchies/{name}.csv" for name in spec.dimensions}
    if spec.told is not None:
        needed |= {"internal/sums.parquet", *(f"internal/facts/{told.name}.parquet" for told in spec.told)}
    needed |= set() if spec.inside is None else {"internal/insiders.parquet"}
    named = set(document["files"])
    may = known_files(spec, named) | {OFFICERS_PAGE, SEED, EXPLANATIONS}
    may |= set(sent_files(named, spec))
    for name in sorted(needed - named):
        raise Refused(f"certificate.json does not name {name}")
    for name in sorted(named - needed - may):
        if name.startswith("release/"):
            if name not in written():
                raise Refused(f"{name} is extra: no format that is installed here writes it")
        # A job may have dimensions that no table uses.
        elif not (name.startswith("internal/hierarchies/") and name.endswith(".csv")):
            raise Refused(f"{name} is extra: an output folder has no such file")


def digest(document: Mapping[str, Any]) -> str:
    """Return the digest of a certificate: of its JSON without the digest, with sorted keys and no blanks."""
    rest = {key: value for key, value in document.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _no_links(folder: Folder, own: str) -> None:
    """Refuse halves, and a certificate, that are links: what was checked would be somewhere else.

    Halves that somebody names are looked at where they are.
    """
    for name, path in (("release", folder.release), ("internal", folder.internal), (own, folder.path(own))):
        if path.is_symlink():
            raise Refused(f"{name} is a link to another place; name that with --release or --internal, or copy it here")


def _only_halves(folder: Folder) -> None:
    """Refuse a third thing beside release and internal, where both are in one folder under their own names."""
    home = folder.internal.parent.resolve()
    names = {folder.release.name, folder.internal.name}
    if folder.release.parent.resolve() == home and names == {"release", "internal"}:
        for entry in sorted(home.iterdir()):
            if entry.name not in ("release", "internal"):
                raise Refused(f"{entry.name} is extra: the folder holds more than release and internal")


def _only_named_folders(folder: Folder, files: Mapping[str, Any]) -> None:
    """Refuse a folder that holds no file that the certificate names: an empty one has a name, too."""
    for half, top in (("release", folder.release), ("internal", folder.internal)):
        for place in sorted(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink()):
            name = f"{half}/{place.relative_to(top).as_posix()}"
            if not any(file.startswith(f"{name}/") for file in files):
                raise Refused(f"{name} is extra: an output folder has no such folder")


def _walk(folder: Folder, halves: int) -> Iterator[tuple[str, Path]]:
    for half, top in (("internal", folder.internal), ("release", folder.release))[:halves]:
        if not top.is_dir():
            raise Refused(f"the folder {half} is missing")
        for place, folders, names in os.walk(top):
            here = Path(place)
            links = [name for name in folders if (here / name).is_symlink()]
            for name in [*names, *links]:
                yield f"{half}/{(here / name).relative_to(top).as_posix()}", here / name


def _sha256(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
