"""The built-in demo: made-up business tables and a job, written to a folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from cellguard.errors import InputError
from cellguard.files.write import write_text


def write_demo(folder: Path, *, force: bool = False) -> Path:
    """Write the demo's files and return the path of its job."""
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError(f"the folder {str(folder)!r} is not empty; choose another with --out, or say --force")
    for file in files("cellguard.cli").joinpath("demo_tables").iterdir():
        write_text(folder / file.name, file.read_text(encoding="utf-8"), force=True)
    return folder / "job.yaml"
