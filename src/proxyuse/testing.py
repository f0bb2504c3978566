"""A test of the user's own: it fails where a model uses a proxy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from proxyuse.auditing import Audit, audit
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Oracle
from proxyuse.notes import NoteKind
from proxyuse.report.diff import compare
from proxyuse.report.document import document
from proxyuse.report.render.text import audit_text, diff_text
from proxyuse.report.saved import read_document
from proxyuse.settings import DELTA, EPSILON
from proxyuse.verdict import Verdict


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
        Asked about each witness (a policy, say, or recorded judgments); only violations fail.
    allow_unsettled : bool
        Whether to pass where nothing was found but not everything could be settled.
    confirmed_only : bool
        Whether only confirmed witnesses fail; needs `validity`, see `audit`. Those that cannot
        be decided count as not settled.
    options : further options of `audit`.

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
            "confirmed_only=True needs a way to confirm witnesses; pass validity as well, such as "
            'validity="confirm"'
        )
    found = audit(model, X, protected, epsilon, delta, **options)
    violations = [violation.witness for violation in found.violations(oracle)]
    undecided = [w for w in violations if confirmed_only and _verdict(w) is Verdict.UNDECIDED]
    if confirmed_only:
        violations = [w for w in violations if _verdict(w) is Verdict.CONFIRMED]
    if known is not None:
        earlier = read_document(known)
        comparison = compare(earlier, document(replace(found, witnesses=violations)))
        if comparison.new:
            raise AssertionError(diff_text(comparison))
        if undecided:
            new = compare(earlier, document(replace(found, witnesses=undecided))).new
            undecided = undecided if new else []
    elif violations:
        raise AssertionError(
            audit_text(document(found, oracle=oracle, confirmed_only=confirmed_only))
        )
    if (undecided or not found.complete) and not allow_unsettled:
        more = "Ask for more permutations" if undecided else "Give a larger budget"
        if any(note.kind is NoteKind.TIME_LIMIT for note in found.notes):
            more = "Give a longer time limit"
        raise AssertionError(
            f"{found}\n\nThe search is incomplete. {more}, or pass "
            "allow_unsettled=True if that is acceptable."
        )
    return found


def _verdict(witness: Witness) -> Verdict | None:
    return None if witness.validity is None else witness.validity.verdict
