"""``proxyuse audit``: files in, an answer out."""

from __future__ import annotations

import argparse
import math
import os
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from proxyuse.auditing import DELTA, EPSILON, Audit, audit
from proxyuse.certificate.certificate import certify
from proxyuse.cli.budget_option import budget_from
from proxyuse.cli.data_files import LoadedData, load_data
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import Bar, bar
from proxyuse.cli.validity_options import wanted
from proxyuse.errors import DataError, FileError
from proxyuse.io.writing import check_writable, make_folder, written
from proxyuse.judge.judgment import first_of
from proxyuse.judge.policy import Policy, read_policy
from proxyuse.judge.records import Records
from proxyuse.models.boosted import says_probability
from proxyuse.models.decisions import Threshold
from proxyuse.models.files import LoadedModel, load_model
from proxyuse.models.registry import input_names, saw_names
from proxyuse.program import Program
from proxyuse.project import Project, find_project, read_project
from proxyuse.report.answer import answer, exit_code
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.document import MIN_CELL, document
from proxyuse.report.junit import junit
from proxyuse.report.markdown import markdown
from proxyuse.report.remarks import without_small_counts
from proxyuse.report.sarif import sarif
from proxyuse.report.saved import as_text
from proxyuse.report.spreadsheet import csv_text

SAID = (
    "model", "data", "protected", "target", "weights", "where", "protected_data", "key",
    "epsilon", "delta", "association", "min_cell", "missing_protected", "threads", "time_limit",
    "policy", "judgments",
)  # fmt: skip
"""Options that the project file knows, too."""


def run(given: argparse.Namespace) -> int:
    """Audit, print, write, and say with the exit code what was found."""
    asked = settings(given)
    _make_output_folders(given, asked)
    check_outputs(asked, (*vars(asked.output).values(), given.certificate))
    records = None if asked.judgments is None else Records.open(asked.judgments)
    policy = None if asked.policy is None else read_policy(asked.policy)
    found, result = audited_files(given, asked, records, policy)
    certificate = None
    if given.certificate is not None:
        certificate = certify(found, first_of(records, policy)).to_json()
    unwritten = _write(asked, result, given.certificate, certificate)
    unwritten = unwritten or _write_page(asked.output.report, found, result)
    if given.json:
        print_json(result)
    else:
        print_text(answer(result, color=False), answer(result, color=True))
        print_text(next_steps(asked, result))
    if unwritten is not None:
        raise unwritten
    return exit_code(result)


def audited_files(
    given: argparse.Namespace, asked: Project, records: Records | None, policy: Policy | None
) -> tuple[Audit, dict[str, Any]]:
    """Read the files and audit: what was found, and the document that tells it."""
    assert asked.model is not None
    with bar(given.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(asked.model, trust_pickle=given.trust_pickle)
        threshold = given.decision_threshold
        if threshold is None and says_probability(model.model):
            threshold = 0.5
        found, data = audited(asked, model, threshold, progress)
        progress.stage("putting the result together")
        told = about(asked, model, data, threshold)
        told["notes"] += oracle_notes(records, policy)
        result = document(
            found,
            about=told,
            min_cell=min_cell(asked),
            oracle=first_of(records, policy),  # people on single witnesses go before the rules
            confirmed_only=bool(asked.validity.confirmed_only),
        )
    return found, result


def settings(given: argparse.Namespace) -> Project:
    """What the command line says, and where it is silent, the project file."""
    project = read_project(given.project) if given.project else find_project(Path.cwd())
    said = {
        name: getattr(given, name)
        for name in SAID
        if getattr(given, name, None) is not None  # `repair` has no time limit
    }
    if "protected" in said:
        said["protected"] = tuple(said["protected"])
    asked = replace(project or Project(Path.cwd() / "proxyuse.toml"), **said)
    kinds = {kind: "output" if kind == "json" else kind for kind in vars(asked.output)}
    outputs = {kind: getattr(given, name, None) for kind, name in kinds.items()}  # of `audit` only
    chosen = {kind: path for kind, path in outputs.items() if path is not None}
    asked = replace(asked, output=replace(asked.output, **chosen))
    asked = replace(asked, validity=wanted(given, asked.validity))
    if given.budget:
        asked = replace(asked, budget=budget_from(given.budget, asked.budget))
    for name in ("model", "data", "protected"):
        if not getattr(asked, name):
            raise FileError(
                f"no --{name} is given; name it here, or write a proxyuse.toml with "
                "model, data and protected (see proxyuse audit --help)"
            )
    if (asked.protected_data is None) != (asked.key is None):
        raise FileError("--protected-data and --key belong together: give both or none")
    if asked.target in asked.protected:  # type: ignore[operator]
        raise FileError(
            f"{asked.target!r} is the target and cannot be a protected attribute as well: a model "
            "that predicts it is meant to tell it apart"
        )
    _check_numbers(asked, given.decision_threshold)
    return asked


def _check_numbers(asked: Project, decision_threshold: float | None) -> None:
    """Refuse numbers before files are read, which may take a while."""
    check_min_cell(min_cell(asked))
    for name, share in (("epsilon", asked.epsilon), ("delta", asked.delta)):
        if share is not None and not 0 <= share <= 1:
            raise DataError(f"--{name} is {share:g}; give a number from 0 to 1")
    if decision_threshold is not None and not math.isfinite(decision_threshold):
        raise DataError(f"--decision-threshold is {decision_threshold}; give a number")
    if asked.threads is not None and asked.threads < 1:
        raise DataError(f"--threads is {asked.threads}; give a whole number of 1 or more")
    if asked.time_limit is not None and not 0 < asked.time_limit < math.inf:
        raise DataError(f"--time-limit is {asked.time_limit:g}; give a number of seconds above 0")


def min_cell(asked: Project) -> int:
    """Numbers of rows below this are not shown."""
    return MIN_CELL if asked.min_cell is None else asked.min_cell


def audited(
    asked: Project, model: LoadedModel, threshold: float | None, progress: Bar
) -> tuple[Audit, LoadedData]:
    """Read the data and audit."""
    data = read_rows(asked, progress)
    progress.stage("translating the model")
    X, protected, weights = given_to(model.model, data, asked)
    found = audit(
        model.model,
        X,
        protected,
        EPSILON if asked.epsilon is None else asked.epsilon,
        DELTA if asked.delta is None else asked.delta,
        weights=weights,
        missing_protected=asked.missing_protected or "refuse",
        association=asked.association,
        decision=None if threshold is None else Threshold(threshold),
        budget=asked.budget,
        threads=asked.threads,
        time_limit=asked.time_limit,
        progress=progress,
    )
    check_rows(found.population.n_rows, asked)  # some may have been dropped
    methods = asked.validity.methods()
    if methods is not None:
        progress.stage("asking whether the witnesses are real")
        found = found.validated(methods)
    return found, data


def read_rows(asked: Project, progress: Bar) -> LoadedData:
    """Read the data, and refuse what nothing can be found out from."""
    assert asked.data is not None
    assert asked.protected is not None
    progress.stage("reading the data")
    data = load_data(
        asked.data,
        protected=asked.protected,
        target=asked.target,
        weights=asked.weights,
        where=asked.where,
        protected_data=asked.protected_data,
        key=asked.key,
    )
    _check_values(data, asked)
    return data


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


def check_rows(n_rows: int, asked: Project) -> None:
    """Refuse an answer about fewer rows than may be told of."""
    if n_rows < min_cell(asked):
        raise DataError(
            f"fewer rows than --min-cell ({min_cell(asked)}) are left, and the answer would be "
            "about single people; audit more rows"
        )


def _check_values(data: LoadedData, asked: Project) -> None:
    """Refuse too few rows, and protected attributes that are missing or tell nobody apart."""
    n_rows = len(data.frame)
    check_rows(n_rows, asked)
    missing_is_a_value = asked.missing_protected == "category"
    for name, source in data.protected.items():
        values = data.frame[source] if isinstance(source, str) else source
        if asked.missing_protected in (None, "refuse") and values.isna().any():
            raise DataError(
                f"the protected attribute {name!r} is missing in "
                f"{'every row' if values.isna().all() else 'some of the rows'}; leave these out "
                "with --missing-protected drop, or let missing count as a value with "
                "--missing-protected category"
            )
        n_values = values.nunique(dropna=not missing_is_a_value)
        if n_values < 2:
            has = "one value only" if n_values else "no value"
            raise DataError(
                f"the protected attribute {name!r} has {has} in these {n_rows:,} rows, so nothing "
                "can tell it apart; audit rows with several"
            )


def about(
    asked: Project, model: LoadedModel, data: LoadedData, threshold: float | None
) -> dict[str, Any]:
    """Describe the files of a result: their paths and hashes."""
    return {
        "model": {
            "file": shown_path(model.path),
            "kind": model.kind,
            "sha256": model.sha256,
            "saved_with": model.saved_with,
            "decision_threshold": threshold,
        },
        "data": {
            "files": [
                {"file": shown_path(Path(path)), "sha256": digest}
                for path, digest in data.sha256.items()
            ],
            "rows_read": data.n_read,
            "where": asked.where,
            "weights": asked.weights,
            "target": asked.target,
        },
        "notes": [
            *(without_small_counts(note, min_cell(asked)) for note in data.notes),
            *_model_notes(model, threshold),
        ],
    }


def shown_path(path: Path) -> str:
    """Return a path relative to the current folder, or its name alone if it is outside of it.

    A result may be published, so it names no folders of the machine.
    """
    absolute = Path(os.path.abspath(path))
    folder = Path.cwd()
    return absolute.relative_to(folder).as_posix() if absolute.is_relative_to(folder) else path.name


def _model_notes(model: LoadedModel, threshold: float | None) -> list[str]:
    notes = []
    if model.saved_with is not None and "read with" in model.saved_with:
        notes.append(f"the model was saved with {model.saved_with}")
    if threshold is not None:
        notes.append(f"the decision is whether the model's probability is at least {threshold:g}")
    return notes


def oracle_notes(records: Records | None, policy: Policy | None) -> list[str]:
    """What is to know of those who judged."""
    notes = []
    if records is not None and records.damaged:
        first = records.damaged[0]
        notes.append(
            f"lines of {records.path.name} that cannot be read, and count for nothing: "
            f"{len(records.damaged)}; the first is line {first.line}: {first.why}"
        )
    if policy is not None and (expired := policy.expired()):
        notes.append(f"the policy's rules {', '.join(rule.name for rule in expired)} have expired")
    return notes


def _make_output_folders(given: argparse.Namespace, asked: Project) -> None:
    """Create the folders of the outputs that the project file names."""
    for kind, path in vars(asked.output).items():
        option = "output" if kind == "json" else kind
        if path is not None and getattr(given, option, None) is None:
            make_folder(path.parent)


def check_outputs(asked: Project, outputs: Iterable[Path | None], more: Path | None = None) -> None:
    """Find out before the work whether its result can be written, and over nothing else.

    Parameters
    ----------
    asked : names the files that are read.
    outputs : files that are to be written.
    more : another file that is read.
    """
    inputs = (
        asked.model, asked.data, asked.protected_data, asked.path, asked.policy, asked.judgments,
        more,
    )  # fmt: skip
    taken = {os.path.realpath(path): "this audit reads" for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        check_writable(path)
        place = os.path.realpath(path)
        if place in taken:
            raise FileError(f"{path} would replace a file that {taken[place]}; name another")
        if path.is_file() or not path.exists():
            taken[place] = "another output goes to"


def _write(
    asked: Project, result: dict[str, Any], certificate: Path | None, certified: str | None
) -> FileError | None:
    """Write what is asked for; an answer that cannot be written is printed all the same."""
    forms = (
        (asked.output.json, as_text),
        (asked.output.csv, csv_text),
        (asked.output.markdown, markdown),
        (asked.output.sarif, lambda found: as_text(sarif(found))),
        (asked.output.junit, junit),
    )
    try:
        for path, form in forms:
            if path is not None:
                written(path, form(result))
        if certificate is not None and certified is not None:
            written(certificate, certified)
    except FileError as error:
        return error
    return None


def _write_page(path: Path | None, found: Audit, result: dict[str, Any]) -> FileError | None:
    """Write the report, if it is asked for."""
    if path is None:
        return None
    from proxyuse.page.page import write_page

    try:
        write_page(path, found, document=result)
    except FileError as error:
        return error
    return None


def next_steps(asked: Project, result: dict[str, Any]) -> str:
    """What to do with the answer."""
    lines = ["", "What to do next"]
    kept = asked.output.json
    file = shlex.quote(str(kept)) if kept else "audit.json"
    if kept is None:
        lines.append("- keep the result: the same command with --output audit.json")
    if asked.output.report is None:
        lines.append("- read it as a page, with a picture: the same with --report report.html")
    else:
        lines.append(f"- read the report in a browser: {asked.output.report}")
    if result["witnesses"]:
        first = result["witnesses"][0]["id"]
        if result["validity"] is None:
            lines.append("- ask whether they are real, or noise: the same with --validity confirm")
        lines += [
            f"- see one finding in detail: proxyuse show {file} --witness {first}",
            "- decide for each whether the use is acceptable, and why: the same command with judge",
            "  instead of audit, and --judgments judgments.jsonl",
        ]
    else:
        lines.append("- ask at other thresholds (--epsilon, --delta) and on other groups of people")
    lines.append(f"- after retraining, what is new: proxyuse diff {file} NEW.json")
    return "\n".join(lines)
