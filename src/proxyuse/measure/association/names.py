"""The names of the measures of association, without importing the measures.

The command line needs the names for its help and must not load NumPy for them. They are read from
the file names in `measures`, so that a new measure is one new file.
"""

from __future__ import annotations

from pkgutil import iter_modules

from proxyuse.measure.association import measures

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


ASSOCIATIONS = association_names()
"""The names at import time, for options that list their choices."""
