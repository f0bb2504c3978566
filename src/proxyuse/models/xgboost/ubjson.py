"""A strict reader for Universal Binary JSON, as XGBoost writes it.

Every length is compared with the number of remaining bytes before anything is allocated.
"""

from __future__ import annotations

import numpy as np

from proxyuse.errors import CorruptFile
from proxyuse.input_limits import JSON_DEPTH, JSON_VALUES

_INTEGERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8"}
_FLOATS = {"d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def is_ubjson(data: bytes) -> bool:
    """Whether an object starts with the length of a name, rather than with JSON text.

    Lengths are big-endian and small, so their first byte is not a printable character.
    """
    return len(data) > 2 and chr(data[1]) in _INTEGERS and data[2] < 0x20


def read_ubjson(data: bytes) -> object:
    """The value in the data, as `json.loads` would return it.

    A 32-bit float becomes the shortest decimal number that rounds to it.

    Examples
    --------
    >>> read_ubjson(b"{i" + bytes([1]) + b"a[$U#i" + bytes([2, 5, 6]) + b"}")
    {'a': [5, 6]}
    """
    reader = _Reader(data)
    value = reader.value(reader.marker(), 0)
    if reader.offset != len(data):
        raise CorruptFile(f"unexpected data after the end of the model, at byte {reader.offset}")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.offset = 0
        self.n_values = 0

    def take(self, size: int) -> bytes:
        remaining = len(self.data) - self.offset
        if not 0 <= size <= remaining:
            raise CorruptFile(
                f"byte {self.offset}: expected {size} more bytes, got {remaining}; the file is "
                "truncated or damaged"
            )
        self.offset += size
        return self.data[self.offset - size : self.offset]

    def marker(self) -> str:
        return self.take(1).decode("latin-1")

    def peek(self) -> str:
        return self.data[self.offset : self.offset + 1].decode("latin-1")

    def value(self, marker: str, depth: int) -> object:
        JSON_DEPTH.check(depth, "the model")
        self._count(1)
        if marker in _CONSTANTS:
            return _CONSTANTS[marker]
        if marker in _INTEGERS or marker in _FLOATS:
            return self.numbers(marker, 1)[0]
        if marker == "S":
            return self.text()
        if marker == "C":
            return self.take(1).decode("latin-1")
        if marker == "[":
            return self.array(depth)
        if marker == "{":
            return self.object(depth)
        raise CorruptFile(f"byte {self.offset - 1}: expected a value, got {marker!r}")

    def integer(self) -> int:
        marker = self.marker()
        if marker not in _INTEGERS:
            raise CorruptFile(f"byte {self.offset - 1}: expected a length, got {marker!r}")
        return int(self.numbers(marker, 1)[0])

    def numbers(self, marker: str, count: int) -> list[int] | list[float]:
        kind = np.dtype((_INTEGERS | _FLOATS)[marker])
        if count < 0:
            raise CorruptFile(f"byte {self.offset}: the length is negative")
        array = np.frombuffer(self.take(count * kind.itemsize), dtype=kind)
        self._count(count)
        if marker == "d":
            return [float(text) for text in map(str, array.astype(np.float32))]
        values: list[int] | list[float] = array.tolist()
        return values

    def _count(self, values: int) -> None:
        self.n_values += values
        JSON_VALUES.check(self.n_values, "the model")

    def text(self) -> str:
        self._count(1)
        try:
            return self.take(self.integer()).decode("utf-8")
        except UnicodeDecodeError:
            raise CorruptFile(f"the text that ends at byte {self.offset} is not UTF-8") from None

    def array(self, depth: int) -> object:
        kind = count = None
        if self.peek() == "$":
            self.take(1)
            kind = self.marker()
        if self.peek() == "#":
            self.take(1)
            count = self.integer()
        if kind is not None:
            if count is None or kind not in (_INTEGERS | _FLOATS):
                raise CorruptFile(f"byte {self.offset}: the array has no length or no known type")
            return self.numbers(kind, count)
        if count is not None:
            if not 0 <= count <= len(self.data) - self.offset:
                raise CorruptFile(f"byte {self.offset}: the array cannot have {count} values")
            return [self.value(self.marker(), depth + 1) for _ in range(count)]
        values: list[object] = []
        while (marker := self.marker()) != "]":
            values.append(self.value(marker, depth + 1))
        return values

    def object(self, depth: int) -> dict[str, object]:
        values: dict[str, object] = {}
        while self.peek() != "}":
            name = self.text()
            if name in values:
                raise CorruptFile(f"the name {name!r:.60} appears twice in one object")
            values[name] = self.value(self.marker(), depth + 1)
        self.take(1)
        return values
