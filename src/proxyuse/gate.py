"""A test of the user's own: it fails where a model uses a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from proxyuse.auditing import DELTA, EPSILON, Audit, audit
from proxyuse.oracle.judgement import Oracle
from proxyuse.report.answer import answer
from proxyuse.report.diff import compare, diff_text
from proxyuse.report.document import document
from proxyuse.report.saved import read_document


def assert_no_proxy_use(
    model: object,
    X: object,
    protected: object,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    *,
    known: str | Path | None = None,
    oracle: Oracle | None = None,
    allow_unsettled: bool = False,
    **options: Any,
) -> Audit:
    """Audit, and raise an AssertionError that says what was found, if something was.

    Parameters
    ----------
    model, X, protected, epsilon, delta : see `audit`.
    known : file, optional
        The result of an earlier audit (``proxyuse audit --output``) whose witnesses were judged
        acceptable; only new ones fail.
    oracle : callable, optional
        Asked about each witness (a policy, say, or recorded judgements); only violations fail.
    allow_unsettled : bool
        Whether to pass where nothing was found but not everything could be settled.
    options : further options of `audit`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> program = pu.Program.parse("ite(height <= 170, 0, 1)")
    >>> data = {"height": [160, 180, 160, 180], "religion": ["a", "a", "b", "b"]}
    >>> pu.assert_no_proxy_use(program, data, protected="religion")
    <Audit: 0 witnesses among 3 decompositions, complete>
    """
    found = audit(model, X, protected, epsilon, delta, **options)
    violations = found.violations(oracle)
    if known is not None:
        found_now = replace(found, witnesses=[violation.witness for violation in violations])
        comparison = compare(read_document(known), document(found_now))
        if comparison["new"]:
            raise AssertionError(diff_text(comparison))
    elif violations:
        raise AssertionError(answer(document(found, oracle=oracle)))
    if not found.complete and not allow_unsettled:
        raise AssertionError(
            f"{found}\n\nNot everything could be settled. Give a larger budget, or pass "
            "allow_unsettled=True if that is acceptable."
        )
    return found
