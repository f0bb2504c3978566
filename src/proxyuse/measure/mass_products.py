"""Exact sums of products of masses, as arrays.

A product of four masses has up to 160 bits. It is stored as `WIDTH` digits of `BITS` bits in the
last axis of an int64 array, lowest digit first. Digits can be summed over rows and blocks in any
order. Carrying afterwards makes the representation unique, so equal sums have equal bytes.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array

BITS = 20
WIDTH = 9


def digits(numbers: Array) -> Array:
    """Convert nonnegative numbers to digits, with as many digits as the largest number needs."""
    width = max(1, -(-int(numbers.max(initial=0)).bit_length() // BITS))
    return np.stack([(numbers >> (BITS * k)) & ((1 << BITS) - 1) for k in range(width)], axis=-1)


def times(first: Array, second: Array) -> Array:
    """Multiply two columns of digits, row by row."""
    first_width, second_width = first.shape[-1], second.shape[-1]
    result = np.zeros((len(first), first_width + second_width), dtype=np.int64)
    for i in range(first_width):
        for j in range(second_width):
            result[:, i + j] += first[:, i] * second[:, j]
    return carried(result)


def carried(sums: Array) -> Array:
    """Carry sums of digits in place, and return them."""
    for k in range(sums.shape[-1] - 1):
        sums[..., k + 1] += sums[..., k] >> BITS
        sums[..., k] &= (1 << BITS) - 1
    return sums


def summed(codes: Array, columns: Array, count: int) -> Array:
    """Sum digits by code, for codes below `count`.

    Sums of one digit over fewer than 2^33 rows are exact in double precision.
    """
    result = np.zeros((count, WIDTH), dtype=np.int64)
    for k, column in enumerate(columns.T):
        result[:, k] = np.bincount(codes, column, minlength=count).astype(np.int64)
    return carried(result)


def total(columns: Array) -> int:
    """Return the sum of a column of digits over all rows."""
    sums = columns.sum(axis=0)
    return sum(int(digit) << (BITS * k) for k, digit in enumerate(sums.tolist()))


def numbers(columns: Array) -> list[int]:
    """Convert digits back to numbers.

    Examples
    --------
    >>> masses = digits(np.array([2**39, 3]))
    >>> numbers(times(masses, masses)) == [2**78, 9]
    True
    """
    rows: list[list[int]] = columns.tolist()
    return [sum(digit << (BITS * k) for k, digit in enumerate(row)) for row in rows]
