"""Finds the translator of a model by the dotted name of its class.

The bases of the class are searched too, so a subclass of a supported class is supported. A
translator's module is imported on first use; the model's library is never imported. Other
packages add translators with `register`, or with an entry point in the group
``proxyuse.translators`` whose name is the dotted name of the class.

A translator takes a fitted model and its input features. For a **model** it returns a
`Translation`, for a **transformer** the features it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Any, Literal, TypeVar

from proxyuse.decision import Decision
from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import variables
from proxyuse.models.decisions import decided
from proxyuse.models.features import Inputs, Raw
from proxyuse.models.loaded import damage_reported, file_of
from proxyuse.models.supported import SUPPORTED
from proxyuse.models.translation import Translation
from proxyuse.program import Program
from proxyuse.words import shortened

T = TypeVar("T", bound=Callable[..., Any])

GROUP = "proxyuse.translators"


@dataclass(frozen=True, slots=True)
class Entry:
    """A translator of models or of transformers, as a function or as ``module:function``.

    A class that can be both, such as a pipeline, has a second function `as_transformer`.
    """

    role: Literal["model", "transformer"]
    function: str | Callable[..., Any]
    as_transformer: str = ""

    def load(self, role: Literal["model", "transformer"] = "model") -> Callable[..., Any]:
        """Import and return the function."""
        function = self.as_transformer if role != self.role else self.function
        if not isinstance(function, str):
            return function
        module, name = function.split(":")
        translator: Callable[..., Any] = getattr(import_module(module), name)
        return translator


_REGISTERED: dict[str, Entry] = {}


def register(*names: str, role: Literal["model", "transformer"] = "model") -> Callable[[T], T]:
    """Register a function as the translator of some classes, by dotted name.

    Examples
    --------
    >>> from proxyuse.lang.nodes import Const
    >>> class AlwaysYes:
    ...     feature_names_in_ = ["age"]
    ...     n_features_in_ = 1
    >>> @register(f"{AlwaysYes.__module__}.AlwaysYes")
    ... def translate_always_yes(model, inputs):
    ...     return Translation(Const("yes"), ("yes",))
    >>> print(translate(AlwaysYes()))
    lambda age .
    'yes'
    """

    def add(function: T) -> T:
        for name in names:
            _REGISTERED[name] = Entry(role, function)
        return function

    return add


def find(model: object) -> Entry | None:
    """The translator of a model, or None."""
    for cls in type(model).__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        if name in _REGISTERED:
            return _REGISTERED[name]
        if name in SUPPORTED:
            supported = SUPPORTED[name]
            return Entry(supported.role, supported.function, supported.as_transformer)
        for point in entry_points(group=GROUP, name=name):
            return Entry("model", point.load())
    return None


def translate(
    model: object,
    feature_names: Sequence[str] | None = None,
    *,
    decision: Decision | None = None,
    opaque: bool = False,
) -> Program:
    """Translate a fitted model into a program with the same predictions.

    Parameters
    ----------
    model : a fitted model of a supported class (see the table in the documentation), or a
        program, which is returned unchanged.
    feature_names : names for the model's inputs, in order. By default the names it was fitted
        with, or x0, x1, ... if it was fitted without names.
    decision : Threshold or Positive, if the decision is not the model's prediction.
    opaque : whether the outputs of transformers that cannot be translated become variables. They
        are named by `get_feature_names_out`, prefixed with the step: ``prep__pca__pca0``. They
        are additional inputs of the program, so the data must have them as columns.
    """
    if isinstance(model, Program):
        return model
    names = input_names(model, feature_names)
    translation = translation_of(model, names, opaque=opaque)
    if decision is not None:
        translation = decided(translation, decision)
    return program_of(translation, names)


def program_of(translation: Translation, names: Sequence[str]) -> Program:
    """The program of a translation; opaque variables become additional inputs."""
    known = set(names)
    opaque = [name for name in variables(translation.output) if name not in known]
    return Program.traced(translation.output, [*names, *opaque], translation.origins)


def translation_of(model: object, names: Sequence[str], *, opaque: bool = False) -> Translation:
    """The translation of a model that reads raw columns."""
    return translate_part(model, Inputs.raw(names, opaque=opaque, file=file_of(model)))


def _check_model(model: object) -> None:
    if isinstance(model, type):
        name = model.__name__
        advice = "Program.parse(text)" if issubclass(model, Program) else f"{name}().fit(X, y)"
        raise TranslationError(
            f"model: {name} is a class, not a fitted model; for example, pass {advice}"
        )
    if find(model) is None:
        raise _unsupported(model, "") if _looks_like_a_model(model) else _no_model(model)


def _looks_like_a_model(value: object) -> bool:
    return any(hasattr(value, method) for method in ("fit", "predict"))


def _no_model(value: object) -> TranslationError:
    """Return the error for a value that is no model of any library."""
    got = "None" if value is None else type(value).__name__
    if isinstance(value, str | PurePath):
        got = shortened(repr(str(value)))
        advice = (
            "to read a model file, use pu.load_model(path).model; for a program as text, use "
            "pu.Program.parse(text)"
        )
    elif isinstance(value, Mapping | Set | Sequence) and not isinstance(value, bytes):
        advice = "pass a single model"
    elif hasattr(value, "shape") or hasattr(value, "columns"):
        advice = "pass the model first, then the data"
    elif callable(value):
        advice = "pass the model itself, because a function cannot be translated"
    else:
        advice = "for example, pass DecisionTreeClassifier().fit(X, y)"
    return TranslationError(f"model: expected a fitted model or a program, got {got}; {advice}")


def translate_part(model: object, inputs: Inputs) -> Translation:
    """The translation of a model, or of a part of one, that reads features."""
    entry = find(model)
    if entry is None:
        raise _unsupported(model, inputs.step)
    if entry.role != "model":
        raise TranslationError(
            f"a {type(model).__name__}{at_step(inputs)} is a transformer and predicts nothing; "
            "pass a pipeline that ends with a model"
        )
    translator = entry.load()
    with damage_reported(inputs.file, model, at_step(inputs)):
        translation: Translation = translator(model, inputs)
    return translation


def transformed(transformer: object, inputs: Inputs, outputs: int | None = None) -> Inputs:
    """The features that a transformer computes from others.

    `outputs` is their number; it is needed only for opaque transformers without output names.
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return inputs
    entry = find(transformer)
    try:
        if entry is None or not (entry.role == "transformer" or entry.as_transformer):
            raise _unsupported(transformer, inputs.step, " as a transformer")
        translator = entry.load("transformer")
        with damage_reported(inputs.file, transformer, at_step(inputs)):
            return inputs.having(translator(transformer, inputs))
    except TranslationError as error:
        names = _output_names(transformer, outputs) if inputs.opaque else None
        if names is None:
            raise
        if not inputs.step:
            raise TranslationError(
                f"{error}; opaque=True needs a pipeline, whose step names prefix the outputs"
            ) from None
        prefix = inputs.step.replace(" > ", "__")
        return inputs.having([Raw(f"{prefix}__{name}") for name in names])


def _output_names(transformer: Any, outputs: int | None) -> list[str] | None:
    """The names of a transformer's outputs, or their indices; None if neither is known."""
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except Exception:  # no such method, not fitted, or an error of the library
        return None if outputs is None else [str(number) for number in range(outputs)]


def _unsupported(model: object, step: str, use: str = "") -> TranslationError:
    cls = type(model)
    name = f"{cls.__module__}.{cls.__qualname__}".removeprefix("builtins.")
    where = f" (step {step!r})" if step else ""
    families = ", ".join(dict.fromkeys(entry.family for entry in SUPPORTED.values()))
    alternative = ", or pass opaque=True and its outputs as columns" if use else ""
    return TranslationError(
        f"cannot translate a {name}{where}{use}; supported: "
        f"{families}, and programs. print(proxyuse.models.supported_table()) lists every class. "
        f"To add one, use proxyuse.models.register{alternative}"
    )


def at_step(inputs: Inputs) -> str:
    """The step of a part of a model, for error messages."""
    return f" (step {inputs.step!r})" if inputs.step else ""


def check_fitted(model: Any, fitted: str, inputs: Inputs | None = None) -> None:
    """Raise an error if a model lacks an attribute that fitting sets, or has several outputs."""
    kind = type(model).__name__
    where = at_step(inputs) if inputs is not None else ""
    if not hasattr(model, fitted):
        raise TranslationError(f"this {kind}{where} is not fitted; call fit first")
    outputs = getattr(model, "n_outputs_", 1)
    if outputs != 1:
        raise TranslationError(f"this {kind}{where} has {outputs} outputs; only one is supported")


def input_names(model: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of a model's inputs, one per feature it was fitted on."""
    _check_model(model)
    kind = type(model).__name__
    with damage_reported(file_of(model), model):
        fitted_names, count = _fitted_inputs(_first_part(model))
    if feature_names is None:
        feature_names = fitted_names
    if count is None and feature_names is None:
        raise TranslationError(f"this {kind} is not fitted; call fit first")
    if feature_names is None:
        feature_names = [f"x{i}" for i in range(int(count))]  # type: ignore[arg-type]
    if isinstance(feature_names, str | bytes) or not hasattr(feature_names, "__getitem__"):
        raise TranslationError(
            f"feature_names: expected a sequence of names, got {feature_names!r:.100}"
        )
    names = tuple(str(name) for name in feature_names)
    if count is not None and len(names) != int(count):
        raise TranslationError(
            f"feature_names: expected {count} names, one per feature of the {kind}, got "
            f"{len(names)}"
        )
    return names


def is_named(model: object) -> bool:
    """Whether a model was fitted on columns with names."""
    return _fitted_inputs(_first_part(model))[0] is not None


def reads_lightgbm_names(model: object) -> bool:
    """Whether the names of a model's inputs come from LightGBM, which replaces spaces in them."""
    return type(_first_part(model)).__module__.startswith("lightgbm")


def _does_nothing(step: Any) -> bool:
    if hasattr(step, "steps"):
        return all(_does_nothing(part) for _, part in step.steps)
    return step is None or isinstance(step, str) or getattr(step, "func", step) is None


def _first_part(model: Any) -> Any:
    """The part that reads the raw columns: the first step of a pipeline or union with an effect."""
    while True:
        parts = getattr(model, "steps", getattr(model, "transformer_list", ()))
        effective = [part for _, part in parts if not _does_nothing(part)]
        if not effective:
            return model
        model = effective[0]


def _fitted_inputs(model: Any) -> tuple[Sequence[str] | None, int | None]:
    """The names of the inputs that a model was fitted on, and their number; None if unknown."""
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if count is None and hasattr(model, "num_features"):  # an XGBoost booster
        try:
            return model.feature_names, model.num_features()
        except ValueError:  # not fitted
            return None, None
    if count is None and hasattr(model, "num_feature"):  # a LightGBM booster
        names, count = model.feature_name(), model.num_feature()
        unnamed = list(names) == [f"Column_{i}" for i in range(count)]
        return None if unnamed else names, count
    return names, count
