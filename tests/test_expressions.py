"""Protected attributes that are derived from columns by an expression."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.data.columns import Kind
from proxyuse.data.population import Derivation
from proxyuse.data.table import Table
from proxyuse.errors import DataError
from proxyuse.expressions import derived_attribute, named_expression
from tests.constant_repairs import by_constants

PEOPLE: dict[str, list[Any]] = {
    "age": [25.0, 61.0, 60.0, 70.0],
    "race": ["a", "b", "a", "b"],
    "marital status": ["x", "x", "y", "y"],
}
PROGRAM = pu.Program.parse("ite(race == 'a', 0, 1)")


def attribute_of(protected, data=PEOPLE, **options):
    (attribute,) = pu.audit(PROGRAM, data, protected, **options).population.protected
    return attribute


@pytest.mark.parametrize(
    ("protected", "name"),
    [
        ({"over60": "age > 60"}, "over60"),
        ("over60: age > 60", "over60"),
        (["over60: age > 60"], "over60"),
        ("age > 60", "age > 60"),
    ],
)
def test_an_attribute_is_derived_by_an_expression(protected, name):
    attribute = attribute_of(protected)
    assert (attribute.name, attribute.source) == (name, None)
    assert attribute.derivation == Derivation("age > 60", ("age",), ("age",))
    assert attribute.column.decode() == [False, True, False, True]


def test_a_text_that_is_a_column_is_that_column():
    data = {**PEOPLE, "age > 60": ["p", "q", "p", "q"]}
    attribute = attribute_of("age > 60", data)
    assert (attribute.source, attribute.derivation) == ("age > 60", None)


@pytest.mark.parametrize(
    ("expression", "kind", "values"),
    [
        ("age + 1", Kind.NUMBER, [26.0, 62.0, 61.0, 71.0]),
        ("ite(age > 60, 'old', race)", Kind.CATEGORY, ["a", "old", "a", "old"]),
        ("race in {'a'} and age <= 60", Kind.BOOLEAN, [True, False, True, False]),
    ],
)
def test_an_expression_can_have_any_kind(expression, kind, values):
    column = derived_attribute(Table.of(PEOPLE), "z", expression).column
    assert (column.kind, column.decode()) == (kind, values)


def test_an_attribute_is_missing_where_one_of_its_columns_is():
    data = {**PEOPLE, "age": [25.0, np.nan, 60.0, 70.0]}
    with pytest.raises(DataError, match=r"'over60' is missing in 1 row .* missing_protected"):
        attribute_of("over60: age > 60", data)
    dropped = attribute_of("over60: age > 60", data, missing_protected="drop")
    assert dropped.column.decode() == [False, False, True]
    kept = attribute_of("over60: age > 60", data, missing_protected="category")
    assert kept.column.decode() == [False, None, False, True]
    both = derived_attribute(Table.of(data), "z", "ite(race == 'a', race, 'c')")
    assert both.column.decode() == ["a", "c", "a", "c"]


@pytest.mark.parametrize(
    ("protected", "message"),
    [
        ("rase", r"'rase' is not a column of the data; .* did you mean 'race'\?"),
        ("marital_status", r"not a column of the data; .* did you mean 'marital status'\?"),
        ({"z": "agee > 60"}, r"'z' is derived from 'agee', but .* did you mean 'age'\?"),
        ({"z": "age >> 60"}, r"'z': the expression is invalid: line 1, column 6.*\n  age >> 60\n"),
        ({"z": "race > 60"}, r"'z': the expression race > 60 does not fit the data: .*number"),
        ({"z": "1 > 0"}, "reads no column"),
        ({"z": "vector(age, age)"}, "expression|kind"),
        (["race", "race: age > 60"], "'race' appears twice"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(protected, message):
    with pytest.raises(DataError, match=f"(?s){message}"):
        pu.audit(PROGRAM, PEOPLE, protected)


def test_a_colon_in_quotes_separates_no_name():
    assert named_expression("job == 'a: b'") == ("job == 'a: b'", "job == 'a: b'")
    assert named_expression("z : age > 60") == ("z", "age > 60")


def test_an_expression_is_never_run_as_python(tmp_path):
    target = tmp_path / "made"
    with pytest.raises(DataError):
        attribute_of({"z": f"open('{target}', 'w')"})
    assert not target.exists()


def test_the_result_and_the_certificate_name_the_expression():
    data = {name: values * 60 for name, values in PEOPLE.items()}
    audit = pu.audit(PROGRAM, data, "over60: age > 60")
    sentence = "'over60' is derived from `age`: age > 60."
    assert sentence in audit.note_sentences()
    certificate = pu.certify(audit)
    assert "'over60' (derived: 'age > 60')" in certificate.claim
    (attribute,) = certificate.protected
    assert (attribute.expression, attribute.derived_from) == ("age > 60", ("age",))
    assert "age" in certificate.data.columns
    assert pu.verify(certificate, PROGRAM, data).ok
    other = {**data, "age": [30.0] * 239 + [80.0]}
    assert not pu.verify(certificate, PROGRAM, other).ok


def test_a_repair_takes_expressions_too():
    data = {"age": [20.0, 30.0, 70.0, 80.0] * 50, "x": [0, 1, 0, 1] * 50}
    program = pu.Program.parse("ite(age > 60, 'a', ite(x == 1, 'a', 'b'))")
    repaired = by_constants(
        program, data, protected={"over60": "age > 60"}, epsilon=0.5, unconfirmed=True
    )
    assert not repaired.after.witnesses
