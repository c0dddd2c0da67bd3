"""Jobs whose a-priori statements meet in one cell: an answer, never an internal error, and a valid certificate."""

import pytest
from click.testing import CliRunner

from cellguard.errors import NotProtected
from cellguard.faces.cli.main import cli

JOB = """\
version: 1
microdata: {source: r.csv, respondent: id}
dimensions:
  a: {parents: a0.csv, also: [{name: alt, parents: a1.csv}]}
  b: {parents: b0.csv}
  c: {parents: c0.csv, also: [{name: alt, parents: c1.csv}]}
tables:
  - {name: t0, by: [a, b, c], value: count, zeros: possible, rules: [{min_frequency: 2}], protect: {cost: constant},
     apriori: said.csv}
"""
FILES = {
    "a0.csv": "code,parent\nTotal,\nX00,Total\na0,X00\na1,Total\n",
    "a1.csv": "code,parent\nTotal,\nP00,Total\na1,P00\na0,P00\n",
    "b0.csv": "code,parent\nTotal,\nY01,Total\nb2,Y01\nY00,Total\nb1,Y00\nb0,Y00\n",
    "c0.csv": "code,parent\nTotal,\nZ00,Total\nc0,Z00\nc1,Z00\n",
    "c1.csv": "code,parent\nTotal,\nc1,Total\nc0,Total\n",
    "r.csv": "id,a,b,c\n0,a0,b1,c0\n1,a0,b0,c0\n2,a0,b0,c1\n3,a0,b0,c1\n",
    "said.csv": "a,b,c,status\nTotal,Total,Z00,must_suppress\na0,Y00,Total,must_publish\n",
    "job.yaml": JOB,
}


def test_equal_cells_of_which_one_must_be_hidden_and_one_published(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(NotProtected, match=r"Total/Total/Z00 cannot be protected .* away from t0: a0/Y00/Total"):
        CliRunner().invoke(
            cli,
            ["protect", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")],
            catch_exceptions=False,
            standalone_mode=False,
        )
    assert not (tmp_path / "out").exists()


def test_a_need_that_is_said_of_a_waived_row_is_one_of_its_cell(tmp_path):
    (tmp_path / "r.csv").write_text("id,a,x\n" + "".join(f"{i},a{i % 4},{1 + i % 2}\n" for i in range(6)))
    (tmp_path / "said.csv").write_text("a,status,need_lower,need_upper\na3,waived,0,5\n")
    rules = "rules: [{min_frequency: 3}]"
    (tmp_path / "job.yaml").write_text(
        "version: 1\nmicrodata: {source: r.csv, respondent: id}\ntables:\n"
        f"  - {{name: t, by: [a], value: x, apriori: said.csv, {rules}}}\n  - {{name: u, by: [a], value: x, {rules}}}\n"
    )
    for command in (
        ["protect", str(tmp_path / "job.yaml"), "--out", str(tmp_path / "out")],
        ["verify", str(tmp_path / "out")],
    ):
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output
