"""Models as files, in the formats that `load_model` reads.

Which format is told by the ending of the file, or else by the file that the model came from. A
pickle, which runs code when it is read, is written only if that is asked for. What is written is
read again before anyone relies on it: a library may save less than it knows.
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
"""The format that an ending stands for. ``.txt`` is a program, or what LightGBM writes."""

_ENDINGS = {
    "skops": ".skops",
    "xgboost": ".json or .ubj",
    "lightgbm": ".txt",
    "program": ".program or .txt",
}


def format_for(path: Path, loaded: LoadedModel, *, allow_pickle: bool = False) -> str:
    """The format in which a model like the given one goes to a file: its `LoadedModel.kind`.

    Parameters
    ----------
    path : where to.
    loaded : the model as it was read.
    allow_pickle : whether a pickle may be written.

    Raises
    ------
    FileError
        If the ending stands for a format that cannot hold it, and which one can.

    Examples
    --------
    >>> given = LoadedModel(Program.parse("ite(age <= 30, 0, 1)"), "program", Path("p"), "", None)
    >>> format_for(Path("repaired.txt"), given), format_for(Path("repaired.skops"), given)
    ('program', 'skops')
    """
    own, ending = _own_format(loaded.model), path.suffix.lower()
    if ending == ".txt" and own in ("program", "lightgbm"):
        wanted = own
    elif ending == ".txt":
        wanted = "text"
    else:
        wanted = FORMATS.get(ending, "pickle" if loaded.kind == "pickle" else own)
    if wanted == "pickle" and not allow_pickle:
        raise FileError(
            f"{path} would be a pickle, which can run any code when it is read; name a file with "
            f"the ending {_ENDINGS[own]}, or say --pickle if a pickle is wanted"
        )
    if wanted in ("pickle", "program", own) or (wanted, own) == ("skops", "program"):
        return wanted
    raise FileError(
        f"{path}: a {type(loaded.model).__name__} is not written to a file that ends in "
        f"{ending}; name one with the ending {_ENDINGS[own]}, or .program for its program as text"
    )


def _own_format(model: object) -> str:
    if isinstance(model, Program):
        return "program"
    library = type(model).__module__.partition(".")[0]
    return library if library in ("xgboost", "lightgbm") else "skops"


def model_bytes(model: Any, form: str, ending: str) -> bytes:
    """A model, or a program, in one of the formats.

    Parameters
    ----------
    model : fitted estimator, booster or Program.
    form : as `format_for` says.
    ending : of the file; tells XGBoost's two formats apart, and joblib's pickles from others.
    """
    match form:
        case "program":
            return f"{model}\n".encode("utf-8", "backslashreplace")
        case "skops":
            return _skops_bytes(model)
        case "xgboost":
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "model.ubj" if ending.lower() == ".ubj" else "model.json")
                model.save_model(str(file))
                return file.read_bytes()
        case "lightgbm":
            booster = getattr(model, "booster_", model)
            return str(booster.model_to_string(num_iteration=-1)).encode("utf-8")
        case _:
            return _pickle_bytes(model, ending)


def _skops_bytes(model: Any) -> bytes:
    try:
        import skops.io
    except ImportError:
        raise FileError(
            "writing a .skops file needs skops, which is not installed: "
            "pip install 'proxyuse[files]'"
        ) from None
    try:
        return bytes(skops.io.dumps(model))
    except Exception as error:  # a part that skops does not know fails in its own way
        raise FileError(
            f"skops cannot save this {type(model).__name__} ({type(error).__name__}: {error}); "
            "say --pickle and name a file that ends in .pkl"
        ) from None


def _pickle_bytes(model: Any, ending: str) -> bytes:
    if ending.lower() == ".joblib":
        import joblib

        made = io.BytesIO()
        joblib.dump(model, made)
        return made.getvalue()
    return pickle.dumps(model)


def read_again(content: bytes, form: str) -> LoadedModel:
    """What `load_model` makes of the bytes of a model, before they are anywhere else."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(content)
        try:
            return load_model(file, trust_pickle=form == "pickle")  # bytes of our own
        except FileError as error:
            why = str(error).replace(f"{file}, ", "").replace(str(file), "it")
            raise FileError(
                f"the model could be saved and not be read again ({why}); say --pickle and name a "
                "file that ends in .pkl, or .program for its program as text"
            ) from None
