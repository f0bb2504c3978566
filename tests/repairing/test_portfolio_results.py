"""What a repair with several candidates says: gains and losses, the certificate, the views."""

from __future__ import annotations

import html
from typing import Any

import pytest

import proxyuse as pu
from proxyuse.repairing.selection import NO_TIME
from proxyuse.report.findings.repair import candidate_table, not_made
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.markdown import repair_markdown
from proxyuse.report.render.text import repair_text
from proxyuse.report.repair_document import repair_document
from tests.portfolio_cases import (
    COLUMNS,
    DATA,
    MODELS,
    OPTIONS,
    VALIDATION,
    fitted,
    fitted_size,
    retrained,
    validated,
)

# Who gains and who loses, and the certificate


@pytest.mark.parametrize("name", MODELS)
def test_gains_and_losses_of_a_model_that_was_trained_again_add_up(name: str) -> None:
    repair = retrained(name)
    before, after = fitted(name).predict(DATA[COLUMNS]), repair.model.predict(DATA[COLUMNS])
    assert (repair.changed_rows == (before != after)).all()
    assert repair.changed_rows.sum() > 0
    (attribute,) = repair.changes_by_group.attributes
    assert repair.changes_by_group.output.positive == "yes"
    groups: Any = attribute.groups
    assert sum(group.up + group.down for group in groups) == repair.changed_rows.sum()
    for group in groups:
        own = (DATA["married"] == group.value.strip("'")).to_numpy()
        assert own.any()
        assert group.up == ((before == "no") & (after == "yes") & own).sum()
        assert group.down == ((before == "yes") & (after == "no") & own).sum()
        assert group.changed == group.up + group.down
    assert repair_document(repair).changed == repair.changed_rows.sum()


@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_is_verified_with_the_original_model(name: str) -> None:
    for repair in (validated(name), retrained(name)):
        verified = pu.verify(
            repair.certificate, repair.model, DATA, protected="married", original=fitted(name)
        )
        assert verified.ok, str(verified)
        assert "changes" in [check.name for check in verified.checks]
        other = fitted("tree" if name == "logistic" else "logistic")
        wrong = pu.verify(
            repair.certificate, repair.model, DATA, protected="married", original=other
        )
        assert not wrong.ok


# What is shown


@pytest.mark.parametrize("seconds", [None, 0.001])
def test_every_view_has_the_candidates(seconds: float | None) -> None:
    """In hardly any time, no candidate but constants is made, and the views say so."""
    options = {**OPTIONS, "seconds": seconds}
    repair = pu.repair(fitted("tree"), DATA, "paid", validation=VALIDATION, **options)
    result = repair_document(repair)
    heads, lines = candidate_table(result)
    left_out = [known for known in repair.candidates if known.remaining is None]
    assert len(lines) == len(repair.candidates) - len(left_out)
    assert bool(left_out) == bool(seconds)
    assert all(known.rejected == NO_TIME for known in left_out)
    others = not_made(result)
    assert others.startswith(f"{len(left_out)} other candidates were" if left_out else "")
    assert [line[-1] for line in lines].count("yes") == 1
    views = {
        "print": str(repair),
        "terminal": repair_text(result),
        "markdown": repair_markdown(result),
        "html": page_text(repair.before, repair=repair),
        "notebook": repair._repr_html_(),
    }
    for name, view in views.items():
        plain = html.unescape(view).replace("`", "").replace("\\", "")
        for tag in ("<bdi>", "</bdi>", "<code>", "</code>"):
            plain = plain.replace(tag, "")
        plain = " ".join(plain.split())
        for head in heads:
            assert head in plain, (name, head)
        for line in lines:
            for cell in (*line, others):
                assert cell.replace("`", "") in plain, (name, cell)


def test_nodes_remain_only_if_the_model_was_not_trained_again() -> None:
    before = f"{fitted_size('tree'):,}"
    again = " ".join(str(retrained("tree")).split())
    assert f"the program had {before} nodes before and has " in again
    assert "nodes of the program remain" not in again
    options = {**OPTIONS, "methods": ("constants",)}
    kept = " ".join(str(pu.repair(fitted("tree"), DATA, "paid", **options)).split())
    assert f"of {before} nodes of the program remain" in kept


def test_a_certificate_and_a_result_name_the_method_and_the_columns() -> None:
    repair = retrained("tree")
    assert repair.chosen.methods[0] in ("drop", "coarsen")
    assert "rooms" in repair.chosen.columns
    story = repair.certificate.content["repaired"]
    assert (story["method"], story["columns"]) == (
        repair.chosen.method, list(repair.chosen.columns),
    )  # fmt: skip
    chosen = next(known for known in repair_document(repair).candidates if known.chosen)
    assert (chosen.methods, chosen.columns) == (repair.chosen.methods, repair.chosen.columns)
    assert str(repair).startswith("The repair for married trained the model again ")
