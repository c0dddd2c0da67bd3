"""Keys are equal exactly where the codes are, however many codes there are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cellguard.table.keys import combine, find, first_repeat

from properties.random_tables import quick

sizes = st.sampled_from([1, 2, 7, 1000, 2**20, 2**24])


@st.composite
def columns(draw):
    """Rows of codes with many repeats; the product of the sizes often exceeds 64 bits."""
    wide = draw(st.lists(sizes, min_size=1, max_size=6))
    codes = [st.sampled_from(sorted({0, 1 % size, size // 2, size - 1})) for size in wide]
    rows = draw(st.lists(st.tuples(*codes), min_size=1, max_size=30))
    return rows, [np.array(column) for column in zip(*rows, strict=True)], wide


@quick
@given(columns(), st.sampled_from([1, 3, 2**24]))
def test_keys_are_equal_exactly_where_all_codes_are(case, room):
    rows, cols, wide = case
    keys = combine(cols, wide, room=room).tolist()
    assert [keys.index(key) for key in keys] == [rows.index(row) for row in rows]
    assert min(keys) >= 0
    assert (max(keys) + 1) * room <= 2**63


@quick
@given(columns())
def test_the_first_repeat_is_the_first_row_that_was_seen_before(case):
    rows, cols, wide = case
    seen = next(((rows.index(row), i) for i, row in enumerate(rows) if row in rows[:i]), None)
    assert first_repeat(combine(cols, wide)) == seen


whole_numbers = st.integers(-(2**62), 2**62)


@quick
@given(st.lists(whole_numbers, unique=True), st.lists(whole_numbers), st.data())
def test_find_gives_each_keys_position_or_minus_one(known, others, data):
    picked = data.draw(st.lists(st.sampled_from(known))) if known else []
    wanted = others + picked
    position = {key: i for i, key in enumerate(known)}
    found = find(np.array(wanted, np.int64), np.array(known, np.int64))
    assert found.tolist() == [position.get(key, -1) for key in wanted]
