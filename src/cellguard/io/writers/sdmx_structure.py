"""The structure message of a release in SDMX-ML 3.0: code lists with their trees, concepts, and a DSD per table."""

from __future__ import annotations

from collections.abc import Mapping
from xml.etree import ElementTree as Xml

from cellguard.table.pattern import Release, ReleasedTable
from cellguard.table.public_codes import PublicDimension

AGENCY, VERSION = "CELLGUARD", "1.0.0"
RESERVED = ("OBS_VALUE", "OBS_STATUS", "CONF_STATUS")
PREPARED = "2000-01-01T00:00:00Z"  # no date of its own, so that the same release is the same bytes
STATUS = {"A": "Normal value", "O": "Missing value", "Q": "Missing value; suppressed"}
CONFIDENTIALITY = {"C": "Confidential statistical information", "F": "Free (free for publication)"}
_SPACES = {
    part: f"http://www.sdmx.org/resources/sdmxml/schemas/v3_0/{part}" for part in ("message", "structure", "common")
}
_PREFIX = {"message": "mes", "structure": "str", "common": "com"}
_CONCEPTS = "CONCEPTS"


def structure_message(
    release: Release, tables: Mapping[str, str], dimensions: Mapping[str, str], codes: Mapping[str, Mapping[str, str]]
) -> str:
    """Return the message; ``tables``, ``dimensions`` and ``codes`` are their identifiers."""
    for part, prefix in _PREFIX.items():
        Xml.register_namespace(prefix, _SPACES[part])
    root = Xml.Element(_tag("message", "Structure"))
    header = _add(root, "message", "Header")
    for word, text in (("ID", "CELLGUARD"), ("Test", "false"), ("Prepared", PREPARED)):
        _add(header, "message", word, text)
    _add(header, "message", "Sender", id=AGENCY)
    structures = _add(root, "message", "Structures")
    lists = _add(structures, "structure", "Codelists")
    for tree in release.dimensions:
        _tree(lists, tree, dimensions[tree.name], codes[tree.name])
    _list(lists, "OBS_STATUS", "Observation status", STATUS)
    _list(lists, "CONF_STATUS", "Confidentiality status", CONFIDENTIALITY)
    concepts = {dimensions[tree.name]: tree.name for tree in release.dimensions}
    concepts |= {"OBS_VALUE": "Value", "OBS_STATUS": "Observation status", "CONF_STATUS": "Confidentiality status"}
    schemes = _add(structures, "structure", "ConceptSchemes")
    scheme = _artefact(schemes, "ConceptScheme", "conceptscheme", _CONCEPTS, "Concepts")
    for identity, words in concepts.items():
        item = _add(scheme, "structure", "Concept", id=identity, urn=_urn("conceptscheme.Concept", _CONCEPTS, identity))
        _add(item, "common", "Name", words)
    made = _add(structures, "structure", "DataStructures")
    for table in release.tables:
        _data_structure(made, table, tables[table.name], [dimensions[by] for by in table.by])
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True).replace("'", '"', 4) + "\n"


def _tree(parent: Xml.Element, tree: PublicDimension, identity: str, ids: Mapping[str, str]) -> None:
    """Add the code list of a dimension; each code names the one above it."""
    made = _artefact(parent, "Codelist", "codelist", f"CL_{identity}", tree.name)
    for code, above in zip(tree.codes, tree.parent.tolist(), strict=True):
        item = _code(made, f"CL_{identity}", ids[code], tree.labels.get(code, code))
        if above >= 0:
            _add(item, "structure", "Parent", ids[tree.codes[above]])


def _list(parent: Xml.Element, identity: str, words: str, codes: Mapping[str, str]) -> None:
    made = _artefact(parent, "Codelist", "codelist", f"CL_{identity}", words)
    for code, label in codes.items():
        _code(made, f"CL_{identity}", code, label)


def _code(parent: Xml.Element, list_id: str, code: str, label: str) -> Xml.Element:
    item = _add(parent, "structure", "Code", id=code, urn=_urn("codelist.Code", list_id, code))
    _add(item, "common", "Name", label)
    return item


def _data_structure(parent: Xml.Element, table: ReleasedTable, identity: str, by: list[str]) -> None:
    made = _artefact(parent, "DataStructure", "datastructure", identity, f"{table.response} by {', '.join(table.by)}")
    parts = _add(made, "structure", "DataStructureComponents")
    place = _component(parts, "DimensionList", identity, "DimensionDescriptor", kind="DimensionDescriptor")
    for number, dimension in enumerate(by, 1):
        one = _component(place, "Dimension", identity, dimension, position=str(number))
        _described(one, dimension, f"CL_{dimension}")
    place = _component(parts, "AttributeList", identity, "AttributeDescriptor", kind="AttributeDescriptor")
    for attribute in RESERVED[1:]:
        one = _component(place, "Attribute", identity, attribute, kind="DataAttribute", usage="mandatory")
        _described(one, attribute, f"CL_{attribute}")
        _add(_add(one, "structure", "AttributeRelationship"), "structure", "Observation")
    place = _component(parts, "MeasureList", identity, "MeasureDescriptor", kind="MeasureDescriptor")
    _described(_component(place, "Measure", identity, "OBS_VALUE", usage="optional"), "OBS_VALUE", None)


def _component(
    parent: Xml.Element, word: str, of: str, identity: str, kind: str | None = None, **more: str
) -> Xml.Element:
    return _add(parent, "structure", word, id=identity, urn=_urn(f"datastructure.{kind or word}", of, identity), **more)


def _described(component: Xml.Element, concept: str, code_list: str | None) -> None:
    """Say what a component means, and which codes or numbers it takes."""
    _add(component, "structure", "ConceptIdentity", _urn("conceptscheme.Concept", _CONCEPTS, concept))
    represented = _add(component, "structure", "LocalRepresentation")
    if code_list:
        _add(represented, "structure", "Enumeration", _urn("codelist.Codelist", code_list))
    else:
        _add(represented, "structure", "TextFormat", textType="Decimal")


def _artefact(parent: Xml.Element, word: str, package: str, identity: str, words: str) -> Xml.Element:
    urn = _urn(f"{package}.{word}", identity)
    made = _add(parent, "structure", word, urn=urn, id=identity, agencyID=AGENCY, version=VERSION)
    _add(made, "common", "Name", words)
    return made


def _urn(kind: str, identity: str, item: str | None = None) -> str:
    return f"urn:sdmx:org.sdmx.infomodel.{kind}={AGENCY}:{identity}({VERSION})" + (f".{item}" if item else "")


def _tag(part: str, word: str) -> str:
    return f"{{{_SPACES[part]}}}{word}"


def _add(parent: Xml.Element, part: str, word: str, text: str | None = None, /, **attributes: str) -> Xml.Element:
    made = Xml.SubElement(parent, _tag(part, word), attributes)
    made.text = text
    if (part, word) == ("common", "Name"):
        made.set("{http://www.w3.org/XML/1998/namespace}lang", "en")
    return made
