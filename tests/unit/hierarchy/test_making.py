"""Hierarchies are made and recoded by methods, which do what the functions behind them do."""

import pytest

import cellguard as cg


def test_hierarchies_from_files(tmp_path):
    files = {"levels.csv": "big,small\nA,A1\nA,A2\n", "parents.csv": "code,parent\nAll,\nA,All\nA1,A\n"}
    files |= {"tree.hrc": "A\n#A1\n#A2\n", "labels.csv": "code,label\nA,Agriculture\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    labels = cg.Hierarchy.read_labels(tmp_path / "labels.csv")
    levels = cg.Hierarchy.read_levels(tmp_path / "levels.csv", total="T", labels=labels)
    assert levels.codes == ("T", "A", "A1", "A2") and levels.labels == {"A": "Agriculture"}
    assert cg.Hierarchy.read_parents(tmp_path / "parents.csv", total="All").codes == ("All", "A", "A1")
    assert cg.Hierarchy.read_hrc(tmp_path / "tree.hrc", lead="#").codes == ("Total", "A", "A1", "A2")


def test_recodings_chain_and_remember():
    h = cg.Hierarchy.from_levels([("A", "A1"), ("A", "A2"), ("B", "B1")]).cut(["B"]).merge({"A12": ["A1", "A2"]})
    assert h.codes == ("Total", "A", "A12", "B")
    assert h.cut_off == {"B1": "B"} and h.merged == {"A1": "A12", "A2": "A12"}
    assert h.to_level(1).codes == ("Total", "A", "B")
    with pytest.raises(cg.InputError, match="levels 0 to 2"):
        h.to_level(3)
