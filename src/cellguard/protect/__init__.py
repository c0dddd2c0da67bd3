"""Protection methods; and ``cellguard.protect(...)``, since the module can be called.

It makes tables from records (a frame or a path), hides as little of them as possible, and proves that the rest is safe;
``help(cellguard.onecall.protect.protect)`` describes every argument.

>>> import cellguard as cg
>>> firms = {"region": ["N"] * 3 + ["S"] * 4 + ["W"] * 4, "turnover": [90, 8, 2, 30, 40, 35, 30, 20, 20, 20, 20]}
>>> outcome = cg.protect(firms, by=["region"], value="turnover", rules=[cg.MinFrequency(3), cg.PPercent(10)])
>>> outcome.crosstab().to_pydict()
{'region': ['N', 'S', 'W', 'Total'], 'turnover': [None, 135.0, None, 315.0]}
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module that can be called: a package and a function cannot share the name `cellguard.protect` otherwise."""

    def __call__(self, *args: Any, **options: Any) -> Any:  # noqa: ANN401
        # By its name, since the function stands above all methods: no method needs it.
        return import_module("cellguard.onecall.protect").protect(*args, **options)


sys.modules[__name__].__class__ = _Callable
