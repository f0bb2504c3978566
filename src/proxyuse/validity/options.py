"""The methods that test whether a witness is real, from the option `validity`."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.errors import DataError
from proxyuse.methods import METHODS, Confirmation, CrossValidation, Method, Permutation
from proxyuse.options import listed, shown


def methods_of(option: object) -> tuple[Method, ...]:
    """Return the requested methods: a name, the options of a method, or several of either.

    Examples
    --------
    >>> [method.name for method in methods_of(["confirm", Permutation(permutations=99)])]
    ['confirm', 'permutation']
    """
    if isinstance(option, str | bytes) or not isinstance(option, Sequence):
        option = (option,)
    methods = tuple(_method_of(item) for item in option)
    names = [method.name for method in methods]
    if not methods:
        raise DataError(f"validity: expected {_names()}, or None, got {shown(option)}")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"validity: {name!r} is requested twice; request each method once")
    return methods


def _method_of(option: object) -> Method:
    if isinstance(option, Confirmation | Permutation | CrossValidation):
        return option
    if isinstance(option, str) and option in METHODS:
        return METHODS[option]()
    raise DataError(
        f"validity: expected {_names()}, or an instance of Confirmation, Permutation or "
        f"CrossValidation, got {shown(option)}"
    )


def _names() -> str:
    return listed([f"'{name}'" for name in METHODS])
