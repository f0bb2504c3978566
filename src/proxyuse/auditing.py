"""An audit: from a model and data to the witnesses of proxy use.

The only place that composes the stages: translate, read the population, measure, detect.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from proxyuse.audit_notes import audit_notes, opaque_notes
from proxyuse.data.population import Population
from proxyuse.detect.bounded import Bounded
from proxyuse.detect.budget import Budget
from proxyuse.detect.decompositions import Decomposition, Decompositions
from proxyuse.detect.detection import detect
from proxyuse.detect.progress import Clock, ProgressCallback
from proxyuse.detect.results import Detection, Measure, Unsettled
from proxyuse.detect.witnesses import Witness, find_witnesses
from proxyuse.errors import DataError
from proxyuse.frame import frame_of
from proxyuse.judge.judgment import Oracle, Violation, judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import AssociationLike
from proxyuse.measure.association.support import BINS, MAX_SUPPORT
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import Influence, QuantitativeInputInfluence, Sampling
from proxyuse.models.decisions import Decision
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program
from proxyuse.request import Request, Settings, check_time_limit, engine_for, request_for
from proxyuse.validity.assess import Assessment, assess
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.options import Methods, methods_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


EPSILON, DELTA = 0.1, 0.05
"""The thresholds where none are given: a place to start from, see the page on choosing them."""


@dataclass(frozen=True, eq=False)
class Audit:
    """What was found in one program on one population.

    Attributes
    ----------
    program : the program that was measured.
    population : the rows, weights and protected attributes it was measured on.
    epsilon, delta : the thresholds: a witness has association >= epsilon, influence > delta.
    decompositions : every measured decomposition.
    witnesses : those above both thresholds, for one protected attribute each, in groups of nested
        ones: the group of the strongest witness first, and in each group first the witness with
        no other one inside it.
    unsettled : decompositions that were not measured and may be witnesses.
    searched : one sentence for each space that was searched, not exhausted.
    bounded : what was not measured because a bound shows that it is no witness; None if
        everything was measured.
    notes : what was left out, binned, sampled or dropped, and how influence was found.
    measures : the names of the association and the influence that were measured.
    settings : what else was asked for.
    validity : whether the witnesses would be there in the population too; None if not asked.
    """

    program: Program
    population: Population
    epsilon: float
    delta: float
    decompositions: Decompositions
    witnesses: list[Witness]
    unsettled: tuple[Unsettled, ...]
    notes: tuple[Note, ...]
    measures: tuple[str, str] = (
        NormalizedMutualInformation().name,
        QuantitativeInputInfluence().name,
    )
    settings: Settings = field(default_factory=Settings)
    validity: Assessment | None = None
    _evidence: Evidence | None = field(default=None, repr=False)
    searched: tuple[str, ...] = ()
    bounded: Bounded | None = None

    def __getstate__(self) -> dict[str, object]:
        """What is kept in a file or a copy: not what further questions would be asked of."""
        return self.__dict__ | {"_evidence": None}

    @property
    def complete(self) -> bool:
        """Whether every computation written in the program is settled.

        Each one was measured at each occurrence and at all occurrences together, or a bound shows
        that it is no witness. Combinations of several operands do not count: `searched` says how
        far these were looked at.
        """
        return not self.unsettled and all(note.kind is not NoteKind.OPAQUE for note in self.notes)

    def violations(self, oracle: Oracle | None = None) -> list[Violation]:
        """The witnesses that are not judged appropriate, in the order of `witnesses`.

        This is the definition of a violation of use privacy. Without an oracle nobody has judged,
        and every witness is one.

        Parameters
        ----------
        oracle : callable, optional
            Asked about each witness, it answers with a `Judgment`, or None if it has none.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
        >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> def oracle(witness):
        ...     if witness.term == "vitamins":
        ...         return pu.Judgment(True, "a variable by itself is no use")
        >>> [v.witness.term for v in found.violations(oracle)]
        ['vitamins == 1', "ite(vitamins == 1, 'a', 'b')"]
        """
        judged = ((w, judgment_of(oracle, w)) for w in self.witnesses)
        return [Violation(w, j) for w, j in judged if j is None or not j.appropriate]

    def validated(self, validity: Methods) -> Audit:
        """The same findings with what statistics say of each witness.

        Parameters
        ----------
        validity : see `audit`.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
        >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> [w.validity.verdict.value for w in found.validated("confirm").witnesses]
        ['confirmed', 'confirmed', 'confirmed']
        """
        if self._evidence is None:
            raise DataError("a copy of an audit cannot be asked further; audit the model anew")
        found = assess(self._evidence, methods_of(validity))
        witnesses = [replace(w, validity=found.of(w)) for w in self.witnesses]
        return replace(self, witnesses=witnesses, validity=found)

    @cached_property
    def explicit_use(self) -> tuple[str, ...]:
        """The protected attributes that the program reads itself."""
        return tuple(
            z.name for z in self.population.protected if z.source in self.program.variables
        )

    def note_sentences(self, kind: NoteKind | None = None) -> list[str]:
        """The notes as sentences.

        Parameters
        ----------
        kind : only the notes of this kind; all by default.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"x": [1, 2, 3], "z": [0, 1, 1], "w": [1, 1, 0]}
        >>> audit = pu.audit(pu.Program.parse("x"), data, "z", weights="w")
        >>> audit.note_sentences(pu.NoteKind.DROPPED)
        ['Dropped 1 row of weight 0.']
        """
        from proxyuse.report.findings.notes import note_sentence

        return [note_sentence(note) for note in self.notes if kind in (None, note.kind)]

    def to_frame(self, full_terms: bool = False) -> pd.DataFrame:
        """A pandas data frame with one row per decomposition and protected attribute.

        If validity was asked for, there are columns for it, filled for witnesses only.

        Parameters
        ----------
        full_terms : bool
            Whether computations are written in full. By default a text has at most 60 characters;
            the text of a large model's subtrees would be far larger than the model.
        """
        witnesses = {w.key: w.validity for w in self.witnesses}
        validity = self.validity is not None
        return frame_of(self.decompositions, witnesses, full_terms=full_terms, validity=validity)

    def plot(
        self,
        protected: str | None = None,
        *,
        ax: Axes | None = None,
        repaired: Audit | None = None,
    ) -> Axes:
        """Draw every computation as a point: association across, influence up.

        The region of proxy use is shaded, the strongest witnesses are named, and a larger
        computation has a larger marker. Computations whose influence was not needed are left out.
        If validity was asked for with "confirm", the bounds of named witnesses are drawn.

        Parameters
        ----------
        protected : a protected attribute; the first if not given.
        ax : matplotlib axes to draw on; new ones if not given.
        repaired : an audit of the repaired program, drawn over it.

        Returns
        -------
        matplotlib.axes.Axes
            Of a figure that `save_figure` writes so that the same audit gives the same bytes.
        """
        from proxyuse.page.figure import draw

        return draw(self, protected, ax=ax, repaired=repaired)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from proxyuse.page.notebook import audit_html

        return audit_html(self)

    def changed_by_row(self, found: Decomposition) -> Array | None:
        """For each row the share of all values of a computation that change its decision.

        The mean of these shares is the influence. None where finding them would take long, and in
        a copy of an audit.
        """
        if self._evidence is None:
            return None
        effects = self._evidence.engine.effects(found.sites)
        return None if effects is None else effects.changed

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write the report: one page for people, in one file that needs no network.

        Parameters
        ----------
        path : where to; the file is written whole or not at all.
        options : `oracle`, who judged the witnesses; `about`, what is known of model and data,
            such as ``{"model": {"file": "model.skops"}}``; `min_cell`, below which numbers of
            rows are not printed, 5 by default.

        Examples
        --------
        >>> import proxyuse as pu, tempfile
        >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
        >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = found.to_html(f"{folder}/report.html").read_text("utf-8")
        >>> page[:15]
        '<!doctype html>'
        """
        from proxyuse.page.page import write_page

        return write_page(path, self, **options)

    def __str__(self) -> str:
        from proxyuse.report.document import document
        from proxyuse.report.render.text import MOST_GROUPS, audit_text

        return audit_text(document(self, most_groups=MOST_GROUPS))

    def __repr__(self) -> str:
        complete = "complete" if self.complete else "not complete"
        return (
            f"<Audit: {len(self.witnesses)} witnesses among {len(self.decompositions)} "
            f"decompositions, {complete}>"
        )


def audit(
    model: object,
    X: object,
    protected: object,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    *,
    weights: object = None,
    missing_protected: Literal["refuse", "drop", "category"] = "refuse",
    association: AssociationLike | None = None,
    influence: Influence | None = None,
    sampling: Sampling | None = None,
    max_support: int = MAX_SUPPORT,
    bins: int | None = BINS,
    budget: Budget | None = None,
    all_sets: bool = False,
    measure: Measure = "needed",
    exact: bool = False,
    variables: bool = True,
    decision: Decision | None = None,
    opaque: bool = False,
    validity: Methods | None = None,
    threads: int | None = None,
    time_limit: float | None = None,
    progress: ProgressCallback | None = None,
) -> Audit:
    """Find every computation inside a model that is a proxy for a protected attribute and used.

    Parameters
    ----------
    model : a program, or a model that `translate` knows.
    X : data frame (pandas, polars, pyarrow), mapping of columns, or 2-D array
        The rows to measure on; more columns than the model uses are welcome.
    protected : column name, several, or a mapping from names to column names or values
        What the model is not meant to use.
    epsilon, delta : thresholds
        A computation is a witness if its association with a protected attribute is at least
        `epsilon` and its influence on the decisions more than `delta`.
    weights : column name or values, optional
        How much each row counts.
    missing_protected : {"refuse", "drop", "category"}
        What to do with rows whose protected attribute is missing.
    association, influence : measures
        Normalized mutual information and quantitative input influence by default. Association
        may also be a name, ``"normalized-mutual-information"``,
        ``"adjusted-mutual-information"``, ``"cramers-v"`` or ``"squared-correlation"``, or a
        function from a table of masses to a number from 0 to 1.
    sampling : Sampling, optional
        Estimate influence from sampled pairs of rows; exact by default.
    max_support, bins :
        Numbers with more than `max_support` distinct values are cut into `bins` of equal mass
        for association; ``bins=None`` keeps the raw values.
    budget : Budget, optional
        How much to spend where the number of decompositions is exponential.
    all_sets : bool
        List every set of occurrences of a repeated term, and every partial sum.
    measure : {"needed", "all"}
        What to measure in a large forest: everything that can be a witness, by default, while
        everything else keeps the bound that excludes it (`Audit.bounded`), or everything. In small
        and other programs everything is measured.
    exact : bool
        Count every influence over all pairs of rows. By default, that of a variable that a large
        forest reads in tens of thousands of places is drawn, with an interval that is clearly
        above or below delta.
    variables : bool
        Whether to measure the variables too; without them the result is not complete.
    decision : Threshold, Positive or TopK, optional
        What is decided, where that is not what the model predicts.
    opaque : bool
        Whether the outputs of transformers that cannot be translated become variables.
    validity : "confirm", "permutation", "cross-validation", their options, or several, optional
        Whether each witness would be there in the population too, and not only in these rows;
        see `Confirmation`, `Permutation` and `CrossValidation`.
    threads : int, optional
        How many threads may count at the same time; one per core by default. The results do not
        depend on it.
    time_limit : float, optional
        Seconds after which detection stops and returns what it has settled. What it has not is in
        `Audit.unsettled`. Translation counts towards the limit. A step that has begun, such as
        translating or compiling, is finished first.
    progress : callable, optional
        Called with a `Progress` a few times a second; returning False cancels.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "engaged": [1, 0, 1, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse(
    ...     "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
    ... )
    >>> found = pu.audit(program, data, protected="pregnant", epsilon=1, delta=0)
    >>> [(w.term, w.association, w.influence) for w in found.witnesses]
    [('vitamins', 1.0, 0.5), ('vitamins == 1', 1.0, 0.5)]
    """
    check_time_limit(time_limit)
    clock = Clock(progress, limit=time_limit)
    case = request_for(
        model, X, protected, epsilon, delta,
        weights=weights, missing_protected=missing_protected, association=association,
        influence=influence, sampling=sampling, max_support=max_support, bins=bins,
        budget=budget, all_sets=all_sets, measure=measure, exact=exact,
        variables=variables,
        decision=decision, opaque=opaque, threads=threads,
    )  # fmt: skip
    if progress is not None and not callable(progress):
        raise DataError(f"progress is {progress!r}; pass a function of a Progress")
    methods = None if validity is None else methods_of(validity)
    found = examine(case, clock=clock)
    return found if methods is None else found.validated(methods)


def examine(
    case: Request,
    program: Program | None = None,
    *,
    clock: Clock | None = None,
    known: dict[bytes, Array] | None = None,
) -> Audit:
    """Audit the program of a case, or another one on the same rows.

    The program of the case must agree with its model on the rows. Associations may be `known`
    from another program on the same rows; see `detect`.
    """
    clock = clock or Clock(None)
    own = program is None
    program = case.specialized(case.subject.program if program is None else program)
    engine = engine_for(case, program, clock)
    notes: tuple[Note, ...] = opaque_notes(case.subject.opaque)
    if own:
        sample, kept = engine.sample, case.population.kept
        notes = (*case.subject.check(sample.outputs, sample.frame, kept), *notes)
        case.influence.scale(sample.outputs(), sample.weights)  # raises if it is undefined
    detection, evidence = _found(case, engine, clock, known)
    return Audit(
        program,
        case.population,
        case.epsilon,
        case.delta,
        detection.decompositions,
        list(evidence.witnesses),
        detection.unsettled,
        (*notes, *audit_notes(program, case.population, engine, detection, case.settings)),
        (case.association.name, case.influence.name),
        case.settings,
        None,
        evidence,
        detection.searched,
        detection.bounded,
    )


def _found(
    case: Request, engine: Measurement, clock: Clock, known: dict[bytes, Array] | None = None
) -> tuple[Detection, Evidence]:
    """What is detected with an engine on the rows of a case, and how to ask it of fewer rows."""
    settings = case.settings
    detection = detect(
        engine,
        engine.program,
        case.association,
        epsilon=case.epsilon,
        delta=case.delta,
        budget=settings.budget,
        all_sets=settings.all_sets,
        measure=settings.measure,
        exact=settings.exact,
        variables=settings.variables,
        clock=clock,
        known=known,
        all_subsets=settings.all_sets,
    )
    witnesses = find_witnesses(
        detection.decompositions,
        {z.name: z.source for z in case.population.protected},
        epsilon=case.epsilon,
        delta=case.delta,
    )

    def again(rows: Array) -> Evidence:
        part = replace(case, population=case.population.taking(rows))
        own = clock.restarted()
        return _found(part, engine_for(part, engine.program, own), own)[1]

    evidence = Evidence(
        engine,
        case.population,
        detection.decompositions,
        witnesses,
        case.epsilon,
        case.delta,
        case.association,
        case.influence,
        settings.sampling,
        _searched(detection),
        case.threads,
        again,
    )
    return detection, evidence


def _searched(detection: Detection) -> bool:
    """Whether it depended on the rows which decompositions were measured."""
    return detection.selected or bool(detection.unsettled)
