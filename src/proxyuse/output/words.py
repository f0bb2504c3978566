"""Findings in plain words.

Says what was measured and no more: a computation tells a protected attribute apart to some
degree, and putting another person's value in its place changes some decisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import wrap
from typing import Any

from proxyuse.data.columns import Column, Kind
from proxyuse.data.population import Population
from proxyuse.detect.witnesses import Group, Witness, groups_of
from proxyuse.lang.nodes import Compare, Const, Member, Relation, Term, Var, value_text
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.notes import Note, NoteKind
from proxyuse.output.reading import reading, reading_text
from proxyuse.output.validity_words import (
    confirmed_among,
    describe_validity,
    share_confirmed,
    uses,
)
from proxyuse.verdict import counts

MOST_GROUPS = 5
WIDTH = 100
CLEARLY = 0.01  # what one association must be above another to be worth a line
MOST_READ = 200  # nodes; of a larger computation only the beginning is shown anyway


def describe_findings(
    witnesses: Sequence[Witness],
    population: Population,
    *,
    measured: int,
    epsilon: float,
    delta: float,
    complete: bool,
    notes: Sequence[Note],
    influence: str,
    validity: Mapping[str, Any] | None = None,
    validities: Mapping[tuple[str, str], Mapping[str, Any]] | None = None,
) -> str:
    """An answer to "is there proxy use, of what, and through which computation?".

    `influence` is the name of its measure, `validity` what statistics were asked, `validities`
    what they say of each witness, by protected attribute and id; see `validity.content`.
    """
    thresholds = {"epsilon": epsilon, "delta": delta}
    names = listed(z.name for z in population.protected)
    nested = groups_of(witnesses)
    lines = []
    if witnesses:
        explicit = {w.protected for w in witnesses if w.explicit}
        used = listed(
            f"{name} itself" if name in explicit else f"a proxy for {name}"
            for name in dict.fromkeys(w.protected for w in witnesses)
        )
        found = count(len(witnesses), "computation")
        groups = "" if len(nested) == len(witnesses) else f" in {count(len(nested), 'group')}"
        lines.append(f"{uses(validity)} {used}: {found}{groups}.")
        if validity is not None:
            told = share_confirmed(validity, len(witnesses))
            lines.append(f"{told[0].upper()}{told[1:]}.")
    elif complete:
        lines.append(f"No proxy use of {names} was found at these thresholds.")
    else:
        lines.append(f"No proxy use of {names} was found, but not everything could be settled.")
    lines.append(
        f"Measured: {count(measured, 'decomposition')} on {count(population.n_rows, 'row')}; "
        f"counted if association is at least {epsilon:g} and influence above {delta:g}."
    )
    for number, group in enumerate(nested[:MOST_GROUPS], start=1):
        front, verdict = group.representative, ""
        if validity is not None and validities is not None:
            said = validities[front.key]
            verdict = describe_validity(said, validity, thresholds, front.protected)
        effect = what_it_moves(front.influence, _percent(front.influence), influence)
        lines += ["", *_paragraph(number, group, population, effect, verdict)]
    left = len(nested) - MOST_GROUPS
    if left > 0:
        lines += ["", f"... and {count(left, 'more group')}; all are in audit.witnesses."]
    if validity is not None and validity["remarks"]:
        lines += ["", "Statistics", *(f"- {remark}" for remark in validity["remarks"])]
    remarks = [f"- {note}" for note in notes if note.kind is not NoteKind.METHOD]
    if remarks:
        lines += ["", "Notes", *remarks]
    return "\n".join(lines)


def what_it_moves(influence: float, percent: str, measure: str) -> str:
    """What an influence means, which is a share of decisions for one measure only.

    Examples
    --------
    >>> what_it_moves(0.25, "25 %", "quantitative input influence")
    "With another person's value in its place, 25 % of decisions change."
    >>> what_it_moves(1.5, "150 %", "squared change")
    'Its influence on the output, as squared change, is 1.500.'
    """
    if measure == QuantitativeInputInfluence().name:
        return f"With another person's value in its place, {percent} of decisions change."
    return f"Its influence on the output, as {measure}, is {influence:.3f}."


def indented(text: str) -> list[str]:
    """A text as lines of a paragraph."""
    return wrap(text, WIDTH, initial_indent="   ", subsequent_indent="   ", break_on_hyphens=False)


def _paragraph(
    number: int, group: Group, population: Population, effect: str, verdict: str
) -> list[str]:
    front, strongest, others = group.representative, group.strongest, group.witnesses[1:]
    subject = describe_term(front.expression, front.term, population.columns)
    if front.explicit:
        subject += " (the protected attribute itself)"
    at = "" if front.occurrences == 1 else f", at {front.occurrences} places"
    lines = [
        f"{number}. The model looks at {subject}{at}.",
        *(f"   {line}" for line in _what_it_tells(front.table)),
        f"   It matters: {effect[0].lower()}{effect[1:]}",
        f"   (association {front.association:.3f} of at most 1, influence {front.influence:.3f}, "
        f"reached by {_percent(front.reach)} of rows, id {front.id})",
        *indented(verdict),
    ]
    if others:
        more = count(len(others), "more witness", "more witnesses")
        if verdict:
            verdicts = [w.validity.verdict for w in others if w.validity is not None]
            more += confirmed_among(counts(verdicts), len(others)) + ","
        lines.append(f"   {more} in this group: computations around it, or it at other places.")
    if strongest.association > front.association + CLEARLY:
        subject = describe_term(strongest.expression, strongest.term, population.columns)
        lines += [
            f"   The strongest of them is {subject}",
            f"   (association {strongest.association:.3f}, influence {strongest.influence:.3f}, "
            f"id {strongest.id}).",
        ]
    return lines


def describe_term(term: Term, text: str, columns: Mapping[str, Column]) -> str:
    """What a computation asks, for a reader who has not seen the language.

    Thresholds are shown in the shortest numbers that say the same of all rows; `text` is exact.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> describe_term(parse_term("age <= 30"), "age <= 30", {})
    'whether age is at most 30'
    """
    if term.size > MOST_READ:
        return f"the computation {_cut(text)}"
    match reading(term, columns):
        case Var(name):
            return f"the value of {name}"
        case Compare(relation, Var(name), Const(value), _, missing):
            lost = " or missing" if missing else ""
            if name in columns and columns[name].kind is Kind.BOOLEAN and value == 0.5:
                truth = "false" if relation in (Relation.LE, Relation.LT) else "true"
                return f"whether {name} is {truth}{lost}"
            return f"whether {name} {_RELATION_WORDS[relation]} {value_text(value)}{lost}"
        case Member(Var(name), members, missing):
            lost = " or missing" if missing else ""
            return f"whether {name} is one of {', '.join(map(value_text, members))}{lost}"
        case _:
            shown, rounded = reading_text(term, columns)
            return f"the computation {_cut(shown)}{' (weights rounded)' if rounded else ''}"


def _cut(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."


_RELATION_WORDS = {
    Relation.EQ: "is",
    Relation.NE: "is not",
    Relation.LT: "is below",
    Relation.LE: "is at most",
    Relation.GT: "is above",
    Relation.GE: "is at least",
}


def _what_it_tells(table: JointTable) -> list[str]:
    """How well one can guess the protected value with the computation, and without."""
    total = table.masses.sum()
    blind = table.masses.sum(axis=0).max() / total
    informed = table.masses.max(axis=1).sum() / total
    lines = [
        f"It tells {table.protected} apart: who knows it guesses {table.protected} right for "
        f"{_percent(informed)} of people,",
        f"who does not, for {_percent(blind)}.",
    ]
    if table.rows == ("false", "true"):
        sides = [
            f"where it {verb}, {table.columns[row.argmax()]} for {_percent(row.max())}"
            for row, verb in ((table.shares[1], "holds"), (table.shares[0], "does not hold"))
        ]
        lines.append(f"Commonest {table.protected}: {'; '.join(sides)}.")
    return lines


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _percent(share: float) -> str:
    """A share in words: never 0 % or 100 % unless it is."""
    percent = 100 * share
    if 0 < percent < 0.1:
        return "under 0.1 %"
    if 99.9 < percent < 100:
        return "over 99.9 %"
    digits = 0 if (percent >= 10 and percent <= 90) or percent in (0, 100) else 1
    return f"{percent:.{digits}f} %"


def count(number: int, one: str, many: str | None = None) -> str:
    """A number of things: 1 row, 2,000 rows."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
