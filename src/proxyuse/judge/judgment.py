"""What an oracle answers.

Not every proxy use is wrong, and no measure can say which is: a person, or a rule that a person
wrote, judges each witness and gives a reason. An oracle is anything that, asked about a witness,
answers with a `Judgment`, or with None if it has none. A witness that nobody judged appropriate is
a violation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judgment on one witness.

    Attributes
    ----------
    appropriate : whether the use is.
    reason : why; never empty.
    by : who or what judged: a rule of a policy, a person, a function.

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
            raise DataError(f"appropriate is {self.appropriate!r}; pass True or False")
        reason: object = self.reason
        if not isinstance(reason, str) or not reason.strip():
            raise DataError("a judgment needs a reason: someone will ask for it")


Oracle: TypeAlias = Callable[[Witness], Judgment | None]
"""Asked about a witness, a judgment or None."""


def judgment_of(oracle: Oracle | None, witness: Witness) -> Judgment | None:
    """The oracle's judgment on a witness; None without an oracle."""
    judgment = None if oracle is None else oracle(witness)
    if judgment is not None and not isinstance(judgment, Judgment):
        raise DataError(
            f"the oracle returned {judgment!r} for witness {witness.id}; return a Judgment with a "
            "reason, or None"
        )
    return judgment


def first_of(*oracles: Oracle | None) -> Oracle | None:
    """The judgment of the first oracle that has one; None if there are no oracles."""
    there = [oracle for oracle in oracles if oracle is not None]

    def ask(witness: Witness) -> Judgment | None:
        answers = (oracle(witness) for oracle in there)
        return next((said for said in answers if said is not None), None)

    return ask if there else None


@dataclass(frozen=True, slots=True, eq=False)
class Violation:
    """A witness that was not judged appropriate.

    Attributes
    ----------
    witness : the witness.
    judgment : the judgment against it, None if there is none.
    """

    witness: Witness
    judgment: Judgment | None
