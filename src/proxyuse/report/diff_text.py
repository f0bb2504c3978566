"""What changed between two documents, in plain words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proxyuse.report.wording import one_line

MOST_TOLD = 10


def diff_text(comparison: Mapping[str, Any]) -> str:
    """What changed, in plain words."""
    lines = [_headline(comparison)]
    before, after = comparison["before"], comparison["after"]
    told = [
        f"{len(comparison[name]):,} {'around known ones' if name == 'around' else name}"
        for name in ("new", "around", "gone", "stronger", "weaker", "same")
        if comparison[name]
    ]
    count = f"Witnesses: {before['witnesses']:,} before, {after['witnesses']:,} now"
    lines.append(f"{count} ({', '.join(told)})." if told else f"{count}.")
    lines += _section("New groups", [_group_line(group) for group in comparison["new_groups"]])
    for name, title in _TITLES.items():
        lines += _section(title, [_line(name, entry) for entry in comparison[name]])
    changed = [_verdict_line(entry) for entry in comparison["verdict_changed"]]
    lines += _section("Other verdict", changed)
    lines += _section("What else is different", comparison["differences"], most=50)
    return "\n".join(lines)


_TITLES = {
    "new": "New",
    "around": "Around known ones, and no stronger",
    "stronger": "Stronger",
    "weaker": "Weaker",
    "gone": "Gone",
}


def _headline(comparison: Mapping[str, Any]) -> str:
    count, groups = len(comparison["new"]), len(comparison["new_groups"])
    if count:
        names = ", ".join(
            one_line(name)
            for name in dict.fromkeys(entry["protected"] for entry in comparison["new"])
        )
        about = {
            0: "they read what earlier witnesses read",
            1: "1 group reads what no earlier witness read",
        }.get(groups, f"{groups:,} groups read what no earlier witness read")
        some = "1 new witness" if count == 1 else f"{count:,} new witnesses"
        if count == 1 and groups == 0:
            about = "it reads what earlier witnesses read"
        return f"There {'is' if count == 1 else 'are'} {some} of proxy use of {names}; {about}."
    if comparison["after"]["complete"]:
        return "There are no new witnesses of proxy use."
    return "No new witnesses of proxy use were found, but not everything could be settled."


def _section(title: str, told: Sequence[str], most: int = MOST_TOLD) -> list[str]:
    if not told:
        return []
    left = [f"- ... and {len(told) - most:,} more"] if len(told) > most else []
    return ["", title, *(f"- {one_line(line)}" for line in told[:most]), *left]


def _group_line(group: Mapping[str, Any]) -> str:
    front, others = group["front"], group["witnesses"] - 1
    around = f", {others:,} more around it" if others else ""
    verdict = f", {front['verdict']}" if front["verdict"] else ""
    return (
        f"{group['protected']}: {front['reading']} (association {front['association']:.3f}, "
        f"influence {front['influence']:.3f}{verdict}, id {front['id']}{around})"
    )


def _line(change: str, entry: Mapping[str, Any]) -> str:
    shown = entry["old"] if change == "gone" else entry["new"]
    text = f"{entry['protected']}: {shown['reading']}"
    verdict = f", {shown['verdict']}" if shown["verdict"] else ""
    if change in ("new", "around", "gone"):
        return (
            f"{text} (association {shown['association']:.3f}, influence {shown['influence']:.3f}"
            f"{verdict}, id {shown['id']})"
        )
    old = entry["old"]
    moved = ", ".join(
        f"{name} {old[name]:.3f} -> {shown[name]:.3f}" for name in ("association", "influence")
    )
    return f"{text} ({moved}, id {shown['id']}; {_MATCHED[entry['matched']]})"


def _verdict_line(entry: Mapping[str, Any]) -> str:
    old, new = entry["old"], entry["new"]
    return (
        f"{entry['protected']}: {new['reading']} ({old['verdict']} -> {new['verdict']}, "
        f"id {new['id']}; {_MATCHED[entry['matched']]})"
    )


_MATCHED = {
    "id": "the same computation at the same places",
    "term": "the same computation",
    "variables": "the closest that reads the same",
}
