"""`Repair`: the result of a repair in Python.

It holds the typed results of each stage. The certificate, and who gains and who loses, are computed
from them on first use.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyuse.certificate.certificate import Certificate, CertifiedChanges
from proxyuse.completed_audit import Audit
from proxyuse.hashes import program_hash
from proxyuse.judge.judgment import Violation
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Term, value_text
from proxyuse.lang.positions import Position, Site
from proxyuse.models.audited_model import audited_model
from proxyuse.models.write_back import Deployed
from proxyuse.program import Program
from proxyuse.repairing.candidate import Candidate
from proxyuse.repairing.collective import RepairedCollection
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.steps import RemovedViolation
from proxyuse.report.repair_changes import repair_changes, two_outputs
from proxyuse.report.repair_result import OutcomeChanges, Refusal
from proxyuse.report.result import MIN_CELL
from proxyuse.request import Request
from proxyuse.verification.certify import certify
from proxyuse.verification.changes import certified_changes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from proxyuse.repairing.frontier import FrontierPoint
    from proxyuse.repairing.problem import Problem


@dataclass(frozen=True, slots=True)
class Change:
    """A part of the original program and the constant that replaces it.

    Attributes
    ----------
    position : the position in the original program.
    term, expression : the replaced term, as text and as a term.
    value : the text of the constant.
    origin : the part of the model that the term came from; empty if unknown.
    """

    position: Position
    term: str
    expression: Term
    value: str
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a repair: a violation, the changes that remove it, and the resulting utility.

    Attributes
    ----------
    removed : the violation that the step removes.
    changes : the replaced parts of the original program and their constants.
    utility : the utility after the step.
    """

    removed: RemovedViolation
    changes: tuple[Change, ...]
    utility: float

    def __str__(self) -> str:
        from proxyuse.report.findings.repair import reason, replacement
        from proxyuse.report.repair_document import step_result

        step = step_result(self)
        return f"{replacement(step)} {reason(step.removed)}"


@dataclass(frozen=True, slots=True)
class Loss:
    """The utility before and after a repair, on one set of rows.

    Attributes
    ----------
    rows : the number of rows with a positive weight.
    """

    before: float
    after: float
    rows: int


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired model, how it was made, and what it costs.

    Attributes
    ----------
    before, after : the audits of the model before and after. Nothing is confirmed in `after`.
    program : the repaired program.
    original : the program of the original model.
    base : the program in which constants replace parts: that of the original model, or of the model
        that was trained again.
    replaced : the constant at each replaced position of `base`.
    steps : the steps that replace single computations, each with the violation that it removes.
    collections : what the repair did to collections of weakly associated computations; see
        [Distributed proxies](distributed.md).
    utility : the name of the utility.
    used : the utility on the rows of the repair.
    selection : the utility on the rows that compared the candidates; None if there were none.
    folds : the number of folds that these rows come from; None if they are validation rows.
    candidates : the models that were compared, the original first; empty if there were no targets.
    refusal : why the repaired model should not be used; None if nothing speaks against it.
    detections : the number of programs that were audited for the repaired model.
    search : the limits of the search for constants.
    interrupted : whether the search was interrupted.
    frontier : what the repair costs at other thresholds, the strictest first; None if the option
        was not passed.
    frontier_skipped : the values of the threshold that an interrupt left out of the frontier.
    """

    before: Audit
    after: Audit
    program: Program
    original: Program
    base: Program
    replaced: Mapping[Position, str]
    steps: tuple[Step, ...]
    collections: tuple[RepairedCollection, ...]
    utility: str
    used: Loss
    selection: Loss | None
    folds: int | None
    candidates: tuple[Candidate, ...]
    refusal: Refusal | None
    detections: int
    search: SearchBudget
    interrupted: bool
    _deploy: Callable[[], Deployed] = field(repr=False)
    _model: object = field(repr=False)
    _trained: object = field(repr=False)
    _X: object = field(repr=False)
    _goal: Goal = field(repr=False)
    _request: Request = field(repr=False)
    _problem: Problem = field(repr=False)
    frontier: tuple[FrontierPoint, ...] | None = field(default=None, repr=False)
    frontier_skipped: tuple[str, ...] = ()

    @cached_property
    def deployed(self) -> Deployed:
        """The repaired model, whether it has the class of the original, and if not, why."""
        return self._deploy()

    @property
    def model(self) -> Any:
        """The repaired model: an estimator of the original class where possible."""
        return self.deployed.model

    @property
    def chosen(self) -> Candidate:
        """The candidate that became the repaired model.

        Without targets, it is the original model.
        """
        nothing = Candidate((), (), 0, 0.0, 0, None, 0.0)
        return next((known for known in self.candidates if known.chosen), nothing)

    @property
    def trained_again(self) -> bool:
        """Whether the repaired model was trained again."""
        return self.base is not self.original

    @property
    def original_model(self) -> object:
        """The model or program that was repaired."""
        return self._model

    @property
    def trained_model(self) -> object:
        """The model before constants: the original, or one that was trained again."""
        return self._trained

    def is_clean(self, audit: Audit) -> bool:
        """Whether an audit finds nothing that this repair should have removed."""
        return not self._goal.remaining(audit)

    @property
    def violations(self) -> int:
        """The number of violations before the repair."""
        return len(self.violations_in(self.before))

    def violations_in(self, audit: Audit) -> list[Violation]:
        """The witnesses of an audit that were not judged appropriate."""
        return audit.violations(self._goal.oracle)

    @property
    def targets(self) -> int:
        """The number of violations, explicit uses and collections that had to go."""
        return len(self._goal.targets(self.before))

    @property
    def indistinct(self) -> int:
        """The number of violations after the repair that cannot be distinguished from chance.

        They are not repaired, except with ``unconfirmed=True``.
        """
        return self._goal.indistinct(self.after)

    @cached_property
    def changed_rows(self) -> Array:
        """For each row of the population, whether the repair changed the output."""
        return two_outputs(self.before, self.after).changed

    @property
    def complete(self) -> bool:
        """Whether the audit of the repaired program is complete."""
        return self.after.complete

    @cached_property
    def certificate(self) -> Certificate:
        """A certificate that others can verify with the repaired model.

        It certifies the program of the repaired model. That is usually the repaired program. In a
        linear model, several constants may merge into one intercept, so sums round differently.
        If the audit of this program finds violations, or if no model could be written, the
        certificate is about the repaired program.
        """
        audit = self._audit_of_model or self.after
        return certify(
            audit, self._goal.oracle, self.story(), changes=self.certified_changes(audit)
        )

    def certified_changes(self, audit: Audit, min_cell: int = MIN_CELL) -> CertifiedChanges:
        """Who gains and who loses, for a certificate of an audit of the repaired model."""
        columns = [self.before.population.columns[name] for name in self.before.program.variables]
        return certified_changes(audit, self.before.program, columns, self.before.scale, min_cell)

    @cached_property
    def changes_by_group(self) -> OutcomeChanges:
        """Who gains and who loses: changed predictions by group and direction.

        For each group of each protected attribute, the rows that go up (to the positive decision,
        or to a larger number) and down, and the selection rate or mean output before and after.
        Gains and losses add up to `changed_rows`. Costs one pass over the rows.

        Examples
        --------
        >>> import proxyuse as pu
        >>> pregnant = [1, 1, 0, 0, 0]
        >>> data = {"vitamins": pregnant, "income": [3, 1, 1, 2, 1], "pregnant": pregnant}
        >>> program = pu.Program.parse("ite(vitamins == 1, 'b', ite(income >= 2, 'b', 'a'))")
        >>> options = {"epsilon": 0.5, "delta": 0, "unconfirmed": True}
        >>> repaired = pu.repair(program, data, protected="pregnant", **options)
        >>> (attribute,) = repaired.changes_by_group.attributes
        >>> [(group.value, group.up, group.down) for group in attribute.groups]
        [('0', 0, 0), ('1', 0, 1)]
        """
        return repair_changes(self, 1)

    @cached_property
    def _audit_of_model(self) -> Audit | None:
        """An audit of the repaired model, if its program differs from the repaired program."""
        if isinstance(self._model, Program) or not self.deployed.native:
            return None
        request = self._request
        settings = request.settings
        known = {z.source for z in self.after.population.protected if z.source}
        subject = audited_model(
            self.model, self._X, known, settings.decision, opaque=settings.opaque
        )
        if request.specialized(subject.program) == self.after.program:
            return None
        columns = self.after.population.columns
        if not set(subject.program.variables) <= set(columns):
            return None
        population = replace(self.after.population, columns=columns)
        population = population.having(subject.program.variables)
        audit = self._goal.examine(replace(request, subject=subject, population=population))
        return None if self._goal.remaining(audit) else audit

    def diff(self) -> str:
        """The text of the program before and after constants, as a unified diff."""
        before, after = (str(p).splitlines() for p in (self.base, self.program))
        return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))

    def plot(self, protected: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the computations before the repair and after it; see `Audit.plot`."""
        return self.before.plot(protected, ax=ax, repaired=self.after)

    def plot_frontier(self, *, ax: Axes | None = None) -> Axes:
        """Draw the utility of the best known model at each threshold of the frontier.

        Parameters
        ----------
        ax : the matplotlib axes to draw on; new axes by default.
        """
        from proxyuse.report.render.frontier_figure import draw_frontier
        from proxyuse.report.repair_document import repair_document

        return draw_frontier(repair_document(self), ax=ax)

    def _repr_html_(self) -> str:
        """Return the view in a notebook."""
        from proxyuse.report.render.notebook import repair_html

        return repair_html(self)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write an HTML report of the violations, the replacements and their cost.

        Parameters
        ----------
        path : where to; the file is written whole or not at all.
        options : see `Audit.to_html`; the oracle is that of the repair.
        """
        options = {"oracle": self._goal.oracle, **options}
        from proxyuse.report.render.html.page import write_page

        return write_page(path, self.before, repair=self, **options)

    def story(self) -> dict[str, object]:
        """The description of the repair in a certificate."""
        losses = {"used": self.used, "selection": self.selection}
        return {
            "original_program_hash": program_hash(self.original),
            "replaced": [
                {"position": str(position), "value": value}
                for position, value in self.replaced.items()
            ],
            "method": self.chosen.method,
            "columns": list(self.chosen.columns),
            "steps": [*map(str, self.steps), *self._collection_sentences()],
            "utility": {
                "name": self.utility,
                **{
                    name: {"before": loss.before, "after": loss.after, "rows": loss.rows}
                    for name, loss in losses.items()
                    if loss is not None
                },
            },
        }

    def _collection_sentences(self) -> list[str]:
        from proxyuse.report.findings.repair import collection_replacement
        from proxyuse.report.repair_document import collection_result

        results = (collection_result(known, self.utility) for known in self.collections)
        return [collection_replacement(result) for result in results]

    def __str__(self) -> str:
        from proxyuse.report.render.text import repair_text
        from proxyuse.report.repair_document import repair_document

        return repair_text(repair_document(self))

    def __repr__(self) -> str:
        return (
            f"<Repair: {self.chosen.method}, {self.utility} "
            f"{self.used.before:.4f} to {self.used.after:.4f}>"
        )


def change(program: Program, site: Site, value: Const) -> Change:
    """A constant at a site of a program."""
    position = program.points.position(site)
    origin = program.origin(position)
    term = program.points.term_at(site)
    where = "" if origin is None else str(origin)
    return Change(position, program.text_of(term), term, value_text(value.value), where)
