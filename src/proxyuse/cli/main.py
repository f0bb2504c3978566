"""``proxyuse``: what is asked for, and how it ended.

Exit codes: 0 nothing found, 1 proxy use found, 2 wrong use or a file that cannot be read, 3 nothing
found but not everything could be settled, 130 interrupted. Messages go to standard error, answers
to standard output. No traceback is shown for what a user can cause; a file is written whole or not
at all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

import proxyuse
from proxyuse.cli.options import add_commands
from proxyuse.cli.printing import harmless
from proxyuse.errors import ProxyUseError

WRONG_USE, INTERRUPTED, CLOSED_PIPE = 2, 130, 141  # the last two as a shell would say

DESCRIPTION = """\
Does a trained model use protected information (marital status, religion, health ...)
through a proxy somewhere inside it, and which computation is it?"""

EXAMPLES = """\
examples:
  proxyuse demo                                       see it work, in a few seconds
  proxyuse audit --model model.skops --data people.csv --protected religion
  proxyuse audit                                      with a proxyuse.toml in this folder
  proxyuse show audit.json --witness 404398d5e41ff90f one finding in detail
  proxyuse diff released.json retrained.json          what is new since then

'proxyuse COMMAND --help' tells more about one command.
exit codes: 0 nothing found, 1 proxy use found, 2 wrong use, 3 nothing found but not everything
could be settled"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(
        "proxyuse",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"proxyuse {proxyuse.__version__}")
    add_commands(parser)
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return WRONG_USE
    try:
        command = import_module(f"proxyuse.cli.{given.command}_command")
        code: int = command.run(given)
        sys.stdout.flush()
    except ProxyUseError as error:
        print(harmless(f"proxyuse {given.command}: {error}"), file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print(f"\nproxyuse {given.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the answer has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except MemoryError:
        print(
            f"proxyuse {given.command}: there is not enough memory; audit fewer rows (--where), "
            "or a machine with more",
            file=sys.stderr,
        )
        return WRONG_USE
    return code
