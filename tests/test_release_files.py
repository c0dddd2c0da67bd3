"""What a release consists of agrees with itself: one version everywhere, one list of dependencies, no host."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PARTS = ["CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "packaging/meta.yaml", "packaging/Containerfile"]


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == PROJECT["version"] and cited["license"] == PROJECT["license"]
    assert f'version = "{PROJECT["version"]}"' in (ROOT / "packaging/meta.yaml").read_text()
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()
    base = PROJECT["version"].partition("rc")[0]
    assert f"\nVersion: {base}\n" in (ROOT / "r/DESCRIPTION").read_text()


def test_the_recipe_has_the_dependencies_of_the_wheel():
    text = re.sub(r"\{%.*?%\}", "", (ROOT / "packaging/meta.yaml").read_text())
    text = re.sub(r"\{\{.*?\}\}", "x", text)
    needed = yaml.safe_load(text)["requirements"]["run"]
    named = {"duckdb": "python-duckdb", "PyYAML": "pyyaml"}
    expected = {"python >=3.11"}
    for wanted in PROJECT["dependencies"]:
        name, bounds = re.fullmatch(r"([\w-]+)(.*)", wanted).groups()
        expected.add(f"{named.get(name, name)} {bounds}")
    assert set(needed) == expected


def test_the_script_reads_the_steps_of_the_recipe():
    spec = importlib.util.spec_from_file_location("release", ROOT / "packaging/release.py")
    release = importlib.util.module_from_spec(spec)
    sys.modules["release"] = release  # where its data classes look for their types
    spec.loader.exec_module(release)
    del sys.modules["release"]
    steps = release.read_recipe((ROOT / "packaging/meta.yaml").read_text())
    assert steps.script[:4] == ["-m", "pip", "install", "."] and "--no-build-isolation" in steps.script
    assert {"hatchling >=1.27", "duckdb >=1.4,<3"} <= set(steps.needed) and steps.imports == ["cellguard"]
    assert ["cellguard", "verify", "demo/protected"] in steps.commands


def test_classifiers_and_support_say_the_same():
    lowest = PROJECT["requires-python"].removeprefix(">=")
    named = [one.rpartition(" ")[2] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert named[0] == lowest
    tree = ast.parse((ROOT / "packaging/release.py").read_text())
    said = [n for n in tree.body if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name)]
    checked = next(n for n in said if n.targets[0].id == "VERSIONS")
    assert list(ast.literal_eval(checked.value)) == named


@pytest.mark.parametrize("name", PARTS)
def test_the_sdist_has_it_and_it_names_no_private_place(name):
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"][
        "include"
    ]
    assert (
        f"/{name}" in included or f"/{name.partition('/')[0]}" in included or ("/" not in name and "/*.md" in included)
    )
    assert not re.search(r"localhost|127\.0\.0\.1|/home/|/root/", (ROOT / name).read_text())


def test_whatever_compiles_kernels_has_a_compiler_of_c_plus_plus():
    """Numba does not begin without one, and the wheel would be pure."""
    container = (ROOT / "packaging/Containerfile").read_text()
    assert " g++ " in container and "ls /wheels/*-cp*.whl" in container
    assert 'compiler("cxx")' in (ROOT / "packaging/meta.yaml").read_text()


def test_the_container_installs_extras_that_exist():
    extras = re.search(r"\.whl\)\[([\w,]+)\]", (ROOT / "packaging/Containerfile").read_text()).group(1).split(",")
    assert set(extras) <= set(PROJECT["optional-dependencies"])


def test_the_readme_names_the_size_of_an_installation():
    assert re.search(r"\d{3} MB", (ROOT / "README.md").read_text())
