"""The probabilities of a model that always makes the same decision.

They are the mean probabilities of the original model, changed as little as possible so that the
decision follows. Without them, a constant classifier would claim to be certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.decision import Decision
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Value, value_text
from proxyuse.models.checks import call_model
from proxyuse.models.decisions import decided, scored
from proxyuse.models.label_shares import LEAD, closest_shares
from proxyuse.models.translation import Translation


def constant_shares(
    model: Any, translation: Translation, decision: Decision | None, label: Value, rows: Any
) -> tuple[float, ...] | None:
    """The class probabilities of a model that always predicts a label.

    Parameters
    ----------
    model : the original model.
    translation : its translation, without the decision.
    decision : the decision, if it is not the prediction of the model.
    label : the decision that never changes.
    rows : the rows over which the probabilities are averaged.

    Returns
    -------
    tuple of float or None
        None if the model has no probabilities, or if the decision is not one of its classes.
    """
    texts = [value_text(known) for known in translation.classes]
    if translation.probabilities is None or len(texts) < 2 or value_text(label) not in texts:
        return None
    if not hasattr(model, "predict_proba"):
        return None
    own = call_model(model, "predict_proba", rows).astype(np.float64).mean(axis=0)
    if own.shape != (len(texts),) or not np.isfinite(own).all() or not own.sum() > 0:
        return None
    own /= own.sum()
    index = texts.index(value_text(label))
    threshold = _threshold(translation, decision)
    shares = closest_shares(own, index) if threshold is None else _past(own, index, *threshold)
    return tuple(shares.tolist())


def _threshold(translation: Translation, decision: Decision | None) -> tuple[int, float] | None:
    """The class whose probability is compared with a threshold, and the threshold, if any."""
    output = (translation if decision is None else decided(translation, decision)).output
    match output:
        case Ite(Compare(Relation.GE, score, Const(float() as cut)), Const(yes), Const()):
            if score == scored(translation, yes)[0]:
                texts = [value_text(label) for label in translation.classes]
                return texts.index(value_text(yes)), cut
    return None


def _past(own: Array, index: int, positive: int, cut: float) -> Array:
    """The closest probabilities of two classes on the right side of a threshold."""
    if index == positive:
        probability = max(float(own[positive]), min(cut + LEAD, 1.0))
    else:
        probability = min(float(own[positive]), max(cut - LEAD, 0.0))
    shares = np.full(2, 1.0 - probability)
    shares[positive] = probability
    return shares
