"""Pickling: a term as a flat list of rows, children before parents, and back.

Pickle recurses into nested objects and fails at a depth of a few hundred; a flat list works at any
depth. Sharing and written order are preserved.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args

from proxyuse.lang.nodes import Node, Term, postorder
from proxyuse.lang.packed import Forest, PackedIte

_CLASSES: dict[str, Any] = {cls.__name__: cls for cls in get_args(Term)}

_PACKED = "packed tree"

Row = tuple[str, tuple[tuple[str, Any], ...]]
"""A class name and its fields: each a plain value, the index of a child, or several indices."""


def flatten(root: Term) -> list[Row]:
    """Flatten a term."""
    index: dict[int, int] = {}
    rows: list[Row] = []
    for term in postorder(root, enter_packed=False):
        index[id(term)] = len(rows)
        if isinstance(term, PackedIte):
            rows.append((_PACKED, (("value", term.forest), ("value", term.node))))
            continue
        cells: list[tuple[str, Any]] = []
        for field in fields(term):
            value = getattr(term, field.name)
            if isinstance(value, Node):
                cells.append(("child", index[id(value)]))
            elif isinstance(value, tuple) and value and isinstance(value[0], Node):
                cells.append(("children", tuple(index[id(item)] for item in value)))
            else:
                cells.append(("value", value))
        rows.append((type(term).__name__, tuple(cells)))
    return rows


def unflatten(rows: list[Row]) -> Term:
    """Rebuild the term that `flatten` flattened."""
    terms: list[Term] = []
    for name, cells in rows:
        arguments: list[Any] = []
        for kind, value in cells:
            if kind == "child":
                arguments.append(terms[value])
            elif kind == "children":
                arguments.append(tuple(terms[i] for i in value))
            else:
                arguments.append(value)
        make = _CLASSES[name] if name != _PACKED else Forest.term
        terms.append(make(*arguments))
    return terms[-1]
