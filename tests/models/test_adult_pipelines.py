"""Whole pipelines trained on all of Adult: the witnesses speak of the columns of the data."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

import proxyuse as pu
from proxyuse.datasets import load_adult
from proxyuse.lang.nodes import Add, Compare, Const, Lookup, Member, Relation, Var, postorder
from proxyuse.measure.reference import Reference

ADULT = load_adult()
ADULT["married"] = ADULT["marital_status"].isin(["Married-civ-spouse", "Married-AF-spouse"])
X = ADULT.drop(columns=["income", "marital_status", "married", "fnlwgt"])
Y = (ADULT["income"] == ">50K").astype(int)
NUMBERS = list(X.select_dtypes("number"))
WORDS = [name for name in X if name not in NUMBERS]
MODELS = {
    "linear": lambda: LogisticRegression(max_iter=1000),
    "forest": lambda: RandomForestClassifier(n_estimators=5, max_depth=5, random_state=0),
    "boosted": lambda: XGBClassifier(n_estimators=8, max_depth=3),
}
VALUES = {name: {*X[name].dropna()} for name in WORDS}
ONLY_SINGLE_PARTS = pu.Budget(subsets=0, search=0, grow=0)
AUDITED = ["linear", *(pytest.param(n, marks=pytest.mark.slow) for n in ("forest", "boosted"))]


@cache
def pipeline(name):
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    columns = ColumnTransformer([("numbers", numbers, NUMBERS), ("words", words, WORDS)])
    return make_pipeline(columns, MODELS[name]()).fit(X, Y)


@cache
def audited(name):
    """An audit on all rows, of sums their operands and the whole, no subsets."""
    return pu.audit(
        pipeline(name),
        ADULT,
        ["marital_status", "married"],
        epsilon=0.2,
        budget=ONLY_SINGLE_PARTS,
    )


def normalized_information(a, b):
    """I(a; b) / H(a, b), from counts."""
    joint = pd.crosstab(a, b).to_numpy() / len(a)

    def entropy(masses):
        return -sum(mass * math.log(mass) for mass in masses.ravel() if mass > 0)

    return (entropy(joint.sum(0)) + entropy(joint.sum(1))) / entropy(joint) - 1


def share_changed(predict, data, column):
    """How often a decision changes when a column's value is that of a person drawn at random."""
    actual = predict(data)
    return sum(
        share * np.mean(predict(data.assign(**{column: value})) != actual)
        for value, share in data[column].value_counts(normalize=True).items()
    )


def of_all_places(result, term):
    """The witnesses of a term through all its places, by protected attribute."""
    places = sum(str(part) == term for part in result.program.points.terms)
    return {w.protected: w for w in result.witnesses if w.term == term and w.occurrences == places}


@pytest.mark.parametrize("name", MODELS)
def test_the_program_predicts_what_the_pipeline_predicts_on_every_row(name):
    model = pipeline(name)
    assert pu.translate(model).predict(ADULT).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("name", MODELS)
def test_the_program_reads_only_raw_columns_and_tests_categories_by_name(name):
    program = pu.translate(pipeline(name))
    assert set(program.variables) <= set(X)
    spoken_of = set()
    for part in postorder(program.term):
        match part:
            case Compare(relation, Var(column), Const(str() as value)):
                assert relation in (Relation.EQ, Relation.NE)
                assert value in VALUES[column]
                spoken_of.add(id(part.left))
            case Member(Var(column), members):
                assert {value for value in members if isinstance(value, str)} <= VALUES[column]
                spoken_of.add(id(part.operand))
            case Lookup(Var(column), entries):
                assert {key for key, _ in entries if isinstance(key, str)} <= VALUES[column]
                spoken_of.add(id(part.operand))
    bare = [
        p.name for p in postorder(program.term) if isinstance(p, Var) and id(p) not in spoken_of
    ]
    assert set(bare) <= set(NUMBERS)


def test_the_categories_of_a_column_are_one_term_of_a_linear_model():
    program = pu.translate(pipeline("linear"))
    (total,) = (part for part in postorder(program.term) if isinstance(part, Add))
    tables = [part.operand for part in total.operands if isinstance(part, Lookup)]
    assert Counter(p.name for p in tables if isinstance(p, Var)) == Counter(map(str, WORDS))
    others = [part for part in total.operands if not isinstance(part, Lookup | Const)]
    assert len(others) == len(NUMBERS)


HUSBAND = "relationship == 'Husband'"


@pytest.mark.parametrize(
    ("name", "protected", "term", "association", "influence"),
    [
        ("linear", "married", "relationship", 0.433, 0.126),
        ("linear", "marital_status", "relationship", 0.355, 0.126),
        pytest.param("forest", "married", "relationship", 0.433, 0.079, marks=pytest.mark.slow),
        pytest.param(
            "forest", "marital_status", "relationship", 0.355, 0.079, marks=pytest.mark.slow
        ),
        pytest.param("boosted", "married", HUSBAND, 0.589, 0.083, marks=pytest.mark.slow),
        pytest.param(
            "boosted", "marital_status", "relationship", 0.355, 0.085, marks=pytest.mark.slow
        ),
    ],
)
def test_the_strongest_witness_is_printed_in_raw_columns(
    name, protected, term, association, influence
):
    witnesses = [w for w in audited(name).witnesses if w.protected == protected]
    most = max(w.association for w in witnesses)
    as_strong = [w for w in witnesses if w.association > most - 1e-9]
    strongest = min(as_strong, key=lambda w: (w.size, -w.influence))
    assert strongest.term == term
    assert strongest.association == pytest.approx(association, abs=0.005)
    assert strongest.influence == pytest.approx(influence, abs=0.01)


@pytest.mark.parametrize("name", AUDITED)
def test_every_witness_reads_only_raw_columns(name):
    for witness in audited(name).witnesses:
        assert set(pu.Program.parse(witness.term).variables) <= set(X), witness.term


@pytest.mark.parametrize("name", AUDITED)
def test_the_measures_of_a_column_match_a_direct_count(name):
    witnesses = of_all_places(audited(name), "relationship")
    changed = share_changed(pipeline(name).predict, X, "relationship")
    assert set(witnesses) == {"married", "marital_status"}
    for protected, witness in witnesses.items():
        expected = normalized_information(X["relationship"], ADULT[protected])
        assert witness.association == pytest.approx(expected, abs=1e-9)
        assert witness.influence == pytest.approx(changed, abs=1e-9)


@pytest.mark.slow
def test_the_measures_of_a_test_match_a_direct_count():
    result = audited("boosted")
    rows = ADULT.assign(husband=ADULT["relationship"] == "Husband")
    text = str(result.program.term)
    assert HUSBAND in text
    rest = pu.Program.parse(text.replace(HUSBAND, "husband"))
    changed = share_changed(rest.predict, rows, "husband")
    witnesses = of_all_places(result, HUSBAND)
    for protected in ("married", "marital_status"):
        expected = normalized_information(rows["husband"], ADULT[protected])
        assert witnesses[protected].association == pytest.approx(expected, abs=1e-9)
        assert witnesses[protected].influence == pytest.approx(changed, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_strongest_witness_matches_the_definition(name):
    some = ADULT.sample(250, random_state=0)
    result = pu.audit(pipeline(name), some, "married", budget=ONLY_SINGLE_PARTS)
    strongest = max(result.witnesses, key=lambda w: w.association)
    reference = Reference(result.program, result.population)
    assert strongest.influence == pytest.approx(
        reference.influence(list(strongest.decomposition.sites)), abs=1e-12
    )


@pytest.mark.slow
def test_an_audit_names_the_strongest_witness_of_a_group():
    text = str(audited("boosted"))
    assert "The model reads `relationship`" in text
    assert "Strongest related computation: `relationship == 'Husband'`" in text
