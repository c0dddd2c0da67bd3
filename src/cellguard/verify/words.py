"""The words of a certificate for people: they prove nothing, but must not say more than the summary does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from cellguard.verify.spec import CERTIFICATE, WORDS
from cellguard.verify.stages import Refused, attempt
from cellguard.verify.stored import Folder, read_bytes

SUMMARY = "internal/summary.json"
NEVER_CHECKED = frozenset({"unions"})


def check_words(folder: Folder, document: Mapping[str, Any], *, inside: bool) -> None:
    """Refuse a headline that is not the summary's, and a list of unchecked attacks that leaves one out.

    ``inside`` says that there is a claim about insiders.
    """
    summary = attempt(SUMMARY, lambda: json.loads(read_bytes(folder, SUMMARY)))
    if not isinstance(summary, dict):
        raise Refused(f"{SUMMARY} is not a JSON object")
    for key in sorted(WORDS):
        if document.get(key) != summary.get(key):
            raise Refused(f"{CERTIFICATE}: {key} is not that of {SUMMARY}")
    open_attacks = NEVER_CHECKED if inside else NEVER_CHECKED | {"insiders"}
    listed = document.get("not_checked")
    if listed is not None and not (isinstance(listed, list) and all(attack in listed for attack in open_attacks)):
        raise Refused(f"{CERTIFICATE}: not_checked leaves out an attack that nobody checks")
