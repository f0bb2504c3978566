"""Terms of a whole made from the terms of its members.

A vote asks its members for vectors, a stack for single entries of them, a wrapper for other
labels. Here terms are taken apart and put together again; what is made from a part has the
part's origin, and what is needed at two places is copied, so that each part stands at one.
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
from proxyuse.models.model_terms import Origins
from proxyuse.program import Origin


class Traced(dict[int, Origin]):
    """Origins by identity that keep the node objects they are handed on to.

    A node object that is let go may leave its identity, and with it its origin, to another.
    """

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[Term] = []

    def hand_on(self, old: Term, new: Term) -> Term:
        """Give what is made from a part the origin of that part."""
        if new is not old and id(old) in self:
            self.setdefault(id(new), self[id(old)])
            self.alive.append(new)
        return new


def kept(origins: Mapping[int, Origin], *terms: Term | None) -> Origins:
    """The origins of what is in some terms."""
    found: Origins = {}
    for term in terms:
        if term is not None:
            nodes = (id(node) for node in postorder(term, enter_packed=False))
            found.update((node, origins[node]) for node in nodes if node in origins)
    return found


def copied(root: Term, origins: Traced) -> Term:
    """The same term made of other node objects; their origins are added to `origins`."""
    new: dict[int, Term] = {}
    for term in postorder(root, enter_packed=False):
        match term:
            case PackedIte():  # knows its origins itself
                made: Term = term
            case Const(value):
                made = Const(value)
            case Var(name):
                made = Var(name)
            case _:
                made = rebuild(term, tuple(new[id(part)] for part in children(term)))
        new[id(term)] = origins.hand_on(term, made)
    return new[id(root)]


def _own(term: Term, origins: Traced) -> Term:
    """A term for one more place: a copy, unless nothing in it has an origin."""
    traced = any(id(node) in origins for node in postorder(term, enter_packed=False))
    return copied(term, origins) if traced else term


def mapped_values(
    root: Term,
    origins: Traced,
    of_constant: Callable[[Value], Value],
    of_other: Callable[[Term], Term],
) -> Term:
    """A function of a term: of the constants at the ends of its ites and in its tables.

    `of_other` says the function of what is neither. A tree stays a tree in this way.
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
                new = Ite(_own(guard, origins), new_then, new_otherwise)
            case Const(value):
                new = Const(of_constant(value))
            case Lookup(operand, entries, default):
                pairs = tuple((key, of_constant(value)) for key, value in entries)
                new = Lookup(_own(operand, origins), pairs, of_constant(default))
            case _:
                new = of_other(term)
        built.append(origins.hand_on(term, new))
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


def entry(root: Term, place: int, origins: Traced) -> Term:
    """One number of a vector."""

    def of_constant(value: Value) -> Value:
        assert isinstance(value, tuple)
        return value[place]

    def of_other(term: Term) -> Term:
        match term:
            case Vector(items):
                return copied(items[place], origins)
            case Add(operands):
                return add(*(entry(part, place, origins) for part in operands))
            case Mul(operands):
                return mul(*(_entry_or_number(part, place, origins) for part in operands))
            case Call(Function.DIV, (dividend, divisor)):
                quotient = (entry(dividend, place, origins), copied(divisor, origins))
                return Call(Function.DIV, quotient)
            case Call(Function.SOFTMAX, (scores,)):
                return _share(scores, place, origins)
            case _:
                raise AssertionError(f"not a vector: {term!r}")

    return mapped_values(root, origins, of_constant, of_other)


def _entry_or_number(term: Term, place: int, origins: Traced) -> Term:
    return entry(term, place, origins) if width(term) else copied(term, origins)


def _share(scores: Term, place: int, origins: Traced) -> Term:
    """One entry of a softmax: ``1 / (1 + exp(other - this) + ...)``, which cannot overflow."""
    powers = []
    for other in range(width(scores)):
        if other != place:
            this = mul(entry(scores, place, origins), Const(-1.0))
            powers.append(Call(Function.EXP, (add(entry(scores, other, origins), this),)))
    return Call(Function.DIV, (Const(1.0), add(Const(1.0), *powers)))


def entries(root: Term, origins: Traced) -> list[Term]:
    """The numbers of a vector."""
    return [entry(root, place, origins) for place in range(width(root))]


def rearranged(root: Term, places: Sequence[int | None], origins: Traced) -> Term:
    """A vector of some entries of a vector, with 0 where there is none."""
    if list(places) == list(range(width(root))):
        return root

    def of_constant(value: Value) -> Value:
        assert isinstance(value, tuple)
        return tuple(0.0 if place is None else value[place] for place in places)

    def of_other(term: Term) -> Term:
        match term:
            case Add(operands):
                return add(*(rearranged(part, places, origins) for part in operands))
            case Call(Function.DIV, (dividend, divisor)):
                return Call(Function.DIV, (rearranged(dividend, places, origins), divisor))
            case _:
                return vector(
                    *(Const(0.0) if p is None else entry(term, p, origins) for p in places)
                )

    return mapped_values(root, origins, of_constant, of_other)


def scaled(root: Term, factor: float, origins: Traced) -> Term:
    """A number or vector times a factor; a tree of constants stays one."""
    if factor == 1:
        return root

    def of_constant(value: Value) -> Value:
        if isinstance(value, tuple):
            return tuple(number * factor for number in value)
        assert not isinstance(value, str)
        return value * factor

    # The factor comes last: a product in front keeps the order of its own factors.
    return mapped_values(root, origins, of_constant, lambda term: mul(term, Const(factor)))


def answered(root: Term, table: Mapping[Value, Value], origins: Traced) -> Term:
    """What a table says of the labels that a model predicts."""

    def of_other(term: Term) -> Term:
        plain = not any(isinstance(value, tuple) for value in table.values())
        match term:
            case Argmax(scores, labels) if labels and plain:
                return Argmax(_own(scores, origins), tuple(table[label] for label in labels))
            case _:
                return lookup(_own(term, origins), table.items(), next(iter(table.values())))

    return mapped_values(root, origins, table.__getitem__, of_other)


def one_hot(place: int, size: int, on: float = 1.0, off: float = 0.0) -> tuple[float, ...]:
    """A vector of `off` with `on` at one place."""
    return tuple(on if place == other else off for other in range(size))


def two_shares(second: Term, origins: Traced) -> Term:
    """The probabilities of two classes from that of the second."""

    def of_constant(value: Value) -> Value:
        assert isinstance(value, float)
        return (1.0 - value, value)

    def of_other(term: Term) -> Term:
        first = add(Const(1.0), mul(copied(term, origins), Const(-1.0)))
        return vector(first, copied(term, origins))

    return mapped_values(second, origins, of_constant, of_other)
