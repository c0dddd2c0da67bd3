"""Whatever is written in the formats of τ-ARGUS is read back: values where they are shown, and statuses."""

import numpy as np
import pytest

from cellguard.argus.batch_parser import OPTIONS
from cellguard.argus.batch_run import BatchRun
from cellguard.argus.commands import WriteTable
from cellguard.argus.logbook import Logbook
from cellguard.argus.own_table import letter
from cellguard.argus.readers import read_result
from cellguard.argus.writers.catalogue import texts_of

from argus_batches import HRC, micro_batch, micro_folder


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A protected table of one, of two (with a trivial level) and of three dimensions."""
    folder = micro_folder(tmp_path_factory.mktemp("written"))
    (folder / "region.hrc").write_text(HRC.replace("@S1\n@S2", "@SX\n@@S1\n@@S2"))
    specify = '"Region""Size"|"Turnover"\n<SAFETYRULE> P(20,1)|FREQ(3,20)\n<SPECIFYTABLE> "Size"|"Turnover"\n'
    specify += '<SAFETYRULE> P(20,1)\n<SPECIFYTABLE> "Region""Size""Weight"|"Turnover"'
    (folder / "firms.rda").write_text(
        (folder / "firms.rda").read_text().replace("<NUMERIC>\n  <WEIGHT>", "<RECODEABLE>")
    )
    text = micro_batch(specify, "P(20,1)|FREQ(2,20)", "<SUPPRESS> MOD(0,5,0,0,0)")
    (folder / "b.arb").write_text(text)
    run = BatchRun(folder / "b.arb", Logbook(folder / "log.txt"), say=lambda line: None)
    assert run.run() == 0
    assert {int(s) for table in run.tables for s in table.status} >= {1, 3, 5, 11}
    return {len(table.shape): table for table in run.tables}


def options(*on):
    return dict.fromkeys(OPTIONS, False) | {"QU": True} | dict.fromkeys(on, True)


WAYS = [(1, ()), (2, ()), (2, ("AS",)), (3, ("SE",)), (3, ("AS", "FL"))]
WAYS += [(4, ()), (4, ("HL",)), (5, ()), (5, ("SO",)), (6, ()), (6, ("TR",))]


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize(("kind", "on"), WAYS)
def test_every_format_is_read_back(tables, kind, on, dimensions):
    table = tables[dimensions]
    text = texts_of(table, WriteTable(1, "", table.number, kind, options(*on), "t.x"), "t")[""]
    result = read_result(table, text, kind)
    hidden = table.unsafe | table.secondary
    shown = np.full(len(table), True) if kind > 3 or "AS" in on else ~hidden
    listed = result.status != 14
    assert result.found == listed.sum()
    if "TR" not in on:
        assert listed.all()
    assert np.allclose(result.value[shown & listed], table.value[shown & listed])
    assert np.isnan(result.value[~shown]).all()
    same = np.vectorize(letter)
    assert (same(result.status)[listed] == same(table.status)[listed]).all()
    if "AS" in on:
        assert (result.status == table.status).all()


def test_a_file_about_other_cells_has_none_of_the_table(tables):
    assert read_result(tables[2], "a,b,1,1\nc,d,2,1\n", 3).found == 0
    assert read_result(tables[2], "0\n5\n", 6).found == 0
