"""The terms of the language: a closed union of small immutable nodes.

A node holds its parts in the order they were written. Two nodes are equal when they are the
same up to the order of the operands of ``+ * and or`` (nothing else is an equivalence), which
a digest decides in constant time; it is computed once, without recursion, when first needed.

Constructors check and never rewrite; `build` has functions for terms from parts that may need
flattening (a sum inside a sum), sorting or conversion.
This module knows nothing of data, models, or how terms are evaluated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import chain
from typing import Any, ClassVar, TypeVar, assert_never, dataclass_transform

from proxyuse.errors import LanguageError

Value = float | bool | str | tuple[float, ...]
"""A number (always a float), a truth value, a category, or a vector of numbers."""

_N = TypeVar("_N", bound="Node")


class Precision(StrEnum):
    """The float type to which a comparison rounds its left side first."""

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
    """Functions that are neither associative nor lazy.

    ``fill(x, y)`` is x, or y where x is missing. ``median(v, w)`` is the weighted median of a
    vector: with its entries in ascending order, the first at which their weights, added up so
    far, reach half of all.
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
    """What all terms share: a digest, a size, equality and pickling without recursion."""

    __slots__ = ("_digest", "_order", "_points", "_size")
    _digest: bytes
    _order: tuple[int, ...]
    _points: int
    _size: int

    tag: ClassVar[str]
    packed: ClassVar[bool] = False  # whether children are made when they are asked for

    @property
    def digest(self) -> bytes:
        """16 bytes, the same for equal terms on every machine."""
        return _summarized(self)._digest

    @property
    def size(self) -> int:
        """The number of nodes; a literal set or table counts as one constant."""
        return _counted(self)._size

    @property
    def points(self) -> int:
        """The number of positions, that is, occurrences of sub-terms (the term itself too)."""
        return _counted(self)._points

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Node) and self.digest == other.digest

    def __hash__(self) -> int:
        return int.from_bytes(self.digest[:8], "little", signed=True)

    def __reduce__(self) -> tuple[Callable[[Any], Node], tuple[Any]]:
        from proxyuse.lang.flat import pack, unpack

        return unpack, (pack(self),)  # type: ignore[arg-type]

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
    """A constant. Numbers are floats, so that 1 and 1.0 are one constant, and 1 is not true."""

    value: Value
    tag: ClassVar[str] = "const"

    def __post_init__(self) -> None:
        value = self.value
        if type(value) in (float, bool, str):
            return
        if not (isinstance(value, tuple) and value and all(type(v) is float for v in value)):
            raise LanguageError(
                f"{value!r} ({type(value).__name__}) is not a constant of the language: "
                "use a float, bool, str or a non-empty tuple of floats, or build it with const()"
            )


@_node
class Var(Node):
    """A variable: a column of the data, by name."""

    name: str
    tag: ClassVar[str] = "var"

    def __post_init__(self) -> None:
        if type(self.name) is not str:
            raise LanguageError(f"a variable is named by a string, not {self.name!r}")


@_node
class Associative(Node):
    """An associative and commutative operator over two or more operands, flat."""

    operands: tuple[Term, ...]

    def __post_init__(self) -> None:
        need_terms(self.tag, self.operands)
        if len(self.operands) < 2:
            raise LanguageError(f"'{self.tag}' needs at least two operands")
        if any(type(operand) is type(self) for operand in self.operands):
            raise LanguageError(f"'{self.tag}' directly inside '{self.tag}': flatten it")


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
    """A comparison; the left side is rounded to `precision` first.

    A missing value on either side makes it `missing`, by default false.
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
    """Whether a value is one of a set of constants; a missing value gives `missing`."""

    operand: Term
    members: tuple[Value, ...]
    missing: bool = False
    tag: ClassVar[str] = "in"

    def __post_init__(self) -> None:
        need_terms("in", (self.operand,))
        _need_constants("members", self.members)
        if not self.members:
            raise LanguageError("a set of categories cannot be empty")
        if any(map(is_missing, self.members)):
            raise LanguageError("the missing value is no member of a set: write `in?` to let it in")
        if list(self.members) != sorted_values(self.members):
            raise LanguageError("members must be sorted and distinct: build the term with member()")


@_node
class Ite(Node):
    """If `guard` then `then`, else `otherwise`; only the branch taken is evaluated."""

    guard: Term
    then: Term
    otherwise: Term
    tag: ClassVar[str] = "ite"

    def __post_init__(self) -> None:
        need_terms("ite", (self.guard, self.then, self.otherwise))


@_node
class Vector(Node):
    """Numbers side by side, at least one of them not constant."""

    items: tuple[Term, ...]
    tag: ClassVar[str] = "vector"

    def __post_init__(self) -> None:
        need_terms("a vector", self.items)
        constants = [item.value for item in self.items if isinstance(item, Const)]
        if len(constants) == len(self.items) or any(type(v) is not float for v in constants):
            raise LanguageError(
                "a vector holds numbers, not all of them constant: build it with vector()"
            )


@_node
class Argmax(Node):
    """The label of the first largest entry of a vector; without labels, its index from 0."""

    operand: Term
    labels: tuple[Value, ...] = ()
    tag: ClassVar[str] = "argmax"

    def __post_init__(self) -> None:
        need_terms("argmax", (self.operand,))
        _need_constants("labels", self.labels)


@_node
class Lookup(Node):
    """A number (or any constant) for each listed value of the operand, else `default`."""

    operand: Term
    entries: tuple[tuple[Value, Value], ...]
    default: Value
    tag: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        need_terms("table", (self.operand,))
        if type(self.entries) is not tuple or not all(
            type(entry) is tuple and len(entry) == 2 for entry in self.entries
        ):
            raise LanguageError("a table's entries are a tuple of pairs: build it with lookup()")
        _need_constants("entries", (*chain.from_iterable(self.entries), self.default))
        keys = [key for key, _ in self.entries]
        if not keys:
            raise LanguageError("a table needs at least one entry")
        if keys != sorted_values(keys):
            raise LanguageError("table keys must be sorted and distinct: build it with lookup()")


@_node
class Call(Node):
    """A function of the closed list `Function` applied to its arguments."""

    function: Function
    arguments: tuple[Term, ...]
    tag: ClassVar[str] = "call"

    def __post_init__(self) -> None:
        need_terms("a function", self.arguments)
        if type(self.function) is not Function:
            raise LanguageError(f"{self.function!r} is not one of the language's functions")
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
    """Refuse parts that are not terms in a tuple."""
    if type(parts) is tuple:
        for part in parts:
            if not isinstance(part, Node):
                break
        else:
            return
    raise LanguageError(f"{what} is made of terms, given in a tuple, not {parts!r}")


def _need_constants(what: str, values: object) -> None:
    if type(values) is not tuple:
        raise LanguageError(f"{what} are given in a tuple, not {values!r}")
    for value in values:
        Const(value)


def is_missing(value: Value) -> bool:
    """Whether a value is the missing value."""
    return isinstance(value, float) and math.isnan(value)


def compares_words(comparison: Compare) -> bool:
    """Whether a comparison is with a category, so that there is nothing to round."""
    sides = (comparison.left, comparison.right)
    return any(isinstance(side, Const) and isinstance(side.value, str) for side in sides)


def value_text(value: Value) -> str:
    """How a constant is written.

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
    """Text between two marks, with what cannot be printed escaped."""
    escaped = text.replace("\\", "\\\\").replace(mark, "\\" + mark)
    if not escaped.isprintable():
        escaped = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in escaped)
    return f"{mark}{escaped}{mark}"


def sorted_values(values: Iterable[Value]) -> list[Value]:
    """Constants sorted by type and value, duplicates taken out, the missing value last."""
    values = list(values)
    if all(type(value) is str for value in values):  # often, and many
        return sorted(set(values))
    rank = {bool: 0, float: 1, str: 2, tuple: 3}
    distinct = {value_text(v): v for v in values}.values()

    def key(value: Value) -> tuple[int, float | bool | str, str]:
        if is_missing(value):
            return (4, 0.0, "")
        return (rank[type(value)], 0.0 if isinstance(value, tuple) else value, value_text(value))

    return sorted(distinct, key=key)


def children(term: Term) -> tuple[Term, ...]:
    """The direct sub-terms, in written order."""
    match term:  # most terms are made of these three
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


def label(term: Term) -> str:
    """What a node says apart from its children: the first word of its canonical text.

    Plain ASCII, so that it does not depend on which characters a Python version can print.
    """
    escaped = _label(term).replace("\\", "\\\\")
    return escaped.encode("ascii", "backslashreplace").decode("ascii")


def _label(term: Term) -> str:
    match term:
        case Const(str() as value):
            return f"'{value}"
        case Const(value):
            return value_text(value)
        case Var(name):
            return f"`{name}"
        case Add() | Mul() | And() | Or():
            return f"{term.tag} {len(term.operands)}"
        case Not() | Ite():
            return term.tag
        case Compare(relation, _, _, precision, missing):
            return f"{relation}{'?' if missing else ''} {precision}"
        case Member(_, members, missing):
            return f"in{'?' if missing else ''} {_stable(members)}"
        case Vector(items):
            return f"vector {len(items)}"
        case Argmax(_, labels):
            return f"argmax {_stable(labels)}"
        case Lookup(_, entries, default):
            return f"table {_stable(chain.from_iterable(entries))} {_stable([default])}"
        case Call(function, _):
            return function.value
        case _:
            assert_never(term)


def _stable(values: Iterable[Value]) -> str:
    """Constants as text; strings by their length, so that no quoting is needed."""
    return ", ".join(f"{len(v)}'{v}" if isinstance(v, str) else value_text(v) for v in values)


def postorder(root: Term, *, enter_packed: bool = True) -> Iterator[Term]:
    """Every node object below `root` once, children before parents, without recursion.

    Packed trees are unpacked on the way, or stand for themselves if they are not entered.
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
    """The names of the variables a term uses, in order of first appearance."""
    found: dict[str, None] = {}
    seen: set[int] = set()
    stack: list[Term] = [term]
    while stack:
        node = stack.pop()
        if type(node) is Var:
            found[node.name] = None
        elif node.packed:
            found.update(dict.fromkeys(node.forest.names(node.node)))  # type: ignore[union-attr]
        elif (parts := children(node)) and id(node) not in seen:
            seen.add(id(node))
            stack.extend(parts[::-1])
    return tuple(found)


def _counted(root: Node) -> Node:
    """Fill in size and number of points of `root` and all below it that is not packed."""
    if hasattr(root, "_points"):
        return root
    stack: list[Any] = [root]
    while stack:
        term = stack[-1]
        parts = children(term)
        pending = [part for part in parts if not (part.packed or hasattr(part, "_points"))]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        literal = isinstance(term, Member | Lookup)
        object.__setattr__(term, "_size", 1 + literal + sum(part.size for part in parts))
        object.__setattr__(term, "_points", 1 + sum(part.points for part in parts))
    return root


def _summarized(root: Node) -> Node:
    """Fill in the digest of `root` and all below it that is not packed."""
    if hasattr(root, "_digest"):
        return root
    stack: list[Any] = [root]
    while stack:
        term = stack[-1]
        parts = children(term)
        pending = [part for part in parts if not (part.packed or hasattr(part, "_digest"))]
        if pending:
            stack.extend(pending)
            continue
        stack.pop()
        digests = [part.digest for part in parts]
        if isinstance(term, Associative):
            digests.sort()
        text = label(term).encode("ascii")
        hasher = blake2b(len(text).to_bytes(8, "little"), digest_size=16)
        hasher.update(text)
        hasher.update(b"".join(digests))
        object.__setattr__(term, "_digest", hasher.digest())
    return root
