"""An assertion for your own tests: fails if a model uses a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from proxyuse.auditing import audit
from proxyuse.completed_audit import Audit
from proxyuse.judge.judgment import Oracle
from proxyuse.options import documented
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.document import document
from proxyuse.report.findings.verdict import next_step
from proxyuse.report.render.text import audit_text, diff_text
from proxyuse.report.saved import read_document
from proxyuse.report.standing import exit_code
from proxyuse.settings import DELTA, EPSILON, AuditKeywords, AuditOptions


@documented(AuditOptions, AuditKeywords.__annotations__)
def assert_no_proxy_use(
    model: object,
    X: object,
    protected: object,
    epsilon: float | str = EPSILON,
    delta: float = DELTA,
    *,
    known: str | Path | None = None,
    oracle: Oracle | None = None,
    **options: Unpack[AuditKeywords],
) -> Audit:
    """Audit a model and raise an AssertionError if it uses a proxy, or if that is undecided.

    It fails on confirmed violations (on possible ones as well with ``fail_on="possible"``), if the
    search is incomplete, and if the rows cannot decide. The message says what to do next.

    Parameters
    ----------
    model, X, protected : as for `audit`.
    known : file, optional
        A result of an earlier audit (``proxyuse audit --output``) whose witnesses are acceptable.
        Only new witnesses fail.
    oracle : callable, optional
        A policy or recorded judgments. Only violations fail.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> program = pu.Program.parse("ite(height <= 170, 0, 1)")
    >>> data = {"height": [160, 180, 160, 180] * 50, "religion": ["a", "a", "b", "b"] * 50}
    >>> pu.assert_no_proxy_use(program, data, protected="religion")
    <Audit: not found, 0 witnesses among 3 decompositions, complete>
    """
    result = audit(model, X, protected, epsilon, delta, **options)
    if known is None:
        found = document(result, oracle=oracle)
        if exit_code(found):
            raise AssertionError(f"{audit_text(found)}\n\n{next_step(found)}")
        return result
    violations = [violation.witness for violation in result.violations(oracle)]
    found = document(replace(result, witnesses=violations), oracle=oracle)
    comparison = compare(read_document(known), found)
    if code := diff_exit_code(comparison):
        detail = diff_text(comparison) if code == 1 else audit_text(found)
        raise AssertionError(f"{detail}\n\n{next_step(found)}")
    return result
