"""RND, CTA and CKM: what batches publish in place of true figures, and what they never publish."""

from pathlib import Path

import pytest

from cellguard.methods.keys.design import Design
from cellguard.methods.keys.files.perturbation_files import table_text
from cellguard.pipeline import verify

from argus_batches import RDA, micro_batch, micro_folder, run_batch, tab_batch, tab_folder

KEYED_RDA = RDA + "Key 8\n  <RECORDKEY>\n"


def figures(path):
    rows = [line.replace('"', "").split(",") for line in Path(path).read_text().splitlines()]
    return {tuple(c.strip() for c in row[:2]): row[2] for row in rows}


def additive(found, totals=("Total", "Total")):
    regions = {r for r, _ in found} - {totals[0]}
    flat = [
        r for r in regions if not any(other != r and other.startswith(r) and len(other) > len(r) for other in regions)
    ]
    for size in ("s", "b", "Total"):
        parts = [int(found[r, size]) for r in flat if found.get((r, size), "-") != "-"]
        assert sum(parts) == int(found["Total", size])
    for region in {r for r, _ in found}:
        parts = [int(found[region, size]) for size in ("s", "b") if found.get((region, size), "-") != "-"]
        assert sum(parts) == int(found[region, "Total"])


WRITE = '<WRITETABLE> (1,3,SE+,"o.csv")'


def test_rnd_publishes_multiples_that_add_up(tmp_path):
    text = tab_batch("", "<SUPPRESS> RND(1,120,0,10,0,3,1)", WRITE)
    said = run_batch(tab_folder(tmp_path), text)
    found = figures(tmp_path / "o.csv")
    assert all(int(value) % 120 == 0 for value in found.values())
    additive(found)
    assert "RND for table 1: controlled rounding" in said and "figures have been changed" in said
    assert "x" not in found.values(), "nothing is suppressed"
    checked = verify(tmp_path / "b.cellguard" / "results")
    assert checked.valid and (tmp_path / "b.cellguard" / "job.yaml").is_file()


def test_rnd_with_a_base_that_protects_nobody_writes_nothing(tmp_path):
    said = run_batch(tab_folder(tmp_path), tab_batch("", "<SUPPRESS> RND(1,5)", WRITE), expect=2)
    assert "UNSAFE" in said and "take a larger base" in said and not (tmp_path / "o.csv").exists()


def test_rnd_of_records_and_the_first_rounding(tmp_path):
    text = micro_batch('"Region"|<freq>||', "FREQ(3,10)", "<SUPPRESS> RND(1,10,1,10,1,2)", WRITE)
    said = run_batch(micro_folder(tmp_path), text)
    lines = (tmp_path / "o.csv").read_text().split()
    assert len(lines) == 8 and all(int(line.rpartition(",")[2]) % 10 == 0 for line in lines)
    assert "whatever the partition" in said


def test_rnd_minds_that_listed_cells_have_records(tmp_path):
    """Two cells are listed below 99, so its count is 2 at least, and it is 2: no base helps, and nothing is written."""
    text = micro_batch('"Region""Size"|<freq>||', "FREQ(3,10)", "<SUPPRESS> RND(1,10)", WRITE)
    assert "99/Total" in run_batch(micro_folder(tmp_path), text, expect=2)


def test_cta_is_never_proven_and_asks_for_an_answer(tmp_path):
    text = tab_batch("", "<SUPPRESS> CTA(1)", WRITE)
    said = run_batch(tab_folder(tmp_path), text, expect=2)
    assert "NOT PROVEN" in said and "UNPROVEN accept" in said and not (tmp_path / "o.csv").exists()
    run_batch(tmp_path, "<CELLGUARD> UNPROVEN accept\n" + text)
    found = figures(tmp_path / "o.csv")
    additive(found)
    assert abs(int(found["N", "b"]) - 80) >= 20, "the unsafe cell is away by a level of the batch: 20 below or 30 above"


@pytest.mark.parametrize("kind", [4, 5, 6])
def test_formats_that_list_contributors_are_refused_after_a_change(tmp_path, kind):
    text = tab_batch("", "<SUPPRESS> RND(1,120)", f'<WRITETABLE> (1,{kind},,"o.csv")'.replace(",,", ",SE+,"))
    said = run_batch(tab_folder(tmp_path), text, expect=2)
    assert "lists what is behind them" in said and not (tmp_path / "o.csv").exists()


def test_methods_that_change_and_those_that_suppress_do_not_go_together(tmp_path):
    head = micro_batch('"Region""Size"|<freq>||', "FREQ(3,10)")
    head = head.replace("<READ", '<SPECIFYTABLE> "Region"|<freq>||\n<SAFETYRULE> FREQ(3,10)\n<READ')
    text = head + "<SUPPRESS> RND(1,10)\n<SUPPRESS> OPT(2)\n" + WRITE + "\n"
    said = run_batch(micro_folder(tmp_path), text, expect=2)
    assert "do not go together" in said and not (tmp_path / "o.csv").exists()


def keyed_folder(folder, copies=6):
    """The records several times, so that most counts are safe, each with a key of its own."""
    micro_folder(folder)
    lines = (Path(folder) / "firms.asc").read_text().splitlines() * copies
    keyed = [f"{line},{((i * 0.6180339887) % 1):.6f}" for i, line in enumerate(lines)]
    (Path(folder) / "firms.asc").write_text("\n".join(keyed) + "\n")
    (Path(folder) / "firms.rda").write_text(KEYED_RDA)
    return Path(folder)


def ckm(*more, rule="FREQ(3,10)", command="<SUPPRESS> CKM(1)", specify='"Region""Size"|<freq>||'):
    return micro_batch(
        specify, rule, *more, command, '<WRITETABLE> (1,7,AO+AD+,"in.csv")', '<WRITETABLE> (1,3,SE+,"o.csv")'
    )


def test_ckm_gives_counts_noise_by_their_keys(tmp_path):
    refused = run_batch(keyed_folder(tmp_path), ckm(), expect=2)
    assert "NOT PROVEN" in refused and "estimated" in refused, "in two dimensions relations go in circles"
    said = run_batch(tmp_path, "<CELLGUARD> UNPROVEN accept\n" + ckm())
    found = figures(tmp_path / "o.csv")
    rows = [line.replace('"', "").split(",") for line in (tmp_path / "in.csv").read_text().splitlines()]
    assert rows[0] == ["Region", "Size", "Freq", "Original", "Difference"]
    for region, size, told, true, off in ([x.strip() for x in row] for row in rows[1:]):
        if told != "-":
            assert int(told) - int(float(true)) == int(float(off)) and found[region, size] == told
    assert any(int(float(row[4])) for row in rows[1:]), "some figures are changed"
    assert all(int(float(row[3])) % 6 == 0 for row in rows[1:]), "the true ones are those of the records"
    assert "the cell key method" in said and "CKM for table 1" in said
    assert (tmp_path / "in.csv").stat().st_mode & 0o077 == 0, "true figures are for their owner only"
    one = ckm(specify='"Size"|<freq>||')
    assert "no small count is likelier than" in run_batch(tmp_path, one), "in one dimension the posterior is exact"


def test_ckm_by_plain_keys_gives_what_tau_argus_gives_and_must_be_answered_for(tmp_path):
    """Lookup by hand: the row of the count (the last for larger ones), the first entry with an end above the key."""
    design = Design(deviation=4, variance=2.0, small=2).table()
    (keyed_folder(tmp_path) / "pt.csv").write_text(table_text(design))
    text = ckm(command='<SUPPRESS> CKM(1) "pt.csv"')
    said = run_batch(tmp_path, "<CELLGUARD> KEYS plain\n" + text, expect=2)
    assert "NOT PROVEN" in said and "UNPROVEN accept" in said
    run_batch(tmp_path, "<CELLGUARD> KEYS plain\n<CELLGUARD> UNPROVEN accept\n" + text)
    found = figures(tmp_path / "o.csv")
    lines = [line.split(",") for line in (tmp_path / "firms.asc").read_text().splitlines()]
    for (region, size), told in found.items():
        if told == "-":
            continue
        mine = [row for row in lines if size in ("Total", row[1]) and (region == "Total" or row[0].startswith(region))]
        key = sum(round(float(row[-1]) * 10**6) for row in mine) % 10**6 / 10**6
        row = min(len(mine), len(design.changes) - 1)
        change = next(int(v) for v, end in zip(design.changes[row], design.upper[row], strict=True) if key < end)
        assert int(told) == len(mine) + change, (region, size)


@pytest.mark.parametrize(
    ("rule", "specify", "words"),
    [
        ("FREQ(3,10)", '"Region""Size"|"Turnover"||', "CKM of sums is not run from a batch"),
        ("FREQ(3,10)|WGT(1)", '"Region""Size"|<freq>||', "leave WGT(1) out"),
        ("", '"Region""Size"|<freq>||', "say which, as FREQ(3,10)"),
    ],
)
def test_what_ckm_cannot_do_is_refused_with_a_cure(tmp_path, rule, specify, words):
    said = run_batch(keyed_folder(tmp_path), ckm(rule=rule, specify=specify), expect=2)
    assert words in said and "line 6" in said and not (tmp_path / "o.csv").exists()


def test_ckm_needs_records_and_format_7_needs_noise(tmp_path):
    said = run_batch(tab_folder(tmp_path), tab_batch("", "<SUPPRESS> CKM(1)", WRITE), expect=2)
    assert "CKM needs records" in said
    said = run_batch(
        tmp_path, tab_batch("", "<SUPPRESS> OPT(1,1)", '<WRITETABLE> (1,7,,"o.csv")'.replace(",,", ",SE+,")), expect=2
    )
    assert "format 7 is for tables with noise" in said
