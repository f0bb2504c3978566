"""What is decided, where that is not simply what the model predicts.

Deployed is often not the class with the largest probability but a threshold on one of them, or
the best so many of a list. A decision turns a model's `ModelTerms` into one whose output is that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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
from proxyuse.models.member_terms import Traced, entry
from proxyuse.models.model_terms import ModelTerms, Origins
from proxyuse.settings import Decision, Positive, Threshold, TopK


def decided(body: ModelTerms, decision: Decision, cut: float | None = None) -> ModelTerms:
    """A body whose output is a decision; for TopK, `cut` is the k-th largest score."""
    match decision:
        case Threshold(number) if not body.classes:
            return _above(body, body.output, body.origins, number, (True, False))
        case Threshold(probability, positive):
            if not 0 <= probability <= 1:
                raise TranslationError(f"a probability lies between 0 and 1, not {probability!r}")
            place = _place(body, positive)
            score, origins = scored(body, positive)
            outputs: tuple[Value, Value] = (True, False)
            if len(body.classes) == 2:
                outputs = body.classes[place], body.classes[1 - place]
            return _above(body, score, origins, probability, outputs)
        case Positive(label):
            chosen = Const(body.classes[_place(body, label)])
            output = Compare(Relation.EQ, body.output, chosen)
            return replace(body, output=output)
        case TopK():
            if cut is None:
                raise TranslationError(
                    "the best k are known on rows of data alone: pass TopK to audit"
                )
            score, origins = scored(body, decision.positive)
            return _above(body, score, origins, cut, (True, False))


def scored(body: ModelTerms, positive: object = None) -> tuple[Term, Origins]:
    """The number by which rows are ordered, and where its parts came from."""
    if not body.classes:
        return body.output, body.origins
    shares, place = share_of(body, positive)
    traced = Traced()
    traced.update(body.origins)
    return entry(shares, place, traced), traced


def share_of(body: ModelTerms, positive: object = None) -> tuple[Term, int]:
    """The probabilities of the classes, and which of them is meant."""
    place = _place(body, positive)
    if body.probabilities is None:
        raise TranslationError("the model has no probabilities; decide by what it predicts")
    return body.probabilities, place


def _above(
    body: ModelTerms, score: Term, origins: Origins, cut: float, outputs: tuple[Value, Value]
) -> ModelTerms:
    test = Compare(Relation.GE, score, Const(float(cut)))
    output = test if outputs == (True, False) else Ite(test, Const(outputs[0]), Const(outputs[1]))
    return replace(body, output=output, origins=origins)


def _place(body: ModelTerms, positive: object) -> int:
    """Which class is meant."""
    if not body.classes:
        raise TranslationError("a regressor has no classes to decide by; pass TopK, or nothing")
    texts = [value_text(label) for label in body.classes]
    if positive is None:
        if len(texts) != 2:
            raise TranslationError(f"which class is positive? there are {', '.join(texts)}")
        return 1
    wanted = value_text(const(positive).value)
    if wanted not in texts:
        raise TranslationError(f"{positive!r} is not a class of the model: {', '.join(texts)}")
    return texts.index(wanted)


def kth_largest(scores: Array, k: int) -> float:
    """The k-th largest of some scores."""
    if scores.ndim != 1:
        raise TranslationError("the best k are found by one number, and the model says several")
    if k not in range(1, len(scores) + 1):
        raise TranslationError(
            f"the best {k} of {len(scores)} rows; pass a whole k between 1 and those"
        )
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
