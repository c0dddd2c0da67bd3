"""Tables that another tool protected, from files and a few words about their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cellguard.attack.third_party import read_protected, refuse_unpublished
from cellguard.errors import InputError, InternalError, did_you_mean
from cellguard.hierarchy.build import TOTAL, by_digits
from cellguard.hierarchy.codelists import read_levels, read_parents
from cellguard.hierarchy.confidential_codes import may_be_values, suggested_column
from cellguard.hierarchy.hierarchy import Dimension, Hierarchy
from cellguard.hierarchy.hrc import read_hrc
from cellguard.hierarchy.sdmx import codelist_file, read_codelist
from cellguard.microdata.rda import describes_cells, read_rda_of_cells
from cellguard.reading.dialect import Dialect
from cellguard.table.apriori import State
from cellguard.table.binding import flat_dimension
from cellguard.table.fact import Mark
from cellguard.table.read import About, CellColumns, read_cells
from cellguard.table.source import Source, open_source
from cellguard.table.table import Table

TO_PROTECT = Mark("suppressed")
_WAYS = ("levels", "parents", "hrc", "codelist", "digits", "total")


@dataclass(frozen=True)
class ThirdParty:
    """What is said of tables made elsewhere: their files, and words about columns as `cellguard audit` takes them.

    ``dims`` are dimension columns, each perhaps with where its hierarchy is, as ``industry:levels=nace.csv``. ``flag``
    is a column that marks cells, ``suppressed`` which of its entries mean that they are suppressed. ``known`` are
    totals from elsewhere, ``lower`` and ``upper`` bounds of every cell. Where there is a column with the ``true``
    values, cells flagged as ``primary`` need protection by so many ``percent``. What is in memory already is ``held``
    under the name of its table; ``trees`` are hierarchies that are no files.
    """

    tables: Sequence[Path]
    dims: Sequence[str]
    value: str = "value"
    flag: str | None = None
    suppressed: Sequence[str] = ()
    count: bool = False
    known: Path | None = None
    lower: float = 0.0
    upper: float = float("inf")
    true: str | None = None
    primary: Sequence[str] = ()
    percent: float = 10.0
    held: Mapping[str, object] = field(default_factory=dict)
    trees: Mapping[str, Hierarchy] = field(default_factory=dict)


def read_third_party(given: ThirdParty) -> list[Table]:
    """Read the tables; with the column of true values these are in them, and the cells to protect are marked."""
    if given.suppressed and not given.flag:
        raise InputError("--suppressed names values of the --flag column; give that too")
    sources = [open_source(given.held.get(str(path), path), _dialect(path), name=str(path)) for path in given.tables]
    _check_columns(given, sources)
    figures = [name for name in (given.value, given.true) if name]
    sources = [source.settled(name for name in figures if name in source.names) for source in sources]
    dimensions = {d.name: d for d in (_dimension(text, sources) for text in given.dims)}
    dimensions |= {name: Dimension(name, tree) for name, tree in given.trees.items()}
    tables = []
    for path, source in zip(given.tables, sources, strict=True):
        by = {name: d for name, d in dimensions.items() if name in source.names}
        if not by:
            raise InputError(f"{path.name}: none of the columns {', '.join(dimensions)} is in it; name them with --dim")
        about = About(path.stem, response=given.value, is_count=given.count)
        table = read_protected(source, by, given.value, flag=given.flag, suppressed=given.suppressed, about=about)
        tables.append(_with_truth(given, table, source, by) if given.true else table)
    refuse_unpublished(tables)
    return tables


def _dialect(path: Path) -> Dialect | None:
    """Return the columns of a table of τ-ARGUS, whose metadata lie beside it; other tables have a header line."""
    beside = path.with_suffix(".rda")
    if path.suffix.lower() == ".rda" or not beside.is_file() or not describes_cells(beside):
        return None
    metadata = read_rda_of_cells(beside)
    return Dialect(metadata.delimiter, columns=tuple(variable.name for variable in metadata.variables))


def _with_truth(given: ThirdParty, table: Table, source: Source, by: dict[str, Dimension]) -> Table:
    """Return the table with its true values; the cells to protect are marked."""
    hidden = table.apriori.has(State.secondary)
    known = read_cells(
        source, by, CellColumns(str(given.true)), About(table.name, table.response, is_count=given.count)
    )
    if len(known) != len(table):
        raise InternalError("the same rows made two different tables")
    wanted = hidden
    if given.primary:
        if not given.flag:
            raise InputError("--primary names values of the --flag column; give that too")
        flags = np.array(source.text(given.flag).fill_null("").to_pylist(), object)
        wanted = hidden & np.isin(np.append(flags, "")[table.rows], list(given.primary))
    return replace(known, apriori=table.apriori, facts=known.facts.plus({TO_PROTECT: wanted}))


def _check_columns(given: ThirdParty, sources: Sequence[Source]) -> None:
    """Refuse columns without a name, and tables without a dimension, with the columns that there are."""
    names = list(dict.fromkeys(name for source in sources for name in source.names))
    columns = suggested_column("", names).replace("known are", "the columns are")
    if not given.dims and not given.trees:
        raise InputError(f"no dimension columns are given; name them with --dim COLUMN{columns}")
    named = {"--value": given.value, "--flag": given.flag, "--true": given.true}
    named |= {f"--dim {text}": text.split(":")[0] for text in given.dims}
    for option, column in named.items():
        if column is not None and not column.strip():
            raise InputError(f"{option.strip()} names no column{columns}")


def _dimension(text: str, sources: Sequence[Source]) -> Dimension:
    """Build a dimension from words such as ``industry:levels=nace.csv`` or ``size:total=All``."""
    name, options = _column(text, sources)
    given = dict(option.partition("=")[::2] for option in options)
    for key in given:
        if key not in _WAYS:
            raise InputError(f"--dim {text}: unknown word {key!r}{did_you_mean(key, _WAYS)}")
    total = given.get("total", TOTAL)
    users = [source for source in sources if name in source.names]
    if not users:
        raise InputError(f"--dim {name}: no table has such a column{suggested_column(name, sources[0].names)}")
    rows = sum(len(source) for source in users)
    codes = list(dict.fromkeys(code for source in users for code in source.codes(name)[0]))
    if "levels" in given:
        return Dimension(name, read_levels(given["levels"], total=total))
    if "parents" in given:
        return Dimension(name, read_parents(given["parents"]))
    if "hrc" in given:
        return Dimension(name, read_hrc(given["hrc"], total=total))
    if "codelist" in given:
        path = Path(codelist_file(given["codelist"]))
        return Dimension(name, read_codelist(given["codelist"], path, name, total=given.get("total")))
    if "digits" in given:
        hushed = may_be_values(codes, rows, total)
        return Dimension(name, by_digits(codes, _digits(given["digits"]), total=total, name=name, hushed=hushed))
    return flat_dimension(name, codes, total=total, place=users[0].place.name, rows=rows)


def _column(text: str, sources: Sequence[Source]) -> tuple[str, list[str]]:
    """Split the words about a dimension into its column, whose name may hold a colon, and the rest."""
    words = text.split(":")
    names = {name for source in sources for name in source.names}
    cut = next((n for n in range(len(words), 0, -1) if ":".join(words[:n]) in names), 1)
    return ":".join(words[:cut]), words[cut:]


def _digits(text: str) -> list[int]:
    if not all(part.isdecimal() for part in text.split(",")):
        raise InputError("--dim: digits says how many characters each level adds, as in region:digits=1,1,2")
    return [int(part) for part in text.split(",")]
