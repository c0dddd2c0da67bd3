"""The words of the field, short paragraphs and pictures: what docs, help, pages and messages must keep to."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import cellguard
from cellguard.faces.cli.reference import reference
from cellguard.rules.described import described

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NOTES = {"decisions", "literature"}  # kept as they were written
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in NOTES),
]
LONGEST = 80
# Words that the glossary replaces, where they can mean nothing else: an attacker is not "he" or a "reader", a singleton
# is no "lone cell", a latent cell is none "between", a response variable is no "topic".
# What several tables come from is their cover table, which does not lie behind them; one row is "per" cell.
# A cell is suppressed and not hidden, and no attacker comes too near. (A rule's `hide: small` is about a count.)
REPLACED = re.compile(
    r"\b(he|him|his|himself|readers?|anybody|everybody|topics?|extent|lone cells?|cells? between|atoms?|whoever|"
    r"hidden|hiding|hides|too near|little room|room between|said of single cells|needs? of cells|be hidden|"
    r"lies? behind (?:them|several|these|tables?)|nobody behind|"
    r"(?:one|rows?|columns?|time|lines?) a (?:cell|row|line|level|step|respondent)|"
    r"a cell beforehand|as (?:asked|wanted)\b(?! for)|looked at from above)\b",
    re.IGNORECASE,
)
# What is written for machines, or means something else: attributes of pages, and files with a hidden name.
MEANT = re.compile(r"aria-hidden|(?:older|PX) readers|\{[{%].*?[%}]\}|hidden name|data-\w+")
# How often messages still have them; a number here only ever falls.
IN_MESSAGES = Counter()


def prose(text):
    """Return a page without code and the targets of links."""
    text = re.sub(r"^```.*?^```", "\n", text, flags=re.S | re.M)
    text = re.sub(r"`[^`]*`", "`", text)
    return MEANT.sub("", re.sub(r"\]\([^)]*\)", "]", text))


def paragraphs(text):
    """Return the paragraphs of a page: blocks between blank lines, items of lists one by one, no tables or headings."""
    text = re.sub(r"^```.*?^```", "\n", text, flags=re.S | re.M)
    for block in re.split(r"\n\s*\n", text):
        lines = []
        for line in block.splitlines():
            if line.startswith(("|", "#")):
                continue
            if re.match(r"\s*([-*]|\d+\.)\s", line) and lines:
                yield " ".join(lines)
                lines = []
            lines.append(line.strip())
        if lines:
            yield " ".join(lines)


def messages(path):
    """Return the texts of a module that are no docstrings and more than one word: messages, help and words of pages."""
    tree = ast.parse(path.read_text())
    owners = (ast.Module, ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        words = node.value if isinstance(node, ast.Constant) and id(node) not in docstrings else None
        if isinstance(words, str) and " " in words.strip():
            yield words


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_pages_use_the_words_of_the_glossary(page):
    assert REPLACED.findall(prose(page.read_text())) == []


def test_messages_help_and_page_templates_use_the_words_of_the_glossary():
    texts = [text for path in sorted((ROOT / "src/cellguard").rglob("*.py")) for text in messages(path)]
    texts += [path.read_text() for path in sorted((ROOT / "src/cellguard").rglob("*.html"))]
    found = Counter(word.lower() for text in texts for word in REPLACED.findall(MEANT.sub("", text)))
    assert found == IN_MESSAGES


def test_help_and_rules_use_the_words_of_the_glossary():
    """Docstrings that people read: of commands, options included, and of rules, as `cellguard rules` shows them."""
    texts = [reference(), *(str(dataclasses.asdict(rule)) for rule in described())]
    assert [word for text in texts for word in REPLACED.findall(MEANT.sub("", text))] == []


def test_pictures_and_scripts_of_pages_use_the_words_of_the_glossary():
    templates = ROOT / "src/cellguard/report/templates"
    shown = re.compile(r"""["'`>]([\w ,.:;()-]+ [\w ,.:;()-]+)["'`<]""")
    texts = [path.read_text() for path in (*templates.glob("*.js"), *(DOCS / "pictures").glob("*.svg"))]
    said = (words for text in texts for words in shown.findall(re.sub(r"^\s*//.*$", "", text, flags=re.M)))
    assert [words for words in said if REPLACED.search(MEANT.sub("", words))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_paragraphs_are_short(page):
    long = [text[:60] for text in paragraphs(page.read_text()) if len(text.split()) > LONGEST]
    assert long == []


def test_pictures_are_small_and_have_a_text_alternative():
    shown = {}
    for page in PAGES:
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text()):
            assert len(words.split()) >= 4, f"{page.name}: {target} has no text alternative"
            shown[(page.parent / target).resolve()] = page.name
    pictures = set((DOCS / "pictures").iterdir())
    assert {path for path in shown if not path.exists()} == set()
    assert {path.name for path in pictures if path.stat().st_size > 150_000} == set()
    assert {path.name for path in pictures} == {path.name for path in shown}


def test_words_of_the_glossary_are_in_it_and_are_linked():
    glossary = (DOCS / "glossary.md").read_text()
    words = re.findall(r"^### (.+)$", glossary, re.M)
    assert len(words) == len(set(words)) > 40
    for folder in ("tutorials", "how-to", "explanation", "reference"):
        linked = [page for page in (DOCS / folder).glob("*.md") if "glossary.md#" in page.read_text()]
        assert len(linked) >= 4, folder


def test_the_api_page_has_every_public_name():
    shown = re.findall(r"^\.\. auto\w+:: (\w+)$", (DOCS / "reference/api.md").read_text(), re.M)
    assert sorted(shown) == cellguard.__all__


def _sections(docstring):
    """Return the sections of a numpydoc docstring, and the names that its parameters or attributes have."""
    titles = re.findall(r"^(\w+)\n-+$", docstring, re.M)
    entries = re.search(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w+\n-+$|\Z)", docstring, re.M | re.S)
    names = re.findall(r"^(\S.*)$", entries.group(1), re.M) if entries else []
    return titles, {name.strip("*") for line in names for name in line.split(", ")}


@pytest.mark.parametrize("name", cellguard.__all__)
def test_every_public_name_has_a_docstring_with_all_its_sections(name):
    public = getattr(cellguard, name)
    docstring = inspect.getdoc(public)
    titles, described = _sections(docstring)
    assert titles[-1] == "Examples" and ">>>" in docstring
    assert titles == [
        title
        for title in ("Parameters", "Attributes", "Returns", "Raises", "References", "Examples")
        if title in titles
    ]
    if inspect.isfunction(public):
        assert set(inspect.signature(public).parameters) == described
        assert "Returns" in titles
    elif dataclasses.is_dataclass(public):
        assert {field.name for field in dataclasses.fields(public) if field.init} - {"_progress"} <= described | {
            "hierarchies"
        }
    elif not issubclass(public, Exception):
        assert "Parameters" in titles or "Attributes" in titles


def test_rules_and_methods_have_references():
    for name in ("PPercent", "Dominance", "PriorPosterior", "MinFrequency", "Request", "Linear", "audit", "suppress"):
        assert "References\n" in inspect.getdoc(getattr(cellguard, name)), name
