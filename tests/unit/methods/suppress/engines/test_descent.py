"""Patterns from above: circuits with room, tiers of what is published, and whatever comes out of them is safe."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import cellguard as cg
from cellguard.attack.audit import audit
from cellguard.errors import NotProtected, Stopped
from cellguard.methods.suppress.engines import descent
from cellguard.methods.suppress.engines.effort import NORMAL, QUICK
from cellguard.methods.suppress.engines.elimination import with_room
from cellguard.methods.suppress.engines.policy import USUAL, Policy
from cellguard.methods.suppress.engines.search import Search
from cellguard.methods.suppress.engines.system import build_system
from cellguard.methods.suppress.suppress import suppress
from cellguard.run_context import UNWATCHED, Run
from cellguard.table.apriori import State


def needs_of(seed, shape=(4, 4, 5)):
    """A table over three flat dimensions whose unsafe cells need amounts of very different size."""
    rng = np.random.default_rng(seed)
    contributions = np.maximum(rng.lognormal(5, 2, (*shape, 3)).round(), 1)
    rows = []
    for code in itertools.product(*(range(size + 1) for size in shape)):
        at = tuple(slice(None) if c == size else c for c, size in zip(code, shape, strict=True))
        inside = np.sort(contributions[at].ravel())[::-1]
        names = ["Total" if c == size else str(c) for c, size in zip(code, shape, strict=True)]
        rows.append([*names, inside.sum(), inside[0], inside[1]])
    data = dict(zip(["a", "b", "c", "x", "x1", "x2"], map(list, zip(*rows, strict=True)), strict=True))
    return cg.require(cg.assess(cg.cells(data, by=list("abc"), value="x", top=["x1", "x2"]), [cg.PPercent(10)]))


def system_of(needs):
    return build_system(needs, np.maximum(needs.tables.value, 1.0))


@pytest.fixture
def steep(monkeypatch):
    """Look for the patterns of small sets from above, too."""
    monkeypatch.setattr(Search, "is_steep", property(lambda self: True))


def moved(system, among):
    """Tell of each cell whether some move of these cells, and of itself, moves it: from one decomposition."""
    matrix = system.matrix.toarray()
    left, sizes, right = np.linalg.svd(matrix[:, among])
    rank = int((sizes > 1e-9).sum())
    found = np.abs(left[:, rank:].T @ matrix).max(axis=0, initial=0.0) < 1e-9  # others make up for its column
    found[among] = np.abs(right[rank:]).max(axis=0, initial=0.0) > 1e-9
    return found


@pytest.mark.parametrize("share", [0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_every_need_is_on_a_circuit_of_cells_with_room_for_it(seed, share):
    system = system_of(needs_of(seed))
    need = np.maximum(system.levels.up, system.levels.down)
    hidden = with_room(system, system.hidden, need, share, run=UNWATCHED)
    assert (need > 0).sum() > 10 and (hidden >= system.hidden).all()
    size, room = np.floor(np.log2(np.maximum(need, 1e-9))), np.minimum(system.up, system.down)
    for one in np.unique(size[need > 0]):
        alike = (need > 0) & (size == one)
        enough = room >= share * need[alike].max()
        assert (moved(system, hidden & enough) == moved(system, ~system.never & enough))[alike].all()


@pytest.mark.parametrize("rows", [0, USUAL.large_rows])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_pattern_and_every_tier_are_safe(seed, rows, monkeypatch):
    """Where every system counts as large, tiers are looked at roughly, by what is near, and exactly only in the end."""
    needs = needs_of(seed)
    system = replace(system_of(needs), policy=Policy(large_rows=rows, near_worth=0, near_rows=(8, 40)))
    search, kept = Search(system, NORMAL, UNWATCHED), []
    keep = search.keep
    monkeypatch.setattr(search, "keep", lambda hidden: keep(hidden) and not kept.append(hidden.copy()))
    descent.first_pattern(search, None)
    first = search.cost(search.pattern())
    descent.publish_tiers(search)
    search.reroute_flows()
    assert len(kept) > 1 and search.cost(search.pattern()) < first
    assert all(audit(needs, system.pattern(hidden)).verdict == "safe" for hidden in kept)


def test_cells_of_an_earlier_pattern_are_published_last():
    needs = needs_of(1)
    system = system_of(needs)
    search = Search(system, QUICK, UNWATCHED)
    descent.first_pattern(search, None)
    earlier = search.pattern()
    search = Search(system, QUICK, UNWATCHED)
    descent.first_pattern(search, earlier)
    assert audit(needs, system.pattern(search.pattern())).verdict == "safe"
    assert (search.pattern() & ~earlier).sum() < 0.1 * earlier.sum()


@pytest.mark.parametrize("effort", [QUICK, NORMAL])
@pytest.mark.parametrize("seed", range(4))
def test_whole_searches_from_above_are_safe_and_above_their_bound(seed, effort, steep):
    needs = needs_of(seed)
    chosen = suppress(needs, effort=effort)
    assert audit(needs, chosen.pattern).verdict == "safe"
    assert chosen.bound <= chosen.cost * (1 + 1e-9)


@pytest.mark.parametrize("words", range(1, 40, 3))
def test_whenever_it_is_stopped_the_pattern_is_safe_or_there_is_none(words, steep):
    needs, left = needs_of(2), [words]

    def tell(event):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt

    try:
        chosen = suppress(needs, run=Run(listen=tell))
    except (Stopped, KeyboardInterrupt):
        return
    assert audit(needs, chosen.pattern).verdict == "safe"


def test_what_nothing_can_protect_is_said(steep):
    needs = needs_of(3, (3, 3, 3))
    table = needs.tables.tables[0]
    state = np.where(needs.primary, State.none, State.must_publish).astype(np.int8)
    stubborn = replace(table, apriori=replace(table.apriori, state=state))
    with pytest.raises(NotProtected):
        suppress(cg.require(cg.assess(stubborn, [cg.PPercent(10)])))
