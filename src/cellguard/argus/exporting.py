"""A job of ours as a batch of τ-ARGUS: its tables with statuses and protection levels, and the files that go with them.

The unsafe cells are given, with their levels, so that all rules of the job hold there too, also those that τ-ARGUS does
not have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cellguard.argus.batch_parser import OPTIONS
from cellguard.argus.own_table import (
    FREQ,
    MANUAL,
    PROTECTED,
    RULE,
    SAFE,
    SAFE_MANUAL,
    SECONDARY,
    ArgusTable,
    Status,
)
from cellguard.argus.safety_rule import SafetyRule
from cellguard.argus.spanning import Spanning
from cellguard.argus.writers.intermediate import intermediate
from cellguard.arrays import FloatArray
from cellguard.errors import InputError
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.inputs.assessment import Assessment
from cellguard.io.write import write_text
from cellguard.job.jobfile import Job
from cellguard.methods.suppress.costs import parse_cost, set_costs
from cellguard.methods.suppress.spec import SuppressOptions
from cellguard.microdata.rda import Variable
from cellguard.pipeline import assess_job
from cellguard.rules.assess import TableFindings
from cellguard.table.apriori import State

_MINUTES = 10


def export_job(path: Path, folder: Path, tell: Callable[[str], None]) -> int:
    """Write the tables of a job and a batch that protects them to a folder; return the exit status."""
    job = Job.load(path)
    assessment = assess_job(job)
    tables = _tables(assessment)
    folder.mkdir(parents=True, exist_ok=True)
    files = {f"{path.stem}.arb": _batch(path.name, tables, job)}
    for table in tables:
        made = intermediate(table, dict.fromkeys(OPTIONS, False) | {"QU": True}, table.name)
        for ending, text in made.items():
            files[f"{table.name}{ending or '.tab'}"] = text
    for name, text in files.items():
        write_text(folder / name, text, force=True, confidential=True)
    tell(f"{path.stem}.arb and {len(files) - 1} files that it names are in {folder} (confidential)")
    return 0


def _batch(name: str, tables: Sequence[ArgusTable], job: Job) -> str:
    """Return the batch: all tables are read with their statuses, protected as linked tables, and written."""
    lines = [f"// The tables of {name}, written by cellguard; unsafe cells are given with their protection levels."]
    for table, spec in zip(tables, job.tables, strict=False):
        by = "".join(f'"{s.name}"' for s in table.spanning)
        response = "<freq>" if table.is_count else f'"{table.response}"'
        lines += [f"// Rules of {spec.name}: {'; '.join(map(str, spec.rules))}"]
        lines += [f'<OPENTABLEDATA> "{table.name}.tab"', f'<OPENMETADATA> "{table.name}.rda"']
        lines += [f'<SPECIFYTABLE> {by}|{response}||"{table.response}_Cost"', "<SAFETYRULE> MAN(10)"]
    lines.append("<READTABLE> 0")
    number = 1 if len(tables) == 1 else 0
    lines.append(f"<SUPPRESS> OPT(1,{_MINUTES})" if number else f"<SUPPRESS> MOD(0,{_MINUTES},1,1,1)")
    lines += [f'<WRITETABLE> ({t.number},2,AS+,"{t.name}_protected.csv")' for t in tables]
    return "\n".join(lines) + "\n"


def _tables(assessment: Assessment) -> list[ArgusTable]:
    linked, needs = assessment.tables, assessment.needs
    specs = {spec.name: spec for spec in assessment.job.tables}
    chosen = {
        name: parse_cost(spec.protect.cost if isinstance(spec.protect, SuppressOptions) else "value")
        for name, spec in specs.items()
    }
    costs = set_costs(linked, needs.primary, chosen)
    tables: list[ArgusTable] = []
    for here, cells in zip(assessment.findings.by_table, linked.cells_of, strict=True):
        if here.table.is_added or here.table.release == "earlier":
            continue
        levels = needs.lower[cells], np.maximum(needs.upper[cells], needs.sliding[cells])
        unsafe = assessment.findings.primary[cells]
        tables.append(_table(len(tables) + 1, here, unsafe, levels, costs[cells]))
    return tables


def _table(
    number: int,
    here: TableFindings,
    unsafe: np.ndarray[tuple[int], np.dtype[np.bool_]],
    levels: tuple[FloatArray, FloatArray],
    cost: FloatArray,
) -> ArgusTable:
    table = here.table
    n, tops = len(table), table.facts.tops
    count = table.facts.count
    return ArgusTable(
        number=number,
        name=table.name,
        spanning=tuple(map(_spanning, table.dimensions)),
        response="Freq" if table.is_count else table.response,
        is_count=table.is_count,
        decimals=table.decimals,
        rule=SafetyRule(),
        codes=np.stack(table.codes, axis=1),
        value=table.value,
        freq=table.value if table.is_count else np.ones(n) if count is None else count,
        holdings=np.zeros(n),
        shadow=table.value,
        cost=np.maximum(cost, 0.0001),
        tops=np.zeros((n, 0)) if tops is None or table.is_count else tops,
        status=_status(here, unsafe),
        lower=np.where(unsafe, levels[0], 0.0),
        upper=np.where(unsafe, levels[1], 0.0),
    )


def _status(here: TableFindings, unsafe: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Status:
    said = here.table.apriori
    status = np.where(said.has(State.waived), SAFE_MANUAL, SAFE)
    status = np.where(said.has(State.must_publish), PROTECTED, status)
    status = np.where(said.has(State.secondary), SECONDARY, status)
    few = np.zeros(len(here.table), bool)
    for rule, found in zip(here.rules, here.unsafe, strict=True):
        few |= found & (rule.conf_status == "A")  # too few contributors
    by_hand = said.has(State.must_suppress)
    return np.where(unsafe, np.where(by_hand, MANUAL, np.where(few, FREQ, RULE)), status).astype(np.int8)


def _spanning(dimension: Dimension) -> Spanning:
    if len(dimension.hierarchies) > 1:
        raise InputError(
            f"the dimension {dimension.name!r} has several groupings, and a variable of τ-ARGUS has one hierarchy; "
            "leave out `also`"
        )
    tree = dimension.main
    hrc = "tree" if (tree.level > 1).any() else None
    return Spanning(Variable(dimension.name, 0, max(map(len, tree.codes)), total=tree.total, hrc=hrc), tree)
