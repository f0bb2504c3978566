"""Which terms of a program are tests and subtrees of its trees, and which ones they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Terms, and what they are in trees.

    Attributes
    ----------
    at_test, tests : the places of those that are tests, and which ones they are.
    at_node, nodes : the same for subtrees.
    others : the places of the others.
    """

    terms: Sequence[Term]
    at_test: Array
    tests: Array
    at_node: Array
    nodes: Array
    others: Array


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The number of each distinct test, and a node for each distinct subtree, by digest."""

    tests: dict[bytes, int]
    nodes: dict[bytes, int]
    _asked: dict[int, Asked] = field(default_factory=dict)

    def asked(self, terms: Sequence[Term]) -> Asked:
        """Which of some terms are tests and which are subtrees; kept for the last ones asked."""
        known = self._asked.get(id(terms))
        if known is not None and known.terms is terms:
            return known
        test = np.array([self.tests.get(term.digest, -1) for term in terms], dtype=np.intp)
        node = np.array([self.nodes.get(term.digest, -1) for term in terms], dtype=np.intp)
        asked = Asked(
            terms=terms,
            at_test=np.flatnonzero(test >= 0),
            tests=test[test >= 0],
            at_node=np.flatnonzero(node >= 0),
            nodes=node[node >= 0],
            others=np.flatnonzero((test < 0) & (node < 0)),
        )
        self._asked.clear()
        self._asked[id(terms)] = asked
        return asked
