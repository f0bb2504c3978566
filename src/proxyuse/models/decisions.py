"""Decisions that are not simply the model's prediction.

A deployed model often applies a threshold to a probability, or selects the best k rows, instead
of predicting the most probable class. A decision turns a `Translation` into one whose output is
that decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.errors import TranslationError
from proxyuse.lang.build import const
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Compare,
    Const,
    Ite,
    Relation,
    Term,
    Value,
    value_text,
)
from proxyuse.models.term_transforms import TracedOrigins, entry
from proxyuse.models.translation import Origins, Translation

NO_PROBABILITIES = "the model has no probabilities; leave out the decision, or use Positive"


def decided(translation: Translation, decision: Decision, cut: float | None = None) -> Translation:
    """A translation whose output is a decision; for TopK, `cut` is the k-th largest score."""
    match decision:
        case Threshold(number) if not translation.classes:
            return _above(
                translation, translation.output, translation.origins, number, (True, False)
            )
        case Threshold(probability, positive):
            if not 0 <= probability <= 1:
                raise TranslationError(
                    f"Threshold: expected a probability from 0 to 1, got {probability!r}"
                )
            index = class_index_of(translation.classes, positive)
            score, origins = scored(translation, positive)
            outputs: tuple[Value, Value] = (True, False)
            if len(translation.classes) == 2:
                outputs = translation.classes[index], translation.classes[1 - index]
            return _above(translation, score, origins, probability, outputs)
        case Positive(label):
            chosen = Const(translation.classes[class_index_of(translation.classes, label)])
            output = Compare(Relation.EQ, translation.output, chosen)
            return replace(translation, output=output)
        case TopK():
            if cut is None:
                raise TranslationError(
                    "TopK needs rows of data to rank; pass it to audit instead of translate"
                )
            score, origins = scored(translation, decision.positive)
            return _above(translation, score, origins, cut, (True, False))


def scored(translation: Translation, positive: object = None) -> tuple[Term, Origins]:
    """The number by which rows are ranked, and the origins of its parts."""
    if not translation.classes:
        return translation.output, translation.origins
    probabilities, index = class_probability(translation, positive)
    traced = TracedOrigins()
    traced.update(translation.origins)
    return entry(probabilities, index, traced), traced


def class_probability(translation: Translation, positive: object = None) -> tuple[Term, int]:
    """The probabilities of the classes, and the index of the positive one."""
    index = class_index_of(translation.classes, positive)
    if translation.probabilities is None:
        raise TranslationError(NO_PROBABILITIES)
    return translation.probabilities, index


def _above(
    translation: Translation,
    score: Term,
    origins: Origins,
    cut: float,
    outputs: tuple[Value, Value],
) -> Translation:
    test = Compare(Relation.GE, score, Const(float(cut)))
    output = test if outputs == (True, False) else Ite(test, Const(outputs[0]), Const(outputs[1]))
    return replace(translation, output=output, origins=origins)


def class_index_of(classes: Sequence[Value], positive: object = None) -> int:
    """The index of the positive class among the classes of a model."""
    if not classes:
        raise TranslationError(
            "a regressor has no classes; use Threshold or TopK without `positive`, or no decision"
        )
    texts = [value_text(label) for label in classes]
    if positive is None:
        if len(texts) != 2:
            raise TranslationError(
                f"the model has {len(texts)} classes; pass one of them as `positive`: "
                f"{', '.join(texts)}"
            )
        return 1
    label_text = value_text(const(positive).value)
    if label_text not in texts:
        raise TranslationError(
            f"{positive!r} is not a class of the model; classes: {', '.join(texts)}"
        )
    return texts.index(label_text)


def kth_largest(scores: Array, k: int) -> float:
    """The k-th largest of some scores."""
    if scores.ndim != 1:
        raise TranslationError("TopK needs one score per row; the model returns several")
    if k not in range(1, len(scores) + 1):
        raise TranslationError(
            f"TopK: expected an integer from 1 to the number of rows ({len(scores)}), got {k!r}"
        )
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
