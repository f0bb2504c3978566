"""scikit-learn's transformers of numbers: scalers, bins, and products.

Each feature is computed with the library's own operations, in the library's order, in float64:

- `StandardScaler` and `RobustScaler`: minus the center, divided by the scale;
- `MinMaxScaler`: times the scale, plus the minimum, optionally clipped;
- `MaxAbsScaler`: divided by the scale, optionally clipped;
- on a sparse matrix, all of them multiply by one over the scale instead;
- `Binarizer` and `KBinsDiscretizer`: steps. The edge of a bin belongs to the bin above it, the
  threshold of a `Binarizer` to the values below it;
- `PolynomialFeatures`: products, last factor first; on a sparse matrix, first factor first.
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
    """Translate a KBinsDiscretizer: the index of the bin, or one feature per bin."""
    check_fitted(transformer, "bin_edges_", inputs)
    single = transformer.dtype is not None and np.dtype(transformer.dtype) == np.float32
    precision = Precision.FLOAT32 if single else Precision.FLOAT64
    features: list[Feature] = []
    for feature, all_edges in zip(inputs.features, transformer.bin_edges_, strict=True):
        edges = all_edges[1:-1].tolist()
        bins = list(map(float, range(len(edges) + 1)))
        number = in_steps(feature, edges, bins, precision=precision)
        if transformer.encode == "ordinal":
            features.append(number)
        else:
            features += [equal_to(number, code) for code in bins]
    return features


def transform_products(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate PolynomialFeatures."""
    check_fitted(transformer, "n_output_features_", inputs)
    features: list[Feature] = []
    indices = np.arange(len(inputs.features))
    for powers in transformer.powers_:
        factors = [inputs.features[index] for index in np.repeat(indices, powers)]
        features.append(_product(factors if inputs.sparse else factors[::-1]))
    return features


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
    """The product of codes of one column, value by value."""
    values = dict.fromkeys(value for code in codes for value in code.numbers)
    numbers = {
        value: math.prod(code.numbers.get(value, code.default) for code in codes)
        for value in values
    }
    default = math.prod(code.default for code in codes)
    return Coded(codes[0].name, numbers, default, math.prod(code.missing for code in codes))


# Functions of a feature


def shifted(feature: Feature, number: float) -> Feature:
    """A feature plus a number."""
    return mapped(feature, lambda x: x + number, lambda x: add(x, Const(number)), (1.0, number))


def times(feature: Feature, number: float) -> Feature:
    """A feature times a number.

    A product with 0 is 0 for every number; infinity is ignored.
    """
    if number == 0 and isinstance(feature, Raw | Filled | Mapped):
        name, inner = of_column(feature)
        return Stepped(name, (), (0.0,), _of_one(inner, math.nan) * 0.0)
    product = mapped(feature, lambda x: x * number, lambda x: mul(x, Const(number)), (number, 0.0))
    if isinstance(product, Mapped) and number < 0:
        return replace(product, increasing=not product.increasing)
    return product


def over(feature: Feature, number: float) -> Feature:
    """A feature divided by a positive number."""
    return mapped(
        feature,
        lambda x: x / number,
        lambda x: Call(Function.DIV, (x, Const(number))),
        (1.0 / number, 0.0),
    )


def equal_to(feature: Feature, number: float) -> Feature:
    """1 if a feature equals a number, otherwise 0; not for monotone features."""
    one, zero = Const(1.0), Const(0.0)
    return mapped(
        feature,
        lambda x: (x == number).astype(np.float64),
        lambda x: Ite(Compare(Relation.EQ, x, Const(number)), one, zero),
    )


def clipped(feature: Feature, low: float, high: float) -> Feature:
    """A feature clipped to an interval; a missing value stays missing."""

    def as_term(x: Term) -> Term:
        inside = Ite(Compare(Relation.GT, x, Const(high)), Const(high), x)
        return Ite(Compare(Relation.LT, x, Const(low)), Const(low), inside)

    return mapped(feature, lambda x: np.clip(x, low, high), as_term)


def mapped(
    feature: Feature,
    function: Numbers,
    as_term: Callable[[Term], Term],
    affine: tuple[float, float] | None = None,
) -> Feature:
    """An increasing function of a feature: as arithmetic, as a term, and as slope and offset.

    An affine function of an affine feature stays affine; codes and steps get new numbers.
    """
    match feature:
        case Raw() | Filled() | Mapped():
            name, inner = of_column(feature)
            return Mapped(
                name,
                lambda x: function(inner(x)),
                increasing=feature.increasing if isinstance(feature, Mapped) else True,
                value=as_term(feature.term()),
                affine=_after(affine, feature),
                fill=_fill(feature),
            )
        case Coded(name, numbers, default, missing):
            *codes, other, missing_number = _of_each(
                function, [*numbers.values(), default, missing]
            )
            return Coded(name, dict(zip(numbers, codes, strict=True)), other, missing_number)
        case Stepped(_, _, steps, missing):
            *changed, missing_number = _of_each(function, [*steps, missing])
            return replace(feature, numbers=tuple(changed), missing=missing_number)
        case Fixed(number):
            return Fixed(_of_one(function, number))
        case _:
            return Computed(as_term(feature.term()))


def in_steps(
    feature: Feature,
    edges: Sequence[float],
    numbers: Sequence[float],
    *,
    above: bool = True,
    precision: Precision = Precision.FLOAT64,
) -> Feature:
    """A number for each interval between edges; an edge belongs to the interval above, or below.

    `precision` is the float type that the feature is rounded to first. The library rejects
    missing values here; they count as above all edges.
    """
    side = "right" if above else "left"

    def rounded(x: Array) -> Array:
        return np.asarray(x, dtype=precision.value).astype(np.float64)

    def function(x: Array) -> Array:
        values = np.array(numbers)[np.searchsorted(edges, rounded(x), side=side)]  # type: ignore[call-overload]
        return np.asarray(values)

    def as_term(x: Term) -> Term:
        term: Term = Const(numbers[-1])
        relation = Relation.LT if above else Relation.LE
        for edge, number in zip(reversed(edges), reversed(numbers[:-1]), strict=True):
            term = Ite(Compare(relation, x, Const(edge), precision), Const(number), term)
        return term

    if isinstance(feature, Mapped) and not feature.increasing:
        return Computed(as_term(feature.term()))
    if not isinstance(feature, Raw | Filled | Mapped):
        return mapped(feature, function, as_term)
    name, inner = of_column(feature)
    cuts = tuple(last_below(lambda x: rounded(inner(x)), edge, strict=above) for edge in edges)
    return Stepped(name, cuts, tuple(numbers), _of_one(lambda x: function(inner(x)), math.nan))


def last_below(function: Numbers, edge: float, *, strict: bool) -> float:
    """The largest number of a column that an increasing function maps below (or to) an edge."""

    def answers(numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            values = function(numbers)
            return values < edge if strict else values <= edge

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
                f"the column {name!r} has categories, but numbers are needed; encode it first"
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
        results: list[float] = np.asarray(function(np.array(numbers)), dtype=np.float64).tolist()
    return results
