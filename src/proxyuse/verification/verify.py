"""Verification: is a certificate right?

Repeats the certified audit and compares the two certificates entry by entry. Then recomputes some
of the measures from the definition. Lists the statements that cannot be verified.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from proxyuse.auditing import Audit, audit
from proxyuse.certificate.certificate import Certificate, CertifiedWitness
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.progress import Clock, ProgressCallback
from proxyuse.errors import Canceled, DataError, ProxyUseError
from proxyuse.hashes import content_hash
from proxyuse.judge.judgment import Oracle
from proxyuse.measure.association.protocol import AssociationLike
from proxyuse.program import Program
from proxyuse.settings import Influence
from proxyuse.verification.certify import unhashed
from proxyuse.verification.claims import (
    Recorded,
    arguments,
    comparable,
    measures,
    original_difference,
    protected_of,
    same_text,
    stated_only,
    weights_of,
)
from proxyuse.verification.compare import Difference, differences
from proxyuse.verification.reference_check import Remeasured, remeasured
from proxyuse.verification.result import Check, Verification

SAMPLE = 200
_OTHER_SUBJECT = "the program or the rows differ from the certificate"


def verify(
    certificate: Certificate | Mapping[str, Any] | str | Path,
    model: object,
    X: object,
    *,
    protected: object = None,
    weights: object = None,
    oracle: Oracle | None = None,
    original: object = None,
    association: AssociationLike | None = None,
    influence: Influence | None = None,
    sample: int = SAMPLE,
    seed: int = 0,
    everything: bool = False,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Verification:
    """Verify a certificate: repeat the audit and compare every entry.

    Parameters
    ----------
    certificate : a certificate, its content, or the path of its file.
    model : the program or the model. The certified decision is applied to a model.
    X : the rows, as for `audit`, in any order.
    protected, weights : as for `audit`; by default the columns that the certificate names.
    oracle : the policy or the judgments. Without it, the judgments are not verified.
    original : the program or model before a repair, to verify its hash.
    association, influence : the custom measures of the certificate, if it has any.
    sample, seed : the number of decompositions to recompute from the definition, and the seed of
        that sample. Witnesses and the strongest pairs are always recomputed.
    everything : whether to recompute all decompositions, regardless of cost.
    threads : the number of threads, one per core by default.
    progress : callable, optional
        Called with a `Progress` a few times per second; return False to cancel.

    Raises
    ------
    FileError
        If the file is not a certificate. The result reports everything else that is wrong.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"height": [1, 2, 1, 2], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse("ite(height == 1, 'a', 'b')")
    >>> certificate = pu.certify(pu.audit(program, data, "pregnant"))
    >>> verify(certificate, program, data).ok
    True
    >>> verify(certificate, pu.Program.parse("ite(height == 2, 'a', 'b')"), data).ok
    False
    """
    _check_numbers(
        sample=(sample, 0), seed=(seed, 0), threads=(1 if threads is None else threads, 1)
    )
    source = _source(certificate)
    try:
        checked = source if isinstance(source, Certificate) else Certificate.from_content(source)
    except DataError as error:
        return Verification((Check("form", False, str(error)),))
    verifier = _Verifier(checked, oracle, isinstance(model, Program))
    try:
        measure, loss = measures(checked, association, influence)
        clock = Clock(progress)
        repeated = audit(
            model,
            X,
            protected_of(checked, X) if protected is None else protected,
            weights=weights_of(checked) if weights is None else weights,
            **arguments(checked, program=isinstance(model, Program)),
            association=measure,
            influence=loss,
            threads=threads,
            progress=progress,
        )
        verifier.compare(repeated)
        if original is not None:
            verifier.original(original_difference(checked, original, X, repeated))
        if verifier.same_subject:
            recomputed = remeasured(
                repeated,
                verifier.strongest(repeated),
                measure,
                loss,
                sample=sample,
                seed=seed,
                everything=everything,
                tick=clock.tick,
            )
            verifier.definition(recomputed, repeated)
    except Canceled:
        raise
    except ProxyUseError as error:
        verifier.checks.append(Check("audit", False, f"it cannot be repeated: {error}"))
    stated = stated_only(checked, model, original)
    return Verification(tuple(verifier.checks), stated, checked.hash)


def _source(certificate: object) -> Certificate | Mapping[str, Any]:
    match certificate:
        case str() | Path():
            return Certificate.read(certificate)
        case Certificate() | Mapping():
            return certificate
    raise DataError(
        "certificate: expected a Certificate or the path of its file, got "
        f"{type(certificate).__name__}"
    )


def _check_numbers(**numbers: tuple[object, int]) -> None:
    for name, (value, least) in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise DataError(f"{name}: expected an integer of at least {least}, got {value!r}")


_PARTS = {
    "program": "the same program",
    "data": "the same rows",
    "detection": "the same settings, counts and unsettled parts",
    "front": "the same strongest pairs of association and influence",
    "witnesses": "the same witnesses",
    "judgments": "the same judgments and violations",
}
"""The checks of entries, in order, with the message of a check that passes."""
_SUBJECT = ("program", "data")


class _Verifier:
    """Collects the checks of one certificate."""

    def __init__(self, certificate: Certificate, oracle: Oracle | None, in_program: bool) -> None:
        self.in_program = in_program  # whether the program includes the decision
        self.certificate = certificate
        self.checks: list[Check] = [Check("form", True, "a valid certificate"), self._hash()]
        self.oracle = oracle
        self.same_subject = True

    @property
    def _judged(self) -> list[CertifiedWitness]:
        return [witness for witness in self.certificate.witnesses if witness.judgment is not None]

    @property
    def _lacks_oracle(self) -> bool:
        """Whether the claim depends on judgments and the oracle is missing."""
        return self.certificate.judged and self.oracle is None and bool(self._judged)

    def _hash(self) -> Check:
        """Check the hash of the content."""
        actual = content_hash(self.certificate.content)
        if actual == self.certificate.hash:
            return Check("hash", True, "unchanged since it was created")
        wrong = Difference("hash", self.certificate.hash, actual)
        return Check("hash", False, "changed since it was created", (wrong,))

    def compare(self, audit: Audit) -> None:
        """Create a certificate of an audit with the same oracle, and compare the two."""
        oracle: Oracle | None = self.oracle if self.certificate.judged else None
        if self.certificate.judged and oracle is None:
            oracle = Recorded(self.certificate)
        settings = self.certificate.settings
        repeated = unhashed(audit, oracle, settings.decision if self.in_program else None)
        expected, actual = comparable(self.certificate), comparable(repeated)
        for name, about in _PARTS.items():
            if not self.same_subject and name not in _SUBJECT:
                self.checks.append(Check(name, None, _OTHER_SUBJECT))
                continue
            wrong = tuple(
                difference
                for difference in differences(expected[name], actual[name])
                if not same_text(difference, audit.program.precision)
            )
            text = f"{'not ' * bool(wrong)}{about}"
            if wrong and settings.sampling and name not in _SUBJECT:
                text += " (influence was sampled, so the rows must be in the same order)"
            self.checks.append(Check(name, not wrong, text, wrong))
            if wrong and name in _SUBJECT:
                self.same_subject = False
        if self._lacks_oracle and self.checks[-1].ok:
            self.checks[-1] = Check("judgments", None, self._unchecked())
        if self.oracle is not None and not self.certificate.judged:
            text = "not needed: the certificate was created without an oracle"
            self.checks.append(Check("oracle", True, text))

    def _unchecked(self) -> str:
        return (
            f"{len(self._judged)} of the remaining witnesses were judged; to verify the judgments, "
            "pass the policy or the judgments"
        )

    def original(self, differing: Difference | None) -> None:
        """Check the program before the repair."""
        text = f"{'not ' if differing else ''}the certified program before the repair"
        wrong = () if differing is None else (differing,)
        self.checks.append(Check("original", not wrong, text, wrong))

    def strongest(self, audit: Audit) -> Sequence[Decomposition]:
        """Return the decompositions that are always recomputed."""
        wanted = {computation.id for computation in self.certificate.front}
        known = [witness.decomposition for witness in audit.witnesses]
        wanted -= {decomposition.id for decomposition in known}
        return known + [d for d in audit.decompositions if wanted and d.id in wanted]

    def definition(self, recomputed: Remeasured, audit: Audit) -> None:
        """Check the measures that were recomputed from the definition."""
        count, total = recomputed.drawn, len(audit.decompositions)
        text = f"{count:,} of {total:,} decompositions were recomputed from the definition"
        if recomputed.rows < audit.population.n_rows:
            text += f", on {recomputed.rows:,} of the rows"
        if recomputed.costly:
            text += (
                f"; for {recomputed.costly:,}, only the association, because influence takes too "
                "long"
            )
        wrong = recomputed.differences
        self.checks.append(Check("definition", not wrong, text, wrong))
