"""Repaired decision trees predict the program's labels and keep their probabilities."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from proxyuse.datasets import load_adult
from proxyuse.lang.build import const
from proxyuse.lang.nodes import Compare, Const
from proxyuse.lang.positions import Site
from proxyuse.models.label_shares import closest_shares
from proxyuse.models.registry import translate
from proxyuse.models.write_back import write_back
from proxyuse.repairing.effort import SearchBudget
from tests.constant_repairs import by_constants

TREES = range(40)


def random_tree(seed):
    """A small tree of 2 to 4 classes, its rows, and a random generator."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 5, (80, 3)).astype(float)
    score = rows[:, 0] + 0.5 * rows[:, 1] + rng.normal(0, 1.5, 80)
    y = np.digitize(score, np.quantile(score, np.arange(1, 2 + seed % 3) / (2 + seed % 3)))
    kind = (DecisionTreeClassifier, ExtraTreeClassifier)[seed % 2]
    weight = (None, "balanced")[seed // 2 % 2]
    model = kind(max_depth=3, random_state=seed, class_weight=weight).fit(rows, y)
    return model, rows, rng


def random_repair(program, classes, rng):
    """The program with labels in place of nodes, or a truth value in place of a test."""
    points = program.points
    nodes = [p for p, written in enumerate(points.written) if written in program.origins and p]
    tests = [p for p, term in enumerate(points.terms) if isinstance(term, Compare)]
    new: dict[Site, Const] = {}
    for point in rng.permutation(nodes)[: rng.integers(1, 4)].tolist():
        site = Site(point)
        if all(points.disjoint(site, other) for other in new):
            new[site] = const(classes[rng.integers(len(classes))])
    test = Site(int(rng.choice(tests)))
    if rng.random() < 0.4 and all(points.disjoint(test, other) for other in new):
        new[test] = const(bool(rng.random() < 0.5))
    return program.replaced(new)


def repaired_trees():
    """Random trees, their rows, and repairs of their programs that leave a test."""
    for seed in TREES:
        model, rows, rng = random_tree(seed)
        program = translate(model)
        for _ in range(5):
            case = random_repair(program, model.classes_, rng)
            if not isinstance(case.term, Const):
                yield model, rows, case


def node_of_leaf(program):
    """The number of the node in the original tree, for each leaf of a program."""
    points = program.points
    return {
        program.origins[written].node: points.terms[point].value
        for point, written in enumerate(points.written)
        if written in program.origins and isinstance(points.terms[point], Const)
    }


def leaf_shares(tree):
    return tree.value[tree.children_left < 0, 0]


def test_predictions_are_those_of_the_program_and_probabilities_add_up_to_1():
    for model, rows, case in repaired_trees():
        deployed = write_back(model, case, rows)
        assert deployed.native, deployed.why
        grid = np.random.default_rng(0).uniform(-1, 6, (200, 3))
        for asked in (rows, grid):
            assert deployed.model.predict(asked).tolist() == case.predict(asked).tolist()
            shares = deployed.model.predict_proba(asked)
            np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=0, atol=1e-15)
            assert (shares >= 0).all()


def test_each_leaf_keeps_its_shares_or_gets_the_closest_that_predict_its_label():
    kept = changed = 0
    for model, rows, case in repaired_trees():
        own = model.tree_.value[:, 0]
        expected = []
        for node, label in node_of_leaf(case).items():
            index = model.classes_.tolist().index(label)
            keeps = np.argmax(own[node]) == index
            expected.append(own[node] if keeps else closest_shares(own[node], index))
            kept, changed = kept + keeps, changed + (not keeps)
        written = leaf_shares(write_back(model, case, rows).model.tree_)
        assert sorted(written.tolist()) == sorted(np.array(expected).tolist())  # bit for bit
    assert kept > 500
    assert changed > 100


def test_a_tied_node_keeps_its_shares_for_the_first_class_only():
    rows = np.array([[0.0], [0.0], [1.0], [1.0]])
    model = DecisionTreeClassifier().fit(rows, ["no", "yes", "yes", "yes"])
    program = translate(model)
    left = Site(program.points.below(0)[1])
    for label, tied in (("no", True), ("yes", False)):
        new = write_back(model, program.replaced({left: const(label)}), rows).model
        assert new.predict(rows[:1]) == [label]
        assert (new.predict_proba(rows[:1])[0].tolist() == [0.5, 0.5]) == tied


def test_a_repaired_tree_of_adult_still_ranks_people_and_knows_their_chances():
    people = load_adult().dropna().reset_index(drop=True)
    y = (people["income"] == ">50K").to_numpy()
    sex = people["sex"]
    columns = people.drop(columns=["income", "fnlwgt", "marital_status", "sex"])
    words = columns.select_dtypes(exclude="number").columns
    X = columns.assign(**{name: columns[name].factorize(sort=True)[0] for name in words})
    train, test = slice(0, 6000), slice(6000, None)
    model = DecisionTreeClassifier(max_depth=5, min_samples_leaf=30, random_state=0)
    model.fit(X[train], y[train])
    repair = by_constants(
        model, X[train], y[train], protected={"sex": sex[train]},
        epsilon=0.1, delta=0.05, collections=False, effort=SearchBudget(),
    )  # fmt: skip
    assert len(repair.steps) > 0
    assert np.mean(repair.model.predict(X[train]) != model.predict(X[train])) > 0.03
    before, after = (
        (roc_auc_score(y[test], shares[:, 1]), log_loss(y[test], shares))
        for shares in (tree.predict_proba(X[test]) for tree in (model, repair.model))
    )
    assert after[0] >= before[0] - 0.02
    base = np.full(len(y[test]), y[train].mean())
    assert after[1] < log_loss(y[test], base) - 0.1
