"""Explicit use: the model reads a column that determines the protected attribute."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import proxyuse as pu
from proxyuse.verdict import ReadsColumns, Verdict

N_ROWS = 3000
PROGRAM = pu.Program.parse("ite(age > 35 and x > 0, 'a', ite(race == 'a', 'c', 'b'))")


def people(n_rows=N_ROWS, seed=0):
    random = np.random.default_rng(seed)
    return {
        "age": random.integers(18, 90, n_rows).astype(float),
        "x": random.normal(size=n_rows),
        "race": random.choice(list("abc"), n_rows),
    }


PEOPLE = people()
AGE = PEOPLE["age"]


def uses(audit):
    return [(use.protected, use.column, use.how, use.verdict) for use in audit.explicit]


def test_an_attribute_that_is_derived_from_a_column_is_used_explicitly():
    audit = pu.audit(PROGRAM, PEOPLE, {"under20": "age < 20"})
    assert audit.witnesses == []
    assert uses(audit) == [("under20", "age", "declared", Verdict.CONFIRMED)]
    (use,) = audit.explicit
    assert use.influence is not None
    assert use.influence_interval is not None
    assert use.influence > use.influence_interval[0] > audit.delta
    assert [test.term for test in use.tests] == ["age > 35"]
    assert audit.verdict is Verdict.CONFIRMED
    assert audit.verdicts["under20"].reasons == (ReadsColumns(("age",), True),)


def test_values_that_a_column_determines_are_used_explicitly():
    audit = pu.audit(PROGRAM, PEOPLE, {"under25": AGE < 25})
    assert uses(audit) == [("under25", "age", "predicts", Verdict.CONFIRMED)]
    (use,) = audit.explicit
    assert use.prediction is not None
    assert use.prediction.accuracy == use.prediction.others == 1
    assert audit.verdict is Verdict.CONFIRMED


def test_the_order_of_the_rows_does_not_matter():
    order = np.random.default_rng(1).permutation(N_ROWS)
    moved = {name: values[order] for name, values in PEOPLE.items()}
    noisy = (AGE < 40) ^ (np.random.default_rng(2).random(N_ROWS) < 0.004)
    first = pu.audit(PROGRAM, PEOPLE, {"z": noisy}).explicit[0]
    second = pu.audit(PROGRAM, moved, {"z": noisy[order]}).explicit[0]
    assert first.prediction == second.prediction


def test_noise_in_the_values_is_not_explicit_use():
    noisy = (AGE > 60) ^ (np.random.default_rng(1).random(N_ROWS) < 0.05)
    assert pu.audit(PROGRAM, PEOPLE, {"over60": noisy}).explicit == ()


def test_the_attribute_itself_is_used_explicitly():
    audit = pu.audit(PROGRAM, PEOPLE, "race")
    assert uses(audit) == [("race", "race", "declared", Verdict.CONFIRMED)]


def test_a_column_without_influence_is_listed_and_does_not_count():
    program = pu.Program.parse("ite(x > 0 or age > 88, 'a', 'b')")
    audit = pu.audit(program, PEOPLE, {"under20": "age < 20"})
    assert uses(audit) == [("under20", "age", "declared", Verdict.NOT_FOUND)]
    assert audit.verdict is Verdict.NOT_FOUND
    by_rule = pu.audit(program, PEOPLE, {"under25": AGE < 25})
    assert uses(by_rule) == [("under25", "age", "predicts", Verdict.NOT_FOUND)]
    assert by_rule.verdict is Verdict.NOT_FOUND
    text = " ".join(str(by_rule).split())
    assert "The model reads `age`, which predicts under25: a rule on this column alone" in text
    assert "This is not above the threshold of 0.05, so it does not count." in text


def test_a_column_that_the_model_does_not_read_is_not_used():
    program = pu.Program.parse("ite(x > 0, 'a', 'b')")
    assert pu.audit(program, PEOPLE, {"over60": "age > 60"}).explicit == ()


@pytest.mark.parametrize("share", [0.5, 0.1, 0.005])
def test_a_coin_is_never_used_explicitly(share):
    random = np.random.default_rng(0)
    for _ in range(20):
        audit = pu.audit(PROGRAM, PEOPLE, {"coin": random.random(N_ROWS) < share})
        assert audit.explicit == ()


def test_a_rare_attribute_needs_enough_rows_that_have_it():
    random = np.random.default_rng(0)
    data = {"u": random.random(20_000), "x": random.normal(size=20_000)}
    program = pu.Program.parse("ite(u + x > 0, 'a', 'b')")
    rare = np.abs(data["u"] - 0.5) < 0.0025
    audit = pu.audit(program, data, {"rare": rare})
    assert uses(audit) == [("rare", "u", "predicts", Verdict.POSSIBLE)]  # 47 rows are too few
    assert audit.verdict is Verdict.POSSIBLE
    assert audit.verdicts["rare"].reasons == (ReadsColumns(("u",), False),)


def test_copies_of_a_row_are_in_the_same_half():
    copied = {name: np.repeat(values[:300], 10) for name, values in PEOPLE.items()}
    audit = pu.audit(PROGRAM, copied, {"under25": copied["age"] < 25})
    assert [use.verdict for use in audit.explicit] == [Verdict.POSSIBLE]  # 300 observations
    coin = np.repeat(np.random.default_rng(1).random(300) < 0.5, 10)
    assert pu.audit(PROGRAM, copied, {"coin": coin}).explicit == ()


def test_a_unique_id_is_not_predicted():
    data = {**PEOPLE, "number": np.arange(float(N_ROWS))}
    program = pu.Program.parse("ite(number + x > 1500, 'a', 'b')")
    ids = [f"p{number}" for number in range(N_ROWS)]
    assert pu.audit(program, data, {"id": ids}).explicit == ()


def test_too_few_rows_leave_it_possible():
    few = people(300)
    audit = pu.audit(PROGRAM, few, {"over60": few["age"] > 60})
    assert [use.verdict for use in audit.explicit] == [Verdict.POSSIBLE]


def test_without_statistics_nothing_is_confirmed():
    for protected in ({"under20": "age < 20"}, {"under20": AGE < 20}):
        audit = pu.audit(PROGRAM, PEOPLE, protected, validity=None)
        assert [use.verdict for use in audit.explicit] == [Verdict.POSSIBLE]
        assert audit.verdict is Verdict.POSSIBLE


def test_without_variables_it_cannot_be_decided():
    audit = pu.audit(PROGRAM, PEOPLE, {"under20": "age < 20"}, variables=False)
    assert uses(audit) == [("under20", "age", "declared", Verdict.UNDECIDED)]
    assert audit.explicit[0].influence is None
    assert audit.verdict is Verdict.UNDECIDED


def test_a_judgment_on_the_column_counts_for_its_explicit_use():
    audit = pu.audit(PROGRAM, PEOPLE, {"under20": "age < 20"})

    def oracle(witness):
        return pu.Judgment(True, "age is allowed") if witness.term == "age" else None

    assert audit.explicit_violations() == list(audit.explicit)
    assert audit.explicit_violations(oracle) == []
    assert audit.verdict_with(oracle) is Verdict.NOT_FOUND
    variable = next(d for d in audit.decompositions if d.term == "age")
    witness = audit.explicit[0].witness
    assert witness is not None
    assert witness.id == variable.id
    assert witness.explicit


def test_a_copy_of_an_audit_keeps_its_explicit_uses():
    audit = pickle.loads(pickle.dumps(pu.audit(PROGRAM, PEOPLE, {"under20": "age < 20"})))
    assert uses(audit) == [("under20", "age", "declared", Verdict.CONFIRMED)]
    assert audit.verdict is Verdict.CONFIRMED


def test_an_assertion_fails():
    with pytest.raises(AssertionError, match="The model uses under20 explicitly: it reads `age`"):
        pu.assert_no_proxy_use(PROGRAM, PEOPLE, {"under20": "age < 20"})


def test_the_influence_in_a_large_forest_is_measured_for_the_column_only():
    random = np.random.default_rng(0)
    X = np.column_stack([random.integers(18, 90, 2000), random.normal(size=(2000, 3))])
    y = (X[:, 0] > 50) & (X[:, 1] > 0) | (random.random(2000) < 0.1)
    forest = RandomForestClassifier(30, random_state=0).fit(X, y)
    names = ["age", "p", "q", "r"]
    data = dict(zip(names, X.T, strict=True))
    audit = pu.audit(forest, data, {"under20": "age < 20"})
    variable = next(d for d in audit.decompositions if d.term == "age" and d.occurrences > 1)
    assert variable.influence is None  # below epsilon, so detection does not need it
    assert uses(audit) == [("under20", "age", "declared", Verdict.CONFIRMED)]
    use = audit.explicit[0]
    assert use.influence is not None
    assert len(use.tests) == 3
    closest = [test.associations["under20"] for test in use.tests]
    assert closest == sorted(closest, reverse=True)
    assert all(test.term.startswith("age") for test in use.tests)
    assert all(test.influence is not None for test in use.tests)
