"""What went wrong, where, and how to go on.

Every error a user can cause is a `ProxyUseError` with a message of that shape.
This module knows nothing of the rest of the package.
"""

from __future__ import annotations


class ProxyUseError(Exception):
    """Base of all errors raised on purpose."""


class ParseError(ProxyUseError):
    """A program's text cannot be read.

    Attributes
    ----------
    line, column : int
        Where reading stopped, both counted from 1.
    expected : str
        What could have stood there.
    """

    def __init__(self, line: int, column: int, expected: str, found: str) -> None:
        super().__init__(line, column, expected, found)
        self.line = line
        self.column = column
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return (
            f"line {self.line}, column {self.column}: expected {self.expected}, found {self.found}"
        )


class LanguageError(ProxyUseError):
    """A term that the language does not allow, or a position that is not in a program."""


class DataError(ProxyUseError):
    """Data that cannot be used as given."""


class KindError(DataError):
    """A value of the wrong kind: a category where a number is needed, and the like."""


class TranslationError(ProxyUseError):
    """A model that cannot be turned into a program."""


class FileError(ProxyUseError):
    """A file that cannot be read or written as asked."""


class Canceled(ProxyUseError):
    """The caller's progress callback asked to stop."""
