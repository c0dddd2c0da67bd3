"""Repairs against respondents: when they end."""

import numpy as np
import pytest

from cellguard.attack.insider_coverage import Coverage
from cellguard.attack.insider_programs import Programs
from cellguard.attack.insider_search import Search
from cellguard.attack.insider_system import system_of
from cellguard.methods.suppress.engines import insider_repair
from cellguard.methods.suppress.engines.insider_hiding import HIDING, LAST, Hiding
from cellguard.run_context import UNWATCHED
from unit.attack.test_insider_coverage import drawn_knowledge


def hiding_of(seed):
    """A repair in which all cells of a small table by chance are suppressed, and nothing is proven."""
    system = system_of(drawn_knowledge(seed))
    programs, cost = Programs(system, UNWATCHED), np.ones(system.n)
    return Hiding(Coverage(system), np.ones(system.n, bool), programs, UNWATCHED, cost, np.ones(system.n, bool))


@pytest.mark.parametrize("each_time", [1, 0])
def test_the_last_cells_are_looked_at_as_long_as_that_helps(monkeypatch, each_time):
    hiding, turns = hiding_of(8), []
    many = len(hiding.coverage.open())
    assert many > 3

    def suppress(hiding, failing, steps, most):
        turns.append(len(failing))
        hiding.coverage.many[hiding.coverage.open()[:each_time]] = 0

    monkeypatch.setattr(Search, "settle_all", lambda *args, **options: [])
    monkeypatch.setattr(insider_repair, "_suppress", suppress)
    insider_repair._finish(hiding)
    assert len(turns) == (many if each_time else 1)
    assert len(hiding.coverage.open()) == (0 if each_time else many)


@pytest.mark.parametrize(("share", "looks"), [(1e-2, [LAST]), (1e-4, [])])
def test_who_would_pay_much_looks_among_all_suppressed_cells_first(monkeypatch, share, looks):
    hiding, asked, paid = hiding_of(8), [], iter([1.0, 0.9, 0.8, 0.7])
    monkeypatch.setattr(Hiding, "near", lambda hiding, cell, step, amount: np.arange(2 + HIDING.index(step)))
    monkeypatch.setattr(Programs, "live", lambda programs, room, cell, amount: room)
    monkeypatch.setattr(Hiding, "moved", lambda hiding, cell, amount, avoid, steps: asked.append(steps) or True)
    monkeypatch.setattr(Hiding, "take", lambda hiding, room, moves, cell: True)
    most = float(hiding.cost.sum())

    def cheapest(hiding, room, cell, amount):
        return np.zeros(len(room.cells)), share * most * next(paid)

    monkeypatch.setattr(Hiding, "_cheapest_move", cheapest)
    assert hiding.hide(0, 1, np.zeros(0, np.int32), HIDING)
    assert asked == looks
    assert next(paid) == (0.8 if looks else 0.7)
