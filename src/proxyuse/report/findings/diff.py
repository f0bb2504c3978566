"""Sentences about what changed between two results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proxyuse.detect.collective_witness import on_variables
from proxyuse.report.diff_result import (
    DiffResult,
    NewCollection,
    NewExplicitUse,
    NewGroup,
    Pair,
)
from proxyuse.report.findings.collections import interval
from proxyuse.report.findings.headline import INCOMPLETE
from proxyuse.report.findings.style import TEXT
from proxyuse.report.findings.witness import associated, both_figures, measured
from proxyuse.report.result import AuditResult, Method
from proxyuse.words import count, listed, shortened

_MATCHED = {
    "id": "the same computation at the same positions",
    "term": "the same computation",
    "variables": "the closest with the same variables",
}
_KINDS = {
    "new": "new",
    "around": "related to known ones",
    "gone": "gone",
    "stronger": "stronger",
    "weaker": "weaker",
    "same": "unchanged",
}
MOST_VALUE = 80


def diff_headline(diff: DiffResult) -> str:
    """The answer in one sentence."""
    number, groups = len(diff.counted), len(diff.new_groups)
    if diff.counted_explicit and not number:
        read = listed(
            f"{TEXT.code(use.column)} for {TEXT.name(use.protected)}"
            for use in diff.counted_explicit
        )
        return f"The model newly uses a column that determines a protected attribute: {read}."
    if diff.counted_collections and not number:
        names = listed(TEXT.name(known.protected) for known in diff.counted_collections)
        return (
            f"Computations that act together are now a proxy for {names}, or change clearly more "
            "decisions than before."
        )
    if number:
        kind = "confirmed " if diff.fail_on == "confirmed" else ""
        are = "There is" if number == 1 else "There are"
        witnesses = count(number, f"new {kind}witness", f"new {kind}witnesses")
        return (
            f"{are} {witnesses} of proxy use of {_names(diff.counted)}; "
            f"{_variables_read(number, groups)}."
        )
    sentences = ["No new witnesses of proxy use."]
    if diff.new:
        many = count(len(diff.new), "computation is", "computations are")
        sentences = [
            f"No new proxy use of {_names(diff.new)} was confirmed. {many} newly above the "
            "thresholds, but may be below them in the population."
        ]
    if not diff.after.complete:
        sentences.append(f"{INCOMPLETE[0].upper()}{INCOMPLETE[1:]}.")
    elif diff.after.undecided:
        names = listed(map(TEXT.name, diff.after.undecided))
        sentences.append(f"Proxy use of {names} cannot be decided on the later rows.")
    return " ".join(sentences)


def _names(pairs: Iterable[Pair]) -> str:
    return listed(map(TEXT.name, dict.fromkeys(pair.protected for pair in pairs)))


def _variables_read(number: int, groups: int) -> str:
    if groups:
        verb = "reads" if groups == 1 else "read"
        return f"{count(groups, 'group')} {verb} variables that no earlier witness read"
    return f"{'it reads' if number == 1 else 'they read'} the same variables as earlier witnesses"


def diff_counts(diff: DiffResult) -> str:
    """How many witnesses changed in which way."""
    changes = [f"{len(getattr(diff, name)):,} {word}" for name, word in _KINDS.items()]
    shown = [text for text in changes if not text.startswith("0 ")]
    total = f"Witnesses: {diff.before.witnesses:,} before, {diff.after.witnesses:,} now"
    return f"{total} ({', '.join(shown)})." if shown else f"{total}."


def group_line(group: NewGroup) -> str:
    """A new group."""
    witness, others = group.representative, group.witnesses - 1
    related = f", {others:,} more related" if others else ""
    return f"{group.protected}: {TEXT.code(witness.reading)} ({both_figures(witness)}{related})"


def explicit_line(use: NewExplicitUse) -> str:
    """A column that is newly used explicitly."""
    influence = "" if use.influence is None else f"influence {measured(use.influence)}, "
    return f"{use.protected}: {TEXT.code(use.column)} ({use.how}, {influence}{use.verdict})"


def collection_line(known: NewCollection) -> str:
    """A collection that is new, or stronger than before."""
    members = count(known.members, "member")
    now = interval(known.influence_low, known.influence_high)
    highest = known.influence_before
    before = "" if highest is None else f", before at most {measured(highest)}"
    return (
        f"{known.protected}: {members} on {on_variables(known.variables)} "
        f"(influence {now}{before}, {known.verdict}, {known.id})"
    )


def pair_line(change: str, pair: Pair) -> str:
    """A witness that is new or gone, or how it changed."""
    shown = pair.shown
    text = f"{pair.protected}: {TEXT.code(shown.reading)}"
    if pair.old is None or pair.new is None or pair.matched is None:
        return f"{text} ({both_figures(shown)})"
    old, new = pair.old, pair.new
    before, after = (associated(w.association, w.association_range) for w in (old, new))
    moves = (
        f"association {before} -> {after}, "
        f"influence {measured(old.influence)} -> {measured(new.influence)}"
    )
    return f"{text} ({moves}, id {shown.id}; {_MATCHED[pair.matched]})"


def verdict_line(pair: Pair) -> str:
    """How the verdict on a witness changed."""
    assert pair.old is not None
    assert pair.new is not None
    assert pair.matched is not None
    return (
        f"{pair.protected}: {TEXT.code(pair.new.reading)} ({pair.old.verdict} -> "
        f"{pair.new.verdict}, id {pair.new.id}; {_MATCHED[pair.matched]})"
    )


def differences(old: AuditResult, new: AuditResult) -> Iterable[str]:
    """How the two audits differ in what they measured."""
    for name in ("epsilon", "delta"):
        before, after = getattr(old.thresholds, name), getattr(new.thresholds, name)
        if before != after:
            yield f"{name}: was {before:g}, is {after:g}"
    for name, what in _MEASURES.items():
        before, after = getattr(old.measures, name), getattr(new.measures, name)
        if before != after:
            yield f"{what}: was {before}, is {after}"
    names = [[z.name for z in side.protected] for side in (old, new)]
    for name in names[0]:
        if name not in names[1]:
            yield f"the protected attribute {name!r} was audited before and is not now"
    for name in names[1]:
        if name not in names[0]:
            yield f"the protected attribute {name!r} was not audited before"
    yield from _different_methods(old, new)
    yield from _different_values(old, new)
    for name, what in (("rows", "number of rows"), ("total_weight", "total weight")):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{what}: was {before:,}, is {after:,}"
    if old.complete and not new.complete:
        yield "the earlier search was complete, the later one is not"
    if new.complete and not old.complete:
        yield "the earlier search was incomplete: new witnesses may have existed before"
    yield from _different_about(old.about, new.about, "")


_MEASURES = {
    "association": "measure of association",
    "influence": "measure of influence",
    "sampled": "influence sampled",
}


def _methods(result: AuditResult) -> dict[str, Method]:
    return {} if result.validity is None else {m.name: m for m in result.validity.methods}


def _different_methods(old: AuditResult, new: AuditResult) -> Iterable[str]:
    """How the statistics differ."""
    before, after = _methods(old), _methods(new)
    for name in dict.fromkeys([*before, *after]):
        if name not in before:
            yield f"validity by {name} was not requested before"
        elif name not in after:
            yield f"validity by {name} was requested before and is not now"
        else:
            for option, value in before[name].options.items():
                now = after[name].options.get(option)
                if value != now:
                    yield f"validity by {name}: {option} was {_shown(value)}, is {_shown(now)}"


def _different_values(old: AuditResult, new: AuditResult) -> Iterable[str]:
    values = {z.name: {v.value for v in z.values} for z in old.protected}
    for z in new.protected:
        if z.name in values and values[z.name] != {v.value for v in z.values}:
            yield f"the protected attribute {z.name!r} has other values than before"


def _different_about(old: Mapping[str, Any], new: Mapping[str, Any], at: str) -> Iterable[str]:
    for name in dict.fromkeys([*old, *new]):
        if name == "notes" and not at:  # they follow from the rest
            continue
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict) and at.count(".") < 5:
            yield from _different_about(before, after, f"{at}{name}.")
        elif before != after:
            yield f"{at}{name}: was {_shown(before)}, is {_shown(after)}"


def _shown(value: object) -> str:
    return shortened("not given" if value is None else str(value), MOST_VALUE)
