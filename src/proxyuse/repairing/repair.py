"""Repair: replaces parts of a program with constants until it has no violation.

Composes the stages: audit, search, audit again, write back to a model.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from proxyuse.auditing import Audit, examine
from proxyuse.certificate.certificate import Certificate
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.hashes import program_hash
from proxyuse.judge.judgment import Oracle
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Const, value_text
from proxyuse.lang.positions import Position, Site
from proxyuse.measure.influence import differ
from proxyuse.models.audited_model import audited_model
from proxyuse.models.write_back import Deployed, write_back
from proxyuse.options import documented, refuse_unknown, shown
from proxyuse.program import Frame, Program
from proxyuse.repairing.requested_utility import requested_utilities
from proxyuse.repairing.search import RemovedViolation, RepairedProgram, Search, SearchBudget
from proxyuse.repairing.utility import Utility, UtilityFunction
from proxyuse.request import Request, request_for, with_defined_influence
from proxyuse.settings import DELTA, EPSILON, AuditOptions, RepairKeywords
from proxyuse.verification.certify import certify

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Change:
    """A part of the original program and the constant that replaces it.

    Attributes
    ----------
    position : the position in the original program.
    term : the text of the replaced term.
    value : the text of the constant.
    origin : the part of the model that the term came from; empty if unknown.
    """

    position: Position
    term: str
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
    """A repaired program, the steps that led to it, and their cost.

    Attributes
    ----------
    before, after : the audits of the program before and after; `after` has no violation.
    program : the repaired program.
    original : the program before the repair.
    replaced : the constant at each replaced position of the original program.
    steps : the steps of the repair, each with the violation that it removes.
    utility : the name of the utility.
    used : the utility on the rows used by the search.
    holdout : the utility on the hold-out set; None without one.
    detections : the number of programs that the search audited.
    search : the limits of the search. A larger search may find a better repair.
    """

    before: Audit
    after: Audit
    program: Program
    original: Program
    replaced: Mapping[Position, str]
    steps: tuple[Step, ...]
    utility: str
    used: Loss
    holdout: Loss | None
    detections: int
    search: SearchBudget
    _model: object = field(repr=False)
    _X: object = field(repr=False)
    _oracle: Oracle | None = field(repr=False)
    _request: Request = field(repr=False)

    @cached_property
    def deployed(self) -> Deployed:
        """The repaired model, whether it has the class of the original, and if not, why."""
        if isinstance(self._model, Program):
            from proxyuse.models.program_estimator import program_estimator

            why = "the input is a program, not a model"
            return Deployed(program_estimator(self.program), False, why)
        return write_back(self._model, self.program, self._X, self.before.settings.decision)

    @property
    def model(self) -> Any:
        """The repaired model: an estimator of the original class where possible."""
        return self.deployed.model

    @property
    def original_model(self) -> object:
        """The model or program that was repaired."""
        return self._model

    @property
    def violations(self) -> int:
        """The number of violations before the repair."""
        return len(self.before.violations(self._oracle))

    @cached_property
    def changed_rows(self) -> Array:
        """For each row of the population, whether the repair changed the output."""
        population = self.before.population
        frame = Frame(population.columns[name] for name in self.original.variables)
        before, after = (
            evaluate(program.term, frame.arrays, frame.vocabulary)
            for program in (self.original, self.program)
        )
        return np.broadcast_to(differ(before, after), (population.n_rows,))

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
        return certify(self._audit_of_model or self.after, self._oracle, self.story())

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
        population = request.population.having(subject.program.variables)
        audit = examine(replace(request, subject=subject, population=population))
        return None if audit.violations(self._oracle) else audit

    def diff(self) -> str:
        """The text of the program before and after, as a unified diff."""
        before, after = (str(p).splitlines() for p in (self.original, self.program))
        return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))

    def plot(self, protected: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the computations before the repair and after it; see `Audit.plot`."""
        return self.before.plot(protected, ax=ax, repaired=self.after)

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
        options = {"oracle": self._oracle, **options}
        from proxyuse.report.render.html.page import write_page

        return write_page(path, self.before, repair=self, **options)

    def story(self) -> dict[str, object]:
        """The description of the repair in a certificate."""
        losses = {"used": self.used, "holdout": self.holdout}
        return {
            "original_program_hash": program_hash(self.original),
            "replaced": [
                {"position": str(position), "value": value}
                for position, value in self.replaced.items()
            ],
            "steps": [str(step) for step in self.steps],
            "utility": {
                "name": self.utility,
                **{
                    name: {"before": loss.before, "after": loss.after, "rows": loss.rows}
                    for name, loss in losses.items()
                    if loss is not None
                },
            },
        }

    def __str__(self) -> str:
        from proxyuse.report.render.text import repair_text
        from proxyuse.report.repair_document import repair_document

        return repair_text(repair_document(self))

    def __repr__(self) -> str:
        return (
            f"<Repair: {len(self.steps)} steps, {self.utility} {self.used.before:.4f} to "
            f"{self.used.after:.4f}>"
        )


@documented(AuditOptions, RepairKeywords.__annotations__)
def repair(
    model: object,
    X: object,
    y: object = None,
    *,
    protected: object,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    oracle: Oracle | None = None,
    utility: str | UtilityFunction | None = None,
    holdout: object = None,
    search: SearchBudget | None = None,
    **options: Unpack[RepairKeywords],
) -> Repair:
    """Replace parts of a model with constants until it has no violation.

    Parameters
    ----------
    model, X, protected : as for `audit`.
    y : column name or values, optional
        The correct answers, for the utility. Without y, the outputs of the original model.
    oracle : callable, optional
        Judges each witness. Witnesses judged appropriate stay. Without an oracle, all are removed.
    utility : str or callable, optional
        The utility to preserve: "accuracy" (the default if y holds classes), "agreement" with the
        original outputs (the default without y), "balanced accuracy", "auc", "log loss",
        "mean squared error" (the default for continuous numbers; without y, compared with the
        original outputs), or a function of the correct answers, the outputs, and
        `sample_weight` that returns a larger number for better outputs.
    holdout : table, pair of a table and y, or boolean array, optional
        A hold-out set, used only to report the utility a second time. A boolean array selects
        rows of X. These rows count in the audits, but not in the utility that chooses constants.
    search : SearchBudget, optional
        Limits of the search for the repair that preserves the most utility.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0, 0], "income": [3, 1, 1, 2, 1], "pregnant": [1, 1, 0, 0, 0]}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> repaired = pu.repair(program, data, protected="pregnant", epsilon=0.5, delta=0)
    >>> print(repaired.program)
    lambda vitamins, income . ite(income >= 2, 'a', 'b')
    >>> repaired.used.after
    0.8
    """
    refuse_unknown(options, RepairKeywords.__annotations__)
    chosen = AuditOptions(epsilon=epsilon, delta=delta, **options)
    request = request_for(model, X, protected, chosen)
    if oracle is not None and not callable(oracle):
        raise DataError(f"oracle: expected a function, got {shown(oracle)}")
    if search is not None and not isinstance(search, SearchBudget):
        raise DataError(f"search: expected a SearchBudget, got {shown(search)}")
    clock = Clock(chosen.progress)
    before = examine(request, clock=clock)
    full = request.subject.program
    used, held_out = requested_utilities(request, before.program, X, y, utility, holdout, clock)
    if not np.isfinite(now := _utility_of(full, used)):
        raise DataError(f"the {used.name} of the original model is {now}; choose another utility")
    searching = Search(request, before.program, oracle, used, search or SearchBudget(), clock)
    best, after = _best_repair(searching, before)
    new = _in_full(before.program, full, best.new)
    program = full.replaced(new)
    changes = [_change(full, site, value) for site, value in new.items()]
    return Repair(
        before=before,
        after=after,
        program=program,
        original=full,
        replaced={change.position: change.value for change in changes},
        steps=_steps(before.program, full, best, used),
        utility=used.name,
        used=_loss(full, program, used),
        holdout=None if held_out is None else _loss(full, program, held_out),
        detections=searching.detections + 1,
        search=searching.budget,
        _model=model,
        _X=X,
        _oracle=oracle,
        _request=request,
    )


def _best_repair(search: Search, before: Audit) -> tuple[RepairedProgram, Audit]:
    """The best repair, and an audit of it that finds no violation."""
    if not before.violations(search.oracle):
        return RepairedProgram(before.program, (), 0.0), before
    best = search.run(before)
    while True:
        population = search.request.population.having(best.program.variables)
        request = replace(search.request, population=population)
        defined = with_defined_influence(request, best.program, search.clock)
        after = examine(defined, best.program, clock=search.clock)
        search.detections += 1
        if not after.violations(search.oracle):
            return best, after
        best = search.resumed(best, after)


def _in_full(specialized: Program, full: Program, new: Mapping[Site, Const]) -> dict[Site, Const]:
    """Translate sites of a specialized program into sites of the full program of the same shape."""
    if specialized is full:
        return dict(new)
    point_of = {written: point for point, written in enumerate(full.points.written)}
    sites: dict[Site, Const] = {}
    for site, value in new.items():
        point = point_of[specialized.points.written[site.point]]
        below = specialized.points.below(site.point) if site.operands else []
        children = [point_of[specialized.points.written[below[s]]] for s in site.operands]
        operands = tuple(sorted(full.points.steps[child] for child in children))
        sites[Site(point, operands)] = value
    return sites


def _change(program: Program, site: Site, value: Const) -> Change:
    position = program.points.position(site)
    origin = program.origin(position)
    term = program.text_of(program.points.term_at(site))
    return Change(position, term, value_text(value.value), "" if origin is None else str(origin))


def _steps(
    specialized: Program, full: Program, repaired: RepairedProgram, utility: Utility
) -> tuple[Step, ...]:
    steps = []
    for step in repaired.steps:
        new = _in_full(specialized, full, step.new)
        changes = tuple(_change(full, site, value) for site, value in new.items())
        steps.append(Step(step.removed, changes, utility.better(step.value)))
    return tuple(steps)


def _loss(before: Program, after: Program, utility: Utility) -> Loss:
    rows = int(np.count_nonzero(utility.weights))
    return Loss(_utility_of(before, utility), _utility_of(after, utility), rows)


def _utility_of(program: Program, utility: Utility) -> float:
    frame = utility.frame
    values = evaluate(program.term, frame.arrays, frame.vocabulary)
    outputs = np.broadcast_to(values, (len(utility.right), *values.shape[1:]))
    return utility.value(program.term, outputs)
