"""Latent cells behind ready-made tables of counts: they join the set as a table that is not released.

From records the facts of latent cells are known, see `cellguard.inputs.latent`. Of ready-made tables only those of
counts can be judged: their latent cells have counts that fit, and the rules of all tables of the response.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count

from cellguard.rules.all_of import parts
from cellguard.rules.rule import Rule
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.fact import Mark
from cellguard.table.numbering import ResponseKey
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link
from cellguard.world.builder import ResponseClusters
from cellguard.world.constraints import constrain_tables
from cellguard.world.fitted import fitted_table
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import World, see_world

Rules = Mapping[str, Sequence[Rule]]
_NAME = "latent"
_TURNS = 4  # in which crossing tables may be divided further


def with_fitted(
    tables: TableSet, rules: Rules, knowledge: Knowledge, *, run: Run = UNWATCHED
) -> tuple[TableSet, dict[str, Sequence[Rule]]]:
    """Return a set with a table of the latent cells of each response of ready-made counts, and the rules of all tables.

    What is left out shows in the headline: see `cellguard.methods.suppress.headline`.
    """
    # Crossing tables of responses that an equation constraints would have to be tied, too.
    tied = {name for equation in tables.equations for _, name in equation.terms}
    response_keys = [
        response_key
        for response_key in tables.ready_made
        if response_key[0] not in tied and _is_count(tables, response_key)
    ]
    if not response_keys or not knowledge.crossing:
        return tables, dict(rules)
    joined, judged = tables, dict(rules)
    wanted = _with_latent_cells(tables, response_keys)
    for _ in range(_TURNS):
        if not wanted:
            return joined, judged
        world = see_world(joined, knowledge, run=run.endless())
        made: dict[Table, list[Rule]] = {}
        for house in (house for house in world.constraints.responses if wanted.get(house.response_key)):
            before = len(joined.tables) - len(tables.tables) + len(made)
            made |= _fit(world, house, wanted[house.response_key], _rules_of(tables, house.response_key, rules), before)
        if not made:
            return joined, judged
        joined = link([*joined.tables, *made], tables.equations)
        judged |= {table.name: own for table, own in made.items()}
        # Codes that fit no others may divide a crossing table further, once it is one of the tables.
        response_keys = [table.response_key for table in made]
        wanted = _with_latent_cells(joined, response_keys, {table.name for table in made})
    return tables, dict(rules)  # so that it is named as not checked


def _with_latent_cells(
    tables: TableSet, response_keys: Collection[ResponseKey], names: Collection[str] | None = None
) -> dict[ResponseKey, list[int]]:
    """Return the clusters with cells that no table lists, of some responses; those of some tables only, by name."""
    found: dict[ResponseKey, list[int]] = {}
    for house in constrain_tables(tables).responses:
        for number, room in enumerate(house.rooms):
            own = names is None or any(tables.tables[i].name in names for i in room.tables)
            if house.response_key in response_keys and own and (room.cell >= len(tables)).any():
                found.setdefault(house.response_key, []).append(number)
    return found


def _is_count(tables: TableSet, response_key: ResponseKey) -> bool:
    return any(t.is_count for t in tables.tables if t.response_key == response_key)


def _fit(
    world: World, house: ResponseClusters, clusters: Sequence[int], rules: Sequence[Rule], before: int
) -> dict[Table, list[Rule]]:
    """Return the tables of some clusters of a response, each with its rules; none if not all of them can be judged."""
    found: dict[Table, list[Rule]] = {}
    taken = {table.name for table in world.tables.tables}
    names = (name for i in count(before + 1) if (name := _NAME if i == 1 else f"{_NAME}{i}") not in taken)
    for number, name in zip(clusters, names, strict=False):
        table = fitted_table(world, house, number, name)
        own = [] if table is None else [rule for rule in rules if _can_judge(rule, table)]
        lacking = table is None or any(table.facts.missing(rule.facts) for rule in own)
        if table is None or lacking or not any(rule.can_fire for rule in own):
            return {}
        found[table] = own
    return found


def _rules_of(tables: TableSet, response_key: ResponseKey, rules: Rules) -> list[Rule]:
    """Return the rules of all tables of a response, each once."""
    listed = [rule for t in tables.tables if t.response_key == response_key for rule in rules[t.name]]
    return list({str(rule): rule for rule in listed}.values())


def _can_judge(rule: Rule, table: Table) -> bool:
    """Whether a rule needs no column of ready-made cells, and no dimension that a table does not have."""
    names = {d.name for d in table.dimensions}
    there = all(getattr(part, "by", None) in {None, *names} for part in parts(rule))
    return there and not any(isinstance(fact, Mark) for fact in rule.facts)
