"""``proxyuse diff``: two results, and which witnesses are new."""

from __future__ import annotations

import argparse

from proxyuse.cli.printing import print_json, print_text
from proxyuse.report.diff import compare, worst
from proxyuse.report.diff_text import diff_text
from proxyuse.report.saved import read_document


def run(given: argparse.Namespace) -> int:
    """Compare and say with the exit code whether something is new."""
    found = compare(read_document(given.old), read_document(given.new), tolerance=given.tolerance)
    code = worst(found, confirmed_only=given.confirmed_only)
    if given.json:
        print_json(found)
    else:
        print_text(diff_text(found))
    return code
