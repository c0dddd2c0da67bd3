"""The words of the pages: every key in every language, nothing said that is not there, and no idle words."""

import json
import re
from importlib.resources import files

import pytest

ASSETS = files("cellguard.faces.studio").joinpath("assets")
WORDS = json.loads(ASSETS.joinpath("words.json").read_text(encoding="utf-8"))
LANGUAGES = {"en", "fr", "de"}
TEXTS = {
    path.name: path.read_text(encoding="utf-8")
    for path in ASSETS.iterdir()
    if path.name.endswith((".js", ".html")) and path.name != "regular-table.js"
}
# Keys that are put together: what is before the part that varies.
STEMS = re.compile(r"\bt\(`(\w+)\$\{")


def asked():
    plain, stems = set(), set()
    for text in TEXTS.values():
        plain |= set(re.findall(r'\bt\(\s*"(\w+)"', text)) | set(re.findall(r'data-t="(\w+)"', text))
        plain |= {word for pair in re.findall(r'\bt\([^"`]*\? "(\w+)" : "(\w+)"', text) for word in pair}
        stems |= set(STEMS.findall(text))
    return plain, stems


@pytest.mark.parametrize("key", sorted(WORDS))
def test_every_key_is_said_in_every_language_with_the_same_parts(key):
    said = WORDS[key]
    assert set(said) == LANGUAGES and all(text.strip() for text in said.values())
    parts = {frozenset(re.findall(r"\{(\w+)\}", text)) for text in said.values()}
    assert len(parts) == 1


def test_what_pages_say_is_in_the_catalogue():
    plain, stems = asked()
    assert sorted(key for key in plain if key not in WORDS) == []
    assert sorted(stem for stem in stems if not any(key.startswith(stem) for key in WORDS)) == []


def test_the_catalogue_has_no_idle_words():
    plain, stems = asked()
    texts = "\n".join(TEXTS.values())
    idle = [k for k in WORDS if k not in plain and not any(k.startswith(s) for s in stems) and f'"{k}"' not in texts]
    assert [key for key in idle if not key.endswith("_done")] == []


def test_translations_are_translations():
    same = [
        key for key, said in WORDS.items() if len(said["en"].split()) > 2 and said["en"] in (said["fr"], said["de"])
    ]
    assert same == []
