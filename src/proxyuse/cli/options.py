"""The commands and their arguments. Imports nothing heavy."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from proxyuse.cli.declared_options import OPTIONS, OUTPUT, VALIDITY, add_options
from proxyuse.options import Option, options_of
from proxyuse.project_settings import VALIDITY_OPTIONS, Output, ProjectOptions
from proxyuse.settings import AuditKeywords, RepairKeywords

AUDIT = """\
Measure the association of every computation in a model with a protected attribute, and its
influence on the decisions. A computation above both thresholds is a witness of proxy use.

Models: skops, XGBoost JSON or UBJ, LightGBM text, a program as text; pickle and joblib only with
--trust-pickle. Data: CSV, Parquet, Arrow or Feather. Options that are not passed are read from
proxyuse.toml, or from [tool.proxyuse] in pyproject.toml, in this folder or a parent folder."""

AUDIT_EXAMPLES = """\
examples:
  proxyuse audit --model model.skops --data people.csv --protected religion
  proxyuse audit --model m.json --data d.parquet --protected sex --protected age_group \\
      --epsilon 0.2 --delta 0.02 --output audit.json --markdown audit.md
  proxyuse audit --model m.skops --data d.csv --protected ethnicity \\
      --protected-data restricted.csv --key person_id
  proxyuse audit --model m.skops --data d.csv --protected sex --where "age >= 18 and age < 65"
  proxyuse audit --model m.skops --data unseen.csv --protected sex --validity confirm \\
      --confirmed-only
exit codes: 0 nothing found, 1 proxy use found, 2 usage error, 3 nothing found, but the search is
incomplete"""

JUDGE = """\
Audit the model and show each witness that neither the policy nor an earlier judgment covers, the
strongest group first. You say whether each use is appropriate, and why. Every answer is written to
the judgments file at once, so you can stop at any time.

Answers are read line by line, so they can also come from a file or a pipe."""

JUDGE_EXAMPLES = """\
examples:
  proxyuse judge --model model.skops --data people.csv --protected religion \\
      --judgments judgments.jsonl --by "Ada Byron"
  proxyuse judge                 with a proxyuse.toml that names the judgments
  proxyuse judge --list          list the witnesses without a judgment, for a CI log
exit codes: 0 no violations remain, 1 violations remain, 2 usage error, 3 no violations remain, but
the search is incomplete, 130 interrupted"""


REPAIR = """\
Audit the model and replace computations with constants until no violations remain, with the least
loss of --utility. The repaired model has the class of the original if possible; otherwise it runs
the repaired program, and the output says why. The model is loaded and audited again before
anything is written.

Without --policy and --judgments, every witness is a violation."""

REPAIR_EXAMPLES = """\
examples:
  proxyuse repair --model model.skops --data people.csv --protected religion \\
      --target hired --output repaired.skops
  proxyuse repair --model m.json --data d.parquet --protected sex --target paid \\
      --policy pay.yaml --judgments judgments.jsonl --holdout-share 0.2 \\
      --output repaired.json --certificate certificate.json --report repair.md
  proxyuse repair --output repaired.skops         with a proxyuse.toml in this folder
exit codes: 0 no violations remain, 2 usage error, 3 no violations remain, but the search is
incomplete"""

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


def add_commands(parser: argparse.ArgumentParser, words: Sequence[str] | None = None) -> None:
    """Add every command to a parser.

    Parameters
    ----------
    parser : the parser of the program.
    words : the command line. Only commands in it get their arguments; all if None.
    """
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (summary, text, epilog, add) in COMMANDS.items():
        command = commands.add_parser(
            name,
            usage=f"proxyuse {name} [OPTIONS]" if add in MANY else None,
            help=summary,
            description=text or f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if words is None or name in words:
            command.add_argument("--json", action="store_true", help="Print JSON instead of text.")
            add(command)


def refuse_unknown_words(
    parser: argparse.ArgumentParser, command: str | None, words: Sequence[str]
) -> NoReturn:
    """Exit with a usage error that suggests the closest option."""
    (choices,) = (action.choices for action in parser._actions if action.dest == "command")
    owner: argparse.ArgumentParser = parser if command is None else dict(choices or {})[command]
    word = words[0].partition("=")[0]
    known = [flag for flag in owner._option_string_actions if flag.startswith("--")]
    close = difflib.get_close_matches(word, known, n=1) if word.startswith("-") else []
    hint = f"; did you mean '{close[0]}'?" if close else f"; see proxyuse {command or ''} --help"
    kind = "option" if word.startswith("-") else "argument"
    owner.error(f"unknown {kind} '{word}'{hint}")


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
    judging.add_argument("--by", metavar="NAME", help="Name of the judge; asked for if missing.")
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
        help="Hold-out set: more rows, on which the utility is measured a second time.",
    )
    holdout.add_argument(
        "--holdout-share",
        type=float,
        metavar="X",
        help="Share of the rows to hold out instead. Violations are searched on all rows.",
    )
    cost.add_argument(
        "--seed", type=int, default=0, metavar="N", help="Seed of --holdout-share. Default: 0."
    )
    cost.add_argument(
        "--effort",
        choices=EFFORTS,
        default="normal",
        help="How long to search for a repair with a smaller loss. Default: normal.",
    )
    result = groups["result"]
    result.add_argument(
        "--output",
        dest="repaired",
        type=Path,
        metavar="FILE",
        required=True,
        help="The repaired model: .skops, .json or .ubj (XGBoost), .txt (LightGBM), .program.",
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
        help="Project file; by default the nearest one in this folder or a parent folder.",
    )


def _add_trust(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--trust-pickle",
        action="store_true",
        help="Load a pickle or joblib file. It can run any code, so trust its author.",
    )
    group.add_argument("--quiet", action="store_true", help="Do not show progress.")


def _add_show(show: argparse.ArgumentParser) -> None:
    show.add_argument("result", type=Path, metavar="FILE", help="A result of audit --output.")
    form = show.add_mutually_exclusive_group()
    form.add_argument(
        "--witness", metavar="ID", help="Show one witness. A unique prefix of the id is enough."
    )
    form.add_argument("--markdown", action="store_true", help="Print Markdown.")
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
        help="Only confirmed new witnesses count for the exit code.",
    )


def _add_verify(verify: argparse.ArgumentParser) -> None:
    verify.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="The certificate.")
    data = verify.add_argument_group(GROUPS["data"])
    subject = data.add_mutually_exclusive_group(required=True)
    subject.add_argument("--model", type=Path, metavar="FILE", help="The certified model.")
    subject.add_argument("--program", type=Path, metavar="FILE", help="The program, as text.")
    data.add_argument("--data", type=Path, metavar="FILE", required=True, help="The rows.")
    add_options(data, OPTIONS, _named("target", "weights", "where", "protected_data", "key"))
    add_options(verify.add_argument_group("judgments"), OPTIONS, _named("policy", "judgments"))
    run = verify.add_argument_group(GROUPS["run"])
    run.add_argument(
        "--everything",
        action="store_true",
        help="Recompute every decomposition from the definition, not a sample of 200.",
    )
    run.add_argument("--seed", type=int, default=0, metavar="N", help="Seed of that sample.")
    add_options(run, OPTIONS, _named("threads"))
    _add_trust(run)


def _add_datasets(datasets: argparse.ArgumentParser) -> None:
    datasets.add_argument("name", nargs="?", metavar="NAME", help="The name of a data set.")
    datasets.add_argument("--output", type=Path, metavar="FILE", help="Write it as CSV.")


def _add_nothing(_: argparse.ArgumentParser) -> None:
    pass


def _named(*names: str) -> list[Option]:
    return [option for option in _DECLARED if option.name in names]


_DECLARED = options_of(ProjectOptions)
COMMANDS: dict[str, tuple[str, str, str, Callable[[argparse.ArgumentParser], None]]] = {
    "demo": (
        "train a model on census data and audit it",
        "Train a model on census data without the column of marital status, and search it for\n"
        "proxies of marital status.",
        "examples:\n  proxyuse demo\n"
        "  proxyuse demo --files demo   keep the model and the data for your own audits",
        _add_demo,
    ),
    "audit": ("find proxy use in a model", AUDIT, AUDIT_EXAMPLES, _add_audit),
    "judge": ("judge witnesses one by one", JUDGE, JUDGE_EXAMPLES, _add_judge),
    "repair": (
        "replace disallowed computations with constants",
        REPAIR,
        REPAIR_EXAMPLES,
        _add_repair,
    ),
    "show": (
        "print a saved result, or one witness in detail",
        "",
        "examples:\n  proxyuse show audit.json\n"
        "  proxyuse show audit.json --witness 404398d5e41ff90f\n"
        "  proxyuse show audit.json --markdown",
        _add_show,
    ),
    "diff": (
        "compare two results and list new, removed and stronger witnesses",
        "",
        "examples:\n  proxyuse diff released.json retrained.json\n"
        "exit codes: 0 no new witnesses, 1 new witnesses, 3 no new witnesses, but the search is\n"
        "incomplete",
        _add_diff,
    ),
    "verify": (
        "check a certificate against the model and the data",
        "Repeat the certified audit and compare everything that the certificate states: the\n"
        "program, the rows, the witnesses, the judgments and the strongest figures.",
        "examples:\n"
        "  proxyuse verify certificate.json --model model.skops --data people.parquet\n"
        "  proxyuse verify certificate.json --program repaired.txt --data people.csv \\\n"
        "      --policy pay.yaml --everything\n"
        "exit codes: 0 verified, 1 not verified, 2 usage error",
        _add_verify,
    ),
    "datasets": (
        "list the bundled data sets, or write one as CSV",
        "",
        "examples:\n  proxyuse datasets\n  proxyuse datasets adult --output adult.csv",
        _add_datasets,
    ),
    "doctor": (
        "show what is installed and what is missing",
        "",
        "Changes nothing. The exit code is 0 if audits run here, otherwise 2.",
        _add_nothing,
    ),
}
"""For each command its summary, its description, its epilog and its arguments."""
MANY = (_add_audit, _add_judge, _add_repair)
"""The commands with so many options that a usage line does not help."""
