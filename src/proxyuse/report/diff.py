"""Two documents: which witnesses are new, gone, stronger or weaker.

After retraining a threshold moves, a test stands elsewhere, and no id is the same; yet the model
may do what it did. A witness of the later audit is therefore matched with one of the earlier, of
the same protected attribute, one to one, in this order:

1. by ``id``: the same computation at the same places;
2. by ``term``: the same computation, exactly;
3. by ``variables``: one that reads the same variables and has the same outermost operator; of
   several the one closest in association.

What has no partner then is gone, or new. A later one may also be *around* what is known: around
the front of its group stood witnesses before, and one of them was as closely associated, and one
as influential. Retraining moves the tests around a proxy each time; who accepted the proxy has
accepted these.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from proxyuse.errors import DataError
from proxyuse.report.document import installed_version
from proxyuse.report.verdicts import exit_code_of
from proxyuse.verdict import counts
from proxyuse.words import listed

FORMAT = "proxyuse diff"
VERSION = 1
TOLERANCE = 0.01
ROUNDING = 1e-9

Finding = dict[str, Any]
"""A witness in a document."""


def compare(
    old: Mapping[str, Any], new: Mapping[str, Any], *, tolerance: float = TOLERANCE
) -> dict[str, Any]:
    """What changed between two documents, fit for JSON; see `diff.schema.json`.

    Parameters
    ----------
    old, new : documents, as `document` makes and `read_document` reads them.
    tolerance : a witness is stronger if its association or its influence is more than this above
        what it was; weaker if one is more than this below and none above.
    """
    if not tolerance >= 0:
        raise DataError(f"tolerance is {tolerance!r}; pass a number of 0 or more")
    _check_attributes(old, new)
    pairs = _matched(old["witnesses"], new["witnesses"])
    changes: dict[str, list[dict[str, Any]]] = {
        "new": [], "around": [], "gone": [], "stronger": [], "weaker": [], "same": [],
    }  # fmt: skip
    known = _known_groups(old, new, pairs)
    for before, after, how in pairs:
        what = _change(before, after, tolerance)
        if what == "new" and after is not None and _is_around(after, known, tolerance):
            what = "around"
        changes[what].append(_entry(before, after, how))
    paired = [entry for what in ("stronger", "weaker", "same") for entry in changes[what]]
    return {
        "format": FORMAT,
        "version": VERSION,
        "proxyuse": installed_version(),
        "result": _result(bool(changes["new"]), new["complete"]),
        "tolerance": float(tolerance),
        "before": _side(old),
        "after": _side(new),
        "differences": list(_differences(old, new)),
        "new_groups": _new_groups(old, new),
        **changes,
        "verdict_changed": [entry for entry in paired if _other_verdict(entry)],
    }


def _check_attributes(old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    before, after = ([z["name"] for z in side["protected"]] for side in (old, new))
    if not set(before) & set(after):
        raise DataError(
            f"the two results have no protected attribute in common: the earlier is about "
            f"{listed(map(repr, before))}, the later about {listed(map(repr, after))}"
        )


def worst(comparison: Mapping[str, Any], *, confirmed_only: bool = False) -> int:
    """The exit code: 1 if there are new witnesses, 3 if not all was settled, else 0.

    With `confirmed_only` new witnesses count if they are confirmed, and are not settled if they
    could not be decided.
    """
    if confirmed_only and not comparison["after"]["validity"]:
        raise DataError(
            "only confirmed witnesses are to count, but the later result does not say which are; "
            "audit with --validity"
        )
    new = [entry["new"]["verdict"] for entry in comparison["new"]]
    return exit_code_of(
        len(new), comparison["after"]["complete"], counts(new) if confirmed_only else None
    )


def _result(any_new: bool, complete: bool) -> str:
    if any_new:
        return "new witnesses"
    return "no new witnesses" if complete else "not settled"


def _side(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("rows", "result", "complete", "thresholds", "about")
    asked = document.get("validity")
    return {
        **{name: document[name] for name in kept},
        "witnesses": len(document["witnesses"]),
        "validity": [] if asked is None else asked["ways"],
    }


# Matching


def _matched(
    old: Sequence[Finding], new: Sequence[Finding]
) -> list[tuple[Finding | None, Finding | None, str | None]]:
    """Pairs in order of the later witnesses, then the earlier ones that are gone."""
    partner: dict[int, tuple[int, str]] = {}  # place in new -> place in old
    used: set[int] = set()
    keys: dict[str, Callable[[Finding], Hashable]] = {"id": _id, "term": _term, "variables": _reads}
    for how, key in keys.items():
        left: dict[Hashable, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for side, witnesses in enumerate((old, new)):
            taken = partner if side else used
            for place, witness in enumerate(witnesses):
                if place not in taken and (known := key(witness)) is not None:
                    left[known][side].append(place)
        for olds, news in left.values():
            for before, after in _closest(olds, news, old, new):
                partner[after] = before, how
                used.add(before)
    found: list[tuple[Finding | None, Finding | None, str | None]] = []
    for place, witness in enumerate(new):
        if place in partner:
            before, how = partner[place]
            found.append((old[before], witness, how))
        else:
            found.append((None, witness, None))
    return found + [(w, None, None) for place, w in enumerate(old) if place not in used]


def _id(witness: Finding) -> Hashable:
    return witness["protected"], witness["id"]


def _term(witness: Finding) -> Hashable:
    """The exact text; None if it was cut, so that more than the beginning is compared."""
    if witness["term_length"] > len(witness["term"]):
        return None
    return witness["protected"], witness["term"]


def _reads(witness: Finding) -> Hashable:
    return witness["protected"], witness["operator"], frozenset(witness["variables"])


def _closest(
    olds: Sequence[int], news: Sequence[int], old: Sequence[Finding], new: Sequence[Finding]
) -> Iterable[tuple[int, int]]:
    """Pairs one to one, always the two next that are closest in association.

    The closest two stand next to each other among all sorted by association, so only neighbors
    are looked at: O(k log k).
    """
    line = sorted(
        [(_strength(old[place]), 0, place) for place in olds]
        + [(_strength(new[place]), 1, place) for place in news]
    )
    before = list(range(-1, len(line) - 1))
    after = list(range(1, len(line) + 1))
    gone = [False] * len(line)
    heap: list[tuple[float, int, int]] = []

    def look(low: int, high: int) -> None:
        if low >= 0 and high < len(line) and line[low][1] != line[high][1]:
            heapq.heappush(heap, (line[high][0][0] - line[low][0][0], low, high))

    for place in range(len(line) - 1):
        look(place, place + 1)
    while heap:
        _, low, high = heapq.heappop(heap)
        if gone[low] or gone[high]:
            continue
        gone[low] = gone[high] = True
        first, second = (low, high) if line[low][1] == 0 else (high, low)
        yield line[first][2], line[second][2]
        left, right = before[low], after[high]
        if left >= 0:
            after[left] = right
        if right < len(line):
            before[right] = left
        look(left, right)


def _strength(witness: Finding) -> tuple[float, float, str]:
    return witness["association"], witness["influence"], witness["id"]


# What changed


def _change(before: Finding | None, after: Finding | None, tolerance: float) -> str:
    if before is None or after is None:
        return "new" if before is None else "gone"
    moves = [after[name] - before[name] for name in ("association", "influence")]
    if max(moves) > tolerance + ROUNDING:
        return "stronger"
    return "weaker" if min(moves) < -tolerance - ROUNDING else "same"


def _known_groups(
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    pairs: Sequence[tuple[Finding | None, Finding | None, str | None]],
) -> dict[tuple[str, int], list[Finding]]:
    """For each later group whose front has a partner, the witnesses of the partner's group."""
    groups: dict[tuple[str, int], list[Finding]] = defaultdict(list)
    for witness in old["witnesses"]:
        groups[witness["protected"], witness["group"]].append(witness)
    fronts = {(group["protected"], group["front"]) for group in new["groups"]}
    return {
        (after["protected"], after["group"]): groups[before["protected"], before["group"]]
        for before, after, _ in pairs
        if before is not None and after is not None and _id(after) in fronts
    }


def _is_around(
    witness: Finding, known: Mapping[tuple[str, int], Sequence[Finding]], tolerance: float
) -> bool:
    """Whether a witness is no stronger than what stood around the front of its group before."""
    before = known.get((witness["protected"], witness["group"]), ())
    return bool(before) and all(
        witness[name] <= max(other[name] for other in before) + tolerance + ROUNDING
        for name in ("association", "influence")
    )


def _entry(before: Finding | None, after: Finding | None, how: str | None) -> dict[str, Any]:
    some = after or before
    assert some is not None
    moves: dict[str, float | None] = {"association_change": None, "influence_change": None}
    if before is not None and after is not None:
        moves = {
            f"{name}_change": round(after[name] - before[name], 4) + 0.0
            for name in ("association", "influence")
        }
    return {
        "protected": some["protected"],
        "matched": how,
        "old": _brief(before),
        "new": _brief(after),
        **moves,
    }


def _other_verdict(entry: Mapping[str, Any]) -> bool:
    """Whether a witness of both audits was confirmed, say, and is only possible now."""
    before, after = entry["old"]["verdict"], entry["new"]["verdict"]
    return before is not None and after is not None and before != after


def _brief(witness: Finding | None) -> dict[str, Any] | None:
    kept = ("id", "reading", "term", "operator", "variables", "group", "explicit", "association",
            "ceiling", "influence")  # fmt: skip
    if witness is None:
        return None
    said = witness.get("validity")
    return {**{name: witness[name] for name in kept}, "verdict": said and said["verdict"]}


def _new_groups(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The groups whose front reads variables that no earlier witness of the attribute read."""
    known = {(w["protected"], frozenset(w["variables"])) for w in old["witnesses"]}
    by_id = {(w["protected"], w["id"]): w for w in new["witnesses"]}
    found = []
    for group in new["groups"]:
        front = by_id.get((group["protected"], group["front"]))
        if front and (front["protected"], frozenset(front["variables"])) not in known:
            found.append(
                {
                    "protected": group["protected"],
                    "group": group["group"],
                    "front": _brief(front),
                    "witnesses": group["witnesses"],
                }
            )
    return found


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    """What makes the two audits answers to different questions."""
    for name in ("epsilon", "delta"):
        before, after = old["thresholds"][name], new["thresholds"][name]
        if before != after:
            yield f"{name} was {before:g} and is {after:g}"
    for name in ("association", "influence", "sampled"):
        if old["measures"][name] != new["measures"][name]:
            yield f"{_MEASURE[name]} was {old['measures'][name]} and is {new['measures'][name]}"
    before, after = ([z["name"] for z in side["protected"]] for side in (old, new))
    for name in before:
        if name not in after:
            yield f"the protected attribute {name!r} was audited before and is not now"
    for name in after:
        if name not in before:
            yield f"the protected attribute {name!r} was not audited before"
    yield from _different_ways(old, new)
    yield from _different_values(old, new)
    for name, what in (("rows", "number of rows"), ("total_weight", "total weight")):
        if old[name] != new[name]:
            yield f"the {what} was {old[name]:,} and is {new[name]:,}"
    if old["complete"] and not new["complete"]:
        yield "the earlier audit settled everything, the later one did not"
    if new["complete"] and not old["complete"]:
        yield "the earlier audit did not settle everything: what is new may have been there"
    yield from _different_about(old["about"], new["about"], "")


_MEASURE = {
    "association": "the measure of association",
    "influence": "the measure of influence",
    "sampled": "whether influence was sampled",
}


def _different_ways(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    """How the question whether witnesses are real was asked differently."""
    before, after = (
        {way["way"]: way for way in (side.get("validity") or {"ways": []})["ways"]}
        for side in (old, new)
    )
    for name in dict.fromkeys([*before, *after]):
        if name not in before or name not in after:
            when = ("not asked", "is") if name in after else ("asked", "is not")
            yield f"validity by {name} was {when[0]} before and {when[1]} now"
            continue
        for option in before[name]:
            was, now = before[name][option], after[name].get(option)
            if was != now and option != "tested":
                yield f"validity by {name}: {option} was {_said(was)} and is {_said(now)}"


def _different_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterable[str]:
    values = {z["name"]: {v["value"] for v in z["values"]} for z in old["protected"]}
    for z in new["protected"]:
        if z["name"] in values and values[z["name"]] != {v["value"] for v in z["values"]}:
            yield f"the protected attribute {z['name']!r} has other values than before"


def _different_about(old: Mapping[str, Any], new: Mapping[str, Any], at: str) -> Iterable[str]:
    for name in dict.fromkeys([*old, *new]):
        if name == "notes" and not at:  # what they tell follows from the rest
            continue
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict) and at.count(".") < 5:
            yield from _different_about(before, after, f"{at}{name}.")
        elif before != after:
            yield f"{at}{name}: was {_said(before)} and is {_said(after)}"


def _said(value: object) -> str:
    text = "not said" if value is None else str(value)
    return text if len(text) <= 80 else text[:77] + "..."
