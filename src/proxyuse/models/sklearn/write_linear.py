"""Writes repaired programs back to scikit-learn's linear models.

A term of the program's sum stands for all features that were computed from one raw column: the
columns of a one-hot encoding, or a column and its scaled copy. If the term is unchanged, the
features keep their coefficients. If it was removed, the coefficients become 0. The new intercept
makes the constants of the model and the program equal; scaled columns contribute constants too.

A term that is neither unchanged nor a constant cannot be written back. An example is a product of
two columns, one of which became a constant.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Add,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Relation,
    Term,
    Value,
    Vector,
    children,
)
from proxyuse.lang.rewrite import without_missing_directions
from proxyuse.models.features import Coded, Feature, Filled, Fixed, Inputs, Mapped, Raw, Stepped
from proxyuse.models.remaining_trees import CannotWriteBack
from proxyuse.models.sklearn.write_boosting import constant_scores
from proxyuse.models.translation import labels
from proxyuse.models.weighted_sums import weighted_terms
from proxyuse.models.write_boosted import finite, logarithm
from proxyuse.program import Program

LINKS = (Function.EXP, Function.SIGMOID, Function.SOFTMAX)


def write_linear(model: Any, program: Program, inputs: Inputs) -> Any:
    """A linear classifier or regressor with `coef_` and `intercept_` that computes a program.

    If the whole program is a constant, all coefficients are 0.
    """
    coefficients = model.coef_
    if hasattr(coefficients, "toarray"):  # after `sparsify`
        coefficients = coefficients.toarray()
    weights = np.array(np.atleast_2d(coefficients))
    offsets = np.array(np.broadcast_to(np.ravel(model.intercept_), len(weights)), dtype=float)
    if isinstance(program.term, Const):
        weights[:] = 0
        offsets[:] = _constant_sums(model, program.term.value)
    else:
        sums = _sums(program.term, classifies=hasattr(model, "classes_"))
        if len(sums) != len(weights):
            raise CannotWriteBack(f"the program has {len(sums)} sums, the model {len(weights)}")
        everything = frozenset(program.inputs)
        for row, total in enumerate(sums):
            weights[row], offsets[row] = _row(
                inputs.features, weights[row], float(offsets[row]), total, everything
            )
    new = deepcopy(model)
    new.coef_ = weights.reshape(np.shape(coefficients))
    new.intercept_ = _intercept(model.intercept_, offsets)
    return new


def _intercept(old: Any, offsets: Array) -> Any:
    """The intercepts, with the type and shape of the old ones if possible."""
    if np.size(old) != len(offsets):  # `fit_intercept=False` stores one 0 for all sums
        return offsets
    if np.ndim(old) == 0:
        return float(offsets[0])
    return offsets.astype(np.asarray(old).dtype).reshape(np.shape(old))


def _constant_sums(model: Any, value: Value) -> list[float]:
    """The sums of a model with a constant prediction."""
    if hasattr(model, "classes_"):
        return constant_scores(value, labels(model.classes_))
    loss = getattr(model, "_base_loss", None)
    logs = loss is not None and type(loss.link).__name__ == "LogLink"
    return [logarithm(value) if logs else finite(value)]


def _sums(term: Term, *, classifies: bool) -> tuple[Term, ...]:
    """The sums in a program: the arguments of its decision or its link function."""
    compared = not classifies
    while True:
        match term:
            case Ite(Compare() as test, Const(), Const()) if not compared:
                term = test
            case Compare(relation, left, Const()):
                compared = compared or relation not in (Relation.EQ, Relation.NE)
                term = left
            case Argmax(operand):
                term = operand
            case Call(function, (operand,)) if function in LINKS:
                term = operand
            case Add((Const(1.0), Mul((Const(-1.0), Call(Function.SIGMOID, (operand,)))))):
                term = operand  # the probability of the first of two classes
            case Vector(items):
                return items
            case Const(tuple() as numbers):
                return tuple(Const(number) for number in numbers)
            case _:
                return (term,)


def _row(
    features: Sequence[Feature],
    weights: Array,
    offset: float,
    total: Term,
    everything: frozenset[str],
) -> tuple[Array, float]:
    """The coefficients and the intercept of a sum."""
    original: dict[Term, list[int]] = {}
    for term, number in weighted_terms(features, weights.tolist(), offset):
        if number is not None:
            original.setdefault(without_missing_directions(term, everything), []).append(number)
    constants: list[float] = []
    kept: set[Hashable] = set()
    for term in children(total) if isinstance(total, Add) else (total,):
        if isinstance(term, Const):
            constants.append(finite(term.value))
            continue
        numbers = original.get(without_missing_directions(term, everything))
        if not numbers:
            raise CannotWriteBack("a term of a sum is neither unchanged nor a constant")
        number = numbers.pop()
        kept.add(_column(features[number], number))
    groups = [_column(feature, number) for number, feature in enumerate(features)]
    stays = np.array([group is None or group in kept for group in groups])
    if all(stays[weights != 0]) and _constant(features, weights, offset) == math.fsum(constants):
        return weights, offset
    new_weights = np.where(stays, weights, 0)
    return new_weights, math.fsum([*constants, -_constant(features, new_weights, 0.0)])


def _constant(features: Sequence[Feature], weights: Array, offset: float) -> float:
    """The constant part of a weighted sum."""
    parts = weighted_terms(features, weights.tolist(), offset)
    return math.fsum(finite(term.value) for term, _ in parts if isinstance(term, Const))


def _column(feature: Feature, number: int) -> Hashable:
    """A key shared by the features that form one term of a sum; None for constants."""
    match feature:
        case Raw(name):
            return (name, None)
        case Filled(name, float() as fill):
            return (name, fill)
        case Mapped(name, affine=(_, _), fill=fill):
            return (name, fill)
        case Coded(name):
            return ("table", name)
        case Stepped(name):
            return ("steps", name)
        case Fixed():
            return None
        case _:
            return number
