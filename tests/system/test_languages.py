"""A job says the language of its pages: the same on every machine, and made again by `verify`."""

import json
import re

import pytest
import yaml

from cellguard.io.folder import OutputFolder
from cellguard.job.jobfile import Job
from cellguard.pipeline import run, verify
from cellguard.words.language import speaking

from system import command
from system.browsing import NEEDS_BROWSER

SOURCE = "firm,region,size,turnover\n" + "".join(
    f"f{i},{'NNSSSWWWWW'[i % 10]},{'ab'[i % 3 % 2]},{1700 * (i % 7) ** 3 + 5}\n" for i in range(40)
)
METHODS = {
    "suppress": ("turnover", {}, "gesperrt", "sous secret"),
    "round": ("count", {"method": "round", "base": 5}, "gerundet", "arrondis"),
    "cell_key": ("count", {"method": "cell_key"}, "Zellschlüssel", "clés de cellules"),
    "adjust": ("turnover", {"method": "adjust", "unproven": "accept"}, "angepasst", "ajustés"),
}


def said(language, method="suppress"):
    value, protect, *_ = METHODS[method]
    rule = {"min_frequency": 3} if value == "count" else {"p_percent": 10}
    table = {"name": "firms", "by": ["region", "size"], "value": value, "rules": [rule], "protect": protect}
    job = {"version": 1, "microdata": {"source": "firms.csv", "respondent": "firm"}, "tables": [table]}
    return job | ({} if language is None else {"language": language})


@pytest.fixture
def protected(tmp_path):
    (tmp_path / "firms.csv").write_text(SOURCE)

    def make(language, method="suppress"):
        (tmp_path / "job.yaml").write_text(yaml.safe_dump(said(language, method)))
        out = tmp_path / f"{method}-{language}"
        outcome = run(Job.load(tmp_path / "job.yaml"), folder=out)
        OutputFolder(out).write(outcome)
        return out

    return make


def page_of(out, half="release"):
    return (out / half / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("method", ["suppress", "round", "adjust"])
@pytest.mark.parametrize(("language", "place"), [("de", 2), ("fr", 3)])
def test_pages_speak_the_language_of_the_job_and_verify_accepts_them(protected, method, language, place):
    out = protected(language, method)
    page, inside = page_of(out), page_of(out, "internal")
    assert f'<html lang="{language}">' in page and f'<html lang="{language}">' in inside
    assert METHODS[method][place] in re.sub(r"<[^>]+>", "", page)
    assert verify(out).valid


def test_all_else_in_the_release_has_no_language(protected):
    english, german = protected("en"), protected("de")
    names = {path.name for path in (english / "release").iterdir()}
    assert names == {path.name for path in (german / "release").iterdir()}
    for name in names - {"report.html"}:
        assert (english / "release" / name).read_bytes() == (german / "release" / name).read_bytes(), name
    headlines = {json.loads((out / "internal" / "summary.json").read_text())["headline"] for out in (english, german)}
    assert len(headlines) == 1


def test_the_page_follows_the_job_and_not_the_machine(protected, monkeypatch):
    with speaking("fr"):
        first = page_of(protected("de"))
    assert first == page_of(protected(None).parent / "suppress-de") and '<html lang="de">' in first
    assert '<html lang="en">' in page_of(protected("en"))


def test_a_page_in_another_language_than_the_job_is_refused(protected):
    out = protected("de")
    page = out / "release" / "report.html"
    page.write_text(page_of(out).replace('<html lang="de">', '<html lang="fr">'), encoding="utf-8")
    found = verify(out)
    assert not found.valid and any("language of the job" in c.detail for c in found.checks if not c.passed)


def test_a_page_with_other_numbers_is_refused_in_every_language(protected):
    out = protected("de")
    page = out / "release" / "report.html"
    page.write_text(page_of(out).replace("Statistische Tabellen", "Statistische Tabellen 1\u202f234"), encoding="utf-8")
    found = verify(out)
    assert not found.valid and any("a number besides its data" in c.detail for c in found.checks if not c.passed)


def test_a_language_without_a_catalogue_is_refused(tmp_path):
    with pytest.raises(ValueError, match="language"):
        Job.parse(said("nl"))


@pytest.mark.parametrize(
    ("words", "environment", "told"),
    [
        (["--language", "de", "verify", "nix"], {}, "weder Ordner noch Datei"),
        (["verify", "nix"], {"CELLGUARD_LANGUAGE": "fr", "LANG": "de_DE"}, "ni un dossier"),
        (["verify", "nix"], {"LANG": "de_DE.UTF-8"}, "weder Ordner noch Datei"),
        (["--language", "en", "verify", "nix"], {"LANG": "de_DE"}, "neither a folder nor a file"),
    ],
)
def test_the_terminal_speaks_the_language_of_who_sits_there(tmp_path, words, environment, told, monkeypatch):
    for name in ("CELLGUARD_LANGUAGE", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = command.run(*words, cwd=tmp_path)
    assert done.returncode == 2 and told in done.stderr


@NEEDS_BROWSER
def test_what_the_script_of_a_page_says_is_in_its_language_too(protected, browser):
    out = protected("de")
    for half in ("internal", "release"):
        page, trouble = browser.new_page(), []
        page.on("pageerror", lambda error, trouble=trouble: trouble.append(str(error)))
        page.goto(f"file://{out / half / 'report.html'}")
        page.locator("tbody td.p, tbody td.c").first.click()
        text = page.locator("#tables").inner_text()
        assert trouble == [] and "Alle öffnen" in text and "nur Zeilen mit Zellen: gesperrt" in text
        assert not re.search(r"\b(suppressed|Open all|Respondents|cells|published|primary|outsider)\b", text)
        assert re.search("[0-9]\u202f[0-9]{3}", text) and not re.search("[0-9],[0-9]{3}", text)
        page.close()
