"""Import pandas, which is an optional dependency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyuse.errors import DataError

if TYPE_CHECKING:
    from types import ModuleType


def require_pandas() -> ModuleType:
    """Import pandas; the error says how to install it.

    Raises
    ------
    DataError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise DataError(
            "the datasets need pandas, which is not installed: pip install 'proxyuse[datasets]'"
        ) from error
    return pandas
