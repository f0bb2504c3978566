"""``proxyuse demo``: a model of census data, audited, in a few seconds."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from proxyuse.auditing import audit
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import bar
from proxyuse.datasets import load_adult
from proxyuse.errors import FileError
from proxyuse.io.writing import make_folder, written
from proxyuse.report.answer import answer
from proxyuse.report.document import document

MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
LEFT_OUT = ("income", "marital_status", "fnlwgt")


def run(given: argparse.Namespace) -> int:
    """Train on everything but marital status, then look for marital status inside the model."""
    with bar(given.json) as progress:
        progress.stage("training a model")
        model, people, right = _trained()
        progress.stage("looking inside it")
        found = audit(model, people, {"married": people["married"]}, progress=progress)
        result = document(found)
    if given.files is not None:
        _keep(given.files, model, people)
    if given.report is not None:
        make_folder(given.report.parent)
        found.to_html(given.report)
    if given.json:
        print_json(result)
        return 0
    print_text(
        f"A decision tree learned to tell incomes above 50,000 dollars from {len(people):,} census "
        f"records\n({right:.0%} right). It was not given anyone's marital status. Does it use it "
        "all the same?\n"
    )
    print_text(answer(result, color=False), answer(result, color=True))
    print_text("\nWhether this use is acceptable is for people to judge.\n")
    if given.report is not None:
        print_text(f"The same as a page to read in a browser, with a picture: {given.report}\n")
    print_text(_next(given.files))
    return 0


def _trained() -> tuple[Any, Any, float]:
    """A pipeline, its data with a column `married`, and how often it is right."""
    try:
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise FileError(
            "the demo trains a model with scikit-learn, which is not installed: "
            "pip install 'proxyuse[demo]'"
        ) from None
    adult = load_adult()
    X = adult.drop(columns=list(LEFT_OUT))
    words = list(X.select_dtypes(exclude="number"))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, words), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    model = make_pipeline(columns, tree).fit(X, adult["income"])
    people = X.assign(income=adult["income"], married=adult["marital_status"].isin(MARRIED))
    return model, people, float(model.score(X, adult["income"]))


def _keep(folder: Path, model: Any, people: Any) -> None:
    try:
        from skops.io import dumps
    except ImportError:
        raise FileError(
            "--files writes the model with skops, which is not installed: "
            "pip install 'proxyuse[files]'"
        ) from None
    make_folder(folder)
    written(folder / "model.skops", dumps(model))
    written(folder / "people.csv", people.to_csv(index=False))


def _next(files: Path | None) -> str:
    program, folder = _called(), files or Path("demo")
    command = (
        f"{program} audit --model {folder}/model.skops --data {folder}/people.csv "
        "--protected married --target income"
    )
    if files is not None:
        return f"The same from files, as you would with a model of your own:\n  {command}"
    return (
        f"Next, the same from files, as you would with a model of your own:\n"
        f"  {program} demo --files {folder}\n  {command}"
    )


def _called() -> str:
    """How to call the command line: by its name, or by its path where the shell does not know."""
    path = Path(sys.argv[0])
    return str(path) if path.name == "proxyuse" and not shutil.which("proxyuse") else "proxyuse"
