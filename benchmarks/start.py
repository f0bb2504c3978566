"""How long a new process takes before it can begin, against one that imports NumPy."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.timing import compare


def package() -> None:
    """``import proxyuse``."""
    compare(lambda: _run("-c", "import proxyuse"), lambda: _run("-c", "import numpy"))


def command_line() -> None:
    """``proxyuse --help``."""
    compare(lambda: _run("-m", "proxyuse", "--help"), lambda: _run("-c", "import numpy"))


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
