"""Sentences about one computation: what it is, what it reveals, what it changes."""

from __future__ import annotations

from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.report.diff_result import ComparedWitness
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.validity import confirmed_among, verdict_sentences
from proxyuse.report.result import (
    AuditResult,
    Computation,
    Group,
    Judgment,
    Near,
    Protected,
    Reference,
    Witness,
)
from proxyuse.verdict import Verdict, VerdictCounts
from proxyuse.words import count, fixed, percent

CLEARLY = 0.01
"""A related computation is mentioned if its association is higher by more than this."""

_VERBS = {"var": "reads", **dict.fromkeys(("compare", "in", "not", "and", "or"), "tests")}
ITSELF = "the protected attribute itself"
NEXT_STEP = "You decide whether this use is acceptable. Next: `proxyuse judge`."


def does(witness: Witness, style: Style = TEXT) -> str:
    """What the model does."""
    verb = _VERBS.get(witness.operator, "computes")
    return f"The model {verb} {subject(witness, style)}{_places(witness, style)}."


def subject(computation: Computation, style: Style = TEXT) -> str:
    """The computation, and whether it is the protected attribute."""
    text = style.code(computation.reading)
    if computation.rounded:
        text += " (weights rounded)"
    if isinstance(computation, Witness) and computation.explicit:
        text += f" ({ITSELF})"
    return text


def _places(witness: Witness, style: Style) -> str:
    if witness.occurrences == 1:
        return ""
    return f" in {style.figure(count(witness.occurrences, 'place'), 'places')}"


def reveals(witness: Witness, protected: Protected, style: Style = TEXT) -> str:
    """How well the protected attribute can be guessed, with the computation and without it."""
    informed = style.figure(percent(witness.guess.informed), "guess")
    blind = style.figure(percent(witness.guess.blind), "guess")
    return (
        f"Knowing this value, you can {_guess(protected, style)} {informed} of the time; without "
        f"it, {blind}."
    )


def _guess(protected: Protected, style: Style) -> str:
    name = style.name(protected.name)
    if {value.value for value in protected.values} == {"false", "true"}:
        return f"tell who is {name}"
    return f"guess {name} correctly"


def changes(influence: float, measure: str, style: Style = TEXT) -> str:
    """What an influence means; it is a share of decisions for one measure only.

    Examples
    --------
    >>> changes(0.117, "quantitative input influence")
    "Swapping in another person's value changes 11.7% of decisions."
    >>> changes(1.5, "squared change")
    'Its influence on the output, measured as squared change, is 1.500.'
    """
    if measure == QuantitativeInputInfluence().name:
        share = style.figure(percent(influence), "influence")
        return f"Swapping in another person's value changes {share} of decisions."
    value = style.figure(measured(influence), "influence")
    return f"Its influence on the output, measured as {measure}, is {value}."


def figures(witness: Witness, result: AuditResult, style: Style = TEXT) -> str:
    """Association, influence and reach, with their thresholds."""
    limits = result.thresholds
    association = style.figure(measured(witness.association), "association")
    influence = style.figure(measured(witness.influence), "influence")
    reach = style.figure(percent(witness.reach), "reach")
    highest = "" if witness.ceiling is None else f"; {ceiling(witness.ceiling, style)}"
    return (
        f"Association {association} (threshold {limits.epsilon:g}{highest}), influence "
        f"{influence} (threshold {limits.delta:g}), evaluated for {reach} of rows, id {witness.id}."
    )


def ceiling(value: float, style: Style = TEXT) -> str:
    """The highest association that the values allow.

    Examples
    --------
    >>> ceiling(0.998)
    '0.998 is the highest possible value here'
    """
    return f"{style.figure(measured(value), 'ceiling')} is the highest possible value here"


def measured(value: float | None) -> str:
    """An association or an influence, with three decimals; nothing if it was not measured."""
    return "" if value is None else fixed(value)


def three_figures(computation: Witness | Near | Reference) -> list[str]:
    """Association, the highest possible association, influence."""
    values = (computation.association, computation.ceiling, computation.influence)
    return [measured(value) for value in values]


def both_figures(witness: ComparedWitness) -> str:
    """Association, influence, verdict and id, in parentheses."""
    verdict = f", {witness.verdict}" if witness.verdict else ""
    return (
        f"association {measured(witness.association)}, influence {measured(witness.influence)}"
        f"{verdict}, id {witness.id}"
    )


def verdict_text(result: AuditResult, witness: Witness, style: Style = TEXT) -> str:
    """Whether a witness is confirmed, and by which method; nothing if it was not tested."""
    if result.validity is None or witness.validity is None:
        return ""
    name = style.name(witness.protected)
    return verdict_sentences(witness.validity, result.validity.methods, result.thresholds, name)


def judged(judgment: Judgment | None, style: Style = TEXT) -> str:
    """Who judged a witness, how and why; nothing if nobody did."""
    if judgment is None:
        return ""
    by = f" by {style.name(judgment.by)}" if judgment.by else ""
    return f"Judged {decision(judgment.appropriate)}{by}: {style.quote(judgment.reason)}"


def decision(appropriate: bool) -> str:
    """A judgment in one word."""
    return "appropriate" if appropriate else "inappropriate"


def not_judged(style: Style = TEXT) -> str:
    """What it means that nobody has judged a witness."""
    violation = style.figure("violation", "judgment")
    return f"Not judged yet. It counts as a {violation} until someone judges it appropriate."


def related(
    result: AuditResult, group: Group, witness: Witness, strongest: Witness, style: Style = TEXT
) -> list[str]:
    """The other witnesses of a group: the strongest one, and how many there are."""
    sentences = (strongest_related(witness, strongest, style), others(result, group, witness))
    return [sentence for sentence in sentences if sentence]


def strongest_related(witness: Witness, strongest: Witness, style: Style = TEXT) -> str:
    """The witness of a group with the strongest association; nothing if it is hardly stronger."""
    if strongest.association <= witness.association + CLEARLY:
        return ""
    association = style.figure(measured(strongest.association), "association")
    return (
        f"Strongest related computation: {subject(strongest, style)} (association {association})."
    )


def others(result: AuditResult, group: Group, witness: Witness) -> str:
    """How many other witnesses a group has, confirmed and judged; nothing if there are none."""
    number = group.witnesses - 1
    if not number:
        return ""
    confirmed = ""
    if group.verdicts is not None and witness.verdict is not None:
        confirmed = confirmed_among(_without(group.verdicts, witness.verdict), number)
    appropriate = sum(
        w.judgment is not None and w.judgment.appropriate
        for w in result.witnesses
        if (w.protected, w.group) == (group.protected, group.group) and w.id != witness.id
    )
    acceptable = f", {appropriate:,} judged appropriate" if appropriate else ""
    return f"{more_related(number)}{confirmed}{acceptable}."


def more_related(number: int) -> str:
    """How many other witnesses a group has."""
    return count(number, "more related witness", "more related witnesses")


def _without(counts: VerdictCounts, verdict: str) -> VerdictCounts:
    own = VerdictCounts.of([verdict])
    return VerdictCounts(
        counts.confirmed - own.confirmed,
        counts.possible - own.possible,
        counts.undecided - own.undecided,
    )


def evidence(result: AuditResult, witness: Witness, style: Style = TEXT) -> list[str]:
    """What a witness reveals and what it changes."""
    protected = next(z for z in result.protected if z.name == witness.protected)
    return [
        reveals(witness, protected, style),
        changes(witness.influence, result.measures.influence, style),
    ]


def caveats(result: AuditResult, witness: Witness, style: Style = TEXT) -> list[str]:
    """Whether a witness is confirmed, and who judged it."""
    sentences = (verdict_text(result, witness, style), judged(witness.judgment, style))
    return [sentence for sentence in sentences if sentence]


def summary(witness: Witness, style: Style = TEXT) -> str:
    """The finding in two sentences, for a build server."""
    sure = witness.verdict in (None, Verdict.CONFIRMED)
    used = proxy_for(witness.protected, witness.explicit, style)
    return f"{uses(sure)} {used}. {does(witness, style)}"


def uses(sure: bool) -> str:
    """How an answer starts: about the model, or about these rows if nothing is confirmed."""
    return "The model uses" if sure else "In these rows, the model uses"


def proxy_for(protected: str, explicit: bool, style: Style = TEXT) -> str:
    """The attribute itself, or a proxy for it."""
    name = style.name(protected)
    return f"{name} itself" if explicit else f"a proxy for {name}"


def all_sentences(result: AuditResult, witness: Witness, style: Style = TEXT) -> list[str]:
    """Everything about one witness: answer, evidence, figures, caveats."""
    return [
        summary(witness, style),
        *evidence(result, witness, style),
        figures(witness, result, style),
        *caveats(result, witness, style),
        *([] if witness.judgment else [not_judged()]),
    ]


def lacks(near: Near) -> str:
    """How far a computation is from being a witness.

    Examples
    --------
    >>> shortfall(0.1, None), shortfall(0.0, 0.0)
    ('0.100 association', 'at the influence threshold')
    """
    return shortfall(near.association_short_by, near.influence_short_by)


def shortfall(association: float, influence: float | None) -> str:
    """How much association and influence a computation lacks."""
    missing = [
        f"{measured(value)} {name}"
        for name, value in (("association", association), ("influence", influence))
        if value
    ]
    return ", ".join(missing) or "at the influence threshold"
