"""Atomic writes.

A reader never sees half a report, and if a write fails, the previous report stays. Knows nothing
about the content.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from proxyuse.errors import FileError

_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")  # files that a process has open


def written(path: str | Path, content: str | bytes) -> Path:
    """Write a file atomically.

    The content goes to a temporary file in the same folder, which then replaces the file. If that
    fails or Ctrl-C interrupts it, the file does not change. A new file gets its permissions from
    the umask; an existing file keeps its own. Links are followed. Pipes and devices are written to
    directly.

    Parameters
    ----------
    path : the file; ``-`` is not allowed.
    content : bytes, or text to be encoded in UTF-8.

    Returns
    -------
    Path
        The path.

    Raises
    ------
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written(Path(folder, "report.txt"), "two witnesses").read_text()
    'two witnesses'
    """
    check_writable(path)
    path = Path(path)
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        mode = _mode(path)
        if mode is not None and _is_written_directly(path, mode):
            path.write_bytes(raw)
        else:
            _replace(Path(os.path.realpath(path)), raw, mode)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return path


def check_writable(path: str | Path) -> None:
    """Raise the error that `written` would raise, if it can be predicted."""
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


def _replace(target: Path, raw: bytes, mode: int | None) -> None:
    if mode is not None:
        target.open("r+b").close()  # a read-only file is not replaced
    temporary = target.with_name(f".proxyuse-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C as well
        with suppress(OSError):
            temporary.unlink()
        raise


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
