"""Notes carry their numbers, so that a report withholds numbers of rows by type."""

from __future__ import annotations

from typing import get_args

import pytest

import proxyuse as pu
from proxyuse import notes
from proxyuse.notes import Note, RowCount
from proxyuse.report.document import document
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.render.text import audit_text


def test_a_column_named_like_a_count_is_printed_as_it_is():
    name = "2 rows"
    data = {"x": [0, 1] * 20, name: [None, None, *["a", "b"] * 19]}
    audit = pu.audit(pu.Program.parse("x"), data, name, 0, 0, missing_protected="drop")
    (note,) = (note for note in document(audit).notes if note.kind == "dropped")
    assert note.text == "Dropped fewer than 5 rows without a value for '2 rows'."
    assert "a proxy for 2 rows" in audit_text(document(audit))


@pytest.mark.parametrize("kind", get_args(Note), ids=lambda kind: kind.__name__)
def test_every_note_has_a_kind(kind):
    assert isinstance(kind.kind, notes.NoteKind)


@pytest.mark.parametrize(
    ("note", "hidden", "shown"),
    [
        (notes.ZeroWeight(RowCount(3)), "fewer than 5 rows", "3 rows"),
        (notes.MissingCounted("z", RowCount(99, private=True)), "some rows", "99 rows"),
        (notes.RoundedDecisions(RowCount(1), 40), "fewer than 5 of 40 rows", "1 of 40 rows"),
        (notes.ConditionHolds("x", RowCount(2), 9), "Fewer than 5 of 9 rows", "2 of 9 rows"),
        (notes.TakenAsMissing("x", RowCount(1), ("?",)), "fewer than 5 cells", "1 cell "),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
def test_small_numbers_of_rows_are_withheld(note, hidden, shown):
    assert hidden in note_sentence(note, min_cell=5)
    assert shown in note_sentence(note)
    assert note_sentence(note).endswith(".")


@pytest.mark.parametrize("what", get_args(notes.Unmeasured))
@pytest.mark.parametrize("number", [1, 2, 10**30])
def test_every_kind_of_unsettled_item_has_a_sentence(what, number):
    sentence = note_sentence(notes.NotSettled(what, number, "x + y", ("0", "1.0"), True))
    assert "`x + y`" in sentence
    assert sentence.endswith(".")
    if what not in ("influences", "variables"):
        assert "(at 0, 1.0, ...)" in sentence
        assert {1: "1 ", 2: "2 ", 10**30: "More than a trillion "}[number] in sentence
