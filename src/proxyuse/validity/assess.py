"""Ask every way that is wanted, and put the answers together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from proxyuse.detect.witnesses import Witness
from proxyuse.validity.evidence import Answer, Evidence, Key, key_of
from proxyuse.validity.options import Confirmation, CrossValidation, Method, Permutation
from proxyuse.verdict import Validity, Verdict


def _answer(evidence: Evidence, method: Method) -> Answer:
    match method:
        case Confirmation():
            from proxyuse.validity.bounds import confirm

            return confirm(evidence, method)
        case Permutation():
            from proxyuse.validity.permutation import permute

            return permute(evidence, method)
        case CrossValidation():
            from proxyuse.validity.splits import cross_validate

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
        return self.validities[key_of(witness)]


def assess(evidence: Evidence, methods: Sequence[Method]) -> Assessment:
    """Ask each way about each witness; one is confirmed if every way confirms it."""
    answers = [_answer(evidence, method) for method in methods]
    return Assessment(
        tuple(methods),
        {
            key: _together([answer.validities[key] for answer in answers])
            for key in map(key_of, evidence.witnesses)
        },
        tuple(answer.tested for answer in answers),
        tuple(remark for answer in answers for remark in answer.remarks),
        tuple({key: said.verdict for key, said in a.validities.items()} for a in answers),
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
