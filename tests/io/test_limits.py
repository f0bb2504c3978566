"""A small file cannot ask for much memory or time: limits are checked before the work."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import os
import resource
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import proxyuse as pu
from proxyuse.cli.data_files import read_table
from proxyuse.cli.main import main
from proxyuse.errors import DataError, FileError
from proxyuse.input_limits import LIMITS, parsed_limits
from proxyuse.io import json_files
from proxyuse.io.json_files import check_json
from proxyuse.project import read_project

MEMORY = 3 << 29  # 1.5 GiB of addresses, of which libraries take most


def refused(limit, read, *arguments):
    """Check that reading exceeds a limit; return the error."""
    with pytest.raises(pu.LimitExceeded) as caught:
        read(*arguments)
    error = caught.value
    assert error.limit == limit
    assert error.count > error.allowed
    assert f"--limit {limit}=" in str(error)
    return error


# Tables


@pytest.fixture
def bomb(tmp_path):
    """A gzip file of 6 MB that unpacks to 6 GB."""
    member = gzip.compress(b"a,b\n" + b"1,1\n" * (1 << 24))
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(member * 96)
    assert path.stat().st_size < 10_000_000
    return path


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))


@pytest.mark.slow
def test_a_bomb_is_refused_within_a_gigabyte(bomb):
    code = "import sys; from proxyuse.cli.data_files import read_table; read_table(sys.argv[1])"
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(bomb)],
        env={**os.environ, **threads},
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "more than the limit `compression` of 100" in done.stderr


def test_compressed_tables_may_grow_within_the_limit(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"a\n" + b"1\n" * 100_000))
    assert len(read_table(path)) == 100_000
    with pu.limits(table_bytes=100_000):
        refused("table_bytes", read_table, path)


@pytest.mark.parametrize(
    ("limit", "text"),
    [
        ("rows", "a\n" + "1\n" * 11),
        ("columns", ",".join("abcdefghijk") + "\n" + "1," * 10 + "1"),
        ("cells", "a,b\n" + "1,2\n" * 6),
        ("record_bytes", 'a,b\n"12345678901",1\n'),
        ("record_bytes", 'a,b\n"1234\n5678\n901",1\n'),
        ("table_bytes", "a,b\n1,2\n3,4\n"),
    ],
)
def test_tables_of_text_are_limited(tmp_path, limit, text):
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert len(read_table(path))
    with pu.limits(**{limit: 10}):
        refused(limit, read_table, path)


@pytest.mark.parametrize("limit", ["rows", "cells", "columns", "table_bytes"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_typed_tables_are_limited(tmp_path, limit, suffix):
    path = tmp_path / f"a.{suffix}"
    table = pa.table({f"x{i}": [0.0] * 11 for i in range(11)})
    if suffix == "parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert len(read_table(path)) == 11
    with pu.limits(**{limit: 10}):
        refused(limit, read_table, path)


def test_a_long_text_in_a_dictionary_is_counted_once_per_row(tmp_path):
    path = tmp_path / "a.parquet"
    indices = pa.array(np.zeros(20_000, np.int32))
    text = pa.DictionaryArray.from_arrays(indices, ["a" * 1_000_000])
    pyarrow.parquet.write_table(pa.table({"s": text}), path, store_schema=False)
    assert path.stat().st_size < 100_000
    assert refused("table_bytes", read_table, path).count == 20_000 * 1_000_000


def test_runs_and_nulls_are_counted_as_rows(tmp_path):
    path = tmp_path / "a.arrow"
    run = pa.RunEndEncodedArray.from_arrays(pa.array([2_000_000_000], pa.int32()), pa.array([1.0]))
    for column in (run, pa.nulls(2_000_000_000)):
        with pa.ipc.new_file(path, pa.schema([("x", column.type)])) as writer:
            writer.write_batch(pa.record_batch([column], names=["x"]))
        assert refused("rows", read_table, path).count == 2_000_000_000


# Files without an end


@pytest.mark.parametrize("read", [read_table, read_project, pu.read_policy, pu.load_model])
def test_devices_are_refused(read):
    with pytest.raises(FileError, match=r"is a device|not a regular file"):
        read("/dev/zero")


def test_pipes_are_limited_in_size_and_time(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pu.limits(pipe_seconds=1):
        refused_in_time = pytest.raises(pu.LimitExceeded, match="pipe_seconds")
        with refused_in_time:
            read_table(path)  # nobody writes
    with (
        subprocess.Popen(["yes"], stdout=subprocess.PIPE) as endless,
        pu.limits(pipe_bytes=1_000_000),
    ):
        assert endless.stdout is not None
        refused("pipe_bytes", read_table, f"/dev/fd/{endless.stdout.fileno()}")
        endless.kill()


# Documents


def test_json_is_limited_before_it_is_built():
    refused("json_depth", check_json, "[" * 201 + "]" * 201, "it")
    check_json('"' + "[" * 1000 + '\\"[" ' + "[]", "it")  # brackets in text
    with pu.limits(json_values=5):
        check_json('[1, 2, "a,b,c,d", 4]', "it")
        refused("json_values", check_json, "[1, 2, 3, 4, 5]", "it")


def test_checking_json_takes_linear_time_on_unclosed_text():
    check_json('"' + '\\"' * 2_000_000, "it")  # quadratic: an hour


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_json_is_checked_in_blocks_that_do_not_cut_texts(size, monkeypatch):
    monkeypatch.setattr(json_files, "_BLOCK", size)
    for length in range(7):
        for characters in itertools.product(b'"\\[,', repeat=length):
            raw = bytes(characters)
            outside = b"".join(json_files._outside_texts(raw))
            assert outside == json_files._TEXT.sub(b"", raw)


def test_checking_json_takes_little_memory():
    text = b'["a",' + b'"b",' * 1_000_000 + b'"c"]'
    tracemalloc.start()
    check_json(text, "it")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 30 << 20  # a block with numbers; all texts at once take 100 MB


def test_the_parts_of_a_skops_file_are_limited(tmp_path):
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    path = tmp_path / "a.skops"
    with zipfile.ZipFile(path, "w") as archive:
        schema = {**node, "content": [{**node, "content": []}] * 10, "protocol": 2}
        archive.writestr("schema.json", json.dumps(schema))
    with pytest.raises(FileError, match="is not a model"):
        pu.load_model(path)
    with pu.limits(skops_nodes=10):
        refused("skops_nodes", pu.load_model, path)
    with zipfile.ZipFile(path, "w") as archive:  # spelled so that only the parsed schema shows it
        text = json.dumps(schema).replace("__loader__", "\\u005f_loader__")
        archive.writestr("schema.json", text)
    with pu.limits(skops_nodes=10):
        refused("skops_nodes", pu.load_model, path)


def test_an_array_that_a_skops_file_names_twice_is_loaded_once():
    import skops.io

    from proxyuse.models.sklearn.skops_file import _Checker

    stored = io.BytesIO()
    np.save(stored, np.zeros(3))
    array = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
    both = [{**array, "type": "numpy", "file": "a.npy"} for _ in range(2)]
    root = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
    checker = _Checker({"a.npy": stored.getvalue()})
    clean = checker.zipped(checker.node({**root, "content": both}), 2)
    first, second = skops.io.loads(clean)
    assert first is second


def test_programs_are_limited(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("x + y + z")
    for limit in ("program_bytes", "program_words"):
        with pu.limits(**{limit: 4}):
            error = refused(limit, pu.load_model, path)
            assert str(error).startswith(str(path))


# How limits are adjusted


def test_limits_are_adjusted_within_a_block():
    rows = LIMITS["rows"]
    with pu.limits(rows=5), pu.limits(columns=6):
        assert (rows.value, LIMITS["columns"].value) == (5, 6)
    assert rows.value == rows.default


def test_unknown_limits_and_values_are_refused():
    with pytest.raises(DataError, match="unknown limit 'rosw'; did you mean 'rows'"):
        parsed_limits(["rosw=1"])
    for text in ("rows", "rows=", "rows=0", "rows=-1", "rows=1.5", "rows=1e3"):
        with pytest.raises(DataError, match="expected an integer of at least 1"):
            parsed_limits([text])


def test_the_command_line_takes_precedence_over_the_project_file(tmp_path, monkeypatch, capsys):
    (tmp_path / "a.csv").write_text("x,z\n" + "1,2\n" * 20)
    (tmp_path / "m.txt").write_text("x")
    (tmp_path / "proxyuse.toml").write_text("[limits]\nrows = 10\n")
    monkeypatch.chdir(tmp_path)
    command = ["audit", "--model", "m.txt", "--data", "a.csv", "--protected", "z", "--limit"]
    for limit, message in (("columns=5", "limit `rows` of 10;"), ("rows=5", "limit `rows` of 5;")):
        assert main([*command, limit]) == 2
        assert message in capsys.readouterr().err
