"""Match the points of a rebuilt term with the points of the original term."""

from __future__ import annotations

from collections.abc import Mapping

from proxyuse.lang.nodes import Const, Term
from proxyuse.lang.positions import Points


def original_points(old: Points, built: Mapping[int, Term], new: Points) -> list[int]:
    """Return the original point of each point of a rebuilt term, -1 for new points, in linear time.

    `built` holds the new term at each original point that changed (see `Points.rebuilt`). All
    terms below the other points are unchanged.
    """
    originals = [-1] * len(new)
    stack = [(0, 0)]  # a new point, and the original point it may come from
    while stack:
        point, before = stack.pop()
        term = new.terms[point]
        if before not in built:
            size = new.end(point) - point
            originals[point : point + size] = range(before, before + size)
            continue
        parts = [(built.get(child, old.terms[child]), child) for child in old.below(before)]
        promoted = next((child for part, child in parts if part is term), None)
        if promoted is not None:  # its parent was removed
            stack.append((point, promoted))
            continue
        if isinstance(term, Const):
            continue
        originals[point] = before
        for child in new.below(point):
            match = next((pair for pair in parts if pair[0] is new.terms[child]), None)
            if match is not None:
                parts.remove(match)
                stack.append((child, match[1]))
            else:
                stack += _flattened(old, built, parts, child, new.terms[child])
    return originals


def _flattened(
    old: Points, built: Mapping[int, Term], parts: list[tuple[Term, int]], child: int, term: Term
) -> list[tuple[int, int]]:
    """Find the original point of an operand that was merged from a nested operator."""
    for _, before in parts:
        while before in built:
            below = [(built.get(p, old.terms[p]), p) for p in old.below(before)]
            match = next((p for part, p in below if part is term), None)
            if match is not None:
                return [(child, match)]
            same = [p for part, p in below if part is built[before]]
            if not same:
                break
            before = same[0]
        else:
            match = next((p for p in old.below(before) if old.terms[p] is term), None)
            if match is not None:
                return [(child, match)]
    return []
