"""A result with exact computations in place of those that are easier to read."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from proxyuse.report.result import AuditResult, Near, Witness
from proxyuse.words import one_line

C = TypeVar("C", Witness, Near)


def with_exact_terms(result: AuditResult) -> AuditResult:
    """Show every threshold and weight with all its digits.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"x": [1, 2, 3, 4], "z": [0, 0, 1, 1]}
    >>> program = pu.Program.parse("ite(x <= 2.4500000476837158, 'a', 'b')")
    >>> result = document(pu.audit(program, data, protected="z", variables=False))
    >>> [r.witnesses[0].reading for r in (result, with_exact_terms(result))]
    ['x <= 2', 'x <= 2.450000047683716']
    """
    return replace(
        result,
        witnesses=tuple(map(_exact, result.witnesses)),
        nearest=tuple(map(_exact, result.nearest)),
    )


def _exact(computation: C) -> C:
    ellipsis = " ..." if computation.term_cut else ""
    return replace(computation, reading=f"{one_line(computation.term)}{ellipsis}", rounded=False)
