"""What a repair tried: each candidate with its quality, and why it was or was not chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.decision import Decision
from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Site
from proxyuse.models.write_back import Deployed, write_back
from proxyuse.program import Program
from proxyuse.repairing.constants import Constants
from proxyuse.repairing.quality import Quality, pooled
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.steps import merged
from proxyuse.request import Request

ORIGINAL = "original"
CONSTANTS, REFIT, DROP, CONSTRAIN, REWEIGH, COARSEN = METHODS = (
    "constants", "refit", "drop", "constrain", "reweigh", "coarsen",
)  # fmt: skip
"""The methods of a repair. Each ends with constants."""


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A model that a repair considered.

    Attributes
    ----------
    methods : how it was made, in order; empty for the original model. A model that was trained
        again and needed no constants has none of them.
    columns : the columns that the training was about: those it did without, or whose values or
        combinations it restricted.
    replaced : the number of positions with a constant.
    changed : the share of the audited rows whose prediction differs from the original model's.
    remaining : the number of violations that are left; None if it was not repaired.
    quality : its quality on the selection rows; None if it was not measured.
    seconds : the time it took.
    detail : what distinguishes it from others with the same methods and columns; often empty.
    chosen : whether it became the repaired model.
    rejected : why it was not chosen; empty if it was.
    """

    methods: tuple[str, ...]
    columns: tuple[str, ...]
    replaced: int
    changed: float
    remaining: int | None
    quality: Quality | None
    seconds: float
    detail: str = ""
    chosen: bool = False
    rejected: str = ""

    @property
    def method(self) -> str:
        """The methods in words.

        Examples
        --------
        >>> Candidate(("drop", "constants"), ("age",), 3, 0.1, 0, None, 1.0).method
        'drop, then constants'
        >>> Candidate((), (), 0, 0.0, 2, None, 0.0).method
        'original'
        """
        return ", then ".join(self.methods) or ORIGINAL

    @property
    def clean(self) -> bool:
        """Whether no violation is left."""
        return self.remaining == 0

    @staticmethod
    def of_recipe(recipe: Recipe | None, rejected: str, seconds: float = 0.0) -> Candidate:
        """A candidate that was not repaired, with the reason."""
        if recipe is None:
            return Candidate((CONSTANTS,), (), 0, 0.0, None, None, seconds, rejected=rejected)
        return Candidate(
            recipe.methods, recipe.columns, 0, 0.0, None, None, seconds, recipe.detail,
            rejected=rejected,
        )  # fmt: skip

    def because(self, rejected: str) -> Candidate:
        """The same candidate with the reason why it was not chosen."""
        return replace(self, rejected=rejected)

    def measured(self, quality: Quality, reference: Quality) -> Candidate:
        """The same candidate with its quality, and with the changes on the rows of that."""
        changed = differ_in(quality, reference)
        return replace(self, quality=quality, changed=changed)

    def scored_as(self, other: Candidate) -> Candidate:
        """The same candidate with the quality and the changes of another one, from folds."""
        return replace(self, quality=other.quality, changed=other.changed)

    def over_folds(self, parts: Sequence[Candidate], reference: Quality) -> Candidate:
        """The same candidate with its quality over several folds."""
        quality = pooled([part.quality for part in parts if part.quality is not None])
        together = replace(self, seconds=sum(part.seconds for part in parts))
        return replace(
            together.measured(quality, reference),
            remaining=max(part.remaining or 0 for part in parts),
        )


def differ_in(one: Quality, other: Quality) -> float:
    """The share of rows, by weight, with different outputs."""
    changed = np.array([a != b and not (a != a and b != b) for a, b in _pairs(one, other)])
    return float(np.average(changed, weights=one.weights)) if len(changed) else 0.0


def _pairs(one: Quality, other: Quality) -> Iterator[tuple[Any, Any]]:
    return zip(one.outputs.tolist(), other.outputs.tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class Built:
    """A candidate with its model.

    Attributes
    ----------
    candidate : what it is.
    recipe : how the model was trained; None for the original model.
    model : the model before constants: the original, or one that was trained again.
    request : the request for an audit of that model.
    base : its program, in which constants replace parts.
    before : the audit of that program.
    constants : the result of the constants method.
    program : the program with constants.
    deploy : makes the model that computes it.
    previous : the candidate before the numbers were fitted again.
    """

    candidate: Candidate
    recipe: Recipe | None
    model: Any
    request: Request
    base: Program
    before: Audit
    constants: Constants
    program: Program
    deploy: Callable[[], Deployed] = field(repr=False)
    previous: Built | None = None

    @cached_property
    def deployed(self) -> Deployed:
        """The model that computes the program. Not every program can be a model."""
        return self.deploy()

    @property
    def key(self) -> tuple[Recipe | None, bool]:
        """How it was made: its recipe, and whether it was refitted."""
        return self.recipe, self.previous is not None

    @property
    def new(self) -> dict[Site, Const]:
        """The constants, at positions of the audited program."""
        return merged(self.constants.steps)


def deployed_model(model: Any, program: Program, X: object, decision: Decision | None) -> Deployed:
    """A model that computes a repaired program, of the class of the original if possible."""
    if isinstance(model, Program):
        from proxyuse.models.program_estimator import program_estimator

        return Deployed(program_estimator(program), False, "the input is a program, not a model")
    return write_back(model, program, X, decision)
