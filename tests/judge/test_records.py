"""Recorded judgments are kept, found again where they hold, and nowhere else."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.errors import CorruptFile, DataError, FileError
from proxyuse.judge import append_only as appending
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.record import GENESIS
from proxyuse.judge.records import Records, shape_of
from proxyuse.judge.recovery import recover
from proxyuse.lang.build import lookup, member
from proxyuse.lang.nodes import (
    Compare,
    Const,
    Ite,
    Precision,
    Relation,
    Term,
    Value,
    Var,
    is_missing,
)
from proxyuse.lang.parse import parse_term
from proxyuse.lang.rewrite import rewritten
from tests.io.test_data_files import somebody_else
from tests.strategies import shuffled, terms

DATA = {"age": [20, 25, 31, 40, 50, 60], "pay": [1, 3, 2, 5, 4, 6], "z": [0, 0, 0, 1, 1, 1]}
NOON = datetime(2025, 3, 1, 12, tzinfo=UTC)


@cache
def audited(text):
    return pu.audit(pu.Program.parse(text), DATA, "z", epsilon=0.01).witnesses


def witness_of(term="age <= 30.5", program=None):
    program = program or f"ite({term}, 'a', 'b')"
    return next(w for w in audited(program) if w.term == term)


def moved(witness, association=0.0, influence=0.0):
    """The same witness, measured otherwise."""
    old = witness.decomposition
    associations = {"z": witness.association + association}
    new = replace(old, associations=associations, influence=witness.influence + influence)
    return replace(witness, decomposition=new)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judgments.jsonl"


# Shapes


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("age <= 30.5", "age <= #"),
        ("age <= -inf", "age <= #"),
        ("float32(age) <= 30.5", "age <= #"),
        ("age <=? 3", "age <=? #"),
        ("job == '30'", "job == '30'"),
        ("`3` == '`3` \\'4\\' 5'", "`3` == '`3` \\'4\\' 5'"),
        ("x3 + 2 * `#`", "# * `#` + x3"),
        ("b - 2", "# + b"),
        ("b - a", "# * a + b"),
        ("x in {7, 3, 'a'}", "x in {#, #, 'a'}"),
        ("table(job, {'a': 1, 'b': -2, 7: 3, missing: 4}, missing)",
         "table(job, {#: #, 'a': #, 'b': #, missing: #}, missing)"),
        ("argmax([x, 2] + [1, 3], 'no', 1)", "argmax([#, #] + [x, #], 'no', #)"),
        ("ite(true, missing, -4)", "ite(true, missing, #)"),
    ],
)  # fmt: skip
def test_a_shape_is_the_text_without_numbers(text, shape):
    assert shape_of(parse_term(text)) == shape


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("age <= 30.5 and pay <= 2", "pay <= 31 and age <= 7"),
        ("10 * a + 9 * b", "9 * a + 10 * b"),
        ("(1 + x) * (y + 2)", "(2 + y) * (9 + x)"),
        ("ite(x <= 1, 1, 2) + ite(x <= 2, 0, 1)", "ite(x <= 9, 1, 0) + ite(x <= 10, 3, 4)"),
        ("a in {1, 20} or a in {3, 4}", "a in {5, 6} or a in {-1, 0}"),
    ],
)
def test_shapes_do_not_depend_on_the_order_that_numbers_give(first, second):
    assert shape_of(parse_term(first)) == shape_of(parse_term(second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("age <= 3", "age < 3"),
        ("age <= 3", "pay <= 3"),
        ("age <= 3", "age <=? 3"),
        ("job == 'a'", "job == 'b'"),
        ("x in {1, 2}", "x in {1, 2, 3}"),
        ("x + 1", "x + true"),
        ("x + `#`", "x + 1"),
        ("x == '#'", "x == 1"),
    ],
)
def test_other_structures_have_other_shapes(first, second):
    assert shape_of(parse_term(first)) != shape_of(parse_term(second))


def renumbered(draw, term: Term) -> Term:
    """The same term with other numbers; those that must be distinct stay so."""
    number = st.floats(-100, 100)

    def other(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(draw(number) for _ in value)
        return draw(number) if isinstance(value, float) and not is_missing(value) else value

    def rule(node: Term) -> Term:
        return Const(other(node.value)) if isinstance(node, Const) else node

    return rewritten(term, rule)


@given(terms(), st.data())
def test_a_shape_stays_when_numbers_and_order_change(term, data):
    other = renumbered(data.draw, shuffled(data.draw, term))
    assert shape_of(other) == shape_of(term)


def test_a_deep_or_wide_term_has_a_shape():
    deep: Term = Var("y")
    for number in range(5_000):
        guard = Compare(Relation.LE, Var("x"), Const(float(number)), Precision.FLOAT32)
        deep = Ite(guard, Const(1.0), deep)
    assert shape_of(deep).count("#") == 2 * 5_000
    assert shape_of(member(Var("x"), range(5_000))).count("#") == 5_000
    table = lookup(Var("x"), [(n, n) for n in range(2_000)], 0)
    assert shape_of(table).count("#") == 4_001


# What is kept


def test_a_judgment_is_one_line_that_people_can_read(path):
    witness = witness_of()
    record = Records.open(path).add(witness, True, "hours are paid for", "Åsa", NOON)
    line = path.read_text(encoding="utf-8")
    opening = f'{{"format": "proxyuse judgment", "version": 1, "previous": "{GENESIS}", '
    assert line.startswith(f'{opening}"kind": "judgment", "protected": "z", ')
    assert '"by": "Åsa", "at": "2025-03-01T12:00:00.000000Z", "hash": "' in line
    assert line.endswith('"}\n')
    assert line.count("\n") == 1
    fields = json.loads(line)
    assert fields["term"] == record.term == "age <= 30.5"
    assert fields["shape"] == "age <= #"
    assert fields["variables"] == ["age"]
    assert fields["witness"] == witness.id
    assert (fields["association"], fields["influence"]) == (witness.association, witness.influence)
    assert list(Records.open(path)) == [record]


def test_a_file_that_is_not_there_has_no_judgments(path):
    records = Records.open(path)
    assert (len(records), records.head, records(witness_of())) == (0, GENESIS, None)
    assert not path.exists()


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines\r\n\x00\x1b[31m\x7f\x85\u2028\u2029",
        "\u202egnol\u202c \ufeff\u200b \U000e0041",
        "\\n \" ' \\u0041",
        "lone \udc80, a pair \ud83d\ude00, joined \N{GRINNING FACE}",
        "Größe 高さ",
    ],
)
def test_any_text_is_kept_on_one_line_and_hides_nothing(path, text):
    record = Records.open(path).add(witness_of(), False, text, text)
    (kept,) = Records.open(path)
    assert kept == record
    assert kept.reason == json.loads(json.dumps(text))
    line = path.read_text(encoding="utf-8")
    assert len(line.splitlines()) == 1
    assert line[:-1].isprintable()


def test_the_time_is_now_in_utc_unless_said_otherwise(path):
    records = Records.open(path)
    before = datetime.now(UTC)
    assert before <= records.add(witness_of(), True, "r", "Ada").at <= datetime.now(UTC)
    there = datetime(2025, 3, 1, 13, tzinfo=timezone(timedelta(hours=1)))
    assert records.add(witness_of(), True, "r", "Ada", there).at == NOON
    assert [r.at for r in Records.open(path)] == [r.at for r in records]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reason": " "}, "needs a reason"),
        ({"by": ""}, "name of the person"),
        ({"by": None}, "name of the person"),
        ({"appropriate": 1}, "expected True or False"),
        ({"at": datetime(2025, 1, 1)}, "time zone"),
        ({"at": "2025-01-01"}, "time zone"),
        ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))}, "out of range in UTC"),
        ({"reason": "x" * 2_000}, "shorten the reason"),
    ],
)
def test_an_invalid_judgment_is_not_recorded(path, arguments, message, monkeypatch):
    monkeypatch.setattr("proxyuse.judge.records.MAX_LINE_BYTES", 1_000)
    arguments = {"appropriate": True, "reason": "r", "by": "Ada"} | arguments
    with pytest.raises(DataError, match=message):
        Records.open(path).add(witness_of(), **arguments)
    assert not path.exists() or path.read_bytes() == b""


@pytest.mark.parametrize("tolerance", [-0.1, float("nan"), float("inf")])
def test_a_tolerance_is_a_number_from_0_on(path, tolerance):
    with pytest.raises(DataError, match="tolerance"):
        Records.open(path, tolerance=tolerance)


# Where a judgment holds


def test_it_is_an_oracle(path):
    records = Records.open(path)
    records.add(witness_of(), True, "r", "Ada")
    records = Records.open(path)
    assert records(witness_of()) == Judgment(True, "r", "Ada")
    audit = pu.audit(pu.Program.parse("ite(age <= 30.5, 'a', 'b')"), DATA, "z", epsilon=0.01)
    assert "age <= 30.5" not in [v.witness.term for v in audit.violations(records)]
    assert len(audit.violations(records)) == len(audit.witnesses) - 1


@pytest.mark.parametrize(
    ("by", "tolerance", "kept"),
    [
        ({}, 0.0, True),
        ({"association": 0.02}, 0.02, True),
        ({"association": -0.02, "influence": 0.02}, 0.02, True),
        ({"association": 0.021}, 0.02, False),
        ({"influence": -0.021}, 0.02, False),
        ({"influence": -0.021}, 0.03, True),
        ({"influence": 0.001}, 0.0, False),
    ],
)
def test_it_is_kept_while_the_measures_move_little(path, by, tolerance, kept):
    records = Records.open(path, tolerance=tolerance)
    record = records.add(witness_of(), True, "r", "Ada")
    now = moved(witness_of(), **by)
    assert records.latest(now) == (record if kept else None)
    assert records.similar(now) == ([] if kept else [record])


def test_other_constants_are_similar_and_never_applied(path):
    records = Records.open(path)
    record = records.add(witness_of("age <= 30.5"), True, "r", "Ada")
    retrained = witness_of("age <= 30.7")  # which measures the same
    assert records(retrained) is None
    assert records.similar(retrained) == [record]
    for other in ("pay <= 30.5", "age < 30.5"):
        assert shape_of(parse_term(other)) != record.shape
    assert records.similar(witness_of("pay <= 2.5")) == []


def test_another_protected_attribute_is_another_question(path):
    records = Records.open(path)
    records.add(witness_of(), True, "r", "Ada")
    old = witness_of().decomposition
    associations = {"y": witness_of().association}
    other = replace(
        witness_of(), protected="y", decomposition=replace(old, associations=associations)
    )
    assert records(other) is None
    assert records.similar(other) == []


def test_a_later_judgment_supersedes_an_earlier_one_which_stays(path):
    records = Records.open(path)
    records.add(witness_of(), True, "first", "Ada")
    records.add(witness_of(), False, "second", "Bo")
    for found in (records, Records.open(path)):
        assert found(witness_of()) == Judgment(False, "second", "Bo")
        assert [r.reason for r in found] == ["first", "second"]
        assert [r.reason for r in found.similar(witness_of("age <= 30.7"))] == ["second"]


def test_time_decides_and_not_the_order_of_lines(path):
    records = Records.open(path)
    records.add(witness_of(), True, "late", "Ada", NOON)
    records.add(witness_of(), False, "early", "Bo", NOON - timedelta(hours=1))
    records.add(witness_of(), False, "same time", "Bo", NOON)
    assert Records.open(path)(witness_of()) == Judgment(False, "same time", "Bo")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    assert Records.open(path)(witness_of()) == Judgment(True, "late", "Ada")


def test_a_judgment_that_would_count_for_nothing_is_refused(path):
    records = Records.open(path)
    ahead = datetime.now(UTC) + timedelta(days=1)
    records.add(witness_of(), True, "from a fast clock", "Ada", ahead)
    with pytest.raises(DataError, match="set the clock"):
        records.add(witness_of(), False, "r", "Bo")
    records.add(witness_of("age <= 45.5"), False, "on something else", "Bo")
    records.add(witness_of(), False, "r", "Bo", ahead + timedelta(seconds=1))
    assert records(witness_of()) == Judgment(False, "r", "Bo")


def test_what_was_superseded_does_not_come_back(path):
    records = Records.open(path)
    weak, strong = witness_of(), moved(witness_of(), association=0.015)
    records.add(weak, True, "first", "Ada")
    second = records.add(strong, False, "second", "Ada")
    weaker = moved(weak, association=-0.01)  # near the first alone
    assert records(weaker) is None
    assert second in records.similar(weaker)


def test_a_judgment_against_a_witness_is_not_lifted_by_one_on_another_place(path):
    """The same test twice in one program: two witnesses of one text and one strength."""
    program = "ite(pay <= 3.5, ite(age <= 30.5, 'a', 'b'), ite(age <= 30.5, 'b', 'a'))"
    here, there = [w for w in audited(program) if w.term == "age <= 30.5" and w.occurrences == 1][
        :2
    ]
    assert here.id != there.id
    records = Records.open(path, tolerance=1.0)
    records.add(here, False, "not here", "Ada")
    assert records(there) == Judgment(False, "not here", "Ada")
    records.add(there, True, "but there", "Ada")
    assert records(there) == Judgment(True, "but there", "Ada")
    assert records(here) == Judgment(False, "not here", "Ada")
    records.add(here, True, "here too", "Ada")
    assert records(here) == Judgment(True, "here too", "Ada")


def test_similar_ones_come_latest_first_one_for_each(path):
    records = Records.open(path)
    for number, term in enumerate(["age <= 28.5", "age <= 29.5", "age <= 28.5"]):
        records.add(witness_of(term), True, str(number), "Ada", NOON + timedelta(hours=number))
    assert [r.reason for r in records.similar(witness_of())] == ["2", "1"]


# What is not a file of judgments


def filled(path, count=3):
    records = Records.open(path)
    for number in range(count):
        records.add(witness_of(), True, f"reason {number}", "Ada")
    return path.read_bytes()


@pytest.mark.parametrize(
    "raw",
    [
        b"age,pay\n1,2\n",
        b'{\n  "format": "proxyuse audit"\n}\n',
        b'{"format": "proxyuse audit", "version": 1}\n',
        b"\x89PNG\r\n\x1a\n\x00\x00",
        b"x",
        b"x\n" * 30_000,
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(path, raw):
    fresh = Records.open(path)
    path.write_bytes(raw)
    with pytest.raises(FileError, match=r"judgments\.jsonl is not a file of judgments .*line 1: "):
        Records.open(path)
    with pytest.raises(FileError, match="not a file of judgments"):
        fresh.add(witness_of(), True, "r", "Ada")
    assert path.read_bytes() == raw


def test_what_is_no_file_is_refused(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    wrong_paths = {
        tmp_path: "is a folder",
        tmp_path / "pipe": "pipe or a device",
        tmp_path / "file" / "x": "not a folder",
        tmp_path / "a\0b": "null",
    }
    for wrong_path, message in wrong_paths.items():
        with pytest.raises(FileError, match=message):
            Records.open(wrong_path)
        with pytest.raises(FileError, match=message):
            Records(wrong_path).add(witness_of(), True, "r", "Ada")
    with pytest.raises(FileError, match=r"the folder .*none does not exist; create it first"):
        Records.open(tmp_path / "none" / "x").add(witness_of(), True, "r", "Ada")
    raw = filled(tmp_path / "large")
    with pu.limits(judgments_bytes=len(raw)), pytest.raises(FileError, match="no space left"):
        Records.open(tmp_path / "large").add(witness_of(), True, "r", "Ada")
    with pu.limits(judgments_bytes=len(raw) - 1), pytest.raises(pu.LimitExceeded) as error:
        Records.open(tmp_path / "large")
    assert (error.value.limit, error.value.count) == ("judgments_bytes", len(raw))
    assert (tmp_path / "large").read_bytes() == raw


# Others who write, and what can go wrong meanwhile


def test_what_others_added_is_read_before_adding(path):
    first, second = Records.open(path), Records.open(path)
    first.add(witness_of(), True, "one", "Ada")
    second.add(witness_of(), False, "two", "Bo")
    first.add(witness_of("age <= 45.5"), True, "three", "Ada")
    assert [r.reason for r in first] == ["one", "two", "three"]
    assert first(witness_of()) == Judgment(False, "two", "Bo")


@pytest.mark.parametrize("how", ["replaced", "shortened", "deleted", "emptied"])
def test_a_file_that_lost_records_in_the_meantime_is_not_continued(path, how):
    records = Records.open(path)
    for number in range(3):
        records.add(witness_of(), True, f"reason {number}", "Ada")
    lines = path.read_bytes().splitlines(keepends=True)
    new = path.parent / "new"
    match how:
        case "replaced":
            Records(new).add(witness_of(), True, "another file", "Ada")
            new.replace(path)
        case "shortened":
            path.write_bytes(b"".join(lines[:2]))
        case "deleted":
            path.unlink()
        case _:
            path.write_bytes(b"")
    with pytest.raises(CorruptFile, match="replaced while it was in use, and the new file lacks"):
        records.add(witness_of(), True, "after", "Ada")
    Records.open(path).add(witness_of(), True, "after", "Ada")


def test_a_file_that_was_replaced_by_a_longer_version_is_read_again(path):
    records = Records.open(path)
    records.add(witness_of(), True, "one", "Ada")
    new = path.with_name("new")
    new.write_bytes(path.read_bytes())
    Records.open(new).add(witness_of(), False, "two", "Bo")
    new.replace(path)
    records.add(witness_of(), True, "three", "Ada")
    assert [r.reason for r in Records.open(path)] == ["one", "two", "three"]


def test_links_are_followed_and_permissions_are_those_of_the_umask(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real/file")
    before = os.umask(0o027)
    try:
        filled(tmp_path / "link")
    finally:
        os.umask(before)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real/file").stat().st_mode & 0o777 == 0o640


def test_without_permission_nothing_is_changed():
    with tempfile.TemporaryDirectory() as folder:  # which others may enter
        os.chmod(folder, 0o755)
        path = Path(folder, "judgments.jsonl")
        raw = filled(path)
        path.chmod(0o444)
        with somebody_else():
            records = Records.open(path)
            assert len(records) == 3
            with pytest.raises(FileError, match="cannot be written: no permission"):
                records.add(witness_of(), True, "r", "Ada")
            with pytest.raises(FileError, match="cannot be written: no permission"):
                Records(path.with_name("new")).add(witness_of(), True, "r", "Ada")
        assert path.read_bytes() == raw
        assert os.listdir(folder) == ["judgments.jsonl"]
        path.chmod(0o000)
        with somebody_else(), pytest.raises(FileError, match="cannot be read: no permission"):
            Records.open(path)


START = """
import sys
from proxyuse.errors import FileError
from proxyuse.judge.records import Records
from tests.judge.test_records import witness_of
witness = witness_of()
records = Records.open("judgments.jsonl")
"""


def child(code, folder, *arguments):
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-u", "-c", START + code, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root}/src"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_where_there_is_no_room_nothing_is_changed(path):
    raw = filled(path)
    code = """
import os, resource
size = os.path.getsize("judgments.jsonl") + 50  # so that a part of the line can be written
resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
try:
    records.add(witness, True, "x" * 1_000, "Ada")
except FileError as error:
    print(error)
"""
    out, err = child(code, path.parent).communicate(timeout=60)
    assert "judgments.jsonl cannot be written: no space left" in out, err
    assert path.read_bytes() == raw
    records = Records.open(path)
    records.add(witness_of(), True, "after", "Ada")
    assert len(records) == 4


def test_a_process_that_keeps_the_file_locked_is_reported(path, monkeypatch):
    raw = filled(path)
    code = """
from proxyuse.judge.append_only import locked_for_appending
with locked_for_appending(records.path):
    print("locked")
    input()
"""
    process = child(code, path.parent)
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    monkeypatch.setattr(appending, "LOCK_TIMEOUT", 0.05)
    with pytest.raises(FileError, match="another process has kept this file locked"):
        Records(path).add(witness_of(), True, "r", "Ada")
    with pytest.raises(FileError, match="another process has kept this file locked"):
        Records.open(path)
    process.communicate("\n", timeout=60)
    assert path.read_bytes() == raw
    Records(path).add(witness_of(), True, "r", "Ada")


WRITE = """
name, count = sys.argv[1], int(sys.argv[2])
print("ready")
input()
for number in range(count):
    records.add(witness, True, f"{number} " + "x" * 5_000, name)
    print(number)
"""


@pytest.mark.slow
def test_several_processes_write_at_once(path):
    writers = {name: child(WRITE, path.parent, name, 25) for name in "abcd"}
    for process in writers.values():
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in writers.values():
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    while any(process.poll() is None for process in writers.values()):
        Records.open(path)  # a reader never sees half a line, or a broken chain
        time.sleep(0.01)
    for process in writers.values():
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    records = Records.open(path)
    for name in writers:
        found = [int(r.reason.split()[0]) for r in records if r.by == name]
        assert found == list(range(25))
    assert len(records) == 100


# A process that was started once makes children that write until they are killed, which is far
# quicker than starting a new Python each time.
KILLED = """
import os, random, signal, time
from proxyuse.judge.recovery import recover
random.seed(int(sys.argv[1]))
for turn in range(int(sys.argv[2])):
    try:
        records = Records.open("judgments.jsonl")
    except FileError as error:
        assert ": unfinished, as a crash leaves it. " in str(error), error  # never tampering
        recovered = recover(records.path, "w")
        assert recovered.recovery.unfinished and not recovered.readable
        records = Records.open("judgments.jsonl")
    reading, writing = os.pipe()
    writer = os.fork()
    if writer == 0:
        number = 0
        while True:
            padding = "x" * random.choice([10, 10, 10, 1_000_000])
            records.add(witness, True, f"{turn} {number} {padding}", "w")
            os.write(writing, f"{turn} {number}\\n".encode())
            number += 1
    os.close(writing)
    time.sleep(random.uniform(0.0, 0.03))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    with open(reading) as confirmed:
        print(confirmed.read(), end="")
"""


@pytest.mark.slow
def test_no_judgment_is_lost_when_its_writer_is_killed(path):
    process = child(KILLED, path.parent, random.randrange(1000), 60)
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    confirmed = out.split("\n")[:-1]
    assert confirmed
    recover(path, "w")
    records = Records.open(path)
    kept = [" ".join(r.reason.split()[:2]) for r in records]
    assert set(confirmed) <= set(kept)
    assert len(set(kept)) == len(kept)
    assert len(kept) <= len(confirmed) + 60  # one more per round at most
    assert all(recovery.unfinished for recovery in records.recoveries)
    records.add(witness_of(), True, "after", "Ada")
    assert len(Records.open(path)) == len(kept) + 1
