"""Code lists of SDMX structure messages as hierarchies: SDMX-ML 2.1 and 3.0, and SDMX-JSON.

A message is read by the local names of its elements, which the versions share. Code lists with a `Parent` per code are
trees or forests; a forest becomes a tree below its total, see `codelist_hierarchy`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from cellguard.errors import HierarchyError, InputError, did_you_mean, file_name
from cellguard.hierarchy.build import TOTAL, from_parents
from cellguard.hierarchy.hierarchy import NOTHING, Hierarchy
from cellguard.reading.encodings import check_readable

TOTALS = ("_T", "TOTAL", "T", "Total")  # of which the first is that of the SDMX guidelines
_URN = re.compile(r"=(?P<agency>[^:]+):(?P<id>[^(]+)\((?P<version>[^)]*)\)(?:\.(?P<item>.+))?$")


@dataclass(frozen=True)
class CodeList:
    """A code list: its codes in their order, each with the code above it ('' for none), and what they are called."""

    name: str
    parents: Mapping[str, str]
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Structure:
    """What a structure message has: code lists by their identifiers, and for each DSD the lists of its dimensions."""

    source: str
    lists: Mapping[str, CodeList]
    dimensions: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def list_of(self, dimension: str) -> str | None:
        """Return the code list of a dimension, whatever DSD says so; None if none does, or several disagree."""
        said = {lists[dimension] for lists in self.dimensions.values() if dimension in lists}
        named = [name for name in (f"CL_{dimension}", dimension) if name in self.lists]
        return said.pop() if len(said) == 1 else named[0] if named and not said else None


def read_codelist(
    said: str, path: Path, dimension: str, *, total: str | None = None, labels: Mapping[str, str] = NOTHING
) -> Hierarchy:
    """Read the hierarchy that a job names as ``FILE`` or ``FILE#CODELIST``; without a list, that of the dimension."""
    structure = read_structure(path)
    _, _, asked = said.partition("#")
    found = asked or structure.list_of(dimension)
    if found is None and len(structure.lists) == 1:
        found = next(iter(structure.lists))
    if found is None:
        raise HierarchyError(
            f"{structure.source}: nothing says which code list dimension {dimension!r} has; write "
            f"`codelist: {structure.source}#LIST`{did_you_mean('', structure.lists)}"
        )
    if found not in structure.lists:
        raise HierarchyError(f"{structure.source}: no code list {found!r}{did_you_mean(found, structure.lists)}")
    return codelist_hierarchy(structure.lists[found], f"{structure.source}, {found}", total=total, labels=labels)


def codelist_file(said: str) -> str:
    """Return the file of a code list that a job names.

    >>> codelist_file("structure.xml#CL_AREA")
    'structure.xml'
    """
    return said.partition("#")[0]


def codelist_hierarchy(
    listed: CodeList, source: str, *, total: str | None = None, labels: Mapping[str, str] = NOTHING
) -> Hierarchy:
    """Return a code list as a tree.

    Where several codes have none above them, one of them is the total if it is called so (``total``, or `_T`, `TOTAL`,
    `T`) and has no codes below; the others stand below it. If none is called so, a total is put above all.

    >>> listed = CodeList("CL_SEX", {"_T": "", "F": "", "M": ""}, {})
    >>> codelist_hierarchy(listed, "CL_SEX").codes
    ('_T', 'F', 'M')
    """
    missing = next((above for above in listed.parents.values() if above and above not in listed.parents), None)
    if missing is not None:
        raise HierarchyError(f"{source}: a code stands below {missing!r}, which the code list does not have")
    roots = [code for code, above in listed.parents.items() if not above]
    parents = dict(listed.parents)
    if len(roots) != 1:
        above_others = set(parents.values())
        called = [name for name in ((total,) if total else TOTALS) if name in roots and name not in above_others]
        top = called[0] if called else total or TOTAL
        if top in parents and not called:
            raise HierarchyError(
                f"{source}: {len(roots)} codes have none above them, and {top!r}, which is to be the total, has codes "
                "of its own below it; name the total, as `total: ALL`"
            )
        parents = {top: ""} | {code: above or top for code, above in parents.items() if code != top}
    elif total is not None and roots[0] != total:
        raise HierarchyError(f"{source}: the total is {roots[0]!r} (the code with none above it), not {total!r}")
    return from_parents(parents.items(), source=source, labels=labels or listed.labels)


def read_structure(path: Path) -> Structure:
    """Read a structure message; data messages and other files are refused."""
    check_readable(path)
    name = file_name(path)
    raw = path.read_bytes()
    try:
        found = _from_json(raw, name) if raw.lstrip()[:1] == b"{" else _from_xml(raw, name)
    except (Xml.ParseError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        raise InputError(f"{name}: not an SDMX structure message (SDMX-ML or SDMX-JSON), or a damaged one") from None
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{name}: this SDMX structure message lacks parts that every code list has") from None
    if not found.lists:
        raise InputError(
            f"{name}: has no code list; ask your registry for the structure with its references (references=children)"
        )
    return found


def _from_xml(raw: bytes, name: str) -> Structure:
    if b"<!DOCTYPE" in raw[:4096].upper() or b"<!ENTITY" in raw.upper():
        raise InputError(f"{name}: declares a document type, which SDMX messages do not have; it is not read")
    root = Xml.fromstring(raw)  # noqa: S314 - entities are refused above
    if _local(root) != "Structure":
        raise InputError(f"{name}: not a structure message of SDMX, but <{_local(root)}>")
    lists = _unique(name, ((item, _xml_list(item)) for item in _all(root, "Codelist")))
    concepts = {
        (str(scheme.get("id")), str(one.get("id"))): _reference(_child(one, "CoreRepresentation"))
        for scheme in _all(root, "ConceptScheme")
        for one in _children(scheme, "Concept")
    }
    dimensions = {}
    for structure in _all(root, "DataStructure"):
        found = {}
        for one in [*_all(structure, "Dimension"), *_all(structure, "TimeDimension")]:
            if one.get("id") is None:
                continue
            own = _reference(_child(one, "LocalRepresentation"))
            concept = _concept(_child(one, "ConceptIdentity"))
            enumerated = own or (concepts.get(concept) if concept else None)
            if enumerated:
                found[str(one.get("id"))] = enumerated
        dimensions[str(structure.get("id"))] = found
    return Structure(name, lists, dimensions)


def _xml_list(item: Xml.Element) -> CodeList:
    parents, labels = {}, {}
    for code in _children(item, "Code"):
        above = _child(code, "Parent")
        referred = None if above is None else _child(above, "Ref")
        text = "" if above is None else (referred.get("id") or "") if referred is not None else (above.text or "")
        parents[str(code.get("id"))] = text.strip()
        called = [one for one in _children(code, "Name") if one.text]
        english = [one for one in called if one.get("{http://www.w3.org/XML/1998/namespace}lang", "en") == "en"]
        if called:
            labels[str(code.get("id"))] = str((english or called)[0].text).strip()
    title = _child(item, "Name")
    return CodeList(str(title.text if title is not None else item.get("id")), parents, labels)


def _reference(represented: Xml.Element | None) -> str | None:
    """Return the identifier of the code list that a representation enumerates."""
    enumerated = None if represented is None else _child(represented, "Enumeration")
    if enumerated is None:
        return None
    referred = _child(enumerated, "Ref")
    if referred is not None:
        return referred.get("id")
    found = _URN.search((enumerated.text or "").strip())
    return found["id"] if found else None


def _concept(identity: Xml.Element | None) -> tuple[str, str] | None:
    if identity is None:
        return None
    referred = _child(identity, "Ref")
    if referred is not None:
        return str(referred.get("maintainableParentID")), str(referred.get("id"))
    found = _URN.search((identity.text or "").strip())
    return (found["id"], found["item"]) if found else None


def _from_json(raw: bytes, name: str) -> Structure:
    message: dict[str, Any] = json.loads(raw.decode("utf-8-sig"))
    data = message.get("data", message)
    lists = _unique(name, ((item, _json_list(item)) for item in data.get("codelists", data.get("Codelist", []))))
    concepts = {
        (scheme["id"], one["id"]): _urn_id(one.get("coreRepresentation", {}).get("enumeration", ""))
        for scheme in data.get("conceptSchemes", [])
        for one in scheme.get("concepts", [])
    }
    dimensions = {}
    for structure in data.get("dataStructures", []):
        parts = structure.get("dataStructureComponents", {}).get("dimensionList", {})
        found = {}
        for one in [*parts.get("dimensions", []), *parts.get("timeDimensions", [])]:
            own = _urn_id((one.get("localRepresentation") or {}).get("enumeration", ""))
            concept = _URN.search(one.get("conceptIdentity", ""))
            enumerated = own or (concepts.get((concept["id"], concept["item"])) if concept else None)
            if enumerated:
                found[one["id"]] = enumerated
        dimensions[structure["id"]] = found
    return Structure(name, lists, dimensions)


def _json_list(item: Mapping[str, Any]) -> CodeList:
    codes = item.get("codes", [])
    parents = {code["id"]: _item(code.get("parent") or "") for code in codes}
    return CodeList(item.get("name", item["id"]), parents, {code["id"]: code.get("name", code["id"]) for code in codes})


def _item(text: str) -> str:
    found = _URN.search(text)
    return str(found["item"]) if found and found["item"] else text


def _urn_id(text: str) -> str | None:
    found = _URN.search(text)
    return str(found["id"]) if found else None


def _unique(name: str, found: Iterator[tuple[Any, CodeList]]) -> dict[str, CodeList]:
    """Return code lists by their identifiers; two of one identifier, of other agencies or versions, must be equal."""
    lists: dict[str, CodeList] = {}
    for item, listed in found:
        identity = str(item.get("id"))
        if identity in lists and lists[identity].parents != listed.parents:
            raise InputError(f"{name}: has two code lists {identity!r} with different codes; keep one of them")
        lists[identity] = listed
    return lists


def _local(element: Xml.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(root: Xml.Element, name: str) -> Iterator[Xml.Element]:
    return (element for element in root.iter() if _local(element) == name)


def _children(parent: Xml.Element, name: str) -> Iterator[Xml.Element]:
    return (element for element in parent if _local(element) == name)


def _child(parent: Xml.Element, name: str) -> Xml.Element | None:
    return next(_children(parent, name), None)
