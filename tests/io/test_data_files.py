"""Data files are read as they are meant, or refused with what, where and what to do."""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import pickle
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.cli.data_files import load_data, read_table
from proxyuse.errors import DataError, FileError
from proxyuse.io.table_files import open_table
from proxyuse.notes import (
    ConditionHolds,
    ConditionMissing,
    ConditionReadsMissing,
    RowCount,
    TakenAsMissing,
    TakenFromProtected,
    UnmatchedProtected,
)

PEOPLE = {"age": [31, 64, None, 25], "country": ["NA", "SE", None, "?"], "member": [True] * 4}


def write_csv(path, table):
    table.to_pandas().to_csv(path, index=False)


def write_parquet(path, table):
    pyarrow.parquet.write_table(table, path, row_group_size=2)


def write_ipc(path, table):
    with pyarrow.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)


def write_stream(path, table):
    with pyarrow.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table)


def write_feather(path, table):
    pyarrow.feather.write_feather(table, path, compression="lz4")


TYPED = {
    "parquet": write_parquet,
    "arrow": write_ipc,
    "arrows": write_stream,
    "feather": write_feather,
}
WRITERS = {"csv": write_csv, **TYPED}
each_format = pytest.mark.parametrize("suffix", WRITERS)
each_typed_format = pytest.mark.parametrize("suffix", TYPED)


def table_file(folder, suffix, columns, name="table"):
    path = folder / f"{name}.{suffix}"
    WRITERS[suffix](path, pa.table(columns))
    return path


def csv_file(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refused(path, *messages):
    with pytest.raises(FileError) as caught:
        read_table(path)
    message = str(caught.value)
    assert str(path) in message
    for words in messages:
        assert words in message
    return message


@contextmanager
def somebody_else():
    """Give up the rights of root, which no permission stops."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield


# What is read


@each_format
def test_all_formats_give_the_same_table(tmp_path, suffix):
    table = read_table(table_file(tmp_path, suffix, PEOPLE))
    assert list(table.columns) == ["age", "country", "member"]
    assert table["age"].isna().to_list() == [False, False, True, False]
    assert table["age"].dropna().to_list() == [31, 64, 25]
    assert table["country"].isna().to_list() == [False, False, True, False]
    assert table["country"].dropna().to_list() == ["NA", "SE", "?"]
    assert table["member"].to_list() == [True] * 4


@each_format
@pytest.mark.parametrize("other", ["csv", "parquet", "dat", "txt", "arrow"])
def test_the_content_says_what_a_file_is_and_not_the_suffix(tmp_path, suffix, other):
    path = table_file(tmp_path, suffix, PEOPLE)
    renamed = path.rename(tmp_path / f"renamed.{other}")
    assert read_table(str(renamed))["country"].dropna().to_list() == ["NA", "SE", "?"]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("packed", [False, True])
def test_csv_files_differ_in_many_ways(tmp_path, bom, end, separator, packed):
    rows = [["name", "height"], ["Åsa", "1.5"], ['"a, b; c"', "2"]]
    raw = bom + "".join(separator.join(row) + end for row in rows).encode()
    path = csv_file(tmp_path, gzip.compress(raw) if packed else raw, "table.csv.gz")
    table = read_table(path)
    assert table.to_dict("list") == {"name": ["Åsa", "a, b; c"], "height": [1.5, 2.0]}


@pytest.mark.parametrize(
    ("name", "header", "row", "columns"),
    [
        ("a.csv", "a;b,c;d", "1;2;3", ["a", "b,c", "d"]),
        ("a.csv", '"a;b;c",d', "1,2", ["a;b;c", "d"]),
        ("a.csv", '"x";"y"', "1;2", ["x", "y"]),
        ("a.csv", "a,b;c", "1,2", ["a", "b;c"]),
        ("a.tsv", "a,b\tc", "1\t2", ["a,b", "c"]),
        ("a.tsv", "a,b", "1,2", ["a", "b"]),
        ("a.csv", "only", "1", ["only"]),
        ("a.csv", '"two\nlines",b', "1,2", ["two\nlines", "b"]),
        ("a.csv", ",b", "1,2", ["Unnamed: 0", "b"]),
        ("a.csv", "\n\na,b", "1,2", ["a", "b"]),
    ],
)
def test_the_header_says_how_cells_are_separated(tmp_path, name, header, row, columns):
    table = read_table(csv_file(tmp_path, f"{header}\n{row}\n", name))
    assert list(table.columns) == columns
    assert table.shape == (1, len(columns))


@given(st.text('ab,"\n\r 1;\t\x0b\x85\ufeff', min_size=1))
def test_text_that_is_not_refused_is_read_as_the_csv_module_reads_it(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("text") / "t.csv"
    path.write_bytes(f"k,a\n{text}\n".encode())
    try:
        with open_table(path) as source:
            table = source.read(key="k").frame
    except FileError:
        return
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.reader(file) if len(row) == 2]
    assert table["k"].fillna("").to_list() == [row[0] for row in rows[1:]]


def test_only_empty_cells_are_missing_in_a_column_of_words(tmp_path):
    words = ["NA", "None", "null", "nan", "NaN", "?", "N/A", "", '""', "SE", " "]
    text = "country,n\n" + "".join(f"{word},1\n" for word in words)
    country = read_table(csv_file(tmp_path, text))["country"]
    assert country.isna().to_list() == [word in ("", '""') for word in words]
    assert country.dropna().to_list() == [word for word in words if word not in ("", '""')]


@pytest.mark.parametrize("word", ["NA", "None", "null", "nan", "NaN", "?", " ?", "#N/A", "<NA>"])
@pytest.mark.parametrize("number", ["1", "-2.5", "1e3", " 7", "0.1"])
def test_among_numbers_a_word_for_missing_is_missing_and_that_is_noted(tmp_path, word, number):
    path = csv_file(tmp_path, f"n,z\n{number},a\n{word},b\n,c\n{number},b\n")
    table = read_table(path)
    assert table["n"].dtype == np.float64
    np.testing.assert_array_equal(table["n"], [float(number), np.nan, np.nan, float(number)])
    (note,) = load_data(path, protected=["z"]).notes
    assert note == TakenAsMissing("n", RowCount(1), (word.strip(),))


@pytest.mark.parametrize("cells", [["NA", "x", "1"], ["NA", "?"], ["NA", "true"], ["NA", "0x10"]])
def test_words_for_missing_stay_words_where_not_all_others_are_numbers(tmp_path, cells):
    path = csv_file(tmp_path, "n,z\n" + "".join(f"{cell},1\n" for cell in cells))
    assert read_table(path)["n"].to_list() == cells
    assert load_data(path, protected=["z"]).notes == ()


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_numbers_are_read_to_the_last_digit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("numbers") / "n.csv"
    path.write_text("n,m\n" + "".join(f"{number!r},{number!r}\n" for number in numbers) + "1,NA\n")
    table = read_table(path)
    assert table["n"].to_list() == [*numbers, 1.0]
    assert table["m"].to_list()[:-1] == numbers


@each_typed_format
def test_an_index_of_pandas_is_a_column(tmp_path, suffix):
    frame = pd.DataFrame({"age": [1, 2]}, index=pd.Index(["a", "b"], name="person"))
    path = tmp_path / f"table.{suffix}"
    TYPED[suffix](path, pa.Table.from_pandas(frame))
    assert set(read_table(path).columns) == {"age", "person"}


@each_typed_format
def test_categories_stay_categories(tmp_path, suffix):
    path = table_file(tmp_path, suffix, {"job": pa.array(["a", None, "b"]).dictionary_encode()})
    job = read_table(path)["job"]
    assert isinstance(job.dtype, pd.CategoricalDtype)
    assert job.isna().to_list() == [False, True, False]


def test_a_pipe_is_read_like_a_file(tmp_path):
    reading, writing = os.pipe()
    with open(writing, "wb") as pipe:
        pipe.write(b"a,b\n1,2\n")
    try:
        assert read_table(f"/dev/fd/{reading}").to_dict("list") == {"a": [1], "b": [2]}
    finally:
        os.close(reading)


# What is refused


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cell, but the header has 2"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells, but the header has 2"),
        ('a,b\n"x\ny",2\n\n1,2,3\n', "line 5 has 3 cells"),
        ("a;b\n1,2\n", "separated by a semicolon"),
        ('a,b\n1,2\n3,"x\n4,5\n', "starts in line 3 has an unclosed quote"),
        ('a,b\n1,"x"y\n', "starts in line 2 has an unclosed quote"),
        (f"a,b\n1,{'x' * 200_000}\n", "a cell of more than"),
        ("a,b,a\n1,2,3\n", "columns 1 and 3 have the same name 'a'"),
        ("a,b\n", "no rows"),
        ("", "no columns"),
        ("\n\n", "no columns"),
        ("a,b\n\0,1\n", "not a table"),
    ],
)
def test_text_that_is_no_table_is_refused_with_the_place(tmp_path, text, fragment):
    message = refused(csv_file(tmp_path, text), fragment)
    assert "x" * 100 not in message


def test_a_row_of_data_in_place_of_names_is_not_shown(tmp_path):
    path = csv_file(tmp_path, "39, Bachelors, Husband\n50, Masters, Wife\n")
    with pytest.raises(FileError, match="add a line with the column names") as caught:
        load_data(path, protected=["relationship"])
    assert "Husband" not in str(caught.value)
    twice = refused(csv_file(tmp_path, "39, Husband, Husband\n1,2,3\n"), "columns 2 and 3")
    assert "Husband" not in twice


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_text_in_another_encoding_is_refused_with_the_place(tmp_path, end):
    raw = end.join([b"name", b"Bo", "Åsa".encode("latin-1")])
    message = refused(csv_file(tmp_path, raw), "line 3", f"byte {raw.index(0xC5)} ", "iconv")
    assert "sa" not in message.split("is not UTF-8")[1].split(";")[0]


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("a,b\n1,2".encode("utf-16"), "UTF-16"),
        (b"PK\x03\x04rest", "Excel"),
        (pickle.dumps({"a": 1}), "pickle"),
        (b"FEA1 and so on", "Feather file of version 1"),
        (b"\x89PNG\r\n\x1a\n\0\0", "not "),
        (gzip.compress(b"a,b\n1,2\n" * 100, mtime=0)[:-20], "cut off"),
        (gzip.compress(b"PK\x03\x04rest", mtime=0), "Excel"),
        (b"\x1f\x8bno", "damaged"),
    ],
)
def test_other_files_are_called_what_they_are(tmp_path, raw, message):
    refused(csv_file(tmp_path, raw, "table"), message)


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".html", ".pkl"])
def test_text_of_another_suffix_is_refused(tmp_path, suffix):
    refused(
        csv_file(tmp_path, '{"a": 1, "b": 2}\n{"a": 2, "b": 3}\n', f"t{suffix}"), "has the name of"
    )


@each_typed_format
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(tmp_path, suffix, share):
    whole = table_file(tmp_path, suffix, {"n": list(range(5000)), "s": list("abcde") * 1000})
    raw = whole.read_bytes()
    whole.write_bytes(raw[: int(share * len(raw))])
    refused(whole, "cut off")


@each_typed_format
def test_a_damaged_file_is_refused_or_read_and_nothing_worse(tmp_path, suffix):
    path = table_file(tmp_path, suffix, PEOPLE)
    raw = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    outcomes = set()
    for _ in range(100):
        damaged = raw.copy()
        for index in rng.integers(8, len(raw), 5):
            damaged[index] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            read_table(path)
            outcomes.add("read")
        except FileError:
            outcomes.add("refused")
    assert "refused" in outcomes


def test_lists_with_offsets_beyond_their_items_are_refused(tmp_path):
    column = pa.array([[1, 2], [3]] * 20, pa.list_(pa.int64()))
    path = table_file(tmp_path, "arrow", {"a": list(range(40)), "lists": column})
    offsets = column.offsets.to_numpy().tobytes()
    raw = path.read_bytes()
    assert raw.count(offsets) == 1
    far = np.full(len(column) + 1, 1 << 30, np.int32)
    far[0] = 0
    path.write_bytes(raw.replace(offsets, far.tobytes()))
    refused(path, "damaged")


@each_typed_format
def test_typed_tables_need_rows_and_names_of_their_own(tmp_path, suffix):
    refused(table_file(tmp_path, suffix, {"a": pa.array([], pa.int64())}), "no rows")
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    if suffix != "feather":  # which refuses to write it
        TYPED[suffix](tmp_path / f"table.{suffix}", twice)
        refused(tmp_path / f"table.{suffix}", "columns 1 and 2 have the same name 'a'")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_table_without_columns_is_refused(tmp_path, suffix):
    refused(table_file(tmp_path, suffix, {}), "no columns")


def test_a_file_that_is_not_there_is_said_so(tmp_path, monkeypatch):
    refused(tmp_path / "none.csv", "does not exist")
    refused(tmp_path, "is a folder")
    refused(csv_file(tmp_path, "a\n1\n") / "x.csv", "not a folder")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="does not exist in"):
        read_table("none.csv")


def test_a_file_without_permission_is_said_so(tmp_path):
    path = csv_file(tmp_path, "a\n1\n")
    path.chmod(0)
    with somebody_else():
        refused(path, "no permission")


@pytest.mark.parametrize(("library", "suffix"), [("pandas", "csv"), ("pyarrow", "parquet")])
def test_without_the_library_the_extra_is_named(tmp_path, library, suffix):
    path = table_file(tmp_path, suffix, PEOPLE)
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from proxyuse.cli.data_files import read_table\n"
        "from proxyuse.errors import FileError\n"
        f"try: read_table({str(path)!r})\n"
        "except FileError as error: print(error)\n"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert f"needs {library}" in completed.stdout, completed.stderr
    assert "pip install 'proxyuse[files]'" in completed.stdout


def test_nothing_heavy_is_imported_before_a_file_is_read():
    code = (
        "import sys, proxyuse.cli.data_files, proxyuse.io.writing, proxyuse.project\n"
        "print({'pandas', 'pyarrow', 'sklearn', 'scipy'} & set(sys.modules))"
    )
    completed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60
    )
    assert completed.stdout.strip() == "set()", completed.stderr


# The data of an audit


@each_format
def test_data_is_what_an_audit_takes(tmp_path, suffix):
    columns = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0], "w": [1, 2, 2, 1], "y": [0] * 4}
    path = table_file(tmp_path, suffix, columns)
    loaded = load_data(path, protected=["pregnant"], target="y", weights="w")
    program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    audit = pu.audit(program, loaded.frame, loaded.protected, weights=loaded.weights)
    assert [w.term for w in audit.witnesses][:1] == ["vitamins"]
    assert (loaded.target, loaded.weights, loaded.n_read, loaded.notes) == ("y", "w", 4, ())
    assert loaded.paths == (path,)
    assert loaded.sha256 == {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


def test_a_protected_column_that_the_program_reads_is_known_as_such(tmp_path):
    loaded = load_data(csv_file(tmp_path, "z,a\n1,2\n0,3\n"), protected=["z"])
    audit = pu.audit(pu.Program.parse("ite(z == 1, 0, 1)"), loaded.frame, loaded.protected)
    assert [use.column for use in audit.explicit] == ["z"]


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("protected", {"protected": ["martial"]}),
        ("target", {"protected": ["marital"], "target": "martial"}),
        ("weights", {"protected": ["marital"], "weights": "martial"}),
    ],
)
def test_a_column_that_is_not_there_is_answered_with_those_like_it(tmp_path, role, options):
    path = csv_file(tmp_path, "marital,age\n1,2\n")
    with pytest.raises(FileError) as caught:
        load_data(path, **options)
    assert str(caught.value) == (
        f"{path} has no column 'martial' ({role}); did you mean 'marital'?"
    )


def test_a_column_cannot_have_another_name(tmp_path):
    path = csv_file(tmp_path, "race,age\na,1\nb,2\n")
    with pytest.raises(DataError, match="'married' is the column 'race'; pass 'race'"):
        load_data(path, protected=["married: race"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protected": []}, "pass at least one"),
        ({"protected": ["a", "a"]}, "appears twice"),
        ({"protected": ["a"], "key": "b"}, "no protected data"),
        ({"protected": ["a"], "protected_data": "p.csv"}, "needs a key"),
        ({"protected": ["a"], "protected_data": "p.csv", "key": "a"}, "the key"),
    ],
)
def test_options_that_do_not_fit_together_are_refused(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        load_data(csv_file(tmp_path, "a,b\n1,2\n"), **options)


# Conditions

ROWS = "age,sex,member\n20,f,True\n30,m,\n40,f,False\n,m,True\n"


@pytest.mark.parametrize(
    ("where", "kept", "notes"),
    [
        ("sex == 'f'", [0, 2], []),
        ("true", [0, 1, 2, 3], []),
        (
            "age <= 30",
            [0, 1],
            [ConditionReadsMissing(RowCount(1), RowCount(0))],
        ),
        (
            "not (age <= 30)",
            [2, 3],
            [ConditionReadsMissing(RowCount(1), RowCount(1))],
        ),
        (
            "member",
            [0, 3],
            [ConditionMissing(RowCount(1))],
        ),
    ],
)
def test_rows_that_satisfy_a_condition_stay(tmp_path, where, kept, notes):
    path = csv_file(tmp_path, ROWS)
    loaded = load_data(path, protected=["sex"], where=where)
    whole = read_table(path)
    pd.testing.assert_frame_equal(loaded.frame, whole.iloc[kept].reset_index(drop=True))
    assert list(loaded.notes) == [ConditionHolds(where, RowCount(len(kept)), 4), *notes]
    assert loaded.n_read == 4


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("age <=", "line 1, column 7"),
        ("age <= 30 nd sex", "\n  age <= 30 nd sex\n            ^"),
        ("__import__('os').getcwd() == 'x'", "is invalid"),
        ("age + 1", "of kind number; add a comparison"),
        ("sex", "of kind category"),
        ("sex <= 30", "does not fit the data"),
        ("agee <= 30", "did you mean 'age'?"),
        ("age > 100", "none of 4 rows satisfies"),
        ("", "is invalid"),
    ],
)
def test_a_condition_that_does_not_fit_is_refused(tmp_path, where, message):
    with pytest.raises((DataError, FileError)) as caught:
        load_data(csv_file(tmp_path, ROWS), protected=["sex"], where=where)
    assert message in str(caught.value)


# Protected data in a file of its own


def joined(folder, data, people, suffixes=("csv", "csv"), **options):
    rows = table_file(folder, suffixes[0], data, "rows")
    restricted = table_file(folder, suffixes[1], people, "people")
    options = {"protected": ["faith"], "protected_data": restricted, "key": "id"} | options
    return load_data(rows, **options)


@each_format
@pytest.mark.parametrize("other", WRITERS)
@pytest.mark.parametrize("ids", [[7, 9, 8, 7], ["a7", "b9", "NA", "a7"], [2**60, 2**60 + 1, 1, 2]])
def test_protected_attributes_are_found_by_their_key(tmp_path, suffix, other, ids):
    known = sorted(set(ids), key=str, reverse=True)
    people = {"id": known, "faith": [f"faith of {key}" for key in known], "secret": known}
    loaded = joined(tmp_path, {"age": [1, 2, 3, 4], "id": ids}, people, (suffix, other))
    assert loaded.protected["faith"].to_list() == [f"faith of {key}" for key in ids]
    assert list(loaded.protected) == ["faith"]
    assert list(loaded.frame.columns) == ["age", "id"]
    assert loaded.notes == ()
    assert set(loaded.sha256) == set(map(str, loaded.paths))
    assert len(loaded.paths) == 2


@each_typed_format
def test_of_a_restricted_table_only_what_is_needed_is_read(tmp_path, suffix):
    path = table_file(tmp_path, suffix, {"id": [1], "secret": ["s"], "faith": ["f"]})
    with open_table(path) as source:
        reading = source.read(["id", "faith"], key="id")
    assert list(reading.frame.columns) == ["id", "faith"]


def test_keys_with_missing_ones_among_whole_numbers_stay_exact(tmp_path):
    people = {"id": pa.array([2**60, None, 2**60 + 1]), "faith": ["a", "b", "c"]}
    loaded = joined(tmp_path, {"id": [2**60 + 1, 2**60]}, people, ("parquet", "parquet"))
    assert loaded.protected["faith"].to_list() == ["c", "a"]
    assert loaded.notes == (UnmatchedProtected(RowCount(1), 3),)


def test_keys_are_compared_as_they_are_written(tmp_path):
    people = {"id": ["007", "7"], "faith": ["a", "b"]}
    assert joined(tmp_path, {"id": ["7", "007"]}, people).protected["faith"].to_list() == ["b", "a"]


def test_missing_protected_values_are_left_to_the_audit(tmp_path):
    loaded = joined(tmp_path, {"id": [1, 2]}, {"id": [1, 2], "faith": ["a", None]})
    assert loaded.protected["faith"].isna().to_list() == [False, True]


def test_an_attribute_that_the_restricted_table_lacks_is_taken_from_the_data(tmp_path):
    data = {"id": [1, 2], "sex": ["f", "m"]}
    people = {"id": [2, 1], "faith": ["a", "b"]}
    loaded = joined(tmp_path, data, people, protected=["sex", "faith"])
    assert list(loaded.protected) == ["sex", "faith"]
    assert loaded.protected["sex"] == "sex"
    assert loaded.protected["faith"].to_list() == ["b", "a"]


def test_an_attribute_of_both_tables_is_taken_from_the_restricted_one_with_a_note(tmp_path):
    data, people = {"id": [1], "faith": ["x"]}, {"id": [1], "faith": ["a"]}
    loaded = joined(tmp_path, data, people)
    assert loaded.protected["faith"].to_list() == ["a"]
    assert loaded.notes[0] == TakenFromProtected("faith")


def test_a_condition_comes_before_the_keys(tmp_path):
    data = {"id": [1, 2, 3], "age": [20, 30, 40]}
    people = {"id": [5, 2, 1], "faith": ["c", "b", "a"]}
    loaded = joined(tmp_path, data, people, where="age <= 30")
    assert loaded.protected["faith"].to_list() == ["a", "b"]
    assert loaded.protected["faith"].index.equals(loaded.frame.index)
    assert loaded.notes[-1] == UnmatchedProtected(RowCount(1), 3)


@pytest.mark.parametrize(
    ("data", "people", "suffixes", "fragment"),
    [
        (
            ["k1"],
            ["k1", "k1", "k1", "k2", "k2"],
            ("csv", "csv"),
            "duplicate keys in column 'id': 2",
        ),
        (["k1"], ["k1", "k1"], ("csv", "parquet"), "in 2 rows"),
        (["k1", "k3", None], ["k1", "k2"], ("csv", "csv"), "2 of 3 rows"),
        (["k1", "k3", None], ["k1", "k2"], ("csv", "csv"), "1 of them have no key"),
        (["k1", "k3"], ["k1"], ("arrow", "csv"), "exclude these rows with a condition"),
        (["7"], [7], ("parquet", "parquet"), "are text in"),
        ([7], ["7"], ("arrow", "parquet"), "are integers in"),
        (["007"], [7], ("csv", "parquet"), "are text in"),
        ([7], [7.5], ("parquet", "parquet"), "not integers"),
        ([7], [2.0**60], ("parquet", "parquet"), "beyond 2**53"),
        ([7], [True], ("parquet", "parquet"), "has type bool"),
    ],
)
def test_keys_that_do_not_match_are_counted_and_never_shown(
    tmp_path, data, people, suffixes, fragment
):
    people = {"id": people, "faith": ["f"] * len(people)}
    with pytest.raises(FileError) as caught:
        joined(tmp_path, {"id": data}, people, suffixes)
    message = str(caught.value)
    assert fragment in message
    assert not any(f"k{number}" in message.replace(str(tmp_path), "") for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("data", "people", "message"),
    [
        ({"id": [1]}, {"id": [1], "fiath": [1]}, "people.csv has no column 'faith' (protected)"),
        ({"id": [1]}, {"ID": [1], "faith": [1]}, "did you mean 'ID'?"),
        ({"ID": [1]}, {"id": [1], "faith": [1]}, "rows.csv has no column 'id' (key)"),
        ({"id": [1], "faith": [1]}, {"id": [1], "x": [1]}, "people.csv has no column 'faith'"),
    ],
)
def test_columns_that_a_join_needs_are_asked_for(tmp_path, data, people, message):
    with pytest.raises(FileError) as caught:
        joined(tmp_path, data, people)
    assert message in str(caught.value)
