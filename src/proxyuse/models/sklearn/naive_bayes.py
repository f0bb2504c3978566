"""scikit-learn's naive Bayes classifiers: for each class a sum over the features.

Each adds the logarithm of how likely a feature is in a class to that of the class itself, and
takes the first class with the largest sum; probabilities are the softmax of the sums.

- Gaussian: ``-0.5 * sum(log(2 pi var)) - 0.5 * sum((x - theta)**2 / var) + log(prior)``, in this
  order. The squares are not multiplied out: close sums would come apart by rounding.
- Bernoulli: a vector with a number for each class where the feature is above `binarize`, else
  zeros; or, with ``binarize=None``, a weighted sum.
- Multinomial and complement: weighted sums.
- Categorical: a table of vectors for each feature, added in the order of the features.

Bernoulli, multinomial and complement sums are made with BLAS by scikit-learn and may differ from
a program's by rounding (so may Gaussian ones of more than eight features); categorical ones are
the same to the last bit.

scikit-learn refuses a category that was not there when a categorical model was fitted. In a
program it speaks for no class. Categories are whole numbers; scikit-learn cuts the fractions of
others off, which a program does not follow for columns that are categories as they are.

A term comes from a coefficient: the number of its feature where it speaks of all classes, else
the number of class times features plus feature, as in ``theta_.ravel()``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from proxyuse.lang.build import add, lookup, mul, vector
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Const, Function, Precision, Term, Value, Var
from proxyuse.models.features import (
    Coded,
    Feature,
    Fixed,
    Inputs,
    Mapped,
    Raw,
    above,
    choice,
    filled,
)
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn.linear import Sums
from proxyuse.models.sklearn.trees import origin_of
from proxyuse.models.translation import Origins, Translation, labels, largest
from proxyuse.program import Origin

Numbers = tuple[float, ...]


def translate_gaussian(model: Any, inputs: Inputs) -> Translation:
    """Translate GaussianNB."""
    check_fitted(model, "theta_", inputs)
    origin = origin_of(model, inputs)
    origins: Origins = {}
    sums: list[Term] = []
    with np.errstate(divide="ignore"):
        priors = np.log(model.class_prior_).tolist()
        normals = (-0.5 * np.sum(np.log(2.0 * np.pi * model.var_), axis=1)).tolist()
    for row, (means, variances) in enumerate(zip(model.theta_, model.var_, strict=True)):
        squares = _squares(inputs.features, means, variances)
        for term, number in squares:
            index = row * len(means) + number
            origins[id(term)] = Origin(origin.step, coefficient=index)
        distance = mul(Const(-0.5), add(*(term for term, _ in squares)))
        sums.append(add(Const(normals[row]), distance, Const(priors[row])))
    return _classifier(model, vector(*sums), origins, inputs)


def translate_weighted(model: Any, inputs: Inputs) -> Translation:
    """Translate MultinomialNB or ComplementNB."""
    check_fitted(model, "feature_log_prob_", inputs)
    offsets = model.class_log_prior_
    if type(model).__name__ == "ComplementNB" and len(model.classes_) > 1:
        offsets = np.zeros(len(model.classes_))
    return _weighted(model, model.feature_log_prob_, offsets, inputs)


def translate_bernoulli(model: Any, inputs: Inputs) -> Translation:
    """Translate BernoulliNB."""
    check_fitted(model, "feature_log_prob_", inputs)
    there = model.feature_log_prob_
    not_there = np.log(1 - np.exp(there))
    weights, offsets = there - not_there, model.class_log_prior_ + not_there.sum(axis=1)
    if model.binarize is None:
        return _weighted(model, weights, offsets, inputs)

    threshold = float(model.binarize)
    nothing = (0.0,) * len(weights)
    terms: dict[int, Term] = {}
    tables: dict[str, list[tuple[Callable[[float], Numbers], Coded]]] = {}
    firsts: dict[str, int] = {}
    for number, feature in enumerate(inputs.features):
        said: Numbers = tuple(weights[:, number].tolist())
        if isinstance(feature, Coded):
            firsts.setdefault(feature.name, number)
            told = _if_above(threshold, said, nothing)
            tables.setdefault(feature.name, []).append((told, feature))
        else:
            test = above(feature, threshold, Precision.FLOAT64)
            terms[number] = choice(test, Const(said), Const(nothing))
    for name, parts in tables.items():
        terms[firsts[name]] = _table(name, parts)
    return _summed(model, terms, offsets, inputs)


def translate_categorical(model: Any, inputs: Inputs) -> Translation:
    """Translate CategoricalNB."""
    check_fitted(model, "feature_log_prob_", inputs)
    terms = {
        number: _of_category(feature, [tuple(column) for column in numbers.T.tolist()])
        for number, (feature, numbers) in enumerate(
            zip(inputs.features, model.feature_log_prob_, strict=True)
        )
    }
    return _summed(model, terms, model.class_log_prior_, inputs)


# Sums of vectors, or vectors of sums


def _summed(model: Any, terms: dict[int, Term], offsets: Array, inputs: Inputs) -> Translation:
    """The sum of a vector for each feature, in the order of the features, and the offsets."""
    step = origin_of(model, inputs).step
    origins = {id(term): Origin(step, coefficient=number) for number, term in terms.items()}
    ordered = [terms[number] for number in sorted(terms)]
    return _classifier(model, add(*ordered, Const(tuple(offsets.tolist()))), origins, inputs)


def _weighted(model: Any, weights: Array, offsets: Array, inputs: Inputs) -> Translation:
    sums = Sums(weights, offsets, inputs, origin_of(model, inputs))
    return _classifier(model, vector(*sums.terms), sums.origins, inputs)


def _classifier(model: Any, sums: Term, origins: Origins, inputs: Inputs) -> Translation:
    classes = labels(model.classes_)
    output = largest(sums, classes)
    origins[id(output)] = origin_of(model, inputs)
    return Translation(output, classes, Call(Function.SOFTMAX, (sums,)), origins=origins)


# What one feature says


def _squares(features: Iterable[Feature], means: Array, variances: Array) -> list[tuple[Term, int]]:
    """``(x - mean)**2 / variance`` of each feature with its number, one term a column of codes."""
    terms: dict[int, Term] = {}
    tables: dict[str, list[tuple[Callable[[float], Numbers], Coded]]] = {}
    firsts: dict[str, int] = {}
    for number, (feature, mean, variance) in enumerate(
        zip(features, means.tolist(), variances.tolist(), strict=True)
    ):
        if isinstance(feature, Coded):
            firsts.setdefault(feature.name, number)
            tables.setdefault(feature.name, []).append((_distance(mean, variance), feature))
            continue
        value = feature.term()
        if isinstance(feature, Mapped) and feature.affine is not None and feature.affine[0] != 0:
            slope, shift = feature.affine
            value = filled(feature.name, feature.fill)
            mean, variance = (mean - shift) / slope, variance / slope**2
        apart = add(value, Const(-mean))
        terms[number] = Call(Function.DIV, (mul(apart, apart), Const(variance)))
    for name, parts in tables.items():
        terms[firsts[name]] = _table(name, parts)
    return [(terms[number], number) for number in sorted(terms)]


def _distance(mean: float, variance: float) -> Callable[[float], Numbers]:
    def told(number: float) -> Numbers:
        with np.errstate(all="ignore"):
            return (float(np.float64((number - mean) ** 2) / np.float64(variance)),)

    return told


def _if_above(threshold: float, said: Numbers, nothing: Numbers) -> Callable[[float], Numbers]:
    return lambda number: said if number > threshold else nothing


def _of_category(feature: Feature, said: list[Numbers]) -> Term:
    """What each category says: a table, or steps where the column is not that of categories."""
    nothing = (0.0,) * len(said[0])

    def told(number: float) -> Numbers:
        return said[int(number)] if -1 < number < len(said) else nothing

    match feature:
        case Raw(name):
            numbered = ((float(code), numbers) for code, numbers in enumerate(said))
            return lookup(Var(name), numbered, nothing)
        case Coded(name):
            return _table(name, [(told, feature)])
        case Fixed(number):
            return Const(told(number))
        case _:
            term: Term = Const(said[0])
            for code in range(1, len(said)):
                test = above(feature, float(code), Precision.FLOAT64, or_equal=True)
                term = choice(test, Const(said[code]), term)
            return term


def _table(name: str, parts: list[tuple[Callable[[float], Numbers], Coded]]) -> Term:
    """The sum of what functions say of features that are codes of one column, as a table."""
    values: list[Value] = list(dict.fromkeys(v for _, coded in parts for v in coded.numbers))

    def total(code: Callable[[Coded], float]) -> float | Numbers:
        told = [function(code(coded)) for function, coded in parts]
        sums = tuple(float(sum(numbers)) for numbers in zip(*told, strict=True))
        return sums if len(sums) > 1 else sums[0]

    entries: dict[Value, float | Numbers] = {
        value: total(lambda coded, value=value: coded.numbers.get(value, coded.default))  # type: ignore[misc]
        for value in values
    }
    entries[math.nan] = total(lambda coded: coded.missing)
    return lookup(Var(name), entries.items(), total(lambda coded: coded.default))
