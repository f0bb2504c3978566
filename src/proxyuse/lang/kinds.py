"""Type checking: find the kind of each sub-term's value from the kinds of the variables.

A kind is a string: ``number``, ``boolean``, ``category``, ``vector of 3``, or ``missing`` for the
missing value, which is allowed everywhere. A boolean counts as 0 or 1 where a number is needed;
there are no other conversions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import assert_never

from proxyuse.errors import KindError
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Relation,
    Term,
    Value,
    Var,
    Vector,
    children,
    is_missing,
    postorder,
    value_text,
)
from proxyuse.lang.packed import PackedIte
from proxyuse.words import shortened

NUMBER, BOOLEAN, CATEGORY, MISSING_KIND = "number", "boolean", "category", "missing"
_PLURAL = {NUMBER: "numbers", BOOLEAN: "true/false", CATEGORY: "categories"}


def check_kinds(root: Term, variables: Mapping[str, str]) -> str:
    """Return the kind of `root`; a `KindError` names the sub-term in which kinds do not match.

    Examples
    --------
    >>> from proxyuse.lang import parse_term
    >>> check_kinds(parse_term("ite(age <= 30, 'young', 'old')"), {"age": "number"})
    'category'
    >>> check_kinds(parse_term("sex <= 30"), {"sex": "category"})
    Traceback (most recent call last):
    proxyuse.errors.KindError: in `sex <= 30`: `sex` holds categories where a number is needed; \
compare it with == or `in {...}`, or convert the column
    """
    kinds: dict[int, str] = {}
    checked: set[tuple[int, int]] = set()
    for term in postorder(root, enter_packed=False):
        if isinstance(term, PackedIte):
            kinds[id(term)] = _tree_kind(term, variables, checked)
        else:
            parts = children(term)
            kinds[id(term)] = _kind(term, [kinds[id(part)] for part in parts], variables)
    return kinds[id(root)]


def _tree_kind(tree: PackedIte, variables: Mapping[str, str], checked: set[tuple[int, int]]) -> str:
    """Return the kind of a packed tree's leaves; each shape of its tests is checked once."""
    forest = tree.forest
    for index in forest.shapes_below(tree.node):
        shape = forest.tests.shapes[index]
        if (id(forest.tests), index) in checked:
            continue
        checked.add((id(forest.tests), index))
        kind = check_kinds(shape, variables)
        if kind not in (BOOLEAN, MISSING_KIND):
            raise KindError(f"{_where(shape)}: a test must be true or false, not a {kind}")
    if forest.labels:
        kinds = sorted({value_kind(label) for label in forest.labels} - {MISSING_KIND})
        if len(kinds) > 1:
            raise KindError(f"the leaves of a tree have different kinds: {' and '.join(kinds)}")
        return kinds[0] if kinds else MISSING_KIND
    return NUMBER if forest.leaves.ndim == 1 else f"vector of {forest.leaves.shape[1]}"


def value_kind(value: Value) -> str:
    """Return the kind of a constant."""
    match value:
        case bool():
            return BOOLEAN
        case str():
            return CATEGORY
        case tuple():
            return f"vector of {len(value)}"
        case float():
            return MISSING_KIND if is_missing(value) else NUMBER
        case _:
            assert_never(value)


def _kind(term: Term, kinds: list[str], variables: Mapping[str, str]) -> str:
    parts = children(term)
    match term:
        case Const(value):
            return value_kind(value)
        case Var(name):
            if name not in variables:
                raise KindError(f"the data has no column for the variable {name!r}")
            return variables[name]
        case Add() | Mul():
            vectors = {kind for kind in kinds if kind.startswith("vector")}
            if len(vectors) > 1:
                raise KindError(
                    f"{_where(term)}: vectors have different lengths: {sorted(vectors)}"
                )
            if isinstance(term, Add) and vectors and len({*kinds} - {MISSING_KIND}) > 1:
                raise KindError(f"{_where(term)}: cannot add a vector and a number")
            for part, kind in zip(parts, kinds, strict=True):
                if kind not in vectors:
                    _need_number(term, part, kind)
            return vectors.pop() if vectors else NUMBER
        case And() | Or() | Not():
            for part, kind in zip(parts, kinds, strict=True):
                _need_boolean(term, part, kind)
            return BOOLEAN
        case Compare(relation):
            both = {*kinds} - {MISSING_KIND}
            if CATEGORY in both and relation in (Relation.EQ, Relation.NE):
                if len(both) > 1:
                    compared = " with ".join(_PLURAL.get(kind, kind) for kind in sorted(both))
                    raise KindError(
                        f"{_where(term)}: this compares {compared}, which are never equal; "
                        "convert the column or change the program"
                    )
                return BOOLEAN
            for part, kind in zip(parts, kinds, strict=True):
                _need_number(term, part, kind)
            return BOOLEAN
        case Member(_, members):
            _need_same(term, parts[0], kinds[0], map(value_kind, members), "members")
            return BOOLEAN
        case Ite(guard):
            _need_boolean(term, guard, kinds[0])
            return _one_kind(term, kinds[1:], "the branches")
        case Vector():
            for part, kind in zip(parts, kinds, strict=True):
                _need_number(term, part, kind)
            return f"vector of {len(parts)}"
        case Argmax(_, labels):
            if not kinds[0].startswith("vector"):
                raise KindError(f"{_where(term)}: argmax needs a vector, not a {kinds[0]}")
            width = int(kinds[0].split()[-1])
            if labels and len(labels) != width:
                raise KindError(f"{_where(term)}: {len(labels)} labels for a vector of {width}")
            return _one_kind(term, [value_kind(v) for v in labels] or [NUMBER], "the labels")
        case Lookup(_, entries, default):
            keys = (value_kind(key) for key, _ in entries)
            _need_same(term, parts[0], kinds[0], keys, "keys")
            values = [value_kind(v) for _, v in entries]
            return _one_kind(term, [*values, value_kind(default)], "the entries")
        case Call(Function.SOFTMAX):
            if not kinds[0].startswith("vector"):
                raise KindError(f"{_where(term)}: softmax needs a vector, not a {kinds[0]}")
            return kinds[0]
        case Call(Function.MEDIAN):
            if not kinds[0].startswith("vector") or kinds[0] != kinds[1]:
                raise KindError(
                    f"{_where(term)}: median needs two vectors of the same length (entries and "
                    f"weights), not a {kinds[0]} and a {kinds[1]}"
                )
            return NUMBER
        case Call(Function.DIV) if kinds[0].startswith("vector"):
            _need_number(term, parts[1], kinds[1])
            return kinds[0]
        case Call():
            for part, kind in zip(parts, kinds, strict=True):
                _need_number(term, part, kind)
            return NUMBER
        case _:
            assert_never(term)


def _need_number(term: Term, part: Term, kind: str) -> None:
    if kind == CATEGORY:
        advice = "compare it with == or `in {...}`, or convert the column"
        raise KindError(
            f"{_where(term)}: {_shown(part)} holds categories where a number is needed; {advice}"
        )
    if kind.startswith("vector"):
        raise KindError(f"{_where(term)}: {_shown(part)} is a {kind} where a number is needed")


def _need_boolean(term: Term, part: Term, kind: str) -> None:
    if kind not in (BOOLEAN, MISSING_KIND):
        raise KindError(
            f"{_where(term)}: {_shown(part)} holds {_PLURAL.get(kind, kind)} where true/false is "
            "needed; compare it with a value, as in `x == 1`, or convert the column"
        )


def _need_same(term: Term, part: Term, kind: str, others: Iterable[str], what: str) -> None:
    if kind.startswith("vector"):
        raise KindError(f"{_where(term)}: {_shown(part)} is a {kind}; test its entries instead")
    for other in {*others} - {MISSING_KIND}:
        matches = other == kind or {other, kind} == {NUMBER, BOOLEAN} or kind == MISSING_KIND
        if not matches:
            raise KindError(
                f"{_where(term)}: {_shown(part)} holds {_PLURAL.get(kind, kind)}, but the "
                f"{what} are {_PLURAL.get(other, other)}; convert the column or change the program"
            )


def _one_kind(term: Term, kinds: list[str], what: str) -> str:
    distinct = sorted({*kinds} - {MISSING_KIND})
    if len(distinct) > 1:
        raise KindError(f"{_where(term)}: {what} have different kinds: {' and '.join(distinct)}")
    return distinct[0] if distinct else MISSING_KIND


def _shown(term: Term) -> str:
    if term.size > 1000:
        return f"a term of {term.size} nodes"
    text = value_text(term.value) if isinstance(term, Const) else " ".join(str(term).split())
    return f"`{shortened(text)}`"


def _where(term: Term) -> str:
    return f"in {_shown(term)}"
