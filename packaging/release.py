"""Builds a release and checks all of it: `make release`. What cannot be checked on this machine is said.

The sources must not change meanwhile. Equal bytes twice, `twine check`, a bill of materials, and for each Python found
a clean environment into which the wheel goes without extras: the demo is protected and verified there, from an empty
cache. With podman or docker the Containerfile is built and run; else its steps are performed in a folder of their
own, and so are those of the conda recipe.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORK, DIST = ROOT / "build/release", ROOT / "dist"
EPOCH = "1767225600"  # 2026-01-01: what the times of archive members are set to
VERSIONS = ("3.11", "3.12", "3.13", "3.14")
UV = shutil.which("uv")
PURE = os.environ.get("CELLGUARD_PURE")


def main() -> None:
    """Build and check; end with status 1 at the first thing that is wrong."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    first, second = (build(WORK / name) for name in ("first", "second"))
    same_bytes(first, second)
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(WORK / "first", DIST)
    run(sys.executable, "-m", "twine", "check", "--strict", *first)
    for version in VERSIONS:
        check_python(version)
    container()
    recipe()
    print(f"Built and checked: {', '.join(sorted(path.name for path in DIST.iterdir()))}, in {DIST}")


def run(*words: object, **more: object) -> str:
    """Run a command; what fails ends the release with its own words."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0"} | dict(more.pop("env", {}))  # type: ignore[call-overload]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, env=env, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout}{done.stderr}")
    return str(done.stdout + done.stderr)


def build(folder: Path) -> list[Path]:
    """Build sdist and wheel, the wheel from the unpacked sdist, as an installer does."""
    run(sys.executable, "-c", _BACKEND, "sdist", folder, cwd=ROOT)
    archive = next(folder.glob("*.tar.gz"))
    unpacked = WORK / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    shutil.unpack_archive(archive, unpacked, filter="data")
    said = run(sys.executable, "-c", _BACKEND, "wheel", folder, cwd=next(unpacked.iterdir()))
    if not PURE and not list(folder.glob("*-cp*.whl")):
        sys.exit(f"the wheel has no compiled kernels; set CELLGUARD_PURE=1 if it shall be pure\n{said}")
    print(f"Built {', '.join(sorted(path.name for path in folder.iterdir()))}")
    return sorted(folder.iterdir())


_BACKEND = """
import sys, pathlib
from hatchling import build
kind, folder = sys.argv[1:]
pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
print(getattr(build, f"build_{kind}")(folder))
"""


def same_bytes(first: list[Path], second: list[Path]) -> None:
    """Refuse a build that differs when it is repeated."""
    for one, other in zip(first, second, strict=True):
        digests = [hashlib.sha256(path.read_bytes()).hexdigest() for path in (one, other)]
        if one.name != other.name or digests[0] != digests[1]:
            sys.exit(f"{one.name} is not the same bytes when it is built again")
        print(f"{digests[0]}  {one.name}")


def check_python(version: str) -> None:
    """Install the wheel without extras for a Python, and run the demo there from an empty cache."""
    python = shutil.which(f"python{version}")
    if not python or subprocess.run([python, "--version"], capture_output=True, check=False).returncode:
        print(f"Python {version} is not on this machine: not checked")
        return
    start, before, place = time.monotonic(), os.times(), WORK / f"python{version}"
    environment(python, place)
    wheels = list(DIST.glob(f"*-cp{version.replace('.', '')}-*.whl")) or list(DIST.glob("*-none-any.whl"))
    install(place, wheels[0] if wheels else next(DIST.glob("*.tar.gz")))
    if not PURE and not list(place.glob("lib/python*/site-packages/cellguard/kernels/_built*")):
        sys.exit(f"what Python {version} installs has no compiled kernels; set CELLGUARD_PURE=1 if it shall be pure")
    installed = time.monotonic() - start
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    try_out(place, WORK / f"demo{version}")
    took, after = time.monotonic() - start, os.times()
    busy = sum(getattr(after, one) - getattr(before, one) for one in ("children_user", "children_system"))
    figures = f"installed in {installed:.0f} s ({size:.0f} MB), first release after {took:.0f} s ({busy:.0f} CPU s)"
    print(f"Python {version}: {figures}")
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        bill_of_materials(place)


def environment(python: str, place: Path) -> None:
    """Make an empty environment."""
    run(*([UV, "venv", "-q", "--python", python] if UV else [python, "-m", "venv"]), place)


def install(place: Path, *what: object) -> None:
    """Install into an environment from what the machine's index has."""
    inside = place / "bin/python"
    pip = [UV, "pip", "install", "-q", "--python", inside] if UV else [inside, "-m", "pip", "install", "-q"]
    run(*pip, *what)


def try_out(place: Path, folder: Path) -> None:
    """Protect the demo, verify it, and compare what the command says of itself."""
    home = folder.parent / f"{folder.name}-home"
    home.mkdir()
    alone = {"HOME": str(home), "XDG_CACHE_HOME": str(home), "PYTHONPATH": ""}
    command = place / "bin/cellguard"
    said = run(command, "--version", env=alone)
    if metadata()["version"] not in said:
        sys.exit(f"{command} --version says {said.strip()!r}")
    run(command, "demo", "--out", folder, env=alone)
    if "Valid." not in run(command, "verify", folder / "protected", env=alone):
        sys.exit("the certificate of the demo is not valid")


def metadata() -> dict[str, str]:
    """Return the project's metadata."""
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"])


def bill_of_materials(place: Path) -> None:
    """Write what the environment holds as a CycloneDX document."""
    folder = next(place.glob("lib/python*/site-packages"))
    parts = []
    installed = importlib.metadata.distributions(path=[str(folder)])
    for found in sorted(installed, key=lambda one: one.metadata["Name"].lower()):
        name, version = found.metadata["Name"], found.version
        expression = found.metadata.get("License-Expression")
        part = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version}
        part["purl"] = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{version}"
        parts.append(part | ({"licenses": [{"expression": expression}]} if expression else {}))
    own = next(part for part in parts if part["name"] == "cellguard")
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {**own, "type": "application"}},
        "components": [part for part in parts if part is not own],
    }  # fmt: skip
    path = DIST / f"cellguard-{own['version']}.cdx.json"
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(f"Bill of materials: {len(parts) - 1} dependencies in {path.name}")


def container() -> None:
    """Build and run the Containerfile, or perform its steps where there is no engine."""
    engines = [path for name in ("podman", "docker") if (path := shutil.which(name))]
    working = [one for one in engines if not subprocess.run([one, "info"], capture_output=True, check=False).returncode]
    for engine in working[:1]:
        run(engine, "build", "-t", "cellguard:check", "-f", ROOT / "packaging/Containerfile", ROOT)
        run(engine, "run", "--rm", "--network", "none", "cellguard:check", "demo", "--out", "/tmp/demo")  # noqa: S108
        print("Container: built and run")
        return
    extras = re.search(r"\.whl\)\[([\w,]+)\]", (ROOT / "packaging/Containerfile").read_text())
    if extras is None:
        sys.exit("the Containerfile does not install the wheel")
    place = WORK / "container"
    environment(sys.executable, place)
    install(place, f"{next(DIST.glob('*.whl'))}[{extras.group(1)}]")
    try_out(place, WORK / "container-demo")
    print("No podman or docker that works here: the steps of the Containerfile were performed in a folder")


def recipe() -> None:
    """Perform the steps of the conda recipe in an environment of its own, which has what the recipe asks for."""
    steps = read_recipe((ROOT / "packaging/meta.yaml").read_text())
    place, source = WORK / "recipe", next((WORK / "unpacked").iterdir())
    environment(sys.executable, place)
    install(place, *(word for word in steps.needed if not word.startswith(("python ", "pip"))))
    alone = {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}", "CELLGUARD_PURE": "1", "PYTHONPATH": ""}
    run(place / "bin/python", *steps.script, cwd=source, env=alone)
    tests = WORK / "recipe-tests"
    tests.mkdir()
    for name in steps.imports:
        run(place / "bin/python", "-c", f"import {name}", cwd=tests, env=alone)
    for command in steps.commands:
        run(place / "bin" / command[0], *command[1:], cwd=tests, env=alone)
    tried = len(steps.imports) + len(steps.commands)
    print(f"Conda recipe: its script and its {tried} tests were performed, kernels left out")


@dataclass(frozen=True)
class Recipe:
    """What a conda recipe needs, as pip calls it; the script, without its Python; what it imports and runs as tests."""

    needed: list[str]
    script: list[str]
    imports: list[str]
    commands: list[list[str]]


def read_recipe(text: str) -> Recipe:
    """Return the steps of a recipe."""
    import yaml

    bare = re.sub(r"\{%.*?%\}", "", text)
    said = yaml.safe_load(re.sub(r"\{\{\s*(\w+).*?\}\}", r"\1", bare))
    listed = dict.fromkeys([*said["requirements"]["host"], *said["requirements"]["run"]])
    needed = [word.replace("python-duckdb", "duckdb") for word in listed]
    script = shlex.split(said["build"]["script"])
    if script[0] != "PYTHON":
        sys.exit("the script of the conda recipe does not begin with its Python")
    tests = said["test"]
    return Recipe(needed, script[1:], tests["imports"], [shlex.split(command) for command in tests["commands"]])


if __name__ == "__main__":
    main()
