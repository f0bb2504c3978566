"""A decision tree as a table of nodes, checked, and as a term.

Every library's trees pass through here, so that a malformed one is refused in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import TRUE, Const, Ite, Precision, Term, Value, postorder
from proxyuse.models.body import Origins
from proxyuse.models.features import Coded, Feature, Fixed, Raw, Test
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
    leaves : for each node the constant, or number, it says if it is a leaf.
    precision : the float type to which features are rounded before they are compared.
    strict : whether a feature equal to its threshold goes right.
    members : for each node that asks for categories those that go left.
    cut_off : leaves that no node leads to any more.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    leaves: Sequence[Const] | Array
    precision: Precision
    strict: bool = False
    members: Mapping[int, tuple[Value, ...]] = field(default_factory=dict)
    cut_off: frozenset[int] = frozenset()

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
        linked = n - len(self.cut_off)
        if len(children) != linked - 1 or np.bincount(children, minlength=n).max() > 1:
            raise TranslationError("the tree's nodes are shared or not all reachable")
        features = self.feature[inner]
        if np.any((features < 0) | (features >= n_features)):
            raise TranslationError(f"the tree uses a feature outside its {n_features} features")
        if np.any(np.isnan(self.threshold[inner])):
            raise TranslationError("a threshold of the tree is not a number")
        if not all(0 <= node < n and inner[node] for node in self.members):
            raise TranslationError("the tree has categories where there is no test")
        if not all(self.members.values()):
            raise TranslationError("a node of the tree asks for categories and names none")
        self._from_the_root()

    def term(self, features: Sequence[Feature], origin: Origin) -> tuple[Term, Origins]:
        """The tree as nested ites, and the origin of each by the identity of the node object.

        A node of which every row goes the same way is left out.
        """
        lefts, rights, tests = self.left.tolist(), self.right.tolist(), self._tests(features)
        said, step, tree = self._said(), origin.step, origin.tree
        built: dict[int, Term] = {}
        origins: Origins = {}
        dropped: list[Term] = []  # not let go before their origins: identities are used again
        for node in reversed(self._from_the_root()):
            test = tests[node]
            if test is None:
                term: Term = Const(said[node])
            else:
                then, otherwise = built.pop(lefts[node]), built.pop(rights[node])
                if test.opposite:
                    then, otherwise = otherwise, then
                if isinstance(test.term, Const):
                    taken, never = (then, otherwise) if test.term == TRUE else (otherwise, then)
                    built[node] = taken
                    dropped.append(never)
                    continue
                term = Ite(test.term, then, otherwise)
            built[node] = term
            origins[id(term)] = Origin(step, tree, node)
        for part in (part for term in dropped for part in postorder(term)):
            origins.pop(id(part), None)
        return built[0], origins

    def _said(self) -> list[Value]:
        if isinstance(self.leaves, np.ndarray):
            return list(self.leaves.astype(np.float64).tolist())
        return [leaf.value for leaf in self.leaves]

    def _from_the_root(self) -> Sequence[int]:
        """The nodes, each before its children.

        With every node a child once, one is not met just if it lies on a cycle.
        """
        inner = np.flatnonzero(self.left != LEAF)
        in_order = np.all(inner < np.minimum(self.left[inner], self.right[inner]))
        if in_order and not self.cut_off:
            return range(len(self.left))
        lefts, rights = self.left.tolist(), self.right.tolist()
        order = [0]
        for node in order:
            if lefts[node] != LEAF:
                order += (lefts[node], rights[node])
        if len(order) != len(lefts) - len(self.cut_off):
            raise TranslationError("the tree has a cycle")
        return order

    def _tests(self, features: Sequence[Feature]) -> list[Test | None]:
        """What each node asks, None for a leaf; equal questions are one object."""
        kept: dict[tuple[int, float, bool], Test] = {}
        tests: list[Test | None] = []
        columns = (self.left, self.feature, self.threshold.astype(np.float64), self.missing_left)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for node, (left, feature, threshold, missing) in enumerate(rows):
            if left == LEAF:
                tests.append(None)
            elif node in self.members:
                tests.append(among(features[feature], self.members[node], bool(missing)))
            else:
                key = (feature, threshold, bool(missing))
                if key not in kept:
                    kept[key] = features[feature].at_most(
                        threshold, self.precision, key[2], strict=self.strict
                    )
                tests.append(kept[key])
        return tests


def among(feature: Feature, values: Sequence[Value], missing: bool) -> Test:
    """Whether a feature has one of some values; `missing` is the answer where it is missing."""
    match feature:
        case Raw(name):
            answers = Coded(name, dict.fromkeys(values, 0.0), 1.0, 0.0 if missing else 1.0)
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Coded(name, numbers, default, lost):

            def answer(number: float) -> float:
                if number != number:
                    return 0.0 if missing else 1.0
                return 0.0 if number in values else 1.0

            coded = {value: answer(number) for value, number in numbers.items()}
            answers = Coded(name, coded, answer(default), answer(lost))
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Fixed(number):
            found = missing if number != number else number in values
            return Test(Const(found))
        case _:
            return Test(member(feature.term(), values, missing))
