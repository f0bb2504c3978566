"""imodels' rule lists: rules asked in their order, the first that holds decides.

As read in imodels 3.0.4. Each entry of a list has the probability of the second class; features
are found by their number, names are for printing only. No model takes missing values.

- `GreedyRuleListClassifier` and `OneRClassifier`: a rule holds where its feature is at least its
  cutoff, or below it if `flip` is set, and then says `val_right`; the last entry says `val` of
  all other rows, whatever else it holds. The second class wins if its probability is the larger.
- `FastFrugalTreeClassifier`: the same with above, and at most if `flip` is set.
- `BayesianRuleListClassifier`: takes features of 0 and 1 only, so numbers are cut into bins and
  categories are one-hot encoded before. `d_star` lists the rules by their number among
  `itemsets`; one holds where all of its features (``X_3`` is the fourth) are 1 and says the
  entry of `theta` at its place in the list. Number 0 always holds. The second class wins if its
  probability is 1/2 or more.

Comparisons are those of float64. Each rule has the number of its place in the list as `node`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proxyuse.lang.build import conj
from proxyuse.lang.nodes import FALSE, TRUE, Compare, Const, Not, Precision, Relation, Term
from proxyuse.models.feature_tests import Test
from proxyuse.models.features import Computed, Feature, Inputs, Raw, above, choice
from proxyuse.models.model_terms import ModelTerms, Origins, labels
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.program import Origin


@dataclass(frozen=True, slots=True)
class Rule:
    """A test, and what is said where it is the first that holds.

    Attributes
    ----------
    test : whether it holds.
    probability : that of the second class.
    second : whether the second class wins.
    """

    test: Test
    probability: float
    second: bool


def translate_greedy(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate GreedyRuleListClassifier or OneRClassifier."""
    return _of_thresholds(model, inputs, or_equal=True)


def translate_frugal(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate FastFrugalTreeClassifier."""
    return _of_thresholds(model, inputs, or_equal=False)


def translate_bayesian(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate BayesianRuleListClassifier."""
    check_fitted(model, "theta", inputs)
    numbers = {name: number for number, name in enumerate(model.feature_placeholders)}
    rules: list[Rule] = []
    for itemset, probability in zip(model.d_star, model.theta, strict=True):
        names = () if itemset == 0 else model.itemsets[itemset]
        test = _all_of([_is_one(inputs.features[numbers[name]]) for name in names])
        rules.append(Rule(test, float(probability), bool(probability >= 0.5)))
    return _body(model, rules, inputs)


def _of_thresholds(model: Any, inputs: Inputs, *, or_equal: bool) -> ModelTerms:
    check_fitted(model, "rules_", inputs)
    rules: list[Rule] = []
    for entry in model.rules_[:-1]:
        feature, cutoff = inputs.features[int(entry["index_col"])], float(entry["cutoff"])
        if entry["flip"]:
            test = feature.at_most(cutoff, Precision.FLOAT64, missing=False, strict=or_equal)
        else:
            test = above(feature, cutoff, Precision.FLOAT64, or_equal=or_equal)
        rules.append(_larger(test, entry["val_right"]))
    rules.append(_larger(Test(TRUE), model.rules_[-1]["val"]))
    return _body(model, rules, inputs)


def _larger(test: Test, probability: Any) -> Rule:
    return Rule(test, float(probability), bool(probability > 1 - probability))


def _is_one(feature: Feature) -> Test:
    """Whether a feature is 1."""
    if isinstance(feature, Raw | Computed):
        return Test(Compare(Relation.EQ, feature.term(), Const(1.0)))
    at_least = above(feature, 1.0, Precision.FLOAT64, or_equal=True)
    return _all_of([at_least, feature.at_most(1.0, Precision.FLOAT64, missing=False)])


def _all_of(tests: Sequence[Test]) -> Test:
    """Whether all tests hold; those that always do are left out."""
    left = [test for test in tests if test.term != TRUE and not _below_infinity(test)]
    if any(test.term == FALSE for test in left):
        return Test(FALSE)
    if len(left) == 1:
        return left[0]
    terms = [Not(test.term) if test.opposite else test.term for test in left]
    return Test(conj(*terms) if terms else TRUE)


def _below_infinity(test: Test) -> bool:
    match test.term:
        case Compare(Relation.LE, _, Const(limit)):
            return limit == math.inf
        case _:
            return False


def _body(model: Any, rules: Sequence[Rule], inputs: Inputs) -> ModelTerms:
    """Nested ites in the order of the list, up to the rule that always holds."""
    classes = labels(model.classes_)
    shares = [Const((1.0 - rule.probability, rule.probability)) for rule in rules]
    output, origins = _nested(model, rules, [Const(classes[rule.second]) for rule in rules], inputs)
    probabilities, more = _nested(model, rules, shares, inputs)
    return ModelTerms(output, classes, probabilities, origins=origins | more)


def _nested(
    model: Any, rules: Sequence[Rule], said: Sequence[Const], inputs: Inputs
) -> tuple[Term, Origins]:
    step = origin_of(model, inputs).step
    origins: Origins = {}
    always = next(place for place, rule in enumerate(rules) if rule.test.term == TRUE)
    term: Term = said[always]
    origins[id(term)] = Origin(step, node=always)
    for place in reversed(range(always)):
        if rules[place].test.term == FALSE:
            continue
        term = choice(rules[place].test, said[place], term)
        origins[id(said[place])] = origins[id(term)] = Origin(step, node=place)
    return term, origins
