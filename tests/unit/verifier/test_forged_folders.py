"""A forger rewrites a proper folder, with fresh digests. The folder alone, or at the latest its inputs, refuse him."""

import shutil
from dataclasses import dataclass
from typing import Any

import pytest

from cellguard.job.jobfile import Job
from cellguard.pipeline import verify as verify_folder
from cellguard.pipeline import verify_inputs
from unit.verifier import forged_copies as copies
from unit.verifier import forged_job
from unit.verifier import forged_proofs as proof
from unit.verifier.forger import Forger

FOLDER = "verify DIR"  # refused by the folder alone
INPUTS = "verify DIR --job JOB"  # all files agree: only the inputs can contradict


@dataclass(frozen=True)
class Forgery:
    """One way to cheat: what he does, and who refuses it."""

    name: str
    how: Any
    refused_by: str


FORGERIES = [
    Forgery("a primary without a need", proof.drop_need, FOLDER),
    Forgery("a need lowered", proof.lower_need, FOLDER),
    Forgery("a need said to be given, and nobody gave one", proof.lower_given_need, FOLDER),
    Forgery("a primary waived where nothing was said", proof.waive("people"), FOLDER),
    Forgery("a primary waived where a file might have said so", proof.waive("turnover"), FOLDER),
    Forgery("a primary waived and called secondary", proof.waive_quietly, INPUTS),
    Forgery("everything waived by a file that the stored job now names", proof.waive_all, INPUTS),
    Forgery("a primary called secondary", proof.status("people", "primary", "secondary"), FOLDER),
    Forgery("a primary published", proof.publish("people", "primary"), FOLDER),
    Forgery("a secondary published", proof.publish("turnover", "secondary"), FOLDER),
    Forgery("a cell taken out of the release", proof.unpublish, FOLDER),
    Forgery("levels published that the job does not show", proof.publish_what_the_job_does_not_show, FOLDER),
    Forgery("a bound where nothing was said", proof.bound("people", "upper", lambda f, at: 3.0), FOLDER),
    Forgery("a bound that caps a need", proof.bound("turnover", "upper", proof.near), FOLDER),
    Forgery(
        "the attacker's bound widened in the certificate", proof.attack("lower", "unbounded", also_job=False), FOLDER
    ),
    Forgery("the attacker's bound widened in the job too", proof.attack("lower", "unbounded", also_job=True), INPUTS),
    Forgery("a rule removed from the certificate", proof.rules(lambda r: r.pop(), also_job=False), FOLDER),
    Forgery("a rule made milder in the job too", proof.milder_rules, FOLDER),
    Forgery("no rules at all", proof.no_rules, FOLDER),
    Forgery("a rule to be taken on trust", proof.trust, FOLDER),
    Forgery("a contribution lowered so that no rule fires", proof.fact("turnover", "top1", 1.0), FOLDER),
    Forgery("contributions made equal so that no rule fires", proof.equal_contributions, INPUTS),
    Forgery("a count raised in the facts alone", proof.fact("people", "count", 5), FOLDER),
    Forgery("a count raised so that no rule fires", proof.count, INPUTS),
    Forgery("a hidden value changed", proof.raise_value, FOLDER),
    Forgery("hidden values changed as a witness does", proof.along_a_witness, INPUTS),
    Forgery("a finer grain", proof.other_grain, FOLDER),
    Forgery("a response of its own", proof.unlink("response"), INPUTS),
    Forgery("a population of its own", proof.unlink("population"), INPUTS),
    Forgery("fewer decimals than the job asks for", proof.table_key("decimals", 0, also_job=False), FOLDER),
    Forgery("other decimals in the job too", proof.table_key("decimals", 0, also_job=True), INPUTS),
    Forgery("a tolerance in the certificate", proof.table_key("tolerance", 50.0, also_job=False), FOLDER),
    Forgery("a tolerance in the job too", proof.table_key("tolerance", 50.0, also_job=True), INPUTS),
    Forgery("possible zeros", proof.table_key("zeros", "possible", also_job=False), FOLDER),
    Forgery("frequencies", proof.table_key("count", True, also_job=False), FOLDER),
    Forgery("an equation deleted in the certificate", proof.drop_equation(False), FOLDER),
    Forgery("an equation deleted in the job too", proof.drop_equation(True), INPUTS),
    Forgery("a known total deleted in the certificate", proof.drop_known(False), FOLDER),
    Forgery("a known total deleted in the job too", proof.drop_known(True), INPUTS),
    Forgery("a code below another parent", proof.hierarchy("industry", "0", "A2", "B"), FOLDER),
    Forgery("a group below another one", proof.hierarchy("region", "1", "N", "inland"), FOLDER),
    Forgery("another label everywhere", proof.other_label, INPUTS),
    Forgery("another label on the page", copies.on_page(copies.relabel), FOLDER),
    Forgery("released rows in another order", proof.reverse_release, FOLDER),
    Forgery("all rows in another order", proof.reverse_everything, FOLDER),
    Forgery("a row left out", proof.drop_row, FOLDER),
    Forgery("a total left out", proof.drop_total, INPUTS),
    Forgery("a row added", proof.add_row, FOLDER),
    Forgery("one move changed", proof.one_move, FOLDER),
    Forgery("all moves doubled", proof.moves(lambda m: m | {"move": 2 * m["move"]}), FOLDER),
    Forgery("another denominator", proof.moves(lambda m: m | {"denominator": 3 * m["denominator"]}), FOLDER),
    Forgery("a witness left out", proof.drop_witness, FOLDER),
    Forgery("no witnesses", lambda f: f.moves.clear(), FOLDER),
    Forgery("insiders claimed", copies.insiders, FOLDER),
    Forgery("insiders in the job", copies.job_of_insiders, FOLDER),
    Forgery("coalitions in the job", copies.job_of_coalitions, FOLDER),
    Forgery("the certificate without its known totals", copies.without_key("known"), FOLDER),
    Forgery("the job without its attacker", copies.job_without("attack"), FOLDER),
    Forgery("the job without the attacker's bound", copies.job_without("attack", "lower"), FOLDER),
    Forgery("the job without a table's statements", copies.job_without("tables", 0, "apriori"), FOLDER),
    Forgery("the job without a table's levels", copies.job_without("tables", 0, "publish"), FOLDER),
    Forgery("another job in the summary", copies.summary(lambda s: s["settings"].update(known=None)), FOLDER),
    Forgery("fewer primaries in the summary", copies.summary(lambda s: s["set"].update(primary=0)), FOLDER),
    Forgery("fewer cells in the summary", copies.summary(lambda s: s["tables"]["people"].update(cells=1)), FOLDER),
    Forgery("less hidden", copies.summary(lambda s: s["tables"]["people"].update(suppressed_value=1)), FOLDER),
    Forgery("another verdict", copies.summary(lambda s: s.update(verdict="undecided")), FOLDER),
    Forgery("no verdict", copies.summary(lambda s: s.pop("verdict")), FOLDER),
    Forgery("coalitions checked", copies.summary(lambda s: s.update(coalition=2)), FOLDER),
    Forgery("insiders checked", copies.summary(lambda s: s.update(insiders="checked")), FOLDER),
    Forgery("no digests of inputs", copies.summary(lambda s: s.update(inputs={})), FOLDER),
    Forgery("other digests of inputs", copies.summary(lambda s: s["inputs"].update({"sizes.csv": "0" * 64})), INPUTS),
    Forgery("other metadata", copies.metadata, FOLDER),
    Forgery("a hidden value in the CSV file", copies.shown_in_csv, FOLDER),
    Forgery("a hidden value in the Parquet file", copies.shown_in_parquet, FOLDER),
    Forgery("a hidden value in the workbook", copies.shown_in_workbook, FOLDER),
    Forgery(
        "a hidden value in the notes of the workbook",
        copies.in_workbook("xl/worksheets/sheet1.xml", b"Some cells", b"W/small has 2; some cells"),
        FOLDER,
    ),
    Forgery(
        "words in the notes of the workbook",
        copies.in_workbook("xl/worksheets/sheet1.xml", b"Some cells", b"W/small has two; some cells"),
        FOLDER,
    ),
    Forgery(
        "a hidden value in the title of the workbook",
        copies.in_workbook("docProps/core.xml", b"<dc:title>", b"<dc:title>W/small 2 "),
        FOLDER,
    ),
    Forgery(
        "a hidden value in a comment of the workbook",
        copies.in_workbook("xl/styles.xml", b"</styleSheet>", b"<!-- W/small 2 --></styleSheet>"),
        FOLDER,
    ),
    Forgery(
        "a hidden value in the theme of the workbook",
        copies.in_workbook("xl/theme/theme1.xml", b'name="Office Theme"', b'name="W/small 2"'),
        FOLDER,
    ),
    Forgery("a hidden value in the comment of the archive", copies.workbook_comment, FOLDER),
    Forgery("a hidden value behind the workbook", copies.behind("release/tables.xlsx"), FOLDER),
    Forgery("a hidden value before the end of the page", copies.in_page("</html>", "<p>two</p></html>"), FOLDER),
    Forgery("a hidden value in the style of the page", copies.in_page("<style>", "<style>/* W/small 2 */"), FOLDER),
    Forgery("a word more in the body of the page", copies.in_page("</main>", "<p>W/small has two</p></main>"), FOLDER),
    Forgery("a script of its own with its own policy", copies.in_script, FOLDER),
    Forgery("another title of the page", copies.in_page("<title>", "<title>W/small has two "), FOLDER),
    Forgery("a mark of the encoding", copies.as_bytes("release/people.csv", lambda b: b"\xef\xbb\xbf" + b), FOLDER),
    Forgery("quotes where none are needed", copies.as_bytes("release/people.csv", copies.quoted), FOLDER),
    Forgery("other line ends", copies.as_bytes("release/people.csv", lambda b: b.replace(b"\n", b"\r\n")), FOLDER),
    Forgery("metadata with other blanks", copies.as_bytes("release/metadata.json", lambda b: b + b" "), FOLDER),
    Forgery("an empty folder in the release", copies.empty_folder("release/W-small-2"), FOLDER),
    Forgery("an empty folder inside", copies.empty_folder("internal/facts/W-small-2"), FOLDER),
    Forgery("a headline of all attackers", copies.words(headline=lambda _: "Safe against everybody"), FOLDER),
    Forgery(
        "a headline about insiders",
        copies.words(headline=lambda _: "Safe against outsiders and every single respondent"),
        FOLDER,
    ),
    Forgery(
        "insiders not named as unchecked", copies.words(not_checked=lambda k: k[1:], caveat=lambda c: c[22:]), FOLDER
    ),
    Forgery("sums not named as unchecked", copies.words(not_checked=lambda k: [x for x in k if x != "unions"]), FOLDER),
    Forgery("a caveat of nothing", copies.words(caveat=lambda _: ""), FOLDER),
    Forgery("an invented attack", copies.words(not_checked=lambda k: [*k, "gods"]), FOLDER),
    Forgery(
        "respondents too near, in the summary", copies.summary(lambda s: s.update(too_near=[{"insider": 1}])), FOLDER
    ),
    Forgery("an interval that a witness leads out of", copies.narrow_interval, FOLDER),
    Forgery("a hidden value in the data of the page", copies.on_page(copies.show_first), FOLDER),
    Forgery("notes in the data of the page", copies.on_page(copies.extra_notes), FOLDER),
    Forgery("a hidden value in the text of the page", copies.in_page("</main>", "<p>W/small: 2.0</p></main>"), FOLDER),
    Forgery(
        "a hidden value in an attribute", copies.in_page('<main id="content"', '<main id="content" title="2.0"'), FOLDER
    ),
    Forgery("a comment in the page", copies.in_page("</main>", "<!-- two --></main>"), FOLDER),
    Forgery("another script in the page", copies.in_page('"use strict";', '"use strict"; alert("two");'), FOLDER),
    Forgery("other data: a giant cut down", copies.other_data({"turnover.csv": copies.smaller_giant}), INPUTS),
    Forgery("other data: a bound that caps a need", copies.other_data({"said.csv": copies.near_bound}), INPUTS),
    Forgery("other data: a need of nearly nothing", copies.other_data({"said.csv": copies.small_need}), INPUTS),
    Forgery("other data: no second grouping", copies.other_data(copies.ONE_GROUPING), INPUTS),
    Forgery("other data: more people", copies.other_data({"people.csv": copies.more_people}), INPUTS),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The proper folder and its job."""
    return forged_job.make(tmp_path_factory.mktemp("forged"))


def test_the_proper_folder_is_valid(made):
    out, job = made
    assert [c.detail for c in verify_folder(out / "internal/certificate.json").checks if not c.passed] == []
    assert [c.detail for c in verify_inputs(out / "internal", Job.load(job)) if not c.passed] == []


def test_rewriting_without_cheating_is_valid(made, tmp_path):
    """Otherwise a forgery might be refused for the clumsiness of the forger."""
    certificate = Forger(shutil.copytree(made[0], tmp_path / "out")).write()
    assert [c.detail for c in verify_folder(certificate).checks if not c.passed] == []
    assert all(c.passed for c in verify_inputs(tmp_path / "out/internal", Job.load(made[1])))


@pytest.mark.parametrize("forgery", FORGERIES, ids=lambda f: f.name)
def test_a_forged_folder_is_refused(made, tmp_path, forgery):
    forger = Forger(shutil.copytree(made[0], tmp_path / "out"))
    if hasattr(forgery.how, "whole"):
        certificate = forgery.how(forger, made[1])
    else:
        forgery.how(forger)
        certificate = forger.write()
    alone = verify_folder(certificate)
    digests = alone.checks[8]
    fresh = digests.passed or "exactly the keys" in digests.detail or "no such folder" in digests.detail
    assert fresh, f"the digests must be fresh: {digests.detail}"
    if forgery.refused_by == FOLDER:
        assert not alone.valid
    else:
        assert [c.detail for c in alone.checks if not c.passed] == []
        assert not all(c.passed for c in verify_inputs(tmp_path / "out/internal", Job.load(made[1])))


def test_there_are_many_forgeries_of_both_kinds():
    kinds = [forgery.refused_by for forgery in FORGERIES]
    assert len(FORGERIES) >= 40 and kinds.count(INPUTS) >= 10
