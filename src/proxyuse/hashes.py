"""Hashes of programs, data and documents, identical on every machine.

All hashes are BLAKE2b. A hash does not reveal its input, but anyone who guesses the whole input can
confirm the guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind
from proxyuse.data.population import Population
from proxyuse.program import Program

_BYTES = 32
_MISSING = "missing"
_ODD = np.uint64(0x9E3779B97F4A7C15)


def canonical_json(value: object) -> bytes:
    """A value as ASCII JSON with sorted keys and no spaces; equal values give equal bytes."""
    return json.dumps(
        value, allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True
    ).encode("ascii")


def content_hash(content: Mapping[str, Any]) -> str:
    """The hash of a document, excluding its entry ``hash``.

    Examples
    --------
    >>> one = content_hash({"a": 1, "b": [0.5]})
    >>> one == content_hash({"b": [0.5], "a": 1, "hash": "..."}), one == content_hash({"a": 1})
    (True, False)
    """
    covered = {name: value for name, value in content.items() if name != "hash"}
    return blake2b(canonical_json(covered), digest_size=_BYTES).hexdigest()


def program_hash(program: Program) -> str:
    """The hash of a program: its inputs in order, and its term.

    The term is hashed by its digest (16 bytes), which defines equality. It ignores the written
    order of the operands of ``+ * and or``, and nothing else.

    Examples
    --------
    >>> first, other, another = map(
    ...     Program.parse, ["lambda a, b . a + b", "lambda a, b . b + a", "lambda b, a . a + b"]
    ... )
    >>> program_hash(first) == program_hash(other), program_hash(first) == program_hash(another)
    (True, False)
    """
    parts = {"inputs": list(program.inputs), "term": program.term.digest.hex()}
    return blake2b(canonical_json(parts), digest_size=_BYTES).hexdigest()


def data_hash(population: Population) -> str:
    """The hash of the rows of a population: variables, protected attributes and weights.

    The hash depends only on the values. It ignores their storage: integers or floats, the library
    or file format, the order of the categories. All missing values are the same, and so are 0 and
    -0. The order of the rows does not matter, as in every measure. Rows are hashed in an order
    determined by their values; repeated rows are hashed repeatedly.

    Examples
    --------
    >>> def hashed(**data):
    ...     return data_hash(Population.build(data, protected="z", variables=["x"]))
    >>> first = hashed(x=[1, 2, None], z=["a", "b", "a"])
    >>> first == hashed(x=[2.0, float("nan"), 1.0], z=["b", "a", "a"])
    True
    >>> first == hashed(x=[1, 2, None], z=["a", "a", "b"])
    False
    """
    columns = [("variable", name, population.columns[name]) for name in sorted(population.columns)]
    protected = sorted(population.protected, key=lambda z: z.name)
    columns += [("protected", z.name, z.column) for z in protected]
    heads: list[Any] = []
    parts = [_numbers(population.weights)]
    for role, name, column in columns:
        kind, categories, values = _written(column)
        heads.append([role, name, kind, categories])
        parts.append(values)
    head = canonical_json({"columns": heads, "rows": population.n_rows})
    hasher = blake2b(len(head).to_bytes(8, "little") + head, digest_size=_BYTES)
    order = _order(parts)
    for part in parts:
        hasher.update(part[order].tobytes())
    return hasher.hexdigest()


def _written(column: Column) -> tuple[str, list[str], npt.NDArray[Any]]:
    """A column's kind, its sorted categories, and one fixed-width number per row."""
    if column.all_missing:
        return _MISSING, [], np.full(len(column), -1, dtype="<i4")
    if column.kind is not Kind.CATEGORY:
        return str(column.kind), [], _numbers(column.values)
    codes = column.values
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(column.categories)))
    names = sorted(column.categories[code] for code in used.tolist())
    index_of = {name: index for index, name in enumerate(names)}
    new = np.array([*(index_of.get(name, -1) for name in column.categories), -1], dtype="<i4")
    return str(column.kind), names, new[codes]


def _numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers with a single zero and a single NaN."""
    numbers = values.astype("<f8") + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def _order(columns: list[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
    """An order of the rows that depends only on their values; ties are equal rows.

    Rows are sorted by a hash of their values, which takes one sort instead of one per column. If
    different rows share a hash, the rows are sorted by hash and values.
    """
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for bits in _bits(columns):
        mixed = (mixed ^ bits) * _ODD
        mixed ^= mixed >> np.uint64(32)
    order = np.argsort(mixed)
    shared = np.flatnonzero(mixed[order][1:] == mixed[order][:-1])
    one, next_one = order[shared], order[shared + 1]
    if any(bool((column[one] != column[next_one]).any()) for column in _bits(columns)):
        return np.lexsort((*_bits(columns), mixed))
    return order


def _bits(columns: list[npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
    return [column.view(f"<u{column.itemsize}") for column in columns]
