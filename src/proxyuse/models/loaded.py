"""Models that were loaded from a file, and how damage in such a file is reported.

Loading checks what would crash a library, and what scikit-learn models must have in common. A
crafted or damaged file can still state figures that do not fit together, in more ways than anyone
can list. The translation of a *loaded* model is therefore guarded: an error that only inconsistent
figures can cause becomes a `CorruptFile` that names the file and the part of the model. The
original error is its cause. For a model from memory the same error is a fault of a translator, so
it is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from traceback import extract_tb
from weakref import WeakKeyDictionary

from proxyuse.errors import CorruptFile, DataError, LanguageError
from proxyuse.words import shortened

_FILES: WeakKeyDictionary[object, str] = WeakKeyDictionary()

# What wrong figures cause. Not among them: errors that say what is wrong (TranslationError), a
# library that is missing (ImportError), a file that cannot be opened (OSError), a broken promise of
# this package (AssertionError, NotImplementedError), and whatever stops the program.
_DAMAGE = (
    ArithmeticError,
    AttributeError,
    DataError,
    LanguageError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def remember_file(model: object, path: Path) -> None:
    """Remember the file that a model was loaded from, as long as the model exists."""
    _FILES[model] = str(path)


def file_of(model: object) -> str:
    """The file that a model was loaded from; empty if it comes from memory."""
    try:
        return _FILES.get(model, "")
    except TypeError:  # no weak references, or no hash
        return ""


@contextmanager
def damage_reported(file: str, part: object, where: str = "") -> Iterator[None]:
    """Report an error that inconsistent figures cause as damage of a file, if there is a file.

    Parameters
    ----------
    file : the file of the model, or empty.
    part : the estimator that is read.
    where : the step of the estimator in its pipeline, in words.

    Examples
    --------
    >>> with damage_reported("model.skops", object()):
    ...     [1, 2][3]
    Traceback (most recent call last):
        ...
    proxyuse.errors.CorruptFile: model.skops is damaged: its object is inconsistent (IndexError: ...
    >>> with damage_reported("", object()):
    ...     [1, 2][3]
    Traceback (most recent call last):
        ...
    IndexError: list index out of range
    """
    try:
        yield
    except _DAMAGE as error:
        if not file:
            raise
        raise CorruptFile(_message(file, f"{type(part).__name__}{where}", error)) from error


def _message(file: str, part: str, error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return (
            f"{file}: not enough memory to translate its {part}; use a larger machine, or save the "
            "model again if it is not that large"
        )
    if isinstance(error, RecursionError):
        return f"{file} is damaged: its {part} is nested too deeply; save the model again"
    last = extract_tb(error.__traceback__)[-1]
    reason = shortened(" ".join(str(error).split()), 200)
    return (
        f"{file} is damaged: its {part} is inconsistent ({type(error).__name__}: {reason}; "
        f"{Path(last.filename).name}:{last.lineno}); save the model again, and report this if it "
        "happens again"
    )
