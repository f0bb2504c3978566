"""``proxyuse judge``: a person decides on the witnesses that nobody has judged yet.

Each is shown with what is known of it, and each decision is on the disk before it is confirmed:
whatever happens afterwards, nothing that was confirmed is lost. Answers are read line by line, from
a terminal or from a pipe.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from proxyuse.auditing import Audit
from proxyuse.cli.audit_command import audited_files, settings
from proxyuse.cli.printing import harmless, print_json, print_text
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable
from proxyuse.judge.judgment import Oracle, first_of
from proxyuse.judge.policy import read_policy
from proxyuse.judge.records import Records
from proxyuse.output.words import count
from proxyuse.report.answer import exit_code, text_table
from proxyuse.report.document import figure
from proxyuse.report.verdicts import exit_code_of
from proxyuse.report.witness_page import Pages
from proxyuse.report.wording import one_line, shortened
from proxyuse.verdict import counts

QUESTION = "[a]ppropriate  [i]nappropriate  [s]kip  [t]erm in full  [q]uit: "
ANSWERS = ("appropriate", "inappropriate", "skip", "term", "quit")
BACK = "."
MOST_NAME = 24


def run(given: argparse.Namespace) -> int:
    """Audit, ask, record; the exit code is what an audit would then say."""
    asked = settings(given)
    if asked.judgments is None:
        raise FileError(
            "no --judgments is given; name the file in which decisions are kept, such as "
            "--judgments judgments.jsonl (it need not be there yet), or say "
            'judgments = "judgments.jsonl" in proxyuse.toml'
        )
    if given.json and not given.list:
        raise FileError("--json goes with --list here: a person is asked in words")
    if given.by is not None and not given.by.strip():
        raise FileError("--by is empty; give the name of who judges, or leave it out to be asked")
    records = Records.open(asked.judgments)
    if not given.list:
        _check_can_be_added_to(asked.judgments)
    policy = None if asked.policy is None else read_policy(asked.policy)
    audit, document = audited_files(given, asked, records, policy)
    if given.json:
        print_json(document)
        return exit_code(document)
    oracle = first_of(records, policy)
    assert oracle is not None
    only = bool(asked.validity.confirmed_only)
    sitting = ReviewSession(audit, records, oracle, Pages(audit, document), given.by, only)
    remarks = [] if document["validity"] is None else document["validity"]["remarks"]
    for note in [*document["about"]["notes"], *remarks]:
        print_text(f"Note: {one_line(note)}")
    if given.list:
        sitting.print_list()
        return sitting.code()
    if isinstance(sys.stdin, io.TextIOWrapper):  # no answer is lost for a byte that is not UTF-8
        sys.stdin.reconfigure(errors="backslashreplace")
    try:
        sitting.ask_all()
    except EOFError:
        print_text("")
    except KeyboardInterrupt:
        print_text("")
        sitting.sum_up()
        raise
    sitting.sum_up()
    return sitting.code()


def _check_can_be_added_to(path: Path) -> None:
    """Find out whether decisions can be kept before anyone makes them."""
    if not (path.is_file() and os.access(path, os.W_OK)):
        check_writable(path)


class ReviewSession:
    """The witnesses of one audit, and the person who judges them."""

    def __init__(
        self,
        audit: Audit,
        records: Records,
        oracle: Oracle,
        pages: Pages,
        by: str | None,
        confirmed_only: bool = False,
    ) -> None:
        self._audit = audit
        self._records = records
        self._oracle = oracle
        self._pages = pages
        self._by = by
        self._confirmed_only = confirmed_only
        self._judged = {True: 0, False: 0}

    def waiting(self) -> list[Witness]:
        """The witnesses that nobody has judged, in the order of the audit."""
        return [w for w in self._audit.witnesses if self._oracle(w) is None]

    def code(self) -> int:
        """What an audit would now end with."""
        left = [violation.witness for violation in self._audit.violations(self._oracle)]
        among = _verdicts(left) if self._confirmed_only else None
        return exit_code_of(len(left), self._audit.complete, among)

    # What is left

    def print_list(self) -> None:
        """Print what is still to be judged."""
        waiting = self.waiting()
        print_text(self._beginning(waiting))
        if waiting:
            asked = ["verdict"] if self._audit.validity is not None else []
            heads = ["id", "protected", "association", "influence", *asked, "judged alike",
                     "computation"]  # fmt: skip
            rows = [
                [
                    w.id,
                    shortened(one_line(w.protected), MOST_NAME),
                    f"{figure(w.association):.3f}",
                    f"{figure(w.influence):.3f}",
                    *(str(w.validity.verdict) for _ in asked if w.validity is not None),
                    f"{len(self._records.similar(w)):,}",
                    self._pages.line(w),
                ]
                for w in waiting
            ]
            print_text("\n".join(text_table(heads, rows, str)))
        print_text(self._left())

    def _beginning(self, waiting: list[Witness]) -> str:
        total = len(self._audit.witnesses)
        limits = (
            f"association at least {self._audit.epsilon:g}, influence above {self._audit.delta:g}"
        )
        confirmed = ""
        if self._audit.validity is not None:
            confirmed = f" Confirmed: {_verdicts(self._audit.witnesses)['confirmed']:,}."
        return (
            f"{count(total, 'witness', 'witnesses')} ({limits}); still to be judged: "
            f"{len(waiting):,}.{confirmed}"
        )

    def sum_up(self) -> None:
        """Print what was decided and what is left."""
        yes, no = self._judged[True], self._judged[False]
        print_text(f"\nJudged now: {yes + no:,} ({yes:,} appropriate, {no:,} not).")
        print_text(self._left())

    def _left(self) -> str:
        violations = len(self._audit.violations(self._oracle))
        settled = "" if self._audit.complete else " Not everything could be settled by the audit."
        return (
            f"Still to be judged: {len(self.waiting()):,}. Violations that remain (not judged, or "
            f"judged inappropriate): {violations:,}.{settled}"
        )

    # Asking

    def ask_all(self) -> None:
        """Ask about one witness after the other; EOFError if the person wants to go."""
        waiting = self.waiting()
        print_text(self._beginning(waiting))
        for number, witness in enumerate(waiting, start=1):
            if self._oracle(witness) is not None:
                continue  # the same computation was judged at another place meanwhile
            head = f"{number:,} of {len(waiting):,} to judge"
            similar = self._records.similar(witness)
            print_text(self._pages.page(witness, head, similar, self._oracle))
            print_text("")
            self._ask(witness)

    def _ask(self, witness: Witness) -> None:
        while True:
            match _choice():
                case "quit":
                    raise EOFError
                case "skip":
                    return
                case "term":
                    print_text(self._pages.whole_term(witness))
                case decision:
                    if self._record(witness, decision == "appropriate"):
                        return

    def _record(self, witness: Witness, appropriate: bool) -> bool:
        """Ask for the reason and write it down; False if the person would rather not."""
        if self._by is None:
            self._by = _answer("Your name, kept with each decision: ", "a name is needed")
        reason = _answer(
            f"Why is it {'' if appropriate else 'not '}appropriate? ({BACK} goes back) ",
            "a reason is needed: someone will ask for it",
        )
        if reason == BACK:
            return False
        before = len(self.waiting())
        record = self._records.add(witness, appropriate, reason, self._by)
        self._judged[appropriate] += 1
        left = self.waiting()
        also = before - len(left) - 1
        same = (
            f" It holds for {count(also, 'more witness', 'more witnesses')}: the same computation "
            "at other places."
            if also > 0
            else ""
        )
        print_text(
            f"Recorded: {'appropriate' if appropriate else 'NOT appropriate'}, by {record.by}, "
            f"in {self._records.path.name}.{same} Left: {len(left):,}."
        )
        sys.stdout.flush()
        return True


def _verdicts(witnesses: Iterable[Witness]) -> dict[str, int]:
    return counts(w.validity.verdict for w in witnesses if w.validity is not None)


def _choice() -> str:
    """One of `ANSWERS`, given in full or by its first letter."""
    while True:
        said = _line(QUESTION).casefold()
        found = next((a for a in ANSWERS if said and said in (a, a[0])), None)
        if found is not None:
            return found
        print_text("Please answer with a, i, s, t or q.")


def _answer(prompt: str, missing: str) -> str:
    """A line that is not empty."""
    while not (said := _line(prompt)):
        print_text(f"Please type it: {missing}.")
    return said


def _line(prompt: str) -> str:
    """Ask for a line; EOFError at the end of input. What comes from a pipe is printed as well."""
    if sys.stdin is None:
        raise EOFError
    if sys.stdin.isatty():
        sys.stdout.flush()
        return input(prompt).strip()
    print(prompt, end="", flush=True)
    said = sys.stdin.readline()
    if not said:
        raise EOFError
    print(harmless(said.strip()))
    return said.strip()
