"""Applies every requested method to every witness, and combines the answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

from proxyuse.detect.witnesses import Witness
from proxyuse.methods import Confirmation, CrossValidation, Method, Permutation
from proxyuse.validity.confirmation import confirm
from proxyuse.validity.cross_validation import cross_validate
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.validity.permutations.test import permute
from proxyuse.validity.remarks import ChosenByRows, Remark
from proxyuse.verdict import Reason, Validity, Verdict


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
    """The validity of the witnesses of an audit.

    Attributes
    ----------
    methods : the requested methods, with their options.
    validities : the validity of each witness, by protected attribute and id.
    tested : for each method, the number of hypotheses it corrects for; None without correction.
    remarks : on each method and its limits.
    verdicts : for each method, its verdict on each witness.
    undecidable : the attributes about which these rows can say nothing, by name, with the reason.
    """

    methods: tuple[Method, ...]
    validities: Mapping[Key, Validity]
    tested: tuple[int | None, ...]
    remarks: tuple[Remark, ...]
    verdicts: tuple[Mapping[Key, Verdict], ...]
    undecidable: Mapping[str, Reason] = field(default_factory=dict)

    def of(self, witness: Witness) -> Validity:
        """The validity of one witness."""
        return self.validities[witness.key]


def assess(evidence: Evidence, methods: Sequence[Method]) -> Assessment:
    """Apply each method to each witness. A witness is confirmed if every method confirms it."""
    answers = [_answer(evidence, method) for method in methods]
    return Assessment(
        tuple(methods),
        {
            key: _combined([answer.validities[key] for answer in answers])
            for key in (witness.key for witness in evidence.witnesses)
        },
        tuple(answer.tested for answer in answers),
        tuple(_remarks(evidence, methods, answers)),
        tuple({key: v.verdict for key, v in answer.validities.items()} for answer in answers),
        {name: reason for answer in answers for name, reason in answer.undecidable.items()},
    )


def _remarks(
    evidence: Evidence, methods: Sequence[Method], answers: Sequence[Answer]
) -> Iterator[Remark]:
    for answer in answers:
        yield from answer.remarks
    if evidence.searched and any(isinstance(method, Permutation) for method in methods):
        yield ChosenByRows()


def _combined(validities: Sequence[Validity]) -> Validity:
    """The figures of all methods, with the most cautious verdict."""
    verdicts = {validity.verdict for validity in validities}
    most_cautious_first = (Verdict.POSSIBLE, Verdict.UNDECIDED, Verdict.CONFIRMED)
    verdict = next(v for v in most_cautious_first if v in verdicts)
    figures = {
        item.name: getattr(validity, item.name)
        for validity in validities
        for item in fields(validity)
        if getattr(validity, item.name) is not None
    }
    return replace(Validity(**figures), verdict=verdict)
