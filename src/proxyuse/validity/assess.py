"""Ask every way that is wanted, and put the answers together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from proxyuse.detect.witnesses import Witness
from proxyuse.settings import Confirmation, CrossValidation, Method, Permutation
from proxyuse.validity.confirmation import confirm
from proxyuse.validity.cross_validation import cross_validate
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.validity.permutations.test import permute
from proxyuse.verdict import Validity, Verdict


def _answer(evidence: Evidence, method: Method) -> Answer:
    match method:
        case Confirmation():
            return confirm(evidence, method)
        case Permutation():
            return permute(evidence, method)
        case CrossValidation():
            return cross_validate(evidence, method)


@dataclass(frozen=True, slots=True)
class Assessment:
    """What statistics say of the witnesses of an audit.

    Attributes
    ----------
    methods : the ways that were asked for, with their options.
    validities : what they say of each witness, by protected attribute and id.
    tested : for each way how many hypotheses it corrects for; None where it corrects for none.
    remarks : sentences: what was done, and what it cannot say.
    verdicts : what each way says of each witness by itself.
    """

    methods: tuple[Method, ...]
    validities: Mapping[Key, Validity]
    tested: tuple[int | None, ...]
    remarks: tuple[str, ...]
    verdicts: tuple[Mapping[Key, Verdict], ...]

    def of(self, witness: Witness) -> Validity:
        """What they say of one witness."""
        return self.validities[witness.key]


def assess(evidence: Evidence, methods: Sequence[Method]) -> Assessment:
    """Ask each way about each witness; one is confirmed if every way confirms it."""
    answers = [_answer(evidence, method) for method in methods]
    return Assessment(
        tuple(methods),
        {
            key: _together([answer.validities[key] for answer in answers])
            for key in (witness.key for witness in evidence.witnesses)
        },
        tuple(answer.tested for answer in answers),
        tuple(_remarks(evidence, answers)),
        tuple({key: said.verdict for key, said in a.validities.items()} for a in answers),
    )


def _remarks(evidence: Evidence, answers: Sequence[Answer]) -> Iterator[str]:
    for answer in answers:
        yield from answer.remarks
    if evidence.searched and any(answer.tested is not None for answer in answers):
        yield (
            "Not all computations were measured, and it depended on these rows which ones were; "
            "the number of tests is that of the measured ones."
        )


def _together(said: Sequence[Validity]) -> Validity:
    """Everything that is known; where verdicts differ, the most careful one."""
    verdicts = {one.verdict for one in said}
    careful = (Verdict.POSSIBLE, Verdict.UNDECIDED, Verdict.CONFIRMED)
    verdict = next(v for v in careful if v in verdicts)
    known = {
        item.name: getattr(one, item.name)
        for one in said
        for item in fields(one)
        if getattr(one, item.name) is not None
    }
    return replace(Validity(**known), verdict=verdict)
