"""Collective witnesses, and whether they exist in the population.

A collection at epsilon has every candidate with an association of at least epsilon (see
`detect.collections`). It is a *collective witness* if its influence is above delta, and it is
*distributed* if no single member has an influence above delta.

Members are chosen on the rows, and their influence is high in part because of that. So the rows are
split in halves, by a hash of their content that never separates the rows of one cluster:

1. On the first half, the members are the candidates whose lower bound of the association passes
   epsilon. The bounds hold for all candidates at once.
2. On the second half, the influence of these members has a lower bound. The collection is confirmed
   if it is above delta.

Each step has half of the level. The members are fixed before the second half is seen, so the bound
needs no correction for their choice. The collections of all attributes together have
`levels.SHARE_OF_COLLECTIONS` of the alpha of the audit.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np

from proxyuse.detect.collections import (
    LEVELS,
    Candidates,
    Curve,
    candidates_of,
    curve_of,
    strongest_single,
)
from proxyuse.detect.collective_witness import (
    Collection,
    CollectionMember,
    ConfirmedCollection,
    VariableShare,
)
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, variables
from proxyuse.measure.collective import (
    BETA,
    CollectiveInfluence,
    Family,
    collective_influences,
)
from proxyuse.methods import Confirmation
from proxyuse.validity.chosen_sums import can_split
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.fitted import Choices
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.levels import SHARE_OF_COLLECTIONS
from proxyuse.validity.sample import Observed, halves
from proxyuse.validity.table_bounds import table_bounds
from proxyuse.verdict import Verdict

MOST_VARIABLES = 8
"""The number of variables for which the influence of their members alone is measured."""


class Collections:
    """The collections and curves of one audit, measured on first use.

    `candidates` is None if influence is sampled or not a share of pairs, or if the program is too
    large and not made of trees.
    """

    def __init__(self, evidence: Evidence, confirmation: Confirmation | None) -> None:
        self.evidence, self.confirmation = evidence, confirmation
        self.candidates = candidates_of(evidence.engine, evidence.association)
        self._curves: dict[tuple[int, tuple[float, ...]], Curve] = {}
        self._known: dict[tuple[int, frozenset[bytes]], Collection | None] = {}

    def curve(self, attribute: int, levels: tuple[float, ...]) -> Curve:
        """Return the curve of an attribute over some levels and epsilon."""
        assert self.candidates is not None
        if (attribute, levels) not in self._curves:
            evidence = self.evidence
            self._curves[attribute, levels] = curve_of(
                self.candidates, attribute, levels, epsilon=evidence.epsilon, delta=evidence.delta
            )
        return self._curves[attribute, levels]

    def of(self, attribute: int, without: frozenset[bytes] = frozenset()) -> Collection | None:
        """Return the collection of an attribute at epsilon; None with fewer than two members.

        `without` has the digests of computations that are left out, because they were judged
        appropriate.
        """
        if (attribute, without) not in self._known:
            self._known[attribute, without] = self._measured(attribute, without)
        return self._known[attribute, without]

    def _measured(self, attribute: int, without: frozenset[bytes]) -> Collection | None:
        evidence, candidates = self.evidence, self.candidates
        if candidates is None:
            return None
        passing = candidates.associations[:, attribute] >= evidence.epsilon
        numbers = candidates.ordered(attribute)[: int(passing.sum())]
        numbers = _remaining(candidates, numbers, without)
        if len(numbers) < 2:
            return None
        size, influence, family = self._most_influential(attribute, numbers)
        numbers = numbers[:size]
        terms = [candidates.term(number) for number in numbers.tolist()]
        passes = influence.high > evidence.delta
        confirmed = self._confirmed(attribute, without) if passes else None
        return Collection(
            evidence.engine.protected_names[attribute],
            candidates.kind,
            evidence.epsilon,
            evidence.delta,
            tuple(
                CollectionMember(
                    term,
                    evidence.engine.program.brief(term),
                    float(candidates.associations[number, attribute]),
                    candidates.sites(number),
                    number,
                )
                for term, number in zip(terms, numbers.tolist(), strict=True)
            ),
            _variables(terms),
            candidates.trees(numbers),
            influence,
            _by_variable(candidates, numbers, terms, evidence.delta) if passes else (),
            strongest_single(candidates, numbers),
            family.bound(len(numbers)),
            _verdict(influence, evidence.delta, confirmed),
            confirmed,
            _id(terms),
        )

    def _most_influential(
        self, attribute: int, numbers: Array
    ) -> tuple[int, CollectiveInfluence, Family]:
        """All members, or if they change too little together, those of the best higher level.

        Influence is not monotone, so fewer members can change more.
        """
        evidence, candidates = self.evidence, self.candidates
        assert candidates is not None
        family, everyone = candidates.family(numbers), len(numbers)
        (whole,) = collective_influences(family, [everyone], evidence.delta)
        if whole.high > evidence.delta or family.bound(everyone) <= evidence.delta:
            return everyone, whole, family
        associations = candidates.associations[numbers, attribute]
        counts = {int(np.count_nonzero(associations >= e)) for e in LEVELS if e > evidence.epsilon}
        sizes = sorted(count for count in counts if 1 < count < everyone)
        found = zip(collective_influences(family, sizes, evidence.delta), sizes, strict=True)
        above = [(known, size) for known, size in found if known.high > evidence.delta]
        best, size = max(above, key=lambda pair: pair[0].influence, default=(whole, everyone))
        return size, best, family

    # Confirmation

    def _confirmed(self, attribute: int, without: frozenset[bytes]) -> ConfirmedCollection | None:
        """Choose members on one half of the rows, and bound their influence on the other."""
        options, evidence = self.confirmation, self.evidence
        if options is None or not can_split(evidence.population, options.weights):
            return None
        observed = Observed.of(evidence, options.weights)
        first = halves(evidence, observed)
        sizes = int(first.sum()), int((~first).sum())
        if min(sizes) == 0:
            return None
        alpha = options.alpha * SHARE_OF_COLLECTIONS / len(evidence.engine.protected_names)
        numbers = self._chosen(attribute, first, observed, alpha / 2, options)
        assert self.candidates is not None
        numbers = _remaining(self.candidates, numbers, without)
        if len(numbers) < 2:
            return ConfirmedCollection(len(numbers), 0.0, sizes)
        other = evidence.engine.on(evidence.population.taking(~first))
        candidates = candidates_of(other, evidence.association)
        assert candidates is not None
        family = candidates.family(numbers)
        (influence,) = collective_influences(family, [len(numbers)], evidence.delta)
        level = max(alpha / 2 - BETA, 0.0)
        low, _ = influence_bounds(influence.low, None, observed.taking(~first), level)
        return ConfirmedCollection(len(numbers), low, sizes)

    def _chosen(
        self,
        attribute: int,
        first: Array,
        observed: Observed,
        level: float,
        options: Confirmation,
    ) -> Array:
        """The candidates whose association passes epsilon by its bound on the first half."""
        evidence = self.evidence
        engine = evidence.engine.on(evidence.population.taking(first))
        candidates = candidates_of(engine, evidence.association)
        assert candidates is not None
        associations = candidates.associations[:, attribute]
        seen, training = observed.taking(first), evidence.matches_training
        if options.rows is not None:
            training = options.rows == "training"
        choices = None
        if training:
            choices = Choices.of(evidence.population, len(engine.program.inputs))
        chosen = []
        for number in candidates.ordered(attribute).tolist():
            if associations[number] < evidence.epsilon:
                break
            term = candidates.term(number)
            own = level / len(candidates)
            if choices is not None:
                own = level * math.exp(choices.log_share(term, math.log(len(candidates))))
            table = engine.tables(term, evidence.association)[attribute]
            bounds = table_bounds(
                engine, evidence.association, term, table, seen, own, options.seed
            )
            if bounds.lower >= evidence.epsilon:
                chosen.append(number)
        return np.array(chosen, dtype=np.intp)


def _remaining(candidates: Candidates, numbers: Array, without: frozenset[bytes]) -> Array:
    """Some candidates, except those with these digests."""
    if not without:
        return numbers
    kept = [candidates.term(number).digest not in without for number in numbers.tolist()]
    return numbers[np.array(kept, dtype=np.bool_)]


def _by_variable(
    candidates: Candidates, numbers: Array, terms: list[Term], delta: float
) -> tuple[VariableShare, ...]:
    """The influence of the members that read each variable; those with the most members only."""
    reading: dict[str, list[int]] = {}
    for number, term in zip(numbers.tolist(), terms, strict=True):
        for name in variables(term):
            reading.setdefault(name, []).append(number)
    most = sorted(reading.items(), key=lambda item: -len(item[1]))[:MOST_VARIABLES]
    shares = []
    for name, members in most:
        family = candidates.family(np.array(members, dtype=np.intp))
        (influence,) = collective_influences(family, [len(members)], delta)
        shares.append(VariableShare(name, len(members), influence))
    return tuple(sorted(shares, key=lambda share: -share.influence.influence))


def _verdict(
    influence: CollectiveInfluence, delta: float, confirmed: ConfirmedCollection | None
) -> Verdict:
    if influence.high <= delta:
        return Verdict.NOT_FOUND
    if confirmed is not None and confirmed.influence > delta:
        return Verdict.CONFIRMED
    return Verdict.POSSIBLE


def _variables(terms: list[Term]) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for term in terms:
        names.update(dict.fromkeys(variables(term)))
    return tuple(names)


def _id(terms: list[Term]) -> str:
    digests = sorted(term.digest for term in terms)
    return hashlib.blake2b(b"".join(digests), digest_size=8).hexdigest()
