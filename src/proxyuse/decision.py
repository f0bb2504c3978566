"""The decision to audit, if it is not the prediction of the model; an option of `settings`."""

from typing import Any

import msgspec


class _Tagged(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A decision; files name its kind."""


class Threshold(_Tagged, frozen=True, tag="threshold"):
    """The positive class if its probability is at least a threshold, otherwise the other class.

    With more than two classes, the decision is true or false. For a model that predicts a number,
    such as a booster that returns a probability, the number is compared with the threshold.

    Attributes
    ----------
    probability : between 0 and 1; any number for a model that predicts numbers.
    positive : the label of the class; by default the second of two classes.
    """

    probability: float
    positive: Any = None


class Positive(_Tagged, frozen=True, tag="positive"):
    """Whether the model predicts one class, regardless of the other classes.

    Attributes
    ----------
    label : the label of the class.
    """

    label: Any


class TopK(_Tagged, frozen=True, tag="top"):
    """Whether a row is among the k with the highest probability of the positive class.

    A regressor's rows are ordered by its prediction. Rows that tie with the k-th row are included.

    Attributes
    ----------
    k : the number of rows.
    positive : the label of the class; by default the second of two classes.
    """

    k: int
    positive: Any = None


Decision = Threshold | Positive | TopK
