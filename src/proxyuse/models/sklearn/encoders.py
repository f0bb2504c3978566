"""scikit-learn's imputers and encoders: what becomes of categories and of missing values.

An encoder gives numbers to the values of a column that it has seen, one to those it has not, and
one to missing values: that of the missing category if it has seen one, else that of unseen
values. After an imputer, missing values have the number of what stands in for them.

Where an encoder refuses unseen values (``handle_unknown="error"``), a one-hot encoder's features
are taken to be 0 for them and an ordinal encoder's to be missing.
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

    Columns without any value when it was fitted are left out, unless it keeps them; indicators
    of what was missing come last.
    """
    check_fitted(transformer, "statistics_", inputs)
    gone = _value(transformer.missing_values, inputs)
    if transformer.missing_values is not None and None in transformer.statistics_.tolist():
        raise _none_left(transformer.statistics_.tolist().index(None), inputs)
    fills = [_value(fill, inputs) for fill in transformer.statistics_]
    found = [
        _imputed(feature, fill, gone)
        for feature, fill in zip(inputs.features, fills, strict=True)
        if transformer.keep_empty_features or not is_missing(fill)
    ]
    if transformer.add_indicator:
        places = transformer.indicator_.features_.tolist()
        found += [_indicator(inputs.features[i], fills[i], gone) for i in places]
    return found


def _imputed(feature: Feature, fill: Value, gone: Value) -> Feature:
    """A feature with a value in place of missing ones, or of those that say so."""
    if isinstance(fill, bool):
        fill = float(fill)
    words = isinstance(gone, str) and isinstance(fill, str)
    if isinstance(feature, Raw) and not isinstance(fill, tuple) and (is_missing(gone) or words):
        return feature if _is(fill, gone) else Filled(feature.name, fill, gone)
    if is_missing(gone) and isinstance(feature, Filled) and is_missing(feature.gone):
        return feature
    if isinstance(fill, float) and is_missing(gone):
        return _filled_number(feature, fill)
    if isinstance(feature, Coded | Stepped | Fixed) and isinstance(fill, float):
        return mapped(feature, lambda x: np.where(x == gone, fill, x), lambda x: x)
    term = feature.term()
    return Computed(Ite(Compare(Relation.EQ, term, Const(gone)), Const(fill), term))


def _filled_number(feature: Feature, fill: float) -> Feature:
    found = mapped(
        feature,
        lambda x: np.where(np.isnan(x), fill, x),
        lambda x: Call(Function.FILL, (x, Const(fill))),
    )
    if isinstance(found, Mapped) and isinstance(feature, Mapped):
        return _affine_again(feature, found, fill)
    return found


def _affine_again(feature: Mapped, found: Mapped, fill: float) -> Mapped:
    """The imputed feature is still affine if the column is given what comes out as `fill`."""
    if feature.affine is None or feature.affine[0] == 0:
        return found
    if feature.fill is not None:
        return feature
    slope, offset = feature.affine
    return replace(found, affine=feature.affine, fill=(fill - offset) / slope)


def _indicator(feature: Feature, fill: Value, gone: Value) -> Feature:
    """1 where a feature is missing."""
    kind = "" if isinstance(fill, str) else 0.0
    match feature:
        case Raw(name) if is_missing(gone):
            return Coded(name, {kind: 0.0}, 0.0, 1.0)
        case Raw(name):
            return Coded(name, {gone: 1.0}, 0.0, 0.0)
        case Filled(_, _, was) if is_missing(gone) and is_missing(was):
            return Fixed(0.0)
        case Mapped(name, function) if is_missing(gone):
            lost = bool(np.isnan(function(np.array([math.nan]))[0]))
            return Coded(name, {0.0: 0.0}, 0.0, float(lost))
        case _:
            lost = is_missing(gone)
            return encoded(feature, {} if lost else {gone: 1.0}, 0.0, float(lost))


# Encoders


def transform_one_hot(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a OneHotEncoder: a feature for each category or group of rare ones.

    A feature lists its own categories alone, so that many categories are no more work than each
    of them once; only one that takes unknown values lists all.
    """
    check_fitted(transformer, "categories_", inputs)
    dropped = transformer._drop_idx_after_grouping
    takes_unknown = transformer.handle_unknown in ("infrequent_if_exist", "warn")
    found: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        values = _values(transformer, i, feature, inputs)
        codes = _codes(transformer, i)
        rare = _rare(transformer, i)
        groups: list[list[int]] = [[] for _ in range(max(codes) + 1)]
        for place, code in enumerate(codes):
            groups[code].append(place)
        for group, members in enumerate(groups):
            if dropped is not None and dropped[i] == group:
                continue
            unknown = float(takes_unknown and rare is not None and codes[rare] == group)
            listed = range(len(codes)) if unknown else _with_a_value(members, values)
            numbers = [float(codes[place] == group) for place in listed]
            found.append(_coded(feature, [values[place] for place in listed], numbers, unknown))
    return found


def _with_a_value(places: list[int], values: Sequence[Value]) -> Iterable[int]:
    """Places of values, and one more if all are missing: it tells words from numbers."""
    if all(is_missing(values[place]) for place in places):
        return dict.fromkeys((*places, 0))
    return places


def transform_ordinal(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate an OrdinalEncoder: the number of the category."""
    check_fitted(transformer, "categories_", inputs)
    keeps = transformer.handle_unknown == "use_encoded_value"
    unknown = float(transformer.unknown_value) if keeps else math.nan
    found: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        lost = transformer._missing_indices.get(i)
        numbers = [float(code) for code in _codes(transformer, i, but=lost)]
        if lost is not None:
            numbers[lost] = float(transformer.encoded_missing_value)
        numbers = np.array(numbers).astype(transformer.dtype).astype(np.float64).tolist()
        values = _values(transformer, i, feature, inputs)
        found.append(_coded(feature, values, numbers, unknown))
    return found


def transform_target(transformer: Any, inputs: Inputs) -> list[Feature]:
    """Translate a TargetEncoder: the mean target of the category, one for each of many classes."""
    check_fitted(transformer, "encodings_", inputs)
    means = np.atleast_1d(transformer.target_mean_).tolist()
    found: list[Feature] = []
    for i, feature in enumerate(inputs.features):
        values = _values(transformer, i, feature, inputs)
        encodings = transformer.encodings_[i * len(means) : (i + 1) * len(means)]
        for encoding, mean in zip(encodings, means, strict=True):
            found.append(_coded(feature, values, encoding.tolist(), mean))
    return found


def _codes(transformer: Any, i: int, but: int | None = None) -> list[int]:
    """The number of each category of a column after rare ones are put together."""
    codes = list(range(len(transformer.categories_[i])))
    groups = (getattr(transformer, "_default_to_infrequent_mappings", None) or {i: None})[i]
    if groups is None:
        return codes
    return [code if code == but else int(groups[code]) for code in codes]


def _rare(transformer: Any, i: int) -> int | None:
    """One of the rare categories of a column that are put together, if any are."""
    rare = (getattr(transformer, "_infrequent_indices", None) or {i: None})[i]
    return None if rare is None else int(rare[0])


def _values(transformer: Any, i: int, feature: Feature, inputs: Inputs) -> list[Value]:
    """The categories of the i-th column, of which one may be the missing value."""
    values = [_value(value, inputs) for value in transformer.categories_[i].tolist()]
    lost = sum(map(is_missing, values))
    if lost > 1:
        raise TranslationError(
            f"the {type(transformer).__name__} of step {inputs.step!r} tells several missing "
            f"values apart in column {i}; use one, e.g. with fillna(float('nan'))"
        )
    if lost and isinstance(feature, Filled) and is_missing(feature.gone):
        raise _none_left(i, inputs)
    return values


def _none_left(i: int, inputs: Inputs) -> TranslationError:
    return TranslationError(
        f"at step {inputs.step!r} column {i} still holds None, which an imputer of NaN "
        "leaves as it is; replace None by NaN before fitting, e.g. with fillna(float('nan'))"
    )


def _coded(
    feature: Feature, values: Sequence[Value], numbers: Sequence[float], unknown: float
) -> Feature:
    """A feature with a number for each of some values, and one for all others."""
    table = dict(zip(values, numbers, strict=True))
    lost = [number for value, number in table.items() if is_missing(value)]
    present = {value: number for value, number in table.items() if not is_missing(value)}
    return encoded(feature, present, unknown, lost[0] if lost else unknown)


def encoded(
    feature: Feature, table: Mapping[Value, float], unknown: float, missing: float
) -> Feature:
    """A number for each value of a feature."""

    def number(value: Value) -> float:
        return missing if is_missing(value) else table.get(value, unknown)

    match feature:
        case Raw(name):
            return Coded(name, table, unknown, missing)
        case Filled(name, fill, gone):
            if is_missing(gone):
                return Coded(name, table, unknown, number(fill))
            return Coded(name, {**table, gone: number(fill)}, unknown, missing)
        case Mapped(increasing=True):
            return _encoded_intervals(feature, table, unknown, missing)
        case Coded(name, codes, default, lost):
            numbers = {value: number(code) for value, code in codes.items()}
            return Coded(name, numbers, number(default), number(lost))
        case Stepped(name, cuts, steps, lost):
            return Stepped(name, cuts, tuple(map(number, steps)), number(lost))
        case Fixed(value):
            return Fixed(number(value))
        case _:
            return Computed(_lookup(feature.term(), table, unknown, missing))


def _lookup(term: Term, table: Mapping[Value, float], unknown: float, missing: float) -> Term:
    return lookup(term, [*table.items(), (math.nan, missing)], unknown)


def _encoded_intervals(
    feature: Mapped, table: Mapping[Value, float], unknown: float, missing: float
) -> Feature:
    """Values of a monotone function of a column are intervals of the column."""
    name, function = of_column(feature)
    cuts: list[float] = []
    numbers = [unknown]
    for value in sorted(float(value) for value in table if not isinstance(value, str | tuple)):
        cuts += [last_below(function, value, strict=s) for s in (True, False)]
        numbers += [table[value], unknown]
    lost = float(function(np.array([math.nan]))[0])
    of_lost = missing if math.isnan(lost) else table.get(lost, unknown)
    return Stepped(name, tuple(cuts), tuple(numbers), of_lost)


def _value(value: object, inputs: Inputs) -> Value:
    """A value of the library as a constant; anything that says missing is the missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return math.nan
    try:
        return const(value).value
    except LanguageError:
        raise TranslationError(
            f"{value!r} ({type(value).__name__}) in step {inputs.step!r} is neither a number nor "
            "true or false nor text; turn the column into one of these"
        ) from None


def _is(first: Value, second: Value) -> bool:
    return first == second or (is_missing(first) and is_missing(second))
