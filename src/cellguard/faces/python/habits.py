"""What other packages call things, and what that is here: the cure of a slip that comes of habit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NoReturn

from cellguard.errors import InputError, did_you_mean

_FILTER = "take the rows first, as frame[frame.year == 2024] in pandas"
_COUNTS = "say it as a rule, as rules=cg.MinFrequency(3), by which fewer than 3 are unsafe"
ARGUMENTS = {
    **dict.fromkeys(("values", "numVar", "numVarInd", "response"), "it is `value` here"),
    **dict.fromkeys(("groupby", "columns", "index", "dims", "dimensions", "dimVar", "dimVarInd"), "it is `by` here"),
    **dict.fromkeys(("freqVar", "freqVarInd", "count"), "it is `freq` here"),
    **dict.fromkeys(("dimList", "hierarchy", "levels"), "it is `hierarchies` here, as {'region': 'region.csv'}"),
    **dict.fromkeys(("weights", "weightVar", "sampweight"), "it is `weight` here"),
    **dict.fromkeys(("charVar", "contributorVar", "id"), "it is `respondent` here, or `holding`"),
    **dict.fromkeys(("maxN", "threshold", "primary", "k", "p", "n"), _COUNTS),
    **dict.fromkeys(("where", "filter", "query", "subset"), _FILTER),
    "formula": "it is `tables` here, as tables='~ nation + age * continent'",
    "engine": "say options={'protect': {'engine': 'gauss'}}",
}
ENGINES = ("witness", "gauss", "optimal")
_METHODS = {
    **dict.fromkeys(("opt", "optimize"), "optimal"),
    **dict.fromkeys(("hitas", "modular", "mod", "ghmiter", "gh", "hypercube", "simpleheuristic"), "witness"),
    "gausssuppression": "gauss",
}
OUTCOME = {
    **dict.fromkeys(("to_pandas", "to_polars", "to_frame", "data", "df", "result", "results"), ".table is the frame"),
    **dict.fromkeys(("save", "to_csv", "to_excel", "to_parquet", "to_folder"), ".write('out') writes the folder"),
    **dict.fromkeys(("pivot", "unstack", "wide"), ".crosstab() is the wide frame"),
    **dict.fromkeys(("explain", "reason", "reasons"), ".why(cell) explains a cell"),
    **dict.fromkeys(("status", "safe", "is_safe"), ".verdict says what is safe, and against whom"),
    **dict.fromkeys(("to_html", "html", "page"), ".report('page.html') writes the page"),
}
_FIT = "fit it with statsmodels, then say session.regression(result)"
_TABLE = "say session.crosstab(...), session.pivot_table(...) or session.table(by)"
SESSION = {
    **dict.fromkeys(("ols", "olsr", "logit", "logitr", "probit", "probitr"), _FIT),
    **dict.fromkeys(("hist", "pie", "surv_func", "custom_output", "plot"), "say session.figure(figure, counts=[...])"),
    **dict.fromkeys(("groupby", "value_counts", "describe", "agg"), _TABLE),
    **dict.fromkeys(("add_comments", "add_comment"), "it is session.comment(output, text)"),
    "add_exception": "it is session.exception(output, reason)",
    "rename_output": "it is session.rename(old, new)",
    "remove_output": "it is session.remove(output)",
    "finalize": "it is session.finalise(folder)",
    **dict.fromkeys(("print_outputs", "results", "records_"), "session.outputs has them by name"),
    **dict.fromkeys(("suppress", "enable_suppression", "disable_suppression"), "unsafe cells are always suppressed"),
}
MODULE = {
    "ACRO": "cg.Session(frame)",
    "NK": "cg.Dominance(n, k)",
    "PQ": "cg.PriorPosterior(p, q)",
    "P": "cg.PPercent(p)",
    **dict.fromkeys(("Threshold", "Frequency", "MaxN"), "cg.MinFrequency(n)"),
    **dict.fromkeys(("read_csv", "read_excel", "read_parquet", "load"), "cg.protect(path, ...), which reads files"),
}


def refuse_arguments(call: str, said: Iterable[str], known: Iterable[str]) -> None:
    """Refuse arguments that a call does not have, with what each is called here.

    >>> refuse_arguments("protect", ["maxN"], ["by"])
    Traceback (most recent call last):
    cellguard.errors.InputError: protect has no argument 'maxN'; say it as a rule, as rules=cg.MinFrequency(3), by which
    fewer than 3 are unsafe
    """
    for word in said:
        cure = ARGUMENTS.get(word)
        raise InputError(f"{call} has no argument {word!r}{f'; {cure}' if cure else did_you_mean(word, known)}")


def method_cure(name: str, known: Iterable[str]) -> str:
    """Return what to say in place of a method that is none: an engine, in this package or another, is no method.

    >>> method_cure("OPT", [])
    "; say options={'protect': {'engine': 'optimal'}}, an engine of the method 'suppress'"
    """
    engine = name if name in ENGINES else _METHODS.get(name.lower())
    if engine is None:
        return did_you_mean(name, known)
    return f"; say options={{'protect': {{'engine': {engine!r}}}}}, an engine of the method 'suppress'"


def no_attribute(thing: object, name: str, cures: Mapping[str, str]) -> NoReturn:
    """Raise what Python raises for an attribute that is not there, with what it is called here."""
    kind = type(thing)
    cure = cures.get(name)
    public = [word for word in dir(kind) if not word.startswith("_")]
    hint = f"; {cure}" if cure else did_you_mean(name, public)
    raise AttributeError(f"{kind.__name__!r} has no attribute {name!r}{'' if name.startswith('_') else hint}")
