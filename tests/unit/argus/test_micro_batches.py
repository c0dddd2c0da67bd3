"""Batches about records: rules by brute force, recoding, statements, files as others write them."""

import itertools
from pathlib import Path

import pytest

from cellguard.pipeline import verify

from argus_batches import HRC, RECORDS, micro_batch, micro_folder, run_batch, statuses

WRITE = '<WRITETABLE> (1,3,AS+,"o.csv")'
ABOVE = {"N1": "N", "N2": "N", "S1": "S", "S2": "S"}


def cells():
    """The records of each cell."""
    found = {}
    for record in RECORDS:
        regions = [record[0], *([ABOVE[record[0]]] if record[0] in ABOVE else []), "Total"]
        for region, size in itertools.product(regions, (record[1], "Total")):
            found.setdefault((region, size), []).append(record)
    return found


def held(records, weight=False):
    """The contributions of holdings, largest first."""
    sums = {}
    for record in records:
        sums[record[2]] = sums.get(record[2], 0) + record[5]
    return sorted(sums.values(), reverse=True)


def single(records):
    return sorted((r[5] for r in records), reverse=True)


def p_percent(x, total, p, n=1):
    return p / 100 * x[0] - (total - sum(x[: n + 1])) > 1e-9


def run(folder, rule, *more, specify='"Region""Size"|"Turnover"||', **how):
    return run_batch(folder, micro_batch(specify, rule, *more, WRITE), **how)


def check(folder, rule, unsafe, number):
    """Compare the cells with a status with those that brute force finds."""
    run(micro_folder(folder), rule)
    found = statuses(folder / "o.csv")
    wanted = {cell for cell, records in cells().items() if unsafe(records)}
    assert wanted and {cell for cell, status in found.items() if status == number} == wanted


def test_p_percent(tmp_path):
    check(tmp_path, "P(30,1)", lambda r: p_percent(single(r), sum(single(r)), 30), 3)


def test_p_percent_of_coalitions(tmp_path):
    check(tmp_path, "P(30,2)", lambda r: p_percent(single(r), sum(single(r)), 30, 2), 3)


def test_prior_posterior(tmp_path):
    check(tmp_path, "P(20,50,1)", lambda r: p_percent(single(r), sum(single(r)), 40), 3)


def test_dominance(tmp_path):
    check(tmp_path, "NK(2,80)", lambda r: sum(single(r)[:2]) > 0.8 * sum(single(r)), 3)


def test_frequency(tmp_path):
    check(tmp_path, "FREQ(3,20)", lambda r: 0 < len(r) < 3, 5)


def test_weighted_frequency_counts_weights(tmp_path):
    check(tmp_path, "FREQ(3,20)|WGT(1)", lambda r: 0 < sum(x[4] for x in r) < 3, 5)


def replicated(records, n):
    """The largest n units, if each record stands for as many units as its weight says."""
    left, found = float(n), 0.0
    for record in sorted(records, key=lambda r: -r[5]):
        part = min(record[4], left)
        left, found = left - part, found + part * record[5]
    return found


@pytest.mark.parametrize("p", [15, 60])
def test_weighted_p_percent_replicates_respondents(tmp_path, p):
    def unsafe(records):
        total = sum(r[4] * r[5] for r in records)
        return p / 100 * replicated(records, 1) + replicated(records, 2) - total > 1e-9

    check(tmp_path, f"P({p},1)|WGT(1)", unsafe, 3)


def test_weighted_dominance_replicates_respondents(tmp_path):
    def unsafe(records):
        return replicated(records, 2) > 0.8 * sum(r[4] * r[5] for r in records)

    check(tmp_path, "NK(2,80)|WGT(1)", unsafe, 3)


def test_weights_and_holdings_go_together(tmp_path):
    more = "FREQ(0,0)|FREQ(3,20)|WGT(1)"
    check(tmp_path, more, lambda r: 0 < len({x[2] for x in r}) < 3, 5)
    weighted = sum(r[4] * r[5] for r in RECORDS)
    assert (tmp_path / "o.csv").read_text().splitlines()[0] == f'"Total","Total",{weighted:.1f},1'


def test_zeros(tmp_path):
    check(tmp_path, "ZERO(10)|FREQ(1,10)", lambda r: sum(single(r)) == 0, 6)


def test_requests(tmp_path):
    def unsafe(records):
        first = max(records, key=lambda r: r[5])
        percent = {"1": 60, "2": 30}.get(first[3])
        return percent is not None and first[5] > percent / 100 * sum(single(records))

    check(tmp_path, "REQ(60,30,10)", unsafe, 4)


def test_requests_with_a_minimum_frequency(tmp_path):
    def unsafe(records):
        return len(records) < 3 and any(r[3] in "12" for r in records)

    check(tmp_path, "REQ(99,99,3,10)", unsafe, 4)


def test_rules_of_holdings_and_of_respondents(tmp_path):
    def unsafe(records):
        mine, theirs = single(records), held(records)
        return mine[0] > 0.85 * sum(mine) or theirs[0] > 0.6 * sum(theirs)

    check(tmp_path, "NK(1,85)|NK(0,0)|NK(1,60)", unsafe, 3)


def test_the_order_of_the_rules_names_the_status(tmp_path):
    run(micro_folder(tmp_path), "P(30,1)|FREQ(3,20)")
    found = statuses(tmp_path / "o.csv")
    assert found["N1", "s"] == 3 and found["99", "s"] == 3  # p % comes before the frequency


def test_missing_is_safe(tmp_path):
    run(micro_folder(tmp_path), "FREQ(3,20)|MIS(1)")
    found = statuses(tmp_path / "o.csv")
    assert {found["99", code] for code in ("Total", "s", "b")} == {1} and found["N1", "s"] == 5


def test_weights_only_count_where_the_batch_asks_for_them(tmp_path):
    text = micro_batch('"Region"|"Turnover"||', "FREQ(1,10)", '<WRITETABLE> (1,3,AS+,"a.csv")')
    run_batch(micro_folder(tmp_path), text)
    plain = sum(r[5] for r in RECORDS)
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == f'"Total",{plain:.1f},1'
    run_batch(tmp_path, text.replace("FREQ(1,10)", "FREQ(1,10)|WGT(1)"))
    weighted = sum(r[4] * r[5] for r in RECORDS)
    assert (tmp_path / "a.csv").read_text().splitlines()[0] == f'"Total",{weighted:.1f},1'


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r\r\n"])
def test_line_ends_do_not_matter(tmp_path, end):
    run(micro_folder(tmp_path, end=end), "FREQ(3,20)")
    wanted = {cell for cell, records in cells().items() if 0 < len(records) < 3}
    assert {cell for cell, status in statuses(tmp_path / "o.csv").items() if status == 5} == wanted


def test_codes_in_windows_letters(tmp_path):
    records = [(r[0], "süd" if r[1] == "b" else r[1], *r[2:]) for r in RECORDS]
    run(micro_folder(tmp_path, encoding="cp1252", records=records), "FREQ(3,20)")
    assert ("Total", "süd") in statuses(tmp_path / "o.csv")


def test_fixed_width_records(tmp_path):
    micro_folder(tmp_path)
    lines = [f"{r[0]:2}{r[1]:>3}{r[5]:9.1f}" for r in RECORDS]
    (tmp_path / "firms.asc").write_text("\n".join(lines))
    rda = 'Region 1 2 99\n <RECODEABLE>\n <HIERARCHICAL>\n <HIERCODELIST> "region.hrc"\n <HIERLEADSTRING> "@"\n'
    (tmp_path / "firms.rda").write_text(rda + "Size 3 3\n <RECODEABLE>\nTurnover 6 9\n <NUMERIC>\n <DECIMALS> 1\n")
    run(tmp_path, "FREQ(3,20)")
    wanted = {cell for cell, records in cells().items() if 0 < len(records) < 3}
    assert {cell for cell, status in statuses(tmp_path / "o.csv").items() if status == 5} == wanted


def test_suppressed_tables_are_proven_and_verified(tmp_path):
    said = run(micro_folder(tmp_path), "P(20,1)|FREQ(3,20)", "<SUPPRESS> OPT(1,5)")
    assert "cells have been suppressed" in said and verify(tmp_path / "b.cellguard" / "results").valid
    found = statuses(tmp_path / "o.csv")
    assert 11 in found.values()
    assert (tmp_path / "b.cellguard" / "results" / "internal" / "report.html").is_file()


def test_a_level_recodes_a_tree(tmp_path):
    said = run(micro_folder(tmp_path), "FREQ(3,20)", "<RECODE> 1, Region, 1")
    assert "Variable Region has been recoded: 2 codes closed" in said
    assert {cell[0] for cell in statuses(tmp_path / "o.csv")} == {"Total", "N", "S", "99"}


def test_a_tree_file_closes_codes(tmp_path):
    (tmp_path / "r.grc").write_text("<TREERECODE>\nN\n")
    run(micro_folder(tmp_path), "FREQ(3,20)", '<RECODE> 1, Region, "r.grc"')
    assert {cell[0] for cell in statuses(tmp_path / "o.csv")} == {"Total", "N", "S", "S1", "S2", "99"}


def test_groups_of_codes_recode_other_variables(tmp_path):
    (tmp_path / "s.grc").write_text("all: b-s\n")
    run(micro_folder(tmp_path), "FREQ(3,20)", '<RECODE> 1, Size, "s.grc"')
    assert {cell[1] for cell in statuses(tmp_path / "o.csv")} == {"Total", "all"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<TREERECODE>\nQ\n", "no code 'Q'"),
        ("x: N\n", "is hierarchical; the file must begin with <TREERECODE>"),
        ("", "empty"),
    ],
)
def test_faults_of_recodings(tmp_path, text, words):
    (tmp_path / "r.grc").write_text(text)
    said = run(micro_folder(tmp_path), "FREQ(3,20)", '<RECODE> 1, Region, "r.grc"', expect=2)
    assert words in said and not (tmp_path / "o.csv").exists()


def test_statements_about_cells(tmp_path):
    (tmp_path / "a.hst").write_text("N2;s;u\nN2;s;pl;7;9\nS1;s;p\nN1;s;s\nS2;b;c;1\n")
    run(micro_folder(tmp_path), "FREQ(3,20)", '<APRIORI> "a.hst",1,";",0,0', '<WRITETABLE> (1,5,AS+,"i.tab")')
    found = statuses(tmp_path / "o.csv")
    assert (found["N2", "s"], found["S1", "s"], found["N1", "s"]) == (9, 10, 2)
    line = next(row for row in (tmp_path / "i.tab").read_text().splitlines() if row.startswith('"N2";"  s"'))
    assert line.endswith(";U;7.0;9.0")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("N1;s;m", "line 1, column 1: the command 'm' does not go with the status 5"),
        ("N9;s;u", "no code 'N9' of 'Region'"),
        ("N2;s;zz", "unknown command 'zz'"),
        ("N2;s;pl;1", "protection levels are for unsafe cells"),
        ("N2;s;ab;1;2", "bounds (ab) are not taken"),
        ("N2;s;c;x", "an argument is not a number"),
        ("N2;s", "expected 2 codes and a command"),
    ],
)
def test_wrong_statements_are_errors_or_ignored(tmp_path, line, words):
    (tmp_path / "a.hst").write_text(line + "\n")
    said = run(micro_folder(tmp_path), "FREQ(3,20)", '<APRIORI> "a.hst",1,";",0,0', expect=2)
    assert words in said
    said = run(tmp_path, "FREQ(3,20)", '<APRIORI> "a.hst",1,";",1,0')
    assert "1 lines were ignored" in said


def test_trivial_levels_are_expanded(tmp_path):
    micro_folder(tmp_path)
    (tmp_path / "region.hrc").write_text(HRC.replace("@S1\n@S2", "@SX\n@@S1\n@@S2"))
    (tmp_path / "a.hst").write_text("S;s;u\n")
    for expand, wanted in ((0, 1), (1, 9)):
        run(tmp_path, "FREQ(1,20)", f'<APRIORI> "a.hst",1,";",0,{expand}')
        assert statuses(tmp_path / "o.csv")["SX", "s"] == wanted


def test_shadow_and_cost_variables(tmp_path):
    run(micro_folder(tmp_path), "NK(1,50)", specify='"Region""Size"|"Turnover"|"Cost"|"Cost",0.5')
    wanted = {
        cell for cell, records in cells().items() if max(r[6] for r in records) > 0.5 * sum(r[6] for r in records)
    }
    assert {cell for cell, status in statuses(tmp_path / "o.csv").items() if status == 3} == wanted


def test_tables_of_one_batch_are_protected_together(tmp_path):
    text = '<OPENMICRODATA> "firms.asc"\n<OPENMETADATA> "firms.rda"\n<SPECIFYTABLE> "Region""Size"|"Turnover"\n'
    text += '<SAFETYRULE> FREQ(3,20)\n<SPECIFYTABLE> "Region"|"Turnover"\n<SAFETYRULE> FREQ(3,20)\n<READMICRODATA>\n'
    text += "<SUPPRESS> OPT(1,1)\n<SUPPRESS> MOD(2,1)\n"
    text += '<WRITETABLE> (1,3,AS+,"one.csv")\n<WRITETABLE> (2,3,AS+,"two.csv")\n'
    said = run_batch(micro_folder(tmp_path), text)
    assert "Tables 1, 2 are protected together" in said
    one, two = statuses(tmp_path / "one.csv"), statuses(tmp_path / "two.csv")
    hidden = {3, 4, 5, 6, 9, 11, 12}
    assert all((status in hidden) == (one[region, "Total"] in hidden) for (region,), status in two.items())
    job = (tmp_path / "b.cellguard" / "job.yaml").read_text()
    assert "table1" in job and "table2" in job


@pytest.mark.parametrize(("method", "name"), [("MOD(1,5,1,1,1)", "modular"), ("GH(1,75,0,1)", "hypercube")])
def test_classical_methods_are_repaired_and_counted(tmp_path, method, name):
    said = run(micro_folder(tmp_path), "P(20,1)|FREQ(3,20)", "<CELLGUARD> METHODS classical", f"<SUPPRESS> {method}")
    assert f"{name} left " in said and "under-protected on the whole table; repaired with" in said
    assert verify(tmp_path / "b.cellguard" / "results").valid


def test_extensions_write_intervals_and_statements(tmp_path):
    more = ["<SUPPRESS> OPT(1,5)", '<CELLGUARD> AUDIT 1, "ends.csv"', '<CELLGUARD> PRIMARY 1, "unsafe.hst"']
    run(micro_folder(tmp_path), "P(20,1)|FREQ(3,20)", *more)
    rows = [line.split(",") for line in (tmp_path / "ends.csv").read_text().splitlines()[1:]]
    assert rows and all(float(r[-2]) <= float(r[2]) <= float(r[-1]) for r in rows)
    assert Path(tmp_path, "unsafe.hst").read_text().count(",u\n") == sum(
        status in {3, 5} for status in statuses(tmp_path / "o.csv").values()
    )


def test_empty_cells_may_be_suppressed_if_they_are_no_structural_zeros(tmp_path):
    records = [r for r in RECORDS if (r[0], r[1]) != ("S2", "s")]
    run(micro_folder(tmp_path, records=records), "FREQ(3,20)", "<CELLGUARD> NONSTRUCTURAL 1", "<SUPPRESS> OPT(1,5)")
    assert statuses(tmp_path / "o.csv")["S2", "s"] in {11, 13}
