"""numba's decorators with type annotations; importing this module loads numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import extending, types

_COMPILE: Any = numba.njit
_INTRINSIC: Any = extending.intrinsic


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop on its first call, without the global interpreter lock.

    The machine code is cached on disk if there is a writable directory.
    """
    try:
        dispatcher: Callable[..., Any] = _COMPILE(nogil=True, cache=True)(function)
    except RuntimeError:  # numba has no directory to write to
        dispatcher = _COMPILE(nogil=True)(function)
    return dispatcher


def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that is only called from compiled loops."""
    dispatcher: Callable[..., Any] = _COMPILE(function)
    return dispatcher


def intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Define an operation of compiled loops by the LLVM code it generates.

    The function receives the argument types and returns a signature and a code generator.
    """
    operation: Callable[..., Any] = _INTRINSIC(function)
    return operation


@intrinsic
def bits_of(typing: Any, word: Any) -> Any:
    """Count the bits that are set in a 64-bit word (popcount)."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate
