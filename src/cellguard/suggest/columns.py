"""What the columns of a file look like, from its first rows; `init` guesses their roles from that."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cellguard.errors import InputError
from cellguard.microdata.sources import Opened, quoted
from cellguard.reading.vocabulary import NUMBER

TOTALS = ("Total", "TOTAL", "total", "_T", "All", "all", "ALL", "Ensemble", "ENSEMBLE", "Insgesamt", "Sum", "T")
COUNT_NAME = re.compile(
    r"(?i)^(n|n_?obs|counts?|freq\w*|firms|respondents|enterprises|units|nb\w*|effectifs?|anzahl|ant|antal|antall|aantal)$"
)
_CLASSIFIED = re.compile(
    r"(?i)^(\w*_)?(naces?|isic|sic|noga|naf|ateco|cnae|wz|sni|sbi|cpa|cpc|prodcom|coicop|isced|isco|icd|cofog)[_ ]?\w*$"
)
SAMPLE = 100_000
_MOST_CODES = 1_000
_FEW_NUMBERS = 100
_TIMES = 20  # how often a code that is a number comes on average
_TIMES_EQUAL = 3  # the same, if all have as many digits


@dataclass(frozen=True)
class Column:
    """What the first rows of a column look like."""

    name: str
    rows: int
    filled: int
    different: int
    numbers: int
    commas: int
    whole: int
    zeros: int
    widths: int
    negative: int

    @property
    def is_number(self) -> bool:
        """Whether all entries are numbers, with a decimal point or a decimal comma; 01 and 01.1 are codes."""
        return 0 < self.filled == max(self.numbers, self.commas) and not self.zeros

    @property
    def is_mostly_number(self) -> bool:
        """Whether more than half of the entries are numbers, so that the others may be slips."""
        return 2 * max(self.numbers, self.commas) > self.filled and not self.zeros

    @property
    def is_unique(self) -> bool:
        """Whether no entry comes twice."""
        return 0 < self.filled == self.different == self.rows

    @property
    def has_gaps(self) -> bool:
        """Whether some entries are blank."""
        return self.filled < self.rows

    @property
    def is_code(self) -> bool:
        """Whether the entries look like codes: few different ones, each of which comes several times.

        Numbers do so if they are whole and very few, or not so few but all of one length, as 11 to 95; those of a
        classification need not be whole, as 10.1 of NACE.
        """
        if not self.filled or self.different > _MOST_CODES or 2 * self.different > self.filled:
            return False
        times = _TIMES_EQUAL if self.widths == 1 else _TIMES
        few = self.different <= _FEW_NUMBERS and times * self.different <= self.filled
        whole = self.whole == self.filled or bool(_CLASSIFIED.match(self.name))
        return not self.is_number or (whole and few)


def look_at(opened: Opened) -> list[Column]:
    """Look at the first rows of each column."""
    parts = []
    for i in range(len(opened.columns)):
        text = f"CAST(c{i} AS VARCHAR)"
        word = f"nullif(trim({text}), '')"
        point = f"regexp_matches({word}, {quoted(NUMBER)})"
        comma = f"regexp_matches(replace({word}, ',', '.'), {quoted(NUMBER)}) AND NOT contains({word}, '.')"
        parts += [
            f"count({word})",
            f"count(DISTINCT {word})",
            f"count_if({point})",
            f"count_if({comma})",
            rf"count_if(regexp_matches({word}, '^[+-]?[0-9]+([.]0*)?$'))",
            f"count_if(regexp_matches({word}, '^0[0-9]+([.][0-9]+)?$'))",
            f"count(DISTINCT length({word}))",
            f"count_if(starts_with({word}, '-'))",
        ]
    sample = f"(SELECT * FROM {opened.noting} LIMIT {SAMPLE})"  # noqa: S608
    found = opened.rows(f"SELECT count(*), {', '.join(parts)} FROM {sample}")[0]  # noqa: S608
    opened.refuse_broken_lines()
    if not found[0]:
        raise InputError(f"{opened.name}: there are no rows; the data are empty")
    return [Column(n, found[0], *found[8 * i + 1 : 8 * i + 9]) for i, n in enumerate(opened.columns)]
