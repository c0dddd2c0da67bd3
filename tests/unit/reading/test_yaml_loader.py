"""YAML by libyaml is YAML by Python: the same nodes and lines, the same errors, and no text ends the process."""

import pytest
import yaml

from cellguard.reading.yaml_loader import compose

TEXTS = [
    "",
    "a: yes",
    "a: [b,\nc]",
    "a: |\n  x\n\n  y\n",
    "? [1]\n: 2",
    "<<: {a: 1}",
    "{a:b}",
    "a: \U0001f600 \u00e9\nb: \ufeff",
    "\ufeffa: 1_000",
    "&a [1, *b]",
    "&a {b: &c [1], d: *c}",
    "a: *x",
    "a: \x00",
    "a: \ud800",
    "a:\t1",
    "- a\t\n- b",
    "\ta: 1",
    "a: 'x\n",
    "a: 1\n---\nb: 2",
    'a: "\\q"',
    "'a':1",
    "a: b: c",
    "!!python/object:os.x {}",
]


def found(make):
    try:
        return told(make())
    except yaml.YAMLError as error:
        return type(error), getattr(error, "problem", None)


def told(node):
    """A node as plain text: kind, tag, line and what it holds."""
    if node is None:
        return None
    inner = node.value
    if isinstance(inner, list):
        inner = [told(one) if isinstance(one, yaml.Node) else (told(one[0]), told(one[1])) for one in inner]
    return type(node), node.tag, node.start_mark.line, inner


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_both_ways_find_the_same(text):
    assert found(lambda: compose(text)[1]) == found(lambda: yaml.SafeLoader(text).get_single_node())


@pytest.mark.parametrize("level", ["[", "- ", "{a: "])
def test_what_is_nested_too_deeply_is_an_error_and_no_crash(level):
    with pytest.raises(RecursionError):
        compose(level * 100_000)


def test_without_libyaml_it_is_the_same(monkeypatch):
    quick = told(compose("a: [1, 2]")[1])
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert told(compose("a: [1, 2]")[1]) == quick
