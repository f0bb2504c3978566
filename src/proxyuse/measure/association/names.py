"""The names of the measures of association, without importing the measures.

The command line needs the names for its help and must not load NumPy for them. They are read from
the file names in `measures`, so that a new measure is one new file.
"""

from __future__ import annotations

from pkgutil import iter_modules

from proxyuse.errors import DataError
from proxyuse.measure.association import measures
from proxyuse.options import listed, shown

DEFAULT = "normalized-mutual-information"


def association_names() -> tuple[str, ...]:
    """Return the name of every built-in measure, the default first.

    Examples
    --------
    >>> association_names()[:2]
    ('normalized-mutual-information', 'adjusted-mutual-information')
    """
    names = {module.name.replace("_", "-") for module in iter_modules(measures.__path__)}
    return (DEFAULT, *sorted(names - {DEFAULT}))


def check_association_name(name: object) -> None:
    """Raise an error if a text is not the name of a built-in measure; None is the default."""
    if name is not None and name not in association_names():
        names = listed([f"'{known}'" for known in association_names()])
        raise DataError(f"association: expected {names}, got {shown(name)}")


ASSOCIATIONS = association_names()
"""The names at import time, for options that list their choices."""
