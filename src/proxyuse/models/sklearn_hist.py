"""scikit-learn's histogram gradient boosting: a baseline, and trees added to it in order.

Numbers are compared in float64. A missing number goes the way each node says. Categorical
columns are numbered by the model itself, and a node sends a set of categories to the left; other
known ones go to the right, and unknown ones where missing values go. Two classes: the second
above 0. More: the first largest sum. A regressor says its sum, or the exponential of it (losses
gamma and poisson).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import add, const, member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    FALSE,
    TRUE,
    Call,
    Const,
    Function,
    Precision,
    Term,
    Value,
    is_missing,
)
from proxyuse.models.body import Body, Origins
from proxyuse.models.features import Coded, Feature, Fixed, Inputs, Raw, Test
from proxyuse.models.member_terms import Traced
from proxyuse.models.registry import check_fitted
from proxyuse.models.sklearn_boosting import boosted_classes
from proxyuse.models.sklearn_tree import origin_of
from proxyuse.models.tree_table import LEAF, TreeTable
from proxyuse.program import Origin


def translate_hist(model: Any, inputs: Inputs) -> Body:
    """Translate a HistGradientBoostingClassifier or HistGradientBoostingRegressor.

    Tree k of iteration i has the number ``i * trees an iteration + k``.
    """
    check_fitted(model, "_predictors", inputs)
    columns = _columns(model, inputs)
    origins = Traced()
    sums: list[list[Term]] = [
        [Const(start)] for start in model._baseline_prediction.ravel().tolist()
    ]
    for i, stage in enumerate(model._predictors):
        for k, predictor in enumerate(stage):
            origin = origin_of(model, inputs, tree=i * len(stage) + k)
            tree, places = _tree(predictor, columns, origin)
            sums[k].append(tree)
            origins |= places
    scores = [add(*parts) for parts in sums]
    if hasattr(model, "classes_"):
        return boosted_classes(model, inputs, scores, origins, strict=True)
    output = _inverse_link(model, scores[0], inputs)
    origins.setdefault(id(output), origin_of(model, inputs))
    return Body(output, origins=origins)


def _inverse_link(model: Any, score: Term, inputs: Inputs) -> Term:
    link = type(model._loss.link).__name__
    if link == "IdentityLink":
        return score
    if link == "LogLink":
        return Call(Function.EXP, (score,))
    where = f" (step {inputs.step!r})" if inputs.step else ""
    raise TranslationError(
        f"this {type(model).__name__}{where} has the link {link}; only identity and log are "
        "supported: fit it with another loss"
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of the model's own table: a feature, and the categories it numbers, if any."""

    feature: Feature
    categories: tuple[Value, ...] | None = None


def _columns(model: Any, inputs: Inputs) -> list[_Column]:
    """The columns in the order of the model's own table: those of categories come first."""
    if model.is_categorical_ is None:
        return [_Column(feature) for feature in inputs.features]
    encoder = model._preprocessor.named_transformers_["encoder"]
    categorical = np.flatnonzero(model.is_categorical_).tolist()
    numeric = np.flatnonzero(~model.is_categorical_).tolist()
    coded = [
        _Column(inputs.features[place], tuple(const(value).value for value in values.tolist()))
        for place, values in zip(categorical, encoder.categories_, strict=True)
    ]
    return coded + [_Column(inputs.features[place]) for place in numeric]


def _tree(predictor: Any, columns: Sequence[_Column], origin: Origin) -> tuple[Term, Origins]:
    """A tree; each split of categories is a feature of its own, 0 on its left, 1 on its right."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    features: list[Feature] = [column.feature for column in columns]
    number = nodes["feature_idx"].astype(np.int64)
    threshold = nodes["num_threshold"].astype(np.float64)
    for node in np.flatnonzero(nodes["is_categorical"].astype(np.bool_) & ~leaf).tolist():
        bits = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        side = bool(nodes["missing_go_to_left"][node])
        features.append(_split(columns[number[node]], bits, side))
        number[node], threshold[node] = len(features) - 1, 0.5
    table = TreeTable(
        left=np.where(leaf, LEAF, nodes["left"].astype(np.int64)),
        right=np.where(leaf, LEAF, nodes["right"].astype(np.int64)),
        feature=number,
        threshold=threshold,
        missing_left=nodes["missing_go_to_left"].astype(np.bool_),
        leaves=[Const(value) for value in nodes["value"].tolist()],
        precision=Precision.FLOAT64,
    )
    table.check(len(features))
    return table.term(features, origin)


def _split(column: _Column, bits: Array, missing_left: bool) -> Feature:
    """A split of the categories of a column."""
    assert column.categories is not None
    other = 0.0 if missing_left else 1.0
    sides = {
        value: 0.0 if int(bits[code // 32]) >> (code % 32) & 1 else 1.0
        for code, value in enumerate(column.categories)
        if not is_missing(value)
    }
    match column.feature:
        case Raw(name):
            return Coded(name, sides, other, other)
        case Coded(name, numbers, default, missing):
            known = {value: sides.get(code, other) for value, code in numbers.items()}
            return Coded(name, known, sides.get(default, other), sides.get(missing, other))
        case Fixed(code):
            return Fixed(sides.get(code, other))
        case feature:
            return _Sides(feature, sides, missing_left)


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """A split of the numbers that some feature may have."""

    feature: Feature
    sides: dict[Value, float]
    missing_left: bool

    def term(self) -> Term:
        """Never asked for: a split is only compared."""
        raise NotImplementedError

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """Whether it goes to the left."""
        rare = 1.0 if self.missing_left else 0.0  # the side that only known categories take
        chosen = [value for value, side in self.sides.items() if side == rare]
        if not chosen:
            return Test(TRUE if self.missing_left else FALSE)
        return Test(member(self.feature.term(), chosen), opposite=self.missing_left)
