"""Regressors by every influence measure: bounds exclude no witness, and models get a verdict."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import proxyuse as pu
from proxyuse.measure.reference import MovedBy, Reference

MODELS = {
    "linear": make_pipeline(StandardScaler(), LinearRegression()),
    "ridge": make_pipeline(StandardScaler(), Ridge()),
    "tree": DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": RandomForestRegressor(6, max_depth=4, random_state=0),
    "boosted": GradientBoostingRegressor(n_estimators=12, max_depth=2, random_state=0),
}
INFLUENCES = {
    "change": None,
    "moved": pu.Moved(50),
    "relative": pu.Moved(0.1, relative=True),
    "squared": pu.SquaredChange(),
}
LOSSES: dict[str, Any] = {
    "change": "change",
    "moved": MovedBy(50, relative=False),
    "relative": MovedBy(0.1, relative=True),
    "squared": "squared change",
}


@cache
def premiums(rows: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Customers, their premiums, and who is a woman; `member` is a proxy for it."""
    rng = np.random.default_rng(rows)
    woman = rng.random(rows) < 0.5
    customers = pd.DataFrame(
        {
            "age": rng.integers(18, 80, rows).astype(float),
            "power": rng.integers(40, 200, rows).astype(float),
            "member": (woman ^ (rng.random(rows) < 0.08)).astype(float),
        }
    )
    paid = 300 + 2 * customers["power"] - 3 * customers["age"] - 150 * customers["member"]
    return customers, (paid + rng.normal(0, 40, rows)).to_numpy(), woman


@cache
def fitted(name: str) -> Any:
    customers, paid, _ = premiums(2000)
    return MODELS[name].fit(customers, paid)


def audited(name: str, influence: str, rows: int, **options: Any) -> pu.Audit:
    customers, _, woman = premiums(rows)
    return pu.audit(
        fitted(name), customers, {"woman": woman}, influence=INFLUENCES[influence], **options
    )


def figures(audit: pu.Audit) -> dict[tuple[str, Any], float]:
    """The influence of each witness that is not a partial sum."""
    sites = [tuple(w.decomposition.sites) for w in audit.witnesses]
    pairs = zip(sites, audit.witnesses, strict=True)
    return {(w.term, at): w.influence for at, w in pairs if not any(s.operands for s in at)}


@pytest.mark.parametrize("influence", INFLUENCES)
@pytest.mark.parametrize("name", MODELS)
def test_every_influence_is_that_of_the_definition(name: str, influence: str) -> None:
    audit = audited(name, influence, 40)
    reference = Reference(audit.program, audit.population, loss=LOSSES[influence])
    assert audit.witnesses
    for witness in audit.witnesses[:20]:
        expected = reference.influence(witness.decomposition.sites)
        assert witness.influence == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("influence", INFLUENCES)
@pytest.mark.parametrize("name", ["forest", "boosted"])
def test_bounds_exclude_no_witness_of_a_forest(name: str, influence: str) -> None:
    delta = 0.002 if name == "forest" else 0.05
    bounded = audited(name, influence, 500, delta=delta, budget=pu.Budget(positions=0))
    everything = audited(name, influence, 500, delta=delta, measure="all")
    assert bounded.bounded is not None
    assert everything.bounded is None
    assert bounded.complete
    found, expected = figures(bounded), figures(everything)
    single = {key: value for key, value in expected.items() if len(key[1]) == 1}
    assert {key: value for key, value in found.items() if len(key[1]) == 1} == pytest.approx(single)
    assert all(value == pytest.approx(expected.get(key, value)) for key, value in found.items())


@pytest.mark.parametrize("influence", INFLUENCES)
@pytest.mark.parametrize("name", MODELS)
def test_a_proxy_in_a_price_is_confirmed(name: str, influence: str) -> None:
    audit = audited(name, influence, 2000, validity="confirm")
    confirmed = [w for w in audit.witnesses if w.validity is not None and w.validity.confirmed]
    assert "member" in {w.term for w in confirmed}
    assert "age" not in {w.term for w in confirmed}


@pytest.mark.parametrize("influence", ["moved", "squared"])
def test_a_certificate_of_a_price_is_verified(influence: str) -> None:
    audit = audited("forest", influence, 100)
    customers, _, woman = premiums(100)
    data = customers.assign(woman=woman)
    assert pu.verify(pu.certify(audit), fitted("forest"), data).ok
