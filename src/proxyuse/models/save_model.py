"""Saves models in the formats that `load_model` reads.

The file extension determines the format, or else the file that the model was loaded from. Loading
a pickle runs code, so pickles are written only on request. Every saved model is read back before
it is used, because a library may not save everything.
"""

from __future__ import annotations

import io
import pickle
import tempfile
from pathlib import Path
from typing import Any

from proxyuse.errors import FileError
from proxyuse.models.files import LoadedModel, load_model
from proxyuse.program import Program

FORMATS = {
    ".skops": "skops",
    ".json": "xgboost",
    ".ubj": "xgboost",
    ".program": "program",
    ".pkl": "pickle",
    ".pickle": "pickle",
    ".joblib": "pickle",
}
"""The format of each file extension. ``.txt`` is a program or a LightGBM model."""

_EXTENSIONS = {
    "skops": ".skops",
    "xgboost": ".json or .ubj",
    "lightgbm": ".txt",
    "program": ".program or .txt",
}


def format_for(path: Path, loaded: LoadedModel, *, allow_pickle: bool = False) -> str:
    """The format in which to save a model: a `LoadedModel.kind`.

    Parameters
    ----------
    path : the file to write.
    loaded : the model as it was loaded.
    allow_pickle : whether a pickle may be written.

    Raises
    ------
    FileError
        If the format of the extension cannot hold the model. The message names one that can.

    Examples
    --------
    >>> loaded = LoadedModel(Program.parse("ite(age <= 30, 0, 1)"), "program", Path("p"), "", None)
    >>> format_for(Path("repaired.txt"), loaded), format_for(Path("repaired.skops"), loaded)
    ('program', 'skops')
    """
    native_format, extension = _native_format(loaded.model), path.suffix.lower()
    if extension == ".txt" and native_format in ("program", "lightgbm"):
        chosen_format = native_format
    elif extension == ".txt":
        chosen_format = "text"
    else:
        chosen_format = FORMATS.get(
            extension, "pickle" if loaded.kind == "pickle" else native_format
        )
    if chosen_format == "pickle" and not allow_pickle:
        raise FileError(
            f"{path} would be a pickle, and loading a pickle runs any code in it; use the "
            f"extension {_EXTENSIONS[native_format]}, or pass --pickle to write one anyway"
        )
    if chosen_format in ("pickle", "program", native_format) or (chosen_format, native_format) == (
        "skops",
        "program",
    ):
        return chosen_format
    raise FileError(
        f"{path}: a {type(loaded.model).__name__} cannot be saved as {extension}; use "
        f"the extension {_EXTENSIONS[native_format]}, or .program for its program as text"
    )


def _native_format(model: object) -> str:
    if isinstance(model, Program):
        return "program"
    library = type(model).__module__.partition(".")[0]
    return library if library in ("xgboost", "lightgbm") else "skops"


def model_bytes(model: Any, form: str, extension: str) -> bytes:
    """The content of a model file.

    Parameters
    ----------
    model : fitted estimator, booster or Program.
    form : the format, from `format_for`.
    ending : the file extension; it selects between JSON and UBJSON, and between joblib and pickle.
    """
    match form:
        case "program":
            return f"{model}\n".encode("utf-8", "backslashreplace")
        case "skops":
            return _skops_bytes(model)
        case "xgboost":
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "model.ubj" if extension.lower() == ".ubj" else "model.json")
                model.save_model(str(file))
                return file.read_bytes()
        case "lightgbm":
            booster = getattr(model, "booster_", model)
            return str(booster.model_to_string(num_iteration=-1)).encode("utf-8")
        case _:
            return _pickle_bytes(model, extension)


def _skops_bytes(model: Any) -> bytes:
    try:
        import skops.io
    except ImportError:
        raise FileError(
            "saving a .skops file needs skops, which is not installed: "
            "pip install 'proxyuse[files]'"
        ) from None
    try:
        return bytes(skops.io.dumps(model))
    except Exception as error:  # an unsupported part can raise anything
        raise FileError(
            f"skops cannot save this {type(model).__name__} ({type(error).__name__}: {error}); "
            "pass --pickle and use the extension .pkl"
        ) from None


def _pickle_bytes(model: Any, extension: str) -> bytes:
    if extension.lower() == ".joblib":
        import joblib

        buffer = io.BytesIO()
        joblib.dump(model, buffer)
        return buffer.getvalue()
    return pickle.dumps(model)


def read_again(content: bytes, form: str) -> LoadedModel:
    """Load a model from the content of its file, before the file is written."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(content)
        try:
            return load_model(file, trust_pickle=form == "pickle")  # bytes of our own
        except FileError as error:
            why = str(error).replace(str(file), "it")
            raise FileError(
                f"the model can be saved, but not loaded again ({why}); pass --pickle and use the "
                "extension .pkl, or use .program for its program as text"
            ) from None
