"""numba's decorators, with types; importing this loads numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import extending, types

_COMPILE: Any = numba.njit
_INTRINSIC: Any = extending.intrinsic


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop when it is first called, and keep that on disk where that can be.

    It lets go of the interpreter's lock.
    """
    try:
        dispatcher: Callable[..., Any] = _COMPILE(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no place to write to
        dispatcher = _COMPILE(nogil=True)(function)
    return dispatcher


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that compiled loops call."""
    dispatcher: Callable[..., Any] = _COMPILE(function)
    return dispatcher


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is put in place wherever a compiled loop calls it."""
    dispatcher: Callable[..., Any] = _COMPILE(inline="always")(function)
    return dispatcher


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation of compiled loops that is written in the compiler's own terms.

    The function is given the types of the arguments and returns the operation's signature and
    what generates its code.
    """
    operation: Callable[..., Any] = _INTRINSIC(function)
    return operation


@intrinsic
def bits_of(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        return builder.ctpop(given[0])

    return types.uint64(types.uint64), generate
