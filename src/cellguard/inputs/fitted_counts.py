"""Latent cells behind ready-made tables of counts: they join the set as a table that is not released.

From records the facts of latent cells are known, see `cellguard.inputs.latent`. Of ready-made tables only those of
counts can be judged: their latent cells have counts that fit, and the rules of all tables of the response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from cellguard.rules.all_of import parts
from cellguard.rules.rule import Rule
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.fact import Mark
from cellguard.table.numbering import Topic
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link
from cellguard.world.builder import ResponseClusters
from cellguard.world.constraints import constrain_tables
from cellguard.world.fitted import fitted_table
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import World, see_world

Rules = Mapping[str, Sequence[Rule]]
_NAME = "latent"


def with_fitted(
    tables: TableSet, rules: Rules, knowledge: Knowledge, *, run: Run = UNWATCHED
) -> tuple[TableSet, dict[str, Sequence[Rule]]]:
    """Return a set with a table of the latent cells of each response of ready-made counts, and the rules of all tables.

    What is left out shows in the headline: see `cellguard.methods.suppress.headline`.
    """
    judged, made = dict(rules), list[Table]()
    # Crossing tables of responses that an equation constraints would have to be tied, too.
    tied = {name for equation in tables.equations for _, name in equation.terms}
    topics = [topic for topic in tables.ready_made if topic[0] not in tied and _is_count(tables, topic)]
    if not topics or not knowledge.crossing:
        return tables, judged
    n = len(tables)
    wanted = {
        house.topic: [number for number, room in enumerate(house.rooms) if (room.cell >= n).any()]
        for house in constrain_tables(tables).responses
        if house.topic in topics
    }
    if not any(wanted.values()):
        return tables, judged
    world = see_world(tables, knowledge, run=run.endless())
    for house in (house for house in world.constraints.responses if wanted.get(house.topic)):
        own = _fit(world, house, wanted[house.topic], _rules_of(tables, house.topic, rules), len(made))
        made += own
        judged |= {table.name: asked for table, asked in own.items()}
    return (link([*tables.tables, *made], tables.equations) if made else tables), judged


def _is_count(tables: TableSet, topic: Topic) -> bool:
    return any(t.is_count for t in tables.tables if (t.response, t.population) == topic)


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


def _rules_of(tables: TableSet, topic: Topic, rules: Rules) -> list[Rule]:
    """Return the rules of all tables of a response, each once."""
    listed = [rule for t in tables.tables if (t.response, t.population) == topic for rule in rules[t.name]]
    return list({str(rule): rule for rule in listed}.values())


def _can_judge(rule: Rule, table: Table) -> bool:
    """Whether a rule needs no column of ready-made cells, and no dimension that a table does not have."""
    names = {d.name for d in table.dimensions}
    there = all(getattr(part, "by", None) in {None, *names} for part in parts(rule))
    return there and not any(isinstance(fact, Mark) for fact in rule.facts)
