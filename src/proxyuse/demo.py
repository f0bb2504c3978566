"""Train a small tree on the Adult census data, audit it and say what was found.

Run it with ``python -m proxyuse.demo``.
"""

from __future__ import annotations

import time

from proxyuse.audit import Audit, audit
from proxyuse.datasets import load_adult

MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
LEFT_OUT = ("income", "marital_status", "fnlwgt")


def run() -> Audit:
    """Train on everything but marital status, then look for marital status inside the model."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    adult = load_adult()
    features = pd.get_dummies(adult.drop(columns=list(LEFT_OUT)))
    tree = DecisionTreeClassifier(max_depth=5, random_state=0).fit(features, adult["income"])
    accuracy = tree.score(features, adult["income"])
    print(
        f"A decision tree of {tree.tree_.node_count} nodes learned to tell incomes above 50,000 "
        f"dollars\nfrom {len(adult):,} census records ({accuracy:.0%} right). It was not given "
        "anyone's marital status.\nDoes it use marital status all the same?\n"
    )
    married = adult["marital_status"].isin(MARRIED)
    return audit(tree, features, protected={"married": married}, epsilon=0.1, delta=0.05)


def main() -> None:
    """Run and print."""
    start = time.perf_counter()
    print(run())
    print(
        f"\nThat took {time.perf_counter() - start:.0f} s. Whether this use is acceptable is for "
        "people to judge.\nTo audit a model of your own see the Python example in README.md."
    )


if __name__ == "__main__":
    main()
