"""τ-ARGUS metadata of microdata."""

import pytest

from cellguard.errors import InputError
from cellguard.microdata.rda import OutsideFile, parse_rda, read_code_list, read_rda

FIXED = """Region 1 2 99
  <RECODEABLE>
  <CODELIST> "REGION.CDL"
  <HIERARCHICAL>
  <HIERCODELIST> "region.hrc"
  <HIERLEADSTRING> "@"
  <DISTANCE> 1 2 3
Industry 4 5 99999 99998
  <RECODABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 3 1 1 0 0
  <TOTCODE> "All"
Wgt 10 4
  <DECIMALS> 1
  <WEIGHT>
Turnover 15 9 999999999
  <NUMERIC> <DECIMALS> 2
Group 25 3
  <HOLDING>
Ask 29 1
  <REQUEST> "1" "2"
"""


def test_fixed_format():
    found = parse_rda(FIXED)
    assert found.dialect.columns == ("Region", "Industry", "Wgt", "Turnover", "Group", "Ask")
    assert found.dialect.fields == ((1, 2), (4, 5), (10, 4), (15, 9), (25, 3), (29, 1))
    assert found.absent == {"Region": ("99",), "Industry": ("99999", "99998"), "Turnover": ("999999999",)}
    assert [found.of_role(r) for r in ("weight", "holding", "request")] == ["Wgt", "Group", "Ask"]
    region, industry = found.variable("Region"), found.variable("Industry")
    assert (region.hrc, region.lead, region.labels) == ("region.hrc", "@", "REGION.CDL")
    assert (industry.digits, industry.total) == ((3, 1, 1), "All")
    assert (found.variable("Turnover").decimals, found.variable("Ask").request) == (2, ("1", "2"))
    assert industry.is_code and found.variable("Turnover").is_number


def test_free_format():
    found = parse_rda(
        '<SEPARATOR> ";"\n"Size class" 2 99\n <RECODEABLE>\nX 8\n <NUMERIC>\n <CKM> T(3)\n <SCALING> F(1,2)\n'
    )
    assert found.dialect.delimiter == ";" and found.dialect.fields == ()
    assert found.dialect.columns == ("Size class", "X") and found.of_role("weight") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "m.rda: no variables"),
        ("<NUMERIC>\n", "m.rda line 1: <NUMERIC> stands before the first variable"),
        ("X 1\n", "m.rda line 1: a variable needs name, starting position and width"),
        ("X one 2\n", "m.rda line 1: a variable needs name"),
        ("X 1 2 999\n", "m.rda line 1: the missing code '999' is longer than the width 2"),
        ("X 1 2 9 8 7\n", "m.rda line 1: a variable has at most two codes for missing"),
        ("X 1 2\n <NUMRIC>\n", "m.rda line 2: unknown keyword <NUMRIC>; did you mean '<NUMERIC>'"),
        ("X 1 5\n <HIERLEVELS> 3 1\n", "m.rda line 2: <HIERLEVELS> has a wrong or missing value"),
        ("X 1 5\n <DECIMALS>\n", "m.rda line 2: <DECIMALS> has a wrong or missing value"),
        ("X 1 5\nX 6 2\n", "m.rda: the variable 'X' comes twice"),
        ('<SEPARATOR> ";;"\n', "m.rda line 1: <SEPARATOR> needs one character"),
        ("<SPSS>\nX 1\n", "m.rda line 1: SPSS files are not read"),
        ('<SEPARATOR> ";"\nX 5\n <FREQUENCY>\n', "m.rda line 3: <FREQUENCY> describes a table of cells, not records"),
    ],
)
def test_faults(text, words):
    with pytest.raises(InputError) as caught:
        parse_rda(text, source="m.rda")
    assert words in str(caught.value)


def test_files_elsewhere_are_read_only_with_leave(tmp_path):
    home = tmp_path / "home"
    (home / "lists").mkdir(parents=True)
    (home / "m.rda").write_text(FIXED)
    secret = tmp_path / "secret.hrc"
    secret.write_text("North\n")
    (home / "lists/region.hrc").write_text("North\n")
    (home / "link.hrc").symlink_to(secret)
    (home / "up").symlink_to(tmp_path)
    found, trusted = read_rda(home / "m.rda"), read_rda(home / "m.rda", elsewhere=True)
    assert found.file("lists/region.hrc", home) == home / "lists/region.hrc"
    for name in (str(secret), "../secret.hrc", "lists/../../secret.hrc", "link.hrc", "up/secret.hrc"):
        with pytest.raises(OutsideFile, match=r"outside of its folder; copy it .*{files_elsewhere: true}"):
            found.file(name, home)
        assert trusted.file(name, home).resolve() == secret
    with pytest.raises(OutsideFile):
        found.file("..\\secret.hrc", home)
    (home / "Secret.hrc").write_text("North\n")  # what is beside the metadata is never outside
    assert found.file("../secret.hrc", home) == home / "Secret.hrc"


def test_files_are_found_whatever_their_capitals(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "m.rda").write_text(FIXED)
    (tmp_path / "region.cdl").write_text(" 1,Groningen\n 2, Friesland\n")
    (tmp_path / "data" / "region.hrc").write_text("North\n@ 1\n@ 2\n")
    found = read_rda(tmp_path / "m.rda")
    assert found.file("REGION.CDL", tmp_path / "data") == tmp_path / "region.cdl"
    assert found.file("c:\\meta\\region.hrc", tmp_path / "data") == tmp_path / "data" / "region.hrc"
    assert read_code_list(tmp_path / "region.cdl") == {" 1": "Groningen", " 2": "Friesland"}
    with pytest.raises(InputError, match=r"m.rda names the file 'nowhere.hrc', which is neither beside it"):
        found.file("nowhere.hrc", tmp_path / "data")
    with pytest.raises(InputError, match="no variable 'Regin'; did you mean 'Region'"):
        found.variable("Regin")
