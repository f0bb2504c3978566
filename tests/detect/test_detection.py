"""Detection finds what the definition says, no more and no less.

The definition is `tests.brute`: every decomposition, row by row, over all pairs of rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import groupby
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.lang.nodes import Add, And, Compare, Const, Ite, Mul, Or, Relation, Term, Var
from proxyuse.lang.positions import Points, Site
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.sample import Sample
from proxyuse.program import Program
from tests.brute import Place, Tree, form, interpret, key, parts, size
from tests.strategies import Case, cases, shuffled

thorough = settings(max_examples=150)

EPSILONS = (0.0, 0.02, 0.07, 0.13, 0.31, 0.47, 0.83, 1.0)
epsilons = st.sampled_from(EPSILONS)
shares = st.fractions(0, 1, max_denominator=36)


def audited(case: Case, **options: Any) -> pu.Audit:
    return pu.audit(
        case.program, case.data, protected=case.protected, weights=case.weights, **options
    )


def engine_of(case: Case, **options: Any) -> Measurement:
    population = Population.build(
        case.data,
        protected=case.protected,
        weights=case.weights,
        variables=case.program.variables,
    )
    return Measurement(Sample(case.program, population, **options))


def place_of(points: Points, site: Site) -> Place:
    """A position of the library in the numbering of the reference."""
    below = points.below(site.point)
    operands = frozenset(points.written[below[step]] for step in site.operands)
    return Place(points.written[site.point], operands)


def sites_of(points: Points, places: Iterable[Place]) -> list[Site]:
    """Positions of the reference in the numbering of the library."""
    sites = []
    for place in places:
        point = points.written.index(place.point)
        below = [points.written[child] for child in points.below(point)]
        sites.append(Site(point, tuple(sorted(below.index(p) for p in place.operands))))
    return sorted(sites)


def places_of(decomposition: pu.Decomposition) -> frozenset[Place]:
    points = decomposition.program.points
    return frozenset(
        place_of(points, points.site(position)) for position in decomposition.positions
    )


def as_pair(decomposition: pu.Decomposition) -> tuple[str, frozenset[Place]]:
    return form(decomposition.expression), places_of(decomposition)


class Truth:
    """All that is to be known of a case, by brute force."""

    def __init__(self, case: Case) -> None:
        self.tree = case.tree
        self.sample = case.sample
        self.influences: dict[str, dict[frozenset[Place], Fraction]] = {}
        self.associations: dict[str, dict[str, float]] = {}
        for name, places in self.tree.computations.items():
            term = self.tree.term_at(places[0])
            self.associations[name] = {
                z: self.sample.association(term, z) for z in self.sample.protected
            }
            self.influences[name] = {
                some: self.sample.influence(self.tree, some) for some in self.tree.sets(places)
            }

    def strongest(self, name: str) -> Fraction:
        return max(self.influences[name].values())

    def witnesses(self, epsilon: float, delta: Fraction) -> set[tuple[str, str]]:
        """The protected attributes and the terms that are witnesses through some set."""
        return {
            (z, name)
            for name, associations in self.associations.items()
            for z, association in associations.items()
            if association >= epsilon and self.strongest(name) > delta
        }


def witnesses_by_term(audit: pu.Audit) -> set[tuple[str, str]]:
    return {(witness.protected, form(witness.expression)) for witness in audit.witnesses}


def written(truth: Truth, witnesses: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """The witnesses that stand in the program as terms, not only as some operands of one."""
    terms = {form(term) for term in truth.tree.terms}
    return {(z, name) for z, name in witnesses if name in terms}


def missing_sums(
    truth: Truth, audit: pu.Audit, witnesses: set[tuple[str, str]]
) -> set[tuple[str, str]]:
    """The partial sums among some witnesses that an audit neither reports nor implies.

    It reports minimal ones: a set of operands is implied by a witness made of some of them.
    """
    reported: dict[str, list[Term]] = {z: [] for z in truth.sample.protected}
    for witness in audit.witnesses:
        reported[witness.protected].append(witness.expression)

    def implied(z: str, name: str) -> bool:
        term = truth.tree.term_at(truth.tree.computations[name][0])
        operands = Counter(map(form, parts(term)))
        return any(
            form(inner) in operands
            or (type(inner) is type(term) and Counter(map(form, parts(inner))) <= operands)
            for inner in reported[z]
        )

    sums = witnesses - written(truth, witnesses) - witnesses_by_term(audit)
    return {(z, name) for z, name in sums if not implied(z, name)}


# Meaning


def check_meaning(case: Case) -> None:
    wanted = [key(interpret(case.term, row)) for row in case.rows]
    predicted = case.program.predict(case.data)
    kept = [w for w, weight in zip(wanted, case.weights, strict=True) if weight > 0]
    assert all(map(same, predicted, wanted))
    assert all(map(same, engine_of(case).sample.values(case.term), decoded(case, kept)))


def decoded(case: Case, wanted: list[Any]) -> list[Any]:
    """Categories as the engine numbers them."""
    engine = engine_of(case)
    engine.sample.values(case.term)  # which numbers the categories that only the program names
    words = engine.sample.vocabulary.words
    codes = {("category", word): ("number", float(code)) for code, word in enumerate(words)}
    categories = any(w[0] == "category" for w in wanted)
    missing = ("number", -1.0) if categories else ("missing", None)
    return [missing if w == ("missing", None) else codes.get(w, w) for w in wanted]


def same(value: Any, expected: Any) -> bool:
    """Whether an engine's value is the wanted key, up to the rounding of exp."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return all(map(same, value, expected))
    held = key(value)
    if "number" not in (held[0], expected[0]) or held[0] != expected[0]:
        return bool(held == expected)
    return math.isclose(held[1], expected[1], rel_tol=1e-14)


@given(cases())
def test_a_program_predicts_what_the_interpreter_computes(case):
    check_meaning(case)


# Every decomposition


def check_all_sets(case: Case) -> None:
    truth = Truth(case)
    audit = audited(case, all_sets=True)
    assert audit.complete
    listed = {as_pair(d): d for d in audit.decompositions}
    assert len(listed) == len(audit.decompositions)
    expected = {(name, some) for name, sets in truth.influences.items() for some in sets}
    assert listed.keys() == expected
    total = truth.sample.total
    for (name, places), d in listed.items():
        assert d.influence is not None
        assert d.influence * total**2 == pytest.approx(round(d.influence * total**2), abs=1e-9)
        assert round(d.influence * total**2) == truth.influences[name][places] * total**2
        assert round(d.reach * total) == truth.sample.reach(truth.tree, places) * total
        assert d.size == size(d.expression)
        for z, association in truth.associations[name].items():
            assert d.associations[z] == pytest.approx(association, rel=0, abs=1e-12)
            assert (d.associations[z] == 1) == (association == 1)


@given(cases())
def test_all_sets_lists_exactly_the_decompositions_with_their_measures(case):
    check_all_sets(case)


@given(cases(), st.integers(2, 3), st.sampled_from(["best-cut", None, 1, 2, 3, 4]))
def test_long_numbers_are_cut_once_or_into_bins_for_association(case, max_support, bins):
    audit = audited(case, max_support=max_support, bins=bins)
    for d in audit.decompositions:
        for z, association in d.associations.items():
            expected = case.sample.association(d.expression, z, bins, max_support)
            assert association == pytest.approx(expected, rel=0, abs=1e-12)


def test_no_decomposition_of_a_constant_program_exists():
    audit = pu.audit(Program.parse("1"), {"z": ["a", "b"]}, protected="z", epsilon=0, delta=0)
    assert len(audit.decompositions) == 0
    assert audit.complete


# What is listed by default


def check_listing(case: Case, epsilon: float, delta: Fraction) -> None:
    truth = Truth(case)
    audit = audited(case, epsilon=epsilon, delta=float(delta))
    assert audit.complete
    witnesses, expected = witnesses_by_term(audit), truth.witnesses(epsilon, delta)
    assert witnesses <= expected
    assert written(truth, witnesses) == written(truth, expected)
    assert not missing_sums(truth, audit, expected) or audit.searched
    listed: dict[str, dict[frozenset[Place], float]] = {}
    for d in audit.decompositions:
        sets = listed.setdefault(form(d.expression), {})
        assert places_of(d) not in sets
        assert d.influence is not None
        sets[places_of(d)] = d.influence
    assert listed.keys() <= truth.tree.computations.keys()
    terms = {form(term) for term in truth.tree.terms}
    for name, places in truth.tree.computations.items():
        if name not in terms:  # of partial sums, only witnesses are listed
            continue
        required = {frozenset([place]) for place in places if not place.operands}
        if truth.tree.are_disjoint(places):
            required.add(frozenset(places))
        assert required <= listed[name].keys()
        assert len(listed[name]) <= len(places) + 2
        # Where a listed set is a witness already, little effort goes into a stronger one.
        settled = max(listed[name][places_] for places_ in required) > delta
        if max(truth.associations[name].values()) >= epsilon and (not settled or len(places) <= 5):
            most, strongest = max(listed[name].values()), truth.strongest(name)
            # Of more than three places, a bound may show that no set is a witness.
            assert most == float(strongest) or (most < strongest <= delta and len(places) > 3)


@given(cases(), epsilons, shares)
def test_the_default_lists_single_occurrences_all_together_and_the_strongest(case, epsilon, delta):
    check_listing(case, epsilon, delta)


def check_needed(case: Case, epsilon: float, delta: Fraction) -> None:
    full = audited(case, epsilon=epsilon, delta=float(delta), measure="all")
    quick = audited(case, epsilon=epsilon, delta=float(delta), budget=pu.Budget(positions=0))
    assert quick.complete
    places_by_name = {
        name: {place for place in places if not place.operands}
        for name, places in case.tree.computations.items()
    }

    def stands(d: pu.Decomposition) -> bool:
        """Whether a decomposition is a term at one place or at all of them."""
        places = places_by_name[form(d.expression)]
        return places_of(d) <= places and d.occurrences in (1, len(places))

    def by_name(audit: pu.Audit) -> dict[tuple[str, str], pu.Witness]:
        return {(w.protected, w.id): w for w in audit.witnesses if stands(w.decomposition)}

    def grouped(audit: pu.Audit) -> set[tuple[str, str, int]]:
        return {(w.protected, form(w.expression), w.group) for w in audit.witnesses}

    assert by_name(quick).keys() == by_name(full).keys()
    for name, witness in by_name(full).items():
        quick_witness = by_name(quick)[name]
        assert (quick_witness.influence, quick_witness.explicit) == (
            witness.influence,
            witness.explicit,
        )
        assert quick_witness.association == pytest.approx(witness.association, rel=0, abs=1e-12)
    if not quick.searched:  # then no computation can be a witness that is not one here
        assert grouped(quick) == grouped(full)
    measured = {d.id: d.influence for d in quick.decompositions}
    influences = {d.id: d.influence for d in full.decompositions}
    assert all(i is None or i == influences[name] for name, i in measured.items())
    bounds = {} if quick.bounded is None else {b.site: b for b in quick.bounded}
    for d in full.decompositions:
        if d.occurrences == 1 and d.sites[0] in bounds:
            bounded = bounds[d.sites[0]]
            assert bounded.expression == d.expression
            assert bounded.reach == d.reach
            assert d.influence is not None
            assert d.influence <= bounded.bound
        elif d.occurrences == 1 and stands(d):
            assert d.expression in {q.expression for q in quick.decompositions}


@given(cases(), epsilons, shares)
def test_measuring_what_is_needed_changes_no_witness(case, epsilon, delta):
    check_needed(case, epsilon, delta)


# Small budgets

budgets = st.builds(
    pu.Budget,
    subsets=st.sampled_from([0, 1, 2, 3, 5]),
    search=st.sampled_from([0, 1, 2, 4, 8, 16, 64]),
    grow=st.sampled_from([0, 1, 2, 8]),
    occurrences=st.sampled_from([0, 1, 2, 5]),
)


def check_budget(case: Case, epsilon: float, delta: Fraction, budget: pu.Budget) -> None:
    truth = Truth(case)
    audit = audited(case, epsilon=epsilon, delta=float(delta), budget=budget)
    for d in audit.decompositions:
        assert d.influence == float(truth.influences[form(d.expression)][places_of(d)])
    witnesses, expected = witnesses_by_term(audit), truth.witnesses(epsilon, delta)
    assert witnesses <= expected
    assert written(truth, witnesses) == written(truth, expected) or audit.unsettled
    assert not missing_sums(truth, audit, expected) or audit.searched
    assert audit.complete == (not audit.unsettled)
    pairs = [as_pair(d) for d in audit.decompositions]
    assert len(set(pairs)) == len(pairs)


@given(cases(), epsilons, shares, budgets)
def test_a_small_budget_never_truncates_silently(case, epsilon, delta, budget):
    check_budget(case, epsilon, delta, budget)


@given(cases(), epsilons, shares, budgets)
def test_all_sets_on_a_small_budget_are_listed_or_reported(case, epsilon, delta, budget):
    truth = Truth(case)
    audit = audited(case, epsilon=epsilon, delta=float(delta), budget=budget, all_sets=True)
    listed = {as_pair(d) for d in audit.decompositions}
    expected = {(name, some) for name, sets in truth.influences.items() for some in sets}
    assert listed <= expected
    named = pu.NoteKind.NOT_LISTED in {note.kind for note in audit.notes}
    assert listed == expected or audit.unsettled or named


# Bounds


def check_bounds(case: Case) -> None:
    tree, sample = Tree(case.term), case.sample
    engine = engine_of(case)
    for places in tree.computations.values():
        if len(places) > 1 and tree.are_disjoint(places):
            bound = engine.occurrence_bound(sites_of(engine.points, places))
            assert all(bound >= float(sample.influence(tree, s)) for s in tree.sets(places))
    for point, term in enumerate(tree.terms):
        if isinstance(term, Add | Mul | And | Or):
            varying = [p for p in tree.below[point] if not isinstance(tree.terms[p], Const)]
            subsets = [
                place for place in tree.places() if place.point == point and place.operands
            ] + [Place(p) for p in varying]
            (site,) = sites_of(engine.points, [Place(point, frozenset(varying))])
            bound = engine.operands_bound(site.point, site.operands)
            assert all(bound >= float(sample.influence(tree, frozenset([s]))) for s in subsets)


@given(cases())
def test_bounds_are_at_least_the_influence_of_every_set(case):
    check_bounds(case)


@st.composite
def trees_of_tests(draw):
    """A decision tree, each leaf another constant, with guards of which some are equal."""
    guards = [Compare(Relation.LE, Var(name), Const(1.0)) for name in ("a", "b")]
    leaves = iter(range(100))

    def grow(depth: int) -> Term:
        if depth == 0:
            return Const(float(next(leaves)))
        return Ite(draw(st.sampled_from(guards)), grow(depth - 1), grow(depth - 1))

    return grow(draw(st.integers(1, 2)))


@given(cases(of=trees_of_tests()))
def test_the_occurrence_bound_of_a_tree_is_the_share_of_pairs_that_some_set_changes(case):
    tree, sample = Tree(case.term), case.sample
    engine = engine_of(case)
    forest = ForestEngine.of(engine.sample)
    assert forest is not None
    for places in tree.computations.values():
        if not tree.are_disjoint(places):
            continue
        changed = Fraction(0)
        by_set = [list(sample.changes(tree, some)) for some in tree.sets(places)]
        for pairs in zip(*by_set, strict=True):
            if any(key(old) != key(new) for _, old, new in pairs):
                changed += pairs[0][0]
        sites = sites_of(engine.points, places)
        assert engine.occurrence_bound(sites) == float(changed / sample.total**2)
        assert forest.occurrence_bound(sites) == float(changed / sample.total**2)


# Order, groups, ids


def check_order(case: Case, epsilon: float, delta: Fraction, all_sets: bool) -> None:
    audit = audited(case, epsilon=epsilon, delta=float(delta), all_sets=all_sets)
    groups = [list(some) for _, some in groupby(audit.witnesses, lambda w: (w.protected, w.group))]
    assert len(groups) == len({(w.protected, w.group) for w in audit.witnesses})

    def rank(w: pu.Witness) -> tuple[float, float, int, str]:
        return -w.association, -w.influence, w.size, w.id

    strongest = [min(map(rank, group)) for group in groups]
    assert strongest == sorted(strongest)
    for first, *others in groups:
        assert all(w.size >= first.size for w in others)
        assert list(map(rank, others)) == sorted(map(rank, others))
        assert all(rank(first) < rank(w) for w in others if w.expression == first.expression)
    tree = case.tree

    def covered(witness: pu.Witness) -> list[set[int]]:
        return [tree.inside(place) for place in places_of(witness.decomposition)]

    def holds(outer: pu.Witness, inner: pu.Witness) -> bool:
        return any(b <= a for a in covered(outer) for b in covered(inner))

    for z in case.protected:
        mine = [w for w in audit.witnesses if w.protected == z]
        numbers = {w.group for w in mine}
        assert numbers == set(range(len(numbers)))
        for group in numbers:
            members = [w for w in mine if w.group == group]
            representative = min(members, key=lambda w: w.size)
            representatives = [w for w in mine if w.expression == representative.expression]
            assert all(w.group == group for w in representatives)
            for other in mine:
                if other.expression != representative.expression:
                    assert not any(holds(w, other) for w in representatives)
            for other in members:
                if other.expression != representative.expression:
                    alike = [w for w in mine if w.expression == other.expression]
                    assert any(holds(outer, inner) for outer in alike for inner in representatives)


@given(cases(), epsilons, shares, st.booleans())
def test_witnesses_are_ordered_and_a_representative_contains_no_other(
    case, epsilon, delta, all_sets
):
    check_order(case, epsilon, delta, all_sets)


@given(cases(), st.data())
def test_ids_and_measures_do_not_depend_on_the_written_order_of_operands(case, data):
    other = Case(shuffled(data.draw, case.term), case.data, case.weights, case.protected)
    assert {d.id: measures(d) for d in audited(case, all_sets=True).decompositions} == {
        d.id: measures(d) for d in audited(other, all_sets=True).decompositions
    }


@given(cases())
def test_ids_and_measures_survive_writing_and_parsing(case):
    again = Program.parse(str(case.program))
    assert again == case.program
    other = Case(again.term, case.data, case.weights, case.protected)
    assert {d.id: measures(d) for d in audited(case).decompositions} == {
        d.id: measures(d) for d in audited(other).decompositions
    }


def measures(d: pu.Decomposition) -> tuple[Any, ...]:
    return d.influence, d.reach, d.size, tuple(sorted(d.associations.items()))


# Other ways to measure influence


@given(cases())
def test_squared_change_matches_its_definition(case):
    outputs = [interpret(case.term, row) for row in case.sample.rows]
    assume(all(isinstance(v, float | bool) and math.isfinite(v) for v in outputs))
    truth = Truth(case)
    try:
        audit = audited(case, influence=pu.SquaredChange())
    except pu.DataError:  # all outputs are equal, or one becomes missing
        changes = [
            new
            for sets in truth.influences.values()
            for some in sets
            for _, _, new in case.sample.changes(truth.tree, some)
        ]
        assert len(set(outputs)) == 1 or any(not math.isfinite(new) for new in changes)
        return
    for d in audit.decompositions:
        expected = case.sample.squared_change(truth.tree, places_of(d))
        assert d.influence == pytest.approx(float(expected), rel=1e-12, abs=1e-12)


@given(cases(), shares, budgets)
def test_squared_change_on_a_small_budget_never_truncates_silently(case, delta, budget):
    outputs = [interpret(case.term, row) for row in case.sample.rows]
    assume(all(isinstance(v, float | bool) and math.isfinite(v) for v in outputs))
    if len(set(outputs)) == 1:  # squared change is undefined
        return
    truth = Truth(case)
    try:
        audit = audited(
            case, epsilon=0, delta=float(delta), budget=budget, influence=pu.SquaredChange()
        )
        strongest = {
            name: float(max(case.sample.squared_change(truth.tree, s) for s in sets))
            for name, sets in truth.influences.items()
        }
    except (pu.DataError, ValueError, OverflowError):
        assume(False)
    # Variances are divided by, so what equals delta may be rounded to either side of it.
    possible = {name for name, most in strongest.items() if most > delta - 1e-9}
    certain = {name for name, most in strongest.items() if most > delta + 1e-9}
    terms = {form(term) for term in truth.tree.terms}
    witnesses = {form(w.expression) for w in audit.witnesses}
    assert witnesses <= possible
    assert certain & terms <= witnesses or audit.unsettled
    everywhere = {(z, name) for z in case.protected for name in certain}
    assert not missing_sums(truth, audit, everywhere) or audit.searched


@given(cases(), st.integers(0, 2**32))
def test_sampled_influence_is_mostly_within_its_error(case, seed):
    """Hoeffding allows a share beta to miss; 1e-6 of them miss in no test we shall see."""
    exact = audited(case)
    sampling = pu.Sampling(alpha=0.05, beta=1e-6, seed=seed)
    sampled = audited(case, sampling=sampling)
    truth = {d.id: d.influence for d in exact.decompositions}
    for d in sampled.decompositions:
        if d.id in truth:
            assert d.influence == pytest.approx(truth[d.id], rel=0, abs=0.05)


# The facts of the design page


def test_a_masked_proxy_is_found_although_the_output_is_independent():
    program = Program.parse("ite(vitamins, ite(engaged, 'ad1', 'ad2'), ite(engaged, 'ad2', 'ad1'))")
    data = {
        "vitamins": [True, True, False, False],
        "engaged": [True, False, True, False],
        "pregnant": ["yes", "yes", "no", "no"],
    }
    audit = pu.audit(program, data, protected="pregnant", epsilon=1, delta=0)
    assert [(w.term, w.association, w.influence) for w in audit.witnesses] == [
        ("vitamins", 1.0, 0.5)
    ]
    (whole,) = (d for d in audit.decompositions if d.expression == program.term)
    assert whole.associations == {"pregnant": 0.0}
    assert whole.influence == 0.5


def test_four_products_have_the_numbers_of_the_design_page():
    program = Program.parse("ite(purchase == 'a1' or purchase == 'n1', 'ads', 'none')")
    data = {"purchase": ["a1", "a2", "n1", "n2"], "pregnant": [True, True, False, False]}
    audit = pu.audit(program, data, protected="pregnant", all_sets=True)
    by_term = {(d.term, d.occurrences): d for d in audit.decompositions}
    whole = by_term[str(program), 1]
    guard = by_term["purchase == 'a1' or purchase == 'n1'", 1]
    for d in (whole, guard):
        assert d.associations["pregnant"] == 0
        assert d.influence == 0.5
    assert by_term["purchase", 2].associations["pregnant"] == 0.5
    one = by_term["purchase == 'a1'", 1]
    assert one.associations["pregnant"] == pytest.approx(0.2075, abs=5e-5)
    assert one.influence == 0.3125


def test_a_guard_counts_three_nodes_and_a_stump_six():
    program = Program.parse("ite(x <= 1, 0, 1)")
    audit = pu.audit(program, {"x": [0, 1, 2], "z": list("aab")}, protected="z")
    assert {d.term: d.size for d in audit.decompositions} == {
        "ite(x <= 1, 0, 1)": 6,
        "x <= 1": 3,
        "x": 1,
    }


# What brute force found


PAIRS = {"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "z": ["0", "1", "1", "2"]}


def test_equal_operands_of_a_large_operator_are_not_excluded_one_by_one():
    """Each ``x + y`` moves few rows, both together move more."""
    program = Program.parse("x + x + y + y > 3.5")
    small = pu.Budget(subsets=0, search=16)
    for budget in (pu.Budget(), small):
        audit = pu.audit(program, PAIRS, protected="z", epsilon=0.9, delta=0.3, budget=budget)
        assert "x + y" in {w.term for w in audit.witnesses} or not audit.complete


def test_a_bound_on_moved_rows_excludes_nothing_by_squared_change():
    rare = {
        "x": [1] + [0] * 19,
        "y": [0, 1] + [0] * 18,
        "v": [0, 1] * 10,
        "s": [0, 0] + [1] * 18,
        "z": ["p", "p"] + ["q"] * 18,
    }
    program = Program.parse("ite(s == 0, 100 * x + 100 * y + 0 * v, 50)")
    for budget in (pu.Budget(), pu.Budget(subsets=0, search=16)):
        audit = pu.audit(
            program,
            rare,
            protected="z",
            epsilon=0.9,
            delta=0.2,
            budget=budget,
            influence=pu.SquaredChange(),
        )
        assert "100 * x + 100 * y" in {w.term for w in audit.witnesses} or not audit.complete


def test_the_sign_of_zero_matters_if_the_program_reads_it():
    """``div`` tells 0 from -0; one must not stand for the other in the sum over pairs."""
    program = Program.parse("div(1, x * y) > 0")
    influences = set()
    for order in ([0, 1, 2, 3], [1, 0, 2, 3], [3, 2, 1, 0]):
        data = {
            "x": [[0.0, 0.0, 1.0, 1.0][i] for i in order],
            "y": [[1.0, -1.0, 1.0, 1.0][i] for i in order],
        }
        audit = pu.audit(program, data, protected={"z": ["p", "q", "p", "q"]})
        influences |= {d.influence for d in audit.decompositions if d.term == "x * y"}
    assert influences == {0.375}


def test_a_number_times_a_vector_has_a_bound():
    case = Case(
        Program.parse("argmax(-2 * [a, b, 3], 'x', 'y', 'w')").term,
        {"a": [0.0, 2.0], "b": [1.0, 1.0]},
        [1.0, 1.0],
        {"z": ["p", "q"]},
    )
    check_bounds(case)


# Examples that random programs seldom hit

GRID: dict[str, list[Any]] = {
    "x": [0.0, 0.0, 1.0, 1.0, 2.0, 2.0],
    "y": [0.0, 1.0, 0.0, 1.0, 2.0, 0.0],
    "w": [0.1, 0.3, 0.1, 0.3, 0.3, 0.1],
    "g": [True, False, True, False, True, True],
    "h": [True, True, False, False, True, False],
}
EXAMPLES = [
    "x + x + y + y > 3.5",
    "x * x * y * y",
    "float32(w) <= 0.1",
    "ite(float32(w) > 0.3, h, float32(w) == 0.1 and g)",
    "ite(x < 1, 0, ite(x < 2, 1, ite(x > 1, 2, 3)))",
    "ite(x <= 0, x >= 2, x >= 1) or x != 2",
    "ite(h, ite(g, 1, 0), ite(g, 1, 0) - ite(g, 1, 0))",
    "ite(g, ite(h, g, not g), ite(h, not g, g))",
]


@pytest.mark.parametrize("text", EXAMPLES)
def test_detection_agrees_with_brute_force_on_rare_examples(text):
    case = Case(Program.parse(text).term, GRID, [1.0, 2.0, 1.0, 1.0, 3.0, 1.0], {"z": [*"ppqqrr"]})
    check_meaning(case)
    check_all_sets(case)
    check_listing(case, 0.0, Fraction(0))
    check_bounds(case)


def test_the_strongest_set_may_be_neither_one_occurrence_nor_all():
    """In the other branch two occurrences cancel, so the strongest set leaves one out."""
    program = Program.parse("ite(h, ite(g, 1, 0), ite(g, 1, 0) - ite(g, 1, 0))")
    data = {"g": [True, False] * 2, "h": [True, True, False, False], "z": [*"pqpq"]}
    audit = pu.audit(program, data, protected="z", epsilon=1, delta=0.3)
    influences = {d.occurrences: d.influence for d in audit.decompositions if d.term == "g"}
    assert influences == {1: 0.25, 2: 0.5, 3: 0.25}
    assert [w.occurrences for w in audit.witnesses if w.term == "g"] == [2]


# The same again, many more times

CHECKS: dict[str, Callable[..., None]] = {
    "meaning": lambda case, epsilon, delta, budget: check_meaning(case),
    "all sets": lambda case, epsilon, delta, budget: check_all_sets(case),
    "listing": lambda case, epsilon, delta, budget: check_listing(case, epsilon, delta),
    "budget": check_budget,
    "bounds": lambda case, epsilon, delta, budget: check_bounds(case),
    "order": lambda case, epsilon, delta, budget: check_order(case, epsilon, delta, False),
}


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS)
@thorough
@given(case=cases(most_rows=8), epsilon=epsilons, delta=shares, budget=budgets)
def test_detection_agrees_with_brute_force_on_hundreds_of_cases(
    check, case, epsilon, delta, budget
):
    CHECKS[check](case, epsilon, delta, budget)
