"""Names of people: whoever made an output cannot accept it, also not under a name that looks like another one.

Names are compared by their skeletons: signs that look alike are one sign, and what makes no other person (capitals,
accents, order, dots between) does not count. So two names may be held to be one; the longer form of a name tells them
apart. The table holds the letters of Greek, Cyrillic and others that are read as Latin ones, after the confusable signs
of Unicode (UTS 39).
"""

# ruff: noqa: RUF001 (signs that look alike are what this is about)

from __future__ import annotations

from unicodedata import category, name, normalize

from cellguard.errors import InputError

_TOGETHER = ({"HAN", "HIRAGANA", "KATAKANA"}, {"HAN", "HANGUL"}, {"HAN", "BOPOMOFO"})  # scripts that one name may have
_SCRIPTS = {"CJK": "HAN", "KATAKANA-HIRAGANA": "KATAKANA", "IDEOGRAPHIC": "HAN"}
_LIKE = {
    "a": "аαɑ",
    "b": "ьЬƅв",
    "c": "сϲᴄ",
    "d": "ԁժ",
    "e": "еєҽ℮ε",
    "f": "ϝғ",
    "g": "ɡց",
    "h": "һհнη",
    "j": "јϳյ",
    "k": "кκ",
    "l": "iı1|іιӏӀⅼɩӏ",
    "m": "мϻ",
    "n": "пոռи",
    "o": "0оοσօסه",
    "p": "рρ",
    "q": "ԛզգ",
    "r": "гᴦř",
    "s": "ѕꜱš5",
    "t": "тτ",
    "u": "υսцμ",
    "v": "ѵν",
    "w": "ѡωաԝшщ",
    "x": "хχ",
    "y": "уүγ",
    "z": "ᴢ",
}
_SMALL = str.maketrans({sign: letter for letter, signs in _LIKE.items() for sign in signs.casefold()})
_CAPITAL = str.maketrans("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧАВЕЅІЈКМНОРСТУХԌԚԜՕ", "ABEZHIKMNOPTYXABESIJKMHOPCTYXGQWO")
_PAIRS = (("rn", "m"), ("vv", "w"), ("cl", "d"))


def plain_name(given: str) -> str:
    """Return a name as it is read; one with signs that nobody sees, or with letters of several scripts, is refused.

    >>> plain_name("  Anna   Weber ")
    'Anna Weber'
    >>> plain_name("\\u0410nna")
    Traceback (most recent call last):
    cellguard.errors.InputError: the name mixes letters of CYRILLIC and LATIN, which look alike; write it in one script
    """
    plain = " ".join(normalize("NFKC", given).split())
    if not plain or any(category(sign).startswith("C") for sign in plain):
        raise InputError("a name has no invisible signs")
    if not any(category(sign).startswith("L") for sign in plain):
        raise InputError("a name has letters")
    scripts = {_script(sign) for sign in plain if category(sign).startswith("L")}
    if len(scripts) > 1 and not any(scripts <= together for together in _TOGETHER):
        one, *_, other = sorted(scripts)
        raise InputError(f"the name mixes letters of {one} and {other}, which look alike; write it in one script")
    return plain


def same_person(one: str, other: str) -> bool:
    """Whether two names may be of one person: they look alike, whatever their capitals, accents and order.

    >>> same_person("Anna Weber", "WEBER, Anna"), same_person("\\u0430\\u0441\\u0430", "aca"), same_person("Ann", "Bob")
    (True, True, False)
    """
    return bool(_skeletons(one) & _skeletons(other))


def _skeletons(given: str) -> set[str]:
    """Return the forms by which a name is compared: as capitals look and as small letters do, in words and in one."""
    plain = normalize("NFKC", given)
    forms = set()
    for bare in (_bare(plain), _bare(normalize("NFKD", plain).translate(_CAPITAL))):
        words = "".join(sign if category(sign)[0] in "LN" else " " for sign in bare).split()
        forms |= {" ".join(sorted(words)), "".join(words)}
    return forms


def _bare(plain: str) -> str:
    folded = normalize("NFKD", plain.casefold())
    bare = "".join(sign for sign in folded if category(sign)[0] not in "MC").translate(_SMALL)
    for pair, letter in _PAIRS:
        bare = bare.replace(pair, letter)
    return bare


def _script(sign: str) -> str:
    """Return the script of a letter, which its name in Unicode begins with."""
    first = name(sign, "UNKNOWN").partition(" ")[0]
    return _SCRIPTS.get(first, first)
