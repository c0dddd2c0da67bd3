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
PAGES = sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)
# The demo and perturbation take longer; they have tests of their own.
ELSEWHERE = {"first-job.md", "perturb.md"}


def blocks(page, kind):
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def firms(rows=120):
    """One row a firm: divisions nest in sections, two firms a group."""
    first = re.search(r"```text\n(firm,.*?)```", (ROOT / "docs/records-to-release.md").read_text(), re.S)[1]
    lines = first.splitlines()
    for i in range(len(lines), rows):
        section = "CG"[i % 2]
        division = f"{section}{(10, 11, 12)[i % 3] if section == 'C' else (45, 46, 47)[i % 3]}"
        region, size = ("North", "South", "West")[i % 7 % 3], ("small", "large")[i % 5 == 0]
        lines.append(f"f{i:03d},{section},{division},{region},{size},g{(i + 1) // 2:03d},{200 + 37 * i % 991}")
    return "\n".join(lines) + "\n"


def prepare(folder, page):
    (folder / "firms.csv").write_text(firms())
    cells = [(r, a, 1 + 3 * i + 2 * j) for i, r in enumerate("abc") for j, a in enumerate(("young", "old"))]
    (folder / "inner.csv").write_text("region,age,freq\n" + "".join(f"{r},{a},{n}\n" for r, a, n in cells))
    (folder / "survey.rda").write_text(
        'Region 1 2 99\n <RECODEABLE>\n <HIERCODELIST> "region.hrc"\nSize 4 1\n <RECODEABLE>\nX 6 4\n <NUMERIC>\n'
    )
    (folder / "region.hrc").write_text("A\n@a1\n@a2\nB\n@b1\n")
    lines = [f"{('a1', 'a2', 'b1')[i % 3]} {1 + i % 2} {10 + i:4d}" for i in range(60)]
    (folder / "survey.asc").write_text("\n".join(lines) + "\n")
    if page.name == "audit.md":
        for path in (ROOT / "examples/business_tables").iterdir():
            shutil.copy(path, folder)
        rows = [
            ("Total", "Total", 30),
            ("N", "Total", "x"),
            ("S", "Total", "x"),
            ("Total", "a", 30),
            ("N", "a", "x"),
            ("S", "a", "x"),
        ]
        (folder / "t.csv").write_text("region,size,turnover\n" + "".join(",".join(map(str, r)) + "\n" for r in rows))
        (folder / "region.csv").write_text("code,parent\nTotal,\nN,Total\nS,Total\n")
        assert run("protect", "job.yaml", "--out", "DIR", "-q", cwd=folder).returncode == 0
        shutil.copytree(folder / "DIR", folder / "OTHER")
    if page.name == "compare.md":
        job = {
            "version": 1,
            "microdata": {"source": "firms.csv", "respondent": "firm"},
            "tables": [
                {"name": "turnover", "by": ["section", "region"], "value": "turnover", "rules": [{"p_percent": 10}]}
            ],
        }
        (folder / "job.yaml").write_text(yaml.safe_dump(job))
    if page.name == "report.md":
        job = {
            "version": 1,
            "microdata": {"source": "firms.csv"},
            "tables": [
                {"name": "turnover", "by": ["division", "region"], "value": "turnover", "rules": [{"min_frequency": 3}]}
            ],
        }
        (folder / "job.yaml").write_text(yaml.safe_dump(job))
        assert run("protect", "job.yaml", "--out", "out", "-q", cwd=folder).returncode == 0


@pytest.mark.parametrize(
    "page", [p for p in PAGES if blocks(p, "sh") and p.name not in ELSEWHERE], ids=lambda p: p.name
)
def test_every_command_of_a_page_runs(page, tmp_path):
    prepare(tmp_path, page)
    for line in "\n".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words:
            assert words[0] == "cellguard"
            done = run(*words[1:], cwd=tmp_path)
            # An audit may find what it is there to find.
            assert done.returncode in ({0, 1} if words[1] == "audit" else {0}), f"{line}\n{done.stderr}"


def test_the_job_of_the_page_on_records_is_what_init_writes(tmp_path):
    page = ROOT / "docs/records-to-release.md"
    prepare(tmp_path, page)
    run("init", "firms.csv", cwd=tmp_path)
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
    assert (ROOT / "docs/commands.md").read_text() == reference()


def test_every_page_is_in_the_index_and_every_link_leads_somewhere():
    index = (ROOT / "docs/index.md").read_text()
    assert [p.name for p in PAGES if p.name != "index.md" and f"({p.name})" not in index] == []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_site_is_built_without_warnings_and_asks_no_network_of_its_readers(tmp_path):
    pytest.importorskip("pydata_sphinx_theme")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-b",
        "html",
        "-d",
        tmp_path / "trees",
        ROOT / "docs",
        tmp_path,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.glob("*.html"))
    assert {page.stem for page in pages} >= {page.stem for page in PAGES}
    loads = re.compile(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?(https?:)?//""")
    assert [page.name for page in pages if loads.search(page.read_text())] == []
