"""After a repair, no collection of weak computations has an influence above delta."""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.detect.collections import candidates_of
from proxyuse.detect.collective_witness import Collection
from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Site
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.sample import Sample
from proxyuse.repairing.row_pairs import RowPairs
from proxyuse.repairing.stand_ins import StandIns
from proxyuse.repairing.tree_members import RankedTests, TreeMembers
from proxyuse.repairing.utility import Measure, Utility
from tests.constant_repairs import by_constants

LEVELS = np.linspace(0.0, 1.0, 201)


def weak_copies(rows, number, flipped=0.25, seed=0):
    """Columns that each agree with an attribute a little, columns that do not, and labels."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data = {f"x{i}": np.where(rng.random(rows) < flipped, 1 - z, z) for i in range(number)}
    data |= {f"w{i}": rng.integers(0, 5, rows) for i in range(3)}
    score = sum(data[f"x{i}"] for i in range(number)) / number + 0.4 * data["w0"] + data["w1"] * 0.3
    y = score + rng.normal(0, 0.3, rows) > np.median(score)
    return pd.DataFrame(data), y.astype(int), z


def kept(found):
    """Every witness is appropriate; no member of the collections is one by itself."""
    if isinstance(found, Collection):
        return None
    return pu.Judgment(True, f"{found.id} is not part of this test")


MODELS = {
    "forest": lambda: RandomForestClassifier(15, max_depth=3, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=60, max_depth=2, random_state=0),
    "linear": LogisticRegression,
}
EPSILON, DELTA, ROWS = 0.05, 0.08, 800
OPTIONS: dict[str, Any] = {
    "epsilon": EPSILON,
    "delta": DELTA,
    "budget": pu.Budget(grow=0, subsets=64),
}
UNCONFIRMED: dict[str, Any] = {**OPTIONS, "unconfirmed": True}


@cache
def repaired(name):
    X, y, z = weak_copies(ROWS, 14)
    model = MODELS[name]().fit(X, y)
    data = X.assign(z=z)
    return data, by_constants(model, data, y, protected="z", oracle=kept, **UNCONFIRMED)


def highest(audit, epsilon=EPSILON):
    """The largest upper end of the influence of all levels from epsilon on."""
    levels = [level for level in LEVELS if level >= epsilon]
    points = audit.collective_curve("z", levels=levels).points
    return max((p.influence.high for p in points if p.level >= epsilon), default=0.0)


@pytest.mark.parametrize("name", MODELS)
def test_no_level_is_above_delta_in_a_fresh_audit_of_the_repaired_model(name):
    data, repair = repaired(name)
    assert highest(repair.before) > DELTA
    audit = pu.audit(repair.model, data, "z", validity=None, **OPTIONS)
    assert highest(audit) <= DELTA
    assert not audit.violations(kept)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_of_the_same_class_and_predicts_what_the_program_predicts(name):
    data, repair = repaired(name)
    assert repair.deployed.native
    X = data.drop(columns="z")
    assert (repair.model.predict(X) == repair.program.predict(X)).all()


@pytest.mark.parametrize("name", MODELS)
def test_the_certificate_verifies(name):
    data, repair = repaired(name)
    assert pu.verify(repair.certificate, repair.model, data, oracle=kept).ok


@pytest.mark.parametrize("name", MODELS)
def test_the_result_says_what_was_done(name):
    _, repair = repaired(name)
    (known,) = repair.collections
    assert known.protected == "z"
    assert known.kind == ("operands" if name == "linear" else "tests")
    assert 0 < known.replaced_members <= known.members
    assert known.replaced_members <= known.replaced_positions <= known.positions
    assert max(point.influence.high for point in known.before.points) > DELTA
    assert max((p.influence.high for p in known.after.points), default=0.0) <= DELTA
    assert "together they changed up to" in " ".join(str(repair).split())


def test_less_accuracy_is_lost_than_by_removing_every_member():
    data, repair = repaired("forest")
    known = candidates_of(repair.before.measurement, NormalizedMutualInformation())
    assert known is not None
    numbers = np.flatnonzero(known.associations[:, 0] >= EPSILON)
    sites = [site for number in numbers.tolist() for site in known.sites(number)]
    assert len(sites) > repair.collections[0].replaced_positions
    y = weak_copies(ROWS, 14)[1]
    without = repair.before.program.replaced(dict.fromkeys(sites, Const(False)))
    assert repair.used.after > np.mean(without.predict(data) == y)


def test_a_collection_judged_appropriate_stays():
    data, found = repaired("forest")
    wanted = found.before.collections["z"].id
    judged = []

    def judge(found):
        if not isinstance(found, Collection):
            return kept(found)
        judged.append(found.id)
        return pu.Judgment(found.id == wanted, "recorded")

    y = weak_copies(ROWS, 14)[1]
    repair = by_constants(
        MODELS["forest"]().fit(data.drop(columns="z"), y), data, y, protected="z", oracle=judge,
        **UNCONFIRMED,
    )  # fmt: skip
    assert wanted in judged
    assert repair.collections == ()
    assert highest(repair.after) > DELTA


def test_collections_can_be_left_alone():
    data, _ = repaired("forest")
    y = weak_copies(ROWS, 14)[1]
    model = MODELS["forest"]().fit(data.drop(columns="z"), y)
    repair = by_constants(
        model, data, y, protected="z", oracle=kept, collections=False, **UNCONFIRMED
    )  # fmt: skip
    assert repair.collections == ()
    with pytest.raises(pu.DataError, match="collections: expected true or false, got 3"):
        pu.repair(model, data, y, protected="z", collections=3)  # type: ignore[arg-type]


def test_members_judged_appropriate_as_witnesses_stay():
    program = pu.Program.parse("ite(a <= 0.5, ite(b <= 0.5, 0, 1), ite(b <= 0.5, 0, 1))")
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 400)
    data = {"a": z, "b": np.where(rng.random(400) < 0.1, 1 - z, z), "z": z}

    def all_of_b(witness):
        return pu.Judgment("b" in witness.term, "b is needed")

    repair = by_constants(
        program, data, protected="z", epsilon=0.1, delta=0.05, oracle=all_of_b, unconfirmed=True
    )
    assert "b <= 0.5" in str(repair.program)
    assert repair.collections == ()


# Trees: measured like the reference


def members_of(model, X, y, z, utility=None):
    program = pu.translate(model)
    data = X.assign(z=z).rename(columns=dict(zip(X, program.inputs, strict=True)))
    population = Population.build(data, protected="z", variables=program.variables)
    measurement = Measurement(Sample(program, population))
    known = candidates_of(measurement, NormalizedMutualInformation())
    assert known is not None
    assert known.engine is not None
    order = known.ordered(0)
    sizes = np.arange(1, len(order) + 1)
    sample = measurement.sample
    right = sample.outputs() if utility is None else utility
    gains = Utility(Measure.AGREEMENT, right, sample.weights, sample.frame)
    pairs = RowPairs.of(sample)
    return known, TreeMembers(known.engine, [RankedTests(order, sizes)], gains, pairs)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_walk_measures_the_collections_of_all_sizes(classes):
    X, y, z = weak_copies(300, 4)
    y = y + (X["w2"] > 3) if classes == 3 else y
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    known, members = members_of(model, X, y, z)
    shares = members.shares(0, members.pairs)
    rows, others = (side.ravel() for side in np.indices((300, 300)))
    family = known.family(known.ordered(0))
    for size in (1, 2, len(family) // 2, len(family)):
        expected = family.changed(size, rows, others).mean()
        assert shares[size] == pytest.approx(expected, abs=1e-12)


def test_constants_are_measured_as_in_the_changed_program():
    X, y, z = weak_copies(300, 4)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    known, members = members_of(model, X, y, z)
    nodes = members.open_nodes(members.ranks[0])[::3].tolist()
    constants = [(node, bool(node % 2)) for node in nodes]
    members.set(constants)
    reached = members.reachable()
    points = known.engine.plan.points_of(np.array(list(reached)))
    sites = [Site(point + 1) for point in points.tolist()]
    program = known.measurement.program.replaced(
        {site: Const(value) for site, value in zip(sites, reached.values(), strict=True)}
    )
    outputs = program.predict(X)
    right = known.measurement.sample.outputs()
    assert members.gain() == np.count_nonzero(outputs == right)
    changed = Measurement(Sample(program, known.measurement.sample.population))
    after = candidates_of(changed, NormalizedMutualInformation())
    assert after is not None
    family = after.family(np.arange(len(after)))
    rows, others = (side.ravel() for side in np.indices((300, 300)))
    expected = family.changed(len(family), rows, others).mean()
    assert members.shares(0, members.pairs)[-1] == pytest.approx(expected, abs=1e-12)
    members.unset(nodes)
    assert members.gain() == 300


def test_derivatives_are_those_of_the_stand_ins():
    X, y, z = weak_copies(200, 3)
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    known, members = members_of(model, X, y, z)
    own = members.state.outcomes.leads.astype(float)
    moved, scale, step = np.roll(own, 7, axis=0), float(np.abs(own).mean()), 1.0

    def disagreement(first, second):
        p, q = (1 / (1 + np.exp(-side[:, 0] / scale)) for side in (first, second))
        return p * (1 - q) + q * (1 - p)

    by_own, by_moved = members.stand_ins.influence_gradients(own, moved, scale)
    step *= scale * 1e-4
    numeric = (disagreement(own + step, moved) - disagreement(own - step, moved)) / (2 * step)
    np.testing.assert_allclose(by_own[:, 0], numeric, rtol=1e-4, atol=1e-9 / scale)
    numeric = (disagreement(own, moved + step) - disagreement(own, moved - step)) / (2 * step)
    np.testing.assert_allclose(by_moved[:, 0], numeric, rtol=1e-4, atol=1e-9 / scale)
    assert isinstance(known.engine, ForestEngine)
    assert isinstance(members.stand_ins, StandIns)


def test_a_forest_that_predicts_numbers_is_repaired():
    X, _, z = weak_copies(600, 5)
    rng = np.random.default_rng(1)
    y = X[[f"x{i}" for i in range(5)]].sum(axis=1) + X["w0"] + rng.normal(0, 0.5, 600)
    model = RandomForestRegressor(8, max_depth=3, random_state=0).fit(X, y)
    data = X.assign(z=z)
    options: dict[str, Any] = {"epsilon": 0.1, "delta": 0.2, "influence": "moved:20%"}
    repair = by_constants(model, data, y, protected="z", oracle=kept, unconfirmed=True, **options)
    audit = pu.audit(repair.model, data, "z", validity=None, **options)
    assert highest(audit, 0.1) <= 0.2


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random forest", "XGBoost"])
def test_the_collections_of_adult_are_repaired(name):
    pytest.importorskip("xgboost")
    path = Path(__file__).parents[2] / "examples/repair_collections.py"
    spec = importlib.util.spec_from_file_location("repair_collections", path)
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    classifiers = example.classifiers()
    assert set(classifiers) == {"random forest", "XGBoost"}
    repair = example.repaired(classifiers[name].set_params(n_estimators=40), rows=4000)
    assert example.highest(repair.before.collective_curve("married")) > example.DELTA
    assert example.highest(repair.after.collective_curve("married")) <= example.DELTA
    assert repair.deployed.native
    assert repair.selection.before - repair.selection.after < 0.02
