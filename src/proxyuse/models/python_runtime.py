"""The source of the functions that a program's Python source needs.

Each function computes one operator of the language for one row, in plain Python;
`proxyuse.lang.evaluate` defines the operators for arrays. No function raises an error for a number:
where Python does (division by zero, logarithm of 0), it returns NumPy's result. A missing value is
NaN, also among strings and booleans. A vector is a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SOURCE = '''
def _value(value):
    """A value of a row; None becomes NaN, the missing value."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    return value if isinstance(value, (bool, str)) else float(value)


def _output(value):
    """An output; NaN becomes None."""
    return None if value != value else value


def _float32(number):
    """A number rounded to 32 bits; strings stay unchanged."""
    if isinstance(number, str):
        return number
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _differ(left, right):
    """Whether two values differ and neither is missing."""
    return left == left and right == right and left != right


def _in_or_missing(value, members):
    """Whether a value is a member or is missing."""
    return value != value or value in members


def _lookup(value, table, default, missing):
    """The entry of a table, with defaults for other values and for a missing value."""
    return missing if value != value else table.get(value, default)


def _fill(number, fill):
    """A number, or `fill` if it is missing."""
    return fill if number != number else number


def _sum(numbers):
    """A sum from left to right; the built-in `sum` may round differently."""
    total = numbers[0]
    for number in numbers[1:]:
        total = total + number
    return total


def _product(numbers):
    """A product from left to right."""
    total = numbers[0]
    for number in numbers[1:]:
        total = total * number
    return total


def _div(number, divisor):
    """A quotient; infinite or missing if the divisor is 0."""
    try:
        return number / divisor
    except ZeroDivisionError:
        if number == 0 or number != number:
            return math.nan
        return math.copysign(math.inf, number) * math.copysign(1.0, divisor)


def _exp(number):
    """The exponential; infinite if it overflows."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _log(number):
    """The natural logarithm; missing for a negative number."""
    if number == 0:
        return -math.inf
    return math.nan if number < 0 else math.log(number)


def _sqrt(number):
    """The square root; missing for a negative number."""
    return math.nan if number < 0 else math.sqrt(number)


def _sigmoid(number):
    """The sigmoid of a score."""
    return 1.0 / (1.0 + _exp(-number))


def _entries(parts):
    """The entries of vectors, one tuple per position; a number is repeated."""
    width = max(len(part) for part in parts if isinstance(part, tuple))
    return zip(*(part if isinstance(part, tuple) else (part,) * width for part in parts))


def _vector_sum(parts):
    """A sum of vectors and numbers, entry by entry."""
    return tuple(_sum(entries) for entries in _entries(parts))


def _vector_product(parts):
    """A product of vectors and numbers, entry by entry."""
    return tuple(_product(entries) for entries in _entries(parts))


def _vector_div(vector, divisor):
    """A vector divided by a number."""
    return tuple(_div(entry, divisor) for entry in vector)


def _argmax(vector):
    """The index of the first largest entry; a missing entry counts as the largest."""
    best = 0
    for index, entry in enumerate(vector):
        if entry != entry:
            return index
        if entry > vector[best]:
            best = index
    return best


def _softmax(vector):
    """Scores as probabilities that add up to 1."""
    largest = vector[_argmax(vector)]
    powers = [_exp(entry - largest) for entry in vector]
    total = _sum(powers)
    return tuple(_div(power, total) for power in powers)


def _median(vector, weights):
    """The smallest entry at which the cumulative weight reaches half of the total."""
    if any(number != number for number in vector + weights):
        return math.nan
    order = sorted(range(len(vector)), key=vector.__getitem__)
    reached, total = [], 0.0
    for index in order:
        total = total + weights[index]
        reached.append(total)
    return next(
        (vector[index] for index, weight in zip(order, reached) if weight >= 0.5 * total),
        vector[order[0]],
    )
'''

_FUNCTIONS = {
    match[1]: match[0].strip()
    for match in re.finditer(r"^def (\w+)\(.*?(?=^def |\Z)", _SOURCE, re.DOTALL | re.MULTILINE)
}


def function_sources(names: Iterable[str]) -> list[str]:
    """The source of some functions and of those they call, in a fixed order.

    Examples
    --------
    >>> [text.partition("(")[0] for text in function_sources({"_sigmoid"})]
    ['def _exp', 'def _sigmoid']
    """
    needed: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name not in needed:
            needed.add(name)
            stack += [other for other in _FUNCTIONS if f"{other}(" in _FUNCTIONS[name]]
    return [text for name, text in _FUNCTIONS.items() if name in needed]
