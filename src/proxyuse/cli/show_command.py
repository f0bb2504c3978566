"""``proxyuse show``: a result again, or one witness of it in detail."""

from __future__ import annotations

import argparse

from proxyuse.cli.printing import print_json, print_text
from proxyuse.report.answer import answer, describe_witness, exit_code, witnesses_of
from proxyuse.report.junit import junit
from proxyuse.report.markdown import markdown
from proxyuse.report.sarif import sarif
from proxyuse.report.saved import read_document
from proxyuse.report.spreadsheet import csv_text


def run(given: argparse.Namespace) -> int:
    """Print; the exit code is that of the audit."""
    result = read_document(given.result)
    if given.witness is not None:
        found = witnesses_of(result, given.witness)
        if given.json:
            print_json(found)
        else:
            print_text("\n\n".join(describe_witness(result, witness) for witness in found))
    elif given.json:
        print_json(result)
    elif given.markdown:
        print_text(markdown(result).rstrip("\n"))
    elif given.csv:
        print_text(csv_text(result).rstrip("\n"))
    elif given.sarif:
        print_json(sarif(result))
    elif given.junit:
        print_text(junit(result).rstrip("\n"))
    else:
        print_text(answer(result, color=False), answer(result, color=True))
    return exit_code(result)
