"""What the statuses mean that other tools write beside the cells of a protected table.

τ-ARGUS writes a letter for every cell of its intermediate files (and of JJ files) and of SBS files, and a number in
code-value files; sdcTable and G-Confid have letters of their own. A letter may mean different things to two of them: P
is "protected", and so published, to τ-ARGUS, and a primary to G-Confid. Where all tools that know every status of a
column agree, that is what it means; where they do not, somebody must say it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from cellguard.errors import InputError


class Tool(NamedTuple):
    """The statuses of one kind of file, in small letters: of published and of suppressed cells."""

    name: str
    published: frozenset[str]
    suppressed: frozenset[str]

    def knows(self, words: Set[str]) -> bool:
        """Return whether all words are statuses of it."""
        return words <= self.published | self.suppressed


INTERMEDIATE = Tool("τ-ARGUS", frozenset("spezv"), frozenset("um"))
SBS = Tool("τ-ARGUS (SBS)", frozenset("v-"), frozenset("abcdf"))
NUMBERED = Tool(
    "τ-ARGUS (code-value)",
    frozenset({"1", "2", "10", "13", "14"}),
    frozenset({"3", "4", "5", "6", "7", "8", "9", "11", "12"}),
)
SDCTABLE = Tool("sdcTable", frozenset("sz"), frozenset("ux"))
G_CONFID = Tool("G-Confid", frozenset("s"), frozenset("px"))
TOOLS = (INTERMEDIATE, SBS, NUMBERED, SDCTABLE, G_CONFID)
EMPTY = frozenset({"e", "z", "-", "13", "14"})


def suppressed_statuses(words: Set[str], *, blanks: bool, shown: Set[str] = frozenset()) -> frozenset[str]:
    """Return which words of a status column mean that a cell is suppressed; ``blanks`` says that some rows have none.

    Words that no tool has all mean it, since a column of flags marks what is suppressed and is blank elsewhere. With
    blanks that also holds of letters, unless some of them can only come from a file of τ-ARGUS, or another tool calls
    one of them published and rows with it show a value: ``shown`` are the words of such rows.

    >>> sorted(suppressed_statuses({"v", "a", "d"}, blanks=False))
    ['a', 'd']
    >>> [sorted(suppressed_statuses(words, blanks=True)) for words in ({"s", "u", "m"}, {"p", "s"})]
    [['m', 'u'], ['p', 's']]
    >>> suppressed_statuses({"p", "s"}, blanks=True, shown={"s"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    cellguard.errors.InputError: --flag: a column of flags and G-Confid use these letters in different ways; ...
    """
    given = frozenset(words)
    if blanks:
        theirs = [tool for tool in (INTERMEDIATE, SBS) if tool.knows(given) and "v" in given]
        if "s" in given and given & INTERMEDIATE.suppressed and INTERMEDIATE.knows(given):
            theirs.append(INTERMEDIATE)
        if not theirs:
            others = (tool for tool in (SDCTABLE, G_CONFID) if tool.knows(given) and given & tool.suppressed)
            theirs = [tool for tool in others if given & tool.published & shown]
            theirs = [Tool("a column of flags", frozenset(), given), *theirs] if theirs else []
    else:
        theirs = [tool for tool in TOOLS if tool.knows(given)]
    meanings = {given & tool.suppressed for tool in theirs}
    if len(meanings) > 1:
        names = " and ".join(tool.name for tool in theirs)
        raise InputError(
            f"--flag: {names} use these letters in different ways; say which of them mean suppressed, as --suppressed U"
        )
    return next(iter(meanings), given)
