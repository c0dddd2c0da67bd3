"""What an attacker concludes: message passing and enumeration against a list of every possible truth."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.methods.keys import posterior as module
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.posterior import Published, infer

from keys_oracle import brute, publish

TABLE = Design(2, 1.0).table()
# A tree: 0 = 1 + 2, 2 = 3 + 4. Two rows by two columns: 4 = 0 + 1, 5 = 2 + 3, 6 = 0 + 2, 7 = 1 + 3, 8 = 4 + 5 = 6 + 7.
TREE = [[1, -1, -1, 0, 0], [0, 0, 1, -1, -1]], [{0, 1, 2}, {0}, {1, 2}, {1}, {2}], [1, 3, 4]
CROSS = (
    [
        [-1, -1, 0, 0, 1, 0, 0, 0, 0],
        [0, 0, -1, -1, 0, 1, 0, 0, 0],
        [-1, 0, -1, 0, 0, 0, 1, 0, 0],
        [0, -1, 0, -1, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, -1, -1, 0, 0, 1],
        [0, 0, 0, 0, 0, 0, -1, -1, 1],
    ],
    [{0}, {1}, {2}, {3}, {0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 1, 2, 3}],
    [0, 1, 2, 3],
)
LINE = [[1, -1, -1, -1]], [{0, 1, 2}, {0}, {1}, {2}], [1, 2, 3]


def seen(published, relations, *, table=TABLE, filled=(), fixed=(), prior=(1.0,)):
    n = len(published)
    marks = [np.isin(np.arange(n), list(cells)) for cells in (filled, fixed)]
    rows = sp.csr_array(np.array(relations, float))
    return Published(np.array(published), rows, table, table.chances(), *marks, np.array(prior))


def agrees(found, truth):
    for cell, chances in enumerate(truth):
        for count in range(60):
            assert found.of(count)[cell] == pytest.approx(chances.get(count, 0.0), abs=2e-9), (cell, count)


@pytest.mark.parametrize("shape", [TREE, LINE], ids=["tree", "line"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_are_exact(shape, seed):
    relations, members, inner = shape
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(3) < 0.4, 0, rng.integers(1, 5, 3)).tolist()
    said = publish(TABLE, counts, members, rng)
    found = infer(seen(said, relations))
    assert found.exact.all()
    agrees(found, brute(TABLE, said, members, inner))


@pytest.mark.parametrize("seed", range(4))
def test_small_circles_are_enumerated(seed):
    relations, members, inner = CROSS
    rng = np.random.default_rng(seed)
    counts = np.where(rng.random(4) < 0.4, 0, rng.integers(1, 4, 4)).tolist()
    said = publish(TABLE, counts, members, rng)
    found = infer(seen(said, relations))
    assert found.exact.all()
    agrees(found, brute(TABLE, said, members, inner))


def test_every_release_of_a_small_table_is_exact():
    """Whatever is published of two parts and their sum, the posterior is that of the list of all truths."""
    relations, members, inner = [[1, -1, -1]], [{0, 1}, {0}, {1}], [1, 2]
    small = Design(1, 0.5).table()
    possible = {
        (a + b + e, a + f, b + g)
        for a in range(3)
        for b in range(3)
        for e in (-1, 0, 1)
        for f in (-1, 0, 1)
        for g in (-1, 0, 1)
    }
    checked = 0
    for said in sorted(s for s in possible if min(s) >= 0):
        try:
            truth = brute(small, list(said), members, inner)
        except ZeroDivisionError:
            continue  # nothing true gives this
        agrees(infer(seen(list(said), relations, table=small)), truth)
        checked += 1
    assert checked > 30


def test_what_is_known_beforehand():
    relations, members, inner = TREE
    said = publish(TABLE, [2, 0, 1], members, np.random.default_rng(4))
    prior = np.array([0.1, 0.5, 0.2, 0.2])
    known = {"filled": (1,), "prior": prior}
    truth = brute(TABLE, said, members, inner, filled=(1,), prior=lambda count: prior[min(count, 3)])
    agrees(infer(seen(said, relations, **known)), truth)


def test_a_total_that_is_published_as_it_is_tells_more():
    relations, members, inner = LINE
    said = [6, 1, 3, 2]
    found = infer(seen(said, relations, fixed=(0,)))
    agrees(found, brute(TABLE, said, members, inner, fixed=(0,)))
    assert found.of(6)[0] == pytest.approx(1.0)


def test_a_sum_with_the_count_of_its_part_tells_that_the_others_are_empty():
    """Equal records, equal noise: as independent noise the same figures would tell less."""
    relations, members, inner = [[1, -1, -1]], [{0, 1}, {0}, {1}], [1, 2]
    same, other = (infer(seen(said, relations)).of(0)[2] for said in ([5, 5, 0], [6, 5, 0]))
    assert same > 0.8 and other == 0.0
    agrees(infer(seen([6, 5, 0], relations)), brute(TABLE, [6, 5, 0], members, inner))


def test_larger_circles_are_estimated_and_say_so(monkeypatch):
    relations, members, inner = CROSS
    said = publish(TABLE, [3, 4, 2, 5], members, np.random.default_rng(2))
    monkeypatch.setattr(module, "_MOST_ENUMERATED", 0)
    found = infer(seen(said, relations))
    assert not found.exact.any()
    truth = brute(TABLE, said, members, inner)
    assert max(abs(found.of(k)[c] - truth[c].get(k, 0.0)) for c in range(9) for k in range(20)) < 0.25


def test_relations_that_are_too_long_are_left_out_and_said(monkeypatch):
    monkeypatch.setattr(module, "_MOST_PARTS", 3)
    relations, _, _ = LINE
    found = infer(seen([6, 1, 3, 2], relations))
    assert found.long == 1 and not found.exact.any()


def test_plain_keys_tie_the_noise_of_a_sum_to_that_of_its_parts():
    """With keys that add up, an attacker who knows the table learns more than from independent noise."""
    keys, small = 48, Design(1, 0.5).table()
    counts = [(a, b) for a in range(5) for b in range(5)]
    worst = 0.0
    joint: dict[tuple[int, int, int], dict[int, float]] = {}
    for a, b in counts:
        for u in range(keys if a else 1):
            for w in range(keys if b else 1):
                key = (u + w) % keys
                all_three = ((a + b, key), (a, u), (b, w))
                said = tuple(int(n + small.noise(np.array([n]), np.array([k]), keys)[0]) for n, k in all_three)
                weight = (1 if a else keys) * (1 if b else keys)
                joint.setdefault(said, {})[a] = joint.setdefault(said, {}).get(a, 0.0) + weight
    for said, chances in joint.items():
        if max(said[1:]) > 3:
            continue  # the list of counts ends
        plain = chances.get(1, 0.0) / sum(chances.values())
        worst = max(worst, plain - infer(seen(list(said), [[1, -1, -1]], table=small)).of(1)[1])
    assert worst > 0.1


def test_largest_small_counts():
    found = infer(seen([6, 1, 3, 2], LINE[0]))
    both = np.maximum(found.of(1), found.of(2))
    assert np.array_equal(found.largest(np.full(4, 3)), both)
    assert np.array_equal(
        found.largest(np.array([0, 2, 3, 1])), np.where([0, 1, 0, 0], found.of(1), both) * [0, 1, 1, 0]
    )


def test_many_parts_are_convolved_as_a_transform_does():
    """The posterior of the total of 300 parts, against the product of their characteristic functions."""
    rng = np.random.default_rng(8)
    counts = rng.integers(10, 60, 300)
    noise = TABLE.noise(np.append(counts.sum(), counts), rng.integers(0, 2**32, 301), 2**32)
    said = (np.append(counts.sum(), counts) + noise).tolist()
    found = infer(seen(said, [[1, *[-1] * 300]]))
    step = TABLE.chances()[-1][::-1]
    total = np.ones(1)
    for _ in range(300):
        total = np.convolve(total, step)
    start = sum(said[1:]) - 600
    own = {said[0] + v: TABLE.chances()[-1][2 - v] for v in range(-2, 3)}
    weights = {count: p * total[count - start] for count, p in own.items()}
    for count, weight in weights.items():
        assert found.of(count)[0] == pytest.approx(weight / sum(weights.values()), rel=1e-9)


def test_what_contradicts_itself_is_taken_to_be_disclosed():
    found = infer(seen([40, 1, 3, 2], LINE[0]))
    assert not found.exact.any() and (found.largest(np.full(4, 3)) == 1.0).all()
