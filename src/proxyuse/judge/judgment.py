"""Judgments and oracles.

Not every proxy use is wrong, and no measure can tell which is. A person, or a rule that a person
wrote, judges each witness and states a reason. An oracle is a function that takes a witness, or a
collection of computations that is a collective witness, and returns a `Judgment`, or None if it has
none. What no oracle judges appropriate is a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judgment on one witness.

    Attributes
    ----------
    appropriate : whether the use is appropriate.
    reason : why; never empty.
    by : the person, the rule or the function that judged.

    Examples
    --------
    >>> Judgment(True, "hours worked are part of what is paid for", "rule 'hours'").appropriate
    True
    """

    appropriate: bool
    reason: str
    by: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.appropriate, bool):
            raise DataError(f"appropriate: expected True or False, got {self.appropriate!r}")
        reason: object = self.reason
        if not isinstance(reason, str) or not reason.strip():
            raise DataError("a judgment needs a reason; pass a text that is not blank")


Oracle: TypeAlias = Callable[[Any], Judgment | None]
"""Takes a `Witness` or a `Collection` and returns a judgment, or None.

Both have the attributes `id`, `protected`, `term`, `association`, `influence` and `verdict`.
"""


def judgment_of(oracle: Oracle | None, witness: Witness | Collection | None) -> Judgment | None:
    """The oracle's judgment on a witness or a collection, or None if it has none."""
    if oracle is None or witness is None:
        return None
    try:
        judgment = oracle(witness)
    except AttributeError as error:
        if not isinstance(witness, Collection):
            raise
        raise DataError(
            f"the oracle failed for a collection ({error}); an oracle is called with witnesses and "
            "with collections: handle both, for example with isinstance(found, pu.Collection)"
        ) from error
    if judgment is not None and not isinstance(judgment, Judgment):
        raise DataError(
            f"the oracle returned {judgment!r} for witness {witness.id}; return a Judgment with a "
            "reason, or None"
        )
    return judgment


def first_of(*oracles: Oracle | None) -> Oracle | None:
    """Combine oracles: the first that has a judgment decides. None if there are no oracles."""
    present = [oracle for oracle in oracles if oracle is not None]

    def judge(witness: Witness | Collection) -> Judgment | None:
        judgments = (oracle(witness) for oracle in present)
        return next((judgment for judgment in judgments if judgment is not None), None)

    return judge if present else None


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """A witness that was not judged appropriate.

    Attributes
    ----------
    witness : the witness.
    judgment : the judgment against it; None if nobody judged it.
    """

    witness: Witness
    judgment: Judgment | None
