"""Atomic writes.

A reader never sees half a report, and if a write fails, the previous report stays. Several files
are written together or not at all. Knows nothing about the content.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import signal
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from proxyuse.errors import FileError

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")  # files that a process has open
_ERRORS = "backslashreplace"  # of lone surrogates


def written(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically; see `written_together`.

    Returns
    -------
    Path
        The path.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written(Path(folder, "report.txt"), "two witnesses").read_text()
    'two witnesses'
    """
    written_together({Path(path): content})
    return Path(path)


def written_together(files: Mapping[Path, str | bytes]) -> None:
    """Write several files, all or none.

    Each content goes to a temporary file in the folder of its file. When all are on disk, they
    replace the files, one after the other. If that fails, those already replaced are put back.
    Ctrl-C before the first is replaced changes no file; after that, it waits until the last is. A
    new file gets its permissions from the umask; an existing file keeps its own. Links are
    followed. Pipes and devices are written to directly, before any file is replaced.

    Parameters
    ----------
    files : for each file its content: bytes, or text to be encoded in UTF-8. ``-`` is not allowed.

    Raises
    ------
    FileError
        If a file cannot be written. No file changes then.
    """
    for path in files:
        check_writable(path)
    replacements: list[_Replacement] = []
    try:
        direct: list[tuple[Path, bytes]] = []
        for path, content in files.items():
            raw = content if isinstance(content, bytes) else content.encode(errors=_ERRORS)
            with _explained(path):
                mode = _mode(path)
                if mode is not None and _is_written_directly(path, mode):
                    direct.append((path, raw))
                    continue
                replacements.append(_Replacement(path, mode))
                replacements[-1].stage(raw)
        for path, raw in direct:
            with _explained(path):
                path.write_bytes(raw)
        with _signals_deferred():
            _replace_all(replacements)
    except BaseException:  # Ctrl-C as well
        with _signals_deferred():
            for replacement in replacements:
                replacement.discard()
        raise


def check_writable(path: str | Path) -> None:
    """Raise the error that `written_together` would raise, if it can be predicted."""
    if str(path) == "-":
        raise FileError(
            "'-' does not stand for standard output here; pass a file (./- if that is its name)"
        )
    path = Path(path)
    try:
        mode = _mode(path)
        if not path.parent.is_dir():
            raise NotADirectoryError if path.parent.exists() else FileNotFoundError
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError
        direct = mode is not None and _is_written_directly(path, mode)
        folder = Path(os.path.realpath(path)).parent
        if not (mode is None or os.access(path, os.W_OK)):
            raise PermissionError
        if not (direct or os.access(folder, os.W_OK)):
            raise PermissionError
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from None


def make_folder(folder: Path) -> None:
    """Create a folder and its parents if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot create the folder {folder}: {error.strerror}") from None


def _mode(path: Path) -> int | None:
    """Return the type and permissions of a file; None if it does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _is_written_directly(path: Path, mode: int) -> bool:
    """Whether a path is a pipe, a device or an open file, which cannot be replaced."""
    return not stat.S_ISREG(mode) or str(path).startswith(_OPEN_FILES)


class _Replacement:
    """A file on its way: its new content in a temporary file, its old content in a backup."""

    def __init__(self, path: Path, mode: int | None) -> None:
        self.path = path
        self._mode = mode
        self._target = Path(os.path.realpath(path))
        name = f".proxyuse-{secrets.token_hex(8)}"
        self._temporary = self._target.with_name(f"{name}.tmp")
        self._backup = self._target.with_name(f"{name}.old")

    def stage(self, raw: bytes) -> None:
        """Write the temporary file."""
        if self._mode is not None:
            self._target.open("r+b").close()  # a read-only file is not replaced
        with open(self._temporary, "xb") as file:
            if self._mode is not None:
                os.chmod(self._temporary, stat.S_IMODE(self._mode))
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())

    def back_up(self) -> None:
        """Keep the old content, if there is any."""
        if self._mode is None:
            return
        try:
            os.link(self._target, self._backup)
        except OSError:  # not every file system has links
            shutil.copy2(self._target, self._backup)

    def replace(self) -> None:
        """Replace the file."""
        os.replace(self._temporary, self._target)

    def put_back(self) -> str | None:
        """Undo `replace`; return what is left to do if that fails."""
        backup, self._backup = self._backup, self._temporary  # keep it if that fails
        try:
            if self._mode is None:
                self._target.unlink()
            else:
                os.replace(backup, self._target)
        except OSError as error:
            content = "nothing" if self._mode is None else backup
            return f"{self.path} could not be put back ({error}); it should contain {content}"
        return None

    def discard(self) -> None:
        """Remove the temporary file and the backup."""
        for path in (self._temporary, self._backup):
            with suppress(OSError):
                path.unlink()

    def sync(self) -> None:
        """Bring the new name of the file to disk."""
        with suppress(OSError):  # Windows and some file systems cannot
            fd = os.open(self._target.parent, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def _replace_all(replacements: Sequence[_Replacement]) -> None:
    """Replace all files; if one cannot be replaced, put the others back."""
    replaced: list[_Replacement] = []
    try:
        for replacement in replacements[:-1]:  # nothing can fail after the last
            with _explained(replacement.path):
                replacement.back_up()
        for replacement in replacements:
            with _explained(replacement.path):
                replacement.replace()
            replaced.append(replacement)
    except BaseException as error:
        problems = [problem for r in reversed(replaced) if (problem := r.put_back())]
        if problems:
            raise FileError("; ".join([str(error), *problems])) from error
        raise
    for replacement in replacements:
        replacement.sync()
        replacement.discard()


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Keep Ctrl-C and SIGTERM until the end of the block; other threads never get them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []

    def defer(number: int, frame: FrameType | None) -> None:
        pending.append(number)

    handlers = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if handler not in (None, signal.SIG_IGN):
                handlers[number] = handler
                signal.signal(number, defer)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say which file could not be written, and why."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError | ValueError) -> FileError:
    folder = path.parent
    match error:
        case FileNotFoundError():
            return FileError(
                f"{path} cannot be written: the folder {folder} does not exist; create it first"
            )
        case IsADirectoryError():
            return FileError(f"{path} is a folder; pass a file")
        case NotADirectoryError():
            return FileError(f"{path} cannot be written: {folder} is not a folder; choose another")
        case PermissionError():
            return FileError(
                f"{path} cannot be written: no permission for it, or to create a file in {folder}; "
                "choose another file"
            )
        case OSError() if error.errno in _DISK_FULL:
            return FileError(
                f"{path} cannot be written: no space left ({error.strerror}); free some, or choose "
                "another file (nothing was changed)"
            )
    reason = getattr(error, "strerror", None) or error
    return FileError(f"{path} cannot be written: {reason}; choose another file")
