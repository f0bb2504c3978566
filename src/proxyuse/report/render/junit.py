"""An audit as JUnit XML, which every CI server shows as a list of tests.

A protected attribute is a suite and a group of nested witnesses is a test, so that each finding
appears once. A group fails if one of its witnesses counts. It is skipped if all were judged
appropriate, or are not confirmed where only confirmed ones count. An attribute that cannot be
decided and an incomplete search are errors. So there is a failure if the exit code is 1, an error
but no failure if it is 3, and neither if it is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as XML

from proxyuse.report.findings import build, collections, explicit
from proxyuse.report.findings.headline import headline
from proxyuse.report.findings.verdict import undecided
from proxyuse.report.findings.witness import all_sentences, judged, more_related, summary
from proxyuse.report.other_findings import Collection, ExplicitUse
from proxyuse.report.result import AuditResult, Protected, Witness
from proxyuse.report.standing import Standing, presented, standing
from proxyuse.verdict import Incomplete, Verdict
from proxyuse.words import one_line, shortened

MOST_NAME = 200


def audit_junit(result: AuditResult) -> str:
    """The groups of witnesses as tests, in XML.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> text = audit_junit(document(pu.audit(program, data, protected="pregnant")))
    >>> XML.fromstring(text.split("?>", 1)[1]).attrib
    {'name': 'proxyuse', 'tests': '3', 'failures': '1', 'errors': '0', 'skipped': '0'}
    """
    suites = XML.Element("testsuites", name="proxyuse")
    for protected in result.protected:
        suites.append(_suite(result, protected))
    suites.append(_complete(result))
    for suite in suites:
        _count(suite)
    _count(suites)
    XML.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{XML.tostring(suites, "unicode")}\n'


def _suite(result: AuditResult, attribute: Protected) -> XML.Element:
    """The findings on one protected attribute."""
    protected = attribute.name
    name = shortened(one_line(protected), MOST_NAME)
    suite = XML.Element("testsuite", name=f"proxy use of {name}")
    properties = XML.SubElement(suite, "properties")
    about = {
        "association of a witness, at least": f"{result.thresholds.epsilon:g}",
        "influence of a witness, above": f"{result.thresholds.delta:g}",
        "measure of association": result.measures.association,
        "measure of influence": result.measures.influence,
        "decompositions": str(result.decompositions),
        "rows": str(result.rows),
        "verdict": str(attribute.verdict),
    }
    for key, value in about.items():
        XML.SubElement(properties, "property", name=key, value=one_line(value))
    members, witnesses = result.members(), result.by_key()
    groups = [group for group in presented(result) if group.protected == protected]
    for group in groups:
        representative = witnesses[protected, group.representative]
        _group(suite, result, representative, members[protected, group.group])
    explicit_uses = [
        use
        for use in attribute.explicit
        if (use.counts or use.appropriate) and not use.repeats_witness
    ]
    for use in explicit_uses:
        _explicit(suite, result, attribute, use)
    known = attribute.collection if attribute.collection and attribute.collection.shown else None
    if known is not None:
        _collection(suite, result, known)
    undecided_rows = any(not isinstance(reason, Incomplete) for reason in attribute.reasons)
    if attribute.verdict is Verdict.UNDECIDED and undecided_rows:  # else see `_complete`
        case = _case(suite, protected, build.DECIDED)
        message = one_line(undecided(result, attribute))
        XML.SubElement(case, "error", type=str(attribute.verdict), message=message)
    else:
        found = groups or explicit_uses or known
        none = build.NO_OTHER_FINDINGS if found else build.NO_FINDINGS
        _case(suite, protected, none)
    return suite


def _explicit(
    suite: XML.Element, result: AuditResult, attribute: Protected, use: ExplicitUse
) -> None:
    """A column that determines the attribute; it fails if it counts."""
    column = shortened(one_line(use.column), MOST_NAME)
    case = _case(suite, attribute.name, f"{explicit.TITLE.lower()}: {column}")
    _outcome(case, result, use, "explicit use", explicit.sentences(result, attribute, use))


def _collection(suite: XML.Element, result: AuditResult, known: Collection) -> None:
    """A collective witness; it fails if it counts."""
    name = shortened(one_line(collections.title(known)), MOST_NAME)
    case = _case(suite, known.protected, f"{name} ({known.id})")
    _outcome(case, result, known, "proxy use", collections.sentences(result, known))


def _outcome(
    case: XML.Element,
    result: AuditResult,
    finding: ExplicitUse | Collection,
    kind: str,
    sentences: Sequence[str],
) -> None:
    """Whether a finding beside the witnesses fails, with all that there is to say about it."""
    message, *rest = map(one_line, sentences)
    if finding.appropriate:
        entry = XML.SubElement(case, "skipped", message=one_line(judged(finding.judgment)))
    elif finding.confirmed or result.fail_on == "possible":
        entry = XML.SubElement(case, "failure", type=kind, message=message)
    else:
        entry = XML.SubElement(case, "skipped", message=build.NOT_COUNTED)
    entry.text = "\n".join([message, *rest])


def _group(
    suite: XML.Element, result: AuditResult, representative: Witness, members: Sequence[Witness]
) -> None:
    """A group, described by its representative or the smallest witness that decides its outcome."""
    outcomes: dict[Standing, list[Witness]] = {}
    for witness in members:
        outcomes.setdefault(standing(result, witness), []).append(witness)
    outcome = next(one for one in Standing if one in outcomes)  # the worst comes first
    deciding = outcomes[outcome]
    witness = representative if representative in deciding else min(deciding, key=lambda w: w.size)
    name = f"{shortened(one_line(representative.reading), MOST_NAME)} ({representative.id})"
    case = _case(suite, representative.protected, name)
    match outcome:
        case Standing.FAILS:
            entry = XML.SubElement(case, "failure", type="proxy use", message=summary(witness))
        case Standing.UNDECIDED:
            entry = XML.SubElement(case, "error", type=str(outcome), message=summary(witness))
        case Standing.NOT_COUNTED:
            entry = XML.SubElement(case, "skipped", message=build.NOT_COUNTED)
        case Standing.APPROPRIATE:
            message = one_line(judged(witness.judgment))
            entry = XML.SubElement(case, "skipped", message=message)
    lines = all_sentences(result, witness)
    if len(members) > 1:
        others = [f"{len(outcomes[one]):,} {one}" for one in outcomes if one is not outcome]
        more = more_related(len(members) - 1)
        lines.append(f"{more}{': ' * bool(others)}{', '.join(others)}.")
    entry.text = "\n".join(map(one_line, lines))


def _complete(result: AuditResult) -> XML.Element:
    """Whether the search is complete."""
    suite = XML.Element("testsuite", name="the audit")
    case = _case(suite, "the audit", build.COMPLETE)
    if not result.complete:
        lines = [headline(result), *build.not_settled(result)]
        lines += [note.text for note in result.notes if note.kind == "opaque"]
        message = build.IS_INCOMPLETE
        error = XML.SubElement(case, "error", type="not settled", message=message)
        error.text = "\n".join(map(one_line, lines))
    return suite


def _case(suite: XML.Element, about: str, name: str) -> XML.Element:
    """A test that passed, unless something is added to it."""
    classname = f"proxyuse.{shortened(one_line(about), MOST_NAME)}"
    return XML.SubElement(suite, "testcase", classname=classname, name=name)


def _count(element: XML.Element) -> None:
    kinds = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in kinds.items():
        element.set(name, str(sum(1 for _ in element.iter(tag))))
