"""The catalogue: whole, in both languages, with the same parts; and what users read of each place is in it."""

import ast
import functools
import re
import string
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes

import cellguard
from cellguard.words.catalogue import entries, parse
from cellguard.words.language import LANGUAGES, language_of, speaking
from cellguard.words.retell import retell
from cellguard.words.say import say, say_number

SOURCE = Path(cellguard.__file__).parent
TEMPLATES = SOURCE / "report" / "templates"
OTHERS = [language for language in LANGUAGES if language != "en"]
TAG = re.compile(r"<[^>]+>")
# What is the same in other languages, or has no letters.
SAME = re.compile(
    r"[^A-Za-z]*|.{1,12}|R1.*|U\d.*|{n} min {n2} s|{what} \({cells}\)|version {version}|cellguard: {what}"
)


def parts(text):
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name and name.isidentifier())


def said_by_templates():
    environment = jinja2.Environment(autoescape=True)
    for path in sorted(TEMPLATES.glob("*.html")):
        for call in environment.parse(path.read_text(encoding="utf-8")).find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name == "say":
                yield path.name, call.args[0].value
    for path in sorted(TEMPLATES.glob("*.js")):
        for text in re.findall(r'\bsay\("([^"\\]+)"', path.read_text(encoding="utf-8")):
            yield path.name, text


@functools.cache
def calls():
    """Every call of a plain name in any module, with its module: read once, since that is what takes time."""
    return [
        (path, node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]


def said_by_modules():
    for path, node in calls():
        if path.parent.name != "words" and node.func.id == "say":
            for text in written(node.args[0]):
                yield path.name, text


def never_checked():
    """Return the names of attacks that are not checked, and who is meant, as modules write them."""
    for path, node in calls():
        for given in node.args[1:3] if node.func.id == "NotChecked" else ():
            yield from ((path.name, text) for text in written(given))


def written(node):
    """Return the sentences that an expression may give; what is put in is a number or a word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*written(node.body), *written(node.orelse))
    elif isinstance(node, ast.BinOp):
        yield from (a + b for a in written(node.left) for b in written(node.right))
    elif isinstance(node, ast.JoinedStr):
        counted = ("most", "size", "len")
        text = ""
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                text += piece.value
            else:
                text += "3" if any(word in ast.unparse(piece) for word in counted) else "Xyz"
        yield text


@pytest.mark.parametrize("language", OTHERS)
def test_translations_have_the_parts_and_tags_of_the_text(language):
    for key, told in entries(language).items():
        text = key.rpartition("\x04")[2]
        assert parts(told) == parts(text), text
        assert sorted(TAG.findall(told)) == sorted(TAG.findall(text)), text
        assert told != text or SAME.fullmatch(text), text


def test_both_languages_have_the_same_texts():
    first, *others = (set(entries(language)) for language in OTHERS)
    assert [first ^ other for other in others] == [set()] * len(others)


@pytest.mark.parametrize("language", OTHERS)
def test_whatever_pages_and_modules_say_is_in_the_catalogue(language):
    asked = [*said_by_templates(), *said_by_modules()]
    assert len(asked) > 200
    missing = {(where, text) for where, text in asked if text not in entries(language)}
    assert missing == set()


def test_pages_say_nothing_but_through_the_catalogue():
    for path in sorted(TEMPLATES.glob("*.html")):
        bare = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        bare = re.sub(r'aria-label="[^"]*[a-z]{3}[^"]*"', "UNSAID", bare)
        assert re.findall(r"[A-Za-z]{3,}", TAG.sub("|", bare).replace("doctype", "")) == [], path.name


@pytest.mark.parametrize("language", OTHERS)
def test_every_attack_that_is_not_checked_is_named_in_every_language(language):
    asked = {text for _, text in never_checked() if text and text != "Xyz"}
    assert len(asked) > 35
    with speaking(language):
        assert [text for text in sorted(asked) if retell(text) == text or "not checked" in retell(text)] == []


HEADLINES = [
    f"Safe against outsiders and {whom}{beyond}{left}"
    for whom in ("every single respondent", "the respondents of single cells", "up to 3 respondents together")
    for beyond in ("", ", what respondents know beyond listed cells not checked")
    for left in ("", ", crossing tables and counts and values of several tables together not checked")
]
HEADLINES += [
    f"Safe against outsiders only{left}; insiders not checked: {singles}"
    for left in ("", ", some sums of suppressed cells not checked")
    for singles in (
        "1 single-respondent cell is suppressed in the same sums as others",
        "1,204 single-respondent cells are suppressed in the same sums as others",
        "at least 2, but it is not known how many single-respondent cells are suppressed in the same sums as others, "
        "since table 'a' does not give the number of respondents",
    )
]
HEADLINES += [
    "UNSAFE: an outsider can estimate too closely 2 unsafe cells; do not publish",
    "UNSAFE: 1 coalition of respondents can estimate others too closely; do not publish. No rule was applied to 'b'",
    "NOT PROVEN: what respondents can work out of 1 unsafe cell could not be decided (`coalition: 1` looks at single "
    "respondents); do not publish",
    "No rule was applied, so nothing is known to be safe",
    "UNSAFE: an outsider can work out 3 suppressed cells exactly; do not publish",
]
ENGLISH = re.compile(r"\b(safe|against|cells?|checked|respondents?|publish|outsiders?|known|proven)\b", re.IGNORECASE)


@pytest.mark.parametrize("language", OTHERS)
def test_headlines_keep_no_english_word(language):
    with speaking(language):
        for headline in HEADLINES:
            told = re.sub(r"\(`.*?\)|'\w+'", "", retell(headline))
            assert ENGLISH.findall(told) == [], told


def test_a_caveat_is_retold_attack_by_attack():
    with speaking("de"):
        told = retell("Respondents together not checked; tables outside this set not checked.")
    assert told == "Nicht geprüft: Befragte zusammen; nicht geprüft: Tabellen außerhalb dieses Satzes."


def test_sentences_are_retold_one_by_one():
    with speaking("fr"):
        told = retell("All 1,234 unsafe cells are suppressed. Respondents together not checked.")
    assert told == "Les 1\u202f234 cellules sensibles sont toutes sous secret. Non vérifié : répondants ensemble."


@pytest.mark.parametrize("name", ["Tables", "primary", "Total; cells", "by and and", "{n} cells", "1,5", "a/b"])
def test_names_of_the_user_are_kept(name):
    with speaking("de"):
        assert name in retell(f"no table '{name}'; known are 'x'")
        assert retell(f"protects {name}; suppressed with b").startswith(f"schützt {name}")


def test_what_is_not_known_stays_english():
    with speaking("de"):
        assert retell("Nobody ever wrote this, and 1,234.5 stays.") == "Nobody ever wrote this, and 1,234.5 stays."
        assert say("never said: {n}", n=1) == "never said: 1"


def test_english_is_never_touched():
    assert retell("Safe against outsiders and every single respondent") == (
        "Safe against outsiders and every single respondent"
    )
    assert say_number("1,234.5") == "1,234.5"


def test_the_first_variable_that_says_anything_decides():
    assert language_of({"LC_ALL": "C.UTF-8", "LANG": "de_DE.UTF-8"}) == "en"
    assert language_of({"LANGUAGE": "nl:fr:de", "LANG": "de_DE"}) == "fr"
    assert language_of({}) == "en"


def test_a_text_may_not_be_translated_twice():
    with pytest.raises(ValueError, match="twice"):
        parse('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n')
