"""A judgment cannot be changed, removed, moved or added without a trace."""

from __future__ import annotations

import io
import json
import re

import pytest

from proxyuse.errors import CorruptFile, FileError
from proxyuse.judge import chain as chain_module
from proxyuse.judge import record as record_module
from proxyuse.judge.chain import Chain, Damage
from proxyuse.judge.judgment import Judgment
from proxyuse.judge.record import GENESIS, Record, line_of, parse_line
from proxyuse.judge.records import Records
from proxyuse.judge.recovery import recover
from tests.judge.test_records import filled, witness_of


@pytest.fixture
def path(tmp_path):
    return tmp_path / "judgments.jsonl"


def refused(path, line, message, *, unfinished=False):
    """Neither reading nor adding works, nothing changes, and the error says how to recover."""
    raw = path.read_bytes()
    fresh = Records(path)
    for use in (lambda: Records.open(path), lambda: fresh.add(witness_of(), True, "r", "Ada")):
        with pytest.raises(CorruptFile, match=message) as caught:
            use()
        assert f"{path}, line {line}: " in str(caught.value)
        assert "proxyuse judgments " in str(caught.value)
        assert "--recover" in str(caught.value)
        assert ("unfinished, as a crash" in str(caught.value)) == unfinished
    assert path.read_bytes() == raw


def resealed(line, previous=None, **changes):
    """A changed line with the right hash, as someone who knows the format would write it."""
    parsed = parse_line(line)
    fields = {name: getattr(parsed.entry, name) for name in Record.__slots__}
    return line_of(Record(**{**fields, **changes}), previous or parsed.previous) + b"\n"


def hash_of(line):
    return json.loads(line)["hash"]


# The chain


def test_each_line_names_the_hash_of_the_line_before_it(path):
    lines = [json.loads(line) for line in filled(path, 4).splitlines()]
    assert lines[0]["previous"] == GENESIS
    assert [line["previous"] for line in lines[1:]] == [line["hash"] for line in lines[:-1]]
    assert Records.open(path).head == lines[-1]["hash"]


def test_equal_judgments_have_different_hashes(path):
    records = Records.open(path)
    at = records.add(witness_of(), True, "r", "Ada").at
    records.add(witness_of(), True, "r", "Ada", at)
    first, second = path.read_bytes().splitlines()
    assert hash_of(first) != hash_of(second)


# The evidence: the last line is a denial, and damage must never revive the approval before it


def denied(path):
    records = Records.open(path)
    records.add(witness_of(), True, "first", "Ada")
    records.add(witness_of(), False, "second", "Bo")
    return path.read_bytes()


def damage_of(raw):
    """The first damage in the bytes of a file; None if it is intact."""
    result = Chain().read(io.BufferedReader(io.BytesIO(raw)))
    return result if isinstance(result, Damage) else None


def test_a_byte_changed_anywhere_in_the_last_line_is_detected(path):
    raw = denied(path)
    start = raw.index(b"\n") + 1
    assert len(raw) - start > 300
    for index in range(start, len(raw)):
        path.write_bytes(raw[:index] + bytes([raw[index] ^ 1]) + raw[index + 1 :])
        with pytest.raises(CorruptFile, match=r"line 2: "):
            Records.open(path)


@pytest.mark.parametrize("bit", [1 << n for n in range(1, 8)])
def test_a_bit_changed_anywhere_is_damage_and_not_a_crash(path, bit):
    raw = denied(path)
    first = raw.index(b"\n")
    for index in range(len(raw)):
        damage = damage_of(raw[:index] + bytes([raw[index] ^ bit]) + raw[index + 1 :])
        assert damage is not None
        assert (damage.line, damage.unfinished) == (1 + (index > first), False)


def test_no_other_byte_is_a_line_end(path):
    raw = denied(path)
    for byte in set(range(256)) - {ord("\n")}:
        assert damage_of(raw[:-1] + bytes([byte])) is not None


def test_a_byte_removed_or_added_anywhere_is_detected(path):
    raw = denied(path)
    assert damage_of(raw) is None
    assert damage_of(raw[:-1]) is None  # the last line end alone says nothing
    for index in range(len(raw)):
        assert damage_of(raw[:index] + b"x" + raw[index:]) is not None
        assert index == len(raw) - 1 or damage_of(raw[:index] + raw[index + 1 :]) is not None


def test_a_rewritten_last_line_is_only_detected_by_the_head(path):
    first, second = denied(path).splitlines(keepends=True)
    head = Records.open(path).head
    path.write_bytes(first + resealed(second, appropriate=True))
    assert Records.open(path)(witness_of()) == Judgment(True, "second", "Bo")
    with pytest.raises(CorruptFile, match="no record with the expected head"):
        Records.open(path, head=head)


def test_records_missing_at_the_end_are_only_detected_by_the_head(path):
    raw = denied(path)
    head = Records.open(path).head
    assert len(Records.open(path, head=head)) == 2
    for kept in (0, 1):
        path.write_bytes(b"".join(raw.splitlines(keepends=True)[:kept]))
        assert len(Records.open(path)) == kept
        with pytest.raises(CorruptFile, match=r"no record with the expected head .* restore"):
            Records.open(path, head=head)
    path.unlink()
    with pytest.raises(CorruptFile, match="no record with the expected head"):
        Records.open(path, head=head)
    path.write_bytes(raw)
    Records.open(path).add(witness_of(), True, "third", "Ada")
    with pytest.raises(CorruptFile, match=r"1 record after the expected head .* review"):
        Records.open(path, head=head)


# Lines as a whole


def swapped(lines):
    return [lines[0], lines[2], lines[1], lines[3]], 2, "does not continue the line before it"


def dropped(lines):
    return [lines[0], *lines[2:]], 2, "does not continue the line before it"


def dropped_first(lines):
    return lines[1:], 1, "does not continue the line before it"


def duplicated(lines):
    return [*lines[:2], *lines[1:]], 3, "repeats line 2"


def repeated_at_the_end(lines):
    return [*lines, lines[0]], 5, "repeats line 1"


def rewritten(lines):
    return (
        [lines[0], resealed(lines[1], appropriate=False), *lines[2:]],
        3,
        "does not continue the line before it",
    )


def rewritten_first(lines):
    return [resealed(lines[0], reason="x"), *lines[1:]], 2, "does not continue the line before it"


def inserted(lines):
    added = resealed(lines[1], previous=hash_of(lines[0]), by="Eve")
    return [lines[0], added, *lines[1:]], 3, "follows line 1, not line 2"


def appended_elsewhere(lines):
    added = resealed(lines[1], previous=hash_of(lines[1]), reason="merged")
    return [*lines, added], 5, "follows line 2, not line 4"


def another_start(lines):
    added = resealed(lines[1], previous=GENESIS, reason="another file")
    return [*lines, added], 5, "follows the start of the file, not line 4"


def empty(lines):
    return [*lines[:2], b"\n", *lines[2:]], 3, "empty"


@pytest.mark.parametrize(
    "change",
    [swapped, dropped, dropped_first, duplicated, repeated_at_the_end, rewritten, rewritten_first,
     inserted, appended_elsewhere, another_start, empty],
)  # fmt: skip
def test_lines_that_were_moved_removed_added_or_rewritten_are_detected(path, change):
    lines, number, message = change(filled(path, 4).splitlines(keepends=True))
    path.write_bytes(b"".join(lines))
    refused(path, number, message)


def changed_field(name, value):
    def change(line):
        fields = json.loads(line)
        fields[name] = value
        return json.dumps(fields, ensure_ascii=False).encode()

    return change


DAMAGES = {
    "another judgment": (lambda line: line.replace(b"true", b"false"), "changed after"),
    "another reason": (lambda line: line.replace(b"reason 1", b"reason 7"), "changed after"),
    "a key twice": (
        lambda line: line.replace(b'"reason":', b'"appropriate": true, "reason":'),
        "changed after",
    ),
    "a key more": (changed_field("more", 1), "changed after"),
    "spaces": (lambda line: line.replace(b", ", b",  "), "changed after"),
    "another line end": (lambda line: line + b"\r\r", "changed after"),
    "cut off": (lambda line: line[:200], "cut off"),
    "zeros": (lambda line: b"\0" * len(line), "zero bytes"),
    "not text": (lambda line: b"\xff\xfe" + line, "not JSON"),
    "a list": (lambda line: b"[1]", "format"),
    "deep": (lambda line: b"[" * 200_000 + b"]" * 200_000, "not JSON"),
    "digits": (lambda line: b"9" * 10_000, "not JSON"),
    "not a number": (changed_field("influence", float("nan")), "not JSON"),
    "infinite": (lambda line: re.sub(rb'(nce": )[\d.]+', rb"\g<1>1e999", line), "finite"),
    "a newer version": (changed_field("version", 2), "newer proxyuse"),
    "another kind": (changed_field("kind", "pardon"), "kind: expected judgment or recovery"),
    "no reason": (changed_field("reason", ""), "blank"),
    "a wrong kind": (changed_field("association", "high"), "association is missing"),
    "no previous": (changed_field("previous", None), "previous is missing"),
    "a nameless variable": (changed_field("variables", [1]), "variable"),
    "no time": (changed_field("at", "yesterday"), "time"),
    "no time in UTC": (changed_field("at", "0001-01-01T00:00:00+23:00"), "time"),
    "a merge": (lambda line: b"<<<<<<< HEAD", "merge conflict"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_line_is_named(path, name):
    damage, message = DAMAGES[name]
    lines = filled(path).splitlines()
    lines[1] = damage(lines[1])
    path.write_bytes(b"\n".join(lines) + b"\n")
    refused(path, 2, message)


def test_line_ends_of_windows_change_nothing(path):
    raw = filled(path)
    head = Records.open(path).head
    path.write_bytes(raw.replace(b"\n", b"\r\n"))
    assert len(Records.open(path, head=head)) == 3
    Records.open(path).add(witness_of(), True, "after", "Ada")
    assert len(Records.open(path)) == 4


def test_a_line_too_long_is_refused_in_little_memory(path, monkeypatch):
    raw = filled(path)
    for module in (record_module, chain_module):
        monkeypatch.setattr(module, "MAX_LINE_BYTES", 1_000)
    path.write_bytes(raw + b"x" * 50_000 + b"\n" + raw)
    refused(path, 4, "longer than 1,000 bytes")


# An unfinished last line


def test_every_place_at_which_the_last_line_can_be_cut_off(path):
    raw = filled(path, 2)
    first = raw.index(b"\n") + 1
    for end in range(len(raw) + 1):
        damage = damage_of(raw[:end])
        whole = (end >= first - 1) + (end >= len(raw) - 1)
        if end in (0, first - 1, first, len(raw) - 1, len(raw)):
            assert damage is None
        else:
            assert damage is not None
            assert (damage.line, damage.unfinished) == (whole + 1, True)


@pytest.mark.parametrize("zeros", [b"\0\0\0", b"\0\0\0\n", b'{"format": "prox\0\0\n'])
def test_zeros_at_the_end_are_what_a_power_failure_leaves(path, zeros):
    path.write_bytes(filled(path) + zeros)
    refused(path, 4, "unfinished, as a crash leaves it", unfinished=True)


@pytest.mark.parametrize(
    "end",
    [
        b"x",
        b'{"format": "proxyuse judgments',
        b'{"format": "proxyuse judgment", "version": 1, "previous": "' + b"1" * 64,
        b'{"format": "proxyuse judgment", "version": 1, "prev\n',
        b'{"format": "proxyuse\0judgment", "version": 1, "prev',
    ],
)
def test_an_end_that_no_crash_leaves_is_not_called_unfinished(path, end):
    path.write_bytes(filled(path) + end)
    refused(path, 4, "not JSON|cut off|zero bytes")


def test_a_changed_last_line_without_its_end_is_not_called_unfinished(path):
    path.write_bytes(filled(path)[:-1].replace(b"reason 2", b"reason 7"))
    refused(path, 3, "changed after it was written")


def test_an_unfinished_line_before_others_is_damage(path):
    lines = filled(path).splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:250] + b"\n" + lines[2])
    refused(path, 2, "cut off")


# Recovery


def test_an_intact_file_needs_no_recovery(path):
    raw = filled(path)
    assert recover(path, "Ada") is None
    assert path.read_bytes() == raw
    with pytest.raises(FileError, match="does not exist"):
        recover(path.with_name("none"), "Ada")
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_is_not_a_file_of_judgments_is_not_recovered(path):
    path.write_bytes(b"age,pay\n1,2\n")
    with pytest.raises(FileError, match="not a file of judgments"):
        recover(path, "Ada")
    assert path.read_bytes() == b"age,pay\n1,2\n"
    assert len(list(path.parent.iterdir())) == 1


def test_a_recovery_keeps_everything_and_is_on_record(path):
    lines = filled(path, 4).splitlines(keepends=True)
    raw = b"".join([lines[0], lines[1].replace(b"true", b"fals"), *lines[2:], b"noise"])
    path.write_bytes(raw)
    recovered = recover(path, "Ada")
    assert recovered is not None
    assert [record.reason for record in recovered.readable] == ["reason 2", "reason 3"]
    assert recovered.unreadable == 2
    assert path.with_name(recovered.recovery.set_aside).read_bytes() == raw
    assert path.read_bytes().startswith(lines[0])
    records = Records.open(path)
    assert records.recoveries == (recovered.recovery,)
    assert (recovered.recovery.kept, recovered.recovery.by) == (1, "Ada")
    assert recovered.recovery.problem.startswith("line 2: ")
    assert (len(records), records.lines) == (1, 2)
    records.add(witness_of(), True, "confirmed", "Ada")
    assert [record.reason for record in Records.open(path)] == ["reason 0", "confirmed"]
    assert recover(path, "Ada") is None


def test_after_a_recovery_an_approval_has_to_be_confirmed(path):
    raw = denied(path)
    path.write_bytes(raw[:-20] + b"x" + raw[-19:])
    with pytest.raises(CorruptFile, match="line 2: "):
        Records.open(path)
    recover(path, "Ada")
    records = Records.open(path)
    assert records(witness_of()) is None
    assert [record.reason for record in records.similar(witness_of())] == ["first"]
    records.add(witness_of(), True, "looked at again", "Ada")
    assert Records.open(path)(witness_of()) == Judgment(True, "looked at again", "Ada")


def test_after_a_recovery_a_denial_still_stands(path):
    Records.open(path).add(witness_of(), False, "no", "Ada")
    path.write_bytes(path.read_bytes() + b"noise\n")
    recover(path, "Ada")
    assert Records.open(path)(witness_of()) == Judgment(False, "no", "Ada")


@pytest.mark.parametrize("torn", [b"{", b'{"format": "proxyuse judgment", "ver', b"\0\0"])
def test_a_crash_costs_no_earlier_judgment(path, torn):
    raw = filled(path)
    path.write_bytes(raw + torn)
    recovered = recover(path, "Ada")
    assert recovered is not None
    assert recovered.recovery.unfinished
    assert path.with_name(recovered.recovery.set_aside).read_bytes() == raw + torn
    records = Records.open(path)
    assert len(records) == 3
    assert records(witness_of()) == Judgment(True, "reason 2", "Ada")


def test_a_recovery_is_part_of_the_chain(path):
    raw = filled(path)
    path.write_bytes(raw + b"{")
    recover(path, "Ada")
    Records.open(path).add(witness_of(), True, "after", "Ada")
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], lines[4]]))
    refused(path, 4, "does not continue the line before it")
