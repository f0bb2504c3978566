"""Transforms the terms of a member into terms of the model that contains it.

A vote needs vectors, a stack single entries of vectors, a wrapper other labels. A new term gets
the origin of the term it was derived from. A term that is used twice is copied, so that each node
object occurs once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proxyuse.lang.build import add, lookup, mul, rebuild, vector
from proxyuse.lang.nodes import (
    Add,
    Argmax,
    Call,
    Const,
    Function,
    Ite,
    Lookup,
    Mul,
    Term,
    Value,
    Var,
    Vector,
    children,
    postorder,
)
from proxyuse.lang.packed import PackedIte
from proxyuse.models.translation import Origins
from proxyuse.program import Origin


class TracedOrigins(dict[int, Origin]):
    """Origins by ``id(node)`` that keep the nodes alive.

    Python may reuse the id of a collected node, which would then get a wrong origin.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Term] = []

    def inherit(self, old: Term, new: Term) -> Term:
        """Give a new node the origin of the node it was derived from."""
        if new is not old and id(old) in self:
            self.setdefault(id(new), self[id(old)])
            self.alive.append(new)
        return new


def origins_in(origins: Mapping[int, Origin], *terms: Term | None) -> Origins:
    """The origins of the nodes of some terms."""
    within: Origins = {}
    for term in terms:
        if term is not None:
            nodes = (id(node) for node in postorder(term, enter_packed=False))
            within.update((node, origins[node]) for node in nodes if node in origins)
    return within


def copied(root: Term, origins: TracedOrigins) -> Term:
    """A copy of a term with new node objects; their origins are added to `origins`."""
    new: dict[int, Term] = {}
    for term in postorder(root, enter_packed=False):
        match term:
            case PackedIte():  # stores its own origins
                new_node: Term = term
            case Const(value):
                new_node = Const(value)
            case Var(name):
                new_node = Var(name)
            case _:
                new_node = rebuild(term, tuple(new[id(part)] for part in children(term)))
        new[id(term)] = origins.inherit(term, new_node)
    return new[id(root)]


def _copied_if_traced(term: Term, origins: TracedOrigins) -> Term:
    """A term to use once more: a copy, unless nothing in it has an origin."""
    traced = any(id(node) in origins for node in postorder(term, enter_packed=False))
    return copied(term, origins) if traced else term


def mapped_values(
    root: Term,
    origins: TracedOrigins,
    of_constant: Callable[[Value], Value],
    of_other: Callable[[Term], Term],
) -> Term:
    """Apply a function to the values of a term.

    `of_constant` applies it to the leaves of trees and the entries of tables, so a tree stays a
    tree. `of_other` applies it to any other term.
    """
    built: list[Term] = []
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, ready = stack.pop()
        match term:
            case PackedIte():
                new: Term = term.forest.only(term.node).mapped(of_constant).term(0)
            case Ite(_, then, otherwise) if not ready:
                stack += [(term, True), (otherwise, False), (then, False)]
                continue
            case Ite(guard):
                new_otherwise, new_then = built.pop(), built.pop()
                new = Ite(_copied_if_traced(guard, origins), new_then, new_otherwise)
            case Const(value):
                new = Const(of_constant(value))
            case Lookup(operand, entries, default):
                pairs = tuple((key, of_constant(value)) for key, value in entries)
                new = Lookup(_copied_if_traced(operand, origins), pairs, of_constant(default))
            case _:
                new = of_other(term)
        built.append(origins.inherit(term, new))
    return built[0]


def width(term: Term) -> int:
    """The length of a vector, 0 for a number."""
    while True:
        match term:
            case Const(value) | Lookup(_, _, value):
                return len(value) if isinstance(value, tuple) else 0
            case Vector(items):
                return len(items)
            case PackedIte():
                return len(value) if isinstance(value := term.forest.value(0), tuple) else 0
            case Ite(_, part):
                term = part
            case Add((part, *_)):
                term = part
            case Call(Function.DIV | Function.SOFTMAX, (part, *_)):
                term = part
            case Mul(operands):
                return max(map(width, operands))
            case _:
                return 0


def entry(root: Term, index: int, origins: TracedOrigins) -> Term:
    """One entry of a vector."""

    def of_constant(value: Value) -> Value:
        assert isinstance(value, tuple)
        return value[index]

    def of_other(term: Term) -> Term:
        match term:
            case Vector(items):
                return copied(items[index], origins)
            case Add(operands):
                return add(*(entry(part, index, origins) for part in operands))
            case Mul(operands):
                return mul(*(_entry_or_number(part, index, origins) for part in operands))
            case Call(Function.DIV, (dividend, divisor)):
                quotient = (entry(dividend, index, origins), copied(divisor, origins))
                return Call(Function.DIV, quotient)
            case Call(Function.SOFTMAX, (scores,)):
                return _softmax_entry(scores, index, origins)
            case _:
                raise AssertionError(f"not a vector: {term!r}")

    return mapped_values(root, origins, of_constant, of_other)


def _entry_or_number(term: Term, index: int, origins: TracedOrigins) -> Term:
    return entry(term, index, origins) if width(term) else copied(term, origins)


def _softmax_entry(scores: Term, index: int, origins: TracedOrigins) -> Term:
    """One entry of a softmax: ``1 / (1 + exp(other - this) + ...)``, which cannot overflow."""
    powers = []
    for other in range(width(scores)):
        if other != index:
            this = mul(entry(scores, index, origins), Const(-1.0))
            powers.append(Call(Function.EXP, (add(entry(scores, other, origins), this),)))
    return Call(Function.DIV, (Const(1.0), add(Const(1.0), *powers)))


def entries(root: Term, origins: TracedOrigins) -> list[Term]:
    """The entries of a vector."""
    return [entry(root, index, origins) for index in range(width(root))]


def rearranged(root: Term, indices: Sequence[int | None], origins: TracedOrigins) -> Term:
    """A vector with the entries at some indices of another vector; 0 where the index is None."""
    if list(indices) == list(range(width(root))):
        return root

    def of_constant(value: Value) -> Value:
        assert isinstance(value, tuple)
        return tuple(0.0 if index is None else value[index] for index in indices)

    def of_other(term: Term) -> Term:
        match term:
            case Add(operands):
                return add(*(rearranged(part, indices, origins) for part in operands))
            case Call(Function.DIV, (dividend, divisor)):
                return Call(Function.DIV, (rearranged(dividend, indices, origins), divisor))
            case _:
                return vector(
                    *(Const(0.0) if p is None else entry(term, p, origins) for p in indices)
                )

    return mapped_values(root, origins, of_constant, of_other)


def scaled(root: Term, factor: float, origins: TracedOrigins) -> Term:
    """A number or vector times a factor; a tree stays a tree."""
    if factor == 1:
        return root

    def of_constant(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(number * factor for number in value)
        assert not isinstance(value, str)
        return value * factor

    # The factor comes last, so that a product keeps the order of its own factors.
    return mapped_values(root, origins, of_constant, lambda term: mul(term, Const(factor)))


def mapped_labels(root: Term, table: Mapping[Value, Value], origins: TracedOrigins) -> Term:
    """The predicted labels of a model, mapped by a table."""

    def of_other(term: Term) -> Term:
        plain = not any(isinstance(value, tuple) for value in table.values())
        match term:
            case Argmax(scores, labels) if labels and plain:
                scores = _copied_if_traced(scores, origins)
                return Argmax(scores, tuple(table[label] for label in labels))
            case _:
                operand = _copied_if_traced(term, origins)
                return lookup(operand, table.items(), next(iter(table.values())))

    return mapped_values(root, origins, table.__getitem__, of_other)


def one_hot(index: int, size: int, on: float = 1.0, off: float = 0.0) -> tuple[float, ...]:
    """A vector of `off` with `on` at one index."""
    return tuple(on if index == other else off for other in range(size))


def leafwise_binary_probabilities(second: Term, origins: TracedOrigins) -> Term:
    """The probabilities of two classes, from that of the second; a tree stays a tree."""

    def of_constant(value: Value) -> Value:
        assert isinstance(value, float)
        return (1.0 - value, value)

    def of_other(term: Term) -> Term:
        first = add(Const(1.0), mul(copied(term, origins), Const(-1.0)))
        return vector(first, copied(term, origins))

    return mapped_values(second, origins, of_constant, of_other)
