"""Results name the best cut of a number with many values."""

from __future__ import annotations

import numpy as np

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings.witness import best_cut, figures, reveals
from proxyuse.report.render.text import witness_text
from proxyuse.report.result import AuditResult, Witness


def result_of(program: str, **options: object) -> AuditResult:
    rng = np.random.default_rng(0)
    married = rng.random(4000) < 0.5
    income = 41_300 + 8_000 * np.where(married, 1, -1) + rng.normal(0, 8_000, 4000)
    data = {"income": income, "age": rng.integers(20, 60, 4000) + 15 * married}
    return document(
        pu.audit(pu.Program.parse(program), data, {"married": married}, 0.05, 0, **options)  # type: ignore[arg-type]
    )


def witness_named(result: AuditResult, reading: str) -> Witness:
    return next(w for w in result.witnesses if w.reading == reading)


def test_the_words_the_table_and_the_figures_name_the_cut() -> None:
    result = result_of("ite(income > 42000, 1, 0)")
    witness = witness_named(result, "income")
    cut = witness.cut
    assert cut is not None
    assert (cut.measured, cut.candidates, cut.score) == (True, 255, None)
    assert cut.association == witness.association
    assert 38_000 < cut.threshold < 44_000
    shown = f"{cut.threshold:,}".removesuffix(".0")
    assert witness.table.rows == (f"at most {shown}", f"above {shown}")
    (married,) = result.protected
    sentence = reveals(witness, married)
    assert sentence.startswith(f"Knowing whether it is above {shown}, you can tell who is married ")
    assert best_cut(cut) == f"above {shown}, the best of 255 cuts"
    assert f"best cut     above {shown}, the best of 255 cuts" in witness_text(result, witness)
    assert figures(witness, result).endswith(f"Best cut: above {shown}, the best of 255 cuts.")
    (note,) = [note.text for note in result.notes if note.kind == "binned"]
    assert note.startswith("1 computation has more than 256 distinct values. ")


def test_a_number_with_few_values_has_its_cut_beside_its_association() -> None:
    result = result_of("ite(age > 50, 1, 0)")
    witness = witness_named(result, "age")
    cut = witness.cut
    assert cut is not None
    assert not cut.measured
    assert len(witness.table.rows) > 2
    assert cut.association is not None
    assert cut.association >= witness_named(result, "age > 50").association
    (married,) = result.protected
    assert reveals(witness, married).startswith("Knowing this value, you can ")
    assert best_cut(cut).startswith(f"above {cut.threshold:g} (association 0.")
    assert best_cut(witness_named(result, "age > 50").cut) == ""


def test_the_score_of_a_vector_is_named() -> None:
    result = result_of("argmax([42000, income])")
    witness = witness_named(result, "[42000, income]")
    assert witness.cut is not None
    assert witness.cut.score == 2
    (married,) = result.protected
    assert reveals(witness, married).startswith("Knowing whether score 2 is above ")


def test_a_measure_of_values_has_a_cut_only_in_its_table() -> None:
    result = result_of("ite(income > 42000, 1, 0)", association="squared-correlation")
    witness = witness_named(result, "income")
    assert witness.cut is not None
    assert not witness.cut.measured
    assert witness.cut.association is None
    assert len(witness.table.rows) == 2


def test_where_one_value_is_always_the_best_guess_the_odds_are_explained() -> None:
    rng = np.random.default_rng(1)
    age = rng.integers(18, 80, 3000)
    data = {"age": age, "over70": age > 70}
    result = document(pu.audit(pu.Program.parse("ite(age > 50, 'a', 'b')"), data, "over70"))
    witness = witness_named(result, "age > 50")
    assert (witness.guess.informed, witness.guess.blind) == (witness.guess.blind,) * 2
    assert reveals(witness, result.protected[0]) == (
        "Knowing this value does not change the best guess of over70, which is right 84.5% of the "
        "time. But it changes the odds as much as knowing over70 for about 51% of people and "
        "drawing it at random for the others."
    )
