"""``proxyuse show``: print a saved result, or one of its witnesses in detail."""

from __future__ import annotations

import argparse

from proxyuse.cli.printing import print_json, print_text
from proxyuse.report.exact_terms import with_exact_terms
from proxyuse.report.render.csv import audit_csv
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text, witness_text, witnesses_of
from proxyuse.report.saved import read_document
from proxyuse.report.standing import exit_code


def run(options: argparse.Namespace) -> int:
    """Print the result; the exit code is that of the audit."""
    result = read_document(options.result)
    if options.exact:
        result = with_exact_terms(result)
    if options.witness is not None:
        witnesses = witnesses_of(result, options.witness)
        if options.json:
            print_json(witnesses)
        else:
            print_text("\n\n".join(witness_text(result, witness) for witness in witnesses))
    elif options.json:
        print_json(result)
    elif options.markdown:
        print_text(audit_markdown(result).rstrip("\n"))
    elif options.csv:
        print_text(audit_csv(result).rstrip("\n"))
    elif options.sarif:
        print_json(audit_sarif(result))
    elif options.junit:
        print_text(audit_junit(result).rstrip("\n"))
    else:
        print_text(audit_text(result), audit_text(result, color=True))
    return exit_code(result)
