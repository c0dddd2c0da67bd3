"""Latent cells behind ready-made tables of counts: the crossing table joins the set as one that is not released.

From records the facts of latent cells are known, see `cellguard.files.job_latent`. Of ready-made tables only those of
counts can be judged: the crossing table has counts that fit, and the rules of all tables of its response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cellguard.rules.rule import Rule, parts
from cellguard.table.fact import Mark
from cellguard.table.populations import uncrossed
from cellguard.table.table import Table
from cellguard.table.tableset import TableSet, link
from cellguard.types import UNWATCHED, Run
from cellguard.world.fitted import fitted_table
from cellguard.world.knowledge import Knowledge
from cellguard.world.world import see_world

Rules = Mapping[str, Sequence[Rule]]
_NAME = "latent"


def with_fitted(
    tables: TableSet, rules: Rules, knowledge: Knowledge, *, run: Run = UNWATCHED
) -> tuple[TableSet, dict[str, Sequence[Rule]]]:
    """Return a set with the crossing table behind each response of ready-made counts, and the rules of all tables.

    What is left out shows in the headline: see `uncrossed` of `cellguard.table.populations`.
    """
    topics = [topic for topic in _cyclic(tables) if knowledge.crossing]
    judged = dict(rules)
    if not topics:
        return tables, judged
    world = see_world(tables, knowledge, run=run.endless())
    made = list[Table]()
    for house in (house for house in world.ties.houses if house.topic in topics):
        taken = [table.name for table in (*tables.tables, *made)]
        name = next(n for i in range(1, len(taken) + 2) if (n := _NAME if i == 1 else f"{_NAME}{i}") not in taken)
        table = fitted_table(world, house, name)
        own = None if table is None else _rules_of(table, tables, rules)
        if table is not None and own:
            made.append(table)
            judged[name] = own
    return (link([*tables.tables, *made], tables.equations) if made else tables), judged


def _cyclic(tables: TableSet) -> list[tuple[str, str]]:
    """Return the responses of ready-made counts that have a crossing table which the set does not have.

    Those that an equation ties to others are not among them: their crossing tables would have to be tied, too.
    """
    tied = {name for equation in tables.equations for _, name in equation.terms}
    found = []
    for open_ in uncrossed(tables.tables):
        first = tables[open_.tables[0]]
        own = [tables[name] for name in open_.tables]
        ready = all(t.origin != "records" or t.release == "earlier" for t in own)
        if first.is_count and ready and first.response not in tied:
            found.append((first.response, first.population))
    return found


def _rules_of(table: Table, tables: TableSet, rules: Rules) -> list[Rule] | None:
    """Return the rules of all tables of a response that can judge its crossing table; None if some lack a fact."""
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
