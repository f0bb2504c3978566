"""Digests and sizes of terms, computed once per node and without recursion.

The digest of a term hashes its canonical text from the bottom up: the label of each node, then the
digests of its children, sorted if their order does not matter. Equal terms therefore have equal
digests, and comparing two terms takes constant time.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import chain
from typing import Any, assert_never

from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Associative,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Node,
    Not,
    Or,
    Term,
    Value,
    Var,
    Vector,
    children,
    value_text,
)


def label(term: Term) -> str:
    """Return the head of a node's canonical text: what identifies it apart from its children.

    It is plain ASCII, because which characters are printable depends on the Python version.
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
    """Write constants as text; a string is prefixed with its length, so it needs no quoting."""
    return ", ".join(f"{len(v)}'{v}" if isinstance(v, str) else value_text(v) for v in values)


def label_hasher(text: str) -> Any:
    """Return a hasher that has read a label; the digests of the children come next."""
    hasher = blake2b(len(text).to_bytes(8, "little"), digest_size=16)
    hasher.update(text.encode("ascii"))
    return hasher


def fill_sizes(root: Node) -> None:
    """Store the size and the number of points in `root` and the unpacked nodes below it."""
    if hasattr(root, "_points"):
        return
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


def fill_digests(root: Node) -> None:
    """Store the digest in `root` and in the unpacked nodes below it."""
    if hasattr(root, "_digest"):
        return
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
        hasher = label_hasher(label(term))
        hasher.update(b"".join(digests))
        object.__setattr__(term, "_digest", hasher.digest())
