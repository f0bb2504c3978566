"""The one way to pandas for this folder, because pandas is an extra of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxyuse.errors import DataError

if TYPE_CHECKING:
    from types import ModuleType


def require_pandas() -> ModuleType:
    """Import pandas, or say how to install it.

    Raises
    ------
    DataError
        If pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise DataError(
            "the datasets are pandas DataFrames and pandas is not installed; "
            "run: pip install 'proxyuse[datasets]'"
        ) from error
    return pandas
