"""Sentences about one computation: what it is, what it reveals, what it changes."""

from __future__ import annotations

import numpy as np

from proxyuse.measure.association.noisy_copy import noisy_copy
from proxyuse.measure.influence import Moved, QuantitativeInputInfluence, SquaredChange
from proxyuse.report.diff_result import ComparedWitness
from proxyuse.report.findings.direction import direction
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.validity import confirmed_among, verdict_sentences
from proxyuse.report.other_findings import Range
from proxyuse.report.result import (
    AuditResult,
    Computation,
    Cut,
    Group,
    Judgment,
    Near,
    Protected,
    Reference,
    Witness,
)
from proxyuse.verdict import Verdict, VerdictCounts
from proxyuse.words import count, fixed, percent, short_number

CLEARLY = 0.01
"""A related computation is mentioned if its association is higher by more than this."""

_VERBS = {"var": "reads", **dict.fromkeys(("compare", "in", "not", "and", "or"), "tests")}
ITSELF = "the protected attribute itself"
HIDDEN_GUESS = (
    "How often you can guess {} from this value is not shown, because it would reveal small counts."
)
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
    guessed = witness.guess.informed_range or (witness.guess.informed,)
    texts = list(dict.fromkeys(map(percent, guessed)))
    if texts == ["0%", "100%"]:
        return HIDDEN_GUESS.format(style.name(protected.name))
    informed = style.figure(" to ".join(texts), "guess")
    blind = style.figure(percent(witness.guess.blind), "guess")
    cut = witness.cut
    value = "this value" if cut is None or not cut.measured else f"whether {_cut_subject(cut)}"
    if informed == blind and (odds := _odds(witness, protected, style)):
        return (
            f"Knowing {value} does not change the best guess of {style.name(protected.name)}, "
            f"which is right {blind} of the time. {odds}"
        )
    return (
        f"Knowing {value}, you can {guess(protected, style)} {informed} of the time; without "
        f"it, {blind}."
    )


def _odds(witness: Witness, protected: Protected, style: Style) -> str:
    """What a computation reveals although the best guess stays the same; nothing if unknown.

    If one value is common, it is the best guess with and without the computation, so guess rates do
    not show the association. It is that of a noisy copy of the attribute, as for epsilon.
    """
    shares = [value.share for value in protected.values]
    if protected.at_epsilon is None or len(shares) != 2:
        return ""
    copy = noisy_copy(np.array(shares), witness.association)
    if copy is None:
        return ""
    name = style.name(protected.name)
    return (
        f"But it changes the odds as much as knowing {name} for about {100 * copy.copied:.0f}% of "
        "people and drawing it at random for the others."
    )


def _cut_subject(cut: Cut) -> str:
    """The two sides of a cut, as a clause."""
    subject = "it" if cut.score is None else f"score {cut.score}"
    return f"{subject} is above {short_number(cut.threshold)}"


def best_cut(cut: Cut | None) -> str:
    """Where the best cut is, and what it shows; nothing for computations without one.

    Examples
    --------
    >>> best_cut(Cut(41300.0, 0.163, True, 255, None))
    'above 41,300, the best of 255 cuts'
    >>> best_cut(Cut(2.5, 0.163, False, 3, None))
    'above 2.5 (association 0.163)'
    """
    if cut is None:
        return ""
    score = "" if cut.score is None else f"score {cut.score} "
    side = f"{score}above {short_number(cut.threshold)}"
    if cut.measured:
        return f"{side}, the best of {count(cut.candidates, 'cut')}"
    return side if cut.association is None else f"{side} (association {measured(cut.association)})"


def guess(protected: Protected, style: Style) -> str:
    """What a person can do who knows a computation."""
    name = style.name(protected.name)
    if {value.value for value in protected.values} == {"false", "true"}:
        return f"tell who is {name}"
    return f"guess {name} correctly"


def changes(influence: float, measure: str, style: Style = TEXT) -> str:
    """What an influence means for a person.

    The root of a squared change compares two root mean squares: that of the change, and that of the
    difference between the outputs of two random people.

    Examples
    --------
    >>> changes(0.117, "quantitative input influence")
    "Swapping in another person's value changes 11.7% of decisions."
    >>> changes(0.117, "moved by more than 100")
    "Swapping in another person's value moves the output by more than 100 for 11.7% of people."
    >>> print(changes(0.25, "squared change"))
    Swapping in another person's value moves the output by 50.0% of the typical difference between
    two people (squared change 0.250).
    """
    if measure == QuantitativeInputInfluence().name:
        share = style.figure(percent(influence), "influence")
        return f"Swapping in another person's value changes {share} of decisions."
    if (moved := Moved.named(measure)) is not None:
        share = style.figure(percent(influence), "influence")
        return (
            "Swapping in another person's value moves the output by more than "
            f"{moved.threshold} for {share} of people."
        )
    if measure == SquaredChange().name:
        value = style.figure(measured(influence), "influence")
        return (
            f"Swapping in another person's value moves the output by {percent(influence**0.5)} of "
            f"the typical difference between two people (squared change {value})."
        )
    value = style.figure(measured(influence), "influence")
    return f"Its influence on the output, measured as {measure}, is {value}."


def figures(witness: Witness, result: AuditResult, style: Style = TEXT) -> str:
    """Association, influence and reach, with their thresholds."""
    limits = result.thresholds
    known = witness.association_range
    association = style.figure(associated(witness.association, known), "association")
    about = "" if known is None else f"{between(known)}; "
    influence = style.figure(measured(witness.influence), "influence")
    reach = style.figure(percent(witness.reach), "reach")
    highest = "" if witness.ceiling is None else f"; {ceiling(witness.ceiling, style)}"
    cut = f" Best cut: {best_cut(witness.cut)}." if witness.cut is not None else ""
    return (
        f"Association {association} ({about}threshold {limits.epsilon:g}{highest}), influence "
        f"{influence} (threshold {limits.delta:g}), evaluated for {reach} of rows, id {witness.id}."
        f"{cut}"
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


def associated(value: float | None, known: Range | None) -> str:
    """An association; if only its range is printed, the middle, with the digits that are known.

    Examples
    --------
    >>> associated(0.5, None), associated(0.8, (0.6, 1.0)), associated(0.515, (0.512, 0.518))
    ('0.500', '~0.8', '~0.515')
    """
    return measured(value) if value is None or known is None else f"~{round(value, 3):g}"


def between(known: Range) -> str:
    """The range of an association.

    Examples
    --------
    >>> between((0.6, 1.0))
    'between 0.6 and 1'
    """
    return f"between {known[0]:g} and {known[1]:g}"


def three_figures(computation: Witness | Near | Reference) -> list[str]:
    """Association, the highest possible association, influence."""
    return [
        associated(computation.association, computation.association_range),
        measured(computation.ceiling),
        measured(computation.influence),
    ]


def both_figures(witness: ComparedWitness) -> str:
    """Association, influence, verdict and id, in parentheses."""
    verdict = f", {witness.verdict}" if witness.verdict else ""
    association = associated(witness.association, witness.association_range)
    influence = measured(witness.influence)
    return f"association {association}, influence {influence}{verdict}, id {witness.id}"


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
    known = associated(strongest.association, strongest.association_range)
    association = style.figure(known, "association")
    return (
        f"Strongest related computation: {subject(strongest, style)} (association {association})."
    )


def others(result: AuditResult, group: Group, witness: Witness) -> str:
    """How many other witnesses a group has, confirmed and judged; nothing if there are none."""
    number = group.witnesses - 1
    if not number:
        return ""
    confirmed = ""
    if group.verdicts is not None:
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
    """What a witness reveals, what it changes, and who gains and loses by it."""
    return [*strength(result, witness, style), *direction(result, witness, style)]


def strength(result: AuditResult, witness: Witness, style: Style = TEXT) -> list[str]:
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
    used = proxy_for(witness.protected, witness.explicit, style)
    starts = {
        Verdict.CONFIRMED: f"The model uses {used}.",
        Verdict.POSSIBLE: f"Possible use of {used}, not confirmed.",
        Verdict.UNDECIDED: f"Possible use of {used}; it cannot be decided whether it is chance.",
    }
    return f"{starts[witness.verdict]} {does(witness, style)}"


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
    >>> shortfall(0.1, None), shortfall(0.0, 0.0), shortfall(0.1, 0.02, ranged=True)
    ('0.100 association', 'at the influence threshold', 'up to 0.1 association, 0.020 influence')
    """
    ranged = near.association_range is not None
    return shortfall(near.association_short_by, near.influence_short_by, ranged=ranged)


def shortfall(association: float, influence: float | None, *, ranged: bool = False) -> str:
    """How much association and influence a computation lacks.

    If only the range of the association is printed, it lacks up to that much of it.
    """
    most = f"up to {association:g}" if ranged else measured(association)
    missing = [f"{most} association"] if association else []
    if influence:
        missing.append(f"{measured(influence)} influence")
    return ", ".join(missing) or "at the influence threshold"
