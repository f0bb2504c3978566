"""``proxyuse``: what is asked for, and how it ended.

Exit codes: 0 nothing found, 1 proxy use found, 2 wrong use or a file that cannot be read, 3 nothing
found but not everything could be settled, 130 interrupted. Messages go to standard error, answers
to standard output. No traceback is shown, and no error passes for a finding; a file is
written whole or not at all.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TextIO

import proxyuse
from proxyuse.cli.options import add_commands
from proxyuse.cli.printing import harmless
from proxyuse.errors import ProxyUseError

WRONG_USE, INTERRUPTED, CLOSED_PIPE = 2, 130, 141  # the last two as a shell would say
TRACEBACK = "PROXYUSE_TRACEBACK"

DESCRIPTION = """\
Does a trained model use protected information (marital status, religion, health ...)
through a proxy somewhere inside it, and which computation is it?"""

EXAMPLES = """\
examples:
  proxyuse demo                                       see it work, in a few seconds
  proxyuse audit --model model.skops --data people.csv --protected religion
  proxyuse audit                                      with a proxyuse.toml in this folder
  proxyuse audit --validity confirm                   and whether what is found is noise
  proxyuse judge                                      decide on what nobody has judged yet
  proxyuse repair --output repaired.skops             replace what is not to be used
  proxyuse show audit.json --witness 404398d5e41ff90f one finding in detail
  proxyuse diff released.json retrained.json          what is new since then
  proxyuse verify certificate.json --model model.skops --data people.csv

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
    _prepare_streams()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return WRONG_USE
    try:
        command = import_module(f"proxyuse.cli.{given.command}_command")
        code: int = command.run(given)
        sys.stdout.flush()
    except ProxyUseError as error:
        return _failed(given.command, str(error))
    except KeyboardInterrupt:
        print(f"\nproxyuse {given.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the answer has read enough
        _silence(sys.stdout)
        return CLOSED_PIPE
    except OSError as error:  # files are looked after where they are read and written
        _silence(sys.stdout)
        why = error.strerror or type(error).__name__
        return _failed(given.command, f"the answer cannot be printed: {why}; print it elsewhere")
    except MemoryError:
        return _failed(
            given.command,
            "there is not enough memory; audit fewer rows (--where), or on a machine with more",
        )
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        return _failed(given.command, _fault(error))
    return code


def _prepare_streams() -> None:
    """Have somewhere to print to, and print what an encoding does not know as escapes."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Let what is still to be printed go nowhere, so that the end of the process does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _failed(command: str, message: str) -> int:
    print(harmless(f"proxyuse {command}: {message}"), file=sys.stderr)
    return WRONG_USE


def _fault(error: Exception) -> str:
    """Where an error came from; not what it says, which may show someone's values."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"a fault in proxyuse itself ({type(error).__name__} at {Path(last.filename).name}:"
        f"{last.lineno}); nothing was decided; please report it. With {TRACEBACK}=1 in the "
        "environment all of it is shown, perhaps with values of the data"
    )
