"""Jobs whose a-priori statements contradict each other through two groupings: an answer, never an internal error."""

import pytest
from click.testing import CliRunner

from cellguard.cli.main import cli
from cellguard.errors import NotProtected

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
