"""The built-in demo: a made-up business survey and a population register, protected, proven and verified."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from cellguard.errors import InputError
from cellguard.faces.cli.demo_data import firms, people, write_records
from cellguard.io.write import write_text

JOBS = {"job.yaml": "protected", "register.yaml": "protected_register"}


def write_demo(folder: Path, *, rows: int, force: bool = False) -> dict[Path, Path]:
    """Write the demo's records, hierarchies and jobs; return for each job the folder of its results."""
    if folder.exists() and any(folder.iterdir()) and not force:
        raise InputError(f"the folder {str(folder)!r} is not empty; choose another with --out, or say --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    made = {f"{make.__name__}.csv": write_records(folder / make.__name__, rows, make).name for make in (firms, people)}
    for file in files("cellguard.faces.cli").joinpath("demo_files").iterdir():
        text = file.read_text(encoding="utf-8")
        for usual, name in made.items():
            text = text.replace(f"source: {usual}", f"source: {name}")
        write_text(folder / file.name, text, force=True)
    return {folder / job: folder / results for job, results in JOBS.items()}
