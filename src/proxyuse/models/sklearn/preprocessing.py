"""scikit-learn's transformers of numbers: scalers, bins, and products.

Each says what it computes of every feature with the library's own operations in the library's
order, in float64:

- `StandardScaler`: minus the mean, divided by the scale; `RobustScaler` alike;
- `MinMaxScaler`: times the scale, plus the minimum, clipped if asked for;
- `MaxAbsScaler`: divided by the scale, clipped if asked for;
- of a sparse matrix, all of them multiply by one over the scale instead;
- `Binarizer` and `KBinsDiscretizer`: steps; an edge of a bin belongs to the bin above it, the
  threshold of a `Binarizer` to what is below;
- `PolynomialFeatures`: products, the last factor first; of a sparse matrix, the first one first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.bisection import last_with_first_answer
from proxyuse.lang.build import add, mul
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Call, Compare, Const, Function, Ite, Precision, Relation, Term
from proxyuse.models.features import (
    Coded,
    Computed,
    Feature,
    Filled,
    Fixed,
    Inputs,
    Mapped,
    Raw,
    Stepped,
)
from proxyuse.models.registry import check_fitted

Numbers = Callable[[Array], Array]


def transform_standard(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a StandardScaler."""
    check_fitted(transformer, "n_features_in_", inputs)
    centers = transformer.mean_ if transformer.with_mean else None
    return _centred_and_scaled(inputs, centers, transformer.scale_)


def transform_robust(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a RobustScaler."""
    check_fitted(transformer, "n_features_in_", inputs)
    centers = transformer.center_ if transformer.with_centering else None
    return _centred_and_scaled(
        inputs, centers, transformer.scale_ if transformer.with_scaling else None
    )


def transform_max_abs(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a MaxAbsScaler."""
    check_fitted(transformer, "scale_", inputs)
    features = _centred_and_scaled(inputs, None, transformer.scale_)
    if getattr(transformer, "clip", False):
        return [clipped(feature, -1.0, 1.0) for feature in features]
    return features


def transform_min_max(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a MinMaxScaler."""
    check_fitted(transformer, "scale_", inputs)
    scales, shifts = transformer.scale_.tolist(), transformer.min_.tolist()
    features = [
        shifted(times(feature, scale), shift)
        for feature, scale, shift in zip(inputs.features, scales, shifts, strict=True)
    ]
    if transformer.clip:
        low, high = map(float, transformer.feature_range)
        return [clipped(feature, low, high) for feature in features]
    return features


def _centred_and_scaled(inputs: Inputs, centers: Any, scales: Any) -> list[Feature]:
    features = list(inputs.features)
    if centers is not None:
        pairs = zip(features, centers.tolist(), strict=True)
        features = [shifted(feature, -center) for feature, center in pairs]
    if scales is None:
        return features
    if inputs.sparse:
        pairs = zip(features, (1.0 / scales).tolist(), strict=True)
        return [times(feature, factor) for feature, factor in pairs]
    pairs = zip(features, scales.tolist(), strict=True)
    return [over(feature, scale) for feature, scale in pairs]


def transform_binary(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a Binarizer: 1 above a threshold."""
    edges = [float(transformer.threshold)]
    return [in_steps(feature, edges, [0.0, 1.0], above=False) for feature in inputs.features]


def transform_bins(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a KBinsDiscretizer: the number of the bin, or a feature for each bin."""
    check_fitted(transformer, "bin_edges_", inputs)
    single = transformer.dtype is not None and np.dtype(transformer.dtype) == np.float32
    precision = Precision.FLOAT32 if single else Precision.FLOAT64
    found: list[Feature] = []
    for feature, all_edges in zip(inputs.features, transformer.bin_edges_, strict=True):
        edges = all_edges[1:-1].tolist()
        bins = list(map(float, range(len(edges) + 1)))
        number = in_steps(feature, edges, bins, precision=precision)
        if transformer.encode == "ordinal":
            found.append(number)
        else:
            found += [equal_to(number, code) for code in bins]
    return found


def transform_products(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate PolynomialFeatures."""
    check_fitted(transformer, "n_output_features_", inputs)
    found: list[Feature] = []
    places = np.arange(len(inputs.features))
    for powers in transformer.powers_:
        factors = [inputs.features[place] for place in np.repeat(places, powers)]
        found.append(_product(factors if inputs.sparse else factors[::-1]))
    return found


def _product(factors: Sequence[Feature]) -> Feature:
    if not factors:
        return Fixed(1.0)
    if len(factors) == 1:
        return factors[0]
    if all(isinstance(factor, Fixed) for factor in factors):
        return Fixed(math.prod(factor.number for factor in factors if isinstance(factor, Fixed)))
    codes = [factor for factor in factors if isinstance(factor, Coded)]
    if len(codes) == len(factors) and len({code.name for code in codes}) == 1:
        return _product_of_codes(codes)
    return Computed(mul(*(factor.term() for factor in factors)))


def _product_of_codes(codes: Sequence[Coded]) -> Coded:
    """Codes of one column multiply value by value."""
    values = dict.fromkeys(value for code in codes for value in code.numbers)
    numbers = {
        value: math.prod(code.numbers.get(value, code.default) for code in codes)
        for value in values
    }
    default = math.prod(code.default for code in codes)
    return Coded(codes[0].name, numbers, default, math.prod(code.missing for code in codes))


# What is done to every value of a feature


def shifted(feature: Feature, number: float) -> Feature:
    """A number is added."""
    return mapped(feature, lambda x: x + number, lambda x: add(x, Const(number)), (1.0, number))


def times(feature: Feature, number: float) -> Feature:
    """It is multiplied by a number.

    Of numbers times 0, infinity is no limit: they are said to be 0 wherever there is a number.
    """
    if number == 0 and isinstance(feature, Raw | Filled | Mapped):
        name, inner = of_column(feature)
        return Stepped(name, (), (0.0,), _of_one(inner, math.nan) * 0.0)
    found = mapped(feature, lambda x: x * number, lambda x: mul(x, Const(number)), (number, 0.0))
    if isinstance(found, Mapped) and number < 0:
        return replace(found, increasing=not found.increasing)
    return found


def over(feature: Feature, number: float) -> Feature:
    """It is divided by a positive number."""
    return mapped(
        feature,
        lambda x: x / number,
        lambda x: Call(Function.DIV, (x, Const(number))),
        (1.0 / number, 0.0),
    )


def equal_to(feature: Feature, number: float) -> Feature:
    """1 where it is a number, else 0; not for features that are monotone."""
    one, zero = Const(1.0), Const(0.0)
    return mapped(
        feature,
        lambda x: (x == number).astype(np.float64),
        lambda x: Ite(Compare(Relation.EQ, x, Const(number)), one, zero),
    )


def clipped(feature: Feature, low: float, high: float) -> Feature:
    """It is put between two numbers; a missing value stays missing."""

    def say(x: Term) -> Term:
        inside = Ite(Compare(Relation.GT, x, Const(high)), Const(high), x)
        return Ite(Compare(Relation.LT, x, Const(low)), Const(low), inside)

    return mapped(feature, lambda x: np.clip(x, low, high), say)


def mapped(
    feature: Feature,
    function: Numbers,
    say: Callable[[Term], Term],
    affine: tuple[float, float] | None = None,
) -> Feature:
    """An increasing function of a feature, given as arithmetic, as a term, and as slope and offset.

    What is affine of something affine stays so; a table or steps get other numbers.
    """
    match feature:
        case Raw() | Filled() | Mapped():
            name, inner = of_column(feature)
            return Mapped(
                name,
                lambda x: function(inner(x)),
                increasing=feature.increasing if isinstance(feature, Mapped) else True,
                value=say(feature.term()),
                affine=_after(affine, feature),
                fill=_fill(feature),
            )
        case Coded(name, numbers, default, missing):
            *codes, other, lost = _of_each(function, [*numbers.values(), default, missing])
            return Coded(name, dict(zip(numbers, codes, strict=True)), other, lost)
        case Stepped(_, _, steps, missing):
            *changed, lost = _of_each(function, [*steps, missing])
            return replace(feature, numbers=tuple(changed), missing=lost)
        case Fixed(number):
            return Fixed(_of_one(function, number))
        case _:
            return Computed(say(feature.term()))


def in_steps(
    feature: Feature,
    edges: Sequence[float],
    numbers: Sequence[float],
    *,
    above: bool = True,
    precision: Precision = Precision.FLOAT64,
) -> Feature:
    """Numbers for the intervals between edges, which belong to what is above them, or below.

    `precision` is what the feature is rounded to before. The library refuses missing values here;
    they are taken to be above all edges.
    """
    side = "right" if above else "left"

    def rounded(x: Array) -> Array:
        return np.asarray(x, dtype=precision.value).astype(np.float64)

    def function(x: Array) -> Array:
        found = np.array(numbers)[np.searchsorted(edges, rounded(x), side=side)]  # type: ignore[call-overload]
        return np.asarray(found)

    def say(x: Term) -> Term:
        term: Term = Const(numbers[-1])
        relation = Relation.LT if above else Relation.LE
        for edge, number in zip(reversed(edges), reversed(numbers[:-1]), strict=True):
            term = Ite(Compare(relation, x, Const(edge), precision), Const(number), term)
        return term

    if isinstance(feature, Mapped) and not feature.increasing:
        return Computed(say(feature.term()))
    if not isinstance(feature, Raw | Filled | Mapped):
        return mapped(feature, function, say)
    name, inner = of_column(feature)
    cuts = tuple(last_below(lambda x: rounded(inner(x)), edge, strict=above) for edge in edges)
    return Stepped(name, cuts, tuple(numbers), _of_one(lambda x: function(inner(x)), math.nan))


def last_below(function: Numbers, edge: float, *, strict: bool) -> float:
    """The largest number of a column that an increasing function puts below (or at) an edge."""

    def answers(numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            found = function(numbers)
            return found < edge if strict else found <= edge

    cut, first = last_with_first_answer(answers)
    return cut if first else -math.inf


def of_column(feature: Raw | Filled | Mapped) -> tuple[str, Numbers]:
    """The column of a feature, and the feature as a function of it."""
    match feature:
        case Raw(name):
            return name, lambda x: x
        case Filled(name, float() as fill):
            return name, lambda x: np.where(np.isnan(x), fill, x)
        case Filled(name):
            raise TranslationError(
                f"the column {name!r} holds categories where numbers are needed; encode it first"
            )
        case Mapped(name, function):
            return name, function


def _fill(feature: Raw | Filled | Mapped) -> float | None:
    match feature:
        case Filled(_, float() as fill):
            return fill
        case Mapped():
            return feature.fill
        case _:
            return None


def _after(
    affine: tuple[float, float] | None, feature: Raw | Filled | Mapped
) -> tuple[float, float] | None:
    """Slope and offset of an affine function of a feature, over the feature's column."""
    inner = feature.affine if isinstance(feature, Mapped) else (1.0, 0.0)
    if affine is None or inner is None:
        return None
    return affine[0] * inner[0], affine[0] * inner[1] + affine[1]


def _of_one(function: Numbers, number: float) -> float:
    return _of_each(function, [number])[0]


def _of_each(function: Numbers, numbers: Sequence[float]) -> list[float]:
    with np.errstate(all="ignore"):
        found: list[float] = np.asarray(function(np.array(numbers)), dtype=np.float64).tolist()
    return found
