"""``proxyuse judge``: a person judges the witnesses that nobody has judged yet.

Each witness is shown in detail, and each judgment is on disk before it is confirmed. Answers are
read line by line, from a terminal or from a pipe.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from proxyuse.cli.audit_command import audited_files, settings
from proxyuse.cli.judgments_file import judgments_note, open_file
from proxyuse.cli.printing import harmless, print_json, print_text
from proxyuse.completed_audit import Audit
from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable
from proxyuse.judge.judgment import Oracle, first_of
from proxyuse.judge.policy import read_policy
from proxyuse.judge.records import Records
from proxyuse.report.findings.verdict import undecided
from proxyuse.report.findings.witness import decision
from proxyuse.report.release import figure
from proxyuse.report.render.text import text_table
from proxyuse.report.standing import exit_code
from proxyuse.report.witness_page import Pages
from proxyuse.verdict import Verdict, VerdictCounts, exit_code_of
from proxyuse.words import count, fixed, one_line, shortened

QUESTION = "[a]ppropriate  [i]nappropriate  [s]kip  [t]erm in full  [q]uit: "
ANSWERS = ("appropriate", "inappropriate", "skip", "term", "quit")
BACK = "."
MAX_NAME_WIDTH = 24

Judged = Witness | Collection


def run(options: argparse.Namespace) -> int:
    """Audit, ask and record; the exit code is that of an audit with the new judgments."""
    project = settings(options)
    if project.options.judgments is None:
        raise FileError(
            "missing --judgments; pass the file for the judgments, which is created if missing: "
            "--judgments judgments.jsonl"
        )
    if options.json and not options.list:
        raise FileError("--json needs --list, because judging is interactive")
    if options.by is not None and not options.by.strip():
        raise FileError("--by is empty; pass a name, or omit --by to be asked for it")
    records = open_file(project.options.judgments, project.options.judgments_head)
    if not options.list:
        _check_appendable(project.options.judgments)
    policy = None if project.options.policy is None else read_policy(project.options.policy)
    audit, document = audited_files(options, project, records, policy)
    if options.json:
        print_json(document)
        return exit_code(document)
    oracle = first_of(records, policy)
    assert oracle is not None
    session = ReviewSession(audit, records, oracle, Pages(audit, document), options.by)
    remarks = () if document.validity is None else document.validity.remarks
    open_questions = [
        undecided(document, z) for z in document.protected if z.verdict is Verdict.UNDECIDED
    ]
    for note in [*document.file_notes, *open_questions, *remarks]:
        print_text(f"Note: {one_line(note)}")
    if options.list:
        session.print_list()
        return session.code()
    if isinstance(sys.stdin, io.TextIOWrapper):  # keep answers that are not UTF-8
        sys.stdin.reconfigure(errors="backslashreplace")
    try:
        session.ask_all()
    except EOFError:
        print_text("")
    except KeyboardInterrupt:
        print_text("")
        session.sum_up()
        raise
    session.sum_up()
    return session.code()


def _check_appendable(path: Path) -> None:
    """Check that judgments can be saved before anyone makes them."""
    if not (path.is_file() and os.access(path, os.W_OK)):
        check_writable(path)


class ReviewSession:
    """One person judging the witnesses of one audit."""

    def __init__(
        self,
        audit: Audit,
        records: Records,
        oracle: Oracle,
        pages: Pages,
        by: str | None,
    ) -> None:
        self._audit = audit
        self._records = records
        self._oracle = oracle
        self._pages = pages
        self._by = by
        self._judged = {True: 0, False: 0}
        self._single = [*pages.in_order(audit.witnesses), *_explicit_only(audit)]
        self._found: list[Judged] = [*self._single, *self._collections()]

    def _collections(self) -> list[Collection]:
        """The collective witnesses, without the members that are judged appropriate by now."""
        return self._audit.collective_witnesses(self._oracle)

    def waiting(self) -> list[Judged]:
        """Return the witnesses without a judgment, in the order of the result.

        Columns that determine a protected attribute, and then collections, are judged like
        witnesses.
        """
        return [w for w in self._found if self._oracle(w) is None]

    def code(self) -> int:
        """Return the exit code that an audit would have now."""
        violations = len(self._violations())
        verdict = self._audit.verdict_with(self._oracle)
        return exit_code_of(verdict, violations, self._audit.fail_on)

    def _violations(self) -> list[Judged]:
        judgments = ((w, self._oracle(w)) for w in self._found)
        return [w for w, judgment in judgments if judgment is None or not judgment.appropriate]

    # Summaries

    def print_list(self) -> None:
        """Print the witnesses without a judgment."""
        waiting = self.waiting()
        print_text(self._heading(waiting))
        if waiting:
            verdict = ["verdict"] if self._audit.validity is not None else []
            heads = ["id", "protected", "association", "influence", *verdict, "similar",
                     "computation"]  # fmt: skip
            rows = [
                [
                    w.id,
                    shortened(one_line(w.protected), MAX_NAME_WIDTH),
                    fixed(self._pages.association(w)),
                    fixed(figure(w.influence)),
                    *(str(w.verdict) for _ in verdict),
                    f"{len(self._records.similar(w)):,}",
                    self._pages.line(w),
                ]
                for w in waiting
            ]
            print_text("\n".join(text_table(heads, rows)))
        print_text(self._remaining())

    def _heading(self, waiting: list[Judged]) -> str:
        total = len(self._found)
        thresholds = (
            f"association at least {self._audit.epsilon:g}, influence above {self._audit.delta:g}"
        )
        confirmed = ""
        if self._audit.validity is not None:
            confirmed = f" Confirmed: {_verdicts(self._found).confirmed:,}."
        return (
            f"{count(total, 'witness', 'witnesses')} ({thresholds}); not judged yet: "
            f"{len(waiting):,}.{confirmed}"
        )

    def sum_up(self) -> None:
        """Print how many witnesses were judged and how many remain."""
        yes, no = self._judged[True], self._judged[False]
        print_text(f"\nJudged: {yes + no:,} ({yes:,} appropriate, {no:,} inappropriate).")
        print_text(f"Note: {one_line(judgments_note(self._records))}")
        print_text(self._remaining())

    def _remaining(self) -> str:
        violating = self._violations()
        violations, confirmed = len(violating), _verdicts(violating).confirmed
        known = f", {confirmed:,} of them confirmed" if self._audit.validity and violations else ""
        incomplete = "" if self._audit.complete else " The search is incomplete."
        return (
            f"Not judged yet: {len(self.waiting()):,}. Remaining violations (not judged, or judged "
            f"inappropriate): {violations:,}{known}.{incomplete}"
        )

    # Asking

    def ask_all(self) -> None:
        """Ask about each witness; raise EOFError if the person quits.

        Collections come last: what was judged appropriate before does not belong to them.
        """
        waiting = self.waiting()
        print_text(self._heading(waiting))
        single = [w for w in waiting if isinstance(w, Witness)]
        for number, witness in enumerate(single, start=1):
            if self._oracle(witness) is None:  # else judged meanwhile at another position
                self._show(witness, f"{number:,} of {len(waiting):,} to judge")
        self._found = [*self._single, *self._collections()]
        for known in self._found[len(self._single) :]:
            if self._oracle(known) is None:
                self._show(known, "A collection to judge")

    def _show(self, witness: Judged, title: str) -> None:
        similar = self._records.similar(witness)
        print_text(self._pages.page(witness, title, similar, self._oracle))
        print_text("")
        self._ask(witness)

    def _ask(self, witness: Judged) -> None:
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

    def _record(self, witness: Judged, appropriate: bool) -> bool:
        """Ask for the reason and record the judgment; return False if the person goes back."""
        if self._by is None:
            self._by = _answer("Your name, saved with each judgment: ", "a name is needed")
        reason = _answer(
            f"Why is it {decision(appropriate)}? ({BACK} goes back) ",
            "a judgment needs a reason",
        )
        if reason == BACK:
            return False
        before = len(self.waiting())
        record = self._records.add(witness, appropriate, reason, self._by)
        self._judged[appropriate] += 1
        remaining = self.waiting()
        others = before - len(remaining) - 1
        same = (
            f" It also applies to {count(others, 'witness', 'witnesses')} with the same "
            "computation at other positions."
            if others > 0
            else ""
        )
        print_text(
            f"Recorded: {decision(appropriate)}, by {record.by}, "
            f"in {self._records.path.name}.{same} Remaining: {len(remaining):,}."
        )
        sys.stdout.flush()
        return True


def _explicit_only(audit: Audit) -> list[Witness]:
    """Return the explicit uses that count and are not witnesses anyway."""
    known = {witness.key for witness in audit.witnesses}
    used = (use.witness for use in audit.explicit_violations())
    return [witness for witness in used if witness is not None and witness.key not in known]


def _verdicts(witnesses: Iterable[Judged]) -> VerdictCounts:
    return VerdictCounts.of(w.verdict for w in witnesses)


def _choice() -> str:
    """Read one of `ANSWERS`, in full or as its first letter."""
    while True:
        line = _line(QUESTION).casefold()
        answer = next((a for a in ANSWERS if line and line in (a, a[0])), None)
        if answer is not None:
            return answer
        print_text("Please answer a, i, s, t or q.")


def _answer(prompt: str, missing: str) -> str:
    """Read a line that is not empty."""
    while not (line := _line(prompt)):
        print_text(f"Please enter it: {missing}.")
    return line


def _line(prompt: str) -> str:
    """Read a line, or raise EOFError at the end of input; a line from a pipe is echoed."""
    if sys.stdin is None:
        raise EOFError
    if sys.stdin.isatty():
        sys.stdout.flush()
        return input(prompt).strip()
    print(prompt, end="", flush=True)
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    print(harmless(line.strip()))
    return line.strip()
