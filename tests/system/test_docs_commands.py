"""Every command of the documentation runs, on files that begin as the pages say, and every job there is one."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cellguard.faces.cli.reference import reference
from cellguard.job.house_policy import Policy
from cellguard.job.jobfile import job_schema

from system.command import run

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
NOTES = ("decisions", "literature")  # kept as they were written; their examples are doctests
PAGES = [ROOT / "README.md", *(p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in NOTES)]
PAGES_OF_SITE = [page for page in PAGES if page.name != "README.md"]
SAVED = re.compile(r"[Ss]ave this as `([\w.-]+)`[^\n]*:\n\n```\w+\n(.*?)```", re.S)
HELD = re.compile(r"^`([\w.-]+)` has [^\n]*:\n\n```text\n(.*?)```", re.S | re.M)
SHOWN = re.compile(r"```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?", re.S)
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
# `make` and containers are no commands of cellguard; the demo and later tables have tests of their own.
OTHER_PROGRAMS = ("make", "docker", "curl")
ELSEWHERE = ("cellguard demo", "cellguard studio", "cellguard serve", "cellguard perturb later.yaml")


def blocks(page, kind):
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def firms(rows=120):
    """One row per firm: divisions nest in sections, two firms per group; one in forty is very large."""
    lines = ["firm,section,division,region,size,group,turnover"]
    for i in range(rows):
        section = "CG"[i % 2]
        division = f"{section}{(10, 11, 12)[i % 3] if section == 'C' else (45, 46, 47)[i % 3]}"
        region, size = ("North", "South", "West")[i % 7 % 3], ("small", "large")[i % 5 == 0]
        turnover = (200 + 37 * i % 991) * (40 if i % 40 == 0 else 1)
        lines.append(f"f{i:03d},{section},{division},{region},{size},g{(i + 1) // 2:03d},{turnover}")
    return "\n".join(lines) + "\n"


TABLE = {"name": "turnover", "by": ["division", "region"], "value": "turnover", "rules": [{"min_frequency": 3}]}
JOB = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "firm"}, "tables": [TABLE]}


def prepare(folder, page):
    """Write what the page says to save; else files that fit what most pages speak of."""
    (folder / "firms.csv").write_text(firms())
    cells = [(r, a, 1 + 3 * i + 2 * j) for i, r in enumerate("abc") for j, a in enumerate(("young", "old"))]
    (folder / "inner.csv").write_text("region,age,freq\n" + "".join(f"{r},{a},{n}\n" for r, a, n in cells))
    (folder / "survey.rda").write_text(
        'Region 1 2 99\n <RECODEABLE>\n <HIERCODELIST> "region.hrc"\nSize 4 1\n <RECODEABLE>\nX 6 4\n <NUMERIC>\n'
    )
    (folder / "region.hrc").write_text("A\n@a1\n@a2\nB\n@b1\n")
    lines = [f"{('a1', 'a2', 'b1')[i % 3]} {1 + i % 2} {10 + i:4d}" for i in range(60)]
    (folder / "survey.asc").write_text("\n".join(lines) + "\n")
    source = DOCS / "tutorials/first-safe-table.md" if page.name == "README.md" else page
    saved = SAVED.findall(source.read_text())
    for name, text in saved:
        (folder / name).write_text(text)
    if not any(name == "job.yaml" for name, _ in saved) and not writes_a_job(page):
        (folder / "job.yaml").write_text(yaml.safe_dump(JOB))
    if page.name == "audit.md":
        for path in (ROOT / "examples/business_tables").iterdir():
            shutil.copy(path, folder)
        crossed = [("Total", 30), ("N", "x"), ("S", "x")]
        rows = [(region, size, value) for size in ("Total", "a") for region, value in crossed]
        (folder / "t.csv").write_text("region,size,turnover\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
        (folder / "region.csv").write_text("code,parent\nTotal,\nN,Total\nS,Total\n")
    for name in READY.get(page.name, ()):
        assert run("protect", "job.yaml", "--out", name, "-q", cwd=folder).returncode == 0


def writes_a_job(page):
    return any("cellguard init" in text for text in blocks(page, "sh"))


READY = {"audit.md": ("out", "last"), "report.md": ("out",), "protection.md": ("out",), "next-run.md": ("out",)}


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sh")], ids=lambda p: p.name)
def test_every_command_of_a_page_runs_and_says_what_the_page_shows(page, tmp_path):
    prepare(tmp_path, page)
    for commands, shown in SHOWN.findall(page.read_text()):
        said = ""
        for line in commands.splitlines():
            words = shlex.split(line, comments=True)
            if not words or words[0] in OTHER_PROGRAMS or line.startswith(ELSEWHERE):
                continue
            if words[0] == "python":
                subprocess.run([sys.executable, *words[1:]], cwd=tmp_path, check=True)
                continue
            assert words[0] == "cellguard"
            done = run(*words[1:], cwd=tmp_path)
            # An audit may find what it is there to find.
            assert done.returncode in ({0, 1} if words[1] == "audit" else {0}), f"{line}\n{done.stderr}"
            said += done.stdout
        left = iter(" ".join(line.split()) for line in said.splitlines())
        for line in filter(None, (" ".join(line.split()) for line in shown.splitlines())):
            assert line == "..." or line in left, f"{page.name}: {line}\n{said}"
    for name, text in HELD.findall(page.read_text()):
        assert (tmp_path / name).read_text() == text


def test_the_first_tutorial_needs_no_edits_and_init_writes_its_job(tmp_path):
    page = DOCS / "tutorials/first-safe-table.md"
    prepare(tmp_path, page)
    assert run("init", "firms.csv", cwd=tmp_path).returncode == 0
    written = yaml.safe_load((tmp_path / "job.yaml").read_text())
    shown = yaml.safe_load(blocks(page, "yaml")[0])
    assert {key: written[key] for key in shown} == shown


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "yaml")], ids=lambda p: p.name)
def test_every_key_that_a_page_shows_is_one_of_the_job(page):
    schema = job_schema()
    parts = [schema, *schema["$defs"].values()]
    known = {key for part in parts for key in part.get("properties", {})} | set(Policy.model_fields)
    for text in blocks(page, "yaml"):
        said = yaml.safe_load(text)
        assert isinstance(said, (dict, list))
        assert set(said if isinstance(said, dict) else ()) <= known


def test_the_page_of_commands_is_what_the_commands_say():
    assert (ROOT / "docs/reference/commands.md").read_text() == reference()


def test_every_page_is_in_the_index_and_every_link_leads_somewhere():
    for folder in ("tutorials", "how-to", "explanation", "reference"):
        index = (DOCS / folder / "index.md").read_text()
        pages = [page.name for page in (DOCS / folder).glob("*.md") if page.name != "index.md"]
        assert [name for name in pages if f"({name})" not in index] == []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_links_to_a_part_of_a_page_lead_to_a_heading_there():
    for page in PAGES:
        for target, part in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
            there = (page.parent / target if target else page).read_text()
            heads = re.findall(r"^#{1,3} (.+)$", there, re.M)
            slugs = {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
            assert part in slugs | set(re.findall(r"^\(([\w-]+)\)=$", there, re.M)), f"{page.name}: {target}#{part}"


@pytest.mark.long
def test_the_site_is_built_without_warnings_and_asks_no_network_of_its_readers(tmp_path):
    pytest.importorskip("pydata_sphinx_theme")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", "-d", tmp_path / "trees", DOCS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert {page.stem for page in pages} >= {page.stem for page in PAGES_OF_SITE}
    loads = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?(https?:)?//""")
    assert [page.name for page in pages if loads.search(page.read_text())] == []
