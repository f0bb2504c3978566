"""Any table becomes typed columns that keep the meaning of their values."""

from __future__ import annotations

import datetime
import enum
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.data.columns import Column, Kind, as_column
from proxyuse.data.table import Table
from proxyuse.errors import DataError, KindError

nan = float("nan")


def pandas_arrow(values, kind):
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


def frame_makers():
    return [
        pytest.param(pd.DataFrame, id="pandas"),
        pytest.param(pl.DataFrame, id="polars"),
        pytest.param(pa.table, id="pyarrow"),
        pytest.param(dict, id="mapping"),
    ]


each_table = pytest.mark.parametrize("make", frame_makers())


# Tables


@each_table
def test_every_table_gives_the_same_columns(make):
    table = Table.of(make({"age": [30.5, 41.0], "member": [True, False], "town": ["Ulm", "Bonn"]}))
    assert table.names == ("age", "member", "town")
    assert table.n_rows == 2
    assert [table.column(name).kind for name in table.names] == ["number", "boolean", "category"]
    assert table.column("age").values.dtype == np.float64
    assert table.column("age").decode() == [30.5, 41.0]
    assert table.column("member").values.dtype == np.bool_
    assert table.column("member").decode() == [True, False]
    assert table.column("town").values.dtype == np.int32
    assert table.column("town").values.tolist() == [1, 0]
    assert table.column("town").categories == ("Bonn", "Ulm")
    assert table.column("town").name == "town"


@each_table
def test_missing_values_stay_missing_in_every_table(make):
    table = Table.of(make({"n": [1.5, None, 2.0], "b": [True, None, False], "c": ["y", None, "x"]}))
    for name, kind, decoded in [
        ("n", Kind.NUMBER, [1.5, None, 2.0]),
        ("b", Kind.BOOLEAN, [True, None, False]),
        ("c", Kind.CATEGORY, ["y", None, "x"]),
    ]:
        column = table.column(name)
        assert column.kind is kind
        assert column.decode() == decoded
        assert column.is_missing.tolist() == [False, True, False]


@each_table
def test_an_unused_column_may_have_an_unsupported_type(make):
    when = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    table = Table.of(make({"age": [1, 2], "when": when}))
    assert table.column("age").decode() == [1.0, 2.0]
    with pytest.raises(KindError, match=r"'when'.*convert dates to numbers, e\.g\. days since"):
        table.column("when")


@each_table
def test_a_table_may_have_no_rows(make):
    table = Table.of(make({"age": np.array([], dtype=float)}))
    assert table.n_rows == 0
    assert len(table.column("age")) == 0


@each_table
def test_an_unknown_column_gets_a_suggestion(make):
    table = Table.of(make({"hours": [1], "sex": [1]}))
    with pytest.raises(DataError, match=r"has no column 'Hour'; did you mean 'hours'\?"):
        table.column("Hour")
    with pytest.raises(DataError, match=r"columns: 'hours', 'sex'$"):
        table.column("zzz")


def test_only_the_first_of_many_columns_are_listed():
    table = Table.of(np.zeros((1, 25)))
    with pytest.raises(DataError, match=r"'x19' and 5 more$"):
        table.column("qqq")


def test_a_column_is_converted_once():
    table = Table.of({"a": [1]})
    assert table.column("a") is table.column("a")


def test_a_table_of_a_table_is_itself():
    table = Table.of({"a": [1]})
    assert Table.of(table) is table


def test_an_array_names_its_columns_by_position():
    X = np.arange(6).reshape(3, 2)
    assert Table.of(X).names == ("x0", "x1")
    named = Table.of(X, names=["age", "hours"])
    assert named.column("hours").decode() == [1.0, 3.0, 5.0]


def test_an_array_must_have_as_many_columns_as_there_are_names():
    with pytest.raises(
        DataError, match=r"expected 3 columns, got 2; .*'a', 'b', 'c' in this order"
    ):
        Table.of(np.zeros((1, 2)), names=["a", "b", "c"])


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_is_an_array():
    assert Table.of(np.asmatrix([[1, 2], [3, 4]])).column("x1").decode() == [2.0, 4.0]


def test_a_masked_array_keeps_its_mask():
    X = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]])
    assert Table.of(X).column("x1").decode() == [None, 4.0]


def test_an_array_without_columns_still_has_rows():
    assert Table.of(np.zeros((3, 0))).n_rows == 3


def test_names_are_ignored_where_data_has_its_own():
    assert Table.of(pd.DataFrame({"a": [1]}), names=["b", "c"]).names == ("a",)
    assert Table.of({"a": [1]}, names=["b", "c"]).names == ("a",)


def test_a_number_may_be_a_column_name():
    for X in (pd.DataFrame({3: [7, 8], "b": [1, 2]}), {3: [7, 8], "b": [1, 2]}):
        assert Table.of(X).names == ("3", "b")
        assert Table.of(X).column("3").decode() == [7.0, 8.0]


def test_names_that_become_equal_text_are_refused():
    for X in (pd.DataFrame({3: [7], "3": [1]}), {3: [7], "3": [1]}):
        with pytest.raises(DataError, match=r"two columns have the name '3'.*rename"):
            Table.of(X)
    with pytest.raises(DataError, match=r"two columns have the name 'a'"):
        Table.of(np.zeros((1, 2)), names=["a", "a"])


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_duplicate_names_are_refused(X):
    with pytest.raises(DataError, match=r"two columns of the same name; rename one .*'a'"):
        Table.of(X)


def test_a_frame_without_columns_still_has_rows():
    assert Table.of(pd.DataFrame(index=range(3))).n_rows == 3


def test_columns_of_different_length_are_refused():
    with pytest.raises(
        DataError, match=r"'a' and 'c' have different lengths \(2 and 3\); pass one value per row"
    ):
        Table.of({"a": [1, 2], "b": [1, 2], "c": [1, 2, 3]})


def test_series_with_different_indexes_are_not_put_side_by_side():
    a, b = pd.Series([1, 2]), pd.Series([1, 2], index=[1, 0])
    with pytest.raises(DataError, match=r"'a' and 'b' have different indexes; align"):
        Table.of({"a": a, "b": b})
    assert Table.of({"a": a, "b": a + 1}).column("b").decode() == [2.0, 3.0]


def test_a_mapping_may_mix_libraries():
    table = Table.of({"a": pl.Series(["x"]), "b": pa.array([2]), "c": pd.Series([True]), "d": (1,)})
    assert [table.column(n).decode() for n in "abcd"] == [["x"], [2.0], [True], [1.0]]


@pytest.mark.parametrize("values", [3, "text", None, np.array(3), {1: 2}, {1, 2}])
def test_a_column_of_a_mapping_must_have_one_value_per_row(values):
    with pytest.raises(
        DataError, match=r"column 'a': expected one value per row, got \w+; pass a list"
    ):
        Table.of({"a": values})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1, 2]], "got list; pass a pandas, polars or pyarrow table"),
        (((1, 2),), "got tuple; pass a pandas"),
        (3, "got int; pass a pandas"),
        (np.float64(3), "got float64; pass a pandas"),
        (None, "got NoneType; pass a pandas"),
        ("data.csv", "got str; pass a pandas"),
        (object(), "builtins object; pass a pandas"),
        (pd.Series([1]), "pandas Series; pass a pandas"),
        (pl.Series([1]), "polars Series; pass a pandas"),
        (
            np.zeros(3),
            r"expected a 2-D array, got 1 dimension; .*X.reshape\(-1, 1\) for a single column",
        ),
        (np.zeros((1, 1, 1)), "expected a 2-D array, got 3 dimensions"),
        ({}, "empty mapping; pass at least one"),
        (scipy.sparse.csr_matrix(np.eye(2)), r"sparse matrix; pass X.toarray\(\)"),
        (scipy.sparse.dok_array(np.eye(2)), r"sparse matrix; pass X.toarray\(\)"),
        (pl.LazyFrame({"a": [1]}), r"lazy polars LazyFrame; call .collect\(\)"),
    ],
)
def test_an_error_for_anything_but_a_table_lists_what_to_pass(X, message):
    with pytest.raises(DataError, match=message):
        Table.of(X)


# Numbers


@pytest.mark.parametrize(
    "values",
    [
        [1, None],
        (1, None),
        [1.0, nan],
        [np.int8(1), np.float32(nan)],
        [Decimal(1), Decimal("NaN")],
        [Decimal(1), Decimal("sNaN")],
        [Fraction(1), pd.NA],
        [1, pd.NaT],
        np.array([1, nan], dtype=np.float16),
        np.array([1, nan], dtype=np.float32),
        np.array([1, nan], dtype=np.longdouble),
        np.array([1, None], dtype=object),
        np.ma.array([1, 5], mask=[False, True]),
        pd.Series([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series([1, None], dtype="UInt8"),
        pd.Series([1, None], dtype="Float32"),
        pd.Series([1, pd.NA], dtype=object),
        pd.Series([1, None], dtype="category"),
        pd.Series(pd.arrays.SparseArray([1.0, nan])),
        pandas_arrow([1, None], pa.int64()),
        pandas_arrow([Decimal(1), None], pa.decimal128(5, 2)),
        pd.Index([1.0, nan]),
        pd.array([1, None]),
        pl.Series([1, None]),
        pl.Series([1, None], dtype=pl.Int128),
        pl.Series([1, None], dtype=pl.UInt8),
        pl.Series([1.0, None], dtype=pl.Float32),
        pl.Series([1.0, nan]),
        pl.Series([Decimal(1), None]),
        pa.array([1, None]),
        pa.chunked_array([[1], [None]]),
        pa.chunked_array([[1.0, nan]]),
        pa.chunked_array([pa.array([np.float16(1), None], pa.float16())]),
        pa.chunked_array([pa.array([Decimal(1), None])]),
        pa.chunked_array([pa.array([1, None]).dictionary_encode()]),
    ],
    ids=lambda values: f"{type(values).__module__.split('.')[0]} {getattr(values, 'dtype', '')}",
)
def test_a_missing_number_is_nan(values):
    column = as_column("a", values)
    assert column.kind is Kind.NUMBER
    assert column.values.dtype == np.float64
    assert column.decode() == [1.0, None]
    assert column.categories == ()


def test_polars_null_and_nan_are_both_missing():
    assert as_column("a", pl.Series([1.0, None, nan])).is_missing.tolist() == [False, True, True]


def test_infinity_is_kept():
    for values in ([np.inf, -np.inf], np.array([np.inf, -np.inf]), pl.Series([np.inf, -np.inf])):
        assert as_column("a", values).decode() == [np.inf, -np.inf]


@pytest.mark.parametrize("n", [2**53, -(2**53), 2**60, 2**53 + 2])
def test_large_whole_numbers_that_float64_holds_are_kept(n):
    for values in ([n], np.array([n]), pd.Series([n]), pl.Series([n]), [Decimal(n)]):
        assert as_column("a", values).decode() == [float(n)]


@pytest.mark.parametrize(
    "values",
    [
        [2**53 + 1],
        [1, -(2**53) - 1],
        [10**400],
        [Decimal("1e400")],
        [np.int64(2**53 + 1)],
        np.array([0, 2**63 - 1]),
        np.array([2**64 - 1], dtype=np.uint64),
        pd.Series([2**53 + 1]),
        pd.Series([2**53 + 1, None], dtype="Int64"),
        pandas_arrow([2**53 + 1, None], pa.int64()),
        pd.Series([2**53 + 1, 1], dtype="category"),
        pl.Series([2**53 + 1, None]),
        pl.Series([2**53 + 1], dtype=pl.Int128),
        pa.chunked_array([[2**53 + 1, None]]),
        pa.array([2**53 + 1, None]),
    ],
)
def test_a_whole_number_that_float64_would_change_is_refused(values):
    with pytest.raises(
        DataError, match=r"column 'id' has .*beyond 2\*\*53.*identifiers to strings"
    ):
        as_column("id", values)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53), st.floats(allow_nan=False))))
def test_numbers_survive_a_round_trip(values):
    assert as_column("a", values).decode() == [None if v is None else float(v) for v in values]


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_an_integer_array_is_either_exact_or_refused(values):
    exact = all(int(float(v)) == v for v in values)
    try:
        column = as_column("a", np.array(values, dtype=np.int64))
    except DataError:
        assert not exact
    else:
        assert exact
        assert column.decode() == values


def test_a_column_does_not_change_with_the_callers_array():
    for X in (np.ones(2), np.array([True, True])):
        column = as_column("a", X)
        X[0] = 0
        assert column.decode() == [1, 1]


@pytest.mark.parametrize(
    "values",
    [
        [None, nan, pd.NA, pd.NaT, np.datetime64("NaT")],
        pl.Series([None] * 5),
        pa.nulls(5),
        pa.chunked_array([pa.nulls(5)]),
        pd.Series([None] * 5, dtype=object),
    ],
)
def test_a_column_with_only_missing_values_is_numeric(values):
    column = as_column("a", values)
    assert column.kind is Kind.NUMBER
    assert column.decode() == [None] * 5


# Booleans


@pytest.mark.parametrize(
    "make",
    [
        list,
        lambda v: np.array(v, dtype=object),
        lambda v: pd.Series(v, dtype=object),
        lambda v: pd.Series(v, dtype="boolean"),
        lambda v: pd.Series(v, dtype="category"),
        lambda v: pandas_arrow(v, pa.bool_()),
        pl.Series,
        pa.array,
        lambda v: pa.chunked_array([v]),
        lambda v: pa.chunked_array([pa.array(v).dictionary_encode()]),
    ],
)
def test_a_boolean_stays_boolean_with_and_without_missing_values(make):
    full = as_column("a", make([True, False]))
    assert full.kind is Kind.BOOLEAN
    assert full.values.dtype == np.bool_
    assert full.values.tolist() == [True, False]
    assert not full.is_missing.any()
    partial = as_column("a", make([True, None, False]))
    assert partial.kind is Kind.BOOLEAN
    assert partial.values.dtype == np.float64
    assert partial.decode() == [True, None, False]


@pytest.mark.parametrize("missing", [None, nan, pd.NA, pd.NaT])
def test_an_object_column_of_booleans_is_boolean_whatever_stands_for_missing(missing):
    values = pd.Series([True, missing, np.bool_(False)], dtype=object)
    assert as_column("a", values).kind is Kind.BOOLEAN
    assert as_column("a", values).decode() == [True, None, False]


def test_a_nullable_boolean_without_missing_values_is_a_bool_array():
    assert as_column("a", pd.Series([True], dtype="boolean")).values.dtype == np.bool_


# Categories


@pytest.mark.parametrize(
    "values",
    [
        ["b", None, "a "],
        ["b", nan, np.str_("a ")],
        np.array(["b", None, "a "], dtype=object),
        pd.Series(["b", None, "a "]),
        pd.Series(["b", None, "a "], dtype="string"),
        pd.Series(["b", None, "a "], dtype=pd.StringDtype("python")),
        pd.Series(["b", pd.NA, "a "], dtype=object),
        pd.Series(["b", pd.NaT, "a "], dtype=object),
        pd.Series(["b", None, "a "], dtype="category"),
        pd.Series(pd.Categorical(["b", None, "a "], categories=["z", "b", "a "], ordered=True)),
        pandas_arrow(["b", None, "a "], pa.string()),
        pandas_arrow(["b", None, "a "], pa.dictionary(pa.int32(), pa.string())),
        pl.Series(["b", None, "a "]),
        pl.Series(["b", None, "a "], dtype=pl.Categorical),
        pl.Series(["b", None, "a "], dtype=pl.Enum(["z", "b", "a "])),
        pa.array(["b", None, "a "]),
        pa.chunked_array([["b", None], ["a "]]),
        pa.chunked_array([pa.array(["b", None, "a "], pa.large_string())]),
        pa.chunked_array([pa.array(["b", None, "a "], pa.string_view())]),
        pa.chunked_array([pa.array(v).dictionary_encode() for v in (["b", None], ["a "])]),
    ],
    ids=lambda v: (
        f"{type(v).__module__.split('.')[0]} {getattr(v, 'dtype', getattr(v, 'type', ''))}"
    ),
)
def test_strings_are_categories_sorted_with_only_those_present(values):
    column = as_column("a", values)
    assert column.kind is Kind.CATEGORY
    assert column.values.dtype == np.int32
    assert column.categories == ("a ", "b")
    assert column.values.tolist() == [1, -1, 0]


@pytest.mark.parametrize("dtype", ["U", "T", object])
def test_numpy_strings_are_categories(dtype):
    kind = np.dtypes.StringDType() if dtype == "T" else dtype
    column = as_column("a", np.array(["b", "a", "b"], dtype=kind))
    assert (column.categories, column.values.tolist()) == (("a", "b"), [1, 0, 1])
    assert all(type(label) is str for label in column.categories)


@each_table
def test_the_empty_string_is_a_category_like_any_other(make):
    column = Table.of(make({"a": ["", "x", None]})).column("a")
    assert column.categories == ("", "x")
    assert column.values.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    "values",
    [
        ["a\ud800", "b"],
        np.array(["a\ud800", "b"]),
        pd.Series(["a\ud800", "b"], dtype=object),
        pd.Series(["a\ud800", "b"], dtype="string[python]"),
    ],
)
def test_a_lone_surrogate_is_kept(values):
    assert as_column("a", values).decode() == ["a\ud800", "b"]


def test_a_member_of_a_string_enumeration_is_its_string():
    color = enum.StrEnum("color", {"RED": "red"})
    plain = enum.Enum("plain", {"BLUE": "blue"}, type=str)
    column = as_column("a", [color.RED, plain.BLUE])
    assert column.categories == ("blue", "red")
    assert {type(label) for label in column.categories} == {str}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pd.Series([None], dtype="str"), Kind.CATEGORY),
        (pl.Series([None], dtype=pl.String), Kind.CATEGORY),
        (pl.Series([None], dtype=pl.Enum(["a"])), Kind.CATEGORY),
        (pl.Series([None], dtype=pl.Categorical), Kind.CATEGORY),
        (pa.chunked_array([pa.array([None], pa.string())]), Kind.CATEGORY),
        (pd.Series(pd.Categorical([None], categories=["a"])), Kind.CATEGORY),
        (pd.Series(pd.Categorical([None], categories=[1])), Kind.NUMBER),
        (pd.Series(pd.Categorical([None], categories=[True])), Kind.BOOLEAN),
    ],
)
def test_a_typed_column_keeps_its_kind_when_all_is_missing(values, kind):
    column = as_column("a", values)
    assert column.kind is kind
    assert column.decode() == [None]


@given(st.lists(st.one_of(st.none(), st.text())))
def test_strings_survive_a_round_trip(values):
    column = as_column("a", np.array([*values, "x"], dtype=object))
    assert column.decode() == [*values, "x"]
    assert list(column.categories) == sorted(set(values) - {None} | {"x"})


@given(st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "A", "ä", "b "])), min_size=1))
def test_libraries_agree_on_strings(values):
    columns = [
        as_column("a", series)
        for series in (
            pd.Series(values, dtype="str"),
            pd.Series(values, dtype="category")
            if any(values)
            else pl.Series(values, dtype=pl.String),
            pl.Series(values, dtype=pl.String),
            pa.chunked_array([pa.array(values, pa.string()).dictionary_encode()]),
        )
    ]
    assert {column.kind for column in columns} == {Kind.CATEGORY}
    assert len({column.categories for column in columns}) == 1
    assert all(column.decode() == values for column in columns)


# Unsupported values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [1, "a"],
            r"mixes kinds category and number, e\.g\. 'a' \(str\) and 1 \(int\); convert all",
        ),
        (
            [True, 2],
            r"mixes kinds boolean and number, e\.g\. True \(bool\) and 2 \(int\); convert all",
        ),
        ([True, 1.5], r"mixes kinds boolean and number"),
        (["a", True], r"mixes kinds boolean and category, e\.g\. True \(bool\) and 'a' \(str\)"),
        (pd.Series([1, "a", None], dtype=object), r"mixes kinds category and number"),
        (pd.Series([1, "a"], dtype="category"), r"mixes kinds category and number"),
    ],
)
def test_mixed_kinds_are_refused_with_an_example_of_each(values, message):
    with pytest.raises(KindError, match=f"column 'odd' {message}"):
        as_column("odd", values)


dates = "convert dates to numbers, e.g. days since a reference date"
durations = "convert durations to numbers"
parts = "pass the real and imaginary parts, or the absolute value"
elements = "pass each element as a separate column"
day = datetime.date(2020, 1, 2)
delta = datetime.timedelta(hours=3)


@pytest.mark.parametrize(
    ("values", "advice"),
    [
        ([day], dates),
        ([datetime.datetime(2020, 1, 2)], dates),
        ([pd.Timestamp("2020")], dates),
        ([np.datetime64("2020")], dates),
        (np.array(["2020"], dtype="datetime64[D]"), dates),
        (pd.Series(pd.to_datetime(["2020"])), dates),
        (pd.Series(pd.to_datetime(["2020"]).tz_localize("UTC")), dates),
        (pd.Series(pd.period_range("2020", periods=1, freq="D")), dates),
        (pd.Series(pd.to_datetime(["2020"])).astype("category"), dates),
        (pl.Series([day]), dates),
        (pa.chunked_array([[day]]), dates),
        (pa.array([day]), dates),
        ([delta], durations),
        ([np.timedelta64(1, "s")], durations),
        (np.array([1], dtype="timedelta64[s]"), durations),
        (pd.Series([pd.Timedelta(1)]), durations),
        (pl.Series([delta]), durations),
        (pa.chunked_array([[delta]]), durations),
        (pl.Series([datetime.time(1)]), "convert times to numbers"),
        ([b"x"], "decode bytes to strings"),
        (np.array([b"x"]), "decode bytes to strings"),
        (pl.Series([b"x"]), "decode bytes to strings"),
        (pa.chunked_array([[b"x"]]), "decode bytes to strings"),
        ([1j], parts),
        (np.array([1j]), parts),
        (pd.Series([1j]), parts),
        ([[1, 2]], elements),
        ([{"a": 1}], elements),
        ([np.zeros(2)], elements),
        (pl.Series([[1, 2]]), elements),
        (pl.Series([{"a": 1}]), elements),
        (pa.chunked_array([[[1, 2]]]), elements),
        ([object()], "convert them to numbers, booleans or strings"),
        (pd.Series(pd.interval_range(0, 1)), "convert them to numbers, booleans or strings"),
        (pl.Series([object()], dtype=pl.Object), "convert them to numbers, booleans or strings"),
    ],
)
def test_unsupported_types_are_refused_with_advice(values, advice):
    with pytest.raises(KindError) as caught:
        as_column("odd", values)
    assert str(caught.value).startswith(
        "column 'odd': expected numbers, booleans or strings, got values "
    )
    assert str(caught.value).split("; ")[-1].startswith(advice)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros((2, 1)),
            r"expected a 1-D array, got 2 dimensions; pass one value per row, e\.g\. values\.ravel",
        ),
        (
            pd.DataFrame({"a": [1]}),
            "expected one column, got a whole table; pass one of its columns",
        ),
        (
            pl.DataFrame({"a": [1]}),
            "expected one column, got a whole table; pass one of its columns",
        ),
        (pl.col("a"), "expected one value per row, got Expr"),
        ("text", "expected one value per row, got str"),
        (None, "expected one value per row, got NoneType"),
        (2.5, "expected one value per row, got float"),
    ],
)
def test_an_error_for_anything_but_a_column_lists_what_to_pass(values, message):
    with pytest.raises(DataError, match=f"column 'odd': {message}"):
        as_column("odd", values)


# Columns


def test_rows_are_taken_by_mask_or_index_and_categories_stay():
    column = as_column("a", ["x", "y", None])
    assert column.take(np.array([False, True, True])).decode() == ["y", None]
    taken = column.take(np.array([1, 1]))
    assert taken.decode() == ["y", "y"]
    assert taken.categories == ("x", "y")
    assert (taken.name, len(taken)) == ("a", 2)


def test_booleans_become_a_bool_array_once_the_missing_rows_are_gone():
    column = as_column("a", [True, None, False])
    assert column.take(~column.is_missing).values.dtype == np.bool_
    assert column.take(np.array([0, 1])).decode() == [True, None]


def test_a_column_can_be_given_another_name():
    column = as_column("a", ["x"])
    renamed = as_column("b", column)
    assert isinstance(renamed, Column)
    assert (renamed.name, renamed.decode()) == ("b", ["x"])


def test_values_beside_a_table_have_its_rows_and_its_index():
    X = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    z = pd.Series([5, 6], index=["p", "q"])
    assert Table.of(X).beside("z", z).decode() == [5.0, 6.0]
    assert Table.of(X).beside("z", [5, 6]).decode() == [5.0, 6.0]
    with pytest.raises(
        DataError, match=r"index of 'z'.*align it first, e\.g\. with z\.loc\[X\.index\]"
    ):
        Table.of(X).beside("z", z[::-1])
    with pytest.raises(DataError, match=r"'z' has 1 values but the data has 2 rows"):
        Table.of(X).beside("z", z[:1])


# Cost


def test_lists_and_arrays_need_no_data_frame_library():
    code = (
        "import sys; from proxyuse.data.table import Table;"
        "t = Table.of({'a': [1, 2], 'b': ['x', 'y']}); t.column('a'), t.column('b');"
        "loaded = {'narwhals', 'pandas', 'polars', 'pyarrow'} & set(sys.modules);"
        "sys.exit(str(loaded) if loaded else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
