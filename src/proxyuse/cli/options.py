"""The arguments of each command. Imports nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path

from proxyuse.cli.declared_options import OPTIONS, OUTPUT, VALIDITY, add_options
from proxyuse.options import Option, options_of
from proxyuse.project_settings import VALIDITY_OPTIONS, Output, ProjectOptions
from proxyuse.settings import AuditKeywords, RepairKeywords

UTILITIES = (
    "accuracy", "balanced-accuracy", "auc", "log-loss", "mean-squared-error", "agreement",
)  # fmt: skip
EFFORTS = ("quick", "normal", "thorough")


GROUPS = {
    "data": "model and data",
    "witness": "thresholds and measures",
    "search": "search",
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


def _add_repair(repair: argparse.ArgumentParser) -> None:
    groups = _add_declared(repair, RepairKeywords.__annotations__)
    cost = repair.add_argument_group("utility")
    cost.add_argument(
        "--utility",
        choices=UTILITIES,
        help="Utility to preserve. With --target, the default is accuracy, or mean squared error "
        "for numbers; otherwise it is agreement with the original model.",
    )
    holdout = cost.add_mutually_exclusive_group()
    holdout.add_argument(
        "--holdout",
        type=Path,
        metavar="FILE",
        help="Hold-out set: rows that are used only to report the utility.",
    )
    holdout.add_argument(
        "--holdout-share",
        type=float,
        metavar="X",
        help="Share of the rows to hold out instead. Violations are still detected on all rows.",
    )
    cost.add_argument(
        "--seed", type=int, default=0, metavar="N", help="Seed for --holdout-share. Default: 0."
    )
    cost.add_argument(
        "--effort",
        choices=EFFORTS,
        default="normal",
        help="How long to search for a repair with a smaller loss of utility. Default: normal.",
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
    skipped = {*AuditKeywords.__annotations__} - {*keywords}
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


def _add_trust(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="Load a pickle or joblib file. It can run any code, so load only files you trust.",
    )
    group.add_argument("--quiet", action="store_true", help="Do not show progress.")


def _add_show(show: argparse.ArgumentParser) -> None:
    show.add_argument("result", type=Path, metavar="FILE", help="The result of an audit, as JSON.")
    form = show.add_mutually_exclusive_group()
    form.add_argument(
        "--witness", metavar="ID", help="Show one witness. A unique prefix of the id is enough."
    )
    form.add_argument("--markdown", action="store_true", help="Print a Markdown summary.")
    form.add_argument("--csv", action="store_true", help="Print the witnesses as CSV.")
    form.add_argument("--sarif", action="store_true", help="Print the witnesses as SARIF.")
    form.add_argument("--junit", action="store_true", help="Print the witnesses as JUnit XML.")


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
        "--confirmed-only",
        action="store_true",
        help="New witnesses give exit code 1 only if they are confirmed. NEW must be the result "
        "of an audit with --validity.",
    )


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
    add_options(data, OPTIONS, _named("target", "weights", "where", "protected_data", "key"))
    add_options(verify.add_argument_group("judgments"), OPTIONS, _named("policy", "judgments"))
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
    "repair": _add_repair,
    "show": _add_show,
    "diff": _add_diff,
    "verify": _add_verify,
    "datasets": _add_datasets,
}
"""For each command with arguments of its own, the function that adds them."""
