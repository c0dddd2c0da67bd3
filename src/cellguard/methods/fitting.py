"""Latent cells behind ready-made tables of counts: they join the set as a table that is not released.

From records the facts of latent cells are known, see `cellguard.files.job_latent`. Of ready-made tables only those of
counts can be judged: their latent cells have counts that fit, and the rules of all tables of the response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cellguard.rules.rule import Rule, parts
from cellguard.table.fact import Mark
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link
from cellguard.types import UNWATCHED, Run
from cellguard.world.fitted import fitted_table
from cellguard.world.knowledge import Knowledge
from cellguard.world.ties import tie_tables
from cellguard.world.world import see_world

Rules = Mapping[str, Sequence[Rule]]
_NAME = "latent"


def with_fitted(
    tables: TableSet, rules: Rules, knowledge: Knowledge, *, run: Run = UNWATCHED
) -> tuple[TableSet, dict[str, Sequence[Rule]]]:
    """Return a set with a table of the latent cells of each response of ready-made counts, and the rules of all tables.

    What is left out shows in the headline: see `cellguard.headline`.
    """
    judged, made = dict(rules), list[Table]()
    # Crossing tables of responses that an equation ties would have to be tied, too.
    tied = {name for equation in tables.equations for _, name in equation.terms}
    topics = [topic for topic in tables.ready_made if topic[0] not in tied and _is_count(tables, topic)]
    if not topics or not knowledge.crossing:
        return tables, judged
    n, ties = len(tables), tie_tables(tables)
    wanted = [
        (house.topic, number)
        for house in ties.houses
        if house.topic in topics
        for number, room in enumerate(house.rooms)
        if (room.cell >= n).any()
    ]
    if not wanted:
        return tables, judged
    world = see_world(tables, knowledge, run=run.endless())
    houses = {house.topic: house for house in world.ties.houses}
    for topic, number in wanted:
        taken = [table.name for table in (*tables.tables, *made)]
        name = next(n for i in range(1, len(taken) + 2) if (n := _NAME if i == 1 else f"{_NAME}{i}") not in taken)
        table = fitted_table(world, houses[topic], number, name)
        own = None if table is None else _rules_of(table, tables, rules)
        if table is not None and own:
            made.append(table)
            judged[name] = own
    return (link([*tables.tables, *made], tables.equations) if made else tables), judged


def _is_count(tables: TableSet, topic: tuple[str, str]) -> bool:
    return any(t.is_count for t in tables.tables if (t.response, t.population) == topic)


def _rules_of(table: Table, tables: TableSet, rules: Rules) -> list[Rule] | None:
    """Return the rules of all tables of a response that can judge a fitted one; None if some lack a fact."""
    topic = table.response, table.population
    listed = [rule for t in tables.tables if (t.response, t.population) == topic for rule in rules[t.name]]
    names = {d.name for d in table.dimensions}
    every = [
        rule
        for rule in {str(rule): rule for rule in listed}.values()
        if all(getattr(part, "by", None) in {None, *names} for part in parts(rule))
        and not any(isinstance(fact, Mark) for fact in rule.facts)
    ]
    if any(table.facts.missing(rule.facts) for rule in every) or not any(rule.can_fire for rule in every):
        return None
    return every
