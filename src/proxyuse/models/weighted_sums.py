"""Weighted sums of features, as terms over raw columns.

The features of one column become one term: a factor times the column if they are affine, a table
if they are codes, a tree if they are steps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

import numpy as np

from proxyuse.lang.build import add, mul
from proxyuse.lang.nodes import Const, Term, Value
from proxyuse.models.features import Coded, Feature, Filled, Fixed, Mapped, Raw, Stepped, filled


def weighted_sum(features: Sequence[Feature], weights: Sequence[float], offset: float) -> Term:
    """``weights[0] * features[0] + ... + offset``, without weights of 0."""
    return add(*(term for term, _ in weighted_terms(features, weights, offset)))


def weighted_terms(
    features: Sequence[Feature], weights: Sequence[float], offset: float
) -> list[tuple[Term, int | None]]:
    """The operands of `weighted_sum`, each with the index of its first weight.

    The index of a constant is None.
    """
    factors: dict[tuple[str, float | None], list[tuple[int, float]]] = {}
    tables: dict[str, list[tuple[int, float, Coded]]] = {}
    trees: dict[str, list[tuple[int, float, Stepped]]] = {}
    parts: list[tuple[Term, int | None]] = []
    for number, (feature, weight) in enumerate(zip(features, weights, strict=True)):
        if weight == 0:
            continue
        match feature:
            case Raw(name):
                factors.setdefault((name, None), []).append((number, weight))
            case Filled(name, float() as fill):
                factors.setdefault((name, fill), []).append((number, weight))
            case Mapped(affine=(slope, shift)):
                key = (feature.name, feature.fill)
                factors.setdefault(key, []).append((number, weight * slope))
                offset += weight * shift
            case Coded():
                tables.setdefault(feature.name, []).append((number, weight, feature))
            case Stepped():
                trees.setdefault(feature.name, []).append((number, weight, feature))
            case Fixed(value):
                offset += weight * value
            case _:
                parts.append((mul(Const(weight), feature.term()), number))
    terms: list[tuple[Term, int | None]] = [
        (
            mul(Const(float(sum(w for _, w in parts_of_column))), filled(name, fill)),
            parts_of_column[0][0],
        )
        for (name, fill), parts_of_column in factors.items()
    ]
    terms += [
        (
            _summed_table(name, [(weight, feature) for _, weight, feature in parts_of_column]),
            parts_of_column[0][0],
        )
        for name, parts_of_column in tables.items()
    ]
    terms += [
        (
            _summed_steps(name, [(weight, feature) for _, weight, feature in parts_of_column]),
            parts_of_column[0][0],
        )
        for name, parts_of_column in trees.items()
    ]
    terms += parts
    if offset != 0 or not terms:
        terms.append((Const(offset), None))
    return terms


def _summed_table(name: str, coded: list[tuple[float, Coded]]) -> Term:
    """The weighted sum of codes of one column, as one table.

    The number of a value is the sum for unlisted values, adjusted by the features that list it.
    So many features with one value each take only as many steps as there are values.
    """
    default = math.fsum(weight * feature.default for weight, feature in coded)
    missing = math.fsum(weight * feature.missing for weight, feature in coded)
    listing: dict[Value, list[tuple[float, Coded]]] = {}
    for weight, feature in coded:
        for value in feature.numbers:
            listing.setdefault(value, []).append((weight, feature))
    numbers: dict[Value, float] = {}
    for value, parts_of_column in listing.items():
        if math.isfinite(default):
            changes = [(w * f.numbers[value], -w * f.default) for w, f in parts_of_column]
            numbers[value] = math.fsum([default, *chain.from_iterable(changes)])
        else:  # unlisted values are rejected
            numbers[value] = math.fsum(w * f.numbers.get(value, f.default) for w, f in coded)
    return Coded(name, numbers, default, missing).term()


def _summed_steps(name: str, stepped: list[tuple[float, Stepped]]) -> Term:
    cuts = sorted({cut for _, feature in stepped for cut in feature.cuts})
    indices = [np.searchsorted(feature.cuts, [*cuts, math.inf]) for _, feature in stepped]
    numbers = [
        math.fsum(
            w * feature.numbers[index] for (w, feature), index in zip(stepped, at, strict=True)
        )
        for at in zip(*indices, strict=True)
    ]
    missing = math.fsum(w * feature.missing for w, feature in stepped)
    return Stepped(name, tuple(cuts), tuple(numbers), missing).term()
