"""The terms of the language: a closed union of small immutable nodes.

A node holds its children in written order. Two nodes are equal if they differ only in the order
of the operands of ``+ * and or``; nothing else is an equivalence. Equality compares digests, which
are computed on first use (see `digests`), so it takes constant time.

Constructors check their arguments and never rewrite them. The functions in `build` also flatten
(a sum inside a sum), sort and convert.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any, ClassVar, TypeVar, assert_never, dataclass_transform

from proxyuse.errors import LanguageError
from proxyuse.words import BLANKS

Value = float | bool | str | tuple[float, ...]
"""A number (always a float), a boolean, a category, or a vector of numbers."""

_N = TypeVar("_N", bound="Node")


class Precision(StrEnum):
    """The float type to which a comparison rounds its left side."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class Relation(StrEnum):
    """The relation a comparison tests."""

    EQ = "=="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


class Function(StrEnum):
    """The functions of the language; they are neither associative nor lazy.

    ``fill(x, y)`` is x, or y where x is missing. ``median(v, w)`` is the weighted median of a
    vector: the first entry, in ascending order, at which the cumulative weight reaches half of
    the total.
    """

    EXP = "exp"
    LOG = "log"
    SQRT = "sqrt"
    ABS = "abs"
    SIGMOID = "sigmoid"
    SOFTMAX = "softmax"
    DIV = "div"
    FILL = "fill"
    MEDIAN = "median"


ARITY = {f: 2 if f in (Function.DIV, Function.FILL, Function.MEDIAN) else 1 for f in Function}


class Node:
    """The base class of all terms: digest, size, equality and pickling, without recursion."""

    __slots__ = ("_digest", "_order", "_points", "_size")
    _digest: bytes
    _order: tuple[int, ...]
    _points: int
    _size: int

    tag: ClassVar[str]
    packed: ClassVar[bool] = False  # whether children are created on demand

    @property
    def digest(self) -> bytes:
        """A hash of 16 bytes that equal terms share, on every machine."""
        if not hasattr(self, "_digest"):
            from proxyuse.lang.digests import fill_digests

            fill_digests(self)
        return self._digest

    @property
    def size(self) -> int:
        """The number of nodes; a literal set or table counts as one constant."""
        if not hasattr(self, "_size"):
            from proxyuse.lang.digests import fill_sizes

            fill_sizes(self)
        return self._size

    @property
    def points(self) -> int:
        """The number of points: occurrences of sub-terms, including the term itself."""
        if not hasattr(self, "_points"):
            from proxyuse.lang.digests import fill_sizes

            fill_sizes(self)
        return self._points

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Node) and self.digest == other.digest

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "little", signed=True)

    def __reduce__(self) -> tuple[Callable[[Any], Node], tuple[Any]]:
        from proxyuse.lang.pickling import flatten, unflatten

        return unflatten, (flatten(self),)  # type: ignore[arg-type]

    def __deepcopy__(self: _N, memo: object) -> _N:
        return self

    def __str__(self) -> str:
        from proxyuse.lang.text import term_text

        return term_text(self)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        text = " ".join(str(self).split()) if self.size <= 200 else f"... {self.size} nodes ..."
        return f"<{type(self).__name__} {text}>"


@dataclass_transform(frozen_default=True, eq_default=False)
def _node(cls: type[_N]) -> type[_N]:
    return dataclass(frozen=True, slots=True, eq=False, repr=False)(cls)


@_node
class Const(Node):
    """A constant. Numbers are floats, so 1 and 1.0 are the same constant, and 1 is not true."""

    value: Value
    tag: ClassVar[str] = "const"

    def __post_init__(self) -> None:
        value = self.value
        if type(value) in (float, bool, str):
            return
        if not (isinstance(value, tuple) and value and all(type(v) is float for v in value)):
            raise LanguageError(
                f"{value!r} ({type(value).__name__}) is not a constant of the language; "
                "use a float, bool, str or a non-empty tuple of floats, or build it with const()"
            )


@_node
class Var(Node):
    """A variable: the name of a column."""

    name: str
    tag: ClassVar[str] = "var"

    def __post_init__(self) -> None:
        if type(self.name) is not str:
            raise LanguageError(f"a variable name must be a string, not {self.name!r}")


@_node
class Associative(Node):
    """An associative and commutative operator over two or more operands, flattened."""

    operands: tuple[Term, ...]

    def __post_init__(self) -> None:
        need_terms(self.tag, self.operands)
        if len(self.operands) < 2:
            raise LanguageError(f"'{self.tag}' needs at least two operands")
        if any(type(operand) is type(self) for operand in self.operands):
            raise LanguageError(f"'{self.tag}' directly inside '{self.tag}'; flatten it")


@_node
class Add(Associative):
    """A sum, evaluated from left to right."""

    tag: ClassVar[str] = "+"


@_node
class Mul(Associative):
    """A product, evaluated from left to right."""

    tag: ClassVar[str] = "*"


@_node
class And(Associative):
    """A conjunction; all operands are evaluated."""

    tag: ClassVar[str] = "and"


@_node
class Or(Associative):
    """A disjunction; all operands are evaluated."""

    tag: ClassVar[str] = "or"


@_node
class Not(Node):
    """A negation."""

    operand: Term
    tag: ClassVar[str] = "not"

    def __post_init__(self) -> None:
        need_terms("not", (self.operand,))


@_node
class Compare(Node):
    """A comparison; the left side is first rounded to `precision`.

    If a side is missing, the result is `missing` (false by default).
    """

    relation: Relation
    left: Term
    right: Term
    precision: Precision = Precision.FLOAT64
    missing: bool = False
    tag: ClassVar[str] = "compare"

    def __post_init__(self) -> None:
        need_terms("a comparison", (self.left, self.right))
        if type(self.relation) is not Relation or type(self.precision) is not Precision:
            raise LanguageError("a comparison needs a Relation and a Precision")


@_node
class Member(Node):
    """A membership test in a set of constants; a missing value gives `missing`."""

    operand: Term
    members: tuple[Value, ...]
    missing: bool = False
    tag: ClassVar[str] = "in"

    def __post_init__(self) -> None:
        need_terms("in", (self.operand,))
        _need_constants("members", self.members)
        if not self.members:
            raise LanguageError("a set needs at least one member")
        if any(map(is_missing, self.members)):
            raise LanguageError("a set cannot contain the missing value; write `in?` to include it")
        if list(self.members) != sorted_values(self.members):
            raise LanguageError("members must be sorted and distinct; build the term with member()")


@_node
class Ite(Node):
    """If `guard` then `then`, else `otherwise`; lazy, only one branch is evaluated."""

    guard: Term
    then: Term
    otherwise: Term
    tag: ClassVar[str] = "ite"

    def __post_init__(self) -> None:
        need_terms("ite", (self.guard, self.then, self.otherwise))


@_node
class Vector(Node):
    """A vector of numbers. At least one of them is not constant."""

    items: tuple[Term, ...]
    tag: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        need_terms("a vector", self.items)
        constants = [item.value for item in self.items if isinstance(item, Const)]
        if len(constants) == len(self.items) or any(type(v) is not float for v in constants):
            raise LanguageError(
                "vector items must be numbers, and not all constant; build the term with vector()"
            )


@_node
class Argmax(Node):
    """The label of the largest entry of a vector (the first, if tied), or its index from 0."""

    operand: Term
    labels: tuple[Value, ...] = ()
    tag: ClassVar[str] = "argmax"

    def __post_init__(self) -> None:
        need_terms("argmax", (self.operand,))
        _need_constants("labels", self.labels)


@_node
class Lookup(Node):
    """A table that maps values of the operand to constants; other values map to `default`."""

    operand: Term
    entries: tuple[tuple[Value, Value], ...]
    default: Value
    tag: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        need_terms("table", (self.operand,))
        if type(self.entries) is not tuple or not all(
            type(entry) is tuple and len(entry) == 2 for entry in self.entries
        ):
            raise LanguageError(
                "table entries must be a tuple of pairs; build the term with lookup()"
            )
        _need_constants("entries", (*chain.from_iterable(self.entries), self.default))
        keys = [key for key, _ in self.entries]
        if not keys:
            raise LanguageError("a table needs at least one entry")
        if keys != sorted_values(keys):
            raise LanguageError(
                "table keys must be sorted and distinct; build the term with lookup()"
            )


@_node
class Call(Node):
    """A `Function` applied to its arguments."""

    function: Function
    arguments: tuple[Term, ...]
    tag: ClassVar[str] = "call"

    def __post_init__(self) -> None:
        need_terms("a function", self.arguments)
        if type(self.function) is not Function:
            raise LanguageError(
                f"{self.function!r} is not a function of the language; use a Function"
            )
        if len(self.arguments) != ARITY[self.function]:
            raise LanguageError(f"{self.function} takes {ARITY[self.function]} argument(s)")


Term = (
    Const | Var | Add | Mul | And | Or | Not | Compare | Member | Ite | Vector | Argmax
    | Lookup | Call
)  # fmt: skip

TRUE = Const(True)
FALSE = Const(False)
MISSING = Const(math.nan)


def need_terms(what: str, parts: object) -> None:
    """Raise an error unless `parts` is a tuple of terms."""
    if type(parts) is tuple:
        for part in parts:
            if not isinstance(part, Node):
                break
        else:
            return
    raise LanguageError(f"{what}: expected a tuple of terms, got {parts!r}")


def _need_constants(what: str, values: object) -> None:
    if type(values) is not tuple:
        raise LanguageError(f"{what}: expected a tuple of constants, got {values!r}")
    for value in values:
        Const(value)


def is_missing(value: Value) -> bool:
    """Return whether a value is the missing value."""
    return isinstance(value, float) and math.isnan(value)


def compares_words(comparison: Compare) -> bool:
    """Return whether a side of a comparison is a category, so that there is nothing to round."""
    sides = (comparison.left, comparison.right)
    return any(isinstance(side, Const) and isinstance(side.value, str) for side in sides)


def value_text(value: Value) -> str:
    """Write a constant as text.

    Examples
    --------
    >>> value_text(30.0), value_text(0.1), value_text(True), value_text("Husband")
    ('30', '0.1', 'true', "'Husband'")
    """
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return quoted(value, "'")
        case tuple():
            return "[" + ", ".join(map(value_text, value)) + "]"
        case float():
            if math.isnan(value):
                return "missing"
            text = repr(value)
            return text[:-2] if text.endswith(".0") and text != "-0.0" else text
        case _:
            assert_never(value)


def quoted(text: str, mark: str) -> str:
    """Put text between quotation marks and escape unprintable and blank characters."""
    escaped = text.replace("\\", "\\\\").replace(mark, "\\" + mark)
    if not (escaped.isascii() and escaped.isprintable()):
        escaped = "".join(
            c if c.isprintable() and c not in BLANKS else f"\\u{{{ord(c):x}}}" for c in escaped
        )
    return f"{mark}{escaped}{mark}"


def sorted_values(values: Iterable[Value]) -> list[Value]:
    """Sort constants by type and value and drop duplicates; the missing value comes last."""
    values = list(values)
    if all(type(value) is str for value in values):  # a fast path for the most common case
        return sorted(set(values))
    rank = {bool: 0, float: 1, str: 2, tuple: 3}
    distinct = {value_text(v): v for v in values}.values()

    def key(value: Value) -> tuple[int, float | bool | str, str]:
        if is_missing(value):
            return (4, 0.0, "")
        return (rank[type(value)], 0.0 if isinstance(value, tuple) else value, value_text(value))

    return sorted(distinct, key=key)


def children(term: Term) -> tuple[Term, ...]:
    """Return the direct sub-terms in written order."""
    match term:  # the most frequent classes come first
        case Const() | Var():
            return ()
        case Ite():
            return (term.guard, term.then, term.otherwise)
        case Compare():
            return (term.left, term.right)
        case Add() | Mul() | And() | Or():
            return term.operands
        case Not(operand) | Member(operand) | Argmax(operand) | Lookup(operand):
            return (operand,)
        case Vector(items):
            return items
        case Call(_, arguments):
            return arguments
        case _:
            assert_never(term)


def postorder(root: Term, *, enter_packed: bool = True) -> Iterator[Term]:
    """Yield every node object of `root` once, children before parents, without recursion.

    The nodes of packed trees are yielded too, unless `enter_packed` is false.
    """
    seen: set[int] = set()
    stack: list[tuple[Term, bool]] = [(root, False)]
    while stack:
        term, ready = stack.pop()
        if ready:
            yield term
        elif id(term) not in seen:
            seen.add(id(term))
            stack.append((term, True))
            if enter_packed or not term.packed:
                stack.extend((child, False) for child in reversed(children(term)))


def variables(term: Term) -> tuple[str, ...]:
    """Return the names of the variables in a term, in order of first appearance."""
    names: dict[str, None] = {}
    seen: set[int] = set()
    stack: list[Term] = [term]
    while stack:
        node = stack.pop()
        if type(node) is Var:
            names[node.name] = None
        elif node.packed:
            names.update(dict.fromkeys(node.forest.names(node.node)))  # type: ignore[union-attr]
        elif (parts := children(node)) and id(node) not in seen:
            seen.add(id(node))
            stack.extend(parts[::-1])
    return tuple(names)
