"""Compare two results: which witnesses are new, gone, stronger or weaker.

After retraining, thresholds and positions move and no id stays the same, although the model may do
what it did before. So each witness of the later result is matched with one of the earlier result,
of the same protected attribute, one to one, in this order:

1. by ``id``: the same computation at the same positions;
2. by ``term``: exactly the same computation;
3. by ``variables``: a computation that reads the same variables and has the same outermost
   operator; of several, the one with the closest association.

A witness without a partner is gone, or new. A later one may also be *around* known witnesses: the
representative of its group has a partner, and the group of that partner had a witness with at least
this association and one with at least this influence. Retraining moves the tests around a proxy
every time; whoever accepted the proxy accepted these as well.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec.structs import replace

from proxyuse.errors import DataError
from proxyuse.report.diff_result import (
    ComparedWitness,
    DiffResult,
    NewCollection,
    NewExplicitUse,
    NewGroup,
    Pair,
    Side,
)
from proxyuse.report.document import installed_version
from proxyuse.report.findings.diff import differences
from proxyuse.report.result import AuditResult, Protected, Witness
from proxyuse.settings import FailOn
from proxyuse.verdict import InfluenceUnbounded, TooFewPermutations, Verdict
from proxyuse.words import listed

TOLERANCE = 0.01
ROUNDING = 1e-9

How = Literal["id", "term", "variables"]
Change = Literal["new", "around", "gone", "stronger", "weaker", "same"]
Matched = tuple[Witness | None, Witness | None, How | None]


def compare(
    old: AuditResult,
    new: AuditResult,
    *,
    tolerance: float = TOLERANCE,
    fail_on: FailOn | None = None,
) -> DiffResult:
    """Compare two results.

    Parameters
    ----------
    old, new : the earlier and the later result.
    tolerance : a witness is stronger if its association or its influence rose by more than this;
        weaker if one fell by more than this and none rose.
    fail_on : whether only confirmed new witnesses count, or also possible ones; by default as in
        the later result.
    """
    if not tolerance >= 0:
        raise DataError(f"tolerance: expected a number of at least 0, got {tolerance!r}")
    fail_on = fail_on or new.fail_on
    if fail_on == "confirmed" and new.validity is None:
        raise DataError(
            "only confirmed witnesses should count, but the later result was not tested; audit "
            "with --validity, or pass --fail-on possible"
        )
    _check_attributes(old, new)
    pairs = _matched(old.witnesses, new.witnesses)
    changes: dict[Change, list[Pair]] = {
        "new": [], "around": [], "gone": [], "stronger": [], "weaker": [], "same": [],
    }  # fmt: skip
    known = _known_groups(old, new, pairs)
    for before, after, how in pairs:
        change = _change(before, after, tolerance)
        if change == "new" and after is not None and _is_around(after, known, tolerance):
            change = "around"
        changes[change].append(_pair(before, after, how))
    matched = [*changes["stronger"], *changes["weaker"], *changes["same"]]
    diff = DiffResult(
        proxyuse=installed_version(),
        result="no new witnesses",
        fail_on=fail_on,
        tolerance=float(tolerance),
        before=_side(old),
        after=_side(new),
        differences=tuple(differences(old, new)),
        new_groups=_new_groups(old, new),
        verdict_changed=tuple(pair for pair in matched if _other_verdict(pair)),
        new=tuple(changes["new"]),
        around=tuple(changes["around"]),
        gone=tuple(changes["gone"]),
        stronger=tuple(changes["stronger"]),
        weaker=tuple(changes["weaker"]),
        same=tuple(changes["same"]),
        new_explicit=_new_explicit(old, new),
        new_collections=tuple(_new_collections(old, new, tolerance)),
    )
    return replace(diff, result=_ANSWERS[diff_exit_code(diff)])


def _new_explicit(old: AuditResult, new: AuditResult) -> tuple[NewExplicitUse, ...]:
    """The columns that determine an attribute, count, and were not influential before."""
    known = {
        (z.name, use.column)
        for z in old.protected
        for use in z.explicit
        if use.verdict is not Verdict.NOT_FOUND
    }
    return tuple(
        NewExplicitUse(z.name, use.column, use.how, use.influence, use.verdict)
        for z in new.protected
        for use in z.explicit
        if use.counts and (z.name, use.column) not in known
    )


def _new_collections(
    old: AuditResult, new: AuditResult, tolerance: float
) -> Iterator[NewCollection]:
    """The collections that count, and were not known or clearly have more influence than before.

    Stronger singles are reported as such, so a collection that repeats a witness is left out.
    """
    known = {z.name: z.collection for z in old.protected if z.collection is not None}
    for z in new.protected:
        found, before = z.collection, known.get(z.name)
        if found is None or not found.counts:
            continue
        highest = None
        if before is not None and before.verdict is not Verdict.NOT_FOUND:
            highest = before.influence_high
            if found.influence_low <= highest + tolerance + ROUNDING:
                continue
        yield NewCollection(
            z.name,
            found.id,
            found.members,
            found.variables,
            found.influence_low,
            found.influence_high,
            highest,
            found.verdict,
        )


def _check_attributes(old: AuditResult, new: AuditResult) -> None:
    before, after = ([z.name for z in side.protected] for side in (old, new))
    if not set(before) & set(after):
        raise DataError(
            f"the two results have no protected attribute in common: the earlier has "
            f"{listed(map(repr, before))}, the later {listed(map(repr, after))}"
        )


def diff_exit_code(diff: DiffResult) -> int:
    """1 if new findings count; 3 if the later result is undecided; else 0."""
    if diff.counted or diff.counted_explicit or diff.counted_collections:
        return 1
    undecided = any(pair.shown.verdict is Verdict.UNDECIDED for pair in diff.new)
    return 3 if undecided or diff.after.undecided or not diff.after.complete else 0


_ANSWERS: dict[int, Literal["new witnesses", "no new witnesses", "cannot be decided"]] = {
    0: "no new witnesses",
    1: "new witnesses",
    3: "cannot be decided",
}


def _side(result: AuditResult) -> Side:
    return Side(
        result.rows,
        result.verdict,
        tuple(z.name for z in result.protected if _undecided(z)),
        result.complete,
        result.thresholds,
        result.about,
        len(result.witnesses),
        () if result.validity is None else result.validity.methods,
    )


def _undecided(protected: Protected) -> bool:
    """Whether the rows decide nothing, whatever witnesses there are."""
    about_witnesses = InfluenceUnbounded | TooFewPermutations
    return protected.verdict is Verdict.UNDECIDED and not all(
        isinstance(reason, about_witnesses) for reason in protected.reasons
    )


# Matching


def _matched(old: Sequence[Witness], new: Sequence[Witness]) -> list[Matched]:
    """Pairs in order of the later witnesses, then the earlier ones that are gone."""
    partner: dict[int, tuple[int, How]] = {}  # index in new -> index in old
    used: set[int] = set()
    keys: dict[How, Callable[[Witness], Hashable]] = {"id": _id, "term": _term, "variables": _reads}
    for how, key in keys.items():
        remaining: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, witnesses in enumerate((old, new)):
            taken = partner if side else used
            for index, witness in enumerate(witnesses):
                if index not in taken and (known := key(witness)) is not None:
                    remaining[known][side].append(index)
        for olds, news in remaining.values():
            for before, after in _closest(olds, news, old, new):
                partner[after] = before, how
                used.add(before)
    pairs: list[Matched] = []
    for index, witness in enumerate(new):
        if index in partner:
            before, how = partner[index]
            pairs.append((old[before], witness, how))
        else:
            pairs.append((None, witness, None))
    return pairs + [(w, None, None) for index, w in enumerate(old) if index not in used]


def _id(witness: Witness) -> Hashable:
    return witness.protected, witness.id


def _term(witness: Witness) -> Hashable:
    """The exact text; None if it was cut, so that more than the beginning is compared."""
    if witness.term_cut:
        return None
    return witness.protected, witness.term


def _reads(witness: Witness) -> Hashable:
    return witness.protected, witness.operator, frozenset(witness.variables)


def _closest(
    olds: Sequence[int], news: Sequence[int], old: Sequence[Witness], new: Sequence[Witness]
) -> Iterable[tuple[int, int]]:
    """Pairs one to one, always the two next that are closest in association.

    The closest two stand next to each other among all sorted by association, so only neighbors
    are looked at: O(k log k).
    """
    line = sorted(
        [(_strength(old[index]), 0, index) for index in olds]
        + [(_strength(new[index]), 1, index) for index in news]
    )
    before = list(range(-1, len(line) - 1))
    after = list(range(1, len(line) + 1))
    gone = [False] * len(line)
    heap: list[tuple[float, int, int]] = []

    def look(low: int, high: int) -> None:
        if low >= 0 and high < len(line) and line[low][1] != line[high][1]:
            heapq.heappush(heap, (line[high][0][0] - line[low][0][0], low, high))

    for index in range(len(line) - 1):
        look(index, index + 1)
    while heap:
        _, low, high = heapq.heappop(heap)
        if gone[low] or gone[high]:
            continue
        gone[low] = gone[high] = True
        first, second = (low, high) if line[low][1] == 0 else (high, low)
        yield line[first][2], line[second][2]
        previous, following = before[low], after[high]
        if previous >= 0:
            after[previous] = following
        if following < len(line):
            before[following] = previous
        look(previous, following)


def _strength(witness: Witness) -> tuple[float, float, str]:
    return witness.association, witness.influence, witness.id


# Changes


def _change(before: Witness | None, after: Witness | None, tolerance: float) -> Change:
    if before is None or after is None:
        return "new" if before is None else "gone"
    moves = (after.association - before.association, after.influence - before.influence)
    if max(moves) > tolerance + ROUNDING:
        return "stronger"
    return "weaker" if min(moves) < -tolerance - ROUNDING else "same"


def _known_groups(
    old: AuditResult, new: AuditResult, pairs: Sequence[Matched]
) -> dict[tuple[str, int], list[Witness]]:
    """For each later group whose representative has a partner, the partner's group."""
    groups = old.members()
    representatives = {(group.protected, group.representative) for group in new.groups}
    return {
        (after.protected, after.group): groups[before.protected, before.group]
        for before, after, _ in pairs
        if before is not None and after is not None and after.key in representatives
    }


def _is_around(
    witness: Witness, known: Mapping[tuple[str, int], Sequence[Witness]], tolerance: float
) -> bool:
    """Whether a witness is no stronger than those of the known group around it."""
    before = known.get((witness.protected, witness.group), ())
    margin = tolerance + ROUNDING
    return (
        bool(before)
        and witness.association <= max(other.association for other in before) + margin
        and witness.influence <= max(other.influence for other in before) + margin
    )


def _pair(before: Witness | None, after: Witness | None, how: How | None) -> Pair:
    some = after or before
    assert some is not None
    moves: tuple[float | None, float | None] = None, None
    if before is not None and after is not None:
        moves = (
            round(after.association - before.association, 4) + 0.0,
            round(after.influence - before.influence, 4) + 0.0,
        )
    return Pair(some.protected, how, _compared(before), _compared(after), *moves)


def _other_verdict(pair: Pair) -> bool:
    """Whether the verdict on a witness of both results changed."""
    assert pair.old is not None
    assert pair.new is not None
    before, after = pair.old.verdict, pair.new.verdict
    return before is not None and after is not None and before != after


def _compared(witness: Witness | None) -> ComparedWitness | None:
    if witness is None:
        return None
    return ComparedWitness(
        witness.id,
        witness.reading,
        witness.term,
        witness.operator,
        witness.variables,
        witness.group,
        witness.explicit,
        witness.association,
        witness.ceiling,
        witness.influence,
        None if witness.validity is None else witness.verdict,
        witness.association_range,
    )


def _new_groups(old: AuditResult, new: AuditResult) -> tuple[NewGroup, ...]:
    """The groups whose representative reads variables that no earlier witness read."""
    known = {(w.protected, frozenset(w.variables)) for w in old.witnesses}
    witnesses, groups = new.by_key(), []
    for group in new.groups:
        witness = witnesses.get((group.protected, group.representative))
        compared = _compared(witness)
        if witness is None or compared is None:
            continue
        if (witness.protected, frozenset(witness.variables)) not in known:
            groups.append(NewGroup(group.protected, group.group, compared, group.witnesses))
    return tuple(groups)
