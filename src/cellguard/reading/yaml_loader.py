"""The loader of YAML: libyaml scans and parses where it is there, in a fifth of the time.

Nodes are composed in Python all the same: libyaml's own composer calls itself for each level, so a text that is nested
deeply enough would end the process. What libyaml refuses is read again in Python, whose errors say more; so is a text
with tabs, of which the two think differently.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver


def compose(text: str) -> tuple[yaml.SafeLoader, yaml.Node | None]:
    """Return a loader and the node of a text that is one document, None if it is empty.

    Raises `yaml.YAMLError` where it is not YAML, and `RecursionError` where it is nested too deeply.

    >>> loader, node = compose("a: [1, 2]")
    >>> loader.construct_object(node, deep=True)
    {'a': [1, 2]}
    """
    if yaml.__with_libyaml__ and "\t" not in text:
        try:
            quick = _quick(text)
            return quick, quick.get_single_node()
        except (yaml.YAMLError, UnicodeError):
            pass
    loader = yaml.SafeLoader(text)
    return loader, loader.get_single_node()


def _quick(text: str) -> Any:  # noqa: ANN401
    """Return a loader that behaves as a `yaml.SafeLoader`."""
    from yaml._yaml import CParser

    class Quick(Composer, CParser, SafeConstructor, Resolver):  # in this order: the composer is not libyaml's
        def __init__(self) -> None:
            CParser.__init__(self, text)
            for part in (Composer, SafeConstructor, Resolver):
                part.__init__(self)

    return Quick()
