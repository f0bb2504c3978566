"""Smooth stand-ins for "the output changes" and for utility, as functions of the leads.

The leads of a row decide its class (`measure.forests.decision`). Whether it changes is a step, so
its derivative says nothing. Here, a class is drawn with a probability that grows exponentially with
its lead. What counts is the expected utility, and the probability that two draws differ.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.repairing.utility import Utility


class StandIns:
    """The stand-ins for one forest and one utility.

    The *scale* is the difference of leads that counts as large.
    """

    def __init__(self, engine: ForestEngine, utility: Utility) -> None:
        self._engine, self._utility = engine, utility
        self._decision = engine.plan.decision

    @cached_property
    def _gains(self) -> Array:
        """What each class contributes to the utility of each row."""
        values, outputs = self._engine.sample.outputs(), self._decision.sums.outputs
        classes = outputs[np.concatenate([o.classes for _, o in self._engine.blocks])]
        gains = np.full((len(values), len(outputs)), np.nan)
        for number in np.unique(classes).tolist():  # a class that never occurs has no known value
            value = values[np.argmax(classes == number)]
            own = self._utility.gains(np.full(len(values), value, dtype=values.dtype))
            gains[:, outputs == number] = own[:, None]
        return np.where(np.isnan(gains), np.nanmin(gains), gains)

    @cached_property
    def smallest_loss(self) -> float:
        """A loss that is too small to compare: a tenth of that of a single row."""
        if self._decision.is_number:
            return 1e-6 * abs(float(self._utility.gains(self._engine.sample.outputs()).sum()))
        spread = np.ptp(self._gains, axis=1)
        return 0.1 * float(spread[spread > 0].mean()) if (spread > 0).any() else 1e-9

    def gain(self, leads: Array) -> float:
        """Return the sum of the contributions of all rows to the utility."""
        if self._decision.is_number:
            return float(self._utility.gains(self._numbers(leads)).sum())
        classes = np.argmax(_scores(leads), axis=1)
        return float(self._gains[np.arange(len(classes)), classes].sum())

    @property
    def _unit(self) -> float:
        """The lead of an output of 1, if the output is a number."""
        return self._decision.unit * float(self._decision.sums.divisors[0])

    def _numbers(self, leads: Array) -> Array:
        return np.asarray(leads[:, 0] / self._unit)

    def utility_gradient(self, leads: Array, scale: float) -> Array:
        """Return the derivative of the utility of each row by its leads."""
        if self._decision.is_number:
            error = self._numbers(leads) - self._utility.right.astype(np.float64)
            return np.asarray(-2.0 * self._utility.weights * error / self._unit)[:, None]
        shares, gains = _softmax(leads, scale), self._gains
        mean = (shares * gains).sum(axis=1, keepdims=True)
        return np.asarray(shares * (gains - mean) / scale)[:, 1:]

    def influence_gradients(self, own: Array, moved: Array, scale: float) -> tuple[Array, Array]:
        """Return the derivatives of "the output changes" by the leads before and after a move."""
        if self._decision.is_number:
            sign = np.sign((moved - own).astype(np.float64)) / scale
            return -sign, sign
        outputs = self._decision.sums.outputs
        same = (outputs[:, None] == outputs[None, :]).astype(np.float64)
        first, second = _softmax(own, scale), _softmax(moved, scale)
        by_first, by_second = second @ same, first @ same
        agree = (first * by_first).sum(axis=1, keepdims=True)
        return (
            np.asarray(-(first * (by_first - agree) / scale)[:, 1:]),
            np.asarray(-(second * (by_second - agree) / scale)[:, 1:]),
        )


def _scores(leads: Array) -> Array:
    """The lead of each class over the first class, including the first."""
    return np.column_stack([np.zeros(len(leads), dtype=leads.dtype), leads])


def _softmax(leads: Array, scale: float) -> Array:
    scores = _scores(leads) / scale
    scores -= scores.max(axis=1, keepdims=True)
    exponentials = np.exp(scores)
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
