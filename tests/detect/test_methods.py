"""An audit reports the methods that measured its influences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.measure.engine import ENGINES
from proxyuse.notes import NoteKind

ROWS = 40
RNG = np.random.default_rng(3)
DATA: dict[str, Any] = {
    "x": RNG.integers(0, 6, ROWS),
    "y": RNG.normal(size=ROWS),
    "c": RNG.choice(["a", "b", "d"], ROWS),
}
Z = {"z": np.arange(ROWS) % 2}


def method(program: str, **options: Any) -> str:
    audit = pu.audit(pu.Program.parse(program), DATA, Z, **options)
    (sentence,) = audit.note_sentences(NoteKind.METHOD)
    return sentence


TREE = "ite(x <= 2, ite(y <= 0, 0, 1), ite(x <= 4, 1, 0))"
FOREST = "ite(ite(x <= 2, 0.5, 1) + ite(y <= 0, ite(x <= 2, 0, 0.7), 1) > 1.2, 1, 0)"
VOTE = "argmax(ite(x <= 2, [1, 0], [0.3, 0.7]) + ite(y <= 0, [0.2, 0.8], [1, 0]), 'no', 'yes')"
LINEAR = "ite(0.5 * x + 2 * y > 0.3, 1, 0)"
NESTED = "ite(ite(x + y <= 2, y, x) <= 1, 0, 1)"
EQUAL = "ite(x == y, 0, 1)"


@pytest.mark.parametrize(
    ("program", "methods"),
    [
        (TREE, ["from thresholds and branches", "by trying each distinct value"]),
        (FOREST, ["from thresholds and branches", "by trying each distinct value"]),
        (VOTE, ["from thresholds and branches", "by trying each distinct value"]),
        (LINEAR, ["from thresholds and branches"]),
        (NESTED, ["from thresholds and branches", "by trying each distinct value"]),
        (EQUAL, ["by trying each distinct value", "from thresholds and branches"]),
    ],
    ids=["tree", "sum", "vote", "linear", "repeated", "equal"],
)
def test_the_methods_are_named_and_no_others(program: str, methods: list[str]) -> None:
    text = method(program)
    assert {engine.method for engine in ENGINES if engine.method in text} == set(methods)


@pytest.mark.parametrize("program", [TREE, FOREST, VOTE], ids=["tree", "sum", "vote"])
def test_trees_are_counted_where_there_is_enough_to_count(program: str) -> None:
    many = 100
    data = {name: np.tile(values, many) for name, values in DATA.items()}
    audit = pu.audit(pu.Program.parse(program), data, {"z": np.tile(Z["z"], many)})
    (sentence,) = audit.note_sentences(NoteKind.METHOD)
    assert "from counts of the trees" in sentence
    few = pu.audit(pu.Program.parse(program), DATA, Z)
    for one, other in zip(audit.decompositions, few.decompositions, strict=True):
        assert one.id == other.id
        assert one.influence == pytest.approx(other.influence)
        assert one.reach == pytest.approx(other.reach)


def test_other_losses_and_drawn_pairs_have_engines_of_their_own() -> None:
    text = method("x + y", influence=pu.SquaredChange())
    assert text == "Influence was computed 3 times from means and variances."
    text = method("abs(x - y)", influence=pu.SquaredChange())
    assert "by trying each distinct value" in text
    text = method(FOREST, sampling=pu.Sampling(alpha=0.1, beta=0.1))
    assert text.endswith("from sampled pairs of rows.")


def test_the_note_is_not_among_those_a_reader_is_shown() -> None:
    audit = pu.audit(pu.Program.parse(TREE), DATA, Z)
    assert "thresholds and branches" not in str(audit)


def test_variables_can_be_left_out_and_that_is_said() -> None:
    whole = pu.audit(pu.Program.parse(FOREST), DATA, Z, epsilon=0)
    audit = pu.audit(pu.Program.parse(FOREST), DATA, Z, epsilon=0, variables=False)
    kept = [d for d in whole.decompositions if d.term not in ("x", "y")]
    assert [d.id for d in audit.decompositions] == [d.id for d in kept]
    assert not audit.complete
    assert {(item.what, item.term, item.count) for item in audit.unsettled} >= {
        ("positions", "x", 2),
        ("positions", "y", 1),
    }


@pytest.mark.parametrize("program", [TREE, FOREST, VOTE, LINEAR])
def test_threads_change_nothing(program: str) -> None:
    one, three, all_cores = (
        [
            (d.id, d.influence, d.reach, d.associations)
            for d in pu.audit(pu.Program.parse(program), DATA, Z, threads=threads).decompositions
        ]
        for threads in (1, 3, None)
    )
    assert one == three == all_cores


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_wrong_number_of_threads_is_refused(threads: Any) -> None:
    with pytest.raises(pu.DataError, match=r"threads: expected an integer of at least 1"):
        pu.audit(pu.Program.parse(TREE), DATA, Z, threads=threads)
