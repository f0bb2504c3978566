"""What a listing may show: disjoint positions, and each computation with all its occurrences."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.detect.witnesses import groups_of
from proxyuse.lang.positions import Site
from tests.brute import Tree, form
from tests.measure.large_cases import large_case
from tests.strategies import Case, cases

budgets = st.builds(
    pu.Budget,
    subsets=st.sampled_from([0, 2, 5, 16_384]),
    search=st.sampled_from([0, 4, 256]),
    grow=st.sampled_from([0, 2, 64]),
    occurrences=st.sampled_from([0, 2, 256]),
    positions=st.sampled_from([0, 4096]),
)
thresholds = st.sampled_from([(0.0, 0.0), (0.05, 0.0), (0.02, 0.1), (0.3, 0.05)])


def audited(case: Case, **options: Any) -> pu.Audit:
    data = {name: np.array(values, dtype=object) for name, values in case.data.items()}
    return pu.audit(case.program, data, case.protected, weights=case.weights, **options)


def check_disjoint(audit: pu.Audit) -> None:
    points = audit.program.points
    for sites in audit.decompositions.sites:
        assert all(points.disjoint(*pair) for pair in combinations(sites, 2)), list(sites)
        assert len({points.term_at(site).digest for site in sites}) == 1
    for witness in audit.witnesses:
        assert all(points.disjoint(*pair) for pair in combinations(witness.decomposition.sites, 2))


def check_listing(audit: pu.Audit, tree: Tree) -> None:
    """Each computation is listed once, at each of its positions as a term.

    A partial sum is listed at each of its positions, as a term or as a subset of operands.
    """
    listed = defaultdict[str, set[tuple[Site, ...]]](set)
    every = audit.decompositions
    for expression, sites in zip(every.terms, every.sites, strict=True):
        listed[form(expression)].add(tuple(sites))
    digests = [term.digest for term in every.computations]
    assert len(digests) == len(set(digests)) == len(listed)
    assert sum(map(len, listed.values())) == len(every)
    for name, sets in listed.items():
        alone = {sites[0] for sites in sets if len(sites) == 1}
        places = tree.computations[name]
        terms = [place for place in places if not place.operands]
        assert sum(not site.operands for site in alone) == len(terms)
        disjoint = len(alone) == len(places) or not tree.are_disjoint(places)
        assert disjoint or not any(site.operands for sites in sets for site in sites)


@given(cases(), thresholds, budgets, st.booleans())
def test_no_listing_shows_positions_that_overlap(
    case: Case, limits: tuple[float, float], budget: pu.Budget, all_sets: bool
) -> None:
    epsilon, delta = limits
    check_disjoint(audited(case, epsilon=epsilon, delta=delta, budget=budget, all_sets=all_sets))


@given(cases(), thresholds, st.booleans())
def test_a_computation_is_listed_with_all_its_occurrences(
    case: Case, limits: tuple[float, float], all_sets: bool
) -> None:
    epsilon, delta = limits
    check_listing(audited(case, epsilon=epsilon, delta=delta, all_sets=all_sets), case.tree)


@pytest.mark.parametrize("seed", range(6))
def test_listings_of_forests_that_are_bounded_first(seed: int) -> None:
    case = large_case(seed, 257, ("vote", "boosted", "class sums")[seed % 3])
    audit = pu.audit(
        case.program, case.data, list(case.protected), 0.01, 0.01,
        weights=case.weights, budget=pu.Budget(positions=0),
    )  # fmt: skip
    check_disjoint(audit)


@pytest.mark.parametrize("all_sets", [True, False])
def test_a_subset_of_operands_that_stands_elsewhere_is_an_occurrence(all_sets: bool) -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.integers(0, 2, (3, 80)).astype(float)
    program = pu.Program.parse("ite(a + b > 1, 1, ite(c + b + a > 0, 2, 3))")
    audit = pu.audit(program, {"a": a, "b": b, "c": c}, {"z": a + b}, 0.9, 0.0, all_sets=all_sets)
    sums = [w for w in audit.witnesses if w.term == "a + b"]
    assert {tuple(map(str, w.positions)) for w in sums} == {
        ("0.0",), ("2.0.0{0,1}",), ("0.0", "2.0.0{0,1}"),
    }  # fmt: skip
    assert len({w.group for w in sums}) == 1


def test_a_group_starts_with_its_representative_although_it_is_not_the_strongest() -> None:
    """The test tells more than the variable inside it, and is shown behind it."""
    x = np.array([0, 1, 2, 3] * 10)
    audit = pu.audit(
        pu.Program.parse("ite(x <= 1, ite(y <= 0, 1, 2), 3)"),
        {"x": x, "y": np.arange(40) % 2},
        {"z": x <= 1, "y2": np.arange(40) % 2},
        0.1,
        0.05,
    )
    first = groups_of(audit.witnesses)[0]
    assert [w.term for w in audit.witnesses[:2]] == ["x", "x <= 1"]
    assert (first.protected, first.number) == ("z", 0)
    assert first.representative.association == pytest.approx(0.5)
    assert first.strongest.term == "x <= 1"
    assert first.strongest.association == 1.0


def test_groups_come_in_the_order_of_their_strongest_witness() -> None:
    """Not of their representatives."""
    rng = np.random.default_rng(1)
    x, y = rng.integers(0, 8, 400), rng.integers(0, 2, 400)
    z = np.where(rng.random(400) < 0.1, y, x <= 3)
    program = pu.Program.parse("ite(x <= 3, 1, 0) + ite(y <= 0, 2, 0)")
    audit = pu.audit(program, {"x": x, "y": y}, {"z": z}, 0.0, 0.0)
    groups = groups_of(audit.witnesses)
    strongest = [group.strongest.association for group in groups]
    assert strongest == sorted(strongest, reverse=True)
    assert [w.id for group in groups for w in group.witnesses] == [w.id for w in audit.witnesses]


def test_squared_change_of_outputs_that_are_all_equal_is_an_error() -> None:
    data = {"x": np.arange(30.0), "z": np.arange(30) % 2}
    program = pu.Program.parse("ite(x <= 100, 0.1, 5)")
    with pytest.raises(pu.DataError, match="same in every row; use QuantitativeInputInfluence"):
        pu.audit(program, data, "z", influence=pu.SquaredChange())
    assert pu.audit(program, data, "z").complete
