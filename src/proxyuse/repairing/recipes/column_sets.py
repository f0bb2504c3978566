"""Sets of columns: which to drop so that no witness remains, and which may occur together.

A witness is represented by the set of columns that its computation reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

Columns: TypeAlias = frozenset[str]

MOST_SETS = 8
WIDTH = 64
"""The number of partial hitting sets that are kept. A search that never needs more is exact."""


def minimal_sets(sets: Iterable[Iterable[str]]) -> list[Columns]:
    """The nonempty sets that contain no other one, smallest first, without duplicates.

    Examples
    --------
    >>> [sorted(columns) for columns in minimal_sets([{"a", "b"}, {"c"}, {"b", "c"}, {"b", "a"}])]
    [['c'], ['a', 'b']]
    """
    minimal: list[Columns] = []
    for columns in sorted(dict.fromkeys(map(frozenset, sets)), key=len):
        if columns and not any(smaller <= columns for smaller in minimal):
            minimal.append(columns)
    return minimal


def hitting_sets(sets: Iterable[Iterable[str]], width: int = WIDTH) -> tuple[list[Columns], bool]:
    """Sets of columns that share a column with each given set, and whether these are all of them.

    No hitting set stays one if a column is removed. Branches over the columns of the smallest set
    that is not hit yet, and keeps the `width` smallest branches.

    Examples
    --------
    >>> found, exact = hitting_sets([{"a", "b"}, {"b", "c"}])
    >>> [sorted(columns) for columns in found], exact
    ([['b'], ['a', 'c']], True)
    """
    given = [list(dict.fromkeys(columns)) for columns in sets]
    rank = {name: i for i, name in enumerate(dict.fromkeys(n for part in given for n in part))}

    def order(columns: Columns) -> tuple[int, list[int]]:
        return len(columns), sorted(rank[name] for name in columns)

    minimal = minimal_sets(given)
    branches: list[Columns] = [frozenset()]
    exact = True
    for target in minimal:
        hits = [columns for columns in branches if columns & target]
        grown = {
            columns | {name} for columns in branches if not columns & target for name in target
        }
        new = [columns for columns in grown if not any(hit <= columns for hit in hits)]
        branches = sorted([*hits, *new], key=order)
        exact = exact and len(branches) <= width
        branches = branches[:width]
    reduced = {_without_redundant(columns, minimal, rank) for columns in branches}
    return sorted(reduced, key=order), exact


def _without_redundant(
    columns: Columns, targets: Sequence[Columns], rank: dict[str, int]
) -> Columns:
    """The set without columns that it does not need, least important first."""
    for name in sorted(columns, key=lambda name: -rank[name]):
        if all(columns - {name} & target for target in targets):
            columns -= {name}
    return columns


def columns_to_drop(
    witnesses: Iterable[Iterable[str]], most: int = MOST_SETS
) -> list[tuple[str, ...]]:
    """Sets of columns without which no witness can be computed, smallest first.

    Parameters
    ----------
    witnesses : the columns that each witness reads, strongest witness first. Among sets of the same
        size, those of the stronger witnesses come first.
    most : the largest number of sets.

    Examples
    --------
    >>> columns_to_drop([("husband",), ("age", "hours"), ("husband", "age")])
    [('husband', 'age'), ('husband', 'hours')]
    """
    given = [list(dict.fromkeys(columns)) for columns in witnesses]
    rank = {name: i for i, name in enumerate(dict.fromkeys(n for part in given for n in part))}
    found, _ = hitting_sets(given)
    return [tuple(sorted(columns, key=rank.__getitem__)) for columns in found[:most] if columns]


def single_columns(witnesses: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """The columns of the witnesses that read one column, in order of first appearance.

    Examples
    --------
    >>> single_columns([("b",), ("a", "c"), ("a", "a"), ("b",)])
    ('b', 'a')
    """
    sets = [tuple(dict.fromkeys(columns)) for columns in witnesses]
    return tuple(dict.fromkeys(columns[0] for columns in sets if len(columns) == 1))


def allowed_groups(
    columns: Iterable[str], forbidden: Iterable[Iterable[str]], most: int
) -> list[Columns] | None:
    """The largest sets of columns that contain no forbidden set; None if there are too many.

    Parameters
    ----------
    forbidden : sets of at least two columns that must not occur together.
    most : the largest number of sets.

    Examples
    --------
    >>> [sorted(group) for group in allowed_groups("abc", [("a", "b")], 8)]
    [['a', 'c'], ['b', 'c']]
    """
    everything = frozenset(columns)
    within = [set(part) for part in forbidden if everything.issuperset(part)]
    found, exact = hitting_sets(map(sorted, within), width=most)
    if not exact:
        return None
    return sorted((everything - removed for removed in found), key=sorted)
