"""What errors say: all of it is in the catalogue, nothing of it is stale, and retelling is quick and safe."""

import time
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

import source_messages
from cellguard.errors import did_you_mean, listing
from cellguard.words.catalogue import entries, parse
from cellguard.words.language import speaking
from cellguard.words.retell import retell
from cellguard.words.templates import Index, Template

OTHERS = ["fr", "de"]
# Only who works on the catalogue reads these.
DEVELOPERS = ("words/catalogue.py",)


def catalogue_of_errors(language):
    return parse(files("cellguard.words").joinpath(f"{language}.errors.po").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def said():
    """What the source says, by its shape."""
    found = {source_messages.shape(one.text): one for one in source_messages.messages()}
    return {shape: one for shape, one in found.items() if not one.place.startswith(DEVELOPERS)}


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_of_the_source_is_in_the_catalogue(said, language):
    assert len(said) > 1_200
    known = {source_messages.shape(text.rpartition("\x04")[2]) for text in entries(language)}
    assert [f"{one.place}: {one.text}" for shape, one in said.items() if shape not in known] == []


@pytest.mark.parametrize("language", OTHERS)
def test_the_catalogue_of_errors_says_nothing_that_the_source_does_not(said, language):
    assert [text for text in catalogue_of_errors(language) if source_messages.shape(text) not in said] == []


def test_messages_are_read_from_the_source_with_all_that_they_may_be():
    texts = {one.text for one in source_messages.messages()}
    assert "{path}: {total}" not in texts
    assert sum(text.startswith("even a single ") for text in texts) == 3  # one for each kind of cell
    assert any("{more}" in text for text in texts) and any("{n2}" in text for text in texts)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize(
    "before", ["", "job.yaml line 3: ", "table 'a b': ", "firms.csv line 12, column 'x': tables: "]
)
def test_a_message_is_retold_behind_any_place(language, before):
    message = (
        before + "column 'to' holds two totals, 'Total' and 'ALL'; keep the rows of one of them, spelled in one way"
    )
    with speaking(language):
        told = retell(message)
    assert told != message and "keep the rows" not in told and "'Total'" in told and "'to'" in told
    assert "line" not in told.split("holds")[0].split("ligne")[0] if before else True


def test_a_place_and_a_list_of_names_are_said_too():
    with speaking("de"):
        told = retell("table 'line 3': no column 'and'" + did_you_mean("xyz", [f"{word} or" for word in "abcdefghij"]))
    names = ", ".join(f"'{word} or'" for word in "abcdefgh")
    assert told == f"Tabelle 'line 3': keine Spalte 'and'; es gibt {names} und 2 weitere"


@given(st.text(min_size=1, max_size=40), st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=4))
def test_no_name_is_ever_changed(name, names):
    message = f"table {name!r}: no column {names[0]!r}; known are {listing(names)}"
    with speaking("de"):
        told = retell(message)
    assert repr(name) in told and all(repr(one) in told for one in names)


HOSTILE = [apart.join("ab" * 500) for apart in ("; ", ": ", " and ", ", ")]
HOSTILE += ["no column " * 400, "'" * 3_000, "1," * 2_000, "a is in two groups; keep one " * 100, "\\'" * 2_000]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_makes_retelling_slow(name):
    messages = [
        f"table {name}: `publish` names {name}; known are {name}",
        f"{name} line 3: {name}: {name}",
        f"dimension {name}: the total is called {name} in one release and {name} in another; call it the same",
        name,
    ]
    with speaking("de"):
        retell("the file is empty")  # the catalogue is read
        start = time.process_time()
        for message in messages:
            retell(message)
        assert time.process_time() - start < 0.5


def test_a_message_is_compared_with_few_texts(monkeypatch, said):
    compared = []
    match = Template.match
    monkeypatch.setattr(Template, "match", lambda self, text: compared.append(self) or match(self, text))
    index = Index(Template.of(text, told) for text, told in entries("de").items() if "{" in text and "\x04" not in text)
    texts = [text.replace("{", "'").replace("}", "'") for text in said][:400]
    for text in texts:
        index.match(text)
    assert len(compared) / len(texts) < 60


def test_english_needs_no_catalogue(monkeypatch):
    monkeypatch.setattr("cellguard.words.retell.entries", lambda language: pytest.fail("the catalogue is read"))
    assert retell("table 't': no column 'x'; known are 'y'") == "table 't': no column 'x'; known are 'y'"


def test_few_words_are_recognised_where_names_are_quoted_only():
    with speaking("de"):
        assert retell("no key 'x'; known are 'y'") == "kein Schlüssel 'x'; bekannt sind 'y'"
        assert retell("no key x") == "no key x"
