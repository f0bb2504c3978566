"""An order of the rows that depends on their content and not on their order in the data.

Rows are sorted by a 64-bit hash of the values that the program reads. Drawing row number k of this
order therefore returns the same values however the data is shuffled. Rows with equal values are
neighbors, so it makes no difference which of them is drawn.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from proxyuse.lang.evaluate import Array, Vocabulary

if TYPE_CHECKING:
    from proxyuse.measure.sample import Sample

_MISSING = np.uint64(0x9E3779B97F4A7C15)


def content_order(sample: Sample) -> Array:
    """Return the row numbers, ordered by content; rows with equal values are ordered by weight.

    The order does not change if the rows are shuffled or all weights are multiplied by a constant.
    It is computed once per sample, in O(n log n) for n rows.

    Examples
    --------
    >>> from proxyuse.measure.sample import Sample
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> program = Program.parse("x + y")
    >>> data = {"x": [1.0, 2.0, 3.0], "y": [0.0, 5.0, 0.0], "z": list("aba")}
    >>> moved = {name: values[::-1] for name, values in data.items()}
    >>> orders = []
    >>> for rows in (data, moved):
    ...     sample = Sample(program, Population.build(rows, protected="z"))
    ...     orders.append([rows["x"][row] for row in content_order(sample)])
    >>> orders[0] == orders[1]
    True
    """
    return sample.shared(_ordered)


def _ordered(sample: Sample) -> Array:
    hashes = np.zeros(sample.n_rows, dtype=np.uint64)
    for values in sample.frame.arrays.values():
        hashes = _mixed(hashes ^ _bits(values, sample.vocabulary))
    return np.lexsort((sample.weights, hashes))


def _bits(values: Array, vocabulary: Vocabulary) -> Array:
    """Return 64 bits per value; equal values have equal bits, even with different codes."""
    if values.dtype == np.int32:
        words = [_word_bits(word) for word in vocabulary.words]
        return np.array([*words, _MISSING], dtype=np.uint64)[values]  # code -1 is missing
    numbers = values.astype(np.float64)  # 0 and -0 differ: a division can tell them apart
    return np.where(np.isnan(numbers), _MISSING, numbers.view(np.uint64))


def _word_bits(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mixed(bits: Array) -> Array:
    """Spread each number over all 64 bits (the finalizer of splitmix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))
