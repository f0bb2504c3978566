"""Compiled loops that count the rows of a column (see `column_tables`).

The loops release the interpreter's lock. Importing this module loads numba.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.lang.compiled import called, compiled
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.support import Support

FEW = 1 << 12  # the largest table that is counted in several copies
DIGIT = 12  # bits per pass of the radix sort
BUCKETS = 1 << 12  # of the index into sorted edges
NEGATIVE_ZERO = -(1 << 63)  # as bits
MAX_COMPARISONS = 16  # per number and threshold
NEAR, CROWDED = -1, -2  # return codes instead of a count


def whole(values: Array, low: float, high: float) -> Array | None:
    """Return the distance of each number from the lowest; missing numbers come last.

    None if a number is not whole, or is -0, which must stay distinct from 0.
    """
    missing = int(high - low) + 1
    distances = np.empty(len(values), dtype=np.uint16 if missing < 1 << 16 else np.uint32)
    return distances if _whole(values, values.view(np.int64), low, missing, distances) else None


def in_order(values: Array) -> Array:
    """Return the numbers in sorted order, missing numbers last."""
    return np.asarray(_sorted(values.view(np.uint64)).view(np.float64))


def crossed(values: Array, thresholds: Array, low: Array, slack: Array) -> int | None:
    """Return the number of pairs of a number and a threshold that it is beyond.

    Beyond means above for a threshold marked as `low`, and below for the others. None if a number
    lies within the slack of a threshold, or if so many numbers are close together that sorting
    them is faster.
    """
    count = int(_crossed(values, thresholds, low, slack))
    return None if count in (NEAR, CROWDED) else count


def among(edges: Array, values: Array) -> Array:
    """Return how many of the sorted edges are below each number; all for a missing number.

    The range of the edges is divided into equal buckets, and an index holds the number of edges
    before each bucket. The bucket is a monotone function of the number.
    """
    counts = np.empty(len(values), dtype=np.uint16 if len(edges) < 1 << 16 else np.uint32)
    finite = edges[np.isfinite(edges)]
    low, high = (finite[0], finite[-1]) if len(finite) else np.zeros(2)
    with np.errstate(all="ignore"):
        scale = BUCKETS / (high - low)
        scale = scale if 0 < scale < np.inf else 0.0
        buckets = (edges - low) * scale
    buckets = np.where(buckets > 0, np.minimum(buckets, BUCKETS), 0).astype(np.intp)
    index = np.searchsorted(buckets, np.arange(BUCKETS + 2))
    _among(edges, values, low, scale, index, counts)
    return counts


def counted(codes: Array, pieces: int, z: Support) -> Array:
    """Return the number of rows by piece and protected value."""
    entries = pieces * len(z)
    copies = np.zeros((4 if entries <= FEW else 1, entries))
    _counted(codes, z.codes, len(z), copies)
    whole = copies[0] if len(copies) == 1 else copies.sum(axis=0)
    return np.asarray(whole.reshape(pieces, len(z)))


@compiled
def _whole(values: Any, bits: Any, low: float, missing: int, distances: Any) -> bool:
    """Check and convert all rows without an early exit, so that the loop vectorizes."""
    whole = True
    for row in range(len(values)):
        value = values[row]
        held = value == value
        distance = np.int32(value - low if held else 0.0)
        whole &= (distance + low == value) | (not held)
        whole &= bits[row] != NEGATIVE_ZERO
        distances[row] = distance if held else missing
    return whole


@compiled
def _crossed(values: Any, thresholds: Any, low: Any, slack: Any) -> int:
    """Sort the numbers into buckets, and compare each threshold with the buckets it touches."""
    least, most = values.min(), values.max()
    last = 2 * len(values) - 1
    if not 0 < most - least < np.inf:
        return CROWDED
    scale = (last + 1) / (most - least)
    if scale == np.inf:
        return CROWDED
    ends = np.zeros(last + 2, dtype=np.int64)
    for value in values:
        ends[_bucket(value - least, scale, last) + 1] += 1
    for bucket in range(last + 1):
        ends[bucket + 1] += ends[bucket]
    held = np.empty_like(values)
    for value in values:  # turns the starts of buckets in `ends` into their ends
        bucket = _bucket(value - least, scale, last)
        held[ends[bucket]] = value
        ends[bucket] += 1
    total = 0
    comparisons = MAX_COMPARISONS * (len(values) + len(thresholds))  # that remain
    for row in range(len(thresholds)):
        before, behind = thresholds[row] - slack[row], thresholds[row] + slack[row]
        first = _bucket(before - least, scale, last)
        start = ends[first - 1] if first else 0
        end = ends[_bucket(behind - least, scale, last)]
        comparisons -= end - start
        if comparisons < 0:
            return CROWDED
        below = start
        for index in range(start, end):
            below += held[index] < before
            if before <= held[index] <= behind:
                return NEAR
        total += len(values) - below if low[row] else below
    return int(total)


@called
def _bucket(distance: float, scale: float, last: int) -> int:
    """Return the bucket of a distance: a monotone function."""
    along = distance * scale
    return 0 if along <= 0 else last if along >= last else int(along)


@compiled
def _among(edges: Any, values: Any, low: float, scale: float, index: Any, counts: Any) -> None:
    """Look up the bucket, then bisect the few edges in it."""
    most = len(index) - 2
    for row in range(len(values)):
        value = values[row]
        if value != value:
            counts[row] = len(edges)
            continue
        along = (value - low) * scale
        bucket = np.int64(min(along, float(most))) if along > 0 else 0
        first, last = index[bucket], index[bucket + 1]
        while first < last:
            middle = (first + last) >> 1
            if edges[middle] < value:
                first = middle + 1
            else:
                last = middle
        counts[row] = first


@compiled
def _counted(codes: Any, values: Any, width: int, copies: Any) -> None:
    """Alternate between copies of the table: adding to the same entry twice in a row is slow."""
    mask = len(copies) - 1
    for row in range(len(codes)):
        copies[row & mask, codes[row] * width + values[row]] += 1


@compiled
def _sorted(bits: Any) -> Any:
    """Radix sort float64 by their bits, starting at the lowest bits that differ.

    The order of the bits is that of the numbers once the sign bit of positive numbers and all bits
    of negative numbers are inverted.
    """
    sign, ones = np.uint64(1 << 63), np.uint64(0xFFFFFFFFFFFFFFFF)
    infinite, one = np.uint64(0x7FF0000000000000), np.uint64(1)
    keys = np.empty(len(bits), dtype=np.uint64)
    differing = np.uint64(0)
    for row in range(len(bits)):
        key = bits[row]
        missing = key & ~sign > infinite
        keys[row] = ones if missing else ~key if key & sign else key | sign
        differing |= keys[row] ^ keys[0]
    other = np.empty_like(keys)
    shift = np.uint64(0)
    while differing >> shift:
        while not (differing >> shift) & one:
            shift += one
        starts = np.zeros((1 << DIGIT) + 1, dtype=np.int64)
        for row in range(len(keys)):
            starts[((keys[row] >> shift) & np.uint64((1 << DIGIT) - 1)) + one] += 1
        for digit in range(1 << DIGIT):
            starts[digit + 1] += starts[digit]
        for row in range(len(keys)):
            bucket = (keys[row] >> shift) & np.uint64((1 << DIGIT) - 1)
            other[starts[bucket]] = keys[row]
            starts[bucket] += 1
        keys, other = other, keys
        shift += np.uint64(DIGIT)
        if shift >= np.uint64(64):
            break
    for row in range(len(keys)):
        key = keys[row]
        keys[row] = key ^ sign if key & sign else ~key
    return keys
