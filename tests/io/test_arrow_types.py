"""Arrow columns of any type are read exactly, or refused if they are used, with name and type."""

from __future__ import annotations

import datetime
import decimal

import pyarrow as pa
import pyarrow.ipc
import pytest
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.cli.data_files import load_data
from proxyuse.data.table import Table
from proxyuse.errors import DataError, FileError
from proxyuse.io.table_files import read_table

N = 4
CODES = pa.array([0, 1] * 2, pa.int8())
PEOPLE = {"age": [31, 64, 25, 40], "z": ["a", "b", "a", "b"]}


def coded(values):
    return pa.DictionaryArray.from_arrays(CODES, values)


READ = {
    "decimal": (pa.array([decimal.Decimal("1.25"), None] * 2), [1.25, None]),
    "large string": (pa.array(["u", None] * 2, pa.large_string()), ["u", None]),
    "string view": (pa.array(["u", None] * 2, pa.string_view()), ["u", None]),
    "half floats": (pa.array([0.5, None] * 2, pa.float16()), [0.5, None]),
    "codes": (coded(pa.array(["u", "v"])), ["u", "v"]),
    "a code twice": (coded(pa.array(["u", "u"])), ["u", "u"]),
    "a missing code": (coded(pa.array(["u", None])), ["u", None]),
    "codes of numbers": (coded(pa.array([0.5, float("nan")])), [0.5, None]),
    "codes of decimals": (coded(pa.array([decimal.Decimal("0.5"), None])), [0.5, None]),
    "runs": (pa.RunEndEncodedArray.from_arrays([1, N], ["u", "v"]), ["u", "v"]),
    "only missing": (pa.nulls(N), [None, None]),
    "large integers": (pa.array([2**62, None] * 2), [2.0**62, None]),
}
UNUSABLE = {
    "list": (pa.array([[1]] * N), "pass each element as a separate column"),
    "list view": (pa.array([[1]] * N, pa.list_view(pa.int64())), "each element"),
    "struct": (pa.array([{"x": 1}] * N), "pass each element as a separate column"),
    "map": (pa.array([[("u", 1)]] * N, pa.map_(pa.string(), pa.int64())), "each element"),
    "binary": (pa.array([b"u"] * N), "decode bytes to strings"),
    "codes of structs": (coded(pa.array([{"x": 1}, {"x": 2}])), "got values of type dictionary<"),
    "codes of bytes": (coded(pa.array([b"u", b"v"])), "decode bytes to strings"),
    "union": (
        pa.UnionArray.from_sparse(CODES, [pa.array([1] * N), pa.array(["u"] * N)]),
        "got values of type sparse_union<",
    ),
    "date": (pa.array([datetime.date(2024, 1, 1)] * N), "convert dates to numbers"),
    "far date": (pa.array([2**40] * N, pa.timestamp("s")), "convert dates to numbers"),
    "duration": (pa.array([1] * N, pa.duration("s")), "convert durations to numbers"),
    "interval": (pa.array([(1, 2, 3)] * N, pa.month_day_nano_interval()), "got values of type"),
    "inexact integers": (pa.array([2**53 + 1, None] * 2), r"numbers beyond 2\*\*53"),
    "inexact decimals": (pa.array([decimal.Decimal(2**53 + 1)] * N), r"numbers beyond 2\*\*53"),
}


@pytest.fixture
def written(tmp_path):
    def write(**columns):
        table = pa.table(columns)
        path = tmp_path / "people.arrow"
        with pyarrow.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
        return path

    return write


@pytest.mark.parametrize("name", READ)
def test_a_column_is_read(name, written):
    column, values = READ[name]
    path = written(**PEOPLE, odd=column)
    assert Table.of(read_table(path)).column("odd").decode()[:2] == values


@pytest.mark.parametrize("name", [*READ, *UNUSABLE])
def test_a_column_that_is_not_used_stops_nothing(name, written):
    column = (READ | UNUSABLE)[name][0]
    data = load_data(written(**PEOPLE, odd=column), protected=["z"], where="age > 30")
    audit = pu.audit(pu.Program.parse("age > 35"), data.frame, data.protected)
    assert audit.complete


@pytest.mark.parametrize("name", UNUSABLE)
def test_the_error_names_the_column_its_type_and_what_to_do(name, written):
    column, message = UNUSABLE[name]
    data = load_data(written(**PEOPLE, odd=column), protected=["z"])
    with pytest.raises(DataError, match=rf"column 'odd'.*{message}"):
        pu.audit(pu.Program.parse("odd > 35"), data.frame, data.protected)


def test_the_column_that_a_model_cannot_predict_from_is_named(written):
    model = DecisionTreeClassifier().fit(pa.table({"odd": [1, 2]}).to_pandas(), [0, 1])
    data = load_data(written(**PEOPLE, odd=UNUSABLE["list"][0]), protected=["z"])
    with pytest.raises(DataError, match="column 'odd': expected numbers, booleans or strings"):
        pu.audit(model, data.frame, data.protected)


def test_keys_of_half_floats_join_and_other_keys_are_refused(written, tmp_path):
    data = tmp_path / "rows.csv"
    data.write_text("id,age\n1,31\n2,64\n")
    keyed = written(id=pa.array([1, 2, 3, 4], pa.float16()), z=PEOPLE["z"])
    joined = load_data(data, protected=["z"], protected_data=keyed, key="id")
    assert joined.protected["z"].to_list() == ["a", "b"]
    listed = written(id=UNUSABLE["list"][0], z=PEOPLE["z"])
    with pytest.raises(FileError, match="the key 'id' has type list<item: int64>; convert it"):
        load_data(data, protected=["z"], protected_data=listed, key="id")
