"""A population is a finite weighted sample with protected attributes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.data.columns import Kind
from proxyuse.data.population import Population
from proxyuse.errors import DataError, KindError
from proxyuse.notes import MissingCounted, MissingDropped, NoteKind, RowCount, ZeroWeight

DATA = {"age": [20, 30, 40], "sex": ["f", "m", "f"], "race": ["a", "b", "b"], "w": [1, 2, 3]}

each_table = pytest.mark.parametrize(
    "make",
    [
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(pl.DataFrame, id="polars"),
        pytest.param(pa.table, id="pyarrow"),
        pytest.param(dict, id="mapping"),
    ],
)


def described(people):
    return [(p.name, p.column.name, p.column.decode(), p.source) for p in people.protected]


# Protected attributes


@each_table
def test_a_protected_attribute_is_named_by_its_column(make):
    people = Population.build(make(DATA), protected="sex", variables=["age"])
    assert described(people) == [("sex", "sex", ["f", "m", "f"], "sex")]
    assert list(people.columns) == ["age"]
    assert people.columns["age"].decode() == [20.0, 30.0, 40.0]
    assert people.notes == ()


@each_table
@pytest.mark.parametrize("several", [list, tuple])
def test_several_protected_attributes_are_named_in_order(make, several):
    people = Population.build(make(DATA), protected=several(["race", "sex"]))
    assert [p.name for p in people.protected] == ["race", "sex"]
    assert [p.source for p in people.protected] == ["race", "sex"]


@each_table
def test_a_mapping_takes_column_names_and_values(make):
    people = Population.build(make(DATA), protected={"gender": "sex", "ill": [True, False, True]})
    assert described(people) == [
        ("gender", "gender", ["f", "m", "f"], "sex"),
        ("ill", "ill", [True, False, True], None),
    ]


def test_a_column_name_may_be_a_number():
    X = pd.DataFrame({0: [1, 2], 1: ["a", "b"]})
    for protected in (1, [1], np.int64(1), "1"):
        assert described(Population.build(X, protected=protected)) == [("1", "1", ["a", "b"], "1")]
    assert Population.build(X, protected={"z": 1}).protected[0].source == "1"


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (pd.Series(["x", "y", "x"], name="faith"), "faith"),
        (pl.Series("faith", ["x", "y", "x"]), "faith"),
        (pd.Series(["x", "y", "x"], name=7), "7"),
        (pd.Series(["x", "y", "x"]), "protected"),
        (pl.Series(["x", "y", "x"]), "protected"),
        (pa.array(["x", "y", "x"]), "protected"),
        (np.array(["x", "y", "x"]), "protected"),
        (["x", "y", "x"], "protected"),
        (("x", "y", "x"), "protected"),
    ],
)
def test_values_are_named_after_their_series(values, name):
    people = Population.build(DATA, protected=values)
    assert described(people) == [(name, name, ["x", "y", "x"], None)]


def test_a_list_of_numbers_is_a_list_of_values_unless_all_are_columns():
    people = Population.build(DATA, protected=[0, 1, 1])
    assert described(people) == [("protected", "protected", [0.0, 1.0, 1.0], None)]
    X = pd.DataFrame(np.eye(3))
    assert [p.name for p in Population.build(X, protected=[0, 1]).protected] == ["0", "1"]
    with pytest.raises(DataError, match=r"'0' appears twice.*to pass values, use a mapping"):
        Population.build(X, protected=[0, 1, 0])


def test_a_protected_attribute_may_have_one_value():
    people = Population.build(DATA, protected=["x", "x", "x"])
    assert people.protected[0].column.categories == ("x",)
    assert people.notes == ()


@pytest.mark.parametrize("protected", [None, [], (), {}])
def test_there_must_be_a_protected_attribute(protected):
    with pytest.raises(
        DataError, match=r"protected: expected at least one attribute, got none; name a column"
    ):
        Population.build(DATA, protected=protected)


def test_a_protected_attribute_is_given_once():
    with pytest.raises(
        DataError, match=r"protected attribute 'sex' appears twice; list each attribute once"
    ):
        Population.build(DATA, protected=["sex", "sex"])
    with pytest.raises(DataError, match=r"'1' appears twice"):
        Population.build(DATA, protected={1: "sex", "1": "race"})


@pytest.mark.parametrize("protected", ["Sexx", ["Sexx"], ["race", "Sexx"], {"z": "Sexx"}])
def test_an_unknown_protected_column_gets_a_suggestion(protected):
    message = r"'Sexx' is not a column of the data; name a column or pass .*did you mean 'sex'\?"
    with pytest.raises(DataError, match=message):
        Population.build(DATA, protected=protected)


def test_a_list_that_names_a_known_column_is_names_even_with_one_entry_per_row():
    with pytest.raises(DataError, match=r"'rase' is not a column.*did you mean 'race'"):
        Population.build(DATA, protected=["sex", "rase", "age"])


@pytest.mark.parametrize("protected", [[0, 1], np.array(["x", "y"]), {"protected": ["x", "y"]}])
def test_protected_values_have_one_entry_per_row(protected):
    with pytest.raises(
        DataError, match=r"'protected' has 2 values but the data has 3 rows; pass one"
    ):
        Population.build(DATA, protected=protected)


def test_a_whole_table_of_protected_values_is_refused():
    with pytest.raises(DataError, match=r"whole table; pass a mapping of names to its columns"):
        Population.build(DATA, protected=pd.DataFrame(DATA)[["sex"]])
    with pytest.raises(
        DataError,
        match=r"'protected': expected a 1-D array, got 2 dimensions; pass one value per row",
    ):
        Population.build(DATA, protected=np.zeros((3, 1)))


@pytest.mark.parametrize("protected", [True, 2.5])
def test_a_single_value_is_not_a_protected_attribute(protected):
    with pytest.raises(DataError, match=r"'protected': expected one value per row, got \w+; pass"):
        Population.build(DATA, protected=protected)


# Rows that must be the same rows


@pytest.mark.parametrize("wrap", [lambda z: z, lambda z: {"z": z}], ids=["series", "mapping"])
def test_a_protected_series_with_another_index_is_refused(wrap):
    X = pd.DataFrame(DATA)
    z = pd.Series([1, 0, 0], name="z")
    assert described(Population.build(X, protected=wrap(z)))[0][2] == [1.0, 0.0, 0.0]
    for other in (z[::-1], z.set_axis([5, 6, 7])):
        with pytest.raises(
            DataError, match=r"index of 'z'.*align it first, e\.g\. .*z\.loc\[X\.index\]"
        ):
            Population.build(X, protected=wrap(other))


def test_a_weight_series_with_another_index_is_refused():
    X = pd.DataFrame(DATA).sample(frac=1, random_state=1)
    w = pd.Series([1.0, 2.0, 3.0])
    with pytest.raises(DataError, match=r"index of 'weights'.*align it first"):
        Population.build(X, protected="sex", weights=w)
    aligned = Population.build(X, protected="sex", weights=w.loc[X.index])
    assert aligned.weights.tolist() == aligned.columns["w"].decode()


def test_an_index_does_not_matter_where_the_data_has_none():
    z = pd.Series([1, 0, 0], index=[7, 8, 9])
    for X in (pl.DataFrame(DATA), DATA):
        assert described(Population.build(X, protected=z))[0][2] == [1.0, 0.0, 0.0]


def test_the_index_of_series_in_a_mapping_counts():
    X = {"age": pd.Series([1, 2], index=["p", "q"])}
    with pytest.raises(DataError, match="index of 'z'"):
        Population.build(X, protected={"z": pd.Series([0, 1])})


# Weights


def test_without_weights_every_row_counts_once():
    people = Population.build(DATA, protected="sex")
    assert people.weights.dtype == np.float64
    assert people.weights.tolist() == [1.0, 1.0, 1.0]
    assert (people.n_rows, people.total, people.whole_weights) == (3, 3.0, True)


@each_table
def test_weights_are_a_column_or_values(make):
    X = make(DATA)
    for weights in ("w", [1, 2, 3], np.array([1, 2, 3]), pl.Series([1, 2, 3]), pa.array([1, 2, 3])):
        people = Population.build(X, protected="sex", weights=weights)
        assert people.weights.tolist() == [1.0, 2.0, 3.0]
        assert (people.total, people.whole_weights) == (6.0, True)


def test_weights_may_be_a_column_named_by_a_number():
    X = pd.DataFrame({0: [1, 2], 1: [3, 4]})
    assert Population.build(X, protected=0, weights=1).weights.tolist() == [3.0, 4.0]


def test_fractional_weights_are_recognized():
    assert not Population.build(DATA, protected="sex", weights=[1, 2.5, 3]).whole_weights


@given(st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=50))
def test_the_total_is_the_correctly_rounded_sum(weights):
    people = Population.build({"a": weights}, protected="a", weights=weights)
    assert people.total == math.fsum(weights)


@each_table
def test_rows_of_weight_0_are_dropped_with_a_note(make):
    people = Population.build(make(DATA), protected=["sex", "race"], weights=[2, 0, 0.5])
    assert people.n_rows == 2
    assert people.weights.tolist() == [2.0, 0.5]
    assert people.columns["age"].decode() == [20.0, 40.0]
    assert [p.column.decode() for p in people.protected] == [["f", "f"], ["a", "b"]]
    assert people.protected[0].column.categories == ("f", "m")
    assert people.notes == (ZeroWeight(RowCount(1)),)
    assert people.notes[0].kind is NoteKind.DROPPED


def test_several_rows_of_weight_0_are_counted():
    people = Population.build(DATA, protected="sex", weights=[0, 0, 1])
    assert people.notes == (ZeroWeight(RowCount(2)),)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            [1, None, np.nan],
            r"weights: missing in 2 rows \(index 1, 2\); fill in",
        ),
        ([np.inf, 1, 1], r"weights: infinite in 1 row \(index 0\); pass finite"),
        (
            [1, -1, -2],
            r"weights: negative in 2 rows \(index 1, 2\); pass weights of 0 or more",
        ),
        ([1, -np.inf, 2], r"weights: infinite in 1 row \(index 1"),
        ([0, 0, 0], r"weights: all 3 are 0; at least one row needs a positive weight"),
        ([1e308, 1e308, 1e308], r"weights: their sum is too large for float64; scale them down"),
        ([1, 2], r"'weights' has 2 values but the data has 3 rows; pass one value per row"),
        ("ww", r"weights: the data has no column 'ww'; name a column or pass.*did you mean 'w'"),
    ],
)
def test_weights_that_cannot_be_used_are_refused(weights, message):
    with pytest.raises(DataError, match=message):
        Population.build(DATA, protected="sex", weights=weights)


@pytest.mark.parametrize(
    ("weights", "kind"), [(["1", "2", "3"], "category"), ([True] * 3, "boolean")]
)
def test_weights_are_numbers(weights, kind):
    with pytest.raises(KindError, match=f"weights: expected numbers, got values of kind {kind}"):
        Population.build(DATA, protected="sex", weights=weights)
    with pytest.raises(KindError, match=r"weights \(column 'sex'\): expected numbers"):
        Population.build(DATA, protected="race", weights="sex")


def test_only_the_first_of_many_wrong_rows_are_listed():
    with pytest.raises(DataError, match=r"9 rows \(index 0, 1, 2, 3, 4, \.\.\.\)"):
        Population.build({"a": range(9)}, protected="a", weights=[-1] * 9)


# Missing protected values


def with_gaps(make):
    return make(
        {"age": [1, 2, 3, 4], "sex": ["f", None, "m", "f"], "ill": [True, None, None, False]}
    )


@each_table
def test_missing_protected_values_are_refused_unless_a_choice_is_made(make):
    message = r"'sex' is missing in 1 row \(index 1.*missing_protected=\"drop\".*\"category\""
    with pytest.raises(DataError, match=message):
        Population.build(with_gaps(make), protected="sex")


@each_table
def test_rows_with_any_missing_protected_value_are_dropped_on_demand(make):
    people = Population.build(with_gaps(make), protected=["sex", "ill"], missing_protected="drop")
    assert people.columns["age"].decode() == [1.0, 4.0]
    assert people.protected[1].column.values.dtype == np.bool_
    assert len(people.weights) == 2
    assert people.notes == (MissingDropped(("sex", "ill"), RowCount(2)),)


@each_table
def test_missing_counts_as_a_value_on_demand(make):
    people = Population.build(
        with_gaps(make), protected=["sex", "ill"], missing_protected="category"
    )
    assert people.n_rows == 4
    assert people.protected[0].column.decode() == ["f", None, "m", "f"]
    assert people.protected[1].column.decode() == [True, None, None, False]
    assert [note.kind for note in people.notes] == [NoteKind.MISSING] * 2
    assert people.notes[1] == MissingCounted("ill", RowCount(2, private=True))


def test_a_missing_value_in_a_row_of_weight_0_does_not_matter():
    people = Population.build(with_gaps(dict), protected="sex", weights=[1, 0, 1, 1])
    assert people.protected[0].column.decode() == ["f", "m", "f"]


def test_an_unknown_choice_for_missing_values_is_refused():
    with pytest.raises(DataError, match=r"missing_protected: expected 'refuse', .*got 'keep'"):
        Population.build(DATA, protected="sex", missing_protected="keep")  # type: ignore[arg-type]


# Rows and columns


@each_table
def test_there_must_be_rows(make):
    with pytest.raises(DataError, match="the data has no rows; pass at least one"):
        Population.build(make({"a": np.array([], dtype=float)}), protected="a")


def test_rows_must_remain():
    with pytest.raises(DataError, match=r"no rows remain.*pass missing_protected=\"category\""):
        Population.build(DATA, protected={"z": [None] * 3}, missing_protected="drop")


def test_all_columns_are_included_by_default():
    assert list(Population.build(DATA, protected="sex").columns) == list(DATA)
    assert list(Population.build(DATA, protected="sex", variables=["w", "age"]).columns) == [
        "w",
        "age",
    ]
    assert dict(Population.build(DATA, protected="sex", variables=[]).columns) == {}


def test_only_selected_columns_must_have_supported_types():
    X = {**DATA, "odd": [object()] * 3}
    assert list(Population.build(X, protected="sex", variables=["age"]).columns) == ["age"]
    with pytest.raises(KindError, match="'odd'"):
        Population.build(X, protected="sex")


@each_table
def test_a_wanted_column_that_the_data_lacks_gets_a_suggestion(make):
    message = (
        r"the program reads the column 'ages', but the data has no such column; "
        r"did you mean 'age'\?"
    )
    with pytest.raises(DataError, match=message):
        Population.build(make(DATA), protected="sex", variables=["ages"])


def test_an_array_takes_the_names_it_is_given():
    X = np.array([[1.0, 0.0], [2.0, 1.0]])
    people = Population.build(X, protected="z", names=["a", "z"], variables=["a"])
    assert people.columns["a"].kind is Kind.NUMBER
    assert people.protected[0].column.decode() == [0.0, 1.0]
    assert list(Population.build(X, protected="x1").columns) == ["x0", "x1"]


def test_a_population_does_not_change_with_the_callers_data():
    X, w = np.ones((2, 1)), np.ones(2)
    people = Population.build(X, protected="x0", weights=w)
    X[0], w[0] = 5, 5
    assert people.columns["x0"].decode() == [1.0, 1.0]
    assert people.weights.tolist() == [1.0, 1.0]
