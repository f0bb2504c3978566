"""The small functions that a program's Python source brings along, as text.

Each says in plain Python what one operator of the language computes for one row, as
`proxyuse.lang.evaluate` defines it for many. None of them raises an error for numbers: where
Python would (a division by zero, a logarithm of 0), they say what NumPy says. A missing value is
NaN, also among words and truth values; a vector is a tuple.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_TEXT = '''
def _value(value):
    """A value of a row; None and NaN are the missing value."""
    if value is None or type(value).__name__ == "NAType":
        return math.nan
    return value if isinstance(value, (bool, str)) else float(value)


def _said(value):
    """An output; None where it is missing."""
    return None if value != value else value


def _float32(number):
    """A number rounded to the nearest one of 32 bits; words stay as they are."""
    if isinstance(number, str):
        return number
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _differ(left, right):
    """Whether two values are there and not equal."""
    return left == left and right == right and left != right


def _in_or_missing(value, members):
    """Whether a value is a member, or missing."""
    return value != value or value in members


def _looked_up(value, table, default, missing):
    """What a table says of a value, of others, and of the missing one."""
    return missing if value != value else table.get(value, default)


def _fill(number, other):
    """A number, or another one where it is missing."""
    return other if number != number else number


def _sum(numbers):
    """A sum from left to right; Python's own adds up in another way."""
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
    """A quotient; infinite or missing where the divisor is 0."""
    try:
        return number / divisor
    except ZeroDivisionError:
        if number == 0 or number != number:
            return math.nan
        return math.copysign(math.inf, number) * math.copysign(1.0, divisor)


def _exp(number):
    """The exponential; infinite where it is too large."""
    try:
        return math.exp(number)
    except OverflowError:
        return math.inf


def _log(number):
    """The natural logarithm; missing below 0."""
    if number == 0:
        return -math.inf
    return math.nan if number < 0 else math.log(number)


def _sqrt(number):
    """The square root; missing below 0."""
    return math.nan if number < 0 else math.sqrt(number)


def _sigmoid(number):
    """A score as a probability."""
    return 1.0 / (1.0 + _exp(-number))


def _entries(parts):
    """The entries of vectors side by side; a number stands beside each."""
    width = max(len(part) for part in parts if isinstance(part, tuple))
    return zip(*(part if isinstance(part, tuple) else (part,) * width for part in parts))


def _vector_sum(parts):
    """A sum of vectors."""
    return tuple(_sum(entries) for entries in _entries(parts))


def _vector_product(parts):
    """A product of numbers and vectors, entry by entry."""
    return tuple(_product(entries) for entries in _entries(parts))


def _vector_div(vector, divisor):
    """A vector divided by a number."""
    return tuple(_div(entry, divisor) for entry in vector)


def _argmax(vector):
    """The place of the first largest entry; a missing one counts as the largest."""
    best = 0
    for place, entry in enumerate(vector):
        if entry != entry:
            return place
        if entry > vector[best]:
            best = place
    return best


def _softmax(vector):
    """Scores as shares of one."""
    largest = vector[_argmax(vector)]
    powers = [_exp(entry - largest) for entry in vector]
    total = _sum(powers)
    return tuple(_div(power, total) for power in powers)


def _median(vector, weights):
    """The first entry, in ascending order, where the weights reach half of their sum."""
    if any(number != number for number in vector + weights):
        return math.nan
    order = sorted(range(len(vector)), key=vector.__getitem__)
    reached, total = [], 0.0
    for place in order:
        total = total + weights[place]
        reached.append(total)
    return next(
        (vector[place] for place, share in zip(order, reached) if share >= 0.5 * total),
        vector[order[0]],
    )
'''

_PARTS = {
    found[1]: found[0].strip()
    for found in re.finditer(r"^def (\w+)\(.*?(?=^def |\Z)", _TEXT, re.DOTALL | re.MULTILINE)
}


def parts_text(names: Iterable[str]) -> list[str]:
    """The text of some functions and of those they call, in a fixed order.

    Examples
    --------
    >>> [text.partition("(")[0] for text in parts_text({"_sigmoid"})]
    ['def _exp', 'def _sigmoid']
    """
    wanted: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += [other for other in _PARTS if f"{other}(" in _PARTS[name]]
    return [text for name, text in _PARTS.items() if name in wanted]
