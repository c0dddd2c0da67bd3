"""The import direction, the public names, and the documents are under test."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import cellguard
from cellguard.job.jobfile import job_schema
from cellguard.rules.catalogue import HOMES

ROOT = Path(__file__).parent.parent
DOCS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_layers_import_only_lower_layers():
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_verifier_shares_no_code_with_what_it_verifies():
    for path in (ROOT / "src/cellguard/verifier").glob("*.py"):
        nodes = [
            node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Import | ast.ImportFrom)
        ]
        names = [getattr(node, "module", None) or node.names[0].name for node in nodes]
        own = [name for name in names if name.startswith("cellguard")]
        assert [n for n in own if not n.startswith(("cellguard.verifier", "cellguard.errors"))] == [], path.name


@functools.cache
def parsed():
    """Every module of the package, by its path."""
    return {path: ast.parse(path.read_text()) for path in (ROOT / "src/cellguard").rglob("*.py")}


def test_only_the_command_line_knows_the_libraries_of_terminals():
    knowing = set()
    for path, tree in parsed().items():
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(name.partition(".")[0] in {"click", "rich"} for name in names):
                knowing.add(path.parent.relative_to(ROOT / "src/cellguard").as_posix())
    assert knowing == {"faces/cli"}


def test_public_names_have_a_home_and_exist():
    assert list(cellguard._HOME) == cellguard.__all__ == sorted(cellguard.__all__)
    for name in cellguard.__all__:
        assert getattr(cellguard, name).__module__.startswith("cellguard")


def test_type_checkers_see_the_same_names():
    tree = ast.parse((ROOT / "src/cellguard/__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {f"{n.module}": [a.name for a in n.names] for n in guarded.body if isinstance(n, ast.ImportFrom)}
    seen = {name: module.removeprefix("cellguard.") for module, names in imported.items() for name in names}
    assert seen == cellguard._HOME


def test_docs_list_exactly_the_public_names():
    page = (ROOT / "docs/reference/python.md").read_text()
    first_column = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(first_column))) == cellguard.__all__


# Names of whole jobs, whose examples are in docs/reference/job.md.
@pytest.mark.parametrize("name", cellguard.__all__)
def test_every_public_name_is_explained_by_an_example(name):
    shown = ">>>" in (getattr(cellguard, name).__doc__ or "")
    assert shown


def test_the_public_surface_is_short():
    assert len(cellguard.__all__) <= 68  # fifteen of them are rules, and eight are methods


VERBS = ["protect", "verify", "run", "audit", "assess"]
BODIES = "import cellguard.verifier.verify, cellguard.pipeline, cellguard.methods.suppress.method"


@pytest.mark.parametrize(("before", "verbs"), [("pass", VERBS), ("pass", VERBS[::-1]), (BODIES, VERBS)])
def test_verbs_are_functions_with_signatures_whatever_is_loaded(before, verbs):
    """What one verb loads comes before the next, in either order."""
    shown = "[inspect.isfunction(verb) and len(inspect.signature(verb).parameters) > 0 for verb in found]"
    code = f"import cellguard as cg, inspect; {before}; found = [getattr(cg, name) for name in {verbs}]; print({shown})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == str([True] * len(VERBS)), done.stderr


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = cellguard.nonsense


@pytest.mark.parametrize("page", DOCS, ids=lambda p: p.name)
def test_links_in_the_docs_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_job_of_the_readme_is_valid():
    text = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    job = cellguard.Job.parse(yaml.safe_load(text))
    assert [str(rule) for rule in job.tables[0].rules] == ["min_frequency 3", "p_percent 10"]


def test_every_job_key_is_documented():
    page = (ROOT / "docs/reference/job.md").read_text()
    schema = job_schema()
    keys = {key for part in [schema, *schema["$defs"].values()] for key in part.get("properties", {})}
    assert [key for key in sorted(keys) if f"`{key}" not in page] == []


def test_importing_is_cheap():
    code = "import sys, cellguard; print([m for m in ('numpy', 'scipy', 'pyarrow', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def _loaded(code, *folders):
    """Return which modules a program has loaded, of some folders of cellguard or libraries."""
    shown = f"import sys; print([m for m in sys.modules if m.startswith({folders!r})])"
    done = subprocess.run([sys.executable, "-c", f"{code}; {shown}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ast.literal_eval(done.stdout.splitlines()[-1])


def test_reading_a_job_loads_no_library_of_data_and_no_engine():
    rules = "[{'p_percent': 10}, {'min_frequency': 3}]"
    table = f"{{'name': 't', 'by': ['a'], 'value': 'x', 'cells': {{'source': 't.csv'}}, 'rules': {rules}}}"
    code = f"from cellguard.job.jobfile import Job; Job.parse({{'version': 1, 'tables': [{table}]}})"
    libraries = ("scipy", "pyarrow", "numba", "duckdb", "highspy", "matplotlib")
    folders = [
        f"cellguard.{name}" for name in ("verifier", "attack", "proofs", "world", "io", "report", "microdata.en")
    ]
    assert _loaded(code, *libraries, *folders, "cellguard.table.table") == []


def test_a_suppression_loads_no_other_method():
    data = "{'region': ['N'] * 4 + ['S'] * 4, 'turnover': [9, 8, 2, 3, 4, 3, 3, 2]}"
    code = f"import cellguard as cg; cg.protect({data}, by=['region'], value='turnover', rules=[cg.MinFrequency(3)])"
    assert _loaded(code, "cellguard.methods.perturb", "cellguard.methods.maps") == []


def test_each_module_with_rules_is_known_to_the_catalogue():
    folder = ROOT / "src/cellguard/rules"
    assert {path.stem for path in folder.glob("*.py") if "\n@register(" in path.read_text()} == set(HOMES)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_examples_run_and_end_safe(script):
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "verdict: safe"


def test_functions_are_short_outside_kernels():
    long = []
    for path, tree in parsed().items():
        for node in ast.walk(tree) if not path.stem.endswith("_kernel") else ():
            if not isinstance(node, ast.FunctionDef):
                continue
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            if node.end_lineno - first.lineno >= 50:
                long.append(f"{path.name}: {node.name}")
    assert long == []
