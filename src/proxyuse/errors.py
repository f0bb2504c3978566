"""What went wrong, where, and how to go on.

Every error a user can cause is a `ProxyUseError` with a message of that shape.
This module knows nothing of the rest of the package.
"""

from __future__ import annotations


class ProxyUseError(Exception):
    """Base of all errors raised on purpose."""


class ParseError(ProxyUseError):
    """The text of a program does not follow the grammar.

    Attributes
    ----------
    line, column : int
        The position of the error, both counted from 1.
    expected : str
        What the grammar allows there.
    got : str
        What the text has instead.
    """

    def __init__(self, line: int, column: int, expected: str, got: str) -> None:
        super().__init__(line, column, expected, got)
        self.line = line
        self.column = column
        self.expected = expected
        self.got = got

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: expected {self.expected}, got {self.got}"


class LanguageError(ProxyUseError):
    """A term that the language does not allow, or a position that is not in a program."""


class DataError(ProxyUseError):
    """Data that cannot be used as given."""


class KindError(DataError):
    """A value of the wrong kind, such as a category where a number is needed."""


class TranslationError(ProxyUseError):
    """A model that cannot be turned into a program."""


class FileError(ProxyUseError):
    """A file that cannot be read or written as asked."""


class CorruptFile(FileError):
    """A file that is damaged, or that someone tampered with."""


class Canceled(ProxyUseError):
    """The caller's progress callback asked to stop."""
