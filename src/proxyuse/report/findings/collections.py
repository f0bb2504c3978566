"""Sentences about collections: many computations that are a proxy together."""

from __future__ import annotations

from proxyuse.detect.collective_witness import MOST_VARIABLES, NOUNS, on_variables
from proxyuse.report.findings import direction
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.witness import judged
from proxyuse.report.other_findings import Collection, CollectionMember
from proxyuse.report.result import AuditResult, Protected
from proxyuse.verdict import Verdict
from proxyuse.words import count, listed, percent

TITLE = "Computations that act together"
WHAT_COUNTS = (
    "A collection has every test of the model, or every term of its sums, that is associated with "
    "the protected attribute. It counts if all of them together change enough decisions, although "
    "each of them may change few."
)
CURVE_TITLE = "At other levels of association"
CURVE_HEADS = ("association, at least", "members", "decisions that change together")
MOST_IN_ANSWER = 3
MOST_STRONGEST = 3
MOST_SHARES = 4


def uses_together(protected: Protected, style: Style = TEXT) -> str:
    """That many computations are a proxy together, or may be; empty if neither."""
    known = protected.collection
    if known is None or not known.shown or known.appropriate:
        return ""
    model = "The model uses" if known.confirmed else "The model may use"
    proxy = "a distributed proxy" if known.distributed else "a proxy"
    name, together = style.name(protected.name), title(known, style, MOST_IN_ANSWER)
    return f"{model} {proxy} for {name}: {together}, act together."


def sentences(result: AuditResult, known: Collection, style: Style = TEXT) -> list[str]:
    """What the members are, what they change together, how sure that is, and who is affected."""
    return [*what_it_is(known, style), *details(result, known, style)]


def details(result: AuditResult, known: Collection, style: Style = TEXT) -> list[str]:
    """How sure that is, who is affected, and which members there are."""
    return [
        *_how_sure(result, known),
        *direction.direction(result, known, style),
        *_by_variable(known, style),
        *_strongest(known, style),
        *_parts(result, known),
        *([] if known.judgment is None else [f"{judged(known.judgment, style).rstrip('.')}."]),
    ]


def title(known: Collection, style: Style = TEXT, most: int = MOST_VARIABLES) -> str:
    """The collection in a few words."""
    names = [style.name(name) for name in known.variables]
    return f"{_members(known)}, on {on_variables(names, most)}"


def _members(known: Collection) -> str:
    members = count(known.members, *NOUNS[known.kind])
    return f"{members} in {count(known.trees, 'tree')}" if known.trees else members


def what_it_is(known: Collection, style: Style = TEXT) -> list[str]:
    """Who the members are, and what they change together."""
    name = style.name(known.protected)
    low, high = f"{known.association_low:.3g}", f"{known.association_high:.3g}"
    associations = f"association {low}" if low == high else f"associations {low} to {high}"
    tell = f"each tell {name} a little" if known.distributed else f"are associated with {name}"
    share = interval(known.influence_low, known.influence_high)
    most = known.largest_single
    single = f"more than {percent(most)}" if most else "any"
    left_out = (
        []
        if not known.judged_members
        else [f"Without {count(known.judged_members, 'computation')} judged appropriate."]
    )
    return [
        f"{title(known, style)}, {tell} ({associations}).",
        f"Together they change {share} of decisions; no single one changes {single}.",
        *left_out,
    ]


def interval(low: float, high: float) -> str:
    """An influence that is known exactly, or within an interval.

    Examples
    --------
    >>> interval(0.04, 0.04), interval(0.0385, 0.0571)
    ('4.0%', '3.9% to 5.7%')
    """
    shown = percent(low), percent(high)
    return shown[0] if shown[0] == shown[1] else f"{shown[0]} to {shown[1]}"


def _how_sure(result: AuditResult, known: Collection) -> list[str]:
    """What holds in the population."""
    epsilon, delta = f"{result.thresholds.epsilon:g}", percent(result.thresholds.delta)
    if known.verdict is Verdict.NOT_FOUND:
        return [f"That is not above delta ({delta})."]
    if known.confirmed_members is None or known.confirmed_influence is None:
        return ["Whether this holds beyond these rows was not tested."]
    members = f"{known.confirmed_members:,}"
    if known.confirmed:
        return [
            "Confirmed on rows that did not choose the members: in the population, "
            f"{members} of them have an association of at least {epsilon}, and "
            f"together these change at least {percent(known.confirmed_influence)} of decisions."
        ]
    if known.confirmed_members < 2:
        return [
            "Not confirmed: half of the rows are too few to show an association of at least "
            f"{epsilon} in the population for several members."
        ]
    return [
        f"Not confirmed: for the {members} members whose association is at least {epsilon} in the "
        f"population, the lower bound of the influence is {percent(known.confirmed_influence)}, "
        f"and delta is {delta}."
    ]


def _by_variable(known: Collection, style: Style) -> list[str]:
    """How much the members on each variable change."""
    shares = [each for each in known.by_variable[:MOST_SHARES] if each.influence_low > 0]
    if len(known.variables) < 2 or not shares:
        return []
    parts = [
        f"those on {style.name(each.variable)} change "
        f"{interval(each.influence_low, each.influence_high)}"
        for each in shares
    ]
    return [f"Alone, {listed(parts)} of decisions."]


def _strongest(known: Collection, style: Style) -> list[str]:
    """The members with the highest association, and where they are."""
    parts = [_member(member, style) for member in known.strongest[:MOST_STRONGEST]]
    return [f"The most associated are {listed(parts)}."] if len(parts) > 1 else []


def _member(member: CollectionMember, style: Style) -> str:
    association = style.figure(f"{member.association:.3g}", "association")
    places = f", in {member.positions:,} places" if member.positions > 1 else ""
    return f"{style.code(member.reading)} (association {association}{places})"


def _parts(result: AuditResult, known: Collection) -> list[str]:
    """Whether a part of the collection can pass delta although the whole does not."""
    if known.verdict is not Verdict.NOT_FOUND:
        return []
    if known.bound <= result.thresholds.delta:
        return [f"No part of the collection changes more than {percent(known.bound)}."]
    return ["A part of the collection can have more influence than the whole."]
