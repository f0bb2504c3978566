"""An audit: from a model and data to the witnesses of proxy use.

Composes the stages: translate, read the population, measure, detect.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from proxyuse.audit_notes import audit_notes, opaque_notes
from proxyuse.data.population import Population
from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Decomposition, Decompositions
from proxyuse.detect.detection import detect
from proxyuse.detect.progress import Clock
from proxyuse.detect.results import Detection, Unsettled
from proxyuse.detect.witnesses import Witness, find_witnesses
from proxyuse.errors import DataError
from proxyuse.frame import frame_of
from proxyuse.judge.judgment import Oracle, Violation, judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.notes import Note, NoteKind
from proxyuse.options import documented, from_keywords
from proxyuse.program import Program
from proxyuse.request import Request, engine_for, request_for
from proxyuse.settings import (
    DELTA,
    EPSILON,
    AuditKeywords,
    AuditOptions,
    Methods,
    Settings,
)
from proxyuse.validity.assess import Assessment, assess
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.options import methods_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Audit:
    """The result of an audit of one program on one population.

    Attributes
    ----------
    program : the program.
    population : the rows, weights and protected attributes.
    epsilon, delta : the thresholds. A witness has association >= epsilon and influence > delta.
    decompositions : every measured decomposition.
    witnesses : the decompositions above both thresholds, one entry per protected attribute. Nested
        witnesses form a group; the group with the strongest witness comes first. Within a group,
        the witness that contains no other comes first.
    unsettled : decompositions that were not measured and may be witnesses.
    bounded : what was not measured because a bound rules it out as a witness; None if everything
        was measured.
    notes : what was dropped, binned, sampled or not searched, and how influence was computed.
    measures : the names of the association measure and the influence measure.
    settings : the other options of the audit.
    validity : whether each witness exists in the population; None if not tested.
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
    bounded: Bounded | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy, which excludes the evidence for further methods."""
        return self.__dict__ | {"_evidence": None}

    @property
    def searched(self) -> tuple[str, ...]:
        """One sentence for each space that was searched but not exhausted."""
        from proxyuse.report.findings.notes import note_sentence

        notes = (note for note in self.notes if note.kind is NoteKind.SEARCHED)
        return tuple(note_sentence(note) for note in notes)

    @property
    def complete(self) -> bool:
        """Whether every computation written in the program is settled.

        Each one was measured at each occurrence and at all occurrences together, or a bound shows
        that it is not a witness. Combinations of several operands do not count; `searched` says how
        far they were searched.
        """
        return not self.unsettled and all(note.kind is not NoteKind.OPAQUE for note in self.notes)

    def violations(self, oracle: Oracle | None = None) -> list[Violation]:
        """Return the witnesses that are not judged appropriate, in the order of `witnesses`.

        This is the definition of a violation of use privacy. Without an oracle, every witness is a
        violation.

        Parameters
        ----------
        oracle : callable, optional
            Takes a witness and returns a `Judgment`, or None for no judgment.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
        >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> def oracle(witness):
        ...     if witness.term == "vitamins":
        ...         return pu.Judgment(True, "a variable alone is not a use")
        >>> [v.witness.term for v in audit.violations(oracle)]
        ['vitamins == 1', "ite(vitamins == 1, 'a', 'b')"]
        """
        judged = ((w, judgment_of(oracle, w)) for w in self.witnesses)
        return [Violation(w, j) for w, j in judged if j is None or not j.appropriate]

    def validated(self, validity: Methods) -> Audit:
        """Return the same audit with tests of whether each witness exists in the population.

        Parameters
        ----------
        validity : as for `audit`.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
        >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> [w.validity.verdict.value for w in audit.validated("confirm").witnesses]
        ['confirmed', 'confirmed', 'confirmed']
        """
        if self._evidence is None:
            raise DataError("a copy of an audit cannot be validated; run the audit again")
        assessment = assess(self._evidence, methods_of(validity))
        witnesses = [replace(w, validity=assessment.of(w)) for w in self.witnesses]
        return replace(self, witnesses=witnesses, validity=assessment)

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
        """Return a pandas data frame with one row per decomposition and protected attribute.

        With validity, it has columns for the verdict, filled for witnesses only.

        Parameters
        ----------
        full_terms : bool
            Whether to write computations in full. By default a text has at most 60 characters,
            because the texts of all subtrees of a large model would be far larger than the model.
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
        """Plot association against influence, one point per computation.

        The region of proxy use is shaded, the strongest witnesses are labeled, and larger
        computations have larger markers. Computations without a measured influence are omitted.
        With ``validity="confirm"``, labeled witnesses have confidence bounds.

        Parameters
        ----------
        protected : a protected attribute; the first one by default.
        ax : the matplotlib axes to draw on; new axes by default.
        repaired : an audit of the repaired program, drawn on top.

        Returns
        -------
        matplotlib.axes.Axes
            Pass them to `save_figure`, which writes the same bytes for the same audit.
        """
        from proxyuse.report.render.figure import draw

        return draw(self, protected, ax=ax, repaired=repaired)

    def _repr_html_(self) -> str:
        """Return the view in a notebook."""
        from proxyuse.report.render.notebook import audit_html

        return audit_html(self)

    def changed_by_row(self, decomposition: Decomposition) -> Array | None:
        """Return, for each row, the share of the values of a computation that change its decision.

        The mean of these shares is the influence. Returns None if they take too long to compute,
        and in a copy of an audit.
        """
        if self._evidence is None:
            return None
        effects = self._evidence.engine.effects(decomposition.sites)
        return None if effects is None else effects.changed

    def to_html(self, path: str | Path, **options: Any) -> Path:
        """Write an HTML report: one file that needs no network.

        Parameters
        ----------
        path : the file to write. It is written atomically.
        options : `oracle`, which judges the witnesses; `about`, a description of model and data
            such as ``{"model": {"file": "model.skops"}}``; `min_cell`, the smallest count of rows
            that is printed, 5 by default.

        Examples
        --------
        >>> import proxyuse as pu, tempfile
        >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
        >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = audit.to_html(f"{folder}/report.html").read_text("utf-8")
        >>> page[:15]
        '<!doctype html>'
        """
        from proxyuse.report.render.html.page import write_page

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


@documented(AuditOptions, AuditKeywords.__annotations__)
def audit(
    model: object,
    X: object,
    protected: object,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    **options: Unpack[AuditKeywords],
) -> Audit:
    """Find every computation in a model that is an influential proxy for a protected attribute.

    Parameters
    ----------
    model : a fitted model or a `Program`
        See `translate` for the supported models.
    X : data frame (pandas, polars, pyarrow), mapping of columns, or 2-D array
        The rows to measure on. Columns that the model does not use are ignored.
    protected : column name, several names, or a mapping from names to column names or values
        The attributes that the model must not use.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "engaged": [1, 0, 1, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse(
    ...     "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
    ... )
    >>> audit = pu.audit(program, data, protected="pregnant", epsilon=1, delta=0)
    >>> [(w.term, w.association, w.influence) for w in audit.witnesses]
    [('vitamins', 1.0, 0.5), ('vitamins == 1', 1.0, 0.5)]
    """
    chosen = from_keywords(AuditOptions, {"epsilon": epsilon, "delta": delta, **options})
    clock = Clock(chosen.progress, limit=chosen.time_limit)
    methods = None if chosen.validity is None else methods_of(chosen.validity)
    result = examine(request_for(model, X, protected, chosen), clock=clock)
    return result if methods is None else result.validated(methods)


def examine(
    request: Request,
    program: Program | None = None,
    *,
    clock: Clock | None = None,
    known: dict[bytes, Array] | None = None,
) -> Audit:
    """Audit the program of a request, or another program on the same rows.

    The program of the request must agree with its model on the rows. `known` holds associations
    from another program on the same rows; see `detect`.
    """
    clock = clock or Clock(None)
    own = program is None
    program = request.specialized(request.subject.program if program is None else program)
    engine = engine_for(request, program, clock)
    notes: tuple[Note, ...] = opaque_notes(request.subject.opaque)
    if own:
        sample, kept = engine.sample, request.population.kept
        notes = (*request.subject.check(sample.outputs, sample.frame, kept), *notes)
        request.influence.scale(sample.outputs(), sample.weights)  # raises if it is undefined
    detection, evidence = _detected(request, engine, clock, known)
    return Audit(
        program,
        request.population,
        request.settings.epsilon,
        request.settings.delta,
        detection.decompositions,
        list(evidence.witnesses),
        detection.unsettled,
        (*notes, *audit_notes(program, request.population, engine, detection, request.settings)),
        (request.association.name, request.influence.name),
        request.settings,
        None,
        evidence,
        detection.bounded,
    )


def _detected(
    request: Request, engine: Measurement, clock: Clock, known: dict[bytes, Array] | None = None
) -> tuple[Detection, Evidence]:
    """Return the detection on the rows of a request, and the evidence for validity methods."""
    settings = request.settings
    detection = detect(
        engine, engine.program, request.association, settings, clock=clock, known=known
    )
    witnesses = find_witnesses(
        detection.decompositions,
        {z.name: z.source for z in request.population.protected},
        epsilon=settings.epsilon,
        delta=settings.delta,
    )

    def on_rows(rows: Array) -> Evidence:
        part = replace(request, population=request.population.taking(rows))
        restarted = clock.restarted()
        return _detected(part, engine_for(part, engine.program, restarted), restarted)[1]

    evidence = Evidence(
        engine,
        request.population,
        detection.decompositions,
        witnesses,
        settings.epsilon,
        settings.delta,
        request.association,
        request.influence,
        settings.sampling,
        _depends_on_rows(detection),
        request.threads,
        on_rows,
    )
    return detection, evidence


def _depends_on_rows(detection: Detection) -> bool:
    """Return whether the rows determined which decompositions were measured."""
    return detection.selected or bool(detection.unsettled)
