"""The public half of a folder written once more, from nothing but its released rows and its public codes.

`verify` compares the files with these, byte for byte: what is anywhere else in them than the writers put it is not. The
files of the internal half that are to be sent elsewhere are written once more, too, from the stored cells.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cellguard.io.stored_run import read_dimension
from cellguard.io.writers.csv_injection import unguarded
from cellguard.io.writers.release_files import PAGE, write_release
from cellguard.job.formats import PAGES, built_in, find_format
from cellguard.job.yamlfile import read_yaml
from cellguard.methods.suppress.files.transmission import rewrite_transmissions
from cellguard.table.pattern import Release, ReleasedTable
from cellguard.words.language import ENGLISH, known_language, speaking


def rewrite_folder(outside: Path, inside: Path) -> dict[str, bytes]:
    """Return the files of a folder that can be written again, by their names in it.

    These are the public ones, and those of the internal half that are to be sent.
    """
    document = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))
    public = rewrite_release(outside, inside)
    sent = rewrite_transmissions(inside, document)
    halves = (("release", public), ("internal", sent))
    return {f"{half}/{name}": made for half, files in halves for name, made in files.items()}


def rewrite_release(outside: Path, inside: Path) -> dict[str, bytes]:
    """Return the public files of a folder as they are written from its released rows, by their names.

    ``outside`` and ``inside`` are its two halves. A format is written if the folder has
    any file of it; one that the job names and that is not installed here is an error.
    """
    document = json.loads((inside / "certificate.json").read_text(encoding="utf-8"))
    about = json.loads((outside / "metadata.json").read_text(encoding="utf-8"))["tables"]
    specs = [spec for spec in document["tables"] if spec["release"] == "here"]
    words, _ = read_yaml(inside / "job.yaml")
    output = words.get("output") or {}
    tables = [_released(outside, spec, about[spec["name"]].get("guarded", ())) for spec in specs]
    dimensions = {name: read_dimension(inside, name) for name in {name for table in tables for name in table.by}}
    release = Release.of(tables, dimensions, raw_codes=bool(output.get("raw_codes")))
    there = {path.name for path in outside.iterdir()}
    formats = {*built_in(), *output.get("formats", ())} - {PAGES}
    with TemporaryDirectory() as scratch:
        made = Path(scratch) / "release"
        write_release(made, release, [name for name in formats if there & set(find_format(name).files(release))])
        if PAGE in there:
            with speaking(known_language(str(words.get("language", ""))) or ENGLISH):
                (made / PAGE).write_text(_page(release), encoding="utf-8")
        return {path.name: path.read_bytes() for path in made.iterdir()}


def _released(outside: Path, spec: Mapping[str, Any], guarded: list[str]) -> ReleasedTable:
    """Return a released table as its CSV file shows it; codes without their guard."""
    with (outside / f"{spec['name']}.csv").open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    *columns, value, flag = (list(column) for column in zip(*rows, strict=True)) if rows else _nothing(spec)
    codes = tuple(
        np.array([unguarded(code) for code in column] if name in guarded else column, object)
        for name, column in zip(spec["by"], columns, strict=True)
    )
    suppressed = np.array([mark == "c" for mark in flag], bool)
    about = spec["response"], spec["population"], spec["decimals"]
    return ReleasedTable.of_texts(spec["name"], tuple(spec["by"]), codes, value, suppressed, *about)


def _nothing(spec: Mapping[str, Any]) -> list[list[str]]:
    return [[] for _ in range(len(spec["by"]) + 2)]


def _page(release: Release) -> str:
    from cellguard.methods.suppress.report import page
    from cellguard.report import render

    render.require_extra()
    return page.public_page(release)
