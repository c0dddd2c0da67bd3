"""Perturbation tables of sums: designed, read, looked up; and the units that noise comes in."""

import numpy as np
import pytest
import scipy.sparse as sp

from cellguard.errors import InputError
from cellguard.methods.keys.magnitudes.files import noise_table_text, read_noise_table
from cellguard.methods.keys.magnitudes.multiplier import Multiplier
from cellguard.methods.keys.magnitudes.noise import Noise, Sums, keys_of, parts, sizes_of
from cellguard.methods.keys.magnitudes.noise_table import NoiseDesign, NoiseTable, Row, Rows
from cellguard.methods.keys.record_keys import Secret

# Rows 1 and 5 of the table that τ-ARGUS 4.2 ships for its example: deviation 5, variance 1, two steps a unit.
ONE = [0.24006614, 0.24006614, 0.24006615, 0.10377025, 0.06682983, 0.04250929, 0.02670627, 0.01657137, 0.01015593]
FIVE = {-0.5: 0.17603243, 0.0: 0.19947079, 0.5: 0.17603246, 1.0: 0.12098542, 2.0: 0.02699563}


def test_a_design_is_the_table_that_tau_argus_ships():
    rows = NoiseDesign(5, 1.0, 2).table().kinds["all"].rows
    assert [row.figure for row in rows] == [0, 1, 5]
    assert np.diff(rows[1].upper, prepend=0)[: len(ONE)] == pytest.approx(ONE, abs=2e-8)
    share = dict(zip(rows[2].changes.tolist(), np.diff(rows[2].upper, prepend=0).tolist(), strict=True))
    assert {v: share[v] for v in FIVE} == pytest.approx(FIVE, abs=5e-8)


def test_a_design_has_mean_nothing_and_kinds():
    table = NoiseDesign(3, 2.0, 4, (1.0, 2.0), parity=True, separation=True).table()
    assert set(table.kinds) == {"even", "odd", "small_cells"} and table.parity and table.separated
    for rows in table.kinds.values():
        for row in rows.rows[1:]:
            share = np.diff(row.upper, prepend=0.0)
            assert share @ row.changes == pytest.approx(0, abs=1e-8)
            assert row.changes.min() >= -row.figure
    assert table.variance("odd") == pytest.approx(2.5, abs=1e-6)


@pytest.mark.parametrize("smooth", [False, True])
def test_between_rows_changes_are_averaged_by_the_same_key(smooth):
    rows = NoiseDesign(5, 2.0, 4, (1.0, 3.0)).table().kinds["all"]
    key = np.linspace(0, 0.999, 300)
    for figure, (a, b, near) in {2.0: (1.0, 3.0, 0.5), 3.5: (3.0, 5.0, 0.25), 0.5: (0.0, 1.0, 0.5)}.items():
        low, high = (rows.quantile(np.full(300, x), key, smooth=smooth) for x in (a, b))
        got = rows.quantile(np.full(300, figure), key, smooth=smooth)
        assert got == pytest.approx((1 - near) * low + near * high)
        assert (np.diff(got) >= 0).all()
    assert rows.quantile(np.full(300, 5.0), key).tolist() == rows.quantile(np.full(300, 99.0), key).tolist()


def test_the_distribution_of_changes_is_the_inverse_of_the_lookup():
    rng = np.random.default_rng(2)
    rows = NoiseDesign(4, 3.0, 3, (1.0, 2.0)).table().kinds["all"]
    figure, key = rng.uniform(0.05, 7, 4000), rng.random(4000)
    change = rows.quantile(figure, key, smooth=True)
    assert np.abs(rows.below(figure, change) - key).max() < 1e-9
    assert (rows.below(figure, np.full(4000, -99.0)) == 0).all() and (
        rows.below(figure, np.full(4000, 99.0)) == 1
    ).all()


def test_a_table_is_written_and_read(tmp_path):
    table = NoiseDesign(3, 1.5, 2, (1.0,), separation=True).table()
    (tmp_path / "p.csv").write_text(noise_table_text(table))
    again = read_noise_table(tmp_path / "p.csv")
    assert again.digest() == table.digest() and again.kinds["small_cells"].step == 0.5
    # as ptable writes it: a decimal comma, the older names, one kind
    lines = ["i;j;p;kum_p_u;kum_p_o;v", "0;0;1;0;1;0", "1;0;0,5;0;0,5;-1", "1;2;0,5;0,5;1;1"]
    (tmp_path / "old.csv").write_text("\n".join(lines))
    old = read_noise_table(tmp_path / "old.csv")
    assert [row.changes.tolist() for row in old.kinds["all"].rows] == [[0.0], [-1.0, 1.0]]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("i;v\n0;0\n", "has the columns i, j, p, v, p_int_ub and type"),
        ("i;v;p_int_ub;type\n0;0;1;big\n", "line 2: the type is all, even, odd or small_cells, not 'big'"),
        ("i;v;p_int_ub;type\n0;0;1\n", "line 2: 3 entries, but the header has 4"),
        ("i;v;p_int_ub;type\n0;x;1;all\n", "line 2, column 'v': not a number"),
        ("i;v;p_int_ub;type\n0;0;1;all\n1;-2;1;all\n", "a change that makes the figure negative"),
        ("i;v;p_int_ub;type\n0;0;1;all\n1;-1;0.4;all\n", "must rise to 1"),
        ("i;v;p_int_ub;type\n1;0;1;all\n", "begins with the figure 0"),
        ("i;v;p_int_ub;type\n0;0;1;even\n1;0;1;even\n", "of `even` and `odd`"),
    ],
)
def test_faults_of_files_are_told_with_their_place(tmp_path, text, why):
    (tmp_path / "p.csv").write_text(text)
    with pytest.raises(InputError, match=why.replace("(", r"\(")):
        read_noise_table(tmp_path / "p.csv")


def test_the_flex_function_is_that_of_giessing_and_tent():
    # ck_flexparams(fp = 1000, p = c(0.20, 0.03), epsilon = c(1, 0.5, 0.2), q = 2) of the R package cellKey
    flex = Multiplier(0.20, 0.03, 1000, 2)
    x = np.array([1000.0, 1500, 5000, 1e5])
    f1, f2 = (0.20 * x - 0.03 * 1000) / (0.03 * 1000), (2 * 1000 / (1000 + x)) ** 2
    assert flex.share(x) == pytest.approx(0.03 * (1 + f1 * f2))
    assert flex.share(np.array([1.0, 999])).tolist() == [0.2, 0.2]
    with pytest.raises(InputError, match="not larger"):
        Multiplier(0.05, 0.2, 10)


def noise(table=None, **said):
    all_ = {"scaling": "top_contr", "epsilon": (1.0,), "mu": 0.0, "smooth": False} | said
    multiplier = all_.pop("multiplier", Multiplier(0.1))
    return Noise(table or NoiseDesign(5, 2.0, 2).table(), multiplier, **all_)


def cells(*amounts, keys=None, sensitive=False, scaling="top_contr", count=1):
    wide = max(map(len, amounts))
    matrix = np.zeros((len(amounts), len(amounts) * wide))
    for row, some in enumerate(amounts):
        matrix[row, row * wide : row * wide + len(some)] = some
    shares = sp.csr_array(matrix)
    sums = matrix.sum(axis=1)
    number = np.diff(shares.indptr).astype(np.int64)
    key = np.arange(len(amounts)) if keys is None else np.array(keys)
    return Sums(sums, number, sizes_of(shares, scaling, count), key, np.full(len(amounts), sensitive)), shares


def test_noise_is_in_units_of_the_largest_contributions():
    coin = Rows((Row(0, np.zeros(1), np.ones(1)), Row(2, np.array([-1.0, 1]), np.array([0.5, 1]))), 2.0)
    table = NoiseTable({"all": coin}, "coin")
    sums, _ = cells((100, 50, 10), (30,), count=3)
    found = parts(sums, noise(table, epsilon=(1.0, 0.5, 0.2)), np.array([[0.9, 0.1, 0.9], [0.2, 0.9, 0.9]]))
    assert found[0] == pytest.approx([10, -2.5, 0.2])
    assert found[1] == pytest.approx([-3, 0, 0])
    sure = cells((100, 50, 10), (30,), count=3, sensitive=True)[0]
    more = parts(sure, noise(table, epsilon=(1.0, 0.5, 0.2), mu=1.5), np.array([[0.9, 0.1, 0.9], [0.2, 0.9, 0.9]]))
    assert more[:, 0] == pytest.approx([25, -7.5]) and more[0, 1:] == pytest.approx([-2.5, 0.2])


@pytest.mark.parametrize(("scaling", "want"), [("mean", [20, 30]), ("range", [45, 30]), ("sum", [60, 30])])
def test_noise_may_be_in_proportion_to_other_sizes(scaling, want):
    sums, _ = cells((50, 5, 5), (30,), scaling=scaling)
    assert sums.sizes[:, 0].tolist() == want


def test_small_values_are_apart():
    """With a variance of 2 and a share of 0.1, values below sqrt(2) / 0.1 have units of 1."""
    apart = noise(NoiseDesign(5, 2.0, 2, separation=True).table())
    assert apart.point == pytest.approx(np.sqrt(apart.table.variance("small_cells")) / 0.1)
    assert noise().point == 0
    unit, small, nothing = apart.unit(np.array([14.0, 15]), np.array([14.0, 15]), 0)
    assert unit.tolist() == [1.0, 1.5] and small.tolist() == [True, False] and not nothing.any()


def test_keys_are_of_the_response_and_turned_where_they_are_plain():
    sums, _ = cells((10, 3), (4,), keys=[123456789, 5])
    plain = Secret(1, "plain", "", False, 10**9)
    assert keys_of(sums, plain, "x", 2, same_key=True)[0].tolist() == [0.123456789, 0.234567891]
    assert keys_of(sums, plain, "x", 2, same_key=False)[0].tolist() == [0.234567891, 0.345678912]
    secret = Secret(1, "hashed", "", True)
    first, other = (keys_of(sums, secret, name, 2, same_key=True) for name in ("x", "y"))
    assert (first != other).all() and (first[:, 0] != first[:, 1]).all() and (first < 1).all()


def test_sums_are_never_negative_and_zeros_stay():
    rng = np.random.default_rng(1)
    amounts = [tuple(rng.integers(1, 100, rng.integers(1, 5)).tolist()) for _ in range(200)] + [(0,)]
    sums, _ = cells(*amounts, count=3, sensitive=True)
    found = parts(
        sums, noise(multiplier=Multiplier(0.9), epsilon=(1.0, 1.0, 1.0), mu=2.0, smooth=True), rng.random((201, 3))
    )
    left = sums.value + found.sum(axis=1)
    assert (left >= -1e-9).all() and (left[:-1] < 1e-9).any() and not found[-1].any()
