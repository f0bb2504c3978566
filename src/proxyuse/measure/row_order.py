"""Orders and numbers of the rows that depend on their content and not on their order in the data.

Rows are sorted by a 64-bit hash of the values that the program reads. Drawing row number k of this
order therefore returns the same values however the data is shuffled. Rows with equal values are
neighbors, so it makes no difference which of them is drawn.

Folds and halves need numbers that differ between rows with equal values, see `content_keys`, or one
number per cluster, see `cluster_keys`.
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


def content_keys(sample: Sample, ranks: Array | None = None) -> Array:
    """Return a pseudo-random 64-bit number for each row that depends on the content of the rows.

    Rows that agree in everything the program reads get different numbers, in no relation to their
    protected attributes. If the rows are shuffled, rows with the same content exchange their
    numbers at most. Computed once per sample, in O(n log n) for n rows.

    `ranks` is a number for each row that depends on other columns of it. Then only rows that agree
    in these as well exchange their numbers.

    Examples
    --------
    >>> from proxyuse.measure.sample import Sample
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> data = {"x": [1.0, 1.0, 1.0, 2.0], "z": list("abab")}
    >>> keys = content_keys(Sample(Program.parse("x"), Population.build(data, protected="z")))
    >>> len(set(keys.tolist()))
    4
    """
    return sample.shared(_keys) if ranks is None else _keys(sample, ranks)


def cluster_keys(sample: Sample, clusters: Array, ranks: Array | None = None) -> Array:
    """Return a pseudo-random 64-bit number for each cluster; it depends on the cluster's rows.

    `clusters` has the number of each row's cluster, from 0. Clusters with the same rows get
    different numbers, and exchange them at most if the rows are shuffled. `ranks` is as for
    `content_keys`.

    Examples
    --------
    >>> from proxyuse.measure.sample import Sample
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> data = {"x": [1.0, 2.0, 2.0, 1.0], "z": list("aaaa")}
    >>> sample = Sample(Program.parse("x"), Population.build(data, protected="z"))
    >>> len(set(cluster_keys(sample, np.array([0, 0, 1, 1])).tolist()))
    2
    """
    rows = sample.shared(_hashes)
    for support in sample.attributes:
        rows = _mixed(rows ^ support.codes.astype(np.uint64))
    weights = np.unique(sample.weights, return_inverse=True)[1]  # the same for any unit of weights
    for known in (weights,) if ranks is None else (weights, ranks):
        rows = _mixed(rows ^ known.astype(np.uint64))
    hashes = np.zeros(int(clusters.max()) + 1, dtype=np.uint64)
    np.add.at(hashes, clusters, rows)
    return _numbered(hashes, np.argsort(hashes, kind="stable"))


def first_half(sample: Sample, clusters: Array | None) -> Array:
    """Return which rows are in the first half. Rows of one cluster are in the same half.

    The split follows from the content of the rows, so it does not depend on their order.

    Parameters
    ----------
    clusters : the number of each row's cluster, from 0; None if rows are independent.
    """
    keys = content_keys(sample) if clusters is None else cluster_keys(sample, clusters)[clusters]
    return np.asarray(keys & np.uint64(1) == 0)


def _keys(sample: Sample, ranks: Array | None = None) -> Array:
    hashes = sample.shared(_hashes)
    codes = (support.codes for support in sample.attributes)
    others = () if ranks is None else (ranks,)
    return _numbered(hashes, np.lexsort((*others, *codes, sample.weights, hashes)))


def _numbered(hashes: Array, order: Array) -> Array:
    """Different numbers for equal hashes; `order` sorts the hashes."""
    ordered = hashes[order]
    first = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    lengths = np.diff(np.append(first, len(ordered)))
    number = np.arange(len(ordered)) - np.repeat(first, lengths)
    keys = np.empty_like(hashes)
    keys[order] = _mixed(ordered ^ _mixed(number.astype(np.uint64)))
    return keys


def _hashes(sample: Sample) -> Array:
    hashes = np.zeros(sample.n_rows, dtype=np.uint64)
    for values in sample.frame.arrays.values():
        hashes = _mixed(hashes ^ _bits(values, sample.vocabulary))
    return hashes


def _ordered(sample: Sample) -> Array:
    return np.lexsort((sample.weights, sample.shared(_hashes)))


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
