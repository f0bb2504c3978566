"""The limits of the search for a repair."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxyuse.errors import DataError
from proxyuse.repairing.trial_context import Effort


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Limits of the search for a repair.

    A full audit of a large program (rows times nodes at least 2^26) takes seconds. So its search
    tries one order and few programs; see `for_large`.

    Attributes
    ----------
    orders : the number of orders of violations in the greedy phase, 1 to 3.
    programs : partial repairs expanded in the best-first phase.
    branches : trials followed per violation.
    undo : steps of the best repair that the search tries to drop.
    constants : constants tried per expression, where each takes one evaluation.
    expressions : expressions tried inside a computation, where each constant takes one evaluation.
    checks : trials checked per violation, best first.
    costly : checks per violation that evaluate the whole changed program.
    trees : the number of programs up to which a program that is one tree is repaired by trying all
        constants at its nodes; see `small_trees`.
    """

    orders: int = 2
    programs: int = 24
    branches: int = 4
    undo: int = 8
    constants: int = 16
    expressions: int = 64
    checks: int = 256
    costly: int = 32
    trees: int = 2000

    def __post_init__(self) -> None:
        least = {"orders": 1, "branches": 1, "constants": 2}
        for name in self.__slots__:
            value, low = getattr(self, name), least.get(name, 0)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise DataError(
                    f"SearchBudget: {name}: expected an integer of at least {low}, got {value!r}"
                )

    @property
    def for_large(self) -> SearchBudget:
        """The limits for a large program."""
        return replace(
            self,
            orders=1,
            programs=self.programs // 12,
            undo=self.undo // 4,
            checks=self.checks // 4,
            costly=self.costly // 8,
        )

    @property
    def effort(self) -> Effort:
        """The limits for one violation."""
        return Effort(self.constants, self.expressions, self.checks, self.costly)
