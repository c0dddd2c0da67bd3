"""Several output folders as one set of tables, as somebody has them who has all of these releases."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cellguard.arrays import BoolArray, Positions
from cellguard.attack.external_totals import NO_TOTALS, ExternalTotals
from cellguard.attack.third_party import Intervals, infer, read_protected
from cellguard.errors import Disagreement, InputError
from cellguard.hierarchy.build import TOTAL
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.union import unite
from cellguard.io import layout
from cellguard.io.stored_run import Stored, knowledge_of, read_shown_cells, read_stored_tables
from cellguard.job.rulespec import parse_rule
from cellguard.protection import require
from cellguard.rules.assess import assess
from cellguard.rules.rule import Rule
from cellguard.run_context import Run
from cellguard.table.apriori import State
from cellguard.table.binding import flat_dimension
from cellguard.table.cell_order import in_hierarchy_order
from cellguard.table.pattern import Pattern
from cellguard.table.read import About
from cellguard.table.source import open_source
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, assemble, link
from cellguard.world.knowledge import Knowledge


@dataclass(frozen=True, eq=False)
class ReadFolder:
    """One output folder: its certificate, its tables with their rules, and which of their cells readers see."""

    path: Path
    certificate: Mapping[str, Any]
    tables: tuple[Table, ...]
    seen: tuple[Positions, ...]

    @property
    def rules(self) -> list[list[Rule]]:
        """The rules of each table."""
        return [[parse_rule(rule) for rule in spec["rules"]] for spec in self.certificate["tables"]]


def read_folder(path: str | Path, certificate: Mapping[str, Any]) -> ReadFolder:
    """Read the tables of an output folder from its facts, and what is seen of them from its release."""
    inside = Path(path) / "internal"
    # Sums of cells and fitted counts belong to one release; they are not searched across several.
    listed = [spec for spec in certificate["tables"] if spec["release"] not in {"sums", "fitted"}]
    certificate = {**certificate, "tables": listed}
    tables, statuses = read_stored_tables(inside, certificate)
    seen = read_shown_cells(inside.parent, certificate, statuses)
    return ReadFolder(Path(path), certificate, tuple(tables), tuple(seen))


def unite_dimensions(sets: Sequence[Sequence[Table]]) -> dict[str, Dimension]:
    """Return the dimensions of several sets of tables by name, each with the codes of all of them."""
    united: dict[str, Dimension] = {}
    for tables in sets:
        for dimension in {d.name: d for t in tables for d in t.dimensions}.values():
            known = united.get(dimension.name, dimension)
            united[dimension.name] = known if known is dimension else unite(known, dimension)
    return united


def frozen(table: Table) -> Table:
    """Return a table of which single cells are said to be unpublished, and no longer levels, which may change."""
    state = np.where(table.unpublished, State.unpublished, table.apriori.state).astype(np.int8)
    return replace(table, apriori=replace(table.apriori, state=state), levels=None)


def on_dimensions(table: Table, united: Mapping[str, Dimension]) -> Table:
    """Return a table whose codes are those of larger dimensions, in their order."""
    dimensions = tuple(united[d.name] for d in table.dimensions)
    if all(a is b for a, b in zip(dimensions, table.dimensions, strict=True)):
        return table
    codes = []
    for old, new, column in zip(table.dimensions, dimensions, table.codes, strict=True):
        places = np.array([new.position[code] for code in old.codes], np.int32)
        codes.append(places[column])
    return in_hierarchy_order(replace(table, dimensions=dimensions, codes=tuple(codes)))


def join_folders(folders: Sequence[ReadFolder]) -> Stored:
    """Return the tables of several folders as one set; a cell is suppressed if no release shows it.

    All tables but those of the first folder count as released elsewhere. What must be published is so no more: whether
    an unsafe cell is public is what the audit finds out.
    """
    united = unite_dimensions([folder.tables for folder in folders])
    tables, rules, seen = list[Table](), dict[str, list[Rule]](), list[BoolArray]()
    for number, folder in enumerate(folders):
        for table, own, shown in zip(folder.tables, folder.rules, folder.seen, strict=True):
            named = _named(table, folder, number)
            order = np.zeros(len(table), bool)
            order[shown] = True
            moved = on_dimensions(replace(named, rows=np.arange(len(table))), united)
            tables.append(moved)
            rules[moved.name] = own
            seen.append(order[moved.rows])
    try:
        linked = link(tables, list(dict.fromkeys(e for folder in folders for e in folder.certificate["equations"])))
    except Disagreement as error:
        raise Disagreement(f"{error}. Releases of different times cannot be attacked together") from None
    findings = assess(linked, rules)
    needs = require(findings, narrowest([folder.certificate for folder in folders]))
    visible = _any(needs.tables, linked, seen)
    hidden = ~visible & ~Pattern(needs.tables, needs.primary, ~visible).unpublished
    pattern = Pattern(needs.tables, needs.primary & ~visible, hidden & ~needs.primary)
    return Stored(findings, needs, pattern, _known(folders, needs.tables))


def infer_folders(folders: Sequence[ReadFolder | Path], run: Run) -> Intervals:
    """Return what somebody can work out who has several releases, some of which come without their internal half.

    Of a release by itself the codes are those of the other folders; a dimension that these do not have has its codes
    side by side. Equations and totals known from elsewhere are those of the other folders.
    """
    read = [folder for folder in folders if isinstance(folder, ReadFolder)]
    united = unite_dimensions([folder.tables for folder in read])
    tables = list[Table]()
    for number, folder in enumerate(folders):
        if isinstance(folder, ReadFolder):
            tables += [_as_seen(t, s, folder, number) for t, s in zip(folder.tables, folder.seen, strict=True)]
        else:
            tables += _released(folder, number, united, {t.response for f in read for t in f.tables if t.is_count})
    united = unite_dimensions([tables])
    linked = assemble(
        [on_dimensions(table, united) for table in tables if not table.is_unreleased],
        list(dict.fromkeys(e for folder in read for e in folder.certificate["equations"])),
    )
    return infer(linked, narrowest([folder.certificate for folder in read]), run=run)


def _as_seen(table: Table, seen: Positions, folder: ReadFolder, number: int) -> Table:
    """Return a table of which only what its release shows is known."""
    state = np.where(table.unpublished, State.unpublished, State.secondary)
    state[seen] = State.none
    named = _named(table, folder, number)
    return replace(named, apriori=replace(named.apriori, state=state.astype(np.int8)))


def _released(release: Path, number: int, united: Mapping[str, Dimension], counts: Collection[str]) -> list[Table]:
    """Return the tables of a release by itself, as its metadata describe them; ``counts`` are known frequencies."""
    about = read_metadata(release)
    tables = []
    for name, said in about.items():
        source = open_source(release / f"{name}.csv")
        by = {}
        for dimension, column in zip(said["by"], layout.released(said["by"]), strict=False):
            codes = source.codes(column)[0]
            by[column] = united.get(dimension) or flat_dimension(dimension, codes, total=TOTAL, place=source.place.name)
        called = f"{release.resolve().parent.name}/{name} ({number})"
        response_key = said["response"], said["population"], said["response"] in counts
        more = About(called, *response_key, decimals=said["decimals"])
        tables.append(replace(read_protected(source, by, "value", flag="flag", about=more), release="earlier"))
    return tables


def read_metadata(release: Path) -> dict[str, dict[str, Any]]:
    """Return what a release says of its tables."""
    try:
        about: dict[str, dict[str, Any]] = json.loads((release / "metadata.json").read_text(encoding="utf-8"))["tables"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{str(release)!r} is no release: metadata.json cannot be read") from None
    guarded = [name for name, said in about.items() if said.get("guarded")]
    if guarded or any("method" in said for said in about.values()):
        raise InputError(
            f"the tables of {str(release)!r} are not suppressed, or have guarded codes; name an output folder with its "
            "internal half"
        )
    return about


def _named(table: Table, folder: ReadFolder, number: int) -> Table:
    """Return a table with a name of its own among all folders."""
    # What is public already in the view of one folder is no concern of the rules of then.
    instead = State.waived if table.release == "earlier" else State.none
    state = np.where(table.apriori.has(State.must_publish), instead, table.apriori.state).astype(np.int8)
    release = table.release if table.is_unreleased or number == 0 else "earlier"
    name = table.name if number == 0 else f"{folder.path.resolve().name}/{table.name} ({number})"
    return frozen(replace(table, name=name, apriori=replace(table.apriori, state=state), release=release))


def _any(tables: TableSet, linked: TableSet, seen: Sequence[BoolArray]) -> BoolArray:
    """Return which distinct cells some table shows."""
    if len(tables) != len(linked):
        raise InputError("the folders have cells for rules about rows that do not fit together")
    visible = np.zeros(len(tables), bool)
    for cells, shown in zip(tables.cells_of, seen, strict=True):
        visible[cells[shown]] = True
    return visible


def narrowest(certificates: Sequence[Mapping[str, Any]]) -> Knowledge:
    """Return what an attacker knows beforehand who has been granted the most of each."""
    known = [knowledge_of(about["attack"]) for about in certificates]
    percents = [k.percent for k in known if k.percent is not None]
    return Knowledge(
        max(k.lower for k in known),
        min(k.upper for k in known),
        min(percents) if percents else None,
        all(about["crossing"] == "checked" for about in certificates),
    )


def _known(folders: Sequence[ReadFolder], tables: TableSet) -> ExternalTotals:
    """Return the sums that the certificates say an attacker has from elsewhere."""
    sums, first = list[list[int]](), 0
    for folder in folders:
        for terms in folder.certificate.get("known") or ():
            cells = []
            for table, row in terms:
                place = int(np.flatnonzero(tables.tables[first + table].rows == row)[0])
                cells.append(int(tables.cells_of[first + table][place]))
            sums.append(cells)
        first += len(folder.tables)
    if not sums:
        return NO_TOTALS
    rows = np.repeat(np.arange(len(sums)), [len(cells) for cells in sums])
    columns = np.concatenate(sums)
    matrix = sp.csr_array((np.ones(len(columns)), (rows, columns)), shape=(len(sums), len(tables)))
    return ExternalTotals(matrix, np.full(len(sums), np.nan))
