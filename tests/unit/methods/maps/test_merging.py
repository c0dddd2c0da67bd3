"""Merging: the smallest safe cells by a plain search, and what is known of them by every map that may lie behind."""

import itertools
from collections import defaultdict

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cellguard.errors import NotProtected
from cellguard.geometry.areas import Areas
from cellguard.geometry.pieces import Quads
from cellguard.geometry.squaregrid import Squares
from cellguard.methods.maps.contributors import Contributors
from cellguard.methods.maps.merging.audit import audit
from cellguard.methods.maps.merging.known import Known
from cellguard.methods.maps.merging.merge import merge
from cellguard.methods.maps.merging.result import inside_of
from cellguard.methods.maps.merging.tree import pairing, quadtree
from cellguard.methods.maps.places import Tiles
from cellguard.rules.linear import Dominance, PPercent
from cellguard.rules.simple import MaxShare, MinFrequency

RULES = [MinFrequency(3)]


def plain_merge(counts, levels, k):
    """The shown squares of a map of counts as {(level, q, r): count}, and what is left out, by definition."""
    shown, out = {}, []

    def safe(level, q, r):
        return whole(level, q, r) >= (max(k, 3) if level else k)

    def whole(level, q, r):
        return sum(n for (a, b), n in counts.items() if (a >> level, b >> level) == (q, r))

    def split(level, q, r):
        """The pieces below a square, None if it must stay whole."""
        if level == 0:
            return [(0, q, r)]
        pieces = []
        for child in ((level - 1, 2 * q + i, 2 * r + j) for i in (0, 1) for j in (0, 1)):
            if not whole(*child):
                continue
            below = split(*child)
            if below is None or below == [child]:
                if not safe(*child):
                    return None
                below = [child]
            pieces += below
        return pieces

    for q, r in sorted({(a >> levels, b >> levels) for (a, b), n in counts.items() if n}):
        pieces = split(levels, q, r) or [(levels, q, r)]
        for piece in pieces:
            if safe(*piece):
                shown[piece] = whole(*piece)
            else:
                out.append(piece)
    return shown, out


def merged(counts, levels, k=3):
    places = [place for place, n in counts.items() if n]
    q, r = np.array(sorted(places)).T
    tree = quadtree(q, r, levels)
    count = np.array([counts[place] for place in sorted(places)])
    done = merge(tree, Known.of_counts(count), [MinFrequency(k)])
    shown = {
        (int(tree.level[n]), int(tree.q[n]), int(tree.r[n])): int(done.known.count[n]) for n in done.shown.tolist()
    }
    return shown, done


def test_a_small_map_worked_out_by_hand():
    """Of sixteen squares those of the lower left are merged, those of the upper right stay; one is left out."""
    counts = {(0, 0): 1, (1, 0): 4, (1, 1): 5, (2, 2): 3, (3, 2): 7, (2, 3): 4, (0, 2): 6, (8, 8): 2}
    shown, done = merged(counts, 1)
    assert shown == {(1, 0, 0): 10, (0, 2, 2): 3, (0, 3, 2): 7, (0, 0, 2): 6} | {(0, 2, 3): 4} or len(done.beside)
    assert len(done.unsafe) == 1 and [int(done.known.count[n]) for n in done.beside] == [3]
    shown, done = merged(counts | {(9, 8): 1}, 1)
    assert shown == {(1, 0, 0): 10, (1, 4, 4): 3, (0, 2, 2): 3, (0, 3, 2): 7, (0, 2, 3): 4, (0, 0, 2): 6}
    assert not len(done.left_out)
    shown, _ = merged(counts | {(2, 2): 1}, 2)  # one square below 3 merges its four, and these are enough
    assert shown[(1, 1, 1)] == 12 and (0, 2, 2) not in shown


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(st.tuples(st.integers(-4, 5), st.integers(-4, 5)), st.integers(1, 9), min_size=1, max_size=14),
    st.integers(0, 3),
    st.integers(2, 5),
)
def test_the_smallest_safe_squares_by_definition(counts, levels, k):
    plain, out = plain_merge(counts, levels, k)
    try:
        shown, done = merged(counts, levels, k)
    except NotProtected:
        assert sum(counts.values()) < max(k, 3)
        return
    tree = done.tree
    hidden = {(int(tree.level[n]), int(tree.q[n]), int(tree.r[n])): int(done.known.count[n]) for n in done.beside}
    assert shown | hidden == plain
    assert sorted((int(tree.level[n]), int(tree.q[n]), int(tree.r[n])) for n in done.unsafe) == sorted(out)
    if out:
        assert sum(counts.values()) - sum(shown.values()) >= k
        assert not hidden or max(hidden.values()) <= min(shown.values(), default=99)
    else:
        assert not hidden


def maps_of(places, most):
    """Every map on some places with so many records at the most."""
    if places == 0:
        yield ()
        return
    for first in range(most + 1):
        for rest in maps_of(places - 1, most - first):
            yield (first, *rest)


def worlds(release_of, places, most, k, knows=lambda counts: None):
    """For every release, with what an attacker knows, the maps that may lie behind it, up to so many records."""
    behind = defaultdict(list)
    for counts in maps_of(places, most):
        try:
            shown = release_of(counts, k)
        except NotProtected:
            continue
        behind[(shown, knows(counts))].append(counts)
    return behind


def told(behind, k):
    """The releases from which a count of a cell below the threshold, not 0, follows."""
    return [
        shown
        for shown, maps in behind.items()
        if ((low := np.min(maps, axis=0)) == np.max(maps, axis=0))[(low > 0) & (low < k)].any()
    ]


SQUARES = [(0, 0), (1, 0), (1, 1), (2, 0), (3, 1), (4, 4)]


def of_squares(levels):
    """Merged squares; without a limit of doubling nothing is left out."""

    def release_of(counts, k):
        some = {place: n for place, n in zip(SQUARES, counts, strict=False) if n}
        return tuple(sorted(merged(some, levels, k)[0].items())) if some else ()

    return release_of


def of_row(most):
    """A row of areas, merged in pairs."""

    def release_of(counts, k):
        areas = Areas(tuple("ABCDE"), ((0, 1), (1, 2), (2, 3), (3, 4)))
        done = merge(pairing(areas, most), Known.of_counts(np.array(counts)), [MinFrequency(k)])
        return tuple((n, int(done.known.count[n])) for n in done.shown.tolist())

    return release_of


@pytest.mark.parametrize(("release_of", "places"), [(of_squares(3), 6), (of_row(None), 5)], ids=["squares", "areas"])
@pytest.mark.parametrize(("k", "most"), [(2, 5), (3, 6), (4, 6)])
def test_no_small_count_follows_even_if_the_total_is_known(release_of, places, k, most):
    """No map is missing, since all that lie behind a release have its total; the attacker knows tree and rules."""
    behind = worlds(release_of, places, most, k, knows=sum)
    assert len(behind) > 4 and told(behind, k) == []


@pytest.mark.long
@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize(("release_of", "places"), [(of_squares(3), 6), (of_row(None), 5)], ids=["squares", "areas"])
def test_nor_from_larger_maps(release_of, places, k):
    assert told(worlds(release_of, places, 10, k, knows=sum), k) == []


@pytest.mark.parametrize(("release_of", "places"), [(of_squares(1), 6), (of_row(3), 5)], ids=["squares", "areas"])
@pytest.mark.parametrize("k", [2, 3])
def test_nor_from_a_map_that_leaves_cells_out(release_of, places, k):
    """A map without the total; maps of more records are missing, and could only make it harder to tell."""
    behind = worlds(release_of, places, 7, k)
    assert told({key: maps for key, maps in behind.items() if sum(n for _, n in key[0]) <= 4}, k) == []


def test_the_total_may_tell_what_is_left_out():
    """That is why it is named as not checked where cells are left out: whose company they keep depends on counts."""
    assert told(worlds(of_squares(1), 6, 8, 3, knows=sum), 3)


def test_who_knows_which_squares_have_records_may_tell_their_counts():
    """That is why it is named as not checked: three squares that have records and sum to 3 have one each."""
    knows = worlds(of_squares(3), 3, 4, 3, knows=lambda counts: (sum(counts), tuple(n > 0 for n in counts)))
    assert told(knows, 3)


def records(rng, places, most):
    leaf = rng.integers(0, places, rng.integers(3, most))
    return leaf, np.ceil(rng.lognormal(2, 1.5, len(leaf)))


@pytest.mark.parametrize("seed", range(20))
def test_values_are_merged_until_every_remainder_is_safe(seed):
    """By facts of single records: each shown cell, and all that is left out, satisfies every rule."""
    rng = np.random.default_rng(seed)
    q, r = (part.ravel() for part in np.meshgrid(np.arange(-3, 5), np.arange(6), indexing="ij"))
    leaf, value = records(rng, len(q), 300)
    rules = [MinFrequency(3), PPercent(10), [Dominance(2, 85), MaxShare(60)][seed % 2]]
    tree = quadtree(q, r, 2)
    leaves = Contributors.of(leaf, value, tree.leaves)
    try:
        done = merge(tree, Known.of_leaves(leaves, 3), rules)
    except NotProtected:
        return
    of_leaf = tree.roots_of(done.shown)
    number = {node: i for i, node in enumerate(done.shown.tolist())}
    group = np.array([number.get(node, len(number)) for node in of_leaf.tolist()])[leaf]
    facts = Contributors.of(group, value, len(number) + 1).facts(3)
    assert not any(rule.unsafe(facts).any() for rule in rules)
    known = done.known
    assert known.total[done.shown] == pytest.approx(facts.total[:-1])
    quads = Quads(Squares(1.0), tree.level[done.shown], tree.q[done.shown], tree.r[done.shown])
    tiles = Tiles(Squares(1.0), q, r, Squares(1.0).space(q, r), leaves.count, leaf)
    found = audit(inside_of(quads, tiles), facts.total[:-1], leaf, value, rules)
    assert found.is_safe and found.remainders == int((np.bincount(group) > 0).sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_audit_finds_what_linear_algebra_finds(seed):
    """Any set of pieces beside and in each other, and the total: what combinations tell, by the row space."""
    rng = np.random.default_rng(seed)
    q, r = (part.ravel() for part in np.meshgrid(np.arange(4), np.arange(4), indexing="ij"))
    tree = quadtree(q, r, 2)
    chosen = rng.choice(len(tree), rng.integers(2, 8), replace=False)
    quads = Quads(Squares(1.0), tree.level[chosen], tree.q[chosen], tree.r[chosen])
    leaf = np.repeat(np.arange(16), rng.integers(0, 5, 16))
    tiles = Tiles(Squares(1.0), q, r, Squares(1.0).space(q, r), np.bincount(leaf, minlength=16), leaf)
    inside = inside_of(quads, tiles)
    rows = np.array([np.isin(np.arange(16), piece) for piece in inside] + [np.ones(16)], float)
    figures = rows[:-1] @ np.bincount(leaf, minlength=16)
    found = audit(inside, figures, leaf, np.ones(len(leaf)), RULES)
    count = np.bincount(leaf, minlength=16)
    unsafe = set()
    for weights in itertools.product((-1, 0, 1), repeat=len(rows)):
        cells = np.array(weights) @ rows
        if set(np.unique(cells)) <= {0.0, 1.0} and 0 < (n := count[cells > 0].sum()) < 3:
            unsafe.add(n)
    assert bool(unsafe) == (found.unsafe > 0)


def test_the_audit_fails_closed():
    leaf, one = np.array([0, 0, 0, 1, 1, 1, 2]), np.ones(7)
    cells = [np.array([0]), np.array([1]), np.array([2])]
    figures = np.array([3.0, 3.0, 1.0])
    assert audit(cells[:2], figures[:2], leaf[:6], one[:6], RULES).is_safe
    assert audit(cells, figures, leaf, one, RULES).unsafe == 1, "a shown cell"
    assert audit(cells[:2], figures[:2], leaf, one, RULES).unsafe == 1, "what the total leaves"
    assert audit([*cells[:2], np.array([0, 1, 2])], np.array([3.0, 3, 7]), leaf, one, RULES).unsafe == 1, "a difference"
    assert audit(cells[:2], np.array([3.0, 4.0]), leaf[:6], one[:6], RULES).wrong == 1
    partly = [np.array([0, 1]), np.array([1, 2])]
    assert audit(partly, np.array([6.0, 4.0]), leaf, one, RULES).overlaps == 1


def test_what_can_be_merged_does_not_depend_on_records():
    areas = Areas(tuple("ABCD"), ((0, 1), (1, 2), (2, 3)))
    assert pairing(areas, 4).parent.tolist() == [4, 4, 5, 5, 6, 6, -1]
    assert pairing(areas, 2).parent.tolist() == [4, 4, 5, 5, -1, -1]
    assert pairing(Areas(("A", "B"), ()), 9).parent.tolist() == [-1, -1]
