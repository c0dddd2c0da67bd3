"""Totals that everybody has from elsewhere, beside perturbed tables: from the job to findings, page and verdict."""

import json

import pytest
import yaml

from system.command import run


def perturb(home, known, **more):
    rows = [("A", "X", v) for v in (5_000, 60, 50, 40)] + [("A", "Y", v) for v in (90, 80, 85, 95)]
    rows += [("B", c, v) for c in "XY" for v in (70, 75, 90, 80)]
    (home / "f.csv").write_text("id,r,c,x\n" + "".join(f"{i},{r},{c},{v}\n" for i, (r, c, v) in enumerate(rows)))
    (home / "known.csv").write_text(known)
    table = {"name": "t", "by": ["r", "c"], "value": "x", "rules": [{"dominance": {"n": 3, "k": 70}}]}
    said = {
        "version": 1,
        "microdata": {"source": "f.csv", "respondent": "id"},
        "known": "known.csv",
        "perturb": {"mu": 0.5, "seed": 1, **more},
        "tables": [{**table, "protect": {"method": "perturb"}}],
    }
    (home / "job.yaml").write_text(yaml.safe_dump(said))
    return run("perturb", home / "job.yaml", "--out", home / "out", "--force")


def test_a_known_margin_forbids_the_release_and_one_that_tells_nothing_does_not(tmp_path):
    done = perturb(tmp_path, "r,c\nA,Total\n")
    assert done.returncode == 1, done
    assert "known: t: A/X" in done.stdout and "marg_zes keeps margins" in done.stdout
    kinds = {f["kind"] for f in json.loads((tmp_path / "out/internal/findings.json").read_text())}
    assert "known" in kinds
    page = (tmp_path / "out/internal/report.html").read_text()
    assert "Known totals" in page and "t: A" in page
    done = perturb(tmp_path, "table,r,c,value\nt,B,Total,630\n")
    assert done.returncode == 0, done
    assert "known totals together with several published cells" in done.stdout.lower()


@pytest.mark.parametrize(
    ("known", "words"), [("r,d\nA,Total\n", "no table has exactly the dimensions"), ("table,r,c\nu,A,Total\n", "'u'")]
)
def test_totals_of_no_table_are_refused(tmp_path, known, words):
    done = perturb(tmp_path, known)
    assert done.returncode == 2 and words in done.stderr


def test_a_cell_that_is_accepted_may_be_known(tmp_path):
    done = perturb(
        tmp_path, "r,c\nA,Total\n", accept=[f"t: {cell}" for cell in ("A/X", "A/Y", "Total/X", "Total/Total")]
    )
    assert done.returncode == 0, done
