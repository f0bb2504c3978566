"""Runs inputs in forked processes with limits, and classifies what comes of them.

The parent has imported and compiled everything, so a child starts in milliseconds. A child handles
a batch of inputs, one after the other, and says before each which one it is; if it dies or takes
too long, the parent knows the input, and another child goes on with the next.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from scripts.fuzz.formats import Complaint, Input, Refused, prepare

BATCH = 25
SECONDS = 20.0
PATIENCE = 10  # a waiting process may take longer, because the machine may be busy
MEMORY = 2 << 30
ACCEPTED, REFUSED = "accepted", "refused"

FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.spawn", "subprocess.Popen",
    "pickle.find_class", "socket.connect", "socket.bind", "ctypes.dlopen", "webbrowser.open",
    "marshal.loads",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an input.

    Attributes
    ----------
    number : of the input.
    kind : "accepted", "refused", or a kind of defect: "fault" (an unexpected exception),
        "complaint", "code" (it ran code, or wrote outside its folder), "memory", "hang", "crash".
    what : the message of a refusal; of a defect, what identifies it.
    detail : the traceback of a defect.
    seconds : the time that it took.
    """

    number: int
    kind: str
    what: str = ""
    detail: str = ""
    seconds: float = 0.0

    @property
    def is_defect(self) -> bool:
        """Whether the product did not handle the input."""
        return self.kind not in (ACCEPTED, REFUSED)


class RanCode(BaseException):
    """An input made the process do what no data file should."""


_armed: Path | None = None
_LIBRARIES = ("site-packages", "importlib", "typing.py", "dataclasses.py", "collections/")


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Object to what an input must not cause; only while one is used."""
    if _armed is None:
        return
    if event == "open":
        path, _, flags = arguments
        if flags and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and not _may_write(path):
            raise RanCode(f"writes {path!r:.80}")
    elif event == "exec":
        # Libraries generate code from their own text. What they execute of an input has other
        # events, such as `pickle.find_class`.
        caller = sys._getframe(1).f_code.co_filename
        name = getattr(arguments[0], "co_filename", "")
        if name == "<string>" and not any(word in caller for word in _LIBRARIES):
            raise RanCode(f"executes text, from {caller[-80:]}")
    elif event in ("os.remove", "os.rmdir", "shutil.rmtree"):
        if not _may_write(arguments[0]):
            raise RanCode(f"removes {arguments[0]!r:.80}")
    elif event in FORBIDDEN and not _importing():
        raise RanCode(f"{event} {arguments!r:.80}")


def _may_write(path: Any) -> bool:
    if isinstance(path, int):
        return True
    name = os.path.realpath(os.fsdecode(path))
    return name.startswith(str(_armed)) or name == os.devnull or "__pycache__" in name


def _importing() -> bool:
    """Whether a module is being imported, or a compiled loop is read from its cache."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if any(word in frame.f_code.co_filename for word in ("importlib", "/numba/")):
            return True
        frame = frame.f_back
    return False


class Sandbox:
    """Runs inputs, a batch in each child, each for at most some seconds of computing."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self.folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="fuzz-")))
        prepare(self.folder)
        sys.addaudithook(_watch)
        resident, virtual = _own_memory()
        self._limit = virtual + MEMORY - resident

    def warm(self, inputs: Sequence[Input]) -> None:
        """Use unchanged files in this process, so that children find everything in memory."""
        for each in inputs:
            _, outcome = self._used(each)
            if outcome.kind != ACCEPTED:
                print(f"the unchanged {each.format.name} {each.seed}: {outcome.what}")
        gc.collect()
        gc.freeze()
        resident, virtual = _own_memory()
        self._limit = virtual + MEMORY - resident

    def close(self) -> None:
        """Remove the folder of the inputs."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, inputs: Sequence[Input]) -> Iterator[Outcome]:
        """Use all inputs, and yield what comes of each, in order."""
        waiting = list(inputs)
        while waiting:
            outcomes = list(self._batch(waiting[:BATCH]))
            yield from outcomes
            waiting = waiting[len(outcomes) :]

    def _batch(self, inputs: Sequence[Input]) -> Iterator[Outcome]:
        """Use inputs in one child, until it ends; at least one outcome."""
        reader, writer = os.pipe()
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            os.close(reader)
            self._child(inputs, writer)
        os.close(writer)
        pending, done = b"", 0
        try:
            while done < len(inputs):
                start, used = time.monotonic(), _processor_time(child)
                while b"\n" not in pending:
                    if not select.select([reader], [], [], 1.0)[0]:
                        waited = time.monotonic() - start
                        if (
                            waited < self._seconds * PATIENCE
                            and _processor_time(child) - used < self._seconds
                        ):
                            continue
                        os.kill(child, signal.SIGKILL)
                        yield Outcome(inputs[done].number, "hang", f"over {self._seconds:g} s")
                        return
                    block = os.read(reader, 1 << 20)
                    if not block:
                        yield Outcome(inputs[done].number, "crash", _ending(child))
                        child = 0
                        return
                    pending += block
                line, _, pending = pending.partition(b"\n")
                yield Outcome(**json.loads(line))
                done += 1
        finally:
            os.close(reader)
            if child:
                os.waitpid(child, 0)

    def _child(self, inputs: Sequence[Input], writer: int) -> None:
        """Use inputs and write their outcomes; ends the process."""
        code = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_AS, (self._limit, self._limit))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            for each in inputs:
                line, _ = self._used(each)
                os.write(writer, line + b"\n")
            code = 0
        finally:
            os._exit(code)

    def _used(self, each: Input) -> tuple[bytes, Outcome]:
        """Use an input in a folder of its own, in this process."""
        global _armed
        folder = self.folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        before, start = Path.cwd(), time.monotonic()
        os.chdir(folder)
        _armed = self.folder
        try:
            kind, what, detail = _result(each)
        finally:
            _armed = None
            os.chdir(before)
        seconds = round(time.monotonic() - start, 3)
        outcome = Outcome(each.number, kind, what[:300], detail[-6000:], seconds)
        fields = {name: getattr(outcome, name) for name in Outcome.__slots__}
        return json.dumps(fields).encode(), outcome


def _result(each: Input) -> tuple[str, str, str]:
    """The kind, the message and the traceback of what comes of an input."""
    from proxyuse.errors import ProxyUseError

    try:
        each.use()
    except Refused as error:
        return REFUSED, str(error), ""
    except ProxyUseError as error:
        if "not enough memory" in str(error):
            return "memory", _signature(error), traceback.format_exc()
        return REFUSED, str(error), ""
    except MemoryError as error:
        return "memory", _signature(error), traceback.format_exc()
    except RanCode as error:
        return "code", str(error), traceback.format_exc()
    except Complaint as error:
        return "complaint", str(error), traceback.format_exc()
    except BaseException as error:
        return "fault", _signature(error), traceback.format_exc()
    return ACCEPTED, "", ""


def _signature(error: BaseException) -> str:
    """What identifies a defect: the exception, and the last place of the package in its trace."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/proxyuse/" in frame.filename] or frames
    place = own[-1]
    return f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno} in {place.name}"


def _ending(child: int) -> str:
    """How a child ended."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit code {os.WEXITSTATUS(status)}"


def _processor_time(process: int) -> float:
    """The seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _own_memory() -> tuple[int, int]:
    """The resident memory and the address space of this process, in bytes."""
    pages = Path("/proc/self/statm").read_text().split()
    size = resource.getpagesize()
    return int(pages[1]) * size, int(pages[0]) * size
