"""``proxyuse show``: print a saved result, or one of its witnesses in detail."""

from __future__ import annotations

import argparse

from proxyuse.cli.printing import print_json, print_text
from proxyuse.report.answer import answer, describe_witness, exit_code, witnesses_of
from proxyuse.report.junit import junit
from proxyuse.report.markdown import markdown
from proxyuse.report.sarif import sarif
from proxyuse.report.saved import read_document
from proxyuse.report.spreadsheet import csv_text


def run(options: argparse.Namespace) -> int:
    """Print the result; the exit code is that of the audit."""
    result = read_document(options.result)
    if options.witness is not None:
        witnesses = witnesses_of(result, options.witness)
        if options.json:
            print_json(witnesses)
        else:
            print_text("\n\n".join(describe_witness(result, witness) for witness in witnesses))
    elif options.json:
        print_json(result)
    elif options.markdown:
        print_text(markdown(result).rstrip("\n"))
    elif options.csv:
        print_text(csv_text(result).rstrip("\n"))
    elif options.sarif:
        print_json(sarif(result))
    elif options.junit:
        print_text(junit(result).rstrip("\n"))
    else:
        print_text(answer(result, color=False), answer(result, color=True))
    return exit_code(result)
