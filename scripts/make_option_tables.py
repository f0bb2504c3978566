"""Write the tables of commands, options and limits in the documentation from their declarations.

Run it after a change to an option, a command or a limit: ``make options``. A table
stands between two comments, such as ``<!-- options of audit -->`` and ``<!-- end -->``. The options
of a command ``beyond audit`` are those that `audit` does not describe in the same words.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from proxyuse.cli.commands import COMMANDS, add_commands
from proxyuse.input_limits import LIMITS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (DOCS / "command-line.md", DOCS / "limits.md")

_MARKED = re.compile(
    r"(<!-- (commands|limits|options of [a-z ,]+) -->\n).*?(<!-- end -->)", re.DOTALL
)
_FLAG = re.compile(r"--[a-z]+(?:-[a-z]+)*|(?<= )\.[a-z]+\b")
_UNTITLED = ("positional arguments", "options")
_ON_EVERY_PAGE = ("--help", "--json")
_LINKS = {
    "--association": "measures.md#other-measures-of-association",
    "--budget": "audit-a-model.md#budgets",
    "--certificate": "verify.md",
    "--frontier": "repair.md#what-does-compliance-cost",
    "--judgments": "judge.md",
    "--judgments-head": "judge.md#keep-the-head",
    "--junit": "audit-in-ci.md#test-reports-junit-xml",
    "--limit": "limits.md",
    "--policy": "policy.md",
    "--report": "report.md",
    "--sarif": "audit-in-ci.md#code-scanning-sarif",
    "--utility": "repair.md#choosing-a-utility",
    "--validity": "validity.md",
    "--where": "language.md",
}
"""The pages that explain an option further."""


def text_of(page: str) -> str:
    """Return the page with every table up to date."""
    commands = _commands()

    def generated(match: re.Match[str]) -> str:
        start, subject, end = match.groups()
        if subject == "commands":
            table = _table("Command", "Purpose", _summaries())
            return f"{start}\n{table}\n{end}"
        if subject == "limits":
            return f"{start}\n{_limits()}\n{end}"
        name, _, other = subject.removeprefix("options of ").partition(", beyond ")
        known = {_row(action) for action in commands[other]._actions} if other else set()
        return f"{start}\n{_tables(commands[name], known)}\n{end}"

    return _MARKED.sub(generated, page)


def _commands() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command."""
    parser = argparse.ArgumentParser()
    add_commands(parser)
    (choices,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    return choices


def _summaries() -> Iterable[tuple[str, str]]:
    return ((f"`proxyuse {name}`", summary) for name, (summary, _, _) in COMMANDS.items())


def _limits() -> str:
    rows = (
        f"| `{limit.name}` | {limit.default:,} {limit.unit} | {limit.meaning} |"
        for limit in LIMITS.values()
    )
    return "\n".join(["| Limit | Default | Applies to |", "|---|---|---|", *rows, ""])


def _tables(parser: argparse.ArgumentParser, known: set[tuple[str, str]]) -> str:
    """Return a table for each group of options, with its title if there are several."""
    tables: dict[str, list[tuple[str, str]]] = {}
    for group in parser._action_groups:
        title = "" if group.title in _UNTITLED or known else str(group.title)
        rows = [_row(action) for action in group._group_actions]
        tables.setdefault(title, []).extend(row for row in rows if row[0] and row not in known)
    parts = []
    for title, rows in tables.items():
        heading = f"**{title.capitalize()}**\n\n" if title else ""
        if rows:
            parts.append(f"{heading}{_table('Option', 'Meaning', rows)}")
    return "\n".join(parts)


def _table(first: str, second: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| {first} | {second} |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)]
    return "\n".join([*lines, ""])


def _row(action: argparse.Action) -> tuple[str, str]:
    """Return an option and its meaning; an empty name for an option that the page leaves out."""
    flag = action.option_strings[-1] if action.option_strings else ""
    if flag in _ON_EVERY_PAGE:
        return "", ""
    metavar = str(action.metavar or "")
    choices = tuple(map(str, action.choices or ()))
    if metavar.startswith("{"):
        metavar, choices = "", tuple(metavar.strip("{}").split(","))
    meaning = _FLAG.sub(r"`\g<0>`", (action.help or "").replace("%%", "%")).replace("|", r"\|")
    if any(f"({choice})" not in meaning for choice in choices):
        meaning += f" One of {', '.join(f'`{choice}`' for choice in choices)}."
    if target := _LINKS.get(flag):
        meaning += f" See [{_title(target)}]({target})."
    return f"`{f'{flag} {metavar}'.strip()}`", meaning


def _title(target: str) -> str:
    """Return the title of a page, or of a section of it."""
    file, _, anchor = target.partition("#")
    text = (DOCS / file).read_text("utf-8")
    titles: list[str] = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    sections = {re.sub(r"[^\w -]", "", title).lower().replace(" ", "-"): title for title in titles}
    return sections[anchor] if anchor else titles[0]


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(text_of(page.read_text("utf-8")), encoding="utf-8")
