"""Which translator takes which model, found by the dotted name of the model's class.

Names are looked up along the class's bases, so a subclass of a supported class is supported.
A translator's module is imported when its model arrives; a model's library never is. Other
packages add translators with `register`, or by an entry point of the group
``proxyuse.translators`` whose name is the class's dotted name.

A translator takes a fitted model and the features it is given, and says what it computes:

- of a **model**, its `ModelTerms`;
- of a **transformer**, the features it computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import PurePath
from typing import Any, Literal, TypeVar

from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import variables
from proxyuse.models.decisions import Decision, decided
from proxyuse.models.features import Inputs, Raw
from proxyuse.models.model_terms import ModelTerms
from proxyuse.models.supported import SUPPORTED
from proxyuse.program import Program

T = TypeVar("T", bound=Callable[..., Any])

GROUP = "proxyuse.translators"


@dataclass(frozen=True, slots=True)
class Entry:
    """A translator: of models or of transformers, as a function or as ``module:function``.

    What may be either has a second function for where it is used as a transformer.
    """

    role: Literal["model", "transformer"]
    function: str | Callable[..., Any]
    as_transformer: str = ""

    def load(self, role: Literal["model", "transformer"] = "model") -> Callable[..., Any]:
        """The function."""
        function = self.as_transformer if role != self.role else self.function
        if not isinstance(function, str):
            return function
        module, name = function.split(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


_REGISTERED: dict[str, Entry] = {}


def register(*names: str, role: Literal["model", "transformer"] = "model") -> Callable[[T], T]:
    """Let a function translate models (or transformers) of classes given by dotted name.

    Examples
    --------
    >>> from proxyuse.lang.nodes import Const
    >>> class AlwaysYes:
    ...     feature_names_in_ = ["age"]
    ...     n_features_in_ = 1
    >>> @register(f"{AlwaysYes.__module__}.AlwaysYes")
    ... def translate_always_yes(model, inputs):
    ...     return ModelTerms(Const("yes"), ("yes",))
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
    """The translator of a model, if there is one."""
    for cls in type(model).__mro__:
        name = f"{cls.__module__}.{cls.__qualname__}"
        if name in _REGISTERED:
            return _REGISTERED[name]
        if name in SUPPORTED:
            line = SUPPORTED[name]
            return Entry(line.role, line.function, line.as_transformer)
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
    """Turn a fitted model into a program that predicts the same.

    Parameters
    ----------
    model : a fitted model of a supported class (see the table in the documentation), or a
        program, which is handed back.
    feature_names : names for the model's inputs, in order; by default those it was fitted with,
        or x0, x1, ... if it has seen none.
    decision : Threshold or Positive, where what is decided is not what the model predicts.
    opaque : whether the outputs of transformers that cannot be translated become variables, named
        as `get_feature_names_out` names them, with the step in front: ``prep__pca__pca0``. They
        are further inputs of the program, which the data must have as columns.
    """
    if isinstance(model, Program):
        return model
    names = input_names(model, feature_names)
    body = body_of(model, names, opaque=opaque)
    if decision is not None:
        body = decided(body, decision)
    return program_of(body, names)


def program_of(body: ModelTerms, names: Sequence[str]) -> Program:
    """The program that says what a body does; opaque variables become further inputs."""
    known = set(names)
    opaque = [name for name in variables(body.output) if name not in known]
    return Program.traced(body.output, [*names, *opaque], body.origins)


def body_of(model: object, names: Sequence[str], *, opaque: bool = False) -> ModelTerms:
    """What a model computes from raw columns of some names."""
    return model_body(model, Inputs.raw(names, opaque=opaque))


def _check_model(model: object) -> None:
    if isinstance(model, type):
        raise TranslationError(f"{model.__name__} is a class; pass a fitted model of that class")
    if isinstance(model, str | PurePath):
        raise TranslationError(
            f"expected a model, got {str(model)!r}; to read a model file, use "
            "pu.load_model(path).model; for a program as text, use pu.Program.parse(text)"
        )
    if find(model) is None:
        raise _unsupported(model, "")


def model_body(model: object, inputs: Inputs) -> ModelTerms:
    """What a model computes from features."""
    entry = find(model)
    if entry is None:
        raise _unsupported(model, inputs.step)
    if entry.role != "model":
        raise TranslationError(
            f"a {type(model).__name__}{at_step(inputs)} computes features and predicts nothing; "
            "pass the pipeline that ends with a model"
        )
    body: ModelTerms = entry.load()(model, inputs)
    return body


def transformed(transformer: object, inputs: Inputs, outputs: int | None = None) -> Inputs:
    """The features that a transformer computes from others.

    How many they are need only be given for transformers that may be opaque without names.
    """
    if transformer is None or (isinstance(transformer, str) and transformer == "passthrough"):
        return inputs
    entry = find(transformer)
    try:
        if entry is None or not (entry.role == "transformer" or entry.as_transformer):
            raise _unsupported(transformer, inputs.step, " as a transformer")
        return inputs.having(entry.load("transformer")(transformer, inputs))
    except TranslationError as error:
        names = _output_names(transformer, outputs) if inputs.opaque else None
        if names is None:
            raise
        if not inputs.step:
            raise TranslationError(f"{error}; there is no step to name its outputs after") from None
        prefix = inputs.step.replace(" > ", "__")
        return inputs.having([Raw(f"{prefix}__{name}") for name in names])


def _output_names(transformer: Any, outputs: int | None) -> list[str] | None:
    """What a transformer calls its outputs, or their numbers; None if nothing is known of them."""
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except Exception:  # no such method, not fitted, or a library's own refusal
        return None if outputs is None else [str(number) for number in range(outputs)]


def _unsupported(model: object, step: str, use: str = "") -> TranslationError:
    cls = type(model)
    where = f" (step {step!r})" if step else ""
    families = ", ".join(dict.fromkeys(entry.family for entry in SUPPORTED.values()))
    go_on = "; or pass opaque=True and its outputs as columns" if use else ""
    return TranslationError(
        f"cannot translate a {cls.__module__}.{cls.__qualname__}{where}{use}; supported are "
        f"{families}, and programs: print(proxyuse.models.supported_table()) names each class, "
        f"proxyuse.models.register adds one{go_on}"
    )


def at_step(inputs: Inputs) -> str:
    """Where a part of a model stands, for errors."""
    return f" (step {inputs.step!r})" if inputs.step else ""


def check_fitted(model: Any, fitted: str, inputs: Inputs | None = None) -> None:
    """Refuse a model without the attribute that fitting makes, or with several outputs."""
    kind = type(model).__name__
    where = at_step(inputs) if inputs is not None else ""
    if not hasattr(model, fitted):
        raise TranslationError(f"this {kind}{where} is not fitted; call fit first")
    outputs = getattr(model, "n_outputs_", 1)
    if outputs != 1:
        raise TranslationError(f"this {kind}{where} has {outputs} outputs; only one is supported")


def input_names(model: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """What the model's inputs are called, as many as it was fitted with."""
    _check_model(model)
    kind = type(model).__name__
    first = _first_part(model)
    seen, count = _seen(first)
    if feature_names is None:
        feature_names = seen
    if count is None and feature_names is None:
        raise TranslationError(f"this {kind} is not fitted; call fit first")
    if feature_names is None:
        feature_names = [f"x{i}" for i in range(int(count))]  # type: ignore[arg-type]
    if isinstance(feature_names, str | bytes) or not hasattr(feature_names, "__getitem__"):
        raise TranslationError(f"feature_names is a sequence of names, not {feature_names!r}")
    names = tuple(str(name) for name in feature_names)
    if count is not None and len(names) != int(count):
        raise TranslationError(
            f"{len(names)} feature names for a {kind} fitted on {count} features"
        )
    return names


def is_named(model: object) -> bool:
    """Whether a model was fitted on columns with names."""
    return _seen(_first_part(model))[0] is not None


def reads_lightgbm_names(model: object) -> bool:
    """Whether the names of a model's inputs come from LightGBM, which replaces spaces in them."""
    return type(_first_part(model)).__module__.startswith("lightgbm")


def _does_nothing(step: Any) -> bool:
    if hasattr(step, "steps"):
        return all(_does_nothing(part) for _, part in step.steps)
    return step is None or isinstance(step, str) or getattr(step, "func", step) is None


def _first_part(model: Any) -> Any:
    """What sees the raw columns: the first part of a pipeline or union that does something."""
    while True:
        parts = getattr(model, "steps", getattr(model, "transformer_list", ()))
        doing = [part for _, part in parts if not _does_nothing(part)]
        if not doing:
            return model
        model = doing[0]


def _seen(model: Any) -> tuple[Sequence[str] | None, int | None]:
    """The names of the inputs a model was fitted with, if it knows them, and their number."""
    names = getattr(model, "feature_names_in_", None)
    count = getattr(model, "n_features_in_", None)
    if count is None and hasattr(model, "num_features"):  # a booster of XGBoost
        try:
            return model.feature_names, model.num_features()
        except ValueError:  # it saw no data
            return None, None
    if count is None and hasattr(model, "num_feature"):  # a booster of LightGBM
        names, count = model.feature_name(), model.num_feature()
        unnamed = list(names) == [f"Column_{i}" for i in range(count)]
        return None if unnamed else names, count
    return names, count
