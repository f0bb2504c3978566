"""The axioms that proxy use should obey, on random programs.

Explicit use, preprocessing, dummy and independence are axioms of the paper. Invariance to names, to
the order of rows and to the scale of weights follows from the definitions.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.lang.build import add, conj, lookup, member
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Relation,
    Term,
    Value,
    Var,
    Vector,
)
from tests.brute import Place, are_independent, key
from tests.strategies import WORDS, Case, cases


def audited(case: Case, **options: Any) -> pu.Audit:
    return pu.audit(
        case.program, case.data, protected=case.protected, weights=case.weights, **options
    )


def measures(audit: pu.Audit) -> list[Any]:
    """All measures of all decompositions, without names."""
    return sorted(
        (d.influence, d.reach, d.size, tuple(round(a, 12) for a in d.associations.values()))
        for d in audit.decompositions
    )


def names_of(case: Case) -> list[str]:
    return list(case.program.variables)


# Explicit use


@given(cases(), st.data())
def test_reading_the_protected_attribute_with_influence_is_proxy_use(case, data):
    assume(names_of(case))
    name = data.draw(st.sampled_from(names_of(case)))
    audit = pu.audit(
        case.program,
        case.data,
        protected=name,
        weights=case.weights,
        missing_protected="category",
        epsilon=1,
        delta=0,
    )
    mine = [d for d in audit.decompositions if d.expression == Var(name)]
    strongest = max(d.influence or 0.0 for d in mine)
    explicit = [w for w in audit.witnesses if w.explicit]
    assert bool(explicit) == (strongest > 0)
    assert all(w.expression == Var(name) and w.association == 1 for w in explicit)
    declared = [use.column for use in audit.explicit if use.how == "declared"]
    assert declared == [name]


# Preprocessing


@st.composite
def guards_on_a_proxy(draw):
    """A program that decides by a bijective image of the protected attribute."""
    case = draw(cases())
    levels = draw(st.permutations([0.5, 2.0, 3.0]))
    table = lookup(Var("proxy"), list(zip(("p", "q", "r"), levels, strict=True)), 0.0)
    test = Compare(Relation.LE, add(table, Const(1.0)), Const(2.0))
    values = draw(
        st.lists(st.sampled_from("pqr"), min_size=len(case.weights), max_size=len(case.weights))
    )
    return test, {**case.data, "proxy": values}, case.weights, values


@given(guards_on_a_proxy())
def test_a_proxy_that_preprocessing_computes_is_found(drawn):
    test, data, weights, values = drawn
    kept = [v for v, weight in zip(values, weights, strict=True) if weight > 0]
    named = {"p": "one", "q": "two", "r": "three"}
    audit = pu.audit(
        pu.Program(Ite(test, Const("yes"), Const("no"))),
        data,
        protected={"z": [named[v] for v in values]},
        weights=weights,
        epsilon=1,
        delta=0,
    )
    decisions = {entry[1] + 1 <= 2 for entry in test.left.operands[0].entries if entry[0] in kept}
    witnesses = {w.term for w in audit.witnesses}
    inner = {"proxy", pu.Program(test.left.operands[0]).text_of(test.left.operands[0])}
    assert inner <= witnesses if len(decisions) == 2 else not witnesses


# Dummy


@given(cases())
def test_a_computation_without_effect_on_the_output_is_no_witness(case):
    idle = Ite(Compare(Relation.LE, Var("dummy"), Const(1.0)), Const(0.0), Const(0.0))
    unread = Case(
        Ite(Compare(Relation.GT, idle, Const(1.0)), Const(1.0), Const(0.0)),
        {**case.data, "dummy": [float(i) for i in range(len(case.weights))]},
        case.weights,
        case.protected,
    )
    audit = audited(unread, epsilon=0, delta=0)
    assert {d.influence for d in audit.decompositions} == {0.0}
    assert audit.witnesses == []


@given(cases())
def test_a_variable_the_program_never_lets_through_adds_no_witness(case):
    dummy = Compare(Relation.LE, Var("dummy"), Const(1.0))
    guarded = Ite(conj(dummy, Const(False)), case.term, case.term)
    wider = Case(
        guarded,
        {**case.data, "dummy": [float(i) for i in range(len(case.weights))]},
        case.weights,
        case.protected,
    )
    audit = audited(wider, epsilon=0, delta=0, budget=pu.Budget(occurrences=0))
    unused = [d for d in audit.decompositions if d.term.startswith("dummy")]
    assert {d.expression for d in unused} == {Var("dummy"), dummy, guarded.guard}
    assert all(d.influence == 0 for d in unused)
    assert not any(w.term.startswith("dummy") for w in audit.witnesses)


# Independence


@given(cases())
def test_a_computation_independent_of_the_protected_attribute_is_no_witness(case):
    sample = case.sample
    audit = audited(case, epsilon=1e-15, delta=0)
    witnesses = {(w.protected, w.id) for w in audit.witnesses}
    for d in audit.decompositions:
        xs = [key(v) for v in sample.values(d.expression)]
        for z, values in sample.protected.items():
            if are_independent(xs, [key(v) for v in values], sample.weights):
                assert d.associations[z] == 0.0
                assert (z, d.id) not in witnesses
            else:
                assert d.associations[z] > 0.0


@given(cases(most_rows=3), st.integers(2, 3))
def test_crossing_all_rows_with_the_protected_values_leaves_no_witness(case, values):
    """Each row once with each value: everything is independent of it."""
    rows = range(len(case.weights))
    crossed = Case(
        case.term,
        {name: [v for v in column for _ in range(values)] for name, column in case.data.items()},
        [w for w in case.weights for _ in range(values)],
        {"z": ["pqr"[k] for _ in rows for k in range(values)]},
    )
    audit = audited(crossed, epsilon=1e-15, delta=0)
    assert {a for d in audit.decompositions for a in d.associations.values()} <= {0.0}
    assert audit.witnesses == []


# Names do not matter


def renamed(term: Term, variable: dict[str, str], value: dict[Value, Value]) -> Term:
    """The term with variables and categories under other names."""

    def again(part: Term) -> Term:
        return renamed(part, variable, value)

    def const(held: Value) -> Value:
        return value.get(held, held) if isinstance(held, str) else held

    match term:
        case Const(held):
            return Const(const(held))
        case Var(name):
            return Var(variable.get(name, name))
        case Add(operands) | Mul(operands) | And(operands) | Or(operands):
            return type(term)(tuple(map(again, operands)))
        case Not(operand):
            return Not(again(operand))
        case Compare(relation, left, right, precision, missing):
            return Compare(relation, again(left), again(right), precision, missing)
        case Member(operand, members, missing):
            return member(again(operand), map(const, members), missing)
        case Ite(guard, then, otherwise):
            return Ite(again(guard), again(then), again(otherwise))
        case Vector(items):
            return Vector(tuple(map(again, items)))
        case Argmax(operand, labels):
            return Argmax(again(operand), tuple(map(const, labels)))
        case Lookup(operand, entries, default):
            return lookup(again(operand), [(const(k), v) for k, v in entries], default)
        case Call(function, arguments):
            return Call(function, tuple(map(again, arguments)))


@given(cases(), st.data())
def test_other_names_for_categories_labels_and_variables_change_no_measure(case, data):
    new_words = ["5", "", "ß", "b c", "Z"]
    new_names = ["q", "in", "A", "x y", "0", "µ", "_", "zz", "`"]
    words: dict[Value, Value] = dict(
        zip(
            (*WORDS, "yes", "no"),
            data.draw(st.permutations(new_words)),
            strict=True,
        )
    )
    variables = dict(
        zip(
            case.data,
            data.draw(st.permutations(new_names)),
            strict=True,
        )
    )
    other = Case(
        renamed(case.term, variables, words),
        {
            variables[name]: [words.get(v, v) if isinstance(v, str) else v for v in column]
            for name, column in case.data.items()
        },
        case.weights,
        case.protected,
    )
    assert measures(audited(case, all_sets=True)) == measures(audited(other, all_sets=True))


@given(cases(), st.data())
def test_other_names_for_the_protected_values_change_no_measure(case, data):
    other_names = data.draw(st.permutations([f"value {i}" for i in range(20)]))

    def again(values: list[Any]) -> list[Any]:
        seen = list(dict.fromkeys(map(key, values)))
        return [other_names[seen.index(key(v))] for v in values]

    protected = {name: again(values) for name, values in case.protected.items()}
    other = Case(case.term, case.data, case.weights, protected)
    assert measures(audited(case)) == measures(audited(other))


# Order of rows and scale of weights


@given(cases(), st.data())
def test_the_order_of_rows_changes_no_measure(case, data):
    order = data.draw(st.permutations(range(len(case.weights))))
    other = Case(
        case.term,
        {name: [column[i] for i in order] for name, column in case.data.items()},
        [case.weights[i] for i in order],
        {name: [column[i] for i in order] for name, column in case.protected.items()},
    )
    assert measures(audited(case)) == measures(audited(other))


@given(cases())
def test_a_row_of_weight_2_counts_as_two_rows(case):
    times = [int(weight) for weight in case.weights]

    def spread(column: list[Any]) -> list[Any]:
        return [v for v, count in zip(column, times, strict=True) for _ in range(count)]

    data = {name: spread(column) for name, column in case.data.items()}
    assume(all(any(v is not None for v in column) for column in data.values()))
    other = Case(
        case.term,
        data,
        [1.0] * sum(times),
        {name: spread(column) for name, column in case.protected.items()},
    )
    assert measures(audited(case)) == measures(audited(other))


@given(cases(), st.sampled_from([0.5, 3.0, 1024.0]))
def test_scaling_all_weights_changes_no_measure(case, factor):
    weights = [weight * factor for weight in case.weights]
    other = Case(case.term, case.data, weights, case.protected)
    assert measures(audited(case)) == measures(audited(other))


@given(cases(), st.lists(st.floats(0.1, 3), min_size=6, max_size=6))
def test_any_positive_weights_give_the_measures_of_their_fractions(case, weights):
    other = Case(case.term, case.data, weights[: len(case.weights)], case.protected)
    tree, sample = other.tree, other.sample
    for d in audited(other).decompositions:
        places = tree.computations
        (name,) = [n for n in places if tree.term_at(places[n][0]) == d.expression]
        if d.occurrences == len(places[name]) == 1:
            expected = float(sample.influence(tree, frozenset(places[name])))
            assert d.influence == pytest.approx(expected, rel=0, abs=1e-12)
        for z, association in d.associations.items():
            expected = sample.association(d.expression, z)
            assert association == pytest.approx(expected, rel=0, abs=1e-12)


# Duplicated columns


@given(cases(), st.data())
def test_reading_a_copy_of_a_column_changes_no_other_measure(case, data):
    assume(names_of(case))
    name = data.draw(st.sampled_from(names_of(case)))
    copy = Case(
        renamed(case.term, {name: "copy"}, {}),
        {**case.data, "copy": case.data[name]},
        case.weights,
        case.protected,
    )
    assert measures(audited(case)) == measures(audited(copy))


@given(cases(), st.data())
def test_a_copy_of_the_protected_attribute_is_a_perfect_proxy_if_it_has_influence(case, data):
    tree, sample = case.tree, case.sample
    fitting = [
        place
        for place in map(Place, range(len(tree.terms)))
        if isinstance(tree.term_at(place), Var)
    ]
    assume(fitting)
    term = tree.term_at(data.draw(st.sampled_from(fitting)))
    assert isinstance(term, Var)
    codes = [repr(key(value)) for value in case.data[term.name]]
    copied = Case(case.term, case.data, case.weights, {"z": codes})
    audit = audited(copied, epsilon=1, delta=0)
    places = [place for place in tree.places() if tree.term_at(place) == term]
    strongest = max(sample.influence(tree, some) for some in tree.sets(places))
    witnesses = [w for w in audit.witnesses if w.expression == term]
    assert bool(witnesses) == (strongest > 0)
    assert not any(w.explicit for w in witnesses)
