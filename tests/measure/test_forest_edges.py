"""Edge cases of counting sums of trees."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.data.population import Population
from proxyuse.detect.candidates import Candidates
from proxyuse.lang.build import add
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Relation, Term, Var
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.program import Program
from tests.measure.agreement import defined, measured

X = np.arange(8.0)
Y = np.array([3.0, 1, 4, 1, 5, 9, 2, 6])
Z = np.arange(8) % 2
VOTES = "ite(x <= 3, [1, 0], [0, 1]) + ite(y <= 3, [1, 0], [0, 1.25])"


@pytest.mark.parametrize(
    "text",
    [
        "argmax([div(ite(x <= 3, 1, 4) + ite(y <= 3, 0, 2), 2), div(ite(x <= 5, 1, 5), 3)])",
        "argmax([div(ite(x <= 3, 1, 4) + ite(y <= 3, 0, 2), 2), ite(x <= 5, 1, 5)])",
        "argmax([1.5, div(ite(x <= 3, 1, 4) + ite(y <= 3, 0, 2), 2)])",
        f"argmax(div({VOTES}, inf))",
        f"argmax(div({VOTES}, 5e-324))",
        f"argmax(div({VOTES}, 2))",
        "ite(ite(x <=? 5, 0, ite(x <= inf, 0, 1)) > 0.5, 'a', 'b')",
        "ite(ite(x >=? 5, 1, ite(x >= -inf, 0, 1)) + ite(y <= 3, 0, 0.25) > 0.5, 'a', 'b')",
    ],
)
def test_all_sets_of_positions_agree_with_the_definition(text: str) -> None:
    program = Program.parse(text)
    x = np.where(X == 5, np.nan, X)
    population = Population.build({"x": x, "y": Y}, protected={"z": Z}, variables=program.variables)
    reference, together = defined(program, population), measured(program, population)
    for candidate in Candidates(program.points, subsets=8):
        sets = [s for k in (1, 2, 3) for s in combinations(candidate.sites, k)]
        influences = []
        for sites in sets:
            if all(program.points.disjoint(*pair) for pair in combinations(sites, 2)):
                influences.append(reference.influence(sites))
                assert together.influence(sites) == pytest.approx(influences[-1], abs=1e-12), sites
        if len(candidate.sites) > 1 and not any(site.operands for site in candidate.sites):
            assert together.occurrence_bound(candidate.sites) >= max(influences) - 1e-12


def at_most(name: str, limit: float) -> Term:
    return Compare(Relation.LE, Var(name), Const(float(limit)))


def test_some_of_a_repeated_subtree_may_matter_where_all_of_it_does_not() -> None:
    """With the labels p, q, p, a growing lead passes from p through q to p."""
    zeros = Const((0.0, 0.0, 0.0))
    part = Ite(at_most("y", 0), zeros, Const((-1.0, 0.0, 1.0)))
    copies = [Ite(at_most("x", 9 + i), part, zeros) for i in range(4)]
    first = Ite(at_most("x", 8), Const((1.5, 0.0, -2.5)), zeros)
    program = Program(Argmax(add(*copies, first), ("p", "q", "p")), ("x", "y"))
    data: dict[str, Any] = {"x": X, "y": Z.astype(float), "z": Z}
    audit = pu.audit(program, data, "z", epsilon=1, delta=0.1)
    strongest = max(d.influence or 0 for d in audit.decompositions if d.expression == part)
    assert strongest == 0.5 or not audit.complete


@pytest.mark.parametrize("seed", range(12))
def test_a_perfect_proxy_is_one_whatever_the_weights(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 30, 200) + 0.0
    cuts = (0, 3, 5, 8, 10, 12, 16, 18, 21, 22, 24, 26, 27)
    more = " + ".join(f"ite(x <= {cut}, 0.125, 0)" for cut in cuts)
    program = Program.parse(f"ite(ite(x <= 14, 1, 0) + {more} + ite(x <= 99, 0.5, 0) <= 1, 1, 0)")
    data = {"x": x, "z": (x > 14).astype(int)}
    audit = pu.audit(program, data, "z", 1, 0, weights=rng.random(200), budget=pu.Budget(0, 0, 0))
    frame = audit.to_frame().set_index("term")
    assert frame.loc["x <= 14", "association"] == 1
    assert frame.loc["x <= 99", "influence"] == 0
    assert frame.loc["x <= 99", "association"] == 0
    assert "x <= 14" in {w.term for w in audit.witnesses}


def test_one_tree_of_numbers_is_cut_into_bins_too() -> None:
    program = Program.parse("ite(x <= 1, 0.5, ite(x <= 2, 1.5, ite(x <= 3, 2.5, 3.5)))")
    data = {"x": [1, 2, 3, 4] * 2}
    population = Population.build(data, protected={"z": [0, 0, 0, 1, 0, 0, 1, 1]})
    reference = defined(program, population, max_support=2, bins=2)
    together = measured(program, population, max_support=2, bins=2)
    association = together.associations([program.term], NormalizedMutualInformation()).item()
    assert association == pytest.approx(reference.associations(program.term).item(), abs=1e-12)
    assert program.term in together.joint.binned.values()


@pytest.mark.parametrize("option", ["variables", "all_sets", "exact", "opaque"])
@pytest.mark.parametrize("value", ["no", [], None, 1])
def test_switches_are_true_or_false(option: str, value: Any) -> None:
    data = {"x": X, "z": Z}
    with pytest.raises(pu.DataError, match=f"{option}: expected true or false"):
        pu.audit(Program.parse("ite(x <= 3, 0, 1)"), data, "z", **{option: value})


@pytest.mark.parametrize("budget", [{"subsets": "3"}, {"search": None}, {"grow": 2.5}])
def test_budgets_are_whole_numbers(budget: dict[str, Any]) -> None:
    with pytest.raises(pu.DataError, match="expected an integer"):
        pu.Budget(**budget)
