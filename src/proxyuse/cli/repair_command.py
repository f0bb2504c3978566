"""``proxyuse repair``: write a model without violations.

Nothing is written before it is checked: the repaired model is saved in memory, loaded again,
compared with the original object on every row, and audited. The certificate covers that last
audit, so it is about the file that is written.
"""

from __future__ import annotations

import argparse
import hashlib
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from proxyuse.auditing import audit
from proxyuse.cli.audit_command import (
    about,
    audit_keywords,
    check_outputs,
    check_rows,
    clusters_of,
    model_inputs,
    read_rows,
    settings,
)
from proxyuse.cli.data_files import LoadedData, read_table
from proxyuse.cli.judgments_file import add_oracle, open_judgments
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import Bar, bar
from proxyuse.completed_audit import Audit
from proxyuse.decision import Threshold
from proxyuse.errors import DataError, FileError
from proxyuse.io.writing import written_together
from proxyuse.judge.judgment import Oracle, first_of
from proxyuse.judge.policy import read_policy
from proxyuse.lang.evaluate import Array
from proxyuse.models.boosted import predicts_probability
from proxyuse.models.checks import model_rows, predictions
from proxyuse.models.files import LoadedModel, load_model
from proxyuse.models.native_categories import text_columns
from proxyuse.models.save_model import format_for, model_bytes, read_again
from proxyuse.program import Program
from proxyuse.project import Project
from proxyuse.repairing.completed_repair import Repair
from proxyuse.repairing.repair import repair
from proxyuse.report.render.markdown import repair_markdown
from proxyuse.report.render.text import repair_text
from proxyuse.report.repair_document import repair_document
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.standing import repair_exit_code
from proxyuse.settings import RepairKeywords, SharedKeywords
from proxyuse.verification.certify import certify

REFUSED = 1
NOT_WRITTEN = "\nNothing was written. To write the model anyway, pass --accept-loss."
FALLBACK_SUFFIX = ".skops"  # for a repaired program that the model's own format cannot hold


@dataclass(frozen=True)
class Work:
    """The inputs and options of one repair."""

    options: argparse.Namespace
    project: Project
    model: LoadedModel
    data: LoadedData
    oracle: Oracle | None
    threshold: float | None
    progress: Bar

    def arguments(
        self, model: object, threshold: float | None, names: Iterable[str]
    ) -> dict[str, Any]:
        """Return the arguments of `audit` or `repair`; `names` are their keywords."""
        project = self.project
        X, protected, weights = model_inputs(model, self.data, project.options)
        return audit_keywords(project.options, names) | {
            "X": X,
            "protected": protected,
            "weights": weights,
            "clusters": clusters_of(self.data, project.options),
            "validity": project.validity.methods or None,
            "decision": None if threshold is None else Threshold(threshold),
            "progress": self.progress,
        }


@dataclass(frozen=True)
class Made:
    """A repaired model.

    Attributes
    ----------
    model : an estimator, a booster, or the program itself.
    native : whether it has the class of the original model.
    why : the reason if it does not.
    """

    model: Any
    native: bool
    why: str = ""


@dataclass(frozen=True)
class Checked:
    """A repaired model as it will be written, and the audit of the loaded file."""

    made: Made
    path: Path
    form: str
    content: bytes
    audit: Audit


def run(options: argparse.Namespace) -> int:
    """Repair, write the files and print the result.

    The exit code is 1 if the repaired model is refused, and 3 if the search is incomplete.
    """
    project = settings(options)
    _check_options(options, project)
    records = open_judgments(project.options)
    policy = None if project.options.policy is None else read_policy(project.options.policy)
    with bar(options.quiet) as progress:
        progress.stage("reading the model")
        assert project.options.model is not None
        model = load_model(project.options.model, trust_pickle=options.trust_pickle)
        form = format_for(options.repaired, model, allow_pickle=options.pickle)
        _check_files(options, project, form)
        _rehearse(model, form, options.repaired)
        threshold = project.options.decision_threshold
        if threshold is None and predicts_probability(model.model):
            threshold = 0.5
        data = read_rows(project, progress, model.model)
        oracle = first_of(records, policy)  # single judgments come before rules
        work = Work(options, project, model, data, oracle, threshold, progress)
        done = _repaired(work)
        progress.stage("checking the repaired model")
        checked = _checked(work, done, form)
        description = about(project, model, data, threshold)
        add_oracle(description, records, policy)
        description["notes"] += _notes(options, project)
        document, files = _results(work, done, checked, description)
    if done.refusal is not None and not options.accept_loss:
        _print(options, msgspec.structs.replace(document, written={}), NOT_WRITTEN)
        return REFUSED
    try:
        written_together(files)
    except FileError:
        print_text(str(done))  # do not lose the result
        raise
    _print(options, document, _next_steps(work, document, checked))
    return repair_exit_code(document)


def _print(options: argparse.Namespace, document: RepairResult, more: str) -> None:
    """Print the result, as text with more lines at its end."""
    if options.json:
        print_json(document)
    else:
        print_text(repair_text(document), repair_text(document, color=True))
        print_text(more)


# Options


def _check_options(options: argparse.Namespace, project: Project) -> None:
    if project.options.target is None and options.utility not in (
        None,
        "agreement",
        "mean-squared-error",
    ):
        raise DataError(
            f"--utility {options.utility} needs the true outcomes; name their column with --target"
        )
    if project.options.target is None and options.validation is not None:
        raise DataError("--validation needs the true outcomes; name their column with --target")


def _check_files(options: argparse.Namespace, project: Project, form: str) -> None:
    outputs = [
        options.repaired,
        options.certificate,
        options.program,
        options.python,
        options.report,
    ]
    if form in ("xgboost", "lightgbm"):
        outputs.append(options.repaired.with_suffix(FALLBACK_SUFFIX))
    check_outputs(project, outputs, options.validation)
    existing = [path for path in outputs if path is not None and path.is_file()]
    if existing and not options.force:
        raise FileError(f"{existing[0]} already exists; choose another file, or pass --force")


def _rehearse(model: LoadedModel, form: str, path: Path) -> None:
    """Check before the work that the original model survives saving and loading."""
    if form == "program" or isinstance(model.model, Program):
        return
    again = read_again(model_bytes(model.model, form, path.suffix), form).model
    if type(again) is not type(model.model):
        raise FileError(
            f"{path}: in this format, a {type(model.model).__name__} is loaded as a "
            f"{type(again).__name__}; pass --pickle and a file name that ends in .pkl"
        )


def _notes(options: argparse.Namespace, project: Project) -> list[str]:
    if options.validation is not None and project.options.weights is not None:
        return ["validation rows are not weighted"]
    return []


# The work


def _repaired(work: Work) -> Repair:
    project, options = work.project, work.options
    arguments = work.arguments(work.model.model, work.threshold, RepairKeywords.__annotations__)
    utility = None if options.utility is None else options.utility.replace("-", " ")
    y = None if project.options.target is None else work.data.frame[project.options.target]
    if utility == "agreement":
        y = None
    work.progress.stage("auditing and repairing")
    done = repair(
        work.model.model,
        arguments.pop("X"),
        y,
        **arguments,
        oracle=work.oracle,
        utility=utility,
        validation=_validation(work) if y is not None else None,
    )
    check_rows(done.before.population.n_rows, project)  # the audit may have dropped some
    return done


def _validation(work: Work) -> Any:
    """Return the validation rows: a table and its true outcomes; None without them."""
    options, project = work.options, work.project
    if options.validation is None:
        return None
    frame = read_table(options.validation, text=text_columns(work.model.model))
    if project.options.where is not None:
        frame = frame[np.asarray(Program.parse(project.options.where).predict(frame) == 1)]
        frame = frame.reset_index(drop=True)
    check_rows(len(frame), project)
    if project.options.target not in frame.columns:
        raise FileError(f"{options.validation} lacks the target column {project.options.target!r}")
    rows = replace(work.data, frame=frame, protected={}, weights=None, paths=(options.validation,))
    X, _, _ = model_inputs(
        work.model.model,
        rows,
        msgspec.structs.replace(project.options, protected=_present(project, frame)),
    )
    return X, frame[project.options.target]


def _present(project: Project, frame: Any) -> tuple[str, ...] | None:
    """Return the protected attributes that are columns of a table; None if there are none."""
    return tuple(name for name in project.options.protected or () if name in frame.columns) or None


# The model


def _checked(work: Work, done: Repair, form: str) -> Checked:
    """Return the first candidate whose file passes all checks."""
    path = work.options.repaired
    for made in _candidates(work, done, form):
        file_format, target = form, path
        if form in ("xgboost", "lightgbm") and not made.native:
            file_format, target = "skops", path.with_suffix(FALLBACK_SUFFIX)
        content = _content(work, made, file_format, target)
        again = read_again(content, file_format).model
        _check_same(made.model, again, work, done)
        is_program = isinstance(again, Program) or not made.native
        threshold = None if is_program else work.threshold
        arguments = work.arguments(again, threshold, SharedKeywords.__annotations__)
        result = audit(again, arguments.pop("X"), **arguments)
        if not done.candidates or done.is_clean(result):
            return Checked(made, target, file_format, content, result)
    raise FileError("the saved model still has violations; please report this")


def _candidates(work: Work, done: Repair, form: str) -> Iterator[Made]:
    """Yield the models that may be written, best first."""
    original = work.model.model
    if form == "program":
        yield Made(done.program, isinstance(original, Program))
    elif not done.candidates:
        yield Made(original, True) if not isinstance(original, Program) else _running(done, "")
    else:
        yield Made(done.deployed.model, done.deployed.native, done.deployed.why)
        if done.deployed.native:
            yield _running(done, "the repaired model in its own class still has violations")


def _running(done: Repair, why: str) -> Made:
    from proxyuse.models.program_estimator import program_estimator

    original = done.original_model
    if isinstance(original, Program):
        return Made(program_estimator(done.program), False, "the input is a program, not a model")
    return Made(program_estimator(done.program, done.trained_model), False, why)


def _content(work: Work, made: Made, form: str, path: Path) -> bytes:
    """Return the bytes of a model; the original file if the model and the format are unchanged."""
    model = work.model
    if made.model is model.model and form == model.kind and path.suffix == model.path.suffix:
        return model.path.read_bytes()
    return model_bytes(made.model, form, path.suffix)


def _check_same(made: Any, again: Any, work: Work, done: Repair) -> None:
    """Raise an error if the loaded model predicts differently from the saved one."""
    X, _, _ = model_inputs(again, work.data, work.project.options)
    before, after = (_predicted(model, X, done) for model in (made, again))
    same = before.shape == after.shape and bool(
        np.all((before == after) | ((before != before) & (after != after)))  # NaN equals NaN
    )
    if not same:
        raise FileError(
            f"the {type(made).__name__} predicts differently after saving and loading; nothing "
            "was written; choose another format by the suffix of --output"
        )


def _predicted(model: Any, X: Any, done: Repair) -> Array:
    if isinstance(model, Program):
        return model.predict(X)
    return predictions(model, model_rows(model, X, done.program.inputs))


# The result


def _results(
    work: Work, done: Repair, checked: Checked, description: dict[str, Any]
) -> tuple[RepairResult, dict[Path, str | bytes]]:
    """Return the result document and the content of each file; the model comes last."""
    options, made = work.options, checked.made
    files: dict[Path, str | bytes] = {}
    names: dict[str, Any] = {
        "model": {
            "file": checked.path.name,
            "format": checked.form,
            "sha256": hashlib.sha256(checked.content).hexdigest(),
            "class": type(made.model).__name__,
            "native": made.native,
            "unchanged": made.model is work.model.model,
            "why": made.why,
        }
    }
    if options.certificate is not None:
        story = done.story() if done.candidates else None
        changes = None
        if done.candidates:
            changes = done.certified_changes(checked.audit, work.project.options.min_cell)
        certificate = certify(checked.audit, work.oracle, story, changes=changes)
        files[options.certificate] = certificate.to_json()
        names |= {"certificate": options.certificate.name, "certificate_hash": certificate.hash}
    if options.program is not None:
        files[options.program] = f"{checked.audit.program}\n"
        names["program"] = options.program.name
    if options.python is not None:
        from proxyuse.models.python_source import python_source

        files[options.python] = python_source(done.program)
        names["python"] = options.python.name
    if options.report is not None:
        names["report"] = options.report.name
    document = repair_document(
        done,
        written=names,
        after=checked.audit,
        about=description,
        min_cell=work.project.options.min_cell,
    )
    if options.report is not None:
        files[options.report] = _report(work, done, document, description)
    files[checked.path] = checked.content
    return document, files


def _report(work: Work, done: Repair, document: RepairResult, description: dict[str, Any]) -> str:
    """Render the report as HTML or Markdown, by the suffix of the file."""
    if work.options.report.suffix.lower() not in (".html", ".htm"):
        return repair_markdown(document)
    from proxyuse.report.render.html.page import page_text

    about = {**description, "written": document.written}
    return page_text(
        done.before,
        about=about,
        min_cell=work.project.options.min_cell,
        oracle=work.oracle,
        repair=done,
    )


def _next_steps(work: Work, document: RepairResult, checked: Checked) -> str:
    """Suggest what to do with the result."""
    options, project = work.options, work.project
    lines = ["", "Next steps"]
    if options.certificate is None:
        lines.append("- write a certificate to verify later: add --certificate certificate.json")
    else:
        words = ["proxyuse", "verify", str(options.certificate), "--model", str(checked.path)]
        words += ["--data", str(project.options.data)]
        for name in (
            "target", "where", "protected_data", "key", "policy", "judgments", "judgments_head",
        ):  # fmt: skip
            value = getattr(project.options, name)
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        words += ["--trust-pickle"] * (checked.form == "pickle")
        lines.append(f"- verify the certificate: {shlex.join(words)}")
    if document.result == "repaired" and work.oracle is None:
        lines += [
            "- keep appropriate uses: nothing was judged, so every witness was removed; run",
            "  proxyuse judge, then repair again with --judgments",
        ]
    if document.result == "repaired" and project.options.target is None:
        lines.append("- compare more candidates: name the column of true outcomes with --target")
    if not document.complete:
        lines.append("- the search is incomplete: violations may remain in the parts listed above")
    lines.append("- try other thresholds (--epsilon, --delta) and other protected attributes")
    return "\n".join(lines)
