import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.randomness import SEED_LIMIT, checked_seed, fresh_seed, stream


def test_a_stream_depends_on_seed_and_purpose_only():
    first = stream(3, "zes", "sizes").uniform(5)
    stream(3, "zes", "directions").uniform(100)
    assert (stream(3, "zes", "sizes").uniform(5) == first).all()
    assert not (stream(4, "zes", "sizes").uniform(5) == first).any()
    assert not (stream(3, "zessizes").uniform(5) == first).any()
    assert not (stream(3, "zes", 1).uniform(5) == stream(3, "zes", 2).uniform(5)).any()


def test_streams_are_the_same_on_every_machine():
    assert stream(1, "a").uniform(2).tolist() == [0.07552239873208733, 0.09698481258857805]
    assert stream(1, "a").signs(4).tolist() == [-1.0, -1.0, 1.0, -1.0]


def test_uniform_numbers_are_uniform_and_never_0_or_1():
    u = np.sort(stream(5, "u").uniform(100_000))
    assert u[0] > 0 and u[-1] < 1
    gap = np.abs(u - (np.arange(100_000) + 0.5) / 100_000).max()
    assert gap < 1.63 / 100_000**0.5  # Kolmogorov-Smirnov at 1 percent


def test_signs_are_fair_and_permutations_whole():
    assert abs(stream(5, "s").signs(100_000).mean()) < 4 / 100_000**0.5
    assert sorted(stream(5, "p").permutation(1000).tolist()) == list(range(1000))
    places = [int(stream(s, "p").permutation(4)[0]) for s in range(400)]
    assert np.bincount(places).min() > 60


def test_fresh_seeds_differ_and_are_seeds():
    assert len({checked_seed(fresh_seed()) for _ in range(20)}) == 20


@pytest.mark.parametrize("seed", [-1, SEED_LIMIT, 1.0, "7", True, None])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(InputError, match="a seed is a whole number"):
        stream(seed, "a")
