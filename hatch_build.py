"""Compiles the kernels into the wheel, ahead of time; where that does not work the wheel is pure and depends on numba.

`python hatch_build.py FOLDER` does the compiling alone. With CELLGUARD_PURE set nothing is compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # compiling alone
    BuildHookInterface = object

ROOT = Path(__file__).parent
KERNELS = Path("src", "cellguard", "kernels")
PURE = "CELLGUARD_PURE"
NUMBA = "numba>=0.60"
TIME_LIMIT = 3600  # seconds on the clock, of which a machine that has nothing else to do needs 90


class KernelHook(BuildHookInterface):
    """Builds the extension: into the source tree for an editable installation, else into the wheel only."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tell hatchling what was made."""
        if self.target_name != "wheel":
            return
        editable = version == "editable"
        folder = ROOT / KERNELS if editable else Path(tempfile.mkdtemp(prefix="cellguard-kernels-"))
        if editable and _is_built(folder):
            return
        trouble = _compile_apart(folder)
        if trouble:
            self.app.display_warning(
                f"Kernels are not compiled ahead of time: {trouble}. This wheel is pure and depends on numba."
            )
            build_data["dependencies"].append(NUMBA)
        elif not editable:
            build_data["pure_python"], build_data["infer_tag"] = False, True
            for path in folder.iterdir():
                build_data["force_include"][str(path)] = f"cellguard/kernels/{path.name}"


def _is_built(folder: Path) -> bool:
    """Tell whether the folder has an extension of just these sources for this Python."""
    extension = _module("extension")
    file = folder / f"{extension.MODULE}{sysconfig.get_config_var('EXT_SUFFIX')}"
    try:
        made = json.loads((folder / extension.TABLE.name).read_text())
        kernels = {name: list(found) for name, found in made["kernels"].items()}
        return file.exists() and made["stamp"] == extension.stamp() and kernels == extension.recorded()
    except (OSError, ValueError, KeyError):
        return False


def _compile_apart(folder: Path) -> str:
    """Compile in a process of its own; return in short what went wrong, nothing if nothing did."""
    if os.environ.get(PURE):
        return f"{PURE} is set"
    # Nothing is stored, and code is for every processor of the platform, not for this one only.
    env = {**os.environ, "NUMBA_CACHE_DIR": os.devnull, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    env["PYTHONHASHSEED"] = "0"  # the same bytes whenever it is built
    command = [sys.executable, str(ROOT / "hatch_build.py"), str(folder), "--here"]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIME_LIMIT, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["the compiler died"])[-1]


def _module(name: str) -> Any:  # noqa: ANN401
    if str(ROOT / "src") not in sys.path:
        sys.path.insert(0, str(ROOT / "src"))
    return import_module(f"cellguard.kernels.{name}")


def compile_kernels(folder: Path) -> None:
    """Compile all recorded kernels into one extension module, and write the table that says what is what."""
    import warnings

    warnings.simplefilter("ignore")  # numba announces a successor of pycc, which is not there yet
    from numba.pycc import CC

    extension, signature = _module("extension"), _module("signature")
    compiler = CC(extension.MODULE)
    compiler.output_dir = str(folder)
    table: dict[str, dict[str, str]] = {}
    options: dict[Any, dict[str, bool]] = {}
    for name, texts in extension.recorded().items():
        module, _, function = name.rpartition(".")
        kernel = getattr(import_module(f"cellguard.{module}"), function)
        options[kernel.py_func] = kernel.options
        for text in texts:
            symbol = f"k{sum(map(len, table.values()))}"
            compiler.export(symbol, tuple(map(_numba_type, signature.read(text))))(kernel.py_func)
            table.setdefault(name, {})[text] = symbol
    _release_the_lock(options)
    _name_alike()
    compiler.compile()
    made = {"stamp": extension.stamp(), "kernels": table}
    (folder / extension.TABLE.name).write_text(json.dumps(made, indent=1))


def _numba_type(part: Any) -> Any:  # noqa: ANN401
    """Return numba's name of a part of a description."""
    import numba
    from numba import types

    if isinstance(part, str):
        return {"bool": types.boolean, "int": types.int64, "float": types.float64}[part]
    if isinstance(part[0], type):
        inner = [_numba_type(one) for one in part[1]]
        return types.Tuple(inner) if part[0] is tuple else types.NamedTuple(inner, part[0])
    dtype, dimensions, layout = part
    order = "C" if layout & 1 else "A"
    return types.Array(numba.from_dtype(dtype), dimensions, order, readonly=not layout & 0x400, aligned=True)


def _release_the_lock(options: dict[Any, dict[str, bool]]) -> None:
    """Let kernels run beside other threads where they may; pycc itself knows no way to say so."""
    from numba.pycc import compiler

    compile_extra = compiler.compile_extra

    def compile_one(typing: Any, target: Any, function: Any, args: Any, returned: Any, flags: Any, **more: Any) -> Any:  # noqa: ANN401
        flags = flags.copy()
        flags.release_gil = options[function].get("nogil", False)
        return compile_extra(typing, target, function, args, returned, flags, **more)

    compiler.compile_extra = compile_one


def _name_alike() -> None:
    """Number the expressions on arrays, which numba names after their place in memory: builds are then repeatable."""
    from itertools import count

    from numba.np.ufunc import array_exprs

    numbers = count()
    array_exprs.hash = lambda _: next(numbers)


def main(folder: Path, *, here: bool) -> None:
    """Compile into a folder what is not there yet, and say if that does not work."""
    if here:
        compile_kernels(folder)
    elif not _is_built(folder) and (trouble := _compile_apart(folder)):
        print(f"Kernels are not compiled ahead of time: {trouble}. They compile as they run, or are interpreted.")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), here="--here" in sys.argv)
