"""Model files: what they are is told by what is in them, and they are read as data.

A file may come from a stranger. Programs, skops files and the files of XGBoost and LightGBM are
checked before any library is given them; a pickle, which runs code when it is read, is refused
unless it is trusted explicitly.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import pickletools
import warnings
from dataclasses import dataclass
from pathlib import Path

from proxyuse.errors import FileError, ProxyUseError
from proxyuse.models.lightgbm.file_format import is_lightgbm, load_lightgbm
from proxyuse.models.sklearn.skops_file import load_skops
from proxyuse.models.xgboost.file_format import load_xgboost
from proxyuse.program import Program

MAX_BYTES = 1 << 31

_COMPRESSED = (
    b"\x1f\x8b",  # gzip
    b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda",  # zlib
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",  # lzma
    b"\x04\x22\x4d\x18",  # lz4
)  # fmt: skip
_CALLED = {
    "program": "a program",
    "skops": "a skops file",
    "xgboost": "an XGBoost model",
    "lightgbm": "a LightGBM model",
    "pickle": "a pickle",
}
_SUFFIXES = {
    ".skops": "skops",
    ".json": "xgboost",
    ".ubj": "xgboost",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
}
_NO_XGBOOST = "an XGBoost model file starts with '{'; save the model again"
_KNOWN = (
    "known are skops files, models saved by XGBoost (JSON, UBJSON) and LightGBM (text), and "
    "programs as text"
)


@dataclass(frozen=True)
class LoadedModel:
    """A model from a file.

    Attributes
    ----------
    model : what `proxyuse.translate` and `proxyuse.audit` take.
    kind : "program", "skops", "xgboost", "lightgbm" or "pickle".
    path : the file.
    sha256 : the digest of its bytes.
    saved_with : the library and version that saved it, if the file tells; where another version
        of scikit-learn reads it, both.
    """

    model: object
    kind: str
    path: Path
    sha256: str
    saved_with: str | None


def load_model(path: str | Path, *, trust_pickle: bool = False) -> LoadedModel:
    """Read a model from a file.

    Parameters
    ----------
    path : str or Path
        A skops file, a model saved by XGBoost or LightGBM, a program as text, or a pickle. The
        content tells which; the name of the file does not matter.
    trust_pickle : bool
        Whether a pickle (joblib's too) may be read. Reading one runs whatever code its author
        put there.

    Raises
    ------
    FileError
        If the file cannot be read, is damaged, or holds what is not safe to load.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     _ = path.write_text("ite(age <= 30, 0, 1)")
    ...     loaded = load_model(path)
    >>> loaded.kind, str(loaded.model)
    ('program', 'ite(age <= 30, 0, 1)')
    """
    path = Path(path)
    data = _read(path)
    kind = _recognized(data)
    try:
        model, saved_with = _load(kind, data, trust_pickle)
    except FileError as error:
        if kind == "program" and _SUFFIXES.get(path.suffix.lower()) == "xgboost":
            raise FileError(f"{path} is corrupt: {_NO_XGBOOST}") from None
        raise FileError(f"{path}, read as {_called(kind, path)}: {error}") from None
    except MemoryError:
        raise FileError(f"{path}: there is not enough memory to load it") from None
    return LoadedModel(model, kind, path, hashlib.sha256(data).hexdigest(), saved_with)


def _called(kind: str, path: Path) -> str:
    """A kind in words; if the name of the file promises another one, that too."""
    promised = _SUFFIXES.get(path.suffix.lower(), kind)
    return _CALLED[kind] + ("" if promised == kind else f" in spite of its name {path.name!r}")


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; name the model's file")
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is not an ordinary file")
        if path.stat().st_size > MAX_BYTES:
            raise FileError(f"{path} has more than {MAX_BYTES:,} bytes, which is too large to load")
        data = path.read_bytes()
    except FileNotFoundError:
        raise FileError(f"{path} is not there; check the name of the model's file") from None
    except PermissionError:
        raise FileError(f"{path} may not be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path!s:.200} cannot be read: {error}") from None
    if not data:
        raise FileError(f"{path} is empty")
    return data


# Which kind


def _recognized(data: bytes) -> str:
    """The kind of a file by its first bytes; text that is nothing else is taken for a program."""
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "skops"
    if data.startswith(_COMPRESSED) or (data[0] == 0x80 and data[1:2] in b"\x02\x03\x04\x05"):
        return "pickle"
    if data.lstrip().startswith(b"{"):
        return "xgboost"
    if is_lightgbm(data):
        return "lightgbm"
    return "pickle" if _is_old_pickle(data) else "program"


def _is_old_pickle(data: bytes) -> bool:
    """Whether bytes are a pickle of the first protocols, which have no mark; runs nothing."""
    if len(data) < 10 or not data.endswith(b"."):
        return False
    with contextlib.suppress(Exception):
        for _ in pickletools.genops(io.BytesIO(data)):
            pass
        return True
    return False


def _load(kind: str, data: bytes, trust_pickle: bool) -> tuple[object, str | None]:
    match kind:
        case "skops":
            return load_skops(data)
        case "xgboost":
            return load_xgboost(data)
        case "lightgbm":
            return load_lightgbm(_text(data))
        case "pickle":
            return _load_pickle(data, trust_pickle)
        case _:
            return _load_program(_text(data)), None


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(f"it is not text in UTF-8 (byte {error.start}); {_KNOWN}") from None


def _load_program(text: str) -> Program:
    try:
        return Program.parse(text)
    except ProxyUseError as error:
        raise FileError(f"{error}; {_KNOWN}") from None


# Pickles


def _load_pickle(data: bytes, trusted: bool) -> tuple[object, str | None]:
    if not trusted:
        raise FileError(
            "reading it would run whatever code is in it. Save the model with "
            "skops.io.dump(model, 'model.skops') instead, or, if you know who made the file and "
            "trust them, pass --trust-pickle (trust_pickle=True)"
        )
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model = _unpickled(data)
    except Exception as error:
        raise FileError(
            f"it cannot be read: {type(error).__name__}: {error}; use the versions of the "
            "libraries that saved it"
        ) from None
    return model, _pickled_with(model, [warning.message for warning in said])


def _unpickled(data: bytes) -> object:
    try:
        import joblib
    except ImportError:
        return pickle.loads(data)
    return joblib.load(io.BytesIO(data))


def _pickled_with(model: object, said: list[Warning | str]) -> str | None:
    """The version of scikit-learn; a model does not keep it, but warns if it is another."""
    for warning in said:
        version = getattr(warning, "original_sklearn_version", None)
        if version is not None:
            here = getattr(warning, "current_sklearn_version", "another")
            return f"scikit-learn {version} (read with scikit-learn {here})"
    if type(model).__module__.startswith("sklearn."):
        import sklearn

        return f"scikit-learn {sklearn.__version__}"
    return None
