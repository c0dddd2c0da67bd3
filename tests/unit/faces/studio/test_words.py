"""The words of the pages: every key in every language, nothing said that is not there, and no idle words."""

import json
import re
from importlib.resources import files

import pytest

from cellguard.words.language import LANGUAGES

ASSETS = files("cellguard.faces.studio").joinpath("assets")
ENGLISH = json.loads(ASSETS.joinpath("words.json").read_text(encoding="utf-8"))
TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in ASSETS.iterdir()
    if path.name.endswith((".js", ".html")) and path.name != "regular-table.js"
}
# Keys that are put together: what is before the part that varies.
STEMS = re.compile(r"\bt\(`(\w+)\$\{")


@pytest.fixture
def words(maker):
    return maker.client.get("/assets/words.json").json()


def asked():
    plain, stems = set(), set()
    for text in TEXTS.values():
        plain |= set(re.findall(r'\bt\(\s*"(\w+)"', text)) | set(re.findall(r'data-t="(\w+)"', text))
        plain |= {word for pair in re.findall(r'\bt\([^"`]*\? "(\w+)" : "(\w+)"', text) for word in pair}
        stems |= set(STEMS.findall(text))
    return plain, stems


def test_every_key_is_said_in_every_language_with_the_same_parts(words):
    assert set(words) == set(ENGLISH)
    for key, said in words.items():
        assert set(said) == set(LANGUAGES) and all(text.strip() for text in said.values()), key
        assert len({frozenset(re.findall(r"\{(\w+)\}", text)) for text in said.values()}) == 1, key
        assert said["en"] == ENGLISH[key]


def test_what_pages_say_is_in_the_catalogue():
    plain, stems = asked()
    assert sorted(key for key in plain if key not in ENGLISH) == []
    assert sorted(stem for stem in stems if not any(key.startswith(stem) for key in ENGLISH)) == []


def test_the_catalogue_has_no_idle_words():
    plain, stems = asked()
    texts = "\n".join(TEXTS.values())
    idle = [k for k in ENGLISH if k not in plain and not any(k.startswith(s) for s in stems) and f'"{k}"' not in texts]
    assert [key for key in idle if not key.endswith("_done")] == []


def test_translations_are_translations(words):
    same = [
        key for key, said in words.items() if len(said["en"].split()) > 2 and said["en"] in (said["fr"], said["de"])
    ]
    assert same == []


@pytest.mark.parametrize(("language", "error"), [("de", "das ist kein Name"), ("fr-CA", "ce n'est pas"), ("", "this")])
def test_errors_are_in_the_language_of_who_asks(maker, language, error):
    headers = {"X-Cellguard-Word": maker.word, "Accept-Language": language}
    answer = maker.client.post("/api/open", json={"job": "../x.yaml"}, headers=headers)
    assert answer.json()["error"].startswith(error)


def test_one_pages_language_is_not_anothers(maker, checker):
    assert "das" in maker.client.get("/api/data/.x", headers={"Accept-Language": "de"}).json()["error"]
    assert "this is no name" in checker.client.get("/api/data/.x").json()["error"]
