"""What a repair must remove, and when a program is clean.

A witness on some rows may be chance, and it would be wrong to change a model because of it. So:

- **Targets** are what an audit confirms and nobody judged appropriate: witnesses, explicit uses of
  a column that determines a protected attribute, and collections of weakly associated computations.
  Without targets, nothing is repaired.
- A program is **clean** if nothing is confirmed, and no violation passes the thresholds with its
  bias-corrected association. This is stricter than "nothing is confirmed", because a repair chooses
  among many programs and would otherwise stop just below what the rows can show.

With ``unconfirmed=True``, or without statistical tests, every violation is a target, and a clean
program has none. This is the definition of the paper.

The corrected association of a computation depends only on its joint table with the attribute, not
on the program around it. So a search can tell from a light audit what would remain after a full
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from proxyuse.auditing import examine
from proxyuse.completed_audit import Audit
from proxyuse.detect.collective_witness import Collection, CollectionMember
from proxyuse.detect.progress import Clock
from proxyuse.detect.witnesses import Witness
from proxyuse.judge.judgment import Oracle, Violation, judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.methods import Confirmation, Method
from proxyuse.program import Program
from proxyuse.request import Request, with_defined_influence
from proxyuse.validity.beyond_witnesses import confirmation_of
from proxyuse.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Findings:
    """What is wrong with a program.

    Attributes
    ----------
    violations : the witnesses, strongest groups first.
    columns : the columns that determine a protected attribute, at all their positions.
    collections : the collections.
    """

    violations: tuple[Violation, ...] = ()
    columns: tuple[Violation, ...] = ()
    collections: tuple[Collection, ...] = ()

    def __bool__(self) -> bool:
        """Return whether anything is wrong."""
        return bool(self.violations or self.columns or self.collections)

    @property
    def computations(self) -> tuple[Witness | CollectionMember, ...]:
        """All computations: witnesses, whole columns, then the members of collections."""
        members = (member for known in self.collections for member in known.members)
        return (*(v.witness for v in (*self.violations, *self.columns)), *members)

    def __len__(self) -> int:
        return len(self.violations) + len(self.columns) + len(self.collections)


@dataclass(frozen=True, eq=False)
class Goal:
    """What a repair of one program on one population must remove.

    Attributes
    ----------
    oracle : judges what is found. What it judges appropriate stays.
    methods : the statistical tests; empty without.
    unconfirmed : whether violations that no test confirms are targets as well.
    collections : whether collections are targets.
    """

    oracle: Oracle | None = None
    methods: Sequence[Method] = (Confirmation(),)
    unconfirmed: bool = False
    collections: bool = True
    _corrected: dict[tuple[tuple[str, ...], bytes, str], float] = field(
        default_factory=dict, repr=False
    )
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def everything(self) -> bool:
        """Whether every violation is a target, confirmed or not."""
        return self.unconfirmed or not self.methods

    def examine(
        self,
        request: Request,
        program: Program | None = None,
        *,
        clock: Clock | None = None,
        known: dict[bytes, Array] | None = None,
    ) -> Audit:
        """Audit a program, by default that of the request, and test what is found.

        With `known`, the audit is for a search: it measures less and is not tested; see `examine`.
        """
        clock = clock or Clock(None)
        if program is not None and known is None:
            population = request.population.having(program.variables)
            request = replace(request, population=population)
            request = with_defined_influence(request, program, clock)
        audit = examine(request, program, clock=clock, known=known)
        return audit if known is not None or not self.methods else audit.validated(self.methods)

    def targets(self, audit: Audit) -> Findings:
        """Return what must go; a program without targets is not repaired."""
        if self.everything:
            return self._all(audit)
        found = self._all(audit)
        return Findings(
            tuple(v for v in found.violations if v.witness.confirmed),
            tuple(v for v in found.columns if v.witness.confirmed),
            tuple(known for known in found.collections if known.verdict is Verdict.CONFIRMED),
        )

    def remaining(self, audit: Audit) -> Findings:
        """Return what keeps a program from being clean."""
        confirmed = self.targets(audit)
        return replace(confirmed, violations=tuple(self.open(audit)))

    def open(self, audit: Audit) -> list[Violation]:
        """Return the witnesses that keep a program from being clean.

        Of an audit that was not tested, those that pass with their corrected association.
        """
        return [v for v in audit.violations(self.oracle) if self.counts(audit, v.witness)]

    def counts(self, audit: Audit, witness: Witness) -> bool:
        """Return whether a witness keeps a program from being clean, if nobody judged it."""
        if self.everything or witness.confirmed:
            return True
        return self._association(audit, witness) >= audit.epsilon

    def indistinct(self, audit: Audit) -> int:
        """Return how many violations cannot be distinguished from chance."""
        return len(self._all(audit)) - len(self.targets(audit))

    def _all(self, audit: Audit) -> Findings:
        uses = audit.explicit_violations(self.oracle)
        columns = ((use.witness, judgment_of(self.oracle, use.witness)) for use in uses)
        return Findings(
            tuple(audit.violations(self.oracle)),
            tuple(Violation(w, judgment) for w, judgment in columns if w is not None),
            tuple(audit.collection_violations(self.oracle) if self.collections else ()),
        )

    def _association(self, audit: Audit, witness: Witness) -> float:
        """The bias-corrected association of a witness."""
        columns = tuple(audit.population.columns)  # they decide which rows are copies
        key = columns, witness.expression.digest, witness.protected
        if key not in self._corrected:
            if self._last.get("audit") is not audit:
                options = confirmation_of(self.methods) or Confirmation()
                self._last.update(audit=audit, corrected=audit.corrections(options))
            self._corrected[key] = self._last["corrected"](witness)
        return self._corrected[key]
