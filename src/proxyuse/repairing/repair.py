"""Repair: constants in place of parts of a program, until no violation is left.

Composes the stages: audit, search, audit again, and write back to a model.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from proxyuse.auditing import DELTA, EPSILON, Audit, examine
from proxyuse.certificate.certificate import Certificate, certify
from proxyuse.data.columns import Column, as_column
from proxyuse.data.population import is_name
from proxyuse.data.table import Table
from proxyuse.detect.budget import Budget
from proxyuse.detect.progress import Clock, ProgressCallback
from proxyuse.errors import DataError
from proxyuse.hashes import program_hash
from proxyuse.judge.judgment import Oracle
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Const, value_text
from proxyuse.lang.positions import Position, Site
from proxyuse.measure.association.protocol import AssociationLike
from proxyuse.measure.association.support import BINS, MAX_SUPPORT
from proxyuse.measure.influence import Influence, differ
from proxyuse.models.audited_model import audited_model
from proxyuse.models.decisions import Decision
from proxyuse.models.write_back import Deployed, written_back
from proxyuse.program import Frame, Program
from proxyuse.repairing.search import Found, Removed, Search, SearchBudget
from proxyuse.repairing.utility import Measure, Utility, UtilityFunction, continuous, right_answers
from proxyuse.request import Request, engine_for, request_for, with_defined_influence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True)
class Change:
    """A constant in place of a part of the original program.

    Attributes
    ----------
    position : where, in the original program.
    term : what stood there.
    value : the constant, as the language writes it.
    origin : where it came from in the model; empty if that is not known.
    """

    position: Position
    term: str
    value: str
    origin: str


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a repair: what was replaced by what, for which violation, at what cost.

    Attributes
    ----------
    removed : the violation it was taken for.
    changes : the constants, and what they replaced in the original program.
    utility : after the step.
    """

    removed: Removed
    changes: tuple[Change, ...]
    utility: float

    def __str__(self) -> str:
        from proxyuse.report.findings.repair import reason, replacement
        from proxyuse.report.repair_document import step_result

        step = step_result(self)
        return f"{replacement(step)} {reason(step.removed)}"


@dataclass(frozen=True, slots=True)
class Loss:
    """A utility before and after, on one set of rows.

    Attributes
    ----------
    rows : how many rows.
    """

    before: float
    after: float
    rows: int


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired program, how it came about and what it costs.

    Attributes
    ----------
    before, after : the audits of the program before and after; `after` has no violation.
    program : the repaired program.
    steps : what was replaced by what, and why.
    utility : the name of what was to be lost least.
    used : the utility on the rows that were used.
    holdout : the utility on rows that were kept apart; None if none were.
    detections : how many times programs were measured on the way.
    search : what was spent at most on looking for it; a better repair may lie beyond.
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
    _case: Request = field(repr=False)

    @cached_property
    def deployed(self) -> Deployed:
        """The repaired model, whether it is of the same kind as the one given, and why if not."""
        if isinstance(self._model, Program):
            from proxyuse.models.program_estimator import program_estimator

            why = "a program was given, not a model"
            return Deployed(program_estimator(self.program), False, why)
        return written_back(self._model, self.program, self._X, self.before.settings.decision)

    @property
    def model(self) -> Any:
        """The repaired model: the same kind of estimator as was given, where that can be."""
        return self.deployed.model

    @property
    def given(self) -> object:
        """The model or program as it was given."""
        return self._model

    @property
    def violations(self) -> int:
        """How many violations there were before."""
        return len(self.before.violations(self._oracle))

    @cached_property
    def changed_rows(self) -> Array:
        """For each row that was used, whether the program says something else than before."""
        population = self.before.population
        frame = Frame(population.columns[name] for name in self.original.variables)
        said = [
            evaluate(program.term, frame.arrays, frame.vocabulary)
            for program in (self.original, self.program)
        ]
        return np.broadcast_to(differ(said[0], said[1]), (population.n_rows,))

    @property
    def complete(self) -> bool:
        """Whether everything that is a witness in the repaired program was found."""
        return self.after.complete

    @cached_property
    def certificate(self) -> Certificate:
        """What can be re-checked of the result by someone else, who has the repaired model.

        It speaks of the model's own program. Mostly that is the repaired one; of a linear model
        several constants may have become one, by which sums are rounded differently. Where that
        audit finds violations, or where there is no such model, it speaks of the repaired program.
        """
        return certify(self._of_the_model or self.after, self._oracle, self.story())

    @cached_property
    def _of_the_model(self) -> Audit | None:
        """An audit of the repaired model itself, where its program is another one."""
        if isinstance(self._model, Program) or not self.deployed.native:
            return None
        settings = self._case.settings
        known = {z.source for z in self.after.population.protected if z.source}
        subject = audited_model(
            self.model, self._X, known, settings.decision, opaque=settings.opaque
        )
        if self._case.specialized(subject.program) == self.after.program:
            return None
        population = self._case.population.having(subject.program.variables)
        found = examine(replace(self._case, subject=subject, population=population))
        return None if found.violations(self._oracle) else found

    def diff(self) -> str:
        """The text of the program before and after, as a unified diff."""
        before, after = (str(p).splitlines() for p in (self.original, self.program))
        return "\n".join(difflib.unified_diff(before, after, "before", "after", lineterm="", n=2))

    def plot(self, protected: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the computations before the repair and after it; see `Audit.plot`."""
        return self.before.plot(protected, ax=ax, repaired=self.after)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from proxyuse.page.notebook import repair_html

        return repair_html(self)

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report of what was found, what was done about it and what that cost.

        Parameters
        ----------
        path : where to; the file is written whole or not at all.
        options : see `Audit.to_html`; the oracle is that of the repair.
        """
        options = {"oracle": self._oracle, **options}
        from proxyuse.page.page import write_page

        return write_page(path, self.before, repair=self, **options)

    def story(self) -> dict[str, object]:
        """What a certificate tells of the repair."""
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
    weights: object = None,
    missing_protected: Literal["refuse", "drop", "category"] = "refuse",
    association: AssociationLike | None = None,
    influence: Influence | None = None,
    max_support: int = MAX_SUPPORT,
    bins: int | None = BINS,
    budget: Budget | None = None,
    variables: bool = True,
    decision: Decision | None = None,
    opaque: bool = False,
    threads: int | None = None,
    progress: ProgressCallback | None = None,
) -> Repair:
    """Put constants in place of parts of a model until no violation is left.

    Parameters
    ----------
    model, X, protected, epsilon, delta : as for `audit`.
    y : column name or values, optional
        What would be right, for the utility; without it, what the model says now.
    oracle : callable, optional
        Asked about each witness; those it judges appropriate stay. Without it all have to go.
    utility : str or callable, optional
        What to lose least of: "accuracy" (the default where y is given and holds classes),
        "agreement" with the original (the default without y), "balanced accuracy", "auc",
        "log loss", "mean squared error" (the default for numbers of which hardly two are equal;
        without y, from what the model says now), or a function of the right answers, those
        given, and `sample_weight`, larger for better ones.
    holdout : table, pair of a table and y, or array of truth values, optional
        Rows that are used for nothing but a second figure of the utility. Truth values, one for
        each row of X, say which of these are: they count when violations are looked for, and not
        in the utility by which constants are chosen.
    search : SearchBudget, optional
        How much to spend on looking for the repair that loses least.
    weights, missing_protected, association, influence, max_support, bins, budget, variables, \
decision, opaque, threads, progress : as for `audit`.

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
    case = request_for(
        model, X, protected, epsilon, delta,
        weights=weights, missing_protected=missing_protected, association=association,
        influence=influence, max_support=max_support, bins=bins, budget=budget,
        variables=variables, decision=decision, opaque=opaque, threads=threads,
    )  # fmt: skip
    for name, function in (("oracle", oracle), ("progress", progress)):
        if function is not None and not callable(function):
            raise DataError(f"{name} is {function!r}; pass a function")
    if search is not None and not isinstance(search, SearchBudget):
        raise DataError(f"search is {search!r}; pass a SearchBudget")
    clock = Clock(progress)
    before = examine(case, clock=clock)
    full = case.subject.program
    used = _utility(case, before.program, X, y, utility, clock)
    kept_apart: Utility | None
    if _one_a_row(holdout):
        used, kept_apart = _parts(used, holdout, case)
    else:
        kept_apart = _holdout(full, holdout, y is not None, used.measure)
    if not np.isfinite(now := _said(used, full)):
        raise DataError(f"the {used.name} of the model as it is is {now}; choose another utility")
    looking = Search(case, before.program, oracle, used, search or SearchBudget(), clock)
    found, after = _searched(looking, before)
    new = _in_full(before.program, full, found.new)
    program = full.replaced(new)
    losses = [
        Loss(_said(target, full), _said(target, program), int(np.count_nonzero(target.weights)))
        for target in (used, kept_apart)
        if target is not None
    ]
    changes = {site: _change(full, site, value) for site, value in new.items()}
    return Repair(
        before=before,
        after=after,
        program=program,
        original=full,
        replaced={c.position: c.value for c in changes.values()},
        steps=_steps(before.program, full, found, used),
        utility=used.name,
        used=losses[0],
        holdout=losses[1] if len(losses) > 1 else None,
        detections=looking.detections + 1,
        search=looking.budget,
        _model=model,
        _X=X,
        _oracle=oracle,
        _case=case,
    )


def _searched(search: Search, before: Audit) -> tuple[Found, Audit]:
    """The best repair, and an audit of it that finds no violation."""
    if not before.violations(search.oracle):
        return Found(before.program, (), 0.0), before
    found = search.run(before)
    while True:
        population = search.case.population.having(found.program.variables)
        case = replace(search.case, population=population)
        defined = with_defined_influence(case, found.program, search.clock)
        after = examine(defined, found.program, clock=search.clock)
        search.detections += 1
        if not after.violations(search.oracle):
            return found, after
        found = search.resumed(found, after)


def _in_full(specialized: Program, full: Program, new: Mapping[Site, Const]) -> dict[Site, Const]:
    """Positions of a program as positions of the one it was made of, which has the same shape."""
    if specialized is full:
        return dict(new)
    by_number = {written: point for point, written in enumerate(full.points.written)}
    found: dict[Site, Const] = {}
    for site, value in new.items():
        point = by_number[specialized.points.written[site.point]]
        below = specialized.points.below(site.point) if site.operands else []
        children = [by_number[specialized.points.written[below[s]]] for s in site.operands]
        operands = tuple(sorted(full.points.steps[child] for child in children))
        found[Site(point, operands)] = value
    return found


def _change(program: Program, site: Site, value: Const) -> Change:
    position = program.points.position(site)
    origin = program.origin(position)
    term = program.text_of(program.points.term_at(site))
    return Change(position, term, value_text(value.value), "" if origin is None else str(origin))


def _steps(specialized: Program, full: Program, found: Found, utility: Utility) -> tuple[Step, ...]:
    steps = []
    for taken in found.steps:
        new = _in_full(specialized, full, taken.new)
        changes = tuple(_change(full, site, value) for site, value in new.items())
        steps.append(Step(taken.removed, changes, utility.better(taken.value)))
    return tuple(steps)


def _said(utility: Utility, program: Program) -> float:
    """The utility of a program on its rows."""
    frame = utility.frame
    found = evaluate(program.term, frame.arrays, frame.vocabulary)
    outputs = np.broadcast_to(found, (len(utility.right), *found.shape[1:]))
    return utility.value(program.term, outputs)


def _utility(
    case: Request, program: Program, X: object, y: object, named: object, clock: Clock
) -> Utility:
    sample = engine_for(case, program, clock).sample
    outputs = sample.outputs()
    column = None
    if y is not None:
        column = _answers(Table.of(X, program.inputs), y)
        kept = case.population.kept
        column = column if kept is None else column.take(kept)
    right = outputs if column is None else right_answers(column, outputs, sample.frame)
    measure = _measure(named, outputs, right, y is not None)
    return Utility(measure, right, case.population.weights, sample.frame)


def _answers(table: Table, y: object) -> Column:
    if is_name(y):
        if str(y) not in table:
            raise DataError(f"y is not a column of the data: {str(y)!r}; {table.suggest(str(y))}")
        column = table.column(str(y))
    else:
        column = table.beside("y", y)
    lost = int(np.count_nonzero(column.is_missing))
    if lost:
        raise DataError(f"y is missing in {lost} rows; leave these rows out")
    return as_column("y", column)


def _measure(named: object, outputs: Array, right: Array, given: bool) -> Measure | UtilityFunction:
    if named is None:
        if continuous(right) or continuous(outputs):
            return Measure.SQUARED_ERROR
        return Measure.ACCURACY if given else Measure.AGREEMENT
    if callable(named):
        return named
    names: Sequence[str] = [str(measure) for measure in Measure]
    wanted = str(named).replace("_", " ").lower()
    if wanted not in names:
        raise DataError(f"utility is {named!r}; pass one of {', '.join(names)}, or a function")
    measure = Measure(wanted)
    if measure is Measure.SQUARED_ERROR and (outputs.dtype == np.int32 or outputs.ndim == 2):
        raise DataError("mean squared error is of numbers, which the program does not say")
    if not given and measure not in (Measure.AGREEMENT, Measure.SQUARED_ERROR):
        raise DataError(f"the utility {wanted!r} needs y, what would be right; pass it")
    if given and measure is Measure.AGREEMENT:
        raise DataError("agreement is with what the model says now; leave y out")
    return measure


def _one_a_row(holdout: Any) -> bool:
    """Whether a hold-out is truth values."""
    return getattr(holdout, "ndim", 0) == 1 and holdout.dtype == np.bool_


def _parts(utility: Utility, apart: Any, case: Request) -> tuple[Utility, Utility]:
    """The utility on the rows that are used, and on those that are kept apart."""
    population, held = case.population, np.asarray(apart)
    kept = np.ones(population.n_rows, np.bool_) if population.kept is None else population.kept
    if held.shape != kept.shape:
        raise DataError(
            f"holdout has {len(held):,} truth values for {len(kept):,} rows; pass one for each row"
        )
    held = held[kept]
    if held.all() or not held.any():
        raise DataError("holdout keeps all rows apart, or none; keep some of them apart")
    used, left = (np.where(part, utility.weights, 0.0) for part in (~held, held))
    return replace(utility, weights=used), replace(utility, weights=left)


def _holdout(
    program: Program, holdout: object, needs_y: bool, measure: Measure | UtilityFunction
) -> Utility | None:
    """The same utility on rows that are kept apart."""
    if holdout is None:
        return None
    rows, y = holdout, None
    if isinstance(holdout, tuple) and len(holdout) == 2:
        rows, y = holdout
    if (y is not None) != needs_y:
        raise DataError(
            "holdout goes with y: pass a pair of a table and its y where y is given, else a table"
        )
    table = Table.of(rows, program.inputs)
    frame = Frame(table.column(name) for name in program.variables)
    frame.check_program(program)
    said = evaluate(program.term, frame.arrays, frame.vocabulary)
    outputs = np.broadcast_to(said, (table.n_rows, *said.shape[1:]))
    right = outputs if y is None else right_answers(_answers(table, y), outputs, frame)
    return Utility(measure, right, np.ones(table.n_rows), frame)
