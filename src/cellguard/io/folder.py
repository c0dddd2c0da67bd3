"""`OutputFolder`: the one layout of results. What may be published, what stays inside, and how both are read back.

``release`` has a CSV file per table and ``metadata.json``; ``internal`` has the same tables with all that is known of
each cell, the resolved job, the summary, the hierarchies, and whatever the method adds. docs/reference/certificate.md
describes it; `cellguard.verify` reads it with code of its own.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from cellguard.errors import CellguardError, InputError, MissingExtra, NotProtected
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.io import layout
from cellguard.io.linked_folders import ReadFolder, join_folders, read_folder
from cellguard.io.stored_run import Stored, rebuild
from cellguard.io.write import csv_text, whole_folder, write_json
from cellguard.io.writers.csv_injection import unguarded
from cellguard.io.writers.release_files import write_release
from cellguard.job.formats import PAGES
from cellguard.job.names import check_names, check_stored_names
from cellguard.job.registry import declared, find_method, method_names
from cellguard.job.yamlfile import read_yaml
from cellguard.run_context import UNWATCHED, Run
from cellguard.seam.outcome import LAYOUT, Outcome
from cellguard.views.grid import Axis
from cellguard.words.language import speaking

CellKey = tuple[str, frozenset[tuple[str, str]]]


@dataclass(frozen=True)
class OutputFolder:
    """The folder that a run writes, whole or not at all, and that other commands read.

    Parameters
    ----------
    path
        The folder itself, which holds ``release`` and ``internal``.

    Raises
    ------
    InputError
        By every reader, if this is no output folder, or its files do not fit together.

    Examples
    --------
    >>> OutputFolder("nowhere").about()
    Traceback (most recent call last):
    cellguard.errors.InputError: 'nowhere' is no output folder: release/metadata.json cannot be read
    """

    path: str | Path

    @property
    def inside(self) -> Path:
        """The confidential half."""
        return Path(self.path) / "internal"

    @property
    def outside(self) -> Path:
        """The half that may be published."""
        return Path(self.path) / "release"

    def write(self, outcome: Outcome[Any], *, force: bool = False, run: Run = UNWATCHED) -> list[str]:
        """Write what a run gives, all or nothing; return what a person should know of it.

        Without a release, which the verdict must allow, there is nothing to write, unless the method keeps what it
        found inside in any case; nothing but internal files is written then.
        """
        method = outcome.method
        if outcome.release is None and not method.keeps_internal:
            unruled = outcome.verdict.kind == "no rule"
            cure = "; give every table `rules`, or say that you accept it without" if unruled else ""
            raise NotProtected(f"nothing is released: {outcome.verdict.text}{cure}")
        check_names(outcome.protected.tables)
        here = run.during("writing")
        pages, notes = _pages(outcome)
        total = 3 + len(pages)
        with whole_folder(self.path, force=force) as made:
            here.tell("writing the release", 0, total)
            if outcome.release is not None:
                about = {table.name: method.about(outcome, table.name) for table in outcome.release.tables}
                published = replace(outcome.release, about=about, raw_codes=outcome.job.raw_codes)
                write_release(made / "release", published, outcome.job.formats)
                method.write_release(outcome, made / "release")
            here.tell("writing the internal files", 1, total)
            _write_inside(made / "internal", outcome)
            for number, (name, page) in enumerate(pages.items(), 2):
                here.tell(f"writing {name}", number, total)
                (made / name).write_text(page, encoding="utf-8")
            here.tell("sealing", total - 1, total)
            method.seal(outcome, made)
            if outcome.release is None and (made / "release").exists():
                raise NotProtected(f"nothing is released, although the method wrote something: {outcome.verdict.text}")
        here.tell("written", total, total)
        return notes

    def refuse_later(self) -> None:
        """Refuse a folder of a later layout; one that names none was written before 1.0, and is read."""
        path = self.inside / "summary.json"
        found = _read_json(path) if path.is_file() else None
        document = found if isinstance(found, dict) else {}
        said = document.get("layout", LAYOUT)
        if str(said).partition(".")[0] != LAYOUT.partition(".")[0]:
            raise InputError(
                f"{str(self.path)!r} has the layout {said}, and this cellguard ({version('cellguard')}) reads "
                f"{LAYOUT}; install the cellguard that wrote it, {document.get('cellguard')}, or a later one"
            )

    def about(self) -> dict[str, Any]:
        """Return the release's metadata: the tables by name. The folder may also be a ``release`` by itself."""
        self.refuse_later()
        paths = [self.outside / "metadata.json", Path(self.path) / "metadata.json"]
        path = next((p for p in paths if p.is_file()), None)
        document = None if path is None else _read_json(path)
        if not isinstance(document, dict) or not isinstance(document.get("tables"), dict):
            raise InputError(f"{str(self.path)!r} is no output folder: release/metadata.json cannot be read")
        return document

    def summary(self) -> dict[str, Any]:
        """Return the summary that the run wrote; confidential, as all of the internal half."""
        document = _read_json(self.inside / "summary.json")
        if not isinstance(document, dict):
            raise InputError(f"{str(self.path)!r} is no output folder: internal/summary.json cannot be read")
        return document

    @property
    def method(self) -> str:
        """The method, as its release or its internal half says; all that suppress cells are `suppress` to a reader."""
        for path, key in ((self.outside / "metadata.json", "method"), (self.inside / "summary.json", "folder")):
            document = _read_json(path) if path.is_file() else None
            if isinstance(document, dict) and document.get(key) in method_names():
                return str(document[key])
        return "suppress"

    @property
    def keeps_internal(self) -> bool:
        """Whether the method keeps what it found inside even if nothing is released."""
        return self.inside.is_dir() and bool(getattr(find_method(self.method), "keeps_internal", False))

    def certificate(self) -> dict[str, Any]:
        """Return the certificate; only what suppresses cells has one."""
        self.refuse_later()
        path = self.inside / "certificate.json"
        document = _read_json(path) if path.is_file() else None
        if isinstance(document, dict):
            return document
        self.refuse_uncertified()
        raise InputError(f"{str(self.path)!r} is no output folder: internal/certificate.json cannot be read")

    def refuse_uncertified(self) -> None:
        """Refuse a folder of a method that gives no certificate."""
        if not declared(self.method).attacked:
            done = find_method(self.method).participle
            raise InputError(
                f"the tables in {str(self.path)!r} were {done}, not suppressed: there is no pattern and no "
                "certificate; internal/report.html says what was found, and `cellguard show` shows the tables"
            )

    def stored(self, others: Sequence[str | Path] = ()) -> Stored:
        """Return tables, rules, requirements and pattern, worked out again from the stored facts.

        With other folders, of all of them together: what the release of one shows is known in all.
        """
        certificate = self.certificate()
        try:
            if others:
                return join_folders([self.read(), *(OutputFolder(other).read() for other in others)])
            return rebuild(self.inside, certificate)
        except CellguardError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise InputError(
                f"{str(self.path)!r} is damaged: its files do not fit together; see `cellguard verify`"
            ) from None

    def read(self) -> ReadFolder:
        """Return the tables with their rules, and what the release shows of them."""
        return read_folder(self.path, self.certificate())

    def has_internal(self) -> bool:
        """Whether the folder has its internal half; a release may be somewhere by itself."""
        return (self.inside / "certificate.json").is_file()

    def statuses(self) -> dict[str, dict[str, str]]:
        """Return for each table the status of each cell, by its name."""
        tables = self._certified() if declared(self.method).attacked else self._run()
        check_stored_names(self.path, [name for table, by in tables.items() for name in (table, *by)])
        statuses = {}
        for table, by in tables.items():
            columns = layout.cells(by)[: len(by)]
            rows = self.rows(table, internal=True)
            statuses[table] = {"/".join(row[c] for c in columns): row["status"] for row in rows}
        return statuses

    def _certified(self) -> dict[str, list[str]]:
        """Return the dimensions of each table, as the certificate names them."""
        certificate = self.certificate()
        try:
            return {str(spec["name"]): list(spec["by"]) for spec in certificate["tables"]}
        except (KeyError, TypeError):
            raise InputError(
                f"{str(self.path)!r} is no output folder: internal/certificate.json cannot be read"
            ) from None

    def _run(self) -> dict[str, list[str]]:
        """Return the dimensions of each table that is kept, as the job of the run names them."""
        self.refuse_later()
        job, _ = read_yaml(self.inside / "job.yaml")
        try:
            named = {str(spec["name"]): [str(name) for name in spec["by"]] for spec in job["tables"]}
        except (KeyError, TypeError):
            raise InputError(f"{str(self.path)!r} is no output folder: internal/job.yaml cannot be read") from None
        check_stored_names(self.path, list(named))
        return {name: by for name, by in named.items() if (self.inside / f"{name}.csv").is_file()}

    def cell_statuses(self) -> dict[CellKey, str]:
        """Return the status of each cell, by response and codes, so that releases of different times can be compared.

        A cell that is published in one table and not shown in another is published.
        """
        statuses: dict[CellKey, str] = {}
        for spec in self.certificate()["tables"]:
            columns = layout.cells(spec["by"])[: len(spec["by"])]
            rows = self.rows(spec["name"], internal=True)
            trees = [_read_rows(self.inside / "hierarchies" / f"{name}.csv") for name in spec["by"]]
            totals = [tree[0]["code"] for tree in trees]
            keys = cell_keys(spec["response"], spec["by"], [[row[c] for row in rows] for c in columns], totals)
            for key, row in zip(keys, rows, strict=True):
                if statuses.get(key, "unpublished") == "unpublished":
                    statuses[key] = row["status"]
        return statuses

    def rows(self, table: str, *, internal: bool, guarded: Collection[str] = ()) -> list[dict[str, str]]:
        """Return the rows of a table, without the guard of codes in the guarded columns."""
        rows = _read_rows((self.inside if internal else self.outside) / f"{table}.csv")
        return [row | {name: unguarded(row[name]) for name in guarded} for row in rows] if guarded else rows

    def interval(self, table: str, position: int) -> tuple[float, float] | None:
        """Return the attacker's interval of a cell as the internal half has it; None of a cell without one."""
        rows = self.rows(table, internal=True)
        ends = [rows[position].get(name) for name in layout.INTERVAL] if position < len(rows) else []
        return (float(ends[0]), float(ends[1])) if len(ends) == 2 and ends[0] and ends[1] else None

    def axis(self, dimension: str, codes: Collection[str]) -> Axis:
        """Return the tree of the codes of some cells; without a hierarchy they stand side by side."""
        path = self.inside / "hierarchies" / f"{dimension}.csv"
        if not path.is_file():  # a release may be looked at where its internal half is not
            listed = list(dict.fromkeys(codes))
            return Axis(dimension, listed, np.full(len(listed), -1, np.int32), np.ones(len(listed), bool))
        position: dict[str, int] = {}
        parents = list[int]()
        for row in _read_rows(path):
            if row["code"] not in position:
                parents.append(position.get(row["parent"], -1))
                position[row["code"]] = len(position)
        seen = set(codes)
        return Axis(dimension, list(position), np.array(parents, np.int32), np.array([c in seen for c in position]))

    def unreleased(self) -> dict[str, Any]:
        """Return the tables of a set that was not released, as its job names them, and whether it was checked."""
        job, _ = read_yaml(self.inside / "job.yaml")
        try:
            checked = json.loads((self.inside / "summary.json").read_text(encoding="utf-8")).get("checked", True)
            return {t["name"]: {"by": list(t["by"]), "checked": checked} for t in job["tables"]}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise InputError(
                f"{str(self.path)!r} is damaged: job.yaml and summary.json do not name its tables"
            ) from None


def cell_keys(
    response: str, by: Sequence[str], columns: Sequence[Iterable[str]], totals: Sequence[str]
) -> list[CellKey]:
    """Return for each row of a table its response and the codes that are not totals, whatever their order."""
    rows = zip(*columns, strict=True)
    named = [[(name, code) for name, code, total in zip(by, row, totals, strict=True) if code != total] for row in rows]
    return [(response, frozenset(codes)) for codes in named]


def _write_inside(folder: Path, outcome: Outcome[Any]) -> None:
    folder.mkdir(mode=0o700)
    outcome.method.write_internal(outcome, folder)
    (folder / "hierarchies").mkdir()
    for dimension in {d.name: d for table in outcome.protected.tables for d in table.dimensions}.values():
        text = hierarchies_text(dimension)
        (folder / "hierarchies" / f"{dimension.name}.csv").write_text(text, encoding="utf-8")
    resolved = yaml.safe_dump(outcome.job.model_dump(), sort_keys=False, allow_unicode=True)
    (folder / "job.yaml").write_text(resolved, encoding="utf-8")
    write_json(folder / "summary.json", outcome.summary.plain())


def _pages(outcome: Outcome[Any]) -> tuple[Mapping[str, str], list[str]]:
    """Return the reports by their path in the folder, if the job wants them and can have them, and notes."""
    if PAGES not in outcome.job.formats:
        return {}, []
    try:
        with speaking(outcome.job.language):
            pages = outcome.method.pages(outcome)
        if outcome.release is None:
            pages = {path: page for path, page in pages.items() if path.startswith("internal/")}
        return pages, []
    except MissingExtra as error:
        return {}, [str(error)]


def hierarchies_text(dimension: Dimension) -> str:
    """Return what is stored of a dimension."""
    rows = [
        (number, code, h.parent_of(code) or "", dimension.labels.get(code, ""))
        for number, h in enumerate(dimension.hierarchies)
        for code in h.codes
    ]
    return csv_text(("hierarchy", "code", "parent", "label"), rows)


def _read_json(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _read_rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"cannot read {path.parent.name}/{path.name}: {error.strerror}") from None
