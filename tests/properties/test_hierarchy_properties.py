"""Random hierarchies: every way of writing them down gives the same tree, and recoding keeps their meaning."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cellguard.hierarchy.build import from_levels, from_parents
from cellguard.hierarchy.hierarchy import Dimension
from cellguard.hierarchy.hrc import parse_hrc
from cellguard.hierarchy.recode import cut, merge, to_level
from cellguard.table.read import cells
from cellguard.table.tableset import link

from oracle import ancestors, leaves_below, overlapping
from properties.random_tables import World, dimensions, generators, hierarchies, pick, quick, some, table_of


def tree(hierarchy):
    return [(code, hierarchy.parent_of(code)) for code in hierarchy.codes]


def paths(hierarchy):
    """For each leaf its codes from the top, the total left out."""
    above = ancestors(hierarchy)
    return [[*above[leaf][-2::-1], leaf] for leaf in hierarchy.leaves]


@quick
@given(hierarchies)
def test_parents_come_before_children_and_the_total_first(hierarchy):
    assert hierarchy.codes[0] == hierarchy.total
    assert all(hierarchy.position[above] < i for i, (_, above) in enumerate(tree(hierarchy)) if above)


@quick
@given(hierarchies)
def test_levels_and_leaves_follow_from_the_ancestors(hierarchy):
    above = ancestors(hierarchy)
    assert hierarchy.level.tolist() == [len(above[code]) for code in hierarchy.codes]
    assert {code: set(leaves) for code, leaves in hierarchy.leaf_sets().items()} == leaves_below(hierarchy)
    assert set(hierarchy.leaves) == leaves_below(hierarchy)["Total"]


@quick
@given(hierarchies)
def test_parent_pairs_give_the_tree_back(hierarchy):
    pairs = [(code, above or "") for code, above in tree(hierarchy)]
    assert tree(from_parents(pairs)) == tree(hierarchy)


@quick
@given(hierarchies, st.randoms(use_true_random=False))
def test_the_order_of_parent_pairs_does_not_change_the_tree(hierarchy, random):
    pairs = [(code, above or "") for code, above in tree(hierarchy)]
    random.shuffle(pairs)
    assert set(tree(from_parents(pairs))) == set(tree(hierarchy))


@quick
@given(hierarchies, st.booleans())
def test_level_columns_give_the_tree_back(hierarchy, blank):
    width = int(hierarchy.level.max())
    rows = [path + ["" if blank else path[-1]] * (width - len(path)) for path in paths(hierarchy)]
    assert tree(from_levels(rows)) == tree(hierarchy)


@quick
@given(hierarchies, st.sampled_from(["@", "--", " "]))
def test_hrc_text_gives_the_tree_back(hierarchy, lead):
    lines = [lead * (depth - 1) + code for code, depth in zip(hierarchy.codes, hierarchy.level.tolist(), strict=True)]
    assert tree(parse_hrc("\n".join(lines[1:]), lead=lead)) == tree(hierarchy)


@quick
@given(dimensions)
def test_a_dimension_has_the_codes_and_parents_of_all_its_hierarchies(dimension):
    assert set(dimension.codes) == {code for h in dimension.hierarchies for code in h.codes}
    for hierarchy, parents in zip(dimension.hierarchies, dimension.parents, strict=True):
        expected = dict(tree(hierarchy))
        for code, parent in zip(dimension.codes, parents.tolist(), strict=True):
            assert (code in expected) == (parent > -2)
            if parent > -2:
                assert expected[code] == (dimension.codes[parent] if parent >= 0 else None)


@quick
@given(dimensions)
def test_overlaps_are_the_pairs_that_do_not_nest(dimension):
    sets = {code: leaves for h in dimension.hierarchies for code, leaves in leaves_below(h).items()}
    assert {frozenset(pair) for pair in dimension.overlaps()} == overlapping(sets)


def with_siblings(hierarchy, rng):
    """The hierarchy with two or three new codes side by side, all leaves or all inner, and these codes."""
    parent = pick(rng, hierarchy.codes)
    codes = [f"m{i}" for i in range(rng.integers(2, 4))]
    pairs = [(code, above or "") for code, above in tree(hierarchy)] + [(code, parent) for code in codes]
    if rng.random() < 0.5:
        pairs += [(f"{code}{i}", code) for code in codes for i in range(rng.integers(1, 3))]
    return from_parents(pairs), codes


merges = st.builds(with_siblings, hierarchies, generators)


@quick
@given(merges, st.booleans())
def test_merging_maps_every_leaf_set(case, keep_name):
    hierarchy, codes = case
    name = codes[0] if keep_name else "new"
    into = dict.fromkeys(codes, name)
    expected = {}
    for code, leaves in leaves_below(hierarchy).items():
        expected.setdefault(into.get(code, code), set()).update(into.get(leaf, leaf) for leaf in leaves)
    coarser = merge(hierarchy, {name: codes})
    assert leaves_below(coarser) == expected
    assert coarser.merged == {code: name for code in codes if code != name}


@quick
@given(hierarchies, st.data())
def test_cutting_maps_every_leaf_set(hierarchy, data):
    stumps = data.draw(st.sets(st.sampled_from(hierarchy.codes)))
    gone = {code: [a for a in above if a in stumps] for code, above in ancestors(hierarchy).items()}
    gone = {code: above[-1] for code, above in gone.items() if above}
    expected = {
        code: {gone.get(leaf, leaf) for leaf in leaves}
        for code, leaves in leaves_below(hierarchy).items()
        if code not in gone
    }
    coarser = cut(hierarchy, stumps)
    assert leaves_below(coarser) == expected
    assert coarser.cut_off == gone


@quick
@given(hierarchies, st.data())
def test_recoding_to_a_level_keeps_exactly_the_codes_down_to_it(hierarchy, data):
    level = data.draw(st.integers(0, int(hierarchy.level.max())))
    kept = [code for code, depth in zip(hierarchy.codes, hierarchy.level.tolist(), strict=True) if depth <= level]
    assert list(to_level(hierarchy, level).codes) == kept


def recode(merging, other, rng):
    """A table with all codes of two dimensions, and a coarser hierarchy of the first."""
    hierarchy, codes = merging
    coarser = merge(hierarchy, {"new": codes})
    coarser = cut(coarser, some(rng, coarser.codes, pick(rng, [0, 0.2])))
    dims = Dimension("d0", hierarchy), Dimension("d1", other)
    value = rng.integers(0, 9, [len(d.main.leaves) for d in dims])
    return table_of(rng, World(dims, value), {d.name: list(d.codes) for d in dims}), coarser


@quick
@given(st.builds(recode, merges, hierarchies, generators))
def test_a_recoded_table_still_adds_up(case):
    table, coarser = case
    columns = {d.name: [d.codes[c] for c in col] for d, col in zip(table.dimensions, table.codes, strict=True)}
    again = cells({**columns, "x": table.value}, {"d0": coarser, "d1": table.dimensions[1]}, value="x")
    link(again)
    named = {again.cell_name(i): value for i, value in enumerate(again.value)}
    expected = {}
    for name, value in zip(map(table.cell_name, range(len(table))), table.value, strict=True):
        code, rest = name.split("/")
        code = coarser.merged.get(code, code)
        if code not in coarser.cut_off:
            expected[f"{code}/{rest}"] = expected.get(f"{code}/{rest}", 0) + value
    assert named == expected
