"""Look up a measure of association by name."""

from __future__ import annotations

from importlib import import_module

from proxyuse.errors import DataError
from proxyuse.measure.association import measures
from proxyuse.measure.association.function import FunctionAssociation
from proxyuse.measure.association.names import DEFAULT, association_names
from proxyuse.measure.association.protocol import Association
from proxyuse.options import shown


def association_from(option: object) -> Association:
    """Return the measure for an option: a name, a measure, a function, or None for the default.

    Examples
    --------
    >>> association_from("cramers-v").name
    "Cramer's V"
    """
    if option is None:
        option = DEFAULT
    if isinstance(option, str) and option in association_names():
        return _variants(option)[0]
    attributes = ("name", "information_bound")
    if callable(option) and not isinstance(option, type):
        if all(hasattr(option, attribute) for attribute in attributes):
            return option  # type: ignore[return-value]
        if not any(hasattr(option, attribute) for attribute in attributes):
            return FunctionAssociation(option)
    names = ", ".join(f"'{name}'" for name in association_names())
    raise DataError(
        f"association: expected {names}, a measure such as NormalizedMutualInformation(), or a "
        f"function of a table of masses, got {shown(option)}"
    )


def built_in_associations() -> dict[str, tuple[Association, ...]]:
    """Return each built-in measure with its variants, by the name of the option.

    Examples
    --------
    >>> [measure.name for measure in built_in_associations()["cramers-v"]]
    ["Cramer's V"]
    """
    return {name: _variants(name) for name in association_names()}


def built_in_association(title: str) -> Association | None:
    """Return the built-in measure that results call `title`, or None if there is none.

    Examples
    --------
    >>> built_in_association("adjusted mutual information (max)").normalizer
    'max'
    """
    every = (measure for variants in built_in_associations().values() for measure in variants)
    return next((measure for measure in every if measure.name == title), None)


def association_option(title: str) -> str | None:
    """Return the name of the option for the measure that results call `title`.

    A variant has no option of its own; its option is that of its measure.

    Examples
    --------
    >>> association_option("adjusted mutual information (max)")
    'adjusted-mutual-information'
    """
    return next(
        (
            name
            for name, variants in built_in_associations().items()
            if any(measure.name == title for measure in variants)
        ),
        None,
    )


def _variants(name: str) -> tuple[Association, ...]:
    """Return the measure with this name, followed by its variants."""
    module = import_module(f"{measures.__name__}.{name.replace('-', '_')}")
    variants: tuple[Association, ...] = module.MEASURES
    return variants
