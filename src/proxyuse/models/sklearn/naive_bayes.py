"""scikit-learn's naive Bayes classifiers: a sum over the features for each class.

Each adds the log-likelihoods of the features to the log-prior of the class. The class with the
largest sum wins; ties go to the first. Probabilities are the softmax of the sums.

- Gaussian: ``-0.5 * sum(log(2 pi var)) - 0.5 * sum((x - theta)**2 / var) + log(prior)``, in this
  order. The squares are not expanded, because that would change the rounding.
- Bernoulli: a vector with one number per class if the feature is above `binarize`, otherwise
  zeros. With ``binarize=None``, a weighted sum.
- Multinomial and complement: weighted sums.
- Categorical: a table of vectors for each feature, added in the order of the features.

scikit-learn computes Bernoulli, multinomial and complement sums with BLAS, so they may differ from
a program's by rounding; so may Gaussian sums of more than eight features. Categorical sums are
identical.

scikit-learn rejects categories that a categorical model was not fitted on; in a program they
favor no class. Categories are integers. scikit-learn truncates other numbers; a program does not,
if the column itself is the category.

The origin of a term is the index of its feature if it covers all classes, otherwise the index in
``theta_.ravel()``.
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
    present = model.feature_log_prob_
    absent = np.log(1 - np.exp(present))
    weights, offsets = present - absent, model.class_log_prior_ + absent.sum(axis=1)
    if model.binarize is None:
        return _weighted(model, weights, offsets, inputs)

    threshold = float(model.binarize)
    zeros = (0.0,) * len(weights)
    terms: dict[int, Term] = {}
    tables: dict[str, list[tuple[Callable[[float], Numbers], Coded]]] = {}
    firsts: dict[str, int] = {}
    for number, feature in enumerate(inputs.features):
        numbers: Numbers = tuple(weights[:, number].tolist())
        if isinstance(feature, Coded):
            firsts.setdefault(feature.name, number)
            values = _if_above(threshold, numbers, zeros)
            tables.setdefault(feature.name, []).append((values, feature))
        else:
            test = above(feature, threshold, Precision.FLOAT64)
            terms[number] = choice(test, Const(numbers), Const(zeros))
    for name, parts in tables.items():
        terms[firsts[name]] = _table(name, parts)
    return _sum_of_vectors(model, terms, offsets, inputs)


def translate_categorical(model: Any, inputs: Inputs) -> Translation:
    """Translate CategoricalNB."""
    check_fitted(model, "feature_log_prob_", inputs)
    terms = {
        number: _of_category(feature, [tuple(column) for column in numbers.T.tolist()])
        for number, (feature, numbers) in enumerate(
            zip(inputs.features, model.feature_log_prob_, strict=True)
        )
    }
    return _sum_of_vectors(model, terms, model.class_log_prior_, inputs)


# Sums of vectors, or vectors of sums


def _sum_of_vectors(
    model: Any, terms: dict[int, Term], offsets: Array, inputs: Inputs
) -> Translation:
    """The sum of one vector per feature, in the order of the features, plus the offsets."""
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


# Terms of one feature


def _squares(features: Iterable[Feature], means: Array, variances: Array) -> list[tuple[Term, int]]:
    """``(x - mean)**2 / variance`` of each feature with its index; one term per column of codes."""
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
    def squared(number: float) -> Numbers:
        with np.errstate(all="ignore"):
            return (float(np.float64((number - mean) ** 2) / np.float64(variance)),)

    return squared


def _if_above(threshold: float, values: Numbers, zeros: Numbers) -> Callable[[float], Numbers]:
    return lambda number: values if number > threshold else zeros


def _of_category(feature: Feature, vectors: list[Numbers]) -> Term:
    """The vector of each category: a table, or steps if the feature is not a raw column."""
    zeros = (0.0,) * len(vectors[0])

    def vector_of(number: float) -> Numbers:
        return vectors[int(number)] if -1 < number < len(vectors) else zeros

    match feature:
        case Raw(name):
            numbered = ((float(code), numbers) for code, numbers in enumerate(vectors))
            return lookup(Var(name), numbered, zeros)
        case Coded(name):
            return _table(name, [(vector_of, feature)])
        case Fixed(number):
            return Const(vector_of(number))
        case _:
            term: Term = Const(vectors[0])
            for code in range(1, len(vectors)):
                test = above(feature, float(code), Precision.FLOAT64, or_equal=True)
                term = choice(test, Const(vectors[code]), term)
            return term


def _table(name: str, parts: list[tuple[Callable[[float], Numbers], Coded]]) -> Term:
    """The sum of functions of features that are codes of one column, as one table."""
    values: list[Value] = list(dict.fromkeys(v for _, coded in parts for v in coded.numbers))

    def total(code: Callable[[Coded], float]) -> float | Numbers:
        vectors = [function(code(coded)) for function, coded in parts]
        sums = tuple(float(sum(numbers)) for numbers in zip(*vectors, strict=True))
        return sums if len(sums) > 1 else sums[0]

    entries: dict[Value, float | Numbers] = {
        value: total(lambda coded, value=value: coded.numbers.get(value, coded.default))  # type: ignore[misc]
        for value in values
    }
    entries[math.nan] = total(lambda coded: coded.missing)
    return lookup(Var(name), entries.items(), total(lambda coded: coded.default))
