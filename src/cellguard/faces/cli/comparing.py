"""`compare-rules` and `compare`: on which cells do rules disagree, and which policy tells the most at no risk?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellguard.faces.cli.options import AS_JSON, FORCE, PATH, THREADS
from cellguard.faces.cli.progress import progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cellguard.run_context import Run


@click.command("compare-rules")
@click.argument("job", type=PATH, required=False)
@click.option(
    "--rule",
    "rules",
    multiple=True,
    help="A rule, as 'dominance n=2' or, with its strictness, 'p_percent p=10'; one inside another in brackets, as "
    "'signed usual=(dominance n=2)'; say it for each rule. Default: dominance n=2, p_percent, statisticon.",
)
@click.option(
    "--distribution",
    "distributions",
    multiple=True,
    help="What is drawn from, repeatable: as 'normal(100, 50)', or 'FILE:COLUMN' of your records (the page is then "
    "confidential). [default: exponential(1)]",
)
@click.option(
    "--n", "sizes", multiple=True, type=click.IntRange(3), help="Contributions per cell; may be repeated. [default: 4]"
)
@click.option("--cells", default=1000, show_default=True, type=click.IntRange(10), help="How many cells are drawn.")
@click.option(
    "--target",
    type=float,
    help="The share of cells that each rule shall call unsafe. [default: that of the rule whose strictness is given, "
    "or 0.2]",
)
@click.option("--whole", is_flag=True, help="Try whole percentages only, as the literature does.")
@click.option(
    "--parameters",
    default=100,
    show_default=True,
    type=click.IntRange(2, 10_000),
    help="Parameters from 1 to this one are tried; p may exceed 100.",
)
@click.option(
    "--negatives",
    default="keep",
    show_default=True,
    type=click.Choice(["keep", "truncate", "abs", "redraw"]),
    help="What becomes of negative draws.",
)
@click.option(
    "--seed", default=1, show_default=True, type=click.IntRange(0), help="The same seed draws the same cells."
)
@click.option(
    "--seeds",
    default=1,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Repeat the comparison with so many seeds, and tell the ranges of all figures.",
)
@click.option("--out", type=PATH, help="Write the comparison as a page with its pictures to this HTML file.")
@click.option(
    "--csv", "listed", type=PATH, help="Write cells, matrices of 0 and 1, groups and contours as CSV into this folder."
)
@FORCE
@AS_JSON
def compare_rules(
    job: Path | None,
    rules: tuple[str, ...],
    distributions: tuple[str, ...],
    sizes: tuple[int, ...],
    cells: int,
    target: float | None,
    whole: bool,
    parameters: int,
    negatives: str,
    seed: int,
    seeds: int,
    out: Path | None,
    listed: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Compare sensitivity rules at equal strictness: on which cells do they disagree, and what do these look like?

    Without JOB on cells drawn at random; with it on the tables of JOB, whose own rules do not matter then (the page and
    what is printed are then confidential). Each rule is made as strict as it takes to call about equally many cells
    unsafe, and each pair is compared: cross table, Cohen's kappa, the typical cells on which they disagree.

    \b
    cellguard compare-rules --out rules.html
    cellguard compare-rules --n 4 --n 6 --n 10 --distribution 'exponential(1)' --distribution 'normal(100, 50)'
    cellguard compare-rules --rule 'dominance n=1' --rule 'p_percent p=10' --distribution 'lognormal(0, 2)' --n 6
    cellguard compare-rules job.yaml --rule 'p_percent p=10' --rule 'dominance n=2'
    """
    from cellguard.evaluate.rule_files import write_rule_files
    from cellguard.io.write import check_file, write_text

    if out:
        check_file(out, force=force)
    own = job is not None or any(":" in text for text in distributions)
    with progress(as_json) as run:
        if job is not None:
            grid = range(1, parameters + 1)
            data, page, files = _own(job, rules, {"target": target, "whole": whole, "grid": grid}, out, listed, run)
        else:
            common: dict[str, Any] = {
                "cells": cells,
                "target": target,
                "negatives": negatives,
                "seed": seed,
                "whole": whole,
            }
            common["grid"] = range(1, parameters + 1)
            drawn = [{"distribution": d, "n": n} for d in distributions or ("exponential(1)",) for n in sizes or (4,)]
            data, page, files = _drawn(rules, [{**one, **common} for one in drawn], seeds, out, listed)
    if listed:
        write_rule_files(listed, files, force=force, confidential=own)
    if out:
        write_text(out, page, force=force, confidential=own)
    if as_json:
        click.echo(json.dumps(data, indent=2))
        return
    for name, study in data.items():
        _show(name, study)
    if job is None:
        click.echo(f"Drawn with seed {seed}; negative draws: {negatives}.")
    for path, what in ((out, "The whole comparison"), (listed, "All its figures")):
        if path:
            click.echo(f"{what}: {path}" + (" (confidential)" if own else ""))


Compared = tuple["dict[str, Any]", str, "dict[str, str]"]


def _drawn(
    rules: tuple[str, ...], drawn: Sequence[Mapping[str, Any]], seeds: int, page: Path | None, listed: Path | None
) -> Compared:
    from cellguard.evaluate.draws import recorded_values
    from cellguard.evaluate.families import parse_families
    from cellguard.evaluate.rule_files import rule_files
    from cellguard.evaluate.rule_page import rule_study_data, rule_study_page, study_setting, study_sizes
    from cellguard.evaluate.rule_study import SIZES

    families, fixed = parse_families(rules) if rules else (None, {})
    settings = {}
    for one in drawn:
        path, colon, column = one["distribution"].rpartition(":")
        values = {"distribution": recorded_values(Path(path), column)} if colon else {}
        settings[f"{one['distribution']}, n = {one['n']}"] = {**one, **values, "fixed": fixed}
    whole = [study_setting(families, called=name, seeds=seeds, **one) for name, one in settings.items()]
    data = {made.drawn: rule_study_data(made.study) for made in whole}
    for made in whole:
        if made.seeds:
            data[made.drawn]["over_seeds"] = made.seeds.plain()
    if not page and not listed:
        return data, "", {}
    by_distribution = {name.rpartition(", n = ")[0]: one for name, one in settings.items()}
    sizes = [study_sizes(families, called=name, **one) for name, one in by_distribution.items()]
    common = {"seed": drawn[0]["seed"], "negatives": drawn[0]["negatives"]}
    recorded = any(":" in one["distribution"] for one in drawn)
    text = rule_study_page(whole, sizes, confidential=recorded, **common) if page else ""
    studies, counts = {one.drawn: one.study for one in whole}, {one.drawn: one.counts for one in sizes}
    return data, text, rule_files(studies, counts, SIZES) if listed else {}


def _own(
    job: Path,
    rules: tuple[str, ...],
    settings: Mapping[str, Any],
    page: Path | None,
    listed: Path | None,
    run: Run,
) -> Compared:
    from cellguard.evaluate.families import parse_families
    from cellguard.evaluate.own_tables import own_tables_data, own_tables_page, study_job
    from cellguard.evaluate.rule_files import rule_files
    from cellguard.job.jobfile import Job

    families, fixed = parse_families(rules) if rules else (None, {})
    studies = study_job(Job.load(job), families, fixed=fixed, run=run, **settings)
    files = rule_files({one.table.name: one.study for one in studies}, {}, ()) if listed else {}
    return own_tables_data(studies), own_tables_page(studies) if page else "", files


def _show(name: str, study: Mapping[str, Any]) -> None:
    """Print a comparison in a few lines."""
    click.echo(f"{name}: {study['cells']:,} cells, of which {study['wanted']:,.0f} shall be unsafe")
    for said in study["rules"].values():
        short = f" ({said['missed']})" if said["missed"] else ""
        click.echo(f"  {said['rule']}: {said['unsafe']:,} unsafe{short}")
    for pair, seen in study["pairs"].items():
        kappa = "not defined" if seen["kappa"] is None else f"{seen['kappa']:.2f} ({seen['label']})"
        parts = ", ".join(f"{key} {seen[key]:,}" for key in list(seen)[:4])
        click.echo(f"  {pair}: {parts}; kappa {kappa}")
    if "over_seeds" in study:
        _show_ranges(study["over_seeds"])
    split = study.get("disagreements")
    if split is not None:
        for cell in split[:20]:
            click.echo(
                f"    {cell['cell']}: unsafe by {', '.join(cell['unsafe by'])}; shares of the largest {cell['shares']}"
            )
        if len(split) > 20:
            click.echo(f"    and {len(split) - 20:,} more cells; --out and --json have all")


def _show_ranges(ranges: Mapping[str, Any]) -> None:
    """Print what many seeds give, in a line for each rule and pair."""
    click.echo(f"  over {ranges['seeds']:,} seeds, mean and range:")
    for name, told in ranges["rules"].items():
        click.echo(f"    {name}: parameter {_range(told['strictness'])}, unsafe {_range(told['unsafe'])}")
    for pair, told in ranges["pairs"].items():
        parts = ", ".join(f"{key} {_range(told[key])}" for key in list(told)[:4])
        click.echo(f"    {pair}: {parts}; kappa {_range(told['kappa'])}")


def _range(told: Mapping[str, float | None]) -> str:
    if told["mean"] is None:
        return "not defined"
    return "{:.4g} ({:.4g} to {:.4g})".format(*told.values())


@click.command()
@click.argument("job", type=PATH)
@click.option("--methods", default="suppress", show_default=True, help="The methods, as suppress,perturb.")
@click.option(
    "--rules",
    multiple=True,
    help="Rules of a policy, as 'p_percent p=10; min_frequency n=3'; say it per policy. Default: those of the job.",
)
@click.option("--cost", "costs", multiple=True, help="A cost of suppression to compare, as value; repeatable.")
@click.option("--effort", "efforts", multiple=True, help="An effort of suppression to compare, as best; repeatable.")
@click.option(
    "--noise",
    "noises",
    help="The ways of perturbation to compare, as zes,balanced,marg,opt,least_loss. Default: the job's.",
)
@click.option("--cell", "cells", multiple=True, help="A cell to follow, as 'table: A/North'.")
@click.option("--risk", default=0.0, show_default=True, type=click.FloatRange(0, 1), help="The tolerated mean risk.")
@click.option("--out", type=PATH, help="Write the comparison as a page to this HTML file. Confidential.")
@click.option("--csv", "listed", type=PATH, help="Write one row per policy and table to this CSV file. Confidential.")
@THREADS
@FORCE
@AS_JSON
def compare(
    job: Path,
    methods: str,
    rules: tuple[str, ...],
    costs: tuple[str, ...],
    efforts: tuple[str, ...],
    noises: str | None,
    cells: tuple[str, ...],
    risk: float,
    out: Path | None,
    listed: Path | None,
    threads: int,
    force: bool,
    as_json: bool,
) -> None:
    """Protect the tables in JOB by several methods and rules, and compare risk and utility.

    Every method is run with every set of rules, and suppression with every cost and effort that is named. The risk of
    each is what an outsider can work out of the cells that the
    job's own rules call unsafe, and beside it what respondents can; its verdict is what its own method and rules make
    of it. Recommended is the policy that tells the most at the tolerated risk, of those that are proven. If JOB makes a
    map, `redistribute` is held against leaving hexagons out (`suppress`). Nothing is released; what is printed and
    written is confidential.

    \b
    cellguard compare job.yaml --methods suppress,perturb --out compared.html
    cellguard compare job.yaml --rules 'p_percent p=5' --rules 'p_percent p=10' --rules 'dominance n=1 k=75'
    cellguard compare job.yaml --methods perturb --noise zes,zes_mu,marg,opt,least_loss --out noise.html
    """
    from cellguard.evaluate.candidates import parse_policies
    from cellguard.evaluate.policies import compare_policies
    from cellguard.evaluate.policy_page import policy_page
    from cellguard.io.write import check_file, csv_text, write_text
    from cellguard.job.jobfile import Job

    for path in filter(None, (out, listed)):
        check_file(path, force=force)
    with progress(as_json, threads=threads) as within:
        ways = [way.strip() for way in (noises or "").split(",") if way.strip()]
        policies = parse_policies(methods, rules, costs=costs, efforts=efforts, noises=ways)
        compared = compare_policies(Job.load(job), policies, tolerated=risk, cells=cells, within=within)
    if out:
        write_text(out, policy_page(compared, f"Policies for {job.name}"), force=force, confidential=True)
    if listed:
        write_text(listed, csv_text(*compared.rows()), force=force, confidential=True)
    if as_json:
        click.echo(json.dumps([point.plain() for point in compared.points], indent=2))
        return
    for point in compared.points:
        told = f", from insiders {point.risk_words(inside=True)}" if point.disclosed_to_insiders >= 0 else ""
        figures = f"utility {100 * point.utility:.1f} %, risk {point.risk_words()}{told}" if point.measured else ""
        verdict = "" if point.is_end else point.fault or f"verdict: {point.said or point.verdict}"
        said = "; ".join(filter(None, [figures, verdict]))
        click.echo(f"  {point.name}: {said}" + "".join(f"; {cell} {text}" for cell, text in point.shown.items()))
        if point.figures:
            click.echo("    " + ", ".join(f"{name} {figure:.4g}" for name, figure in point.figures.items()))
    click.echo(compared.words())
    for line in compared.differences:
        click.echo(line)
    for path in filter(None, (out, listed)):
        click.echo(f"Written: {path} (confidential)")


@click.command()
@click.argument("job", type=PATH)
@click.option("--samples", default=50, show_default=True, type=click.IntRange(1, 10_000), help="How many samples.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(0), help="Draws the same samples again.")
@click.option("--out", type=PATH, required=True, help="Write one row per cell to this CSV file. Confidential.")
@FORCE
def stability(job: Path, samples: int, seed: int, out: Path, force: bool) -> None:
    """Protect the tables in JOB again and again, on bootstrap samples of its records.

    Respondents are drawn with replacement. For each cell the file has the share of samples in which it was unsafe, and
    in which it was suppressed: what is near one half will flicker from year to year.
    """
    from cellguard.evaluate.stability import study_stability
    from cellguard.io.write import check_file, csv_text, write_text
    from cellguard.job.jobfile import Job

    check_file(out, force=force)
    with progress(False) as within:
        study = study_stability(Job.load(job), samples, seed=seed, within=within)
    write_text(out, csv_text(*study.rows()), force=force, confidential=True)
    failed = f"; {study.failed:,} of them could not be protected" if study.failed else ""
    click.echo(f"{samples:,} samples{failed}. Wrote {out} (confidential)")
