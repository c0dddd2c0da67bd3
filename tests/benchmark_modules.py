"""The generators of the benchmarks, for tests that need the same data."""

import importlib.util
import sys
from functools import cache
from pathlib import Path


@cache
def benchmark(name):
    """Return a module of the folder of benchmarks."""
    path = Path(__file__).parent.parent / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look for their module
    spec.loader.exec_module(module)
    return module
