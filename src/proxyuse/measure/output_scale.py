"""The scale of a program's output: which way is up.

A decision has a direction if one class is the positive one, or if the output is a number. The
positive class is, in this order: the one that the audit's decision names, the second class of a
model with two classes, or the greater of the two constants that a program returns. More than two
classes without a decision have no direction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.lang.build import const
from proxyuse.lang.evaluate import Array, Vocabulary, constant
from proxyuse.lang.nodes import (
    And,
    Argmax,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Not,
    Or,
    Term,
    Value,
    is_missing,
    value_text,
)
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.parse import parse_term
from proxyuse.measure.association.joint_table import labels_of
from proxyuse.measure.association.support import support_of

MOST_LABELS = 64
"""A program that returns more constants than this returns a number, or classes without names."""

Kind = Literal["class", "number", "classes", "none"]


@dataclass(frozen=True, slots=True)
class Scale:
    """How outputs are compared.

    Attributes
    ----------
    kind : "class" if one of two outputs is positive, "number" for numbers, "classes" for classes
        without an order, "none" for vectors.
    labels : the text of each class; for "class" the negative one, then the positive one.
    names : the classes as people read them.

    Examples
    --------
    >>> scale = Scale("class", ("'<=50K'", "'>50K'"))
    >>> scale.names
    ('<=50K', '>50K')
    """

    kind: Kind
    labels: tuple[str, ...] = ()
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.names:
            object.__setattr__(self, "names", tuple(map(class_name, self.labels)))

    @property
    def directed(self) -> bool:
        """Whether a changed output goes up or down."""
        return self.kind in ("class", "number")

    def ranks(self, outputs: Array, vocabulary: Vocabulary) -> Array:
        """Return a number per row that is higher for a higher output, for a scale that has one.

        Examples
        --------
        >>> Scale("class", ("2", "1")).ranks(np.array([1.0, 2.0]), Vocabulary()).tolist()
        [1.0, 0.0]
        """
        if self.kind == "number":
            return outputs.astype(np.float64)
        positive = parse_term(self.labels[1])
        assert isinstance(positive, Const)
        equal: Array = outputs == constant(positive.value, vocabulary)
        return equal.astype(np.float64)

    def classes(self, outputs: Array, vocabulary: Vocabulary) -> tuple[Array, tuple[str, ...]]:
        """Return the class of each row as an index, and the labels; O(n log n) for n rows.

        Outputs without a label of their own, such as missing ones, are added to the labels.
        """
        support = support_of(outputs, len(outputs))
        labels = list(self.labels)
        index = []
        for label in labels_of(support, vocabulary):
            if label not in labels:
                labels.append(label)
            index.append(labels.index(label))
        return np.array(index, dtype=np.intp)[support.codes], tuple(labels)


def class_name(label: str) -> str:
    """Return the text of a class without quotes, if it is a plain text.

    Examples
    --------
    >>> class_name("'>50K'"), class_name("1"), class_name("true")
    ('>50K', '1', 'true')
    """
    plain = label[1:-1]
    quoted = label.startswith("'") and label.endswith("'") and len(label) > 2
    return plain if quoted and "'" not in plain and "\\" not in plain else label


def scale_of(
    term: Term,
    outputs: Array,
    classes: Sequence[Value] | None = None,
    decision: Decision | None = None,
) -> Scale:
    """Return the scale of a program's outputs.

    Parameters
    ----------
    term : the program's term.
    outputs : its value in some rows.
    classes : the classes of the model, in its order; empty if it predicts numbers, None if the
        program does not come from a model.
    decision : the decision that the output is.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> scale_of(parse_term("ite(x > 1, 'yes', 'no')"), np.array([0], dtype=np.int32))
    Scale(kind='class', labels=("'no'", "'yes'"), names=('no', 'yes'))
    >>> scale_of(parse_term("2 * x"), np.array([1.0])).kind
    'number'
    """
    if outputs.ndim == 2:
        return Scale("none")
    if outputs.dtype == np.bool_:
        return Scale("class", ("false", "true"), _decided_names(decision))
    if classes is not None and not classes:
        return Scale("number")
    values = constants(term) if classes is None else list(classes)
    if values is None or len(values) < 2:
        return Scale("classes" if outputs.dtype == np.int32 else "number")
    labels = tuple(map(value_text, values))
    if len(labels) == 2:
        return Scale("class", _positive_last(labels, decision))
    if classes is None and outputs.dtype != np.int32:
        return Scale("number")
    return Scale("classes", labels)


def _positive_last(labels: tuple[str, ...], decision: Decision | None) -> tuple[str, ...]:
    named = getattr(decision, "positive", None)
    positive = labels[1] if named is None else value_text(const(named).value)
    return labels[::-1] if positive == labels[0] else labels


def _decided_names(decision: Decision | None) -> tuple[str, str]:
    """Return the names of a decision that is false or true."""
    match decision:
        case Positive(label) | Threshold(_, label) if label is not None:
            name = class_name(value_text(const(label).value))
            return f"not {name}", name
        case Threshold(number):
            return f"below {number:g}", f"at least {number:g}"
        case TopK(k):
            return f"not in the top {k:,}", f"in the top {k:,}"
    return "false", "true"


def constants(term: Term) -> list[Value] | None:
    """Return the constants that a term can return, sorted; None if there are others or too many.

    Linear in the number of branches.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> constants(parse_term("ite(x > 1, 3, ite(y > 1, 1, 3))")), constants(parse_term("x + 1"))
    ([1.0, 3.0], None)
    """
    found: dict[str, Value] = {}
    stack = [term]
    while stack:
        part = stack.pop()
        match part:
            case PackedIte():
                values = _leaf_constants(part)
                if values is None:
                    return None
            case Ite(_, then, otherwise):
                stack += [then, otherwise]
                continue
            case Const(value):
                values = [value]
            case Argmax(_, labels) if labels:
                values = list(labels)
            case Lookup(_, entries, default):
                values = [*(value for _, value in entries), default]
            case Compare() | Member() | Not() | And() | Or():
                values = [False, True]
            case _:
                return None
        found |= {value_text(value): value for value in values}
        if len(found) > MOST_LABELS or any(map(is_missing, found.values())):
            return None
    kinds = {type(value) for value in found.values()}
    if len(kinds) > 1 or tuple in kinds:
        return None
    return sorted(found.values())


def _leaf_constants(tree: PackedIte) -> list[Value] | None:
    """Return the distinct leaves of a packed tree; None if they are vectors or too many."""
    forest = tree.forest
    if forest.leaves.ndim == 2:
        return None
    spans = forest.spans
    leaves = forest.leaves[spans.first_leaf[tree.node] : spans.last_leaf[tree.node]]
    distinct = np.unique(leaves)
    if len(distinct) > MOST_LABELS:
        return None
    if forest.labels:
        return [forest.labels[int(index)] for index in distinct]
    return [float(value) for value in distinct]
