"""The outputs of a command are complete or absent, whatever happens meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxyuse.judge.append_only import locked_for_appending
from tests.command_line import run
from tests.io.test_data_files import somebody_else

MARRIED = np.array(["yes", "no"] * 100)
PEOPLE = pd.DataFrame({"score": np.where(MARRIED == "yes", 60, 30), "married": MARRIED})
AUDIT = ("audit", "--model", "rule.txt", "--data", "people.csv", "--protected", "married")
NAMES = {
    "--output": "audit.json",
    "--csv": "audit.csv",
    "--markdown": "audit.md",
    "--report": "audit.html",
    "--sarif": "audit.sarif",
    "--junit": "audit.xml",
    "--certificate": "certificate.json",
}
REPAIRED = {
    "--output": "repaired.txt",
    "--certificate": "certificate.json",
    "--program": "repaired.program",
    "--python": "repaired.py",
    "--report": "repair.md",
}


def options(names: dict[str, str]) -> list[str]:
    return [word for pair in names.items() for word in pair]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    Path("rule.txt").write_text("ite(score > 45, 1, 0)\n")
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


# What cannot be written


@pytest.mark.parametrize("flag", ["--output", "--report", "--certificate"])
def test_an_audit_writes_all_outputs_or_none(folder, flag, capsys):
    """The output that fails is a full device, which is known only when it is written to."""
    for name in NAMES.values():
        Path(name).write_text("old")
    before = content(folder)
    out, err = run(*AUDIT, *options({**NAMES, flag: "/dev/full"}), code=2, capsys=capsys)
    assert "/dev/full cannot be written: no space left" in err
    assert "The model uses a proxy for married" in out
    assert "Next steps" not in out
    assert content(folder) == before
    run(*AUDIT, *options(NAMES), code=1, capsys=capsys)
    assert not any(text == b"old" for text in content(folder).values())
    assert set(content(folder)) == set(before)


@pytest.mark.parametrize("flag", ["--certificate", "--report"])
def test_a_repair_writes_all_outputs_or_none(folder, flag, capsys):
    before = content(folder)
    words = ("repair", *AUDIT[1:], *options({**REPAIRED, flag: "/dev/full"}))
    _, err = run(*words, code=2, capsys=capsys)
    assert "/dev/full cannot be written: no space left" in err
    assert content(folder) == before


def test_without_permission_for_one_folder_nothing_is_written(folder, capsys):
    closed = folder / "closed"
    closed.mkdir()
    run(*AUDIT, *options(NAMES), code=1, capsys=capsys)  # imports what an audit needs
    for name in NAMES.values():
        Path(name).write_text("old")
    folder.chmod(0o777)
    for path in folder.iterdir():
        path.chmod(0o777)
    closed.chmod(0o555)
    before = content(folder)
    parents = [path for path in folder.parents if path.stat().st_mode & 0o005 != 0o005]
    modes = [path.stat().st_mode for path in parents]
    for path in parents:
        path.chmod(0o755)
    try:
        with somebody_else():
            words = options({**NAMES, "--junit": "closed/audit.xml"})
            _, err = run(*AUDIT, *words, code=2, capsys=capsys)
    finally:
        closed.chmod(0o755)
        for path, mode in zip(parents, modes, strict=True):
            path.chmod(mode)
    assert "closed/audit.xml cannot be written: no permission" in err
    assert content(folder) == before
    assert list(closed.iterdir()) == []


# Signals


def started(*words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proxyuse", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A shell that runs the tests in the background makes its children ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def until(process: subprocess.Popen[str], reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120  # a bound for a test that fails
    while not reached():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def opened(process: subprocess.Popen[str], path: Path) -> bool:
    folder = Path(f"/proc/{process.pid}/fd")
    targets = []
    for link in folder.iterdir():
        try:
            targets.append(os.readlink(link))
        except FileNotFoundError:  # closed in the meantime
            continue
    return str(path) in targets


@pytest.fixture
def at_a_locked_file(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An audit that waits for the file of judgments, before it has measured anything."""
    path = folder / "judgments.jsonl"
    with locked_for_appending(path):
        process = started(*AUDIT, "--judgments", "judgments.jsonl", *options(NAMES))
        until(process, lambda: opened(process, path))
        yield process
        process.kill()
        process.communicate()


@pytest.fixture
def at_a_pipe(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An audit whose outputs are all staged, and that waits for someone to read one."""
    os.mkfifo("pipe")
    process = started(*AUDIT, *options({**NAMES, "--junit": "pipe"}))
    until(process, lambda: len(list(folder.glob(".proxyuse-*.tmp"))) == len(NAMES) - 1)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("point", ["at_a_locked_file", "at_a_pipe"])
def test_a_signal_leaves_the_old_outputs_and_nothing_else(folder, request, point, number, code):
    for name in NAMES.values():
        Path(name).write_text("old")
    before = content(folder)
    process = request.getfixturevalue(point)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert err.strip().endswith({130: "proxyuse audit: interrupted"}.get(code, "terminated"))
    after = content(folder)
    after.pop("judgments.jsonl", None)
    assert after == before


@pytest.mark.slow
def test_sigterm_at_a_question_keeps_what_was_confirmed(folder):
    words = ("judge", *AUDIT[1:], "--judgments", "judgments.jsonl", "--by", "Ada")
    with started(*words) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("a\nfor pay\n")
        process.stdin.flush()
        while "Recorded: appropriate" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 143, err
    assert "Judged: 1 (1 appropriate, 0 inappropriate)" in out
    assert "1 record, head " in out


def test_main_leaves_the_handlers_of_its_caller(folder, capsys):
    def ours(number, frame):
        raise AssertionError

    for handler in (signal.SIG_DFL, signal.SIG_IGN, ours):
        before = signal.signal(signal.SIGTERM, handler)
        try:
            run("datasets", code=0, capsys=capsys)
            assert signal.getsignal(signal.SIGTERM) is handler
        finally:
            signal.signal(signal.SIGTERM, before)
