"""Whose each record is, and what is drawn for respondents."""

import numpy as np
import pytest

from cellguard.errors import InputError
from cellguard.microdata.checked import check_records
from cellguard.microdata.record_keys import RecordKeys, read_column, read_record_keys
from cellguard.microdata.roles import Missing, Roles
from cellguard.microdata.sources import open_records


@pytest.mark.parametrize(
    ("unit", "keys", "message"),
    [([0, 2], ["a", "b"], "respondent has no key"), ([0, 1], ["a", "a"], "two respondents have the same key")],
)
def test_wrong_keys_are_refused(unit, keys, message):
    with pytest.raises(InputError, match=message):
        RecordKeys(np.array(unit), np.array(keys))


def test_what_is_drawn_does_not_depend_on_the_order_of_the_records():
    drawn, texts = np.array([0.1, 0.2, 0.3]), ["b", "c", "a", "b"]
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        owners = RecordKeys.of([texts[i] for i in order])
        of_record = owners.deal(drawn)[owners.unit]
        assert dict(zip((texts[i] for i in order), of_record, strict=True)) == {"a": 0.1, "b": 0.2, "c": 0.3}
        assert owners.in_order(owners.deal(drawn)).tolist() == drawn.tolist()


@pytest.mark.parametrize(
    ("roles", "keys", "unit"),
    [
        ({"holding": "group", "respondent": "id"}, ["g", "h"], [1, 0, 1]),
        ({"respondent": "id"}, ["7", "8", "9"], [2, 1, 0]),
        ({}, ["0", "1", "2"], [0, 1, 2]),
    ],
)
def test_records_belong_to_holdings_respondents_or_themselves(roles, keys, unit):
    data = {"r": ["N", "S", "N"], "group": ["h", "g", "h"], "id": [9, 8, 7], "note": [" x", None, "y"]}
    checked = check_records(open_records(data, name="the records"), Roles(("r",), **roles, missing=Missing()))
    owners = read_record_keys(checked)
    assert owners.keys.tolist() == keys and owners.unit.tolist() == unit
    assert read_column(checked, "note") == ["x", "", "y"]
