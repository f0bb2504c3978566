"""The exceptions of the package.

Every error that a user can cause is a `ProxyUseError`. Its message says what is wrong, where, and
what to do.
"""

from __future__ import annotations


class ProxyUseError(Exception):
    """Base class of all exceptions of this package."""


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
    """Data or an option that cannot be used."""


class KindError(DataError):
    """A value of the wrong kind, such as a category where a number is needed."""


class TranslationError(ProxyUseError):
    """A model that cannot be translated into a program."""


class FileError(ProxyUseError):
    """A file that cannot be read or written."""


class CorruptFile(FileError):
    """A file that is damaged, or that someone tampered with."""


class LimitExceeded(FileError, LanguageError, DataError):
    """A file, a program or a document that is larger than a limit; see `proxyuse.limits`.

    Attributes
    ----------
    limit : str
        The name of the limit.
    count : int
        The size of the input, at least.
    allowed : int
        The value of the limit.
    """

    def __init__(self, message: str, limit: str, count: int, allowed: int) -> None:
        super().__init__(message, limit, count, allowed)
        self.limit = limit
        self.count = count
        self.allowed = allowed

    def __str__(self) -> str:
        return str(self.args[0])

    def within(self, place: object) -> LimitExceeded:
        """Return the same error with the file in front."""
        return LimitExceeded(f"{place}: {self}", self.limit, self.count, self.allowed)


class Canceled(ProxyUseError):
    """The progress callback canceled the work."""
