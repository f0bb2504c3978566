"""The work for a deep or wide program grows with its size, or a limit is named before it starts."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.size_limits import check_size
from proxyuse.hashes import program_hash

DATA = {"x": [1.0, 3.0, 7.0, 9.0], "y": [1.0, 2.0, 3.0, 4.0], "z": [0, 0, 1, 1]}

SHAPES = {
    "not": lambda n: "ite(" + "not " * n + "x <= 3, 1, 0)",
    "ite": lambda n: "".join(f"ite(x <= {i}, y, " for i in range(n)) + "0" + ")" * n,
    "sum": lambda n: " + ".join(f"{i + 1} * x" for i in range(n)),
    "and": lambda n: "ite(" + " and ".join(f"x <= {i}" for i in range(n)) + ", 1, 0)",
    "constants": lambda n: "(1 + " * n + "x" + ")" * n,
}


def calls(work, *arguments):
    """Count the function calls of some work; they do not depend on the machine."""
    count = 0

    def counted(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return count


def used(text):
    program = pu.Program.parse(text)
    assert pu.Program.parse(str(program)) == program
    program_hash(program)
    program.predict(DATA)
    check_size(program)
    assert len(program.points) == program.term.points


@pytest.mark.parametrize("shape", SHAPES)
def test_parsing_hashing_printing_and_evaluating_are_linear(shape):
    used(SHAPES[shape](10))  # imports
    first, second = (calls(used, SHAPES[shape](n)) for n in (200, 400))
    assert second < 2.3 * first


@pytest.mark.parametrize(
    "shape",
    ["not", *(pytest.param(s, marks=pytest.mark.slow) for s in ("and", "constants", "ite"))],
)
def test_the_audit_of_a_long_chain_or_operator_is_linear(shape):
    def audited(text):
        pu.audit(pu.Program.parse(text), DATA, "z", validity=None, threads=1)

    audited(SHAPES[shape](10))
    first, second = (calls(audited, SHAPES[shape](n)) for n in (60, 120))
    assert second < 2.6 * first


@pytest.mark.parametrize("shape", ["not", "sum", "and"])
def test_a_program_beyond_a_limit_is_refused_before_the_audit(shape):
    program = pu.Program.parse(SHAPES[shape](2000))
    with pu.limits(audit_steps=1_000_000), pytest.raises(pu.LimitExceeded) as error:
        pu.audit(program, DATA, "z")
    assert error.value.limit == "audit_steps"


def test_trees_with_constant_leaves_do_not_count():
    program = pu.Program.parse("".join(f"ite(x <= {i}, {i}, " for i in range(50)) + "0" + ")" * 50)
    with pu.limits(audit_nodes=10):
        check_size(program)


def test_memory_for_evaluation_does_not_grow_with_the_program():
    import tracemalloc

    columns = {name: np.arange(20_000.0) for name in "xy"}
    for shape in ("ite", "sum"):
        program = pu.Program.parse(SHAPES[shape](200))
        tracemalloc.start()
        program.predict(columns)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 * columns["x"].nbytes
