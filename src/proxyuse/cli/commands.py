"""The commands: what each one is for. Their arguments are in `options`, imported when needed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import NoReturn

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
  proxyuse audit --model m.skops --data unseen.csv --protected sex --fail-on possible
exit codes: 0 no proxy use confirmed, 1 proxy use confirmed (with --fail-on possible: or possible),
2 usage error, 3 cannot be decided, or the search is incomplete"""

JUDGE = """\
Audit the model and show each witness that neither the policy nor an earlier judgment covers, the
strongest group first. You say whether each use is appropriate, and why. Every answer is written to
the judgments file immediately, so you can stop at any time.

Answers are read line by line, so they can also come from a file or a pipe."""

JUDGE_EXAMPLES = """\
examples:
  proxyuse judge --model model.skops --data people.csv --protected religion \\
      --judgments judgments.jsonl --by "Ada Byron"
  proxyuse judge                 read the options from proxyuse.toml
  proxyuse judge --list          list the witnesses without a judgment, for a CI log
exit codes: 0 no confirmed violations remain, 1 confirmed violations remain (with --fail-on
possible: or possible ones), 2 usage error, 3 cannot be decided, or the search is incomplete, 130
interrupted, 143 terminated"""


REPAIR = """\
Audit the model and repair its confirmed violations with the least loss of --utility: replace
computations with constants, or train the model again in other ways (with --target), and return the
best candidate. The repaired model has the class of the original if possible; otherwise it runs the
repaired program, and the output says why. The model is loaded and audited again before anything is
written.

Without --policy and --judgments, every witness is a violation."""

REPAIR_EXAMPLES = """\
examples:
  proxyuse repair --model model.skops --data people.csv --protected religion \\
      --target hired --output repaired.skops
  proxyuse repair --model m.json --data d.parquet --protected sex --target paid \\
      --policy pay.yaml --judgments judgments.jsonl --validation v.parquet \\
      --output repaired.json --certificate certificate.json --report repair.md
  proxyuse repair --output repaired.skops         read the other options from proxyuse.toml
exit codes: 0 no confirmed violations remain, 1 the repaired model was refused and not written,
2 usage error, 3 no confirmed violations remain, but the search is incomplete"""

COMMANDS = {
    "demo": (
        "train a model on census data and audit it",
        "Train a model on census data without marital status, and search it for proxies of\n"
        "marital status.",
        "examples:\n  proxyuse demo\n"
        "  proxyuse demo --files demo   keep the model and the data for your own audits",
    ),
    "audit": ("find proxy use in a model", AUDIT, AUDIT_EXAMPLES),
    "judge": ("judge witnesses one by one", JUDGE, JUDGE_EXAMPLES),
    "judgments": (
        "check a file of judgments, or recover a damaged one",
        "Check that no line of a file of judgments was changed, removed, moved or added, and\n"
        "print its head. Keep the head elsewhere: only with it can you notice that the last\n"
        "lines are missing.",
        "examples:\n  proxyuse judgments judgments.jsonl\n"
        '  proxyuse judgments judgments.jsonl --recover --by "Ada Byron"\n'
        "exit codes: 0 intact or recovered, 2 damaged or usage error",
    ),
    "repair": (
        "replace disallowed computations with constants",
        REPAIR,
        REPAIR_EXAMPLES,
    ),
    "show": (
        "print a saved result, or one witness in detail",
        "",
        "examples:\n  proxyuse show audit.json\n"
        "  proxyuse show audit.json --witness 404398d5e41ff90f\n"
        "  proxyuse show audit.json --markdown",
    ),
    "diff": (
        "compare two results and list new, removed and stronger witnesses",
        "",
        "examples:\n  proxyuse diff released.json retrained.json\n"
        "exit codes: 0 no new confirmed witnesses, 1 new confirmed witnesses (with --fail-on\n"
        "possible: or possible ones), 2 usage error, 3 cannot be decided, or incomplete",
    ),
    "verify": (
        "check a certificate against the model and the data",
        "Repeat the certified audit and compare everything that the certificate states: the\n"
        "program, the rows, the witnesses, the judgments and the strongest figures. The first\n"
        "three lines state the whole claim. Read them: a true claim can be about another\n"
        "attribute, decision or threshold than you think. State what you expect, and any\n"
        "difference fails.",
        "examples:\n"
        "  proxyuse verify certificate.json --model model.skops --data people.parquet \\\n"
        "      --protected religion --epsilon 0.1 --delta 0.05 --decision-threshold prediction\n"
        "  proxyuse verify certificate.json --model model.skops --data people.parquet \\\n"
        "      --signed-by auditor.pub.pem\n"
        "  proxyuse verify certificate.json --program repaired.txt --data people.csv \\\n"
        "      --policy pay.yaml --everything\n"
        "exit codes: 0 verified, 1 not verified, 2 usage error",
    ),
    "sign": (
        "sign a file, or check a signature",
        "Sign a file with an Ed25519 key, so that others can check who stands behind it. The\n"
        "signature is a file of its own. Needs the extra 'sign'.",
        "examples:\n"
        "  proxyuse sign --new-key auditor.pem           create auditor.pem and auditor.pub.pem\n"
        "  proxyuse sign certificate.json --key auditor.pem   write certificate.json.sig\n"
        "  proxyuse sign --check audit.json --key auditor.pub.pem\n"
        "exit codes: 0 done, or the signature is valid, 1 the signature is not valid, 2 usage\n"
        "error",
    ),
    "datasets": (
        "list the bundled datasets, or write one as CSV",
        "",
        "examples:\n  proxyuse datasets\n  proxyuse datasets adult --output adult.csv",
    ),
    "doctor": (
        "show what is installed and what is missing",
        "",
        "Changes nothing. The exit code is 0 if audits can run, otherwise 2.",
    ),
}
"""For each command its summary, its description and its epilog."""
MANY_OPTIONS = ("audit", "judge", "repair")
"""The commands with so many options that a generated usage line does not help."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Knows the width of the terminal without importing `shutil`, which is slow to import."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    try:
        return int(os.environ.get("COLUMNS", "")) or os.get_terminal_size().columns
    except (ValueError, OSError):
        return 80


def add_commands(parser: argparse.ArgumentParser, words: Sequence[str] | None = None) -> None:
    """Add every command to a parser.

    Parameters
    ----------
    parser : the parser of the program.
    words : the command line. Only commands in it get their arguments; all if None.
    """
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (summary, text, epilog) in COMMANDS.items():
        command = commands.add_parser(
            name,
            usage=f"proxyuse {name} [OPTIONS]" if name in MANY_OPTIONS else None,
            help=summary,
            description=text or f"{summary[0].upper()}{summary[1:]}.",
            epilog=epilog,
            formatter_class=Formatter,
            allow_abbrev=False,
            add_help=False,
        )
        add_help(command)
        if words is None or name in words:
            command.add_argument("--json", action="store_true", help="Print JSON instead of text.")
            if name != "doctor":  # which runs even if a dependency is missing
                from proxyuse.cli.options import ARGUMENTS

                ARGUMENTS[name](command)


def add_help(parser: argparse.ArgumentParser) -> None:
    """Add ``--help``, described in the same style as the other options."""
    parser.add_argument("-h", "--help", action="help", help="Show this help and exit.")


def refuse_unknown_words(
    parser: argparse.ArgumentParser, command: str | None, words: Sequence[str]
) -> NoReturn:
    """Exit with a usage error that suggests the closest option."""
    (choices,) = (action.choices for action in parser._actions if action.dest == "command")
    owner: argparse.ArgumentParser = parser if command is None else dict(choices or {})[command]
    word = words[0].partition("=")[0]
    known = [flag for flag in owner._option_string_actions if flag.startswith("--")]
    import difflib

    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7) if word.startswith("-") else []
    hint = f"; did you mean '{close[0]}'?" if close else f"; see proxyuse {command or ''} --help"
    kind = "option" if word.startswith("-") else "argument"
    owner.error(f"unknown {kind} '{word}'{hint}")
