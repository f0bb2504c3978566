"""Is a certificate right? Everything it says is found out again and compared.

The audit that it speaks of is made again, a certificate is made of that, and the two are compared
entry by entry; then some of what was measured is measured by the definition. What cannot be found
out again is told, never believed in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proxyuse.auditing import Audit, audit
from proxyuse.certificate.certificate import Certificate, mistake_in, read_content
from proxyuse.certificate.claims import (
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
from proxyuse.certificate.compare import Difference, differences
from proxyuse.certificate.content import content_of
from proxyuse.certificate.reference_check import Remeasured, remeasured
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.progress import Clock, ProgressCallback
from proxyuse.errors import Canceled, DataError, ProxyUseError
from proxyuse.hashes import content_hash
from proxyuse.judge.judgment import Oracle
from proxyuse.measure.association.protocol import AssociationLike
from proxyuse.program import Program
from proxyuse.settings import Influence

SAMPLE = 200
_SHOWN = 5
_STATUS = {True: "ok", False: "FAIL", None: "not checked"}
_OTHER = "the program or the rows differ from the certificate"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes
    ----------
    name : what.
    ok : whether it is as certified; None if it was not checked.
    found : what was found, in words.
    differences : the entries that are not as certified.
    """

    name: str
    ok: bool | None
    found: str
    differences: tuple[Difference, ...] = ()

    def __str__(self) -> str:
        lines = [f"{_STATUS[self.ok]:11}  {self.name}: {self.found}"]
        lines += [f"        {item}" for item in self.differences[:_SHOWN]]
        if (more := len(self.differences) - _SHOWN) > 0:
            lines.append(f"        and {more:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Verification:
    """What became of a certificate when it was checked.

    Attributes
    ----------
    checks : what was looked at.
    stated : what the certificate says and nobody can find out again; its hash alone covers it.
    hash : that of the certificate; to be compared with what its author tells on another way.
    """

    checks: tuple[Check, ...]
    stated: tuple[str, ...] = ()
    hash: str = ""

    @property
    def ok(self) -> bool:
        """Whether everything was checked and is as certified."""
        return all(check.ok for check in self.checks)

    def __str__(self) -> str:
        lines = ["Verified." if self.ok else "NOT verified.", "", *map(str, self.checks)]
        if self.stated:
            lines += ["", "Stated, and not checked:", *(f"- {text}" for text in self.stated)]
        return "\n".join([*lines, "", f"hash of the certificate {self.hash}"])


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
    """Check everything that a certificate says.

    Parameters
    ----------
    certificate : a certificate, its content, or its file.
    model : the program, or a model that `translate` knows; a decision that the certificate states
        is made of it.
    X : the rows, as `audit` takes them; in any order.
    protected, weights : as `audit` takes them; by default the columns that the certificate names.
    oracle : who judged. Judgments that stand in the certificate are not believed without it.
    original : the program or model before a repair, whose hash the certificate may hold.
    association, influence : measures of your own, if the certificate was made with such.
    sample, seed : how many decompositions are measured again by the definition, and which.
        Witnesses and the strongest pairs always are.
    everything : whether to measure all of them, whatever it costs.
    threads : how many threads may count at the same time; one per core by default.
    progress : callable, optional
        Called with a `Progress` a few times a second; returning False cancels.

    Raises
    ------
    FileError
        If the file is no certificate at all. Anything else that is wrong is told by the result.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.certificate.certificate import certify
    >>> data = {"height": [1, 2, 1, 2], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse("ite(height == 1, 'a', 'b')")
    >>> certificate = certify(pu.audit(program, data, "pregnant"))
    >>> verify(certificate, program, data).ok
    True
    >>> verify(certificate, pu.Program.parse("ite(height == 2, 'a', 'b')"), data).ok
    False
    """
    _check_numbers(
        sample=(sample, 0), seed=(seed, 0), threads=(1 if threads is None else threads, 1)
    )
    content = _content(certificate)
    if mistake := mistake_in(content):
        return Verification((Check("form", False, mistake),))
    verifier = _Verifier(content, oracle, isinstance(model, Program))
    if not verifier.covered():
        return Verification(tuple(verifier.checks))
    try:
        likeness, loss = measures(content, association, influence)
        clock = Clock(progress)
        found = audit(
            model,
            X,
            protected_of(content, X) if protected is None else protected,
            weights=weights_of(content) if weights is None else weights,
            **arguments(content, program=isinstance(model, Program)),
            association=likeness,
            influence=loss,
            threads=threads,
            progress=progress,
        )
        verifier.compare(found)
        if original is not None:
            verifier.original(original_difference(content, original, X, found))
        if verifier.same_subject:
            again = remeasured(
                found,
                verifier.strongest(found),
                likeness,
                loss,
                sample=sample,
                seed=seed,
                everything=everything,
                tick=clock.tick,
            )
            verifier.naive(again, found)
    except Canceled:
        raise
    except ProxyUseError as error:
        verifier.checks.append(Check("audit", False, f"it cannot be made again: {error}"))
    stated = stated_only(content, model, original)
    return Verification(tuple(verifier.checks), stated, str(content["hash"]))


def _content(certificate: object) -> Mapping[str, Any]:
    match certificate:
        case Certificate(content):
            return content
        case str() | Path():
            return read_content(certificate)
        case Mapping():
            return certificate
    raise DataError(
        f"the certificate is of type {type(certificate).__name__}; pass a Certificate or its file"
    )


def _check_numbers(**given: tuple[object, int]) -> None:
    for name, (value, least) in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise DataError(f"{name} is {value!r}; pass a whole number of {least} or more")


_PARTS = {
    "program": "the same program",
    "data": "the same rows",
    "detection": "the same questions, counts and open ends",
    "front": "the same strongest pairs of association and influence",
    "witnesses": "the same witnesses",
    "judgments": "the same judgments and violations",
}
"""The checks of entries, in order, and what is found if all is well."""
_SUBJECT = ("program", "data")


class _Verifier:
    """Collects the checks of one certificate."""

    def __init__(self, content: Mapping[str, Any], oracle: Oracle | None, in_program: bool) -> None:
        self.in_program = in_program  # whether the decision was made before
        self.content = content
        self.checks: list[Check] = [Check("form", True, "that of a certificate")]
        self.given = oracle
        self.same_subject = True

    @property
    def _unasked(self) -> bool:
        """Whether judgments matter for the claim and those who judged are not there."""
        said = any(witness["judgment"] is not None for witness in self.content["witnesses"])
        return bool(self.content["judged"]) and self.given is None and said

    def covered(self) -> bool:
        """Check the hash over everything; False if there can be none."""
        try:
            now = content_hash(self.content)
        except (TypeError, ValueError, RecursionError) as error:
            self.checks.append(Check("hash", False, f"it holds what JSON cannot: {error}"))
            return False
        if now == self.content["hash"]:
            self.checks.append(Check("hash", True, "nothing was changed after it was made"))
        else:
            wrong = Difference("hash", self.content["hash"], now)
            text = "something was changed after it was made"
            self.checks.append(Check("hash", False, text, (wrong,)))
        return True

    def compare(self, found: Audit) -> None:
        """Make a certificate of an audit, with the same oracle, and compare the two."""
        oracle: Oracle | None = self.given if self.content["judged"] else None
        if self.content["judged"] and oracle is None:
            oracle = Recorded(self.content)
        decision = self.content["settings"]["decision"]
        again = content_of(found, oracle)
        if self.in_program:
            again["settings"]["decision"] = decision
        expected, now = comparable(self.content), comparable(again)
        for name, about in _PARTS.items():
            if not self.same_subject and name not in _SUBJECT:
                self.checks.append(Check(name, None, _OTHER))
                continue
            wrong = tuple(
                difference
                for difference in differences(expected[name], now[name])
                if not same_text(difference, found.program.precision)
            )
            text = f"{'not ' * bool(wrong)}{about}"
            if wrong and self.content["settings"]["sampling"] and name not in _SUBJECT:
                text += " (pairs of rows were sampled: the rows must be in the same order)"
            self.checks.append(Check(name, not wrong, text, wrong))
            if wrong and name in _SUBJECT:
                self.same_subject = False
        if self._unasked and self.checks[-1].ok:
            self.checks[-1] = Check("judgments", None, self._unchecked())
        if self.given is not None and not self.content["judged"]:
            text = "the certificate was made without an oracle, and the one given was not asked"
            self.checks.append(Check("oracle", True, text))

    def _unchecked(self) -> str:
        allowed = [w for w in self.content["witnesses"] if w["judgment"] is not None]
        return (
            f"{len(allowed)} of the remaining witnesses were judged; to check the judgments, pass "
            "the oracle (the policy, the judgments)"
        )

    def original(self, differing: Difference | None) -> None:
        """Whether the program before the repair is the one that is stated."""
        text = "the program before the repair is" + (" not" if differing else "") + " as certified"
        wrong = () if differing is None else (differing,)
        self.checks.append(Check("original", not wrong, text, wrong))

    def strongest(self, found: Audit) -> Sequence[Decomposition]:
        """What is measured again in any case."""
        wanted = {pair["id"] for pair in self.content["front"]}
        known = [witness.decomposition for witness in found.witnesses]
        wanted -= {decomposition.id for decomposition in known}
        return known + [d for d in found.decompositions if wanted and d.id in wanted]

    def naive(self, again: Remeasured, found: Audit) -> None:
        """What the definition says."""
        drawn, all_of = again.drawn, len(found.decompositions)
        text = f"{drawn:,} of {all_of:,} decompositions were measured again by the definition"
        if again.rows < found.population.n_rows:
            text += f", on {again.rows:,} of the rows"
        if again.costly:
            text += (
                f"; of {again.costly:,} the association alone, for their influence costs too much"
            )
        self.checks.append(Check("definition", not again.differences, text, again.differences))
