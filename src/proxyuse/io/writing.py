"""A file is written whole or not at all.

A reader never sees half a report, and a report of yesterday is still there if that of today
could not be written. This module knows nothing of what it writes.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from proxyuse.errors import FileError

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_OPEN_FILES = ("/dev/std", "/dev/fd/", "/proc/")  # of a process, whatever they are


def written(path: str | Path, content: str | bytes) -> Path:
    """Write a file, whole or not at all.

    The content goes to a temporary file in the same folder, which then takes the place of the
    file. If anything fails, or Ctrl-C comes in between, the file is what it was before. A new
    file has the permissions that the umask gives it; one that is replaced keeps its own. Links
    are followed; pipes and devices are written to as they are.

    Parameters
    ----------
    path : where to; ``-`` is not a file.
    content : text, written in UTF-8, or bytes.

    Returns
    -------
    Path
        The file, as it was named.

    Raises
    ------
    FileError
        If the file cannot be written: why, and what to do.

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
        if mode is not None and _written_as_it_is(path, mode):
            path.write_bytes(raw)
        else:
            _replace(Path(os.path.realpath(path)), raw, mode)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error
    return path


def check_writable(path: str | Path) -> None:
    """Refuse what `written` would refuse, as far as that can be known beforehand."""
    if str(path) == "-":
        raise FileError("'-' is not the name of a file here; name a file (./- if it is called so)")
    path = Path(path)
    try:
        mode = _mode(path)
        if not path.parent.is_dir():
            raise NotADirectoryError if path.parent.exists() else FileNotFoundError
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError
        as_it_is = mode is not None and _written_as_it_is(path, mode)
        folder = Path(os.path.realpath(path)).parent
        if not (mode is None or os.access(path, os.W_OK)):
            raise PermissionError
        if not (as_it_is or os.access(folder, os.W_OK)):
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
    """The type and permissions of what is there; None if nothing is."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _written_as_it_is(path: Path, mode: int) -> bool:
    """Whether this is no file that another can take the place of."""
    return not stat.S_ISREG(mode) or str(path).startswith(_OPEN_FILES)


def _replace(target: Path, raw: bytes, mode: int | None) -> None:
    if mode is not None:
        target.open("r+b").close()  # a file that may not be written to is not replaced either
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
                f"{path} cannot be written: there is no folder {folder}; make it first"
            )
        case IsADirectoryError():
            return FileError(f"{path} is a folder; name a file in it")
        case NotADirectoryError():
            return FileError(f"{path} cannot be written: {folder} is not a folder; name another")
        case PermissionError():
            return FileError(
                f"{path}: no permission to write it or to make a file in {folder}; "
                "choose another place"
            )
        case OSError() if error.errno in _NO_ROOM:
            return FileError(
                f"{path} cannot be written: there is no room for it ({error.strerror}); nothing "
                "was changed; make room or choose another place"
            )
    why = getattr(error, "strerror", None) or error
    return FileError(f"{path} cannot be written: {why}; choose another place")
