"""An assertion for your own tests: fails if a model uses a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Unpack

from proxyuse.auditing import Audit, audit
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Oracle
from proxyuse.notes import NoteKind
from proxyuse.options import documented
from proxyuse.report.diff import compare
from proxyuse.report.document import document
from proxyuse.report.render.text import audit_text, diff_text
from proxyuse.report.saved import read_document
from proxyuse.settings import DELTA, EPSILON, AuditKeywords, AuditOptions
from proxyuse.verdict import Verdict


@documented(AuditOptions, AuditKeywords.__annotations__)
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
    confirmed_only: bool = False,
    **options: Unpack[AuditKeywords],
) -> Audit:
    """Audit a model and raise an AssertionError with the findings, if there are any.

    Parameters
    ----------
    model, X, protected : as for `audit`.
    known : file, optional
        A result of an earlier audit (``proxyuse audit --output``) whose witnesses are acceptable.
        Only new witnesses fail.
    oracle : callable, optional
        A policy or recorded judgments. Only violations fail.
    allow_unsettled : bool
        Whether an incomplete search without findings passes.
    confirmed_only : bool
        Whether only confirmed witnesses fail. Needs `validity`. Undecided witnesses count as
        unsettled.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> program = pu.Program.parse("ite(height <= 170, 0, 1)")
    >>> data = {"height": [160, 180, 160, 180], "religion": ["a", "a", "b", "b"]}
    >>> pu.assert_no_proxy_use(program, data, protected="religion")
    <Audit: 0 witnesses among 3 decompositions, complete>
    """
    if confirmed_only and options.get("validity") is None:
        raise DataError(
            "confirmed_only=True needs a method that confirms witnesses; pass for example "
            'validity="confirm"'
        )
    result = audit(model, X, protected, epsilon, delta, **options)
    violations = [violation.witness for violation in result.violations(oracle)]
    undecided = [w for w in violations if confirmed_only and _verdict(w) is Verdict.UNDECIDED]
    if confirmed_only:
        violations = [w for w in violations if _verdict(w) is Verdict.CONFIRMED]
    if known is not None:
        earlier = read_document(known)
        comparison = compare(earlier, document(replace(result, witnesses=violations)))
        if comparison.new:
            raise AssertionError(diff_text(comparison))
        if undecided:
            new = compare(earlier, document(replace(result, witnesses=undecided))).new
            undecided = undecided if new else []
    elif violations:
        raise AssertionError(
            audit_text(document(result, oracle=oracle, confirmed_only=confirmed_only))
        )
    if (undecided or not result.complete) and not allow_unsettled:
        advice = "Use more permutations" if undecided else "Pass a larger budget"
        if any(note.kind is NoteKind.TIME_LIMIT for note in result.notes):
            advice = "Pass a longer time limit"
        raise AssertionError(
            f"{result}\n\nThe search is incomplete. {advice}, or pass allow_unsettled=True if "
            "that is acceptable."
        )
    return result


def _verdict(witness: Witness) -> Verdict | None:
    return None if witness.validity is None else witness.validity.verdict
