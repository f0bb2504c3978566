"""Loads model files. The content of a file determines its format; its name does not.

A file may come from an untrusted source. Programs, skops files and the files of XGBoost and
LightGBM are checked before any library sees them. Loading a pickle runs code, so pickles are
refused unless the caller trusts them.
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

from proxyuse.errors import CorruptFile, FileError, LimitExceeded, ProxyUseError
from proxyuse.input_limits import MODEL_BYTES
from proxyuse.io.reading import read_bytes
from proxyuse.models.lightgbm.file_format import is_lightgbm, load_lightgbm
from proxyuse.models.loaded import remember_file
from proxyuse.models.sklearn.skops_file import load_skops
from proxyuse.models.xgboost.file_format import load_xgboost, read_json
from proxyuse.program import Program

_COMPRESSED = (
    b"\x1f\x8b",  # gzip
    b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda",  # zlib
    b"BZh",
    b"\xfd7zXZ\x00",
    b"\x5d\x00\x00",  # lzma
    b"\x04\x22\x4d\x18",  # lz4
)  # fmt: skip
_DESCRIPTIONS = {
    "program": "a program",
    "skops": "a skops file",
    "xgboost": "an XGBoost model",
    "lightgbm": "a LightGBM model",
    "pickle": "a pickle",
}
_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather")
_SUFFIXES = {
    ".skops": "skops",
    ".json": "xgboost",
    ".ubj": "xgboost",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
}
_FORMATS = "skops, XGBoost (JSON or UBJSON), LightGBM (text), and programs as text"


@dataclass(frozen=True)
class LoadedModel:
    """A model from a file.

    Attributes
    ----------
    model : what `proxyuse.translate` and `proxyuse.audit` take.
    kind : "program", "skops", "xgboost", "lightgbm" or "pickle".
    path : the file.
    sha256 : the SHA-256 digest of the file.
    saved_with : the library and version that saved the file, if recorded there. If a different
        version of scikit-learn reads it, both versions.
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
        format is detected from the content; the file name does not matter.
    trust_pickle : bool
        Whether to load pickles, including those of joblib. Loading a pickle runs any code that
        its author put there.

    Raises
    ------
    FileError
        If the file cannot be read, or contains types that are not safe to load.
    CorruptFile
        If the file is damaged. A subclass of `FileError`.

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
    kind = _detected_kind(data, path)
    try:
        model, saved_with = _load(kind, data, trust_pickle)
    except CorruptFile as error:
        raise CorruptFile(
            f"{path} is corrupt (read as {_description(kind, path)}): {error}; save the model again"
        ) from None
    except LimitExceeded as error:
        raise error.within(path) from None
    except FileError as error:
        if path.suffix.lower() in _TABLES:
            raise FileError(f"{path} is a data file, not a model; pass a model file") from None
        raise FileError(f"{path} (read as {_description(kind, path)}): {error}") from None
    except MemoryError:
        raise FileError(f"{path}: not enough memory to load the model") from None
    if kind not in ("program", "pickle"):  # programs are parsed, and pickles are trusted
        remember_file(model, path)
    return LoadedModel(model, kind, path, hashlib.sha256(data).hexdigest(), saved_with)


def _description(kind: str, path: Path) -> str:
    """A format in words; mentions the file name if it suggests a different format."""
    suggested = _SUFFIXES.get(path.suffix.lower(), kind)
    return _DESCRIPTIONS[kind] + ("" if suggested == kind else f" despite its name {path.name!r}")


def _read(path: Path) -> bytes:
    try:
        if path.is_dir():
            raise FileError(f"{path} is a folder; pass the path of a model file")
        if path.exists() and not path.is_file():
            raise FileError(f"{path} is not a regular file; pass the path of a model file")
        data = read_bytes(path, MODEL_BYTES)
    except FileError:
        raise
    except FileNotFoundError:
        raise FileError(f"{path} does not exist; check the path of the model file") from None
    except PermissionError:
        raise FileError(f"{path} cannot be read: permission denied") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path!s:.200} cannot be read: {error}") from None
    if not data:
        raise CorruptFile(f"{path} is empty; save the model again")
    return data


# The format


def _detected_kind(data: bytes, path: Path) -> str:
    """The format of a file, by its first bytes; other text is a program.

    A file name for XGBoost only matters for content that no other format claims.
    """
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "skops"
    if data.startswith(_COMPRESSED) or (data[0] == 0x80 and data[1:2] in b"\x02\x03\x04\x05"):
        return "pickle"
    if data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return "xgboost"
    if is_lightgbm(data):
        return "lightgbm"
    if _is_old_pickle(data):
        return "pickle"
    named_xgboost = _SUFFIXES.get(path.suffix.lower()) == "xgboost"
    return "xgboost" if named_xgboost and not _is_program(data) else "program"


def _is_program(data: bytes) -> bool:
    """Whether the data is a program, rather than a JSON value such as ``null`` or ``[1, 2]``."""
    with contextlib.suppress(FileError):
        read_json(data)
        return False
    with contextlib.suppress(FileError):
        _load_program(_text(data))
        return True
    return False


def _is_old_pickle(data: bytes) -> bool:
    """Whether the data is a pickle of protocol 0 or 1, which has no header; runs no code."""
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
        raise FileError(
            f"byte {error.start} is not UTF-8 text; supported formats: {_FORMATS}"
        ) from None


def _load_program(text: str) -> Program:
    try:
        return Program.parse(text)
    except LimitExceeded:
        raise
    except ProxyUseError as error:
        raise FileError(f"{error}; supported formats: {_FORMATS}") from None


# Pickles


def _load_pickle(data: bytes, trusted: bool) -> tuple[object, str | None]:
    if not trusted:
        raise FileError(
            "loading a pickle runs whatever code is in it. Save the model with "
            "skops.io.dump(model, 'model.skops') instead, or, if you trust the author of the "
            "file, pass --trust-pickle (trust_pickle=True)"
        )
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = _unpickled(data)
    except Exception as error:
        raise FileError(
            f"the pickle cannot be loaded: {type(error).__name__}: {error}; install the library "
            "versions that saved it"
        ) from None
    return model, _pickled_with(model, [warning.message for warning in caught])


def _unpickled(data: bytes) -> object:
    try:
        import joblib
    except ImportError:
        return pickle.loads(data)
    return joblib.load(io.BytesIO(data))


def _pickled_with(model: object, messages: list[Warning | str]) -> str | None:
    """The scikit-learn version that saved a model.

    The model does not record it, but scikit-learn warns if it differs from the installed one.
    """
    for warning in messages:
        version = getattr(warning, "original_sklearn_version", None)
        if version is not None:
            installed = getattr(warning, "current_sklearn_version", "another version")
            return f"scikit-learn {version} (read with scikit-learn {installed})"
    if type(model).__module__.startswith("sklearn."):
        import sklearn

        return f"scikit-learn {sklearn.__version__}"
    return None
