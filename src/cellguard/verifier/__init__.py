"""The independent verifier: checks an output folder and its certificate in exact arithmetic, without a solver.

It shares no code with the parts that make such folders, so that a mistake there is not repeated here. The module can be
called: ``cellguard.verifier(folder)`` checks the certificate of an output folder, or the certificate of that path, and
returns a `Verification`: ``valid``, the ``checks`` with what each found, ``warnings``, the ``trusted`` rules, and what
of the folder is ``not_checked``.
Whatever is wrong with the files is a failed check; only a certificate that is not there at all raises `InputError`.

>>> import cellguard as cg
>>> cg.verify("nowhere")
Traceback (most recent call last):
cellguard.errors.InputError: nowhere is not a file; name the certificate.json of an output folder
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cellguard.verifier.verify import Verification


class _Callable(ModuleType):
    """A module that can be called: a package and a function cannot share the name `cellguard.verifier` otherwise."""

    def __call__(self, folder: str | Path) -> Verification:
        from cellguard.verifier.rewriting import given
        from cellguard.verifier.verify import verify

        path = Path(folder)
        return verify(path / "internal" / "certificate.json" if path.is_dir() else path, rewrite=given())


sys.modules[__name__].__class__ = _Callable
