"""What a verdict needs beside the witnesses.

Explicit use, collections, and whether epsilon is in reach.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from proxyuse.detect.collective_witness import Collection
from proxyuse.methods import Confirmation, Method
from proxyuse.validity.collections import Collections
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.explicit_use import ExplicitUse, explicit_uses
from proxyuse.validity.reachable import out_of_reach
from proxyuse.verdict import EpsilonOutOfReach


@dataclass(frozen=True, slots=True, eq=False)
class BeyondWitnesses:
    """What a verdict needs beside the witnesses.

    Attributes
    ----------
    explicit : the columns that determine a protected attribute.
    collections : the collection of each protected attribute that has one.
    unreachable : the attributes with which no computation can reach epsilon, by name.
    """

    explicit: tuple[ExplicitUse, ...] = ()
    collections: tuple[Collection, ...] = ()
    unreachable: Mapping[str, EpsilonOutOfReach] = field(default_factory=dict)


def beyond_witnesses(
    evidence: Evidence | None, methods: Sequence[Method], collections: Collections | None
) -> BeyondWitnesses:
    """Find explicit uses and collections, and whether epsilon is in reach.

    Finds nothing without evidence. Explicit uses and collections can be confirmed only if
    confidence bounds are among the methods.
    """
    if evidence is None:
        return BeyondWitnesses()
    attributes = () if collections is None else range(len(evidence.engine.protected_names))
    return BeyondWitnesses(
        explicit_uses(evidence, confirmation_of(methods)),
        tuple(filter(None, (collections.of(index) for index in attributes if collections))),
        out_of_reach(evidence),
    )


def confirmation_of(methods: Sequence[Method]) -> Confirmation | None:
    """Return the confidence bounds among some methods, if there are any."""
    return next((m for m in methods if isinstance(m, Confirmation)), None)
