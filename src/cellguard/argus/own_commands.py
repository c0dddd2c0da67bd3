"""Extensions that batches of τ-ARGUS do not have, all behind ``<CELLGUARD>``."""

from __future__ import annotations

from cellguard.argus import commands as c
from cellguard.argus.scanner import Scanner
from cellguard.errors import did_you_mean

# The words, how each is written, and what it does.
WORDS = {
    "METHODS": ("METHODS classical | proven", "which engines run for MOD and GH: the classical ones, or ours"),
    "EFFORT": ("EFFORT quick | normal | best", "how long to look for a cheaper pattern"),
    "INSIDERS": ("INSIDERS on | off", "whether respondents attack, too"),
    "SINGLETONS": ("SINGLETONS t", "single respondents of table t attack, too, also with OPT"),
    "TABLES": ("TABLES together | alternatives", "whether all tables are published, or one of them"),
    "NONSTRUCTURAL": ("NONSTRUCTURAL t", "empty cells of table t may be suppressed"),
    "PREVIOUS": ('PREVIOUS "FOLDER"', "an earlier release about the same respondents"),
    "KEYS": ("KEYS plain | hashed", "how CKM looks noise up: by the sum of record keys as it is, or by a hash of it"),
    "UNPROVEN": ("UNPROVEN refuse | accept", "whether CTA and CKM may publish what is not proven"),
    "AUDIT": ('AUDIT t, "FILE"', "write the exact interval of each suppressed cell of table t"),
    "PRIMARY": ('PRIMARY t, "FILE.hst"', "write the unsafe cells of table t as an a-priori file"),
}
_CHOICES = {
    "METHODS": ("classical", "proven"),
    "EFFORT": ("quick", "normal", "best"),
    "INSIDERS": ("on", "off"),
    "TABLES": ("together", "alternatives"),
    "KEYS": ("plain", "hashed"),
    "UNPROVEN": ("refuse", "accept"),
}


def parse_own(here: Scanner, keyword: str) -> c.Own:
    """Read what follows ``<CELLGUARD>``.

    >>> parse_own(Scanner("b.arb", 1, "METHODS classical"), "CELLGUARD").args
    ('classical',)
    """
    here.skip()
    start, word = here.position, here.word(" \t").upper()
    if word not in WORDS:
        raise here.fault(f"unknown extension {word!r}{did_you_mean(word, list(WORDS))}", position=start)
    here.skip()
    start = here.position
    if word in _CHOICES:
        choice = here.word(" \t").lower()
        if choice not in _CHOICES[word]:
            raise here.fault(f"{word} cannot be {choice!r}", f"write {WORDS[word][0]}", position=start)
        return c.Own(here.line, here.text, word, (choice,))
    if word == "PREVIOUS":
        return c.Own(here.line, here.text, word, (_file(here, word),))
    table = here.whole("the number of the table", ends=", \t")
    if word in {"AUDIT", "PRIMARY"}:
        here.take(",")
        return c.Own(here.line, here.text, word, (str(table), _file(here, word)))
    return c.Own(here.line, here.text, word, (str(table),))


def _file(here: Scanner, word: str) -> str:
    file = here.rest()
    if not file:
        raise here.fault(f"{word} names no file", f"write <CELLGUARD> {WORDS[word][0]}")
    return file
