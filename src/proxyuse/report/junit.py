"""A document as JUnit XML, which every CI server shows as a list of tests.

A protected attribute is a suite and a group of nested witnesses a test, so that a finding is told
once and not for each computation around it. A group fails if one of its witnesses counts; it is
skipped if all were judged appropriate, or are not confirmed where only confirmed ones count. What
could not be settled is an error. So there is a failure if the exit code is 1, an error but no
failure if it is 3, and neither if it is 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree as XML

from proxyuse.report.finding import Standing, judged, sentences, standing, summary
from proxyuse.report.wording import headline, on_lines, one_line, shortened
from proxyuse.words import count

MOST_NAME = 200

Found = Mapping[str, Any]


def junit(document: Found) -> str:
    """The groups of witnesses as tests, in XML.

    Parameters
    ----------
    document : of an audit, as `report.document.document` makes it or as it was read from a file.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> text = junit(document(pu.audit(program, data, protected="pregnant")))
    >>> XML.fromstring(text.split("?>", 1)[1]).attrib
    {'name': 'proxyuse', 'tests': '3', 'failures': '1', 'errors': '0', 'skipped': '0'}
    """
    shown = on_lines({**document, "witnesses": []})
    suites = XML.Element("testsuites", name="proxyuse")
    for protected in document["protected"]:
        name = protected["name"]
        witnesses = [on_lines(w) for w in document["witnesses"] if w["protected"] == name]
        fronts = {g["front"] for g in document["groups"] if g["protected"] == name}
        suites.append(_suite(shown, one_line(name), witnesses, fronts))
    suites.append(_settled(on_lines(document)))
    for suite in suites:
        _count(suite)
    _count(suites)
    XML.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{XML.tostring(suites, "unicode")}\n'


def _suite(
    document: Found, protected: str, witnesses: Iterable[Found], fronts: set[str]
) -> XML.Element:
    """What was found of one protected attribute; all texts are on one line, which XML allows."""
    suite = XML.Element("testsuite", name=f"proxy use of {shortened(protected, MOST_NAME)}")
    properties = XML.SubElement(suite, "properties")
    limits = document["thresholds"]
    about = {
        "association of a witness, at least": f"{limits['epsilon']:g}",
        "influence of a witness, above": f"{limits['delta']:g}",
        "measure of association": document["measures"]["association"],
        "measure of influence": document["measures"]["influence"],
        "decompositions": str(document["decompositions"]),
        "rows": str(document["rows"]),
    }
    for name, value in about.items():
        XML.SubElement(properties, "property", name=name, value=value)
    groups: dict[int, list[Found]] = {}
    for witness in witnesses:
        groups.setdefault(witness["group"], []).append(witness)
    for members in groups.values():
        front = next((w for w in members if w["id"] in fronts), members[0])
        _group(suite, document, front, members)
    _case(suite, protected, f"no {'other ' if groups else ''}proxy use was found")
    return suite


def _group(suite: XML.Element, document: Found, front: Found, members: Sequence[Found]) -> None:
    """A group of witnesses, told by its front or the smallest of those that decide how it ends."""
    ends: dict[Standing, list[Found]] = {}
    for witness in members:
        ends.setdefault(standing(document, witness), []).append(witness)
    end = next(one for one in Standing if one in ends)  # what is worst comes first
    first = front if front in ends[end] else min(ends[end], key=lambda w: w["size"])
    name = f"{shortened(front['reading'], MOST_NAME)} ({front['id']})"
    case = _case(suite, front["protected"], name)
    match end:
        case Standing.FAILS:
            told = XML.SubElement(case, "failure", type="proxy use", message=summary(first))
        case Standing.UNDECIDED:
            told = XML.SubElement(case, "error", type=str(end), message=summary(first))
        case Standing.NOT_COUNTED:
            why = "Not confirmed, and only confirmed violations count."
            told = XML.SubElement(case, "skipped", message=why)
        case Standing.APPROPRIATE:
            told = XML.SubElement(case, "skipped", message=judged(first))
    text = sentences(document, first)
    if len(members) > 1:
        more = count(len(members) - 1, "more witness", "more witnesses")
        others = [f"{len(ends[one]):,} {one}" for one in ends if one is not end]
        text.append(f"{more} in this group{': ' * bool(others)}{', '.join(others)}.")
    told.text = "\n".join(text)


def _settled(document: Found) -> XML.Element:
    """Whether everything was settled."""
    suite = XML.Element("testsuite", name="the audit")
    case = _case(suite, "the audit", "everything was settled")
    if not document["complete"]:
        listed, number = document["unsettled"]["listed"], document["unsettled"]["count"]
        told = [headline(document), *listed]
        told += [f"... and {number - len(listed):,} more"] if number > len(listed) else []
        told += [n["text"] for n in document["notes"] if n["kind"] == "opaque"]
        error = XML.SubElement(
            case, "error", type="not settled", message="Not everything could be settled."
        )
        error.text = "\n".join(told)
    return suite


def _case(suite: XML.Element, about: str, name: str) -> XML.Element:
    """A test that passed, unless something is added to it."""
    classname = f"proxyuse.{shortened(about, MOST_NAME)}"
    return XML.SubElement(suite, "testcase", classname=classname, name=name)


def _count(element: XML.Element) -> None:
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in kinds.items():
        element.set(name, str(sum(1 for _ in element.iter(tag))))
