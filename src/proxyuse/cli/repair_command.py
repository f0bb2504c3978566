"""``proxyuse repair``: files in, a model without violations out, and what it took.

Nothing is written before it is known to hold: the repaired model is saved in memory, read again as
a stranger would, compared with what it was saved from on every row, and audited. The certificate is
of that last audit, so it speaks of the file.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proxyuse.auditing import DELTA, EPSILON, Audit, audit
from proxyuse.certificate.certificate import certify
from proxyuse.cli.audit_command import (
    about,
    check_outputs,
    check_rows,
    given_to,
    min_cell,
    oracle_notes,
    read_rows,
    settings,
)
from proxyuse.cli.data_files import LoadedData, read_table
from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import Bar, bar
from proxyuse.errors import DataError, FileError
from proxyuse.io.writing import written
from proxyuse.judge.judgment import Oracle, first_of
from proxyuse.judge.policy import read_policy
from proxyuse.judge.records import Records
from proxyuse.lang.evaluate import Array
from proxyuse.models.boosted import says_probability
from proxyuse.models.checks import model_rows, predictions
from proxyuse.models.decisions import Threshold
from proxyuse.models.files import LoadedModel, load_model
from proxyuse.models.save_model import format_for, model_bytes, read_again
from proxyuse.program import Program
from proxyuse.project import Project
from proxyuse.repairing.repair import Repair, repair
from proxyuse.repairing.search import SearchBudget
from proxyuse.report.repair_document import repair_document, repair_exit_code
from proxyuse.report.repair_text import repair_answer, repair_markdown

BUDGETS = {
    "quick": SearchBudget(orders=1, programs=0, branches=1, undo=0),
    "normal": SearchBudget(),
    "thorough": SearchBudget(orders=3, programs=128, branches=8, undo=64),
}
ELSEWHERE = ".skops"  # ending of a program that runs, where its model's own format cannot hold it


@dataclass(frozen=True)
class Work:
    """What is repaired, on what and how."""

    given: argparse.Namespace
    asked: Project
    model: LoadedModel
    data: LoadedData
    oracle: Oracle | None
    threshold: float | None
    progress: Bar

    def arguments(self, model: object, threshold: float | None) -> dict[str, Any]:
        """What `audit` and `repair` are both told."""
        asked = self.asked
        X, protected, weights = given_to(model, self.data, asked)
        return {
            "X": X,
            "protected": protected,
            "epsilon": EPSILON if asked.epsilon is None else asked.epsilon,
            "delta": DELTA if asked.delta is None else asked.delta,
            "weights": weights,
            "missing_protected": asked.missing_protected or "refuse",
            "association": asked.association,
            "decision": None if threshold is None else Threshold(threshold),
            "budget": asked.budget,
            "threads": asked.threads,
            "progress": self.progress,
        }


@dataclass(frozen=True)
class Made:
    """A model to be written.

    Attributes
    ----------
    model : an estimator, a booster, or the program itself.
    native : whether it is of the same class as the model given.
    why : where it is not, why.
    """

    model: Any
    native: bool
    why: str = ""


@dataclass(frozen=True)
class Checked:
    """A model as it is written, and what was found when it was read again."""

    made: Made
    path: Path
    form: str
    content: bytes
    audit: Audit


def run(given: argparse.Namespace) -> int:
    """Repair, write, print, and say with the exit code whether everything was settled."""
    asked = settings(given)
    _check_options(given, asked)
    records = None if asked.judgments is None else Records.open(asked.judgments)
    policy = None if asked.policy is None else read_policy(asked.policy)
    with bar(given.quiet) as progress:
        progress.stage("reading the model")
        assert asked.model is not None
        model = load_model(asked.model, trust_pickle=given.trust_pickle)
        form = format_for(given.repaired, model, allow_pickle=given.pickle)
        _check_files(given, asked, form)
        _rehearse(model, form, given.repaired)
        threshold = given.decision_threshold
        if threshold is None and says_probability(model.model):
            threshold = 0.5
        data = read_rows(asked, progress)
        oracle = first_of(records, policy)  # people on single witnesses go before the rules
        work = Work(given, asked, model, data, oracle, threshold, progress)
        done = _repaired(work)
        progress.stage("reading the repaired model again")
        checked = _checked(work, done, form)
        told = about(asked, model, data, threshold)
        told["notes"] += [*oracle_notes(records, policy), *_notes(given, asked)]
        document, files = _results(work, done, checked, told)
    try:
        for path, content in files.items():
            written(path, content)
    except FileError:
        print_text(str(done))  # the work is not lost
        raise
    if given.json:
        print_json(document)
    else:
        print_text(repair_answer(document), repair_answer(document, color=True))
        print_text(_next_steps(work, document, checked))
    return repair_exit_code(document)


# What is asked


def _check_options(given: argparse.Namespace, asked: Project) -> None:
    share = given.holdout_share
    if share is not None and not (math.isfinite(share) and 0 < share < 1):
        raise DataError(f"--holdout-share is {share:g}; give a number between 0 and 1")
    if given.seed < 0:
        raise DataError(f"--seed is {given.seed}; give a whole number of 0 or more")
    if asked.target is None and given.utility not in (None, "agreement", "mean-squared-error"):
        raise DataError(
            f"--utility {given.utility} compares with what would be right: name that column with "
            "--target"
        )


def _check_files(given: argparse.Namespace, asked: Project, form: str) -> None:
    outputs = [given.repaired, given.certificate, given.program, given.python, given.report]
    if form in ("xgboost", "lightgbm"):
        outputs.append(given.repaired.with_suffix(ELSEWHERE))
    check_outputs(asked, outputs, given.holdout)
    there = [path for path in outputs if path is not None and path.is_file()]
    if there and not given.force:
        raise FileError(f"{there[0]} is there already; name another file, or say --force")


def _rehearse(model: LoadedModel, form: str, path: Path) -> None:
    """Find out before the work whether a model like the given one can be written and read."""
    if form == "program" or isinstance(model.model, Program):
        return
    again = read_again(model_bytes(model.model, form, path.suffix), form).model
    if type(again) is not type(model.model):
        raise FileError(
            f"{path}: a {type(model.model).__name__} in this format is read again as a "
            f"{type(again).__name__}, which predicts something else; say --pickle and name a file "
            "that ends in .pkl"
        )


def _notes(given: argparse.Namespace, asked: Project) -> list[str]:
    if given.holdout is not None and asked.weights is not None:
        return ["each row of the hold-out counts once; weights are of the rows that were used"]
    return []


# The work


def _repaired(work: Work) -> Repair:
    asked, given = work.asked, work.given
    arguments = work.arguments(work.model.model, work.threshold)
    utility = None if given.utility is None else given.utility.replace("-", " ")
    y = None if asked.target is None else work.data.frame[asked.target]
    if utility == "agreement":
        y = None
    work.progress.stage("auditing, then looking for what loses least")
    done = repair(
        work.model.model,
        arguments.pop("X"),
        y,
        **arguments,
        oracle=work.oracle,
        utility=utility,
        holdout=_holdout(work, y is not None),
        search=BUDGETS[given.effort],
    )
    check_rows(done.before.population.n_rows, asked)  # some may have been dropped
    return done


def _holdout(work: Work, needs_y: bool) -> Any:
    """Rows that are kept apart: a table with its right answers, or which of the rows are."""
    given, asked, n_rows = work.given, work.asked, len(work.data.frame)
    if given.holdout_share is not None:
        number = round(given.holdout_share * n_rows)
        check_rows(min(number, n_rows - number), asked)
        held = np.zeros(n_rows, dtype=np.bool_)
        held[np.random.default_rng(given.seed).permutation(n_rows)[:number]] = True
        return held
    if given.holdout is None:
        return None
    frame = read_table(given.holdout)
    if asked.where is not None:
        frame = frame[np.asarray(Program.parse(asked.where).predict(frame) == 1)]
        frame = frame.reset_index(drop=True)
    check_rows(len(frame), asked)
    if asked.target is not None and asked.target not in frame.columns:
        raise FileError(f"{given.holdout} has no column {asked.target!r}, which is the target")
    rows = replace(work.data, frame=frame, protected={}, weights=None)
    X, _, _ = given_to(work.model.model, rows, replace(asked, protected=_there(asked, frame)))
    return (X, frame[asked.target]) if needs_y else X


def _there(asked: Project, frame: Any) -> tuple[str, ...]:
    """The protected attributes that a table has a column of."""
    return tuple(name for name in asked.protected or () if name in frame.columns)


# The model


def _checked(work: Work, done: Repair, form: str) -> Checked:
    """The repaired model as it is to be written, after it was read again and audited."""
    path = work.given.repaired
    for made in _candidates(work, done, form):
        own, place = form, path
        if form in ("xgboost", "lightgbm") and not made.native:
            own, place = "skops", path.with_suffix(ELSEWHERE)
        content = _content(work, made, own, place)
        again = read_again(content, own).model
        _check_same(made.model, again, work, done)
        runs = isinstance(again, Program) or not made.native
        arguments = work.arguments(again, None if runs else work.threshold)
        found = audit(again, arguments.pop("X"), **arguments)
        if not found.violations(work.oracle):
            return Checked(made, place, own, content, found)
    raise FileError("the repaired model was read again, and violations were found; report this")


def _candidates(work: Work, done: Repair, form: str) -> Iterator[Made]:
    """The models that may be written, the best first."""
    given = work.model.model
    if form == "program":
        yield Made(done.program, isinstance(given, Program))
    elif not done.replaced:
        yield Made(given, True) if not isinstance(given, Program) else _running(done, "")
    else:
        yield Made(done.deployed.model, done.deployed.native, done.deployed.why)
        if done.deployed.native:
            yield _running(done, "an audit of the model that was written back finds violations")


def _running(done: Repair, why: str) -> Made:
    from proxyuse.models.program_estimator import program_estimator

    given = done.given
    if isinstance(given, Program):
        return Made(program_estimator(done.program), False, "a program was given, not a model")
    return Made(program_estimator(done.program, given), False, why)


def _content(work: Work, made: Made, form: str, path: Path) -> bytes:
    """The bytes of a model; those that were read if it is the model given, in the same format."""
    model = work.model
    if made.model is model.model and form == model.kind and path.suffix == model.path.suffix:
        return model.path.read_bytes()
    return model_bytes(made.model, form, path.suffix)


def _check_same(made: Any, again: Any, work: Work, done: Repair) -> None:
    """Refuse a file that predicts something else than what was saved."""
    X, _, _ = given_to(again, work.data, work.asked)
    said = [_predicted(model, X, done) for model in (made, again)]
    same = said[0].shape == said[1].shape and bool(
        np.all((said[0] == said[1]) | ((said[0] != said[0]) & (said[1] != said[1])))
    )
    if not same:
        raise FileError(
            f"the {type(made).__name__} predicts something else after it was saved and read "
            "again; nothing was written; choose another format with the ending of --output"
        )


def _predicted(model: Any, X: Any, done: Repair) -> Array:
    if isinstance(model, Program):
        return model.predict(X)
    return predictions(model, model_rows(model, X, done.program.inputs))


# The result


def _results(
    work: Work, done: Repair, checked: Checked, told: dict[str, Any]
) -> tuple[dict[str, Any], dict[Path, str | bytes]]:
    """The document, and what goes to which file; the model comes last."""
    given, made = work.given, checked.made
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
    if given.certificate is not None:
        story = done.story() if done.replaced else None
        certificate = certify(checked.audit, work.oracle, story)
        files[given.certificate] = certificate.to_json()
        names |= {"certificate": given.certificate.name, "certificate_hash": certificate.hash}
    if given.program is not None:
        files[given.program] = f"{checked.audit.program}\n"
        names["program"] = given.program.name
    if given.python is not None:
        from proxyuse.models.python_source import python_source

        files[given.python] = python_source(done.program)
        names["python"] = given.python.name
    if given.report is not None:
        names["report"] = given.report.name
    document = repair_document(
        done, written=names, after=checked.audit, about=told, min_cell=min_cell(work.asked)
    )
    if given.report is not None:
        files[given.report] = _report(work, done, document, told)
    files[checked.path] = checked.content
    return document, files


def _report(work: Work, done: Repair, document: dict[str, Any], told: dict[str, Any]) -> str:
    """What was done, as a page or as Markdown, by the name of the file."""
    if work.given.report.suffix.lower() not in (".html", ".htm"):
        return repair_markdown(document)
    from proxyuse.page.page import page_text

    about = {**told, "written": document["written"]}
    return page_text(
        done.before, about=about, min_cell=min_cell(work.asked), oracle=work.oracle, repair=done
    )


def _next_steps(work: Work, document: dict[str, Any], checked: Checked) -> str:
    """What to do with the result."""
    given, asked = work.given, work.asked
    lines = ["", "What to do next"]
    if given.certificate is None:
        lines.append("- let others check it: the same command with --certificate certificate.json")
    else:
        words = ["proxyuse", "verify", str(given.certificate), "--model", str(checked.path)]
        words += ["--data", str(asked.data)]
        for name in ("target", "where", "protected_data", "key", "policy", "judgments"):
            value = getattr(asked, name)
            if value is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        words += ["--trust-pickle"] * (checked.form == "pickle")
        lines.append(f"- check it, or let others do so: {shlex.join(words)}")
    if document["result"] == "repaired" and work.oracle is None:
        lines += [
            "- keep what is appropriate: nobody judged, so every witness had to go; see proxyuse",
            "  judge --help, then repair again with --judgments",
        ]
    if document["result"] == "repaired" and document["utility"]["holdout"] is None:
        lines.append("- see the cost on rows that did not choose it: --holdout-share 0.2")
    if not document["complete"]:
        lines.append("- what was not settled is told above: a violation may be left there")
    lines.append("- ask at other thresholds (--epsilon, --delta) and of other protected attributes")
    return "\n".join(lines)
