"""A file of lines to which lines are added and from which none is ever taken.

Several processes may add at once, and any of them may die at any moment: a line is written under
a lock, in one piece, and is on the disk before the lock is given up. This module knows nothing of
what stands in the lines.
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

from proxyuse.errors import FileError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

MOST_BYTES = 1 << 28
PATIENCE = 60.0  # seconds to wait for another process

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FAR = 1 << 30  # where Windows locks a byte: behind all content, for its locks stop readers
_FLAGS = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)  # never wait for a pipe


@contextmanager
def opened_to_read(path: Path) -> Iterator[BufferedReader]:
    """The file while nobody writes to it; FileNotFoundError if there is none."""
    fd = os.open(path, os.O_RDONLY | _FLAGS)
    try:
        _check(path, fd)
        with suppress(OSError):  # where nothing can be locked it can still be read
            _lock(path, fd, exclusive=False)
        with open(fd, "rb", closefd=False) as file:
            yield file
    finally:
        _close(fd)


@contextmanager
def opened_to_append(path: Path) -> Iterator[BufferedReader]:
    """The file, made if there is none, while nobody else reads or writes it; for `append`."""
    fd = _locked_for_us(path)
    try:
        _sync_folder(path)  # before the first line: a file with lines is in its folder for good
        with open(fd, "rb", closefd=False) as file:
            yield file
    finally:
        _close(fd)


def append(file: BufferedReader, line: bytes) -> bytes:
    """Add a line, safe on the disk when this returns; or nothing, if that fails.

    A last line without an end, left by a writer that died, is ended first and stays as it is.

    Returns
    -------
    bytes
        What was written.
    """
    fd = file.fileno()
    before = os.fstat(fd).st_size
    file.seek(max(before - 1, 0))
    raw = (b"\n" if file.read(1) not in (b"", b"\n") else b"") + line + b"\n"
    if before + len(raw) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it would be larger than {MOST_BYTES} bytes")
    try:
        left = memoryview(raw)
        while left:
            left = left[os.write(fd, left) :]
        _sync(fd)
    except BaseException:  # Ctrl-C as well
        with suppress(OSError):
            if os.fstat(fd).st_size <= before + len(raw):  # nobody passed by the lock
                os.ftruncate(fd, before)
        raise
    return raw


def lines_of(file: BufferedReader, longest: int) -> Iterator[bytes]:
    """The lines from here on with their ends; of one longer than that, only the beginning."""
    while line := file.readline(longest + 1):
        yield line
        while not line.endswith(b"\n") and (line := file.readline(longest + 1)):
            pass


def is_at(file: BufferedReader, path: Path) -> bool:
    """Whether the path still leads to this file, which another may have replaced."""
    return _leads_to(path, file.fileno())


def unusable(path: Path, error: OSError | ValueError, doing: str) -> FileError:
    """Say why a file cannot be read or written and what to do about it."""
    match error:
        case FileNotFoundError():
            why = f"there is no folder {path.parent}; make it first"
        case IsADirectoryError():
            return FileError(f"{path} is a folder; name a file in it")
        case NotADirectoryError():
            why = "a part of this path is a file, not a folder; check it"
        case PermissionError():
            why = "no permission; ask its owner for it or choose another place"
        case OSError() if error.errno == errno.EROFS:
            why = "its disk is read-only; choose another place"
        case OSError() if error.errno in _NO_ROOM:
            why = f"there is no room for it ({error.strerror}); make room or choose another place"
        case _:
            told = getattr(error, "strerror", None) or error
            why = f"{told}; check the file and the disk it is on"
    return FileError(f"{path} cannot be {doing}: {why}")


def _locked_for_us(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
        try:
            _check(path, fd)
            _lock(path, fd, exclusive=True)
            if _leads_to(path, fd):
                return fd
        except BaseException:
            _close(fd)
            raise
        _close(fd)  # it was replaced while we waited


def _check(path: Path, fd: int) -> None:
    found = os.fstat(fd)
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{path} is a pipe or a device; name a file")
    if found.st_size > MOST_BYTES:
        raise FileError(f"{path}: {found.st_size} bytes are too many; is it the right file?")


def _leads_to(path: Path, fd: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def _lock(path: Path, fd: int, *, exclusive: bool) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            _lock_now(fd, exclusive)
            return
        except OSError as error:
            if error.errno not in _BUSY:
                raise
        if time.monotonic() > until:
            raise FileError(
                f"{path}: another process has been writing to it for {PATIENCE:g} seconds; "
                "end that process or wait for it, then try again"
            )
        time.sleep(0.005)


if sys.platform == "win32":

    def _lock_now(fd: int, exclusive: bool) -> None:
        os.lseek(fd, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(fd, 0, os.SEEK_SET)

    def _close(fd: int) -> None:
        with suppress(OSError):  # it is not locked
            os.lseek(fd, _FAR, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)
        os.close(fd)

    def _sync(fd: int) -> None:
        os.fsync(fd)

    def _sync_folder(path: Path) -> None:
        """Windows keeps folders itself."""

else:

    def _lock_now(fd: int, exclusive: bool) -> None:
        fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)

    def _close(fd: int) -> None:
        with suppress(OSError):  # a process forked meanwhile must not keep the lock
            fcntl.flock(fd, fcntl.LOCK_UN)
        os.close(fd)

    def _sync(fd: int) -> None:
        if sys.platform == "darwin":  # where fsync leaves it to the disk's own cache
            with suppress(OSError):
                fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        os.fsync(fd)

    def _sync_folder(path: Path) -> None:
        with suppress(OSError):  # not every file system can
            fd = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
