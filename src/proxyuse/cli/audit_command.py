"""``proxyuse audit``: audit a model file on a data file."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, astuple, replace

from proxyuse.auditing import audit
from proxyuse.cli.data_files import LoadedData, load_data
from proxyuse.cli.declared_options import OPTIONS, OUTPUT, VALIDITY, refuse_repeated, values_in
from proxyuse.cli.judgments_file import add_oracle, open_judgments
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import Bar, bar
from proxyuse.completed_audit import Audit
from proxyuse.data.table import Table
from proxyuse.decision import Threshold
from proxyuse.errors import DataError, FileError
from proxyuse.input_limits import add_default_limits
from proxyuse.io.reading import no_column
from proxyuse.io.writing import check_writable, make_folder, written_together
from proxyuse.judge.judgment import first_of
from proxyuse.judge.policy import Policy, read_policy
from proxyuse.judge.records import Records
from proxyuse.models.boosted import predicts_probability
from proxyuse.models.files import LoadedModel, load_model
from proxyuse.models.native_categories import text_columns
from proxyuse.models.registry import input_names, is_named
from proxyuse.options import listed, options_of
from proxyuse.program import Program
from proxyuse.project import Project, find_project, read_project
from proxyuse.project_settings import ProjectOptions, ValidityTable, methods_with
from proxyuse.report.document import document
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.render.csv import audit_csv
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text
from proxyuse.report.result import AuditResult
from proxyuse.report.saved import as_text
from proxyuse.report.standing import exit_code, presented
from proxyuse.settings import AuditKeywords
from proxyuse.verification.certify import certify


def run(options: argparse.Namespace) -> int:
    """Audit, write the outputs and print the result; see `main` for the exit codes."""
    project = settings(options)
    _make_output_folders(options, project)
    check_outputs(project, (*astuple(project.output), options.certificate))
    records = open_judgments(project.options)
    policy = None if project.options.policy is None else read_policy(project.options.policy)
    audit_result, result = audited_files(options, project, records, policy, options.thresholds)
    certificate = None
    if options.certificate is not None:
        certificate = certify(audit_result, first_of(records, policy)).to_json()
    unwritten = _write(project, audit_result, result, options.certificate, certificate)
    if options.json:
        print_json(result)
    else:
        print_text(audit_text(result), audit_text(result, color=True))
        if unwritten is None:
            print_text(next_steps(project, result))
    if unwritten is not None:
        raise unwritten
    return exit_code(result)


def audited_files(
    options: argparse.Namespace,
    project: Project,
    records: Records | None,
    policy: Policy | None,
    thresholds: bool = False,
) -> tuple[Audit, AuditResult]:
    """Read the files and audit; return the audit and the result document."""
    assert project.options.model is not None
    with bar(options.quiet) as progress:
        progress.stage("reading the model")
        model = load_model(project.options.model, trust_pickle=options.trust_pickle)
        threshold = project.options.decision_threshold
        if threshold is None and predicts_probability(model.model):
            threshold = 0.5
        audit_result, data = audited(project, model, threshold, progress)
        progress.stage("preparing the result")
        description = about(project, model, data, threshold)
        add_oracle(description, records, policy)
        result = document(
            audit_result,
            about=description,
            min_cell=project.options.min_cell,
            oracle=first_of(
                records, policy
            ),  # a judgment on one witness takes precedence over the rules
            thresholds=thresholds,
        )
    return audit_result, result


def settings(arguments: argparse.Namespace) -> Project:
    """Return the options: those of the command line, then those of the project file."""
    file = read_project(arguments.project) if arguments.project else find_project(Path.cwd())
    project = file or Project(Path.cwd() / "proxyuse.toml")
    add_default_limits(project.limits)
    own = ValidityTable(values_in(arguments, VALIDITY))
    validity = own.over(project.validity)
    _check_stray(own, validity)
    _check_fail_on(arguments, project.options, validity)
    project = Project(
        project.path,
        _merged(project.options, values_in(arguments, OPTIONS)),
        validity,
        replace(project.output, **values_in(arguments, OUTPUT)),
        project.limits,
    )
    options = project.options
    for name in ("model", "data", "protected"):
        if not getattr(options, name):
            raise FileError(
                f"missing --{name}; pass it, or write a proxyuse.toml with model, data and "
                "protected"
            )
    if (options.protected_data is None) != (options.key is None):
        raise FileError("--protected-data and --key belong together; pass both or neither")
    if options.target in options.protected:  # type: ignore[operator]
        raise FileError(
            f"{options.target!r} is both the target and a protected attribute; remove it from one"
        )
    return project


def _merged(options: ProjectOptions, values: dict[str, Any]) -> ProjectOptions:
    """Replace options by those of the command line; of a table, only the keys in it."""
    for option in options_of(ProjectOptions):
        if option.items is not None and option.key in values:
            start = getattr(options, option.name) or option.items()
            pairs = [pair for table in values[option.key] for pair in table.items()]
            refuse_repeated(option.flag, [key for key, _ in pairs])
            values[option.key] = replace(start, **dict(pairs))
    return replace(options, **values)


def _check_stray(own: ValidityTable, merged: ValidityTable) -> None:
    """Raise an error for an option of a method that is not requested."""
    refuse_repeated("--validity", own.names)
    used = ValidityTable({**own.values, "methods": merged.values.get("methods")})
    if stray := used.stray():
        flag = f"--{stray[0].replace('_', '-')}"
        methods = listed([f"--validity {name}" for name in methods_with(stray[0])])
        raise FileError(f"{flag} is an option of {methods}; add that, or remove {flag}")
    _ = merged.methods  # raises an error for options that contradict each other


def _check_fail_on(
    arguments: argparse.Namespace, options: ProjectOptions, validity: ValidityTable
) -> None:
    """Raise an error if confirmed violations should fail, but nothing can be confirmed."""
    fail_on = values_in(arguments, OPTIONS).get("fail_on", options.fail_on)
    if fail_on == "confirmed" and not validity.methods:
        raise FileError(
            "--fail-on confirmed needs a test that confirms witnesses; remove --validity none, or "
            "pass --fail-on possible"
        )


def audit_keywords(options: ProjectOptions, names: Iterable[str]) -> dict[str, Any]:
    """Return the thresholds and the named options as keywords of `audit` or `repair`."""
    return {name: getattr(options, name) for name in ("epsilon", "delta", *names)}


def audited(
    project: Project, model: LoadedModel, threshold: float | None, progress: Bar
) -> tuple[Audit, LoadedData]:
    """Read the data and audit."""
    data = read_rows(project, progress, model.model)
    progress.stage("auditing the model")
    X, protected, weights = model_inputs(model.model, data, project.options)
    result = audit(
        model.model,
        X,
        protected,
        **audit_keywords(project.options, AuditKeywords.__annotations__)
        | {
            "weights": weights,
            "clusters": clusters_of(data, project.options),
            "decision": None if threshold is None else Threshold(threshold),
            "validity": project.validity.methods or None,
            "progress": progress,
        },
    )
    check_rows(result.population.n_rows, project)  # the audit may have dropped some
    return result, data


def read_rows(project: Project, progress: Bar, model: object) -> LoadedData:
    """Read the data and check that it can be audited."""
    assert project.options.data is not None
    assert project.options.protected is not None
    progress.stage("reading the data")
    data = load_data(
        project.options.data,
        protected=project.options.protected,
        target=project.options.target,
        weights=project.options.weights_column,
        clusters=project.options.clusters_column,
        where=project.options.where,
        protected_data=project.options.protected_data,
        key=project.options.key,
        text=text_columns(model),
    )
    _check_values(data, project)
    return data


def model_inputs(
    model: Any, data: LoadedData, options: ProjectOptions
) -> tuple[Any, dict[str, Any], Any]:
    """Return the columns for the model, the protected attributes and the weights.

    A model that was fitted with column names picks its columns. Any other model gets all columns
    in order, except the protected attributes, the target, the weights and the key.
    """
    if isinstance(model, Program) or is_named(model):
        _check_columns(model, data)
        return data.frame, data.protected, data.weights
    excluded = {
        *(options.protected or ()),
        options.target,
        options.weights,
        options.clusters,
        options.key,
    }
    expected = len(input_names(model, None))
    X = data.frame[[name for name in data.frame.columns if name not in excluded]]
    if X.shape[1] != expected:  # an attribute may be derived from columns that the model lacks
        rest = X[[name for name in X.columns if name not in data.derived_from]]
        X = rest if rest.shape[1] == expected else X
    if X.shape[1] != expected:
        raise DataError(
            f"the model was fitted on {expected} columns without names, but the data has "
            f"{X.shape[1]}; keep only the model's columns, in its order (columns named by "
            "--protected, --target, --weights, --clusters and --key do not count)"
        )
    columns = data.frame
    protected = {
        name: columns[source] if isinstance(source, str) else source
        for name, source in data.protected.items()
    }
    return X, protected, None if data.weights is None else columns[data.weights]


def clusters_of(data: LoadedData, options: ProjectOptions) -> Any:
    """Return the cluster of each row, or None."""
    column = options.clusters_column
    return None if column is None else data.frame[column]


def _check_columns(model: Any, data: LoadedData) -> None:
    """Raise an error if the data file lacks a column that the model reads."""
    is_program = isinstance(model, Program)
    names = model.variables if is_program else input_names(model, None)
    table = Table.of(data.frame, names)
    for name in names:
        if name not in table:
            subject = "program" if is_program else type(model).__name__
            raise no_column(data.paths[0], name, table.names, f"read by the {subject}")


def check_rows(n_rows: int, project: Project) -> None:
    """Raise an error if there are fewer rows than may be reported on."""
    if n_rows < project.options.min_cell:
        raise DataError(
            f"fewer rows than --min-cell ({project.options.min_cell}) remain, so the result could "
            "identify people; audit more rows"
        )


def _check_values(data: LoadedData, project: Project) -> None:
    """Check the number of rows, and that protected attributes are present."""
    check_rows(len(data.frame), project)
    for name in data.protected:
        values = data.values(name)
        if project.options.missing_protected == "refuse" and values.isna().any():
            raise DataError(
                f"the protected attribute {name!r} is missing in "
                f"{'every row' if values.isna().all() else 'some rows'}; drop these rows with "
                "--missing-protected drop, or count missing as a value with --missing-protected "
                "category"
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
            "where": project.options.where,
            "weights": project.options.weights,
            "clusters": project.options.clusters,
            "target": project.options.target,
        },
        "notes": [
            *(note_sentence(note, project.options.min_cell) for note in data.notes),
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


def _make_output_folders(options: argparse.Namespace, project: Project) -> None:
    """Create the folders of the outputs that the project file names."""
    chosen = values_in(options, OUTPUT)
    for kind, path in asdict(project.output).items():
        if path is not None and kind not in chosen:
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
    options = project.options
    inputs = (
        options.model, options.data, options.protected_data, options.policy, options.judgments,
        project.path, more,
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
    project: Project,
    audit_result: Audit,
    result: AuditResult,
    certificate: Path | None,
    certified: str | None,
) -> FileError | None:
    """Write all outputs or none; return the error if that fails, so that the result is printed."""
    writers = (
        (project.output.json, as_text),
        (project.output.csv, audit_csv),
        (project.output.markdown, audit_markdown),
        (project.output.sarif, lambda result: as_text(audit_sarif(result))),
        (project.output.junit, audit_junit),
    )
    try:
        files = {path: writer(result) for path, writer in writers if path is not None}
        if project.output.report is not None:
            from proxyuse.report.render.html.page import page_text

            files[project.output.report] = page_text(audit_result, document=result)
        if certificate is not None and certified is not None:
            files[certificate] = certified
        written_together(files)
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
        first = presented(result)[0].leading
        lines.append(f"- see one finding in detail: proxyuse show {file} --witness {first}")
    if result.witnesses or result.explicit_violations:
        lines += [
            "- decide whether each use is acceptable: run judge instead of audit, and add",
            "  --judgments judgments.jsonl",
        ]
    else:
        lines.append(
            "- try other thresholds (--epsilon, --delta) and other groups of people (--where)"
        )
    lines.append(f"- after retraining, list new findings: proxyuse diff {file} NEW.json")
    return "\n".join(lines)
