"""Sentences about the claim of a certificate, and about why it is not accepted.

The claim is three lines, so that nothing that changes its meaning stands further down. Names and
expressions are quoted and never shortened: they come from a foreign file, and the part that is cut
off could be the part that matters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from proxyuse.certificate.certificate import Certificate, CertifiedAttribute
from proxyuse.certificate.claim import (
    ChangedSetting,
    Claim,
    collective_violations,
    explicit_violations,
)
from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.words import count, listed, one_line, shortened

_SPACES = re.compile(" {20,}")
"""So many spaces that they could push what follows out of sight."""
PREDICTION = "the prediction of the model"
MOST_STATED = 100
"""Characters of a statement of the author in the claim; it is printed in full below."""


def attribute_text(z: CertifiedAttribute) -> str:
    """A protected attribute with its column or its expression.

    Examples
    --------
    >>> def attribute(name, column, expression=None):
    ...     return CertifiedAttribute(
    ...         name=name, column=column, expression=expression, derived_from=()
    ...     )
    >>> print(attribute_text(attribute("married", "married")))
    'married'
    >>> print(attribute_text(attribute("married", "race")))
    'married' (which is the column 'race')
    >>> print(attribute_text(attribute("over60", None, "age > 60")))
    'over60' (derived: 'age > 60')
    >>> print(attribute_text(attribute("old", None, "age" + 80 * " " + "> 60")))
    'old' (derived: 'age⟨80 spaces⟩> 60')
    """
    return _SPACES.sub(lambda run: f"\u27e8{len(run[0]):,} spaces\u27e9", _attribute_text(z))


def _attribute_text(z: CertifiedAttribute) -> str:
    if z.expression is not None:
        return f"{z.name!r} (derived: {z.expression!r})"
    if z.column is None:
        return f"{z.name!r} (values passed separately)"
    return f"{z.name!r}" if z.column == z.name else f"{z.name!r} (which is the column {z.column!r})"


def finding(certificate: Certificate | Claim) -> str:
    """The finding of an audit: how many violations and witnesses, of what, at which thresholds."""
    if isinstance(certificate, Claim):
        witnesses, explicit = certificate.witnesses, certificate.explicit_violations
        together = certificate.collective_violations
    else:
        witnesses, explicit = len(certificate.witnesses), explicit_violations(certificate)
        together = collective_violations(certificate)
    violations, settings = certificate.violations, certificate.settings
    search = "A complete search" if certificate.complete else "An incomplete search"
    excused = witnesses - violations
    judged = f"; {excused:,} judged appropriate" if excused else ""
    sentence = (
        f"{search} finds {_number(violations, 'violation')} and "
        f"{_number(witnesses, 'witness', 'witnesses')}{judged}, for "
        f"{listed(map(attribute_text, certificate.protected))}, with an association of at least "
        f"{settings.epsilon!r} and an influence above {settings.delta!r}."
    )
    if explicit:
        uses = ", ".join(f"{use.column!r} for {use.protected!r}" for use in explicit)
        sentence += f" Columns that determine an attribute are used explicitly: {uses}."
    if together:
        uses = ", ".join(f"{c.members:,} {c.kind} for {c.protected!r}" for c in together)
        sentence += f" Computations that are a proxy together: {uses}."
    return sentence


def scope(claim: Claim) -> str:
    """What the finding is about: decision, rows, measures and judgments."""
    data = claim.data
    rows = count(data.rows, "row")
    if claim.rows_passed is not None and claim.rows_passed != data.rows:
        rows = f"{data.rows:,} of the {count(claim.rows_passed, 'row')} passed"
    weights = ""
    if data.weighted:
        by = "separate values" if data.weights is None else f"the column {data.weights!r}"
        weights = f", weighted by {by}"
    where = "" if claim.where is None else f", where {claim.where!r}"
    sentences = [
        f"Decision: {decision_text(claim.settings.decision, claim.decision_checked)}.",
        f"Rows: {rows}{where}{weights}, with no test for chance.",
        f"Measures: {one_line(claim.measures.association)}, {one_line(claim.measures.influence)}.",
        _judgments(claim),
        *claim.reservations,
    ]
    return " ".join(filter(None, sentences))


def conditions(claim: Claim) -> str:
    """Which settings differ from the default, weaker ones first, and what is only stated."""
    groups = {
        effect: [_setting(claim, c) for c in claim.changed_settings if c.effect == effect]
        for effect in ("weaker", "different", "stronger")
    }
    titles = {
        "weaker": "Weaker than the default",
        "different": "Different from the default",
        "stronger": "Stronger than the default",
    }
    sentences = [f"{titles[name]}: {', '.join(items)}." for name, items in groups.items() if items]
    if not sentences:
        sentences = ["All settings are the defaults."]
    if claim.accepted:
        sentences.append(f"Accepted by you: {', '.join(claim.accepted)}.")
    if claim.stated:
        stated = "; ".join(shortened(one_line(text), MOST_STATED) for text in claim.stated)
        whose = "Stated by the author, not checked"
        if claim.signed_by is not None:
            whose = "Stated by the owner of the key, not checked"
        sentences.append(f"{whose}: {stated}.")
    return " ".join(sentences)


def decision_text(decision: Decision | None, checked: bool = True) -> str:
    """The decision that was audited.

    Examples
    --------
    >>> decision_text(Threshold(0.3, "yes"))
    "whether the score of 'yes' is at least 0.3"
    >>> decision_text(TopK(10))
    'the top 10 by the score of the last class'
    >>> decision_text(None, checked=False)
    'the output of the program'
    """
    match decision:
        case None:
            return PREDICTION if checked else "the output of the program"
        case Threshold(number, label):
            text = f"whether the score of {_class(label)} is at least {number!r}"
        case Positive(label):
            text = f"whether the prediction is {label!r}"
        case TopK(k, label):
            text = f"the top {k:,} by the score of {_class(label)}"
    if checked:
        return text
    return (
        f"the output of the program, said to be {text}; that is not checked, because a program "
        "includes its decision"
    )


def _class(label: object) -> str:
    return "the last class" if label is None else repr(label)


def _number(number: int, one: str, many: str | None = None) -> str:
    return count(number, one, many) if number else f"no {many or one + 's'}"


def _judgments(claim: Claim) -> str:
    excused = count(claim.excused, "finding")
    are = "is" if claim.excused == 1 else "are"
    match claim.judgments:
        case "checked" if claim.excused:
            return f"{excused} {are} excused by judgments, which your policy or judgments confirm."
        case "checked":
            return "Your policy or judgments excuse nothing."
        case "unchecked" if claim.excused:
            return f"Warning: {excused} {are} excused by judgments that were not checked."
        case "unchecked":
            return "Warning: the judgments were not checked. They excuse nothing."
        case "not needed":
            return "A policy or judgments were used, but there was nothing to judge."
        case "none":
            return "Nobody judged the witnesses." if claim.witnesses else ""


def _setting(claim: Claim, changed: ChangedSetting) -> str:
    name, value = changed.name, _plain(changed.value)
    if name == "epsilon" and claim.requested_epsilon is not None:
        value += f" (requested: {one_line(claim.requested_epsilon)})"
    if name == "sampling":
        value = ", ".join(f"{key} {_plain(each)}" for key, each in changed.value.items())
        return f"sampling with {value} (default none)"
    if name == "decision":  # the second line describes it
        return f"the decision (default: {PREDICTION})"
    return f"{name} {value} (default {_plain(changed.default)})"


def _plain(value: object) -> str:
    if value is None:
        return "none"
    return repr(value) if isinstance(value, str) else json.dumps(value, default=str)


def same_decision(rows: int) -> str:
    """That the program decides the same about everyone, so that nothing can influence it."""
    return f"The decision is the same in all {rows:,} rows, so nothing can influence it."


# Why a claim is not what the verifier expects, or must be accepted first


def unexpected(name: str, certified: str, expected: str) -> str:
    """That the certificate makes another claim than the verifier expects."""
    return f"{name}: the certificate says {certified}, but you expect {expected}"


def attributes_text(attributes: Iterable[CertifiedAttribute]) -> str:
    """Protected attributes, in the order of their names."""
    return listed(sorted(map(attribute_text, attributes)))


def misnamed(attributes: Sequence[CertifiedAttribute], accepted: bool) -> str:
    """That names of attributes say something else than their columns or expressions."""
    texts = listed(map(attribute_text, attributes))
    return f"the name does not say what was audited: {texts}; {_advice('renamed', accepted)}"


def weak_sampling(reasons: Sequence[str], accepted: bool) -> str:
    """That a sampled influence says too little."""
    return f"{'; '.join(reasons)}; {_advice('weak-sampling', accepted)}"


def weak_level(name: str, value: float, standard: float) -> str:
    """That the sampled influences are less certain than usual."""
    return f"the {name} of sampling is {value:g}, more than {standard:g}"


def straddling(number: int, delta: float) -> str:
    """That a chosen seed may have moved influences to the other side of delta."""
    return (
        f"{count(number, 'sampled influence')} may be on the other side of delta ({delta:g}) for "
        "another seed, and the author chose the seed"
    )


def unchecked_judgments(number: int, accepted: bool) -> str:
    """That the judgments were not checked."""
    were = "was" if number == 1 else "were"
    remedy = "" if accepted else "pass the policy or the judgments, or "
    return (
        f"{count(number, 'finding')} {were} judged, and the judgments were not checked; "
        f"{remedy}{_advice('unchecked-judgments', accepted)}"
    )


def _advice(name: str, accepted: bool) -> str:
    return "you accepted this" if accepted else f"accept {name!r} if this is intended"
