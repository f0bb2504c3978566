"""What XGBoost and LightGBM share: sums of trees, and numbers that count as missing."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.lang.bisection import last_with_first_answer
from proxyuse.lang.build import add, conj, disj
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Ite, Not, Precision, Relation, Term, Value
from proxyuse.models.feature_tests import Bound, Test
from proxyuse.models.features import Coded, Feature, Fixed, Mapped, Raw, Stepped
from proxyuse.models.translation import DOUBLE, Origins, Translation, is_zero
from proxyuse.program import Origin

ZERO_AND_ONE = (0.0, 1.0)
MAX_DIGITS = 15  # of a number that data may contain exactly


@dataclass(frozen=True, slots=True, eq=False)
class TreatedAsMissing(Feature):
    """A feature whose numbers from `low` to `high` also count as missing.

    They are compared in `precision`, by default that of the threshold.
    """

    feature: Feature
    low: float
    high: float
    precision: Precision | None = None

    def term(self) -> Term:
        """The feature's value."""
        return self.feature.term()

    def within(self, bound: Bound) -> Test:
        """One comparison if these numbers go where missing ones go anyway, otherwise several."""
        plain = self.feature.within(bound)
        if bound.holds(self.low) == bound.holds(self.high) == bound.missing:
            return plain
        precision = self.precision or bound.precision
        upto = self.feature.at_most(self.high, precision, missing=False)
        below = self.feature.at_most(self.low, precision, missing=False, strict=True)
        if upto == below:  # no number is lost
            return plain
        plain_term, upto_high, below_low = (_positive_term(test) for test in (plain, upto, below))
        treated_as_missing = conj(upto_high, Not(below_low))
        if self.low == self.high and isinstance(self.feature, Raw):
            treated_as_missing = Compare(
                Relation.EQ, self.feature.term(), Const(self.low), precision
            )
        return Test(
            disj(plain_term, treated_as_missing)
            if bound.missing
            else conj(plain_term, Not(treated_as_missing))
        )


def _positive_term(test: Test) -> Term:
    return Not(test.term) if test.opposite else test.term


def zeros_as_missing(feature: Feature) -> Feature:
    """A feature of a sparse matrix, whose zeros are not stored and count as missing.

    A scaled column is 0 at one number, such as its mean. If that number has many digits, it is
    ignored: each threshold would become three comparisons, for a number that columns do not
    contain. If they do, the audit's comparison with the model finds it.
    """
    match feature:
        case Mapped() if not _has_short_zero(feature):
            return feature
        case Coded(name, numbers, default, missing):
            known = {value: _zero_as_missing(number) for value, number in numbers.items()}
            return Coded(name, known, _zero_as_missing(default), _zero_as_missing(missing))
        case Stepped(name, cuts, numbers, missing):
            steps = tuple(_zero_as_missing(number) for number in numbers)
            return Stepped(name, cuts, steps, _zero_as_missing(missing))
        case Fixed(number):
            return Fixed(_zero_as_missing(number))
        case _:
            return TreatedAsMissing(feature, 0.0, 0.0, Precision.FLOAT64)


def _has_short_zero(feature: Mapped) -> bool:
    """Whether a number with few digits is mapped to 0."""

    def below(numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            return feature.function(numbers) < 0

    last, _ = last_with_first_answer(below)
    near = np.array([last, np.nextafter(last, math.inf)])
    with np.errstate(all="ignore"):
        zeros = near[feature.function(near) == 0]
    return any(len(repr(zero)) <= MAX_DIGITS for zero in zeros.tolist())


def _zero_as_missing(number: float) -> float:
    return math.nan if number == 0 else number


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of a booster, before its objective: one sum, or one per class.

    Attributes
    ----------
    objective : the name of the objective.
    sums : the sums.
    origins : the origins of their parts.
    steepness : the factor of the score in a sigmoid.
    """

    objective: str
    sums: list[Term]
    origins: Origins
    steepness: float = 1.0

    def translation(
        self,
        output: Term,
        origin: Origin,
        classes: tuple[Value, ...] = (),
        probabilities: Term | None = None,
        tolerance: float = DOUBLE,
    ) -> Translation:
        """The translation of a model with this output."""
        self.origins.setdefault(id(output), origin)
        return Translation(
            output, classes, probabilities, origins=self.origins, tolerance=tolerance
        )


def predicts_probability(model: Any) -> bool:
    """Whether a model is an XGBoost or LightGBM Booster that predicts a probability."""
    kind = type(model)
    if kind.__name__ != "Booster":
        return False
    if kind.__module__.startswith("xgboost"):
        objective = json.loads(model.save_config())["learner"]["objective"]["name"]
        return objective in ("binary:logistic", "reg:logistic")
    text = model.model_to_string(num_iteration=1)
    return re.search(r"^objective=(binary|cross_entropy)\b", text, re.MULTILINE) is not None


def class_sums(bases: Sequence[float], trees: Sequence[tuple[int, Term]]) -> list[Term]:
    """The sum of each class: its base and its trees, in order, without trees that are 0."""
    operands: list[list[Term]] = [[Const(base)] if base else [] for base in bases]
    for number, tree in trees:
        if not is_zero(tree):
            operands[number].append(tree)
    return [add(*terms) if terms else Const(0.0) for terms in operands]


def above_one_half(score: Term, probability: Callable[[Array], Array]) -> Compare:
    """Whether the probability that a library computes from a score is above one half.

    The result compares the score. The smallest scores above 0 have a probability of exactly one
    half; the constant is the largest of these.
    """
    last, _ = last_with_first_answer(lambda numbers: probability(numbers) > 0.5)
    return Compare(Relation.GT, score, Const(last))


def label_where(test: Term, labels: Sequence[Value] = ZERO_AND_ONE) -> Term:
    """The second label if a test holds, otherwise the first."""
    return Ite(test, Const(labels[1]), Const(labels[0]))
