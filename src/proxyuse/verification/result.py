"""The result of a verification, in words and as the JSON of ``proxyuse verify --json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from proxyuse.certificate.claim import Claim
from proxyuse.report.findings.claim import conditions, finding, scope
from proxyuse.verification.compare import Difference

_SHOWN = 5
_STATUS = {True: "ok", False: "FAIL", None: "open"}


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a verification.

    Attributes
    ----------
    name : what is checked.
    ok : whether it agrees with the certificate; None if it was not checked, or must be accepted.
    message : the outcome in words.
    differences : the entries that differ from the certificate.
    """

    name: str
    ok: bool | None
    message: str
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        lines = [f"{_STATUS[self.ok]:4}  {self.name}: {self.message}"]
        lines += [f"        {item}" for item in self.differences[:_SHOWN]]
        if (more := len(self.differences) - _SHOWN) > 0:
            lines.append(f"        and {more:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying a certificate.

    Attributes
    ----------
    checks : the checks, in order.
    claim : what the certificate claims; None if it is not a certificate.
    stated : statements that cannot be verified; only the hash covers them.
    hash : the hash of the certificate. Compare it with the hash the author sent through another
        channel.
    """

    checks: tuple[Check, ...]
    claim: Claim | None = None
    stated: tuple[str, ...] = ()
    hash: str = ""

    @property
    def ok(self) -> bool:
        """Whether every check was made and agrees with the certificate."""
        return all(check.ok for check in self.checks)

    @property
    def document(self) -> VerificationDocument:
        """The result as ``proxyuse verify --json`` prints it."""
        return VerificationDocument(
            verified=self.ok,
            claim=self.claim,
            hash=self.hash,
            checks=tuple(
                CheckDocument(
                    name=check.name,
                    ok=check.ok,
                    message=check.message,
                    differences=tuple(map(str, check.differences)),
                )
                for check in self.checks
            ),
            stated=self.stated,
        )

    def __str__(self) -> str:
        lines = [*self._head(), "", *map(str, self.checks)]
        if self.stated:
            lines += ["", "Stated, but not verifiable:", *(f"- {text}" for text in self.stated)]
        if self.hash:
            lines += ["", f"hash of the certificate {self.hash}"]
        return "\n".join(lines)

    def _head(self) -> list[str]:
        """Return the answer and the whole claim, in three lines."""
        if self.claim is None:
            return [self._answer()]
        says = "" if self.ok else "The certificate claims: "
        first = f"{self._answer()} {says}{finding(self.claim)}"
        return [first, scope(self.claim), conditions(self.claim)]

    def _answer(self) -> str:
        if self.ok:
            return "Verified."
        if any(check.ok is False for check in self.checks):
            failed = ", ".join(check.name for check in self.checks if check.ok is False)
            return f"NOT verified ({failed})."
        missing = ", ".join(check.name for check in self.checks if check.ok is None)
        return f"Not verified yet. Nothing contradicts the certificate, but open: {missing}."


class CheckDocument(Struct, frozen=True, kw_only=True):
    """One check."""

    name: str
    ok: Annotated[
        bool | None,
        Meta(
            description="Whether it agrees with the certificate; null if it was not checked, or "
            "must be accepted first."
        ),
    ]
    message: Annotated[str, Meta(description="The outcome in words.")]
    differences: Annotated[
        tuple[str, ...], Meta(description="The entries that differ from the certificate.")
    ]


class VerificationDocument(Struct, frozen=True, kw_only=True):
    """The output of proxyuse verify --json."""

    verified: Annotated[
        bool, Meta(description="Whether every check was made and agrees with the certificate.")
    ]
    claim: Annotated[
        Claim | None,
        Meta(description="What the certificate claims; null if it is not a certificate."),
    ]
    hash: Annotated[str, Meta(description="The hash in the certificate.")]
    checks: tuple[CheckDocument, ...]
    stated: Annotated[tuple[str, ...], Meta(description="The statements that cannot be verified.")]
