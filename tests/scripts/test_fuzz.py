"""Damaged and crafted files of every format are read or refused, and never harm the process."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scripts.fuzz.formats import FORMATS, Format, Input, Refused, input_of
from scripts.fuzz.sandbox import Sandbox

SAMPLE = 1000
ROOT = Path(__file__).parents[2]


def end_by_signal(_name, _rng):
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(_name, _rng):
    raise Refused("no")


def fail(_name, _rng):
    raise ZeroDivisionError


def run_code(_name, _rng):
    os.system("true")


def write_elsewhere(_name, _rng):
    (Path(tempfile.gettempdir()) / "fuzz-elsewhere").write_text("x")


def fill_memory(_name, _rng):
    bytearray(3 << 30)


def take_long(_name, _rng):
    while True:
        pass


USES = {
    end_by_signal: "crash",
    refuse: "refused",
    fail: "fault",
    run_code: "code",
    write_elsewhere: "code",
    fill_memory: "memory",
    take_long: "hang",
    lambda name, rng: None: "accepted",
}


@pytest.mark.slow
def test_whatever_an_input_does_is_recognized_and_the_others_are_run():
    sandbox = Sandbox(seconds=2.0)
    inputs = [
        Input(number, Format("x", "txt", lambda: {"a": b"a"}, (), use), "a", ())
        for number, use in enumerate(USES)
    ]
    try:
        outcomes = list(sandbox.run(inputs))
    finally:
        sandbox.close()
    assert [outcome.number for outcome in outcomes] == list(range(len(USES)))
    assert [outcome.kind for outcome in outcomes] == list(USES.values())


def test_an_input_is_determined_by_its_number():
    formats = [each for each in FORMATS if each.name in ("program", "policy", "csv", "expression")]
    for number in range(40):
        first, second = input_of(number, formats), input_of(number, formats)
        assert first == second
        assert first.data() == second.data()
    assert len({input_of(number, formats).data() for number in range(40)}) > 30


@pytest.mark.slow
def test_a_sample_of_inputs_of_every_format_has_no_defect():
    """The sample is fixed; `make fuzz` runs more."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.fuzz", "--count", str(SAMPLE)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert f"{SAMPLE:,} inputs" in done.stdout
    rows = re.findall(r"^(\S+) +[\d,]+ +([\d,]+) +[\d,]+$", done.stdout, re.MULTILINE)
    accepted = {name: int(count.replace(",", "")) for name, count in rows}
    assert accepted.keys() == {*(form.name for form in FORMATS), "total"}
    assert all(accepted.values())  # otherwise the inputs are too damaged to reach anything
