"""The arguments of each command. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

from proxyuse.cli.declared_options import (
    OPTIONS,
    OUTPUT,
    VALIDITY,
    add_expectation,
    add_options,
)
from proxyuse.decision import Threshold
from proxyuse.options import Option, options_of
from proxyuse.project_settings import VALIDITY_OPTIONS, Acceptable, Output, ProjectOptions
from proxyuse.settings import AuditKeywords, FailOn, RepairKeywords

UTILITIES = (
    "accuracy", "balanced-accuracy", "auc", "log-loss", "mean-squared-error", "agreement",
)  # fmt: skip
PREDICTION = "prediction"


GROUPS = {
    "data": "model and data",
    "witness": "thresholds and measures",
    "verdict": "verdict",
    "search": "search",
    "repair": "repair",
    "run": "execution",
    "result": "output",
}
"""The titles of the groups of declared options."""


def _add_demo(demo: argparse.ArgumentParser) -> None:
    demo.add_argument(
        "--files", type=Path, metavar="FOLDER", help="Write the model and the data to this folder."
    )
    demo.add_argument("--report", type=Path, metavar="FILE", help="Write an HTML report.")


def _add_audit(audit: argparse.ArgumentParser) -> None:
    groups = _add_declared(audit, AuditKeywords.__annotations__)
    _add_validity(audit)
    result = groups["result"]
    add_options(result, OUTPUT, options_of(Output))
    _add_certificate(result)
    result.add_argument(
        "--thresholds",
        action="store_true",
        help="Also count the witnesses at other pairs of thresholds. An HTML report always does.",
    )
    _add_execution(groups["run"])


def _add_judge(judge: argparse.ArgumentParser) -> None:
    groups = _add_declared(judge, AuditKeywords.__annotations__)
    _add_validity(judge)
    judging = judge.add_argument_group("judging")
    judging.add_argument(
        "--by", metavar="NAME", help="Your name; the command asks for it if it is missing."
    )
    judging.add_argument(
        "--list", action="store_true", help="Print the witnesses without a judgment and exit."
    )
    _add_execution(groups["run"])


def _add_judgments(judgments: argparse.ArgumentParser) -> None:
    judgments.add_argument("file", type=Path, metavar="FILE", help="The file of judgments.")
    judgments.add_argument(
        "--head",
        metavar="HASH",
        help="Head of the file, as an earlier result printed it. Another one is an error.",
    )
    judgments.add_argument(
        "--recover",
        action="store_true",
        help="If the file is damaged, keep a copy and continue from the last intact record.",
    )
    judgments.add_argument(
        "--by", metavar="NAME", help="Your name, saved with the recovery. --recover needs it."
    )


def _add_repair(repair: argparse.ArgumentParser) -> None:
    groups = _add_declared(repair, RepairKeywords.__annotations__)
    _add_validity(repair)
    cost = repair.add_argument_group("utility")
    cost.add_argument(
        "--utility",
        choices=UTILITIES,
        help="Utility to preserve. With --target, the default is accuracy, or mean squared error "
        "for numbers; otherwise it is agreement with the original model.",
    )
    cost.add_argument(
        "--validation",
        type=Path,
        metavar="FILE",
        help="Rows that compare the candidates. No model is trained on them. Without them, folds "
        "of the data compare the candidates.",
    )
    cost.add_argument(
        "--accept-loss",
        action="store_true",
        help="Write the model even if it is not better than a constant, or loses more than "
        "--max-loss.",
    )
    result = groups["result"]
    result.add_argument(
        "--output",
        dest="repaired",
        type=Path,
        metavar="FILE",
        required=True,
        help="Write the repaired model. The extension sets the format: .skops, .json or .ubj "
        "(XGBoost), .txt (LightGBM, or a program), .program.",
    )
    _add_certificate(result)
    result.add_argument(
        "--program", type=Path, metavar="FILE", help="Write the repaired program as text."
    )
    result.add_argument(
        "--python", type=Path, metavar="FILE", help="Write the repaired program as Python source."
    )
    result.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="Write a report: HTML if the name ends in .html, otherwise Markdown.",
    )
    result.add_argument("--force", action="store_true", help="Overwrite existing files.")
    result.add_argument(
        "--pickle", action="store_true", help="Allow --output to be a .pkl or .joblib file."
    )
    _add_execution(groups["run"])


def _add_declared(
    command: argparse.ArgumentParser, keywords: Iterable[str]
) -> dict[str, argparse._ArgumentGroup]:
    """Add the options that the project file has at its top level, in groups."""
    every = {*AuditKeywords.__annotations__, *RepairKeywords.__annotations__}
    skipped = every - {*keywords}
    groups = {}
    for name, title in GROUPS.items():
        groups[name] = command.add_argument_group(title)
        options = [o for o in _DECLARED if o.group == name and o.name not in skipped]
        if name == "data":  # the files come first
            options.sort(key=lambda option: option.name in AuditKeywords.__annotations__)
        add_options(groups[name], OPTIONS, options)
    return groups


def _add_validity(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("validity")
    add_options(group, VALIDITY, VALIDITY_OPTIONS)


def _add_certificate(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="Write a certificate that proxyuse verify can check.",
    )


def _add_execution(group: argparse._ArgumentGroup) -> None:
    """Options of every command that loads a model, except those of the project file."""
    _add_trust(group)
    group.add_argument(
        "--project",
        type=Path,
        metavar="FILE",
        help="Project file to use instead of the nearest one in this folder or a parent folder.",
    )


def _add_limit(group: argparse._ActionsContainer) -> None:
    """Add ``--limit``, which every command that reads files has."""
    group.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Adjust a limit on the size of inputs, such as rows=200_000_000. Can be repeated.",
    )


def _add_trust(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="Load a pickle or joblib file. It can run any code, so load only files you trust.",
    )
    _add_limit(group)
    group.add_argument("--quiet", action="store_true", help="Do not show progress.")


def _add_show(show: argparse.ArgumentParser) -> None:
    show.add_argument("result", type=Path, metavar="FILE", help="The result of an audit, as JSON.")
    form = show.add_mutually_exclusive_group()
    form.add_argument(
        "--witness", metavar="ID", help="Show one witness. A unique prefix of the id is enough."
    )
    show.add_argument(
        "--exact",
        action="store_true",
        help="Print exact thresholds and weights instead of short ones.",
    )
    form.add_argument("--markdown", action="store_true", help="Print a Markdown summary.")
    form.add_argument("--csv", action="store_true", help="Print the witnesses as CSV.")
    form.add_argument("--sarif", action="store_true", help="Print the witnesses as SARIF.")
    form.add_argument("--junit", action="store_true", help="Print the witnesses as JUnit XML.")
    _add_limit(show)


def _add_diff(diff: argparse.ArgumentParser) -> None:
    diff.add_argument("old", type=Path, metavar="OLD", help="A result.")
    diff.add_argument("new", type=Path, metavar="NEW", help="A later result.")
    diff.add_argument(
        "--tolerance",
        type=float,
        default=0.01,
        metavar="X",
        help="How much a figure can rise before a witness counts as stronger. Default: 0.01.",
    )
    diff.add_argument(
        "--fail-on",
        choices=get_args(FailOn),
        help="Which new witnesses give exit code 1: confirmed ones, or also possible ones. "
        "Default: as in NEW.",
    )
    _add_limit(diff)


def _add_verify(verify: argparse.ArgumentParser) -> None:
    verify.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="The certificate.")
    data = verify.add_argument_group(GROUPS["data"])
    subject = data.add_mutually_exclusive_group(required=True)
    subject.add_argument(
        "--model",
        type=Path,
        metavar="FILE",
        help="The model. The decision in the certificate is applied to it.",
    )
    subject.add_argument(
        "--program", type=Path, metavar="FILE", help="The program as text, instead of a model."
    )
    data.add_argument(
        "--data", type=Path, metavar="FILE", required=True, help="The rows, in any order."
    )
    data.add_argument(
        "--original",
        type=Path,
        metavar="FILE",
        help="The model before the repair, to verify its hash and who gains and who loses.",
    )
    add_options(data, OPTIONS, _named("target", "weights", "where", "protected_data", "key"))
    add_options(
        verify.add_argument_group("judgments"),
        OPTIONS,
        _named("policy", "judgments", "judgments_head"),
    )
    expected = verify.add_argument_group("the claim that you expect")
    for name, text in _EXPECTATIONS.items():
        add_expectation(expected, _named(name)[0], text)
    expected.add_argument(
        "--decision-threshold",
        dest="expected_decision",
        type=_decision,
        metavar="X",
        help="The threshold of the decision, or 'prediction' for the prediction of the model.",
    )
    expected.add_argument(
        "--accept",
        action="append",
        choices=get_args(Acceptable),
        help="Accept a claim that is easily misread: attributes whose names differ from their "
        "columns (renamed), sampled influences that another seed could put on the other side of "
        "delta (weak-sampling), or judgments that you cannot check (unchecked-judgments). Can be "
        "repeated.",
    )
    expected.add_argument(
        "--signed-by",
        type=Path,
        metavar="FILE",
        help="Public key that must have signed the certificate. The signature is in the file of "
        "that name with .sig added.",
    )
    run = verify.add_argument_group(GROUPS["run"])
    run.add_argument(
        "--everything",
        action="store_true",
        help="Recompute every decomposition from the definition, not only a sample of 200.",
    )
    run.add_argument(
        "--seed", type=int, default=0, metavar="N", help="Seed for that sample. Default: 0."
    )
    add_options(run, OPTIONS, _named("threads"))
    _add_trust(run)


_EXPECTATIONS = {
    "protected": "Protected attribute that the certificate must be about: a column, or a name and "
    "an expression. Can be repeated; name all of them.",
    "epsilon": "Epsilon that the certificate must have.",
    "delta": "Delta that the certificate must have.",
    "association": "Association measure that the certificate must use.",
    "influence": "Influence measure that the certificate must use.",
}
"""The options of an audit with which the verifier states the claim, with their help texts."""


def _decision(text: str) -> Threshold | str:
    if text == PREDICTION:
        return text
    try:
        return Threshold(float(text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a number or '{PREDICTION}', got '{text}'"
        ) from None


def _add_sign(sign: argparse.ArgumentParser) -> None:
    sign.add_argument("file", nargs="?", type=Path, metavar="FILE", help="The file.")
    task = sign.add_mutually_exclusive_group()
    task.add_argument(
        "--new-key",
        type=Path,
        metavar="KEY",
        help="Create a key pair instead. If KEY is ada.pem, the public key is ada.pub.pem.",
    )
    task.add_argument(
        "--check", action="store_true", help="Check the signature instead of signing."
    )
    sign.add_argument(
        "--key",
        type=Path,
        metavar="KEY",
        help="The private key to sign with, or the public key to check with (Ed25519, PEM).",
    )
    sign.add_argument(
        "--passphrase-file",
        type=Path,
        metavar="FILE",
        help="File whose first line is the passphrase of the private key. Without it, the command "
        "asks for the passphrase of an encrypted key.",
    )
    sign.add_argument(
        "--signature",
        type=Path,
        metavar="FILE",
        help="The signature file. Default: the name of the file with .sig added.",
    )


def _add_datasets(datasets: argparse.ArgumentParser) -> None:
    datasets.add_argument("name", nargs="?", metavar="NAME", help="The name of a dataset.")
    datasets.add_argument("--output", type=Path, metavar="FILE", help="Write the dataset as CSV.")


def _named(*names: str) -> list[Option]:
    return [option for option in _DECLARED if option.name in names]


_DECLARED = options_of(ProjectOptions)

ARGUMENTS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "demo": _add_demo,
    "audit": _add_audit,
    "judge": _add_judge,
    "judgments": _add_judgments,
    "repair": _add_repair,
    "show": _add_show,
    "diff": _add_diff,
    "verify": _add_verify,
    "sign": _add_sign,
    "datasets": _add_datasets,
}
"""For each command with arguments of its own, the function that adds them."""
