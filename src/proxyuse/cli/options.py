"""The commands and their options, as `argparse` knows them; nothing heavy is imported here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from proxyuse.cli.validity_options import add_validity
from proxyuse.measure.association.names import ASSOCIATIONS

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
  proxyuse audit --model m.skops --data unseen.csv --protected sex --validity confirm \\
      --confirmed-only
exit codes: 0 nothing found, 1 proxy use found, 2 wrong use, 3 nothing found but not everything
could be settled"""

JUDGE = """\
Audit, then show each witness that neither the policy nor an earlier judgment settles, group by
group, the strongest group first, with what is known of it; ask whether the use is appropriate and
why; and write the answer to the file of judgments at once. Nothing that was confirmed as recorded
is lost by stopping.

Answers are read line by line, so they can also come from a file or a pipe."""

JUDGE_EXAMPLES = """\
examples:
  proxyuse judge --model model.skops --data people.csv --protected religion \\
      --judgments judgments.jsonl --by "Ada Byron"
  proxyuse judge                 with a proxyuse.toml that names the judgments
  proxyuse judge --list          what is still to be judged, for the log of a CI job
exit codes: 0 no violation is left, 1 some are, 2 wrong use, 3 none is left but not everything
could be settled, 130 interrupted"""


REPAIR = """\
Audit, then put constants in place of parts of the model until no violation is left, so that as
little as possible is lost of what --utility names. The repaired model is of the same kind where
that can be, and else one that runs the repaired program; which, and why, is said. It is read
again and audited again before anything is written.

Without --policy and --judgments every witness is a violation and has to go."""

REPAIR_EXAMPLES = """\
examples:
  proxyuse repair --model model.skops --data people.csv --protected religion \\
      --target hired --output repaired.skops
  proxyuse repair --model m.json --data d.parquet --protected sex --target paid \\
      --policy pay.yaml --judgments judgments.jsonl --holdout-share 0.2 \\
      --output repaired.json --certificate certificate.json --report repair.md
  proxyuse repair --output repaired.skops         with a proxyuse.toml in this folder
exit codes: 0 no violation is left, 2 wrong use, 3 none was found but not all was settled"""

UTILITIES = (
    "accuracy", "balanced-accuracy", "auc", "log-loss", "mean-squared-error", "agreement",
)  # fmt: skip
EFFORTS = ("quick", "normal", "thorough")


def add_commands(parser: argparse.ArgumentParser) -> None:
    """Add every command to a parser."""
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    _add_demo(commands)
    _add_audit(commands)
    _add_judge(commands)
    _add_repair(commands)
    _add_show(commands)
    _add_diff(commands)
    _add_verify(commands)
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
    demo.add_argument(
        "--report", type=Path, metavar="FILE", help="write a page for people, as HTML"
    )


def _add_audit(commands: Commands) -> None:
    audit = _command(commands, "audit", "look for proxy use inside a model", AUDIT, AUDIT_EXAMPLES)
    _add_what(audit)
    _add_thresholds(audit)
    add_validity(audit)
    result = audit.add_argument_group("the result")
    result.add_argument("--output", type=Path, metavar="FILE", help="write the result as JSON")
    result.add_argument("--csv", type=Path, metavar="FILE", help="write the witnesses as CSV")
    result.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write a summary for a pull request"
    )
    result.add_argument(
        "--sarif", type=Path, metavar="FILE", help="write the witnesses as SARIF, for code scanning"
    )
    result.add_argument(
        "--junit",
        type=Path,
        metavar="FILE",
        help="write the witnesses as JUnit XML, for CI servers",
    )
    result.add_argument(
        "--report", type=Path, metavar="FILE", help="write a page for people, as HTML"
    )
    result.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write what proxyuse verify can check"
    )
    _add_min_cell(result)
    _add_time_limit(_add_how(audit))


def _add_judge(commands: Commands) -> None:
    judge = _command(
        commands, "judge", "decide on witnesses that nobody has judged", JUDGE, JUDGE_EXAMPLES
    )
    _add_what(judge)
    _add_thresholds(judge)
    add_validity(judge)
    judging = judge.add_argument_group("judging")
    judging.add_argument("--by", metavar="NAME", help="who judges; asked for if not given")
    judging.add_argument(
        "--list", action="store_true", help="print what is still to be judged, and ask nothing"
    )
    _add_min_cell(judging)
    _add_time_limit(_add_how(judge))


def _add_repair(commands: Commands) -> None:
    repair = _command(
        commands, "repair", "replace by constants what is not to be used", REPAIR, REPAIR_EXAMPLES
    )
    _add_what(repair)
    _add_thresholds(repair)
    cost = repair.add_argument_group("what it may cost")
    cost.add_argument(
        "--utility",
        choices=UTILITIES,
        help="what to lose least of; by default accuracy, or the mean squared error of numbers, "
        "if --target is given, else agreement with the model as it is",
    )
    apart = cost.add_mutually_exclusive_group()
    apart.add_argument(
        "--holdout",
        type=Path,
        metavar="FILE",
        help="more rows, used for nothing but a second figure of the utility",
    )
    apart.add_argument(
        "--holdout-share",
        type=float,
        metavar="S",
        help="keep this share of the rows apart for it; violations are looked for on all rows",
    )
    cost.add_argument(
        "--seed", type=int, default=0, metavar="N", help="which rows --holdout-share takes"
    )
    cost.add_argument(
        "--effort", choices=EFFORTS, default="normal", help="how long to look for what loses less"
    )
    result = repair.add_argument_group("the result")
    result.add_argument(
        "--output",
        dest="repaired",
        type=Path,
        metavar="FILE",
        required=True,
        help="the repaired model: .skops, .json or .ubj (XGBoost), .txt (LightGBM), .program",
    )
    result.add_argument(
        "--certificate", type=Path, metavar="FILE", help="write what proxyuse verify can check"
    )
    result.add_argument(
        "--program", type=Path, metavar="FILE", help="write the repaired program as text"
    )
    result.add_argument(
        "--python", type=Path, metavar="FILE", help="write the repaired program as Python source"
    )
    result.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="write what was found and done: a page for people if it ends in .html, else Markdown",
    )
    result.add_argument("--force", action="store_true", help="write over files that are there")
    result.add_argument(
        "--pickle", action="store_true", help="allow --output to be a .pkl or .joblib file"
    )
    _add_min_cell(result)
    _add_how(repair)


def _add_what(command: argparse.ArgumentParser) -> None:
    """Options that say what is audited."""
    what = command.add_argument_group("what is audited")
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


def _add_thresholds(command: argparse.ArgumentParser) -> None:
    """Options that say what counts as a witness, and as a violation."""
    thresholds = command.add_argument_group("what counts as a witness")
    thresholds.add_argument(
        "--epsilon", type=float, metavar="E", help="association of at least E, 0 to 1 (default 0.1)"
    )
    thresholds.add_argument(
        "--delta", type=float, metavar="D", help="influence above D, 0 to 1 (default 0.05)"
    )
    thresholds.add_argument(
        "--association",
        choices=ASSOCIATIONS,
        help="the measure of association (default normalized-mutual-information); choose "
        "thresholds anew for another measure",
    )
    thresholds.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="rules that say which witnesses are appropriate; only the others count as violations",
    )
    thresholds.add_argument(
        "--judgments",
        type=Path,
        metavar="FILE",
        help="what people decided on single witnesses; goes before the policy",
    )


def _add_min_cell(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--min-cell",
        type=int,
        metavar="N",
        help="counts of people below N are not shown (default 5)",
    )


def _add_how(command: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Options that say how an audit is done."""
    how = command.add_argument_group("how")
    how.add_argument(
        "--trust-pickle",
        action="store_true",
        help="read a pickle or joblib file, which can run any code: only for files of your own",
    )
    how.add_argument("--threads", type=int, metavar="N", help="threads (default: one per core)")
    how.add_argument(
        "--budget",
        action="append",
        metavar="KEY=N",
        help="work for combinations of terms, trees or occurrences: subsets, search, grow, "
        "occurrences or positions, such as subsets=4096,occurrences=1024; may be given several "
        "times",
    )
    how.add_argument(
        "--project", type=Path, metavar="FILE", help="the project file, instead of the nearest one"
    )
    how.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return how


def _add_time_limit(how: argparse._ArgumentGroup) -> None:
    how.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="stop detection after SECONDS and print what it has settled",
    )


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
    form.add_argument("--sarif", action="store_true", help="the witnesses as SARIF")
    form.add_argument("--junit", action="store_true", help="the witnesses as JUnit XML")


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
    diff.add_argument(
        "--confirmed-only",
        action="store_true",
        help="new witnesses count for the exit code if they are confirmed",
    )


def _add_verify(commands: Commands) -> None:
    verify = _command(
        commands,
        "verify",
        "check a certificate again, against the model and the data",
        "Find out again everything that a certificate says: which program, which rows, which\n"
        "witnesses, judged by whom, and how strong what is left is. What is not as certified is\n"
        "named.",
        "examples:\n"
        "  proxyuse verify certificate.json --model model.skops --data people.parquet\n"
        "  proxyuse verify certificate.json --program repaired.txt --data people.csv \\\n"
        "      --policy pay.yaml --everything\n"
        "exit codes: 0 verified, 1 not verified, 2 wrong use",
    )
    verify.add_argument("certificate", type=Path, metavar="CERTIFICATE", help="its file")
    what = verify.add_argument_group("what it speaks of")
    subject = what.add_mutually_exclusive_group(required=True)
    subject.add_argument("--model", type=Path, metavar="FILE", help="the model")
    subject.add_argument("--program", type=Path, metavar="FILE", help="the program, as text")
    what.add_argument("--data", type=Path, metavar="FILE", required=True, help="the rows")
    what.add_argument("--target", metavar="COLUMN", help="what the model predicts, if in the data")
    what.add_argument(
        "--weights", metavar="COLUMN", help="of the weights, if the certificate does not name it"
    )
    what.add_argument("--where", metavar="CONDITION", help="only rows for which this holds")
    what.add_argument(
        "--protected-data",
        type=Path,
        metavar="FILE",
        help="another table that holds the protected attributes",
    )
    what.add_argument("--key", metavar="COLUMN", help="the column both tables are joined by")
    who = verify.add_argument_group("who judged")
    who.add_argument("--policy", type=Path, metavar="FILE", help="the rules that were used")
    who.add_argument("--judgments", type=Path, metavar="FILE", help="what people decided")
    how = verify.add_argument_group("how")
    how.add_argument(
        "--everything",
        action="store_true",
        help="measure every decomposition again by the definition, not a sample: may take long",
    )
    how.add_argument("--seed", type=int, default=0, metavar="N", help="which sample (default 0)")
    how.add_argument(
        "--trust-pickle",
        action="store_true",
        help="read a pickle or joblib file, which can run any code: only for files of your own",
    )
    how.add_argument("--threads", type=int, metavar="N", help="threads (default: one per core)")
    how.add_argument("--quiet", action="store_true", help="no progress on standard error")


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
