"""Commands run in the process of a test."""

from __future__ import annotations

import pytest

from proxyuse.cli.main import main


def run(*words: object, code: int, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Run a command that must end with a code; its output and its messages."""
    try:
        found = main([str(word) for word in words])
    except SystemExit as error:  # argparse's own errors
        found = int(error.code or 0)
    captured = capsys.readouterr()
    assert found == code, captured.out + captured.err
    assert "Traceback" not in captured.err
    return captured.out, captured.err
