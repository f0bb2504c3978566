"""Every shell block of the README and the documentation that calls proxyuse runs as printed.

Page by page, in a folder of its own: a block with a title is a file of that name, a ``sh`` block is
run by a shell that stops at the first failure, and a ``text`` block right below is what it prints,
with ``...`` for what is left out. What is not to be run is a ``console`` block.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, assert_shows, blocks, is_output

CALL = re.compile(r"^(proxyuse|pytest) ", re.MULTILINE)


def called(page: Path) -> bool:
    return any(block["kind"] == "sh" and CALL.search(block["text"]) for block in blocks(page))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if called(p)], ids=lambda page: page.name)
def test_the_shell_blocks_of_a_page_run_as_printed(page: Path, tmp_path: Path) -> None:
    printed, end = "", 0
    for block in blocks(page):
        if block["title"]:
            file = tmp_path / block["title"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block["text"], encoding="utf-8")
        elif block["kind"] == "sh" and CALL.search(block["text"]):
            printed, end = run(block["text"], tmp_path), block.end()
        elif is_output(block, end):
            assert_shows(printed, block["text"])


def run(script: str, folder: Path) -> str:
    """What a script prints; this Python's programs come first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout
