"""Everything that a release must not tell: unsafe cells that tables list, sums of suppressed cells, latent cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from fuzz.attack import Attack, Disclosure
from fuzz.cases import Case
from fuzz.judge import amounts, unsafe_cells
from fuzz.latent import Latent
from fuzz.public import read_axes, read_shown, with_code
from fuzz.scene import Scene, responses
from fuzz.sums import Sums
from fuzz.worlds import ALL, Knowledge, gather, make_space, response

KINDS = ("cell", "sum", "latent", "rest")  # and on demand "any sum": more than a release claims
# What a summary calls not checked, or not proven, is not claimed.
OPEN = {
    "sum": {"sums", "unions"},
    "any sum": {"sums", "unions"},
    "latent": {"latent", "crossing"},
    "rest": {"latent", "crossing", "differences"},
}


def find_all(case: Case, release: Path, know: Knowledge = ALL, kinds: Collection[str] = KINDS) -> list[Disclosure]:
    """Attack the files in a release folder, and return all of some kinds that is less uncertain than promised."""
    unsafe = unsafe_cells(case)
    tables = read_shown(case, release)
    judged = responses(case, tables) if know.crossing and know.identity else []
    latents = [Latent(one) for one in judged if {"latent", "rest"} & set(kinds)]
    cells = [latent.unsafe() for latent in latents]
    axes = {axis.column: axis for axis in read_axes(case).values()}
    asked = [(cell.axes, cell.codes) for cell in unsafe]
    for latent, found in zip(latents, cells, strict=True):
        for column, leaves in {pair for cell in found for pair in zip(latent.columns, cell, strict=True)}:
            asked.append(([with_code(axes[column], "latent", leaves)], ("latent",)))
    space = make_space(tables, asked, know)
    columns = {space.column(axis): axis.column for table in tables for axis in table.axes}
    truth = {
        response(table.response_key, know): space.truth(
            case.records, amounts(case.records, table.response_key.column), columns
        )
        for table in tables
    }
    attack = Attack(gather(space, tables), truth)
    goals = [cell.goal(space, know) for cell in unsafe]
    if judged:
        scene = Scene(space, attack.facts, space.places(0, case.records, columns))
        goals += [goal for latent, found in zip(latents, cells, strict=True) for goal in latent.goals(found, scene)]
        for sums in (Sums(one, scene) for one in judged if not one.is_ready):
            goals += sums.goals() if "sum" in kinds else ()
            goals += sums.any_few() if "any sum" in kinds else ()
    return attack.disclosures(goal for goal in goals if goal.kind in kinds)


def claimed(found: Iterable[Disclosure], not_checked: Collection[str]) -> list[Disclosure]:
    """Those that the summary does not name as left out."""
    return [one for one in found if not OPEN.get(one.goal.kind, set()) & set(not_checked)]
