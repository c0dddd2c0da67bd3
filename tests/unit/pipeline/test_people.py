"""Who made an output cannot accept it under a name that looks like another one."""

# ruff: noqa: RUF001 (signs that look alike are what this is about)

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellguard.errors import InputError
from cellguard.pipeline.people import plain_name, same_person


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna Weber", "anna  WEBER"),
        ("Anna Weber", "Weber, Anna"),
        ("Anna Weber", "Anna-Weber"),
        ("Anna Weber", "AnnaWeber"),
        ("Anna Weber", "Аnna Weber"),  # Cyrillic
        ("Anna Weber", "Ａｎｎａ Ｗｅｂｅｒ"),  # of full width
        ("Anna Weber", "𝐀𝐧𝐧𝐚 Weber"),
        ("Anna Weber", "Anna\u200b Weber"),
        ("Rosa", "R0sa"),
        ("Ivo", "lvo"),
        ("Ivo", "1vo"),
        ("Ivo", "Ivо"),
        ("José", "Jose"),
        ("Jose\u0301", "José"),
        ("Müller", "Muller"),
        ("Straße", "STRASSE"),
        ("Romeo", "Rorneo"),
        ("Sara", "Ѕаrа"),
        ("раса", "paca"),  # Cyrillic throughout
        ("ΝΙΚΟ", "NIKO"),
        ("ΝΙΚΟ", "νικο"),
        ("ѕсоре", "scope"),
        ("İpek", "Ipek"),
        ("ıpek", "Ipek"),
    ],
)
def test_names_that_look_alike_are_one_person(one, other):
    assert same_person(one, other) and same_person(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna Weber", "Anna Meier"), ("Anna", "Hanna"), ("Jan", "Jana"), ("张伟", "王伟"), ("Иван", "Пётр")],
)
def test_other_names_are_other_people(one, other):
    assert not same_person(one, other)


@pytest.mark.parametrize(
    "name", ["Аnna Weber", "Anna Wеber", "Nikоs", "Anna\u200bWeber", "Anna\u202e", "\u2060", "...", "42", " "]
)
def test_names_of_several_scripts_or_without_letters_are_refused(name):
    with pytest.raises(InputError, match="name"):
        plain_name(name)


@pytest.mark.parametrize(
    "name", ["Zoë O'Neill-Østergård", "Łukasz Ångström", "Ἀθηνᾶ", "山田 タロウ", "김민준", "Ольга Ёлкина", "محمد"]
)
def test_names_of_one_script_are_taken_as_they_are(name):
    assert plain_name(name) == " ".join(name.split())


@given(st.text(min_size=1, max_size=30))
def test_a_name_is_itself_whatever_it_is(name):
    assert same_person(name, name)
    with contextlib.suppress(InputError):
        assert same_person(plain_name(name), name)
