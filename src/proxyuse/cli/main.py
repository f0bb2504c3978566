"""The ``proxyuse`` command: parse the arguments, run a subcommand, return an exit code.

Exit codes: 0 no proxy use confirmed, 1 proxy use confirmed, 2 usage error or unreadable file, 3
cannot be decided, or the search is incomplete, 130 interrupted, 143 terminated. Results go to
standard output, messages to standard error. Tracebacks are not shown, an error never has the exit
code of a finding, and the files of a command are written together or not at all.
"""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import TextIO

import proxyuse
from proxyuse.cli.commands import Formatter, add_commands, add_help, refuse_unknown_words
from proxyuse.cli.printing import harmless
from proxyuse.errors import ProxyUseError
from proxyuse.input_limits import limits, parsed_limits

USAGE_ERROR, INTERRUPTED, CLOSED_PIPE, TERMINATED = 2, 130, 141, 143  # from 130 as in a shell
TRACEBACK = "PROXYUSE_TRACEBACK"

DESCRIPTION = """\
Find out whether a trained model uses protected information (marital status, religion,
health, ...) through a proxy, and which computation inside the model is the proxy."""

EXAMPLES = """\
examples:
  proxyuse demo                                       audit an example model in a few seconds
  proxyuse audit --model model.skops --data people.csv --protected religion
  proxyuse audit                                      read the options from proxyuse.toml
  proxyuse audit --fail-on possible                   count unconfirmed witnesses, too
  proxyuse judge                                      judge the findings one by one
  proxyuse judgments judgments.jsonl                  check that no judgment was changed
  proxyuse repair --output repaired.skops             replace disallowed computations with constants
  proxyuse show audit.json --witness 404398d5e41ff90f show one finding in detail
  proxyuse diff released.json retrained.json          list new findings
  proxyuse verify certificate.json --model model.skops --data people.csv

Run 'proxyuse COMMAND --help' for the options of a command.
exit codes: 0 no proxy use confirmed, 1 proxy use confirmed, 2 usage error, 3 cannot be decided, or
the search is incomplete"""


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; it ends a command like Ctrl-C."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    with _terminated_like_interrupted():
        return _main(arguments)


def _main(arguments: Sequence[str] | None) -> int:
    words = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        "proxyuse",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=Formatter,
        add_help=False,
    )
    add_help(parser)
    parser.add_argument(
        "--version",
        action="version",
        version=f"proxyuse {proxyuse.__version__}",
        help="Show the version and exit.",
    )
    _prepare_streams()
    try:
        add_commands(parser, words)
    except ModuleNotFoundError as error:
        return _failed("", f"{error.name} is not installed: pip install {error.name}")
    options, unknown = parser.parse_known_args(words)
    if unknown:
        refuse_unknown_words(parser, options.command, unknown)
    if options.command is None:
        parser.print_help()
        return USAGE_ERROR
    try:
        command = import_module(f"proxyuse.cli.{options.command}_command")
        with limits(**parsed_limits(getattr(options, "limit", []))):
            code: int = command.run(options)
        sys.stdout.flush()
    except ProxyUseError as error:
        return _failed(options.command, str(error))
    except Terminated:
        print(f"\nproxyuse {options.command}: terminated", file=sys.stderr)
        return TERMINATED
    except KeyboardInterrupt:
        print(f"\nproxyuse {options.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        _silence(sys.stdout)
        return CLOSED_PIPE
    except OSError as error:  # errors of files are handled where files are read and written
        _silence(sys.stdout)
        reason = error.strerror or type(error).__name__
        return _failed(options.command, f"cannot print the result: {reason}")
    except MemoryError:
        return _failed(
            options.command,
            "not enough memory; audit fewer rows (--where) or use a larger machine",
        )
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        return _failed(options.command, _internal_error(error))
    return code


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: temporary files are removed."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # the program that calls `main` decides
        return
    signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _prepare_streams() -> None:
    """Replace closed streams, and print characters that the encoding lacks as escapes."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence(stream: TextIO) -> None:
    """Discard buffered output, so that flushing at exit does not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _failed(command: str, message: str) -> int:
    print(harmless(f"{f'proxyuse {command}'.strip()}: {message}"), file=sys.stderr)
    return USAGE_ERROR


def _internal_error(error: Exception) -> str:
    """Describe where an error came from; its own message may contain values of the data."""
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"internal error ({type(error).__name__} at {Path(last.filename).name}:{last.lineno}); "
        f"please report it. Set {TRACEBACK}=1 to see the traceback, which may contain values of "
        "the data."
    )
