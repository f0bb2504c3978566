"""Append-only files of lines.

Several processes can append at once, and any of them can be killed at any moment. A line is written
under a lock, in one piece, and is on disk before the lock is released. Knows nothing about the
content of the lines.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from proxyuse.errors import FileError
from proxyuse.input_limits import JUDGMENTS_BYTES

LOCK_TIMEOUT = 60.0  # seconds

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # never wait for a pipe


@contextmanager
def locked_for_reading(path: Path) -> Iterator[BufferedReader]:
    """Open a file while no process writes to it; raise FileNotFoundError if it does not exist."""
    fd = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        _check(path, fd)
        with suppress(OSError):  # some file systems have no locks, or none for readers
            _lock(path, fd)
        with open(fd, "rb", closefd=False) as file:
            yield file
    finally:
        _close(fd)


@contextmanager
def locked_for_appending(path: Path) -> Iterator[BufferedReader]:
    """Open or create a file for `append`, while no other process reads or writes it."""
    fd = _open_locked(path)
    try:
        _sync_folder(path)  # before the first line, so that the file is in its folder by then
        with open(fd, "rb", closefd=False) as file:
            yield file
    finally:
        _close(fd)


def append(file: BufferedReader, line: bytes) -> bytes:
    """Append a line; it is on disk when this returns. If that fails, nothing is appended.

    A last line that lacks its line end is ended first.

    Returns
    -------
    bytes
        The bytes that were written.
    """
    fd = file.fileno()
    size = os.fstat(fd).st_size
    file.seek(max(size - 1, 0))
    raw = (b"\n" if file.read(1) not in (b"", b"\n") else b"") + line + b"\n"
    if size + len(raw) > JUDGMENTS_BYTES.value:
        raise OSError(errno.EFBIG, f"the limit is {JUDGMENTS_BYTES.value:,} bytes")
    try:
        unwritten = memoryview(raw)
        while unwritten:
            unwritten = unwritten[os.write(fd, unwritten) :]
        _sync(fd)
    except BaseException:  # Ctrl-C as well
        with suppress(OSError):
            if os.fstat(fd).st_size <= size + len(raw):  # no process ignored the lock
                os.ftruncate(fd, size)
        raise
    return raw


def lines_of(file: BufferedReader, max_length: int) -> Iterator[bytes]:
    """Yield the remaining lines with their line ends; of a longer line, only its start."""
    while line := file.readline(max_length + 1):
        yield line
        while not line.endswith(b"\n") and (line := file.readline(max_length + 1)):
            pass


def is_at(file: BufferedReader, path: Path) -> bool:
    """Whether a path still leads to an open file; another process may have replaced it."""
    return _leads_to(path, file.fileno())


def unusable(path: Path, error: OSError | ValueError, action: str) -> FileError:
    """Explain why a file cannot be read or written, and what to do.

    Parameters
    ----------
    path : the file.
    error : the error of the operating system.
    action : "read", "written" or "recovered".
    """
    match error:
        case FileNotFoundError():
            reason = f"the folder {path.parent} does not exist; create it first"
        case IsADirectoryError():
            return FileError(f"{path} is a folder; pass a file")
        case NotADirectoryError():
            reason = "a part of the path is a file, not a folder; check the path"
        case PermissionError():
            reason = "no permission; ask the owner, or choose another file"
        case OSError() if error.errno == errno.EROFS:
            reason = "the disk is read-only; choose another file"
        case OSError() if error.errno in _DISK_FULL:
            reason = f"no space left ({error.strerror}); free some, or choose another file"
        case _:
            detail = getattr(error, "strerror", None) or error
            reason = f"{detail}; check the file and its disk"
    return FileError(f"{path} cannot be {action}: {reason}")


def _open_locked(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
        try:
            _check(path, fd)
            _lock(path, fd)
            if _leads_to(path, fd):
                return fd
        except BaseException:
            _close(fd)
            raise
        _close(fd)  # the file was replaced in the meantime


def _check(path: Path, fd: int) -> None:
    status = os.fstat(fd)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"{path} is a pipe or a device; pass a file")
    JUDGMENTS_BYTES.check(status.st_size, path)


def _leads_to(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _lock(path: Path, fd: int) -> None:
    """Lock the file itself, so that no lock file is left beside it.

    The operating system releases the lock of a process that is killed.
    """
    deadline = time.monotonic() + LOCK_TIMEOUT
    while not lock_descriptor(fd, blocking=False):
        if time.monotonic() > deadline:
            raise FileError(
                f"{path}: another process has kept this file locked for {LOCK_TIMEOUT:g} seconds; "
                "stop that process or wait for it, then try again"
            )
        time.sleep(0.005)


def _close(fd: int) -> None:
    with suppress(OSError):  # a forked process must not keep the lock
        unlock_descriptor(fd)
    os.close(fd)


def _sync(fd: int) -> None:
    if sys.platform == "darwin":  # where fsync does not flush the cache of the disk
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    os.fsync(fd)


def _sync_folder(path: Path) -> None:
    with suppress(OSError):  # Windows and some file systems cannot
        fd = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
