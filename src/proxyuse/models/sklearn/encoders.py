"""scikit-learn's imputers and encoders: how categories and missing values become numbers.

An encoder has a number for each known value of a column, one for unknown values, and one for
missing values: that of the missing category if it was fitted on one, otherwise that of unknown
values. After an imputer, missing values get the number of their replacement.

If an encoder rejects unknown values (``handle_unknown="error"``), the features of a one-hot
encoder are 0 for them, and those of an ordinal encoder are missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from proxyuse.errors import LanguageError, TranslationError
from proxyuse.lang.build import const, lookup
from proxyuse.lang.nodes import (
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Relation,
    Term,
    Value,
    is_missing,
)
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
from proxyuse.models.sklearn.preprocessing import last_below, mapped, of_column

# Imputers


def transform_imputed(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a SimpleImputer.

    Columns that were empty during fitting are dropped unless it keeps them. Missing indicators
    come last.
    """
    check_fitted(transformer, "statistics_", inputs)
    missing_marker = _value(transformer.missing_values, inputs)
    if transformer.missing_values is not None and None in transformer.statistics_.tolist():
        raise _none_error(transformer.statistics_.tolist().index(None), inputs)
    fills = [_value(fill, inputs) for fill in transformer.statistics_]
    features = [
        _imputed(feature, fill, missing_marker)
        for feature, fill in zip(inputs.features, fills, strict=True)
        if transformer.keep_empty_features or not is_missing(fill)
    ]
    if transformer.add_indicator:
        indices = transformer.indicator_.features_.tolist()
        features += [_indicator(inputs.features[i], fills[i], missing_marker) for i in indices]
    return features


def _imputed(feature: Feature, fill: Value, missing_marker: Value) -> Feature:
    """A feature with missing values, or a marker of missing values, replaced."""
    if isinstance(fill, bool):
        fill = float(fill)
    words = isinstance(missing_marker, str) and isinstance(fill, str)
    if (
        isinstance(feature, Raw)
        and not isinstance(fill, tuple)
        and (is_missing(missing_marker) or words)
    ):
        return feature if _is(fill, missing_marker) else Filled(feature.name, fill, missing_marker)
    if is_missing(missing_marker) and isinstance(feature, Filled) and is_missing(feature.marker):
        return feature
    if isinstance(fill, float) and is_missing(missing_marker):
        return _filled_number(feature, fill)
    if isinstance(feature, Coded | Stepped | Fixed) and isinstance(fill, float):
        return mapped(feature, lambda x: np.where(x == missing_marker, fill, x), lambda x: x)
    term = feature.term()
    return Computed(Ite(Compare(Relation.EQ, term, Const(missing_marker)), Const(fill), term))


def _filled_number(feature: Feature, fill: float) -> Feature:
    imputed = mapped(
        feature,
        lambda x: np.where(np.isnan(x), fill, x),
        lambda x: Call(Function.FILL, (x, Const(fill))),
    )
    if isinstance(imputed, Mapped) and isinstance(feature, Mapped):
        return _affine_again(feature, imputed, fill)
    return imputed


def _affine_again(feature: Mapped, imputed: Mapped, fill: float) -> Mapped:
    """The imputed feature, kept affine by filling the column with the preimage of `fill`."""
    if feature.affine is None or feature.affine[0] == 0:
        return imputed
    if feature.fill is not None:
        return feature
    slope, offset = feature.affine
    return replace(imputed, affine=feature.affine, fill=(fill - offset) / slope)


def _indicator(feature: Feature, fill: Value, missing_marker: Value) -> Feature:
    """1 if a feature is missing, otherwise 0."""
    kind = "" if isinstance(fill, str) else 0.0
    match feature:
        case Raw(name) if is_missing(missing_marker):
            return Coded(name, {kind: 0.0}, 0.0, 1.0)
        case Raw(name):
            return Coded(name, {missing_marker: 1.0}, 0.0, 0.0)
        case Filled(_, _, earlier_marker) if is_missing(missing_marker) and is_missing(
            earlier_marker
        ):
            return Fixed(0.0)
        case Mapped(name, function) if is_missing(missing_marker):
            stays_missing = bool(np.isnan(function(np.array([math.nan]))[0]))
            return Coded(name, {0.0: 0.0}, 0.0, float(stays_missing))
        case _:
            if is_missing(missing_marker):
                return encoded(feature, {}, 0.0, 1.0)
            return encoded(feature, {missing_marker: 1.0}, 0.0, 0.0)


# Encoders


def transform_one_hot(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a OneHotEncoder: one feature per category, or per group of infrequent ones.

    A feature lists only its own categories, so the work is linear in their number. Only the
    feature that unknown values belong to lists all.
    """
    check_fitted(transformer, "categories_", inputs)
    dropped = transformer._drop_idx_after_grouping
    takes_unknown = transformer.handle_unknown in ("infrequent_if_exist", "warn")
    features: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        values = _values(transformer, i, feature, inputs)
        codes = _codes(transformer, i)
        rare = _rare(transformer, i)
        groups: list[list[int]] = [[] for _ in range(max(codes) + 1)]
        for index, code in enumerate(codes):
            groups[code].append(index)
        for group, members in enumerate(groups):
            if dropped is not None and dropped[i] == group:
                continue
            unknown = float(takes_unknown and rare is not None and codes[rare] == group)
            listed = range(len(codes)) if unknown else _with_a_value(members, values)
            numbers = [float(codes[index] == group) for index in listed]
            features.append(_coded(feature, [values[index] for index in listed], numbers, unknown))
    return features


def _with_a_value(indices: list[int], values: Sequence[Value]) -> Iterable[int]:
    """Indices of values, and one more if all are missing, so that the kind of the column shows."""
    if all(is_missing(values[index]) for index in indices):
        return dict.fromkeys((*indices, 0))
    return indices


def transform_ordinal(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate an OrdinalEncoder: the code of the category."""
    check_fitted(transformer, "categories_", inputs)
    keeps = transformer.handle_unknown == "use_encoded_value"
    unknown = float(transformer.unknown_value) if keeps else math.nan
    features: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        missing = transformer._missing_indices.get(i)
        numbers = [float(code) for code in _codes(transformer, i, except_for=missing)]
        if missing is not None:
            numbers[missing] = float(transformer.encoded_missing_value)
        numbers = np.array(numbers).astype(transformer.dtype).astype(np.float64).tolist()
        values = _values(transformer, i, feature, inputs)
        features.append(_coded(feature, values, numbers, unknown))
    return features


def transform_target(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a TargetEncoder: the mean target of the category, one per class if several."""
    check_fitted(transformer, "encodings_", inputs)
    means = np.atleast_1d(transformer.target_mean_).tolist()
    features: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        values = _values(transformer, i, feature, inputs)
        encodings = transformer.encodings_[i * len(means) : (i + 1) * len(means)]
        for encoding, mean in zip(encodings, means, strict=True):
            features.append(_coded(feature, values, encoding.tolist(), mean))
    return features


def _codes(transformer: Any, i: int, except_for: int | None = None) -> list[int]:
    """The code of each category of a column, after infrequent ones are grouped."""
    codes = list(range(len(transformer.categories_[i])))
    groups = (getattr(transformer, "_default_to_infrequent_mappings", None) or {i: None})[i]
    if groups is None:
        return codes
    return [code if code == except_for else int(groups[code]) for code in codes]


def _rare(transformer: Any, i: int) -> int | None:
    """One of the infrequent categories of a column that are grouped, or None."""
    rare = (getattr(transformer, "_infrequent_indices", None) or {i: None})[i]
    return None if rare is None else int(rare[0])


def _values(transformer: Any, i: int, feature: Feature, inputs: Inputs) -> list[Value]:
    """The categories of the i-th column; one of them may be the missing value."""
    values = [_value(value, inputs) for value in transformer.categories_[i].tolist()]
    missing = sum(map(is_missing, values))
    if missing > 1:
        raise TranslationError(
            f"the {type(transformer).__name__} (step {inputs.step!r}) distinguishes several "
            f"missing values in column {i}; use only one, e.g. with fillna(float('nan'))"
        )
    if missing and isinstance(feature, Filled) and is_missing(feature.marker):
        raise _none_error(i, inputs)
    return values


def _none_error(i: int, inputs: Inputs) -> TranslationError:
    return TranslationError(
        f"column {i} at step {inputs.step!r} still contains None, which the imputer does not "
        "replace; replace None with NaN before fitting, e.g. with fillna(float('nan'))"
    )


def _coded(
    feature: Feature, values: Sequence[Value], numbers: Sequence[float], unknown: float
) -> Feature:
    """A feature with a number for each listed value, and one for all others."""
    table = dict(zip(values, numbers, strict=True))
    of_missing = [number for value, number in table.items() if is_missing(value)]
    present = {value: number for value, number in table.items() if not is_missing(value)}
    return encoded(feature, present, unknown, of_missing[0] if of_missing else unknown)


def encoded(
    feature: Feature, table: Mapping[Value, float], unknown: float, missing: float
) -> Feature:
    """A number for each value of a feature."""

    def number(value: Value) -> float:
        return missing if is_missing(value) else table.get(value, unknown)

    match feature:
        case Raw(name):
            return Coded(name, table, unknown, missing)
        case Filled(name, fill, missing_marker):
            if is_missing(missing_marker):
                return Coded(name, table, unknown, number(fill))
            return Coded(name, {**table, missing_marker: number(fill)}, unknown, missing)
        case Mapped(increasing=True):
            return _encoded_intervals(feature, table, unknown, missing)
        case Coded(name, codes, default, missing_code):
            numbers = {value: number(code) for value, code in codes.items()}
            return Coded(name, numbers, number(default), number(missing_code))
        case Stepped(name, cuts, steps, missing_code):
            return Stepped(name, cuts, tuple(map(number, steps)), number(missing_code))
        case Fixed(value):
            return Fixed(number(value))
        case _:
            return Computed(_lookup(feature.term(), table, unknown, missing))


def _lookup(term: Term, table: Mapping[Value, float], unknown: float, missing: float) -> Term:
    return lookup(term, [*table.items(), (math.nan, missing)], unknown)


def _encoded_intervals(
    feature: Mapped, table: Mapping[Value, float], unknown: float, missing: float
) -> Feature:
    """The encoding of a monotone function of a column: its values are intervals of the column."""
    name, function = of_column(feature)
    cuts: list[float] = []
    numbers = [unknown]
    for value in sorted(float(value) for value in table if not isinstance(value, str | tuple)):
        cuts += [last_below(function, value, strict=s) for s in (True, False)]
        numbers += [table[value], unknown]
    value_of_nan = float(function(np.array([math.nan]))[0])
    of_missing = missing if math.isnan(value_of_nan) else table.get(value_of_nan, unknown)
    return Stepped(name, tuple(cuts), tuple(numbers), of_missing)


def _value(value: object, inputs: Inputs) -> Value:
    """A value of the library as a constant; None, NA and NaT are the missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    try:
        return const(value).value
    except LanguageError:
        raise TranslationError(
            f"step {inputs.step!r}: {value!r} is a {type(value).__name__}; convert the column to "
            "numbers, booleans or strings"
        ) from None


def _is(first: Value, second: Value) -> bool:
    return first == second or (is_missing(first) and is_missing(second))
