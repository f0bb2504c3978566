from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from proxyuse.repairing.recipes.column_sets import (
    allowed_groups,
    columns_to_drop,
    hitting_sets,
    minimal_sets,
    single_columns,
)

NAMES = "abcdef"
SETS = st.lists(st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=4), max_size=7)


def subsets(names):
    return [
        frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)
    ]


def hits_all(columns, sets):
    return all(columns & part for part in sets)


def all_minimal_hitting_sets(sets):
    return set(minimal_or_empty([columns for columns in subsets(NAMES) if hits_all(columns, sets)]))


def minimal_or_empty(sets):
    return [columns for columns in sets if not any(other < columns for other in sets)]


@given(SETS)
def test_hitting_sets_are_all_minimal_ones(sets):
    found, exact = hitting_sets(sets)
    assert exact
    assert len(found) == len(set(found))
    assert set(found) == all_minimal_hitting_sets(sets)


@given(SETS, st.integers(1, 3))
def test_a_narrow_search_still_finds_minimal_hitting_sets(sets, width):
    found, exact = hitting_sets(sets, width)
    assert found
    assert set(found) <= all_minimal_hitting_sets(sets)
    assert not exact or set(found) == all_minimal_hitting_sets(sets)


@given(SETS, st.integers(1, 4))
def test_columns_to_drop_leave_no_witness_and_come_smallest_first(sets, most):
    listed = columns_to_drop(sets, most)
    sizes = [len(columns) for columns in listed]
    expected = sorted(len(columns) for columns in all_minimal_hitting_sets(sets) if columns)
    assert sizes == expected[:most]
    assert all(hits_all(frozenset(columns), sets) for columns in listed)


def test_of_equal_sizes_the_columns_of_the_stronger_witness_come_first():
    assert columns_to_drop([("d", "a"), ("d", "b")])[0] == ("d",)
    assert columns_to_drop([("z", "y")]) == [("z",), ("y",)]
    assert columns_to_drop([]) == []


@given(SETS)
def test_every_set_to_drop_contains_the_columns_of_single_column_witnesses(sets):
    for columns in columns_to_drop(sets):
        assert set(single_columns(sets)) <= set(columns)


@given(SETS)
def test_minimal_sets_have_the_same_supersets(sets):
    minimal = minimal_sets(sets)
    assert [len(part) for part in minimal] == sorted(len(part) for part in minimal)
    for columns in subsets(NAMES):
        assert any(part <= columns for part in minimal) == any(part <= columns for part in sets)
    for part in minimal:
        assert not any(other < part for other in sets)


@given(SETS.map(lambda sets: [part for part in sets if len(part) > 1]))
def test_allowed_groups_are_the_largest_sets_without_a_forbidden_one(forbidden):
    allowed = [c for c in subsets(NAMES) if not any(part <= c for part in forbidden)]
    largest = {columns for columns in allowed if not any(columns < other for other in allowed)}
    groups = allowed_groups(NAMES, forbidden, most=1000)
    assert groups is not None
    assert set(groups) == largest
    assert len(groups) == len(largest)


def test_too_many_groups_are_not_listed():
    pairs = [(f"a{i}", f"b{i}") for i in range(8)]
    names = [name for pair in pairs for name in pair]
    assert allowed_groups(names, pairs, most=255) is None
    assert len(allowed_groups(names, pairs, most=256) or ()) == 256
