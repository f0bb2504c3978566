"""A decision tree as a table of nodes, checked, and as a term.

Every library's trees pass through here, so that a malformed one is refused in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import TRUE, Const, Ite, Precision, Term
from proxyuse.models.body import Origins
from proxyuse.models.features import Feature, Test
from proxyuse.program import Origin

LEAF = -1


@dataclass(frozen=True, slots=True, eq=False)
class TreeTable:
    """Node i goes to `left[i]` if its feature is at most its threshold, else to `right[i]`.

    Attributes
    ----------
    left, right : children; LEAF in both for a leaf.
    feature, threshold : what an inner node compares.
    missing_left : whether a missing value goes left.
    leaves : for each node the constant it says if it is a leaf.
    precision : the float type to which features are rounded before they are compared.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    leaves: Sequence[Const]
    precision: Precision

    def check(self, n_features: int) -> None:
        """Refuse a table that is not a tree over `n_features` features."""
        n = len(self.left)
        lengths = {
            len(column)
            for column in (self.right, self.feature, self.threshold, self.missing_left, self.leaves)
        }
        if lengths != {n} or n == 0:
            raise TranslationError("the tree's arrays are empty or of different lengths")
        inner = self.left != LEAF
        if np.any(inner != (self.right != LEAF)):
            raise TranslationError("a node of the tree has one child only")
        children = np.concatenate([self.left[inner], self.right[inner]])
        if np.any((children < 1) | (children >= n)):
            raise TranslationError(f"a child of the tree is not a node: there are {n} nodes")
        if len(np.unique(children)) != len(children) or len(children) != n - 1:
            raise TranslationError("the tree's nodes are shared or not all reachable")
        features = self.feature[inner]
        if np.any((features < 0) | (features >= n_features)):
            raise TranslationError(f"the tree uses a feature outside its {n_features} features")
        if np.any(np.isnan(self.threshold[inner])):
            raise TranslationError("a threshold of the tree is not a number")
        self._check_reachable(n)

    def _check_reachable(self, n: int) -> None:
        """With every node a child once, a node is unreachable just if it lies on a cycle."""
        left, right = self.left.tolist(), self.right.tolist()
        seen = 0
        stack = [0]
        while stack:
            node = stack.pop()
            seen += 1
            if left[node] != LEAF:
                stack += [left[node], right[node]]
        if seen != n:
            raise TranslationError("the tree has a cycle")

    def term(self, features: Sequence[Feature], origin: Origin) -> tuple[Term, Origins]:
        """The tree as nested ites, and the origin of each by the identity of the node object.

        A node of which every row goes the same way is left out.
        """
        tests: dict[tuple[int, float, bool], Test] = {}
        lefts, rights = self.left.tolist(), self.right.tolist()
        numbers = self.feature.tolist()
        thresholds = self.threshold.astype(np.float64).tolist()
        missing_lefts = self.missing_left.astype(np.bool_).tolist()
        built: dict[int, Term] = {}
        origins: Origins = {}
        stack = [(0, False)]
        while stack:
            node, ready = stack.pop()
            left, right = lefts[node], rights[node]
            if left != LEAF and not ready:
                stack += [(node, True), (left, False), (right, False)]
                continue
            if left == LEAF:
                term: Term = Const(self.leaves[node].value)
            else:
                key = (numbers[node], thresholds[node], missing_lefts[node])
                if key not in tests:
                    tests[key] = features[key[0]].at_most(key[1], self.precision, key[2])
                test, sides = tests[key], (built.pop(left), built.pop(right))
                if test.opposite:
                    sides = sides[::-1]
                if isinstance(test.term, Const):
                    built[node] = sides[0] if test.term == TRUE else sides[1]
                    continue
                term = Ite(test.term, *sides)
            built[node] = term
            origins[id(term)] = Origin(origin.step, origin.tree, node)
        return built[0], origins
