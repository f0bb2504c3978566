"""imodels' rule lists: the first rule that holds decides.

Follows imodels 3.0.4. Each entry of a list has the probability of the second class. Features are
identified by index; names are for printing only. No model accepts missing values.

- `GreedyRuleListClassifier` and `OneRClassifier`: a rule holds if its feature is at least its
  cutoff (below it if `flip` is set), and then predicts `val_right`. The last entry predicts `val`
  for all other rows, whatever else it contains. The more probable class wins.
- `FastFrugalTreeClassifier`: the same with "above" (and "at most" if `flip` is set).
- `BayesianRuleListClassifier`: accepts only features of 0 and 1, so numbers are binned and
  categories one-hot encoded beforehand. `d_star` lists the rules by their index in `itemsets`. A
  rule holds if all of its features (``X_3`` is the fourth) are 1, and then predicts the entry of
  `theta` at its position in the list. Rule 0 always holds. The second class wins if its
  probability is at least 1/2.

Comparisons are in float64. The `node` of a rule's origin is its position in the list.
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
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.translation import Origins, Translation, labels
from proxyuse.program import Origin


@dataclass(frozen=True, slots=True)
class Rule:
    """A test, and the prediction if it is the first that holds.

    Attributes
    ----------
    test : whether the rule holds.
    probability : of the second class.
    second : whether the second class wins.
    """

    test: Test
    probability: float
    second: bool


def translate_greedy(model: Any, inputs: Inputs) -> Translation:
    """Translate GreedyRuleListClassifier or OneRClassifier."""
    return _of_thresholds(model, inputs, or_equal=True)


def translate_frugal(model: Any, inputs: Inputs) -> Translation:
    """Translate FastFrugalTreeClassifier."""
    return _of_thresholds(model, inputs, or_equal=False)


def translate_bayesian(model: Any, inputs: Inputs) -> Translation:
    """Translate BayesianRuleListClassifier."""
    check_fitted(model, "theta", inputs)
    numbers = {name: number for number, name in enumerate(model.feature_placeholders)}
    rules: list[Rule] = []
    for itemset, probability in zip(model.d_star, model.theta, strict=True):
        names = () if itemset == 0 else model.itemsets[itemset]
        test = _all_of([_is_one(inputs.features[numbers[name]]) for name in names])
        rules.append(Rule(test, float(probability), bool(probability >= 0.5)))
    return _translation(model, rules, inputs)


def _of_thresholds(model: Any, inputs: Inputs, *, or_equal: bool) -> Translation:
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
    return _translation(model, rules, inputs)


def _larger(test: Test, probability: Any) -> Rule:
    return Rule(test, float(probability), bool(probability > 1 - probability))


def _is_one(feature: Feature) -> Test:
    """Whether a feature is 1."""
    if isinstance(feature, Raw | Computed):
        return Test(Compare(Relation.EQ, feature.term(), Const(1.0)))
    at_least = above(feature, 1.0, Precision.FLOAT64, or_equal=True)
    return _all_of([at_least, feature.at_most(1.0, Precision.FLOAT64, missing=False)])


def _all_of(tests: Sequence[Test]) -> Test:
    """Whether all tests hold; tests that always hold are omitted."""
    relevant = [test for test in tests if test.term != TRUE and not _below_infinity(test)]
    if any(test.term == FALSE for test in relevant):
        return Test(FALSE)
    if len(relevant) == 1:
        return relevant[0]
    terms = [Not(test.term) if test.opposite else test.term for test in relevant]
    return Test(conj(*terms) if terms else TRUE)


def _below_infinity(test: Test) -> bool:
    match test.term:
        case Compare(Relation.LE, _, Const(limit)):
            return limit == math.inf
        case _:
            return False


def _translation(model: Any, rules: Sequence[Rule], inputs: Inputs) -> Translation:
    """Nested ites in the order of the list, up to the rule that always holds."""
    classes = labels(model.classes_)
    winners = [Const(classes[rule.second]) for rule in rules]
    output, origins = _nested(model, rules, winners, inputs)
    pairs = [Const((1.0 - rule.probability, rule.probability)) for rule in rules]
    probabilities, more = _nested(model, rules, pairs, inputs)
    return Translation(output, classes, probabilities, origins=origins | more)


def _nested(
    model: Any, rules: Sequence[Rule], values: Sequence[Const], inputs: Inputs
) -> tuple[Term, Origins]:
    step = origin_of(model, inputs).step
    origins: Origins = {}
    always = next(index for index, rule in enumerate(rules) if rule.test.term == TRUE)
    term: Term = values[always]
    origins[id(term)] = Origin(step, node=always)
    for index in reversed(range(always)):
        if rules[index].test.term == FALSE:
            continue
        term = choice(rules[index].test, values[index], term)
        origins[id(values[index])] = origins[id(term)] = Origin(step, node=index)
    return term, origins
