"""What the verifier expects of a certificate, and what must be accepted explicitly.

A certificate that was edited can be true of the same model and rows, so verification alone does not
reject it. The verifier can state the claim that he or she expects; any difference fails. Three
kinds of claim are easily misread and must be accepted.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.special import rel_entr

from proxyuse.certificate.certificate import Certificate, CertifiedAttribute
from proxyuse.certificate.limits import MAX_SEED
from proxyuse.completed_audit import Audit
from proxyuse.decision import Decision
from proxyuse.errors import DataError
from proxyuse.expressions import like_a_name
from proxyuse.options import percentage, shown
from proxyuse.project_settings import Acceptable
from proxyuse.report.findings.claim import (
    attributes_text,
    decision_text,
    straddling,
    unexpected,
    weak_level,
)
from proxyuse.settings import Sampling
from proxyuse.verification.compare import close

ACCEPTABLE: tuple[Acceptable, ...] = get_args(Acceptable)
RENAMED, WEAK_SAMPLING, UNCHECKED = ACCEPTABLE
PREDICTION: Literal["prediction"] = "prediction"
LONGEST_NAME = 100
"""Characters of the name of a derived attribute that need not be accepted."""
SEED_ERROR = 0.05
"""The probability that any seed moves an influence that `influences_in_doubt` does not count."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The claim that the verifier expects; None where anything is allowed.

    Attributes
    ----------
    epsilon : a number, or a percentage such as ``"50%"``.
    delta : a number.
    decision : a decision, or ``"prediction"`` for the model's own.
    association, influence : the names of the measures.
    weights : the column of the weights.
    judgments : whether the verifier passed a policy or judgments.
    """

    epsilon: float | str | None = None
    delta: float | None = None
    decision: Decision | Literal["prediction"] | None = None
    association: str | None = None
    influence: str | None = None
    weights: str | None = None
    judgments: bool = False

    def __post_init__(self) -> None:
        for name, value in (("epsilon", self.epsilon), ("delta", self.delta)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (value is None or number or (name == "epsilon" and percentage(value))):
                raise DataError(f"{name}: expected a number, got {shown(value)}")
        if isinstance(self.decision, str) and self.decision != PREDICTION:
            raise DataError(
                f"decision: expected a decision or {PREDICTION!r}, got {shown(self.decision)}"
            )

    def unmet(self, certificate: Certificate) -> Iterator[str]:
        """Yield a sentence with both values for each difference."""
        settings, data = certificate.settings, certificate.data
        certified = repr(settings.epsilon)
        if certificate.requested_epsilon is not None:
            certified += f" ({certificate.requested_epsilon})"
        if self.epsilon is not None and not self._is_epsilon(certificate):
            yield unexpected("epsilon", certified, str(self.epsilon))
        if self.delta is not None and not close(settings.delta, float(self.delta)):
            yield unexpected("delta", repr(settings.delta), repr(self.delta))
        if self.decision is not None:
            decision = None if self.decision == PREDICTION else self.decision
            if settings.decision != decision:
                texts = decision_text(settings.decision), decision_text(decision)
                yield unexpected("decision", *texts)
        for name in ("association", "influence"):
            expected, actual = getattr(self, name), getattr(certificate.measures, name)
            if expected is not None and actual != expected:
                yield unexpected(name, repr(actual), repr(expected))
        separate = data.weighted and data.weights is None
        if self.weights is not None and data.weights != self.weights and not separate:
            weights = "none" if data.weights is None else repr(data.weights)
            yield unexpected("weights", weights, repr(self.weights))
        if self.judgments and not certificate.judged and certificate.witnesses:
            yield unexpected("judgments", "none", "those that you passed")

    def _is_epsilon(self, certificate: Certificate) -> bool:
        share = percentage(self.epsilon)
        if share is not None:
            requested = percentage(certificate.requested_epsilon)
            return requested is not None and close(requested, share)
        assert self.epsilon is not None
        return close(certificate.settings.epsilon, float(self.epsilon))


def unmet_attributes(
    certified: Collection[CertifiedAttribute], expected: Collection[CertifiedAttribute]
) -> Iterator[str]:
    """Yield a sentence if the verifier passed other protected attributes.

    Columns that are passed separately are known by name only.
    """
    texts = attributes_text(certified), attributes_text(expected)
    if texts[0] != texts[1]:
        yield unexpected("protected", *texts)


def checked_acceptance(accept: Iterable[str]) -> tuple[str, ...]:
    """Return what the verifier accepts; raise an error for an unknown name."""
    names = [accept] if isinstance(accept, str) else list(accept)
    for name in names:
        if name not in ACCEPTABLE:
            known = ", ".join(map(repr, ACCEPTABLE))
            raise DataError(f"accept: expected {known}, got {shown(name)}")
    return tuple(name for name in ACCEPTABLE if name in names)


def misnamed_attributes(
    certificate: Certificate, columns: Iterable[str]
) -> list[CertifiedAttribute]:
    """Return the attributes whose names say something else than what they are.

    A name that differs from its column does. So does the name of a derived attribute if it is the
    name of a column, looks like one, looks like another expression, or is so long that its
    expression could be overlooked.
    """
    known = {_letters(name) for name in columns}
    return [
        z
        for z in certificate.protected
        if (z.column is not None and z.column != z.name)
        or (
            z.expression is not None
            and z.name != z.expression
            and (_letters(z.name) in known or not like_a_name(z.name) or len(z.name) > LONGEST_NAME)
        )
    ]


_LATIN = str.maketrans("асеорхуіјѕԁһӏԛԝвкмнтαεικνορτυχ", "aceopxyijsdhlqwbkmhtaeikvoptux")


def _letters(name: str) -> str:
    r"""The letters of a name; those that look like Latin letters are Latin letters.

    Accents do not count, and neither do letters that nobody sees.

    Examples
    --------
    >>> _letters("M\u0430rried "), _letters("m\u00e1rried\u3164"), _letters("Stra\u00dfe\uff11")
    ('married', 'married', 'strasse1')
    """
    folded = unicodedata.normalize("NFKD", name).casefold().translate(_LATIN)
    return re.sub(r"[\W_\u115f\u1160\u17b4\u17b5]", "", folded)


def sampling_doubts(sampling: Sampling, audit: Audit) -> list[str]:
    """Return why sampled influences are weaker than the claim sounds."""
    standard = Sampling()
    doubts = [
        weak_level(name, getattr(sampling, name), getattr(standard, name))
        for name in ("alpha", "beta")
        if getattr(sampling, name) > getattr(standard, name)
    ]
    if number := influences_in_doubt(sampling, audit):
        doubts.append(straddling(number, audit.delta))
    return doubts


def influences_in_doubt(sampling: Sampling, audit: Audit) -> int:
    """Count the sampled influences that another seed could put on the other side of delta.

    Only associations of at least epsilon matter. The author can try all seeds, so the bound holds
    for all of them at once: by Chernoff's bound, a mean of m draws is at most x with probability at
    most ``exp(-m KL(x, delta))`` if the true mean is at least delta, and the same the other way.
    """
    measured = audit.decompositions
    associated = (measured.associations >= audit.epsilon).any(axis=1)
    means = measured.influences[associated]
    means = means[~np.isnan(means)]
    if not len(means):
        return 0
    delta = min(audit.delta, 1.0)
    divergence = rel_entr(means, delta) + rel_entr(1.0 - means, 1.0 - delta)
    needed = math.log(2 * len(means) * (MAX_SEED + 1) / SEED_ERROR)
    return int(np.count_nonzero(sampling.pairs * divergence < needed))
