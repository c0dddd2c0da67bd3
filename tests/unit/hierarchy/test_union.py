"""One dimension from two releases: the union of the codes, with the same meaning."""

from random import Random

import pytest

from cellguard.errors import HierarchyError
from cellguard.hierarchy.build import flat, from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.recode import cut
from cellguard.hierarchy.union import unite

from fuzz.trees import draw_tree


def draw(rng, mark, leaves):
    tree = from_parents(list(draw_tree(rng, mark, leaves).items()))
    inner = [code for code in tree.codes[1:] if tree.children(code)]
    return Dimension("d", cut(tree, [rng.choice(inner)]) if inner and rng.random() < 0.4 else tree)


def meanings(dimension):
    return {code: held for tree in dimension.hierarchies for code, held in tree.leaf_sets().items()}


def test_codes_keep_their_parts():
    """A code is the sum of the codes below it, in the union as in each of both."""
    united = 0
    for seed in range(400):
        rng = Random(seed)  # noqa: S311
        leaves = [f"l{i}" for i in range(rng.randint(2, 7))]
        first, second = draw(rng, "A", leaves), draw(rng, "B", leaves)
        try:
            both = unite(first, second)
        except HierarchyError:
            continue
        united += 1
        held = meanings(both)
        assert set(both.codes) == {*first.codes, *second.codes}
        for tree in (first.main, second.main):
            for code in tree.codes:
                if parts := tree.children(code):
                    sets = [held[part] for part in parts]
                    assert frozenset().union(*sets) <= held[code] and sum(map(len, sets)) == len(
                        frozenset().union(*sets)
                    )
    assert united > 200


def test_levels_of_the_first_stay():
    fine = from_parents([("Total", ""), ("N", "Total"), ("n1", "N"), ("n2", "N"), ("S", "Total")])
    both = unite(Dimension("d", fine), Dimension("d", flat(["S", "N"])))
    assert both.codes == fine.codes and len(both.hierarchies) == 1


def test_one_code_with_two_meanings():
    one = from_parents([("Total", ""), ("A", "Total"), ("B", "Total"), ("x", "A"), ("y", "B")])
    two = from_parents([("Total", ""), ("A", "Total"), ("B", "Total"), ("y", "A"), ("x", "B")])
    with pytest.raises(HierarchyError, match="must mean the same in all releases"):
        unite(Dimension("d", one), Dimension("d", two))


def test_groups_of_unknown_parts_cannot_be_placed():
    with pytest.raises(HierarchyError, match="how they overlap is not known"):
        unite(Dimension("d", flat(["N", "S"])), Dimension("d", flat(["coast", "inland"])))


def test_totals_have_one_name():
    with pytest.raises(HierarchyError, match="call it the same"):
        unite(Dimension("d", flat(["N"])), Dimension("d", flat(["N"], total="All")))
