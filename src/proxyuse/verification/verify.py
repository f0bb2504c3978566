"""Verification: is a certificate right?

Repeats the certified audit and compares the two certificates entry by entry. Then recomputes some
of the measures from the definition. Lists the statements that cannot be verified.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from msgspec import to_builtins

from proxyuse.auditing import audit
from proxyuse.certificate.certificate import (
    Certificate,
    CertifiedChanges,
)
from proxyuse.certificate.claim import (
    Claim,
    JudgedFinding,
    Judgments,
    claim_of,
    judged_findings,
)
from proxyuse.completed_audit import Audit
from proxyuse.data.table import Table
from proxyuse.decision import Decision
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.progress import Clock, ProgressCallback
from proxyuse.errors import Canceled, DataError, ProxyUseError
from proxyuse.hashes import content_hash
from proxyuse.judge.judgment import Oracle
from proxyuse.measure.association.protocol import AssociationLike
from proxyuse.measure.association.registry import association_from
from proxyuse.measure.influence import influence_from
from proxyuse.program import Program
from proxyuse.report.findings.claim import (
    misnamed,
    same_decision,
    unchecked_judgments,
    weak_sampling,
)
from proxyuse.report.findings.verdict import reason_sentence
from proxyuse.settings import Influence
from proxyuse.signing import check as check_signature
from proxyuse.verdict import ColumnsMissing, ConstantAttribute, EpsilonOutOfReach
from proxyuse.verification.certify import unhashed
from proxyuse.verification.changes import repeated_changes
from proxyuse.verification.claims import (
    Recorded,
    arguments,
    author_statements,
    comparable,
    limits,
    measures,
    original_difference,
    protected_of,
    same_text,
    weights_of,
)
from proxyuse.verification.compare import Difference, differences
from proxyuse.verification.expectations import (
    RENAMED,
    UNCHECKED,
    WEAK_SAMPLING,
    Expected,
    checked_acceptance,
    misnamed_attributes,
    sampling_doubts,
    unmet_attributes,
)
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
    epsilon: float | str | None = None,
    delta: float | None = None,
    decision: Decision | Literal["prediction"] | None = None,
    association: AssociationLike | str | None = None,
    influence: Influence | str | None = None,
    accept: Collection[str] = (),
    signed_by: str | Path | None = None,
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
    protected, weights : as for `audit`; by default the columns that the certificate names. If
        passed, the certificate must be about the same attributes.
    oracle : the policy or the judgments. Without it, the judgments are not verified.
    original : the program or model before a repair, to verify its hash, and who gains and who
        loses by the repair.
    epsilon, delta : the thresholds that the certificate must have; any by default.
    decision : the decision that it must be about; ``"prediction"`` for the model's own.
    association, influence : the names of the measures that it must use, or its custom measures.
    accept : what must be accepted explicitly. ``"renamed"``: attributes whose names differ from
        their columns. ``"weak-sampling"``: sampled influences that another seed could put on the
        other side of delta. ``"unchecked-judgments"``: judgments without an oracle.
    signed_by : the public key that must have signed the file of the certificate, as a PEM file.
    sample, seed : the number of decompositions to recompute from the definition, and the seed of
        that sample. Witnesses and the strongest pairs are always recomputed.
    everything : whether to recompute all decompositions, regardless of cost.
    threads : the number of threads, one per core by default.
    progress : callable, optional
        Called with a `Progress` a few times per second; return False to cancel.

    Raises
    ------
    FileError
        If the file is not a certificate, or the key cannot be read. The result reports everything
        else that is wrong.

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
    >>> print(verify(certificate, program, data, epsilon=0.05).checks[2])
    FAIL  expectations: epsilon: the certificate says 0.1, but you expect 0.05
    """
    _check_numbers(
        sample=(sample, 0), seed=(seed, 0), threads=(1 if threads is None else threads, 1)
    )
    accepted = checked_acceptance(accept)
    expected = Expected(
        epsilon,
        delta,
        decision,
        association_from(association).name if isinstance(association, str) else None,
        influence_from(influence).name if isinstance(influence, str) else None,
        weights if isinstance(weights, str) else None,
        oracle is not None,
    )
    source = _source(certificate)
    try:
        checked = source if isinstance(source, Certificate) else Certificate.from_content(source)
    except DataError as error:
        return Verification((Check("form", False, str(error)),))
    verifier = _Verifier(checked, oracle, isinstance(model, Program), accepted)
    if signed_by is not None:
        verifier.signature(certificate, signed_by)
    verifier.expectations(expected)
    try:
        table = Table.of(X)
        verifier.names(table.names)
        measure, loss = measures(
            checked,
            None if isinstance(association, str) else association,
            None if isinstance(influence, str) else influence,
        )
        clock = Clock(progress)
        repeated = audit(
            model,
            X,
            protected_of(checked, X) if protected is None else protected,
            weights=weights_of(checked) if weights is None else weights,
            **arguments(checked, program=isinstance(model, Program)),
            association=measure,
            influence=loss,
            validity=None,
            threads=threads,
            progress=progress,
        )
        verifier.compare(repeated)
        verifier.sampling(repeated)
        if original is not None:
            verifier.original(original_difference(checked, original, X, repeated))
            if checked.changes is not None and verifier.same_subject:
                verifier.changes(repeated_changes(checked, original, X, repeated))
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
    claim = verifier.claim(original)
    stated = (*claim.stated, *limits(checked, model))
    return Verification(tuple(verifier.checks), claim, stated, checked.hash)


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
    "witnesses": "the same witnesses, columns that determine an attribute, and collections",
    "judgments": "the same judgments and violations",
}
"""The checks of entries, in order, with the message of a check that passes."""
_SUBJECT = ("program", "data")


class _Verifier:
    """Collects the checks of one certificate."""

    def __init__(
        self,
        certificate: Certificate,
        oracle: Oracle | None,
        in_program: bool,
        accept: Collection[str],
    ) -> None:
        self.in_program = in_program  # whether the program includes the decision
        self.accept = accept
        self.accepted: list[str] = []
        self.repeated: Certificate | None = None
        self.signed_by: str | None = None
        self.rows_passed: int | None = None
        self.reservations: tuple[str, ...] = ()
        self.certificate = certificate
        self.checks: list[Check] = [Check("form", True, "a valid certificate"), self._hash()]
        self.oracle = oracle
        self.same_subject = True

    @property
    def _judged(self) -> list[JudgedFinding]:
        return [each for each in self._findings if each.judgment is not None]

    @property
    def _findings(self) -> list[JudgedFinding]:
        return judged_findings(self.certificate)

    @property
    def _lacks_oracle(self) -> bool:
        """Whether the claim may depend on judgments and the oracle is missing."""
        return self.certificate.judged and self.oracle is None and bool(self._findings)

    def _accepts(self, name: str) -> bool:
        """Whether the verifier accepts what would otherwise leave the claim open."""
        if name in self.accept:
            self.accepted.append(name)
        return name in self.accept

    def _hash(self) -> Check:
        """Check the hash of the content."""
        actual = content_hash(self.certificate.content)
        if actual == self.certificate.hash:
            return Check("hash", True, "unchanged since it was created")
        wrong = Difference("hash", self.certificate.hash, actual)
        return Check("hash", False, "changed since it was created", (wrong,))

    def signature(self, certificate: object, key: str | Path) -> None:
        """Check the signature of the file of the certificate."""
        if not isinstance(certificate, str | Path):
            raise DataError("signed_by: only a file has a signature; pass the path of its file")
        found = check_signature(certificate, key)
        self.signed_by = found.key if found.valid else None
        self.checks.append(Check("signature", found.valid, found.message))

    def expectations(self, expected: Expected) -> None:
        """Check that the claim is the one that the verifier expects."""
        if unmet := tuple(expected.unmet(self.certificate)):
            self.checks.append(Check("expectations", False, "; ".join(unmet)))

    def names(self, columns: Sequence[str]) -> None:
        """Check that the names of the protected attributes say what they are."""
        if wrong := misnamed_attributes(self.certificate, columns):
            accepted = self._accepts(RENAMED)
            self.checks.append(Check("names", accepted or None, misnamed(wrong, accepted)))

    def sampling(self, audit: Audit) -> None:
        """Check that sampled influences are as certain as the claim sounds."""
        sampling = self.certificate.settings.sampling
        if sampling is not None and (doubts := sampling_doubts(sampling, audit)):
            accepted = self._accepts(WEAK_SAMPLING)
            self.checks.append(Check("sampling", accepted or None, weak_sampling(doubts, accepted)))

    def compare(self, audit: Audit) -> None:
        """Create a certificate of an audit with the same oracle, and compare the two."""
        oracle: Oracle | None = self.oracle if self.certificate.judged else None
        if self.certificate.judged and oracle is None:
            oracle = Recorded(self.certificate)
        settings = self.certificate.settings
        repeated = unhashed(audit, oracle, settings.decision if self.in_program else None)
        self.repeated = repeated
        kept = audit.population.kept
        self.rows_passed = audit.population.n_rows if kept is None else len(kept)
        self.reservations = tuple(_reservations(audit))
        if unmet := tuple(unmet_attributes(self.certificate.protected, repeated.protected)):
            self.checks.append(Check("protected", False, "; ".join(unmet)))
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
            accepted = self._accepts(UNCHECKED)
            text = unchecked_judgments(len(self._judged), accepted)
            self.checks[-1] = Check("judgments", accepted or None, text)

    def claim(self, original: object) -> Claim:
        """Return what the certificate claims, and how far it was checked."""
        known: dict[str, Any] = {}
        if self.certificate.judged and self.oracle is not None:
            judgments: Judgments = "checked"
            known["judgments"] = judgments
        notes = () if self.repeated is None else self.repeated.notes
        return claim_of(
            self.certificate,
            decision_checked=not self.in_program,
            rows_passed=self.rows_passed,
            reservations=self.reservations,
            stated=author_statements(self.certificate, notes, original),
            accepted=tuple(self.accepted),
            signed_by=self.signed_by,
            **known,
        )

    def original(self, differing: Difference | None) -> None:
        """Check the program before the repair."""
        text = f"{'not ' if differing else ''}the certified program before the repair"
        wrong = () if differing is None else (differing,)
        self.checks.append(Check("original", not wrong, text, wrong))

    def changes(self, repeated: CertifiedChanges) -> None:
        """Check who gains and who loses by the repair."""
        sides = (to_builtins(side) for side in (self.certificate.changes, repeated))
        expected, actual = (json.loads(json.dumps(side)) for side in sides)
        wrong = tuple(differences(expected, actual, "changes"))
        text = f"{'not ' * bool(wrong)}the same gains and losses of each group by the repair"
        self.checks.append(Check("changes", not wrong, text, wrong))

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


def _reservations(audit: Audit) -> Iterator[str]:
    """Yield why finding nothing on these rows says little."""
    sample = audit.measurement.sample
    if len(sample.support(audit.program.term)) == 1:
        yield same_decision(audit.population.n_rows)
    for name, known in audit.verdicts.items():
        for reason in known.reasons:
            if isinstance(reason, ConstantAttribute | ColumnsMissing | EpsilonOutOfReach):
                yield reason_sentence(reason, name, audit.population.n_rows)
