"""The commands and their options, as `argparse` knows them; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

AUDIT = """\
Measure every computation inside a model for two things: how closely it is associated with a
protected attribute, and how much it influences the decisions. Those above both thresholds are
witnesses of proxy use.

Models: skops, XGBoost JSON or UBJ, LightGBM text, a program as text; pickle and joblib only with
--trust-pickle. Data: CSV, Parquet, Arrow or Feather. What is not given here is taken from
proxyuse.toml or [tool.proxyuse] in pyproject.toml, in this folder or one above."""

AUDIT_EXAMPLES = """\
examples:
  proxyuse audit --model model.skops --data people.csv --protected religion
  proxyuse audit --model m.json --data d.parquet --protected sex --protected age_group \\
      --epsilon 0.2 --delta 0.02 --output audit.json --markdown audit.md
  proxyuse audit --model m.skops --data d.csv --protected ethnicity \\
      --protected-data restricted.csv --key person_id
  proxyuse audit --model m.skops --data d.csv --protected sex --where "age >= 18 and age < 65"
exit codes: 0 nothing found, 1 proxy use found, 2 wrong use, 3 nothing found but not everything
could be settled"""


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add every command to a parser."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_demo(commands)
    _add_audit(commands)
    _add_show(commands)
    _add_diff(commands)
    _add_datasets(commands)
    _add_doctor(commands)


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def _command(
    commands: Commands, name: str, summary: str, text: str = "", epilog: str = ""
) -> argparse.ArgumentParser:
    found = commands.add_parser(
        name,
        help=summary,
        description=text or summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    found.add_argument("--json", action="store_true", help="print JSON instead of text")
    return found


def _add_demo(commands: Commands) -> None:
    demo = _command(
        commands,
        "demo",
        "train a model on census data, audit it, say what was found",
        "Train a model on census data without anyone's marital status, and look for marital\n"
        "status inside it.",
        "examples:\n  proxyuse demo\n"
        "  proxyuse demo --files demo   keep the model and the data, to go on with",
    )
    demo.add_argument("--files", type=Path, metavar="FOLDER", help="write model and data there")


def _add_audit(commands: Commands) -> None:
    audit = _command(commands, "audit", "look for proxy use inside a model", AUDIT, AUDIT_EXAMPLES)
    what = audit.add_argument_group("what is audited")
    what.add_argument("--model", type=Path, metavar="FILE", help="the trained model")
    what.add_argument("--data", type=Path, metavar="FILE", help="the rows to measure on")
    what.add_argument(
        "--protected",
        action="append",
        metavar="COLUMN",
        help="a protected attribute; may be given several times",
    )
    what.add_argument("--target", metavar="COLUMN", help="what the model predicts, if in the data")
    what.add_argument("--weights", metavar="COLUMN", help="how much each row counts")
    what.add_argument(
        "--where",
        metavar="CONDITION",
        help="only rows for which this holds, such as \"age >= 18 and job in {'clerk', 'cook'}\"",
    )
    what.add_argument(
        "--protected-data",
        type=Path,
        metavar="FILE",
        help="another table that holds the protected attributes",
    )
    what.add_argument("--key", metavar="COLUMN", help="the column both tables are joined by")
    what.add_argument(
        "--missing-protected",
        choices=("refuse", "drop", "category"),
        help="where a protected value is missing: an error (default), the row is dropped, or "
        "missing counts as a value",
    )
    what.add_argument(
        "--decision-threshold",
        type=float,
        metavar="P",
        help="the decision is whether the probability of the last class is at least P, instead "
        "of what the model predicts",
    )
    thresholds = audit.add_argument_group("what counts as a witness")
    thresholds.add_argument(
        "--epsilon", type=float, metavar="E", help="association of at least E, 0 to 1 (default 0.1)"
    )
    thresholds.add_argument(
        "--delta", type=float, metavar="D", help="influence above D, 0 to 1 (default 0.05)"
    )
    thresholds.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="rules that say which witnesses are appropriate; only the others count as violations",
    )
    thresholds.add_argument(
        "--judgements",
        type=Path,
        metavar="FILE",
        help="what people decided on single witnesses; goes before the policy",
    )
    result = audit.add_argument_group("the result")
    result.add_argument("--output", type=Path, metavar="FILE", help="write the result as JSON")
    result.add_argument("--csv", type=Path, metavar="FILE", help="write the witnesses as CSV")
    result.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write a summary for a pull request"
    )
    result.add_argument(
        "--min-cell",
        type=int,
        metavar="N",
        help="counts of people below N are not shown (default 5)",
    )
    how = audit.add_argument_group("how")
    how.add_argument(
        "--trust-pickle",
        action="store_true",
        help="read a pickle or joblib file, which can run any code: only for files of your own",
    )
    how.add_argument("--threads", type=int, metavar="N", help="threads that count (default 1)")
    how.add_argument(
        "--project", type=Path, metavar="FILE", help="the project file, instead of the nearest one"
    )
    how.add_argument("--quiet", action="store_true", help="no progress on standard error")


def _add_show(commands: Commands) -> None:
    show = _command(
        commands,
        "show",
        "print a result again, or one witness in detail",
        epilog="examples:\n  proxyuse show audit.json\n"
        "  proxyuse show audit.json --witness 404398d5e41ff90f\n"
        "  proxyuse show audit.json --markdown",
    )
    show.add_argument("result", type=Path, metavar="FILE", help="what audit --output wrote")
    form = show.add_mutually_exclusive_group()
    form.add_argument("--witness", metavar="ID", help="one witness; the beginning of its id does")
    form.add_argument("--markdown", action="store_true", help="as Markdown")
    form.add_argument("--csv", action="store_true", help="the witnesses as CSV")


def _add_diff(commands: Commands) -> None:
    diff = _command(
        commands,
        "diff",
        "compare two results: which witnesses are new, gone, stronger",
        epilog="examples:\n  proxyuse diff released.json retrained.json\n"
        "exit codes: 0 no new witness, 1 new witnesses, 3 none new but not everything was settled",
    )
    diff.add_argument("old", type=Path, metavar="OLD", help="a result")
    diff.add_argument("new", type=Path, metavar="NEW", help="a later one")
    diff.add_argument(
        "--tolerance",
        type=float,
        default=0.01,
        metavar="T",
        help="how far a figure may rise before a witness counts as stronger (default 0.01)",
    )


def _add_datasets(commands: Commands) -> None:
    datasets = _command(
        commands,
        "datasets",
        "list the bundled data sets, or write one as CSV",
        epilog="examples:\n  proxyuse datasets\n  proxyuse datasets adult --output adult.csv",
    )
    datasets.add_argument("name", nargs="?", metavar="NAME", help="one of them")
    datasets.add_argument("--output", type=Path, metavar="FILE", help="write it there as CSV")


def _add_doctor(commands: Commands) -> None:
    _command(
        commands,
        "doctor",
        "say what is installed and what is missing",
        epilog="Nothing is changed. Exit code 0 if audits can be run here, else 2.",
    )
