"""``proxyuse audit``: audit a model file on a data file."""

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
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.document import document
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.render.csv import audit_csv
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text
from proxyuse.report.result import MIN_CELL, AuditResult
from proxyuse.report.saved import as_text
from proxyuse.report.standing import exit_code

FROM_PROJECT = (
    "model", "data", "protected", "target", "weights", "where", "protected_data", "key",
    "epsilon", "delta", "association", "min_cell", "missing_protected", "threads", "time_limit",
    "policy", "judgments",
)  # fmt: skip
"""Options that the project file can set."""


def run(options: argparse.Namespace) -> int:
    """Audit, write the outputs and print the result; see `main` for the exit codes."""
    project = settings(options)
    _make_output_folders(options, project)
    check_outputs(project, (*vars(project.output).values(), options.certificate))
    records = None if project.judgments is None else Records.open(project.judgments)
    policy = None if project.policy is None else read_policy(project.policy)
    audit_result, result = audited_files(options, project, records, policy)
    certificate = None
    if options.certificate is not None:
        certificate = certify(audit_result, first_of(records, policy)).to_json()
    unwritten = _write(project, result, options.certificate, certificate)
    unwritten = unwritten or _write_report(project.output.report, audit_result, result)
    if options.json:
        print_json(result)
    else:
        print_text(audit_text(result), audit_text(result, color=True))
        print_text(next_steps(project, result))
    if unwritten is not None:
        raise unwritten
    return exit_code(result)


def audited_files(
    options: argparse.Namespace, project: Project, records: Records | None, policy: Policy | None
) -> tuple[Audit, AuditResult]:
    """Read the files and audit; return the audit and the result document."""
    assert project.model is not None
    with bar(options.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(project.model, trust_pickle=options.trust_pickle)
        threshold = options.decision_threshold
        if threshold is None and says_probability(model.model):
            threshold = 0.5
        audit_result, data = audited(project, model, threshold, progress)
        progress.stage("preparing the result")
        description = about(project, model, data, threshold)
        description["notes"] += oracle_notes(records, policy)
        result = document(
            audit_result,
            about=description,
            min_cell=min_cell(project),
            oracle=first_of(
                records, policy
            ),  # a judgment on one witness takes precedence over the rules
            confirmed_only=bool(project.validity.confirmed_only),
        )
    return audit_result, result


def settings(options: argparse.Namespace) -> Project:
    """Return the options: those of the command line, then those of the project file."""
    file = read_project(options.project) if options.project else find_project(Path.cwd())
    values = {
        name: getattr(options, name)
        for name in FROM_PROJECT
        if getattr(options, name, None) is not None  # `repair` has no time limit
    }
    if "protected" in values:
        values["protected"] = tuple(values["protected"])
    project = replace(file or Project(Path.cwd() / "proxyuse.toml"), **values)
    kinds = {kind: "output" if kind == "json" else kind for kind in vars(project.output)}
    outputs = {
        kind: getattr(options, name, None) for kind, name in kinds.items()
    }  # of `audit` only
    chosen = {kind: path for kind, path in outputs.items() if path is not None}
    project = replace(project, output=replace(project.output, **chosen))
    project = replace(project, validity=wanted(options, project.validity))
    if options.budget:
        project = replace(project, budget=budget_from(options.budget, project.budget))
    for name in ("model", "data", "protected"):
        if not getattr(project, name):
            raise FileError(
                f"missing --{name}; pass it, or write a proxyuse.toml with model, data and "
                "protected"
            )
    if (project.protected_data is None) != (project.key is None):
        raise FileError("--protected-data and --key belong together; pass both or neither")
    if project.target in project.protected:  # type: ignore[operator]
        raise FileError(
            f"{project.target!r} is both the target and a protected attribute; remove it from one"
        )
    _check_numbers(project, options.decision_threshold)
    return project


def _check_numbers(project: Project, decision_threshold: float | None) -> None:
    """Check numbers before reading files, which can take a while."""
    check_min_cell(min_cell(project))
    for name, share in (("epsilon", project.epsilon), ("delta", project.delta)):
        if share is not None and not 0 <= share <= 1:
            raise DataError(f"--{name}: expected a number from 0 to 1, got {share:g}")
    if decision_threshold is not None and not math.isfinite(decision_threshold):
        raise DataError(f"--decision-threshold: expected a number, got {decision_threshold}")
    if project.threads is not None and project.threads < 1:
        raise DataError(f"--threads: expected 1 or more, got {project.threads}")
    if project.time_limit is not None and not 0 < project.time_limit < math.inf:
        raise DataError(f"--time-limit: expected more than 0 seconds, got {project.time_limit:g}")


def min_cell(project: Project) -> int:
    """Return the smallest number of rows that is shown."""
    return MIN_CELL if project.min_cell is None else project.min_cell


def audited(
    project: Project, model: LoadedModel, threshold: float | None, progress: Bar
) -> tuple[Audit, LoadedData]:
    """Read the data and audit."""
    data = read_rows(project, progress)
    progress.stage("translating the model")
    X, protected, weights = model_inputs(model.model, data, project)
    result = audit(
        model.model,
        X,
        protected,
        EPSILON if project.epsilon is None else project.epsilon,
        DELTA if project.delta is None else project.delta,
        weights=weights,
        missing_protected=project.missing_protected or "refuse",
        association=project.association,
        decision=None if threshold is None else Threshold(threshold),
        budget=project.budget,
        threads=project.threads,
        time_limit=project.time_limit,
        progress=progress,
    )
    check_rows(result.population.n_rows, project)  # the audit may have dropped some
    methods = project.validity.methods()
    if methods is not None:
        progress.stage("testing whether the witnesses are real")
        result = result.validated(methods)
    return result, data


def read_rows(project: Project, progress: Bar) -> LoadedData:
    """Read the data and check that it can be audited."""
    assert project.data is not None
    assert project.protected is not None
    progress.stage("reading the data")
    data = load_data(
        project.data,
        protected=project.protected,
        target=project.target,
        weights=project.weights,
        where=project.where,
        protected_data=project.protected_data,
        key=project.key,
    )
    _check_values(data, project)
    return data


def model_inputs(model: Any, data: LoadedData, project: Project) -> tuple[Any, dict[str, Any], Any]:
    """Return the columns for the model, the protected attributes and the weights.

    A model that was fitted with column names picks its columns. Any other model gets all columns
    in order, except the protected attributes, the target, the weights and the key.
    """
    if isinstance(model, Program) or saw_names(model):
        return data.frame, data.protected, data.weights
    excluded = {*(project.protected or ()), project.target, project.weights, project.key}
    X = data.frame[[name for name in data.frame.columns if name not in excluded]]
    expected = len(input_names(model, None))
    if X.shape[1] != expected:
        raise DataError(
            f"the model was fitted on {expected} columns without names, but the data has "
            f"{X.shape[1]}; keep only the model's columns, in its order (columns named by "
            "--protected, --target, --weights and --key do not count)"
        )
    columns = data.frame
    protected = {
        name: columns[source] if isinstance(source, str) else source
        for name, source in data.protected.items()
    }
    return X, protected, None if data.weights is None else columns[data.weights]


def check_rows(n_rows: int, project: Project) -> None:
    """Raise an error if there are fewer rows than may be reported on."""
    if n_rows < min_cell(project):
        raise DataError(
            f"fewer rows than --min-cell ({min_cell(project)}) remain, so the result could "
            "identify people; audit more rows"
        )


def _check_values(data: LoadedData, project: Project) -> None:
    """Check the number of rows, and that protected attributes are present and not constant."""
    n_rows = len(data.frame)
    check_rows(n_rows, project)
    missing_is_a_value = project.missing_protected == "category"
    for name, source in data.protected.items():
        values = data.frame[source] if isinstance(source, str) else source
        if project.missing_protected in (None, "refuse") and values.isna().any():
            raise DataError(
                f"the protected attribute {name!r} is missing in "
                f"{'every row' if values.isna().all() else 'some rows'}; drop these rows with "
                "--missing-protected drop, or count missing as a value with --missing-protected "
                "category"
            )
        n_values = values.nunique(dropna=not missing_is_a_value)
        if n_values < 2:
            has = "only one value" if n_values else "no value"
            raise DataError(
                f"the protected attribute {name!r} has {has} in these {n_rows:,} rows; audit rows "
                "with several values"
            )


def about(
    project: Project, model: LoadedModel, data: LoadedData, threshold: float | None
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
            "where": project.where,
            "weights": project.weights,
            "target": project.target,
        },
        "notes": [
            *(note_sentence(note, min_cell(project)) for note in data.notes),
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
        notes.append(f"decision: the model's probability is at least {threshold:g}")
    return notes


def oracle_notes(records: Records | None, policy: Policy | None) -> list[str]:
    """Return notes on damaged judgments and expired rules."""
    notes = []
    if records is not None and records.damaged:
        first, number = records.damaged[0], len(records.damaged)
        lines = f"{number:,} unreadable line{'s, which are' if number > 1 else ', which is'}"
        notes.append(
            f"{records.path.name} has {lines} ignored; "
            f"the first is line {first.line}: {first.reason}"
        )
    if policy is not None and (expired := policy.expired()):
        notes.append(f"expired rules of the policy: {', '.join(rule.name for rule in expired)}")
    return notes


def _make_output_folders(options: argparse.Namespace, project: Project) -> None:
    """Create the folders of the outputs that the project file names."""
    for kind, path in vars(project.output).items():
        option = "output" if kind == "json" else kind
        if path is not None and getattr(options, option, None) is None:
            make_folder(path.parent)


def check_outputs(
    project: Project, outputs: Iterable[Path | None], more: Path | None = None
) -> None:
    """Check before the work that the outputs can be written and replace no input.

    Parameters
    ----------
    project : the input files.
    outputs : the output files.
    more : another input file.
    """
    inputs = (
        project.model, project.data, project.protected_data, project.path, project.policy,
        project.judgments, more,
    )  # fmt: skip
    uses = {os.path.realpath(path): "this audit reads" for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        check_writable(path)
        target = os.path.realpath(path)
        if target in uses:
            raise FileError(f"{path} would replace a file that {uses[target]}; choose another")
        if path.is_file() or not path.exists():
            uses[target] = "another output is written to"


def _write(
    project: Project, result: AuditResult, certificate: Path | None, certified: str | None
) -> FileError | None:
    """Write the outputs; return the error if that fails, so that the result is still printed."""
    writers = (
        (project.output.json, as_text),
        (project.output.csv, audit_csv),
        (project.output.markdown, audit_markdown),
        (project.output.sarif, lambda result: as_text(audit_sarif(result))),
        (project.output.junit, audit_junit),
    )
    try:
        for path, writer in writers:
            if path is not None:
                written(path, writer(result))
        if certificate is not None and certified is not None:
            written(certificate, certified)
    except FileError as error:
        return error
    return None


def _write_report(path: Path | None, audit_result: Audit, result: AuditResult) -> FileError | None:
    """Write the HTML report, if requested; return the error if that fails."""
    if path is None:
        return None
    from proxyuse.page.page import write_page

    try:
        write_page(path, audit_result, document=result)
    except FileError as error:
        return error
    return None


def next_steps(project: Project, result: AuditResult) -> str:
    """Suggest what to do with the result."""
    lines = ["", "Next steps"]
    saved = project.output.json
    file = shlex.quote(str(saved)) if saved else "audit.json"
    if saved is None:
        lines.append("- save the result: add --output audit.json")
    if project.output.report is None:
        lines.append("- write an HTML report: add --report report.html")
    else:
        lines.append(f"- open the HTML report: {project.output.report}")
    if result.witnesses:
        first = result.witnesses[0].id
        if result.validity is None:
            lines.append("- test whether the findings are noise: add --validity confirm")
        lines += [
            f"- see one finding in detail: proxyuse show {file} --witness {first}",
            "- decide whether each use is acceptable: run judge instead of audit, and add",
            "  --judgments judgments.jsonl",
        ]
    else:
        lines.append(
            "- try other thresholds (--epsilon, --delta) and other groups of people (--where)"
        )
    lines.append(f"- after retraining, list new findings: proxyuse diff {file} NEW.json")
    return "\n".join(lines)
