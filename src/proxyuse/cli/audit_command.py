"""``proxyuse audit``: files in, an answer out."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from proxyuse.auditing import Audit, audit
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import Bar, bar
from proxyuse.errors import DataError, FileError
from proxyuse.files.data import LoadedData, load_data
from proxyuse.files.models import LoadedModel, load_model
from proxyuse.files.writing import written
from proxyuse.models.decisions import Threshold
from proxyuse.models.registry import input_names, saw_names
from proxyuse.program import Program
from proxyuse.project import Project, find_project, read_project
from proxyuse.report.answer import answer, exit_code
from proxyuse.report.document import MIN_CELL, as_text, document
from proxyuse.report.markdown import markdown
from proxyuse.report.spreadsheet import csv_text

EPSILON, DELTA = 0.1, 0.05

SAID = (
    "model", "data", "protected", "target", "weights", "where", "protected_data", "key",
    "epsilon", "delta", "min_cell", "missing_protected", "threads",
)  # fmt: skip
"""Options that the project file knows, too."""


def run(given: argparse.Namespace) -> int:
    """Audit, print, write, and say with the exit code what was found."""
    asked = settings(given)
    _check_outputs(asked)
    assert asked.model is not None
    with bar(given.quiet) as progress:
        model = load_model(asked.model, trust_pickle=given.trust_pickle)
        found, data = audited(asked, model, given.decision_threshold, progress)
    result = document(
        found,
        about=about(asked, model, data),
        min_cell=MIN_CELL if asked.min_cell is None else asked.min_cell,
    )
    _write(asked, result)
    if given.json:
        print_json(result)
    else:
        print_text(answer(result, color=False), answer(result, color=True))
        print_text(*2 * (next_steps(asked, result),))
    return exit_code(result)


def settings(given: argparse.Namespace) -> Project:
    """What the command line says, and where it is silent, the project file."""
    project = read_project(given.project) if given.project else find_project(Path.cwd())
    said = {name: getattr(given, name) for name in SAID if getattr(given, name) is not None}
    if "protected" in said:
        said["protected"] = tuple(said["protected"])
    asked = replace(project or Project(Path.cwd() / "proxyuse.toml"), **said)
    outputs = {"json": given.output, "csv": given.csv, "markdown": given.markdown}
    chosen = {kind: path for kind, path in outputs.items() if path is not None}
    asked = replace(asked, output=replace(asked.output, **chosen))
    for name in ("model", "data", "protected"):
        if not getattr(asked, name):
            raise FileError(
                f"no --{name} is given; name it here, or write a proxyuse.toml with "
                "model, data and protected (see proxyuse audit --help)"
            )
    if (asked.protected_data is None) != (asked.key is None):
        raise FileError("--protected-data and --key belong together: give both or none")
    return asked


def audited(
    asked: Project, model: LoadedModel, decision_threshold: float | None, progress: Bar | None
) -> tuple[Audit, LoadedData]:
    """Read the data and audit."""
    assert asked.data is not None
    assert asked.protected is not None
    data = load_data(
        asked.data,
        protected=asked.protected,
        target=asked.target,
        weights=asked.weights,
        where=asked.where,
        protected_data=asked.protected_data,
        key=asked.key,
    )
    if progress is not None:
        progress.stage("translating the model")
    X, protected, weights = given_to(model.model, data, asked)
    _check_values(data, asked)
    found = audit(
        model.model,
        X,
        protected,
        EPSILON if asked.epsilon is None else asked.epsilon,
        DELTA if asked.delta is None else asked.delta,
        weights=weights,
        missing_protected=asked.missing_protected or "refuse",
        decision=None if decision_threshold is None else Threshold(decision_threshold),
        threads=1 if asked.threads is None else asked.threads,
        progress=progress,
    )
    return found, data


def given_to(model: Any, data: LoadedData, asked: Project) -> tuple[Any, dict[str, Any], Any]:
    """The columns that a model may see, the protected attributes, the weights.

    A model that knows names picks its columns. Any other is given all columns in their order but
    those set apart: protected, target, weights, key.
    """
    if isinstance(model, Program) or saw_names(model):
        return data.frame, data.protected, data.weights
    apart = {*(asked.protected or ()), asked.target, asked.weights, asked.key}
    X = data.frame[[name for name in data.frame.columns if name not in apart]]
    wanted = len(input_names(model, None))
    if X.shape[1] != wanted:
        raise DataError(
            f"the model was fitted on {wanted} columns without names, and the data has "
            f"{X.shape[1]} beside those set apart; give it exactly the model's columns in its "
            "order (--target and --weights set columns apart)"
        )
    columns = data.frame
    protected = {
        name: columns[source] if isinstance(source, str) else source
        for name, source in data.protected.items()
    }
    return X, protected, None if data.weights is None else columns[data.weights]


def _check_values(data: LoadedData, asked: Project) -> None:
    """Refuse protected attributes that tell nobody apart."""
    for name, source in data.protected.items():
        values = data.frame[source] if isinstance(source, str) else source
        if values.nunique(dropna=asked.missing_protected != "category") == 1:
            raise DataError(
                f"the protected attribute {name!r} has one value only in these "
                f"{len(values):,} rows, so nothing can tell it apart; audit rows with several"
            )


def about(asked: Project, model: LoadedModel, data: LoadedData) -> dict[str, object]:
    """What the result says of its files: names without folders, and what is in them as hashes."""
    return {
        "model": {
            "file": model.path.name,
            "kind": model.kind,
            "sha256": model.sha256,
            "saved_with": model.saved_with,
        },
        "data": {
            "files": [
                {"file": Path(path).name, "sha256": digest} for path, digest in data.sha256.items()
            ],
            "rows_read": data.n_read,
            "where": asked.where,
            "weights": asked.weights,
            "target": asked.target,
        },
        "notes": list(data.notes),
    }


def _check_outputs(asked: Project) -> None:
    """Find out before the work whether its result can be written."""
    for path in (asked.output.json, asked.output.csv, asked.output.markdown):
        if path is not None and not path.parent.is_dir():
            raise FileError(f"{path}: there is no folder {path.parent}; make it first")


def _write(asked: Project, result: dict[str, Any]) -> None:
    if asked.output.json is not None:
        written(asked.output.json, as_text(result))
    if asked.output.csv is not None:
        written(asked.output.csv, csv_text(result))
    if asked.output.markdown is not None:
        written(asked.output.markdown, markdown(result))


def next_steps(asked: Project, result: dict[str, Any]) -> str:
    """What to do with the answer."""
    lines = ["", "What to do next"]
    kept = asked.output.json
    file = kept.name if kept else "audit.json"
    if kept is None:
        lines.append("- keep the result: the same command with --output audit.json")
    if result["witnesses"]:
        first = result["witnesses"][0]["id"]
        lines += [
            f"- see one finding in detail: proxyuse show {file} --witness {first}",
            "- decide for each group whether the use is acceptable, and write down why",
        ]
    else:
        lines.append("- ask at other thresholds (--epsilon, --delta) and on other groups of people")
    lines.append(f"- after retraining, what is new: proxyuse diff {file} NEW.json")
    return "\n".join(lines)
