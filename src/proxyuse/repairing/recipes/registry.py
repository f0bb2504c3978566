"""The recipes for a model and its violations, most promising and cheapest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, get_args

from proxyuse.lang.nodes import Compare, Const, Term, Var, variables
from proxyuse.measure.association.protocol import Association
from proxyuse.repairing.recipes.coarsen import Coarsen, Keep
from proxyuse.repairing.recipes.column_sets import (
    MOST_SETS,
    columns_to_drop,
    minimal_sets,
    single_columns,
)
from proxyuse.repairing.recipes.constrain import Constrain, constraint_parameter
from proxyuse.repairing.recipes.drop import Drop
from proxyuse.repairing.recipes.fitting import can_fit, takes_weights
from proxyuse.repairing.recipes.nesting import unfitted_last
from proxyuse.repairing.recipes.recipe import Part, Recipe
from proxyuse.repairing.recipes.reweigh import Reweigh

METHODS = "drop", "constrain", "reweigh", "coarsen"

MOST_CONSTRAINTS = 16
"""The largest number of sets of columns that are kept apart."""


class Violation(Protocol):
    """A computation that should not be used."""

    @property
    def expression(self) -> Term:
        """The computation."""
        ...


def recipes_for(
    model: Any,
    violations: Sequence[Violation],
    *,
    attributes: Sequence[str],
    epsilon: float,
    association: Association,
    methods: Sequence[str] = METHODS,
) -> list[Recipe]:
    """The recipes that may apply to a model; none if it cannot be fitted again.

    Parameters
    ----------
    model : the fitted model.
    violations : strongest first.
    attributes : the protected attributes.
    epsilon, association : the threshold and the measure of the audit.
    methods : the methods to use.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from proxyuse.lang.nodes import Var
    >>> from proxyuse.measure.association.registry import association_from
    >>> class Found:
    ...     expression = Var("relationship")
    >>> for recipe in recipes_for(
    ...     DecisionTreeClassifier(),
    ...     [Found()],
    ...     attributes=["sex"],
    ...     epsilon=0.1,
    ...     association=association_from(None),
    ... ):
    ...     print(recipe.method, recipe.columns)
    drop ('relationship',)
    coarsen ('relationship',)
    reweigh ()
    drop + reweigh ('relationship',)
    coarsen + reweigh ('relationship',)
    """
    if not violations or not can_fit(model):
        return []
    sets = column_sets(violations)
    weighted = "reweigh" in methods and takes_weights(unfitted_last(model))
    reweighed: list[tuple[Part, ...]] = [(Reweigh(name),) for name in attributes if weighted]
    dropped: list[tuple[Part, ...]] = []
    if "drop" in methods:
        dropped = [(Drop(columns),) for columns in _dropped(sets)]
    pairs = [part for part in minimal_sets(sets) if len(part) > 1][:MOST_CONSTRAINTS]
    constrained: list[tuple[Part, ...]] = []
    if "constrain" in methods and pairs and constraint_parameter(unfitted_last(model)):
        constrained = [(Constrain(tuple(tuple(sorted(part)) for part in pairs)),)]
    coarsened: list[tuple[Part, ...]] = []
    if "coarsen" in methods and single_columns(sets):
        singles = single_columns(sets)
        compared = [column for column in singles if column in _compared(violations)]
        chosen = [singles, *((column,) for column in singles if len(singles) > 1)]
        merge = (tuple(attributes), epsilon, association)
        coarsened = [(Coarsen(columns, *merge),) for columns in chosen]
        coarsened += [
            (Coarsen((column,), *merge, keep=keep),)
            for column in compared
            for keep in get_args(Keep)[1:]
        ]
    first, rest = dropped[:1], dropped[1:]
    others = [*coarsened[:1], *constrained]
    ordered = [
        *first,
        *others,
        *reweighed,
        *(one + two for one in first for two in reweighed),
        *rest,
        *(one + two for one in rest for two in reweighed),
        *(one + two for one in others for two in reweighed),
        *coarsened[1:],
    ]
    return [Recipe(parts) for parts in ordered]


def _dropped(sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The sets of columns to drop.

    First those without which no witness can be computed, then the columns of the witnesses that
    read one column, then all columns of the smallest witnesses.
    """
    smallest = minimal_sets(sets)
    single = single_columns(sets)
    implicated = [name for part in sets if frozenset(part) in smallest for name in part]
    listed = [*columns_to_drop(sets, MOST_SETS), single, tuple(dict.fromkeys(implicated))]
    distinct: dict[frozenset[str], tuple[str, ...]] = {}
    for columns in listed:
        if columns:
            distinct.setdefault(frozenset(columns), columns)
    return list(distinct.values())


def column_sets(violations: Iterable[Violation]) -> list[tuple[str, ...]]:
    """The columns that each violation reads, without duplicates, in their order."""
    sets = (tuple(sorted(variables(violation.expression))) for violation in violations)
    return [columns for columns in dict.fromkeys(sets) if columns]


def _compared(violations: Iterable[Violation]) -> set[str]:
    """The columns that a violation compares with a number, and nothing else."""
    return {
        violation.expression.left.name
        for violation in violations
        if isinstance(violation.expression, Compare)
        and isinstance(violation.expression.left, Var)
        and isinstance(violation.expression.right, Const)
        and isinstance(violation.expression.right.value, float)
    }


def extended(recipe: Recipe, violations: Sequence[Violation]) -> list[Recipe]:
    """The same recipe without more columns, for the violations of the model that it trained.

    Trained without a column, a model may use another one instead. Empty if the recipe drops no
    columns.
    """
    dropped = [part for part in recipe.parts if isinstance(part, Drop)]
    if not dropped:
        return []
    before = tuple(dict.fromkeys(name for part in dropped for name in part.columns))
    others = tuple(part for part in recipe.parts if not isinstance(part, Drop))
    return [
        Recipe((Drop((*before, *(name for name in columns if name not in before))), *others))
        for columns in columns_to_drop(column_sets(violations))
        if not set(columns) <= set(before)
    ]
