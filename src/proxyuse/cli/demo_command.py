"""``proxyuse demo``: train a model on census data and audit it, in a few seconds."""

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
from proxyuse.io.writing import make_folder, written_together
from proxyuse.report.document import document
from proxyuse.report.render.text import audit_text

MARRIED = ("Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent")
EXCLUDED = ("income", "marital_status", "fnlwgt")
TRAINING_ROWS = 32_561  # as the publisher of the data split them


def run(options: argparse.Namespace) -> int:
    """Train a model without marital status, then look for marital status inside it."""
    with bar(options.json) as progress:
        progress.stage("training a model")
        model, people, accuracy = _trained()
        progress.stage("auditing the model")
        result = audit(model, people, {"married": people["married"]}, progress=progress)
        content = document(result)
    files = {} if options.files is None else _kept(options.files, model, people)
    if options.report is not None:
        from proxyuse.report.render.html.page import page_text

        make_folder(options.report.parent)
        files[options.report] = page_text(result, document=content)
    written_together(files)
    if options.json:
        print_json(content)
        return 0
    print_text(
        f"A decision tree predicts incomes above $50,000 with {accuracy:.0%} accuracy. It was "
        f"trained on {TRAINING_ROWS:,}\ncensus records without marital status. Does it use marital "
        f"status anyway? The audit uses\n{len(people):,} other records.\n"
    )
    print_text(audit_text(content, color=False), audit_text(content, color=True))
    print_text("")
    if options.report is not None:
        print_text(f"HTML report: {options.report}\n")
    print_text(_next(options.files))
    return 0


def _trained() -> tuple[Any, Any, float]:
    """Return a pipeline, held-out data with a column `married`, and its accuracy on that data."""
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
    X = adult.drop(columns=list(EXCLUDED))
    words = list(X.select_dtypes(exclude="number"))
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, words), remainder="passthrough")
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    model = make_pipeline(columns, tree)
    model.fit(X[:TRAINING_ROWS], adult["income"][:TRAINING_ROWS])
    people = X.assign(income=adult["income"], married=adult["marital_status"].isin(MARRIED))
    people = people[TRAINING_ROWS:]
    return model, people, float(model.score(people[X.columns], people["income"]))


def _kept(folder: Path, model: Any, people: Any) -> dict[Path, str | bytes]:
    """Return the content of the files that are kept."""
    try:
        from skops.io import dumps
    except ImportError:
        raise FileError(
            "--files writes the model with skops, which is not installed: "
            "pip install 'proxyuse[files]'"
        ) from None
    make_folder(folder)
    return {
        folder / "model.skops": dumps(model),
        folder / "people.csv": people.to_csv(index=False),
    }


def _next(files: Path | None) -> str:
    program, folder = _command_name(), files or Path("demo")
    command = (
        f"{program} audit --model {folder}/model.skops --data {folder}/people.csv "
        "--protected married --target income"
    )
    if files is not None:
        return f"Next: audit the same model from files, as you would audit your own:\n  {command}"
    return (
        f"Next: audit the same model from files, as you would audit your own:\n"
        f"  {program} demo --files {folder}\n  {command}"
    )


def _command_name() -> str:
    """Return how to call the command: by name, or by path if the shell does not find it."""
    path = Path(sys.argv[0])
    return str(path) if path.name == "proxyuse" and not shutil.which("proxyuse") else "proxyuse"
