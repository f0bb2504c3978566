"""Hashes of programs, data and documents, the same on every machine.

All hashes are BLAKE2b. A hash does not reveal the content, but it confirms a correct guess.
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
    """Encode a value as ASCII JSON, so that equal values give equal bytes."""
    return json.dumps(
        value, allow_nan=False, ensure_ascii=True, separators=(",", ":"), sort_keys=True
    ).encode("ascii")


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the hash of a document, excluding its entry ``hash``.

    Examples
    --------
    >>> one = content_hash({"a": 1, "b": [0.5]})
    >>> one == content_hash({"b": [0.5], "a": 1, "hash": "..."}), one == content_hash({"a": 1})
    (True, False)
    """
    covered = {name: value for name, value in content.items() if name != "hash"}
    return blake2b(canonical_json(covered), digest_size=_BYTES).hexdigest()


def program_hash(program: Program) -> str:
    """Return the hash of a program: of its inputs in order, and of its term.

    The term is hashed through its digest (16 bytes), which also defines equality: only the written
    order of the operands of ``+ * and or`` is ignored.

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
    """Return the hash of the rows of a population: variables, protected attributes and weights.

    It depends on the values only. Integers or floats, the data frame library, the file format and
    the order of categories make no difference. All missing values are equal, and 0 equals -0. The
    order of rows is ignored, as in every measure, but the number of equal rows is not.

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
    """Return the kind of a column, its categories in order, and a fixed-width number per row."""
    if column.all_missing:
        return _MISSING, [], np.full(len(column), -1, dtype="<i4")
    if column.kind is not Kind.CATEGORY:
        return str(column.kind), [], _numbers(column.values)
    codes = column.values
    used = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(column.categories)))
    words = sorted(column.categories[code] for code in used.tolist())
    codes_by_word = {word: code for code, word in enumerate(words)}
    new = np.array([*(codes_by_word.get(word, -1) for word in column.categories), -1], dtype="<i4")
    return str(column.kind), words, new[codes]


def _numbers(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers with a single zero and a single NaN."""
    numbers = values.astype("<f8") + 0.0
    numbers[np.isnan(numbers)] = np.nan
    return numbers


def _order(columns: list[npt.NDArray[Any]]) -> npt.NDArray[np.intp]:
    """Return an order of rows that depends only on their values.

    Rows are sorted once, by a number that mixes all their values, instead of once per column. If
    different rows share that number, their values break the tie.
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
