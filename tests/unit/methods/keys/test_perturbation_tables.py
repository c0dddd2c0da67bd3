"""Perturbation tables as values and as files: of ptable, τ-ARGUS and ONS."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.methods.keys.design import Design
from cellguard.methods.keys.differencing import still_hidden
from cellguard.methods.keys.files.perturbation_files import read_table, table_text
from cellguard.methods.keys.perturbation_table import FINE, PerturbationTable

# create_cnt_ptable(D = 2, V = 1), as the vignette of ptable prints it.
PRINTED = """"i";"j";"p";"v";"p_int_ub"
0;0;1;0;1
1;0;0.3665;-1;0.3665
1;1;0.3665;0;0.733
1;2;0.1676;1;0.9006
1;3;0.0994;2;1
2;0;0.0638;-2;0.0638
2;1;0.2447;-1;0.3085
2;2;0.3830;0;0.6915
2;3;0.2447;1;0.9362
2;4;0.0638;2;1
"""


def _ten_five(count):
    """The change that the 10-5 rule of ONS makes: below 10 to 0, else to the nearest 5."""
    return -count if count < 10 else {0: 0, 1: -1, 2: -2, 3: 2, 4: 1}[count % 5]


def test_a_printed_table_is_looked_up_as_other_tools_do(tmp_path):
    path = tmp_path / "ptable.csv"
    path.write_text(PRINTED)
    table = read_table(path)
    million = 1_000_000
    counts = np.array([0, 1, 1, 1, 1, 2, 2, 9])
    keys = np.array([999_999, 366_499, 366_500, 732_999, 900_600, 63_799, 63_800, 691_500])
    assert table.noise(counts, keys, million).tolist() == [0, -1, 0, 0, 2, -2, -1, 1]
    assert table.variance(2) == pytest.approx(2 * (4 * 0.0638 + 0.2447))
    path.write_text(PRINTED.replace(".", ","))
    assert np.array_equal(read_table(path).upper[1], table.upper[1])
    path.write_text(PRINTED.replace("p_int_ub", "p_ub"))
    assert np.array_equal(read_table(path).upper[2], table.upper[2])


def test_what_is_written_is_read_again(tmp_path):
    table = Design(5, 3.0, 2).table()
    path = tmp_path / "t.csv"
    path.write_text(table_text(table))
    again = read_table(path)
    assert all(np.array_equal(a, b) for a, b in zip(table.changes, again.changes, strict=True))
    assert all(np.array_equal(a, b) for a, b in zip(table.upper, again.upper, strict=True))


def test_the_ten_five_rule_of_ons(tmp_path):
    path = tmp_path / "ptable_10_5_rule.csv"
    lines = [f"{count},{key},{_ten_five(count)}" for count in range(1, 751) for key in range(16)]
    path.write_text("pcv,ckey,pvalue\n" + "\n".join(lines) + "\n")
    table = read_table(path)
    counts = np.arange(2000)
    noise = table.noise(counts, np.full(2000, 7), 16)
    assert noise.tolist() == [0, *(_ten_five(count) for count in range(1, 2000))]
    assert table.period == 250 and table.rows(np.array([750, 751, 1000, 1001])).tolist() == [750, 501, 750, 501]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("2;4;0.0638;2;1", "2;5;0.0638;2;1", "line 11: j is not i [+] v"),
        (
            "1;3;0.0994;2;1\n",
            "1;3;0.0994;2;0.95\n",
            "of count 1: the upper ends of probabilities must rise to 1",
        ),
        ("0;0;1;0;1", "0;1;1;1;1", "a count of 0 must stay 0"),
        ("2;1;0.2447;-1;0.3085", "2;1;0.2447;-1;", "line 8, column 'p_int_ub': not a number"),
        ("2;1;0.2447;-1;0.3085", "2;1;0.2447;-1", "line 8: 4 entries, but the header has 5"),
        ('"p_int_ub"', '"upper"', "has the columns i, j, p, v and p_int_ub"),
        ("1;1;0.3665;0;0.733", "1;1;0.3665;0.5;0.733", "line 4, column 'v': not a whole number"),
    ],
)
def test_faults_are_told_with_their_line(tmp_path, old, new, words):
    path = tmp_path / "ptable.csv"
    assert old in PRINTED
    path.write_text(PRINTED.replace(old, new))
    with pytest.raises(InputError, match=words):
        read_table(path)


def test_tables_of_sums_and_broken_ones_of_ons_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("i;j;p;v;p_int_ub;type\n0;0;1;0;1;even\n1;1;1;0;1;odd\n")
    with pytest.raises(InputError, match=r"of sums .`type` even, odd., not of counts"):
        read_table(path)
    path.write_text("pcv,ckey,pvalue\n1,0,0\n1,2,0\n")
    with pytest.raises(InputError, match="count 1 has no line, or two, for the key 1"):
        read_table(path)
    path.write_text("pcv,ckey,pvalue\n1,0,0\n1,1,0\n3,0,0\n3,1,0\n")
    with pytest.raises(InputError, match="there is no line for the count 2"):
        read_table(path)
    with pytest.raises(InputError, match=r"cannot read the perturbation table 'none.csv'"):
        read_table(tmp_path / "none.csv")


def test_negative_counts_are_refused():
    with pytest.raises(InputError, match="makes the count negative"):
        PerturbationTable((np.array([0]), np.array([-2])), (np.ones(1), np.ones(1)), "t")


def test_the_chances_are_those_of_the_lookup():
    table, keys = Design(3, 2.0, 1).table(), 4096
    chances = table.chances(keys)
    for count in range(table.last + 1):
        noise = table.noise(np.full(keys, count), np.arange(keys), keys)
        assert np.allclose(np.bincount(noise + 3, minlength=7) / keys, chances[count])
    assert np.allclose(table.chances(FINE), table.chances(keys), atol=1e-3)


def test_differences_hide_as_their_convolution_does():
    table, rng = Design(5, 3.0).table(), np.random.default_rng(2)
    (six,) = still_hidden(table, [6])
    draws = table.noise(np.full(600_000, 50), rng.integers(0, FINE, 600_000), FINE).reshape(6, -1)
    total = draws[:3].sum(axis=0) - draws[3:].sum(axis=0)
    assert six.variance == pytest.approx(18.0) and total.var() == pytest.approx(18.0, rel=0.02)
    assert np.bincount(total - total.min()).max() / len(total) == pytest.approx(six.guess, abs=0.004)
