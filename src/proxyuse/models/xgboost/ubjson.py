"""Universal Binary JSON as XGBoost writes it: a strict reader.

Every length is compared with the bytes that are left before anything is made of it.
"""

from __future__ import annotations

import numpy as np

from proxyuse.errors import FileError

MAX_DEPTH = 64
_WHOLE = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8"}
_FLOATS = {"d": ">f4", "D": ">f8"}
_CONSTANTS = {"Z": None, "T": True, "F": False}


def read_ubjson(data: bytes) -> object:
    """The one value in some bytes, as `json.loads` would give it.

    Floats of 32 bits become the shortest decimal number that is rounded to them.

    Examples
    --------
    >>> read_ubjson(b"{i" + bytes([1]) + b"a[$U#i" + bytes([2, 5, 6]) + b"}")
    {'a': [5, 6]}
    """
    reader = _Reader(data)
    value = reader.value(reader.mark(), 0)
    if reader.place != len(data):
        raise FileError(f"there are bytes after the end of the model, at byte {reader.place}")
    return value


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self.data) - self.place:
            raise FileError(
                f"byte {self.place} asks for {size} more bytes and {len(self.data) - self.place} "
                "are left: the file is cut off or damaged"
            )
        self.place += size
        return self.data[self.place - size : self.place]

    def mark(self) -> str:
        return self.take(1).decode("latin-1")

    def peek(self) -> str:
        return self.data[self.place : self.place + 1].decode("latin-1")

    def value(self, mark: str, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise FileError(f"values are nested more than {MAX_DEPTH} deep at byte {self.place}")
        if mark in _CONSTANTS:
            return _CONSTANTS[mark]
        if mark in _WHOLE or mark in _FLOATS:
            return self.numbers(mark, 1)[0]
        if mark == "S":
            return self.text()
        if mark == "C":
            return self.take(1).decode("latin-1")
        if mark == "[":
            return self.array(depth)
        if mark == "{":
            return self.object(depth)
        raise FileError(f"{mark!r} at byte {self.place - 1} does not begin a value")

    def whole(self) -> int:
        mark = self.mark()
        if mark not in _WHOLE:
            raise FileError(f"there should be a length at byte {self.place - 1}")
        return int(self.numbers(mark, 1)[0])

    def numbers(self, mark: str, count: int) -> list[int] | list[float]:
        kind = np.dtype((_WHOLE | _FLOATS)[mark])
        if count < 0:
            raise FileError(f"byte {self.place} has a negative length")
        found = np.frombuffer(self.take(count * kind.itemsize), dtype=kind)
        if mark == "d":
            return [float(text) for text in map(str, found.astype(np.float32))]
        values: list[int] | list[float] = found.tolist()
        return values

    def text(self) -> str:
        try:
            return self.take(self.whole()).decode("utf-8")
        except UnicodeDecodeError:
            raise FileError(f"the text that ends at byte {self.place} is not UTF-8") from None

    def array(self, depth: int) -> object:
        kind = count = None
        if self.peek() == "$":
            self.take(1)
            kind = self.mark()
        if self.peek() == "#":
            self.take(1)
            count = self.whole()
        if kind is not None:
            if count is None or kind not in (_WHOLE | _FLOATS):
                raise FileError(f"the array at byte {self.place} has no length or no known type")
            return self.numbers(kind, count)
        if count is not None:
            if not 0 <= count <= len(self.data) - self.place:
                raise FileError(f"the array at byte {self.place} has an impossible length: {count}")
            return [self.value(self.mark(), depth + 1) for _ in range(count)]
        found: list[object] = []
        while (mark := self.mark()) != "]":
            found.append(self.value(mark, depth + 1))
        return found

    def object(self, depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        while self.peek() != "}":
            name = self.text()
            if name in found:
                raise FileError(f"the name {name!r} stands twice in one object")
            found[name] = self.value(self.mark(), depth + 1)
        self.take(1)
        return found
