"""``proxyuse diff``: compare two results and list new witnesses."""

from __future__ import annotations

import argparse

from proxyuse.cli.printing import print_json, print_text
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.render.text import diff_text
from proxyuse.report.saved import read_document


def run(options: argparse.Namespace) -> int:
    """Print the comparison; the exit code is 1 if a witness is new or stronger."""
    comparison = compare(
        read_document(options.old),
        read_document(options.new),
        tolerance=options.tolerance,
        fail_on=options.fail_on,
    )
    if options.json:
        print_json(comparison)
    else:
        print_text(diff_text(comparison))
    return diff_exit_code(comparison)
