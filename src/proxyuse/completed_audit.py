"""`Audit`: the result of an audit in Python.

It holds the typed results of each stage. Verdicts, directions, tables and pictures are computed
from them on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proxyuse.data.population import Population
from proxyuse.detect.bounded import Bounded
from proxyuse.detect.collections import LEVELS, MOST_POINTS, Curve
from proxyuse.detect.collective_witness import Collection, repeats_witness
from proxyuse.detect.decompositions import Decompositions
from proxyuse.detect.results import Unsettled
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.frame import frame_of
from proxyuse.judge.judgment import Oracle, Violation, judgment_of
from proxyuse.lang.nodes import Value
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, for_weights
from proxyuse.measure.association.registry import built_in_association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.measure.output_scale import Scale, scale_of
from proxyuse.measure.sample import Sample
from proxyuse.methods import Confirmation, Methods
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program
from proxyuse.report.leading import chosen_attribute
from proxyuse.settings import FailOn, Settings
from proxyuse.validity.assess import Assessment, assess
from proxyuse.validity.beyond_witnesses import (
    BeyondWitnesses,
    beyond_witnesses,
    confirmation_of,
)
from proxyuse.validity.collections import Collections
from proxyuse.validity.conclusion import conclude, incomplete_reasons
from proxyuse.validity.confirmation import corrections
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.explicit_use import ExplicitUse
from proxyuse.validity.options import methods_of
from proxyuse.validity.threshold_tables import (
    DELTAS,
    EPSILONS,
    ThresholdTable,
    threshold_tables,
)
from proxyuse.verdict import AttributeVerdict, Incomplete, Verdict, overall

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from proxyuse.report.outcome_result import Direction, Outcomes


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
    fail_on : which violations make the audit fail.
    strict : whether a space that was searched but not exhausted makes the audit incomplete.
    requested_epsilon : the percentage that epsilon was computed from; None if it was a number.
    classes : the classes of the model; empty if it predicts numbers, None for a program.
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
    fail_on: FailOn = "possible"
    strict: bool = False
    requested_epsilon: str | None = None
    _beyond: BeyondWitnesses | None = field(default=None, repr=False)
    classes: tuple[Value, ...] | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return the state of a copy, which excludes the evidence for further methods."""
        state = self.__dict__ | {"_evidence": None, "_beyond": self._beyond_witnesses}
        computed = {"measurement", "_collections"}
        return {name: value for name, value in state.items() if name not in computed}

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
        far they were searched. With ``strict=True``, they must be exhausted as well.
        """
        return not self._incomplete

    @property
    def _incomplete(self) -> tuple[Incomplete, ...]:
        return incomplete_reasons(self.unsettled, self.notes, self.strict)

    @property
    def verdict(self) -> Verdict:
        """The verdict on the model: the worst of `verdicts`.

        In this order: confirmed, cannot be decided, possible, not found.

        Examples
        --------
        >>> import proxyuse as pu
        >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
        >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
        >>> pu.audit(program, data, "pregnant").verdict.value
        'confirmed'
        >>> pu.audit(program, data, {"religion": ["a"] * 200}).verdict.value
        'cannot be decided'
        """
        return self.verdict_with(None)

    @property
    def verdicts(self) -> dict[str, AttributeVerdict]:
        """The verdict on each protected attribute, with its reasons."""
        return self.verdicts_with(None)

    def verdict_with(self, oracle: Oracle | None) -> Verdict:
        """Return the verdict on the model if only violations count; see `violations`."""
        return overall(known.verdict for known in self.verdicts_with(oracle).values())

    def verdicts_with(self, oracle: Oracle | None) -> dict[str, AttributeVerdict]:
        """Return the verdict on each attribute if only violations count; see `violations`.

        Parameters
        ----------
        oracle : callable, optional
            Takes a witness and returns a `Judgment`, or None for no judgment.
        """
        violations = [violation.witness for violation in self.violations(oracle)]
        return conclude(
            self.population,
            self.witnesses,
            violations,
            self.validity,
            self._incomplete,
            self.measures[1],
            self.explicit_violations(oracle),
            self._beyond_witnesses.unreachable,
            self.collection_violations(oracle),
        )

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
        return replace(self, witnesses=witnesses, validity=assessment, _beyond=None)

    def corrections(self, options: Confirmation) -> Callable[[Witness], float]:
        """Return a function that computes the association of a witness without its bias.

        A finite sample shows some association even between independent values. The
        audit need not be validated.
        """
        if self._evidence is None:
            raise DataError("a copy of an audit cannot be validated; run the audit again")
        return corrections(self._evidence, options)

    @property
    def explicit(self) -> tuple[ExplicitUse, ...]:
        """The columns that the model reads and that determine a protected attribute.

        Each was declared as the source of the attribute, or a rule on it predicts the attribute on
        held-out rows. A declared column is listed even if it has no influence.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"age": [*range(18, 90)] * 20}
        >>> audit = pu.audit(pu.Program.parse("age > 40"), data, {"over60": "age > 60"})
        >>> [(use.column, use.how, use.verdict.value) for use in audit.explicit]
        [('age', 'declared', 'confirmed')]
        """
        return self._beyond_witnesses.explicit

    @property
    def _beyond_witnesses(self) -> BeyondWitnesses:
        """What the verdict needs beside the witnesses, computed on first use."""
        if self._beyond is None:
            methods = () if self.validity is None else self.validity.methods
            known = beyond_witnesses(self._evidence, methods, self._collections)
            object.__setattr__(self, "_beyond", known)
        assert self._beyond is not None
        return self._beyond

    def explicit_violations(self, oracle: Oracle | None = None) -> list[ExplicitUse]:
        """Return the influential explicit uses that are not judged appropriate.

        The oracle judges the column at all its occurrences, like a witness.
        """
        used = (use for use in self.explicit if use.verdict is not Verdict.NOT_FOUND)
        judged = ((use, judgment_of(oracle, use.witness)) for use in used)
        return [use for use, judgment in judged if judgment is None or not judgment.appropriate]

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
        protected : a protected attribute; the first with a finding by default.
        ax : the matplotlib axes to draw on; new axes by default.
        repaired : an audit of the repaired program, drawn on top.

        Returns
        -------
        matplotlib.axes.Axes
            Pass them to `save_figure`, which writes the same bytes for the same audit.
        """
        from proxyuse.report.render.figure import draw

        return draw(self, protected, ax=ax, repaired=repaired)

    def threshold_table(
        self,
        protected: str | None = None,
        *,
        epsilons: Sequence[float] = EPSILONS,
        deltas: Sequence[float] = DELTAS,
    ) -> ThresholdTable:
        """Count the witnesses, and the confirmed ones, at each pair of thresholds.

        A count is None where this audit did not measure what the pair needs. Choosing thresholds
        after looking at these rows is exploratory: confirm the choice on other rows. The cost is a
        few passes over the rows for each of at most 1,000 computations.

        Parameters
        ----------
        protected : a protected attribute; the first with a finding by default.
        epsilons, deltas : the thresholds. Those of the audit are added.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
        >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
        >>> audit = pu.audit(program, data, "pregnant", validity="confirm")
        >>> table = audit.threshold_table(epsilons=[0.5, 0.9], deltas=[0.1])
        >>> table.epsilons, table.witnesses[-1], table.confirmed[-1]
        ((0.1, 0.5, 0.9), (3, 3, 3), (3, 3, 0))
        """
        name = chosen_attribute(self, protected)
        tables = threshold_tables(self._evidence, self.validity, epsilons, deltas)
        if not tables:
            raise DataError("a copy of an audit has no table of thresholds; run the audit again")
        return next(table for table in tables if table.protected == name)

    def threshold_tables(self) -> tuple[ThresholdTable, ...]:
        """Return the default `threshold_table` of each attribute; none in a copy of an audit."""
        return threshold_tables(self._evidence, self.validity)

    def plot_thresholds(self, protected: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Plot the number of witnesses and of confirmed ones at each pair of thresholds.

        Parameters
        ----------
        protected : a protected attribute; the first with a finding by default.
        ax : the matplotlib axes to draw on; new axes by default.
        """
        from proxyuse.report.render.threshold_figure import draw_thresholds

        return draw_thresholds(self, self.threshold_table(protected), ax=ax)

    @property
    def collections(self) -> dict[str, Collection]:
        """The collection of each protected attribute: weakly associated computations, together.

        It has every test of the model, or every operand of a linear model, with an association of
        at least epsilon. Attributes with fewer than two of them are omitted. A collection whose
        influence is above delta is a collective witness and counts for the verdict. Measured on
        first use, at the cost of an audit at most.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"a": [1, 1, 2, 2] * 90, "b": [1, 1, 2, 1] * 90, "z": [0, 0, 1, 1] * 90}
        >>> program = pu.Program.parse("ite(a <= 1, ite(b <= 1, 0, 1), ite(b <= 1, 1, 0))")
        >>> audit = pu.audit(program, data, "z")
        >>> collection = audit.collections["z"]
        >>> [(m.term, m.positions) for m in collection.members], collection.influence
        ([('a <= 1', 1), ('b <= 1', 2)], 0.375)
        """
        return {known.protected: known for known in self._beyond_witnesses.collections}

    def collections_with(self, oracle: Oracle | None) -> dict[str, Collection]:
        """Return the collections without the members that an oracle judges appropriate.

        A computation that was judged appropriate as a witness is not judged again as a member.
        """
        collections, known = self._collections, self.collections
        if oracle is None or collections is None:
            return known
        judged: dict[str, set[bytes]] = {}
        for witness in self.witnesses:
            judgment = judgment_of(oracle, witness) if witness.protected in known else None
            if judgment is not None and judgment.appropriate:
                judged.setdefault(witness.protected, set()).add(witness.expression.digest)
        names = self.measurement.protected_names
        remaining = {
            name: collections.of(names.index(name), _judged_members(collection, judged.get(name)))
            for name, collection in known.items()
        }
        return {name: found for name, found in remaining.items() if found is not None}

    def collection_violations(self, oracle: Oracle | None = None) -> list[Collection]:
        """Return the collective witnesses that are not judged appropriate.

        A collection that contains a witness with a verdict that is as strong is left out.
        """
        found = self.collective_witnesses(oracle)
        judged = ((known, judgment_of(oracle, known)) for known in found)
        return [known for known, j in judged if j is None or not j.appropriate]

    def collective_witnesses(self, oracle: Oracle | None = None) -> list[Collection]:
        """Return the collections that are a proxy together, judged or not.

        Parameters
        ----------
        oracle : leaves out members that it judges appropriate; see `collections_with`.
        """
        return [
            known
            for known in self.collections_with(oracle).values()
            if known.verdict is not Verdict.NOT_FOUND and not repeats_witness(known, self.witnesses)
        ]

    def collective_curve(
        self, protected: str | None = None, *, levels: Sequence[float] = LEVELS
    ) -> Curve:
        """Return the influence of the collections of several levels of association.

        As the level falls, more computations belong to the collection. Its influence need not grow.

        Parameters
        ----------
        protected : a protected attribute; the first with a finding by default.
        levels : the levels of association. Epsilon is added.
        """
        name = chosen_attribute(self, protected)
        collections = self._collections
        if collections is None or collections.candidates is None:
            raise DataError(
                "collections need an influence that counts pairs of rows (QII or Moved, without "
                "sampling), a program that is made of trees or has at most "
                f"{MOST_POINTS:,} nodes, and an audit that is not a copy and was not stopped"
            )
        return collections.curve(self.measurement.protected_names.index(name), tuple(levels))

    def plot_collective_curve(
        self, protected: str | None = None, *, ax: Axes | None = None
    ) -> Axes:
        """Plot the influence of the collections against the level of association.

        Parameters
        ----------
        protected : a protected attribute; the first with a finding by default.
        ax : the matplotlib axes to draw on; new axes by default.
        """
        from proxyuse.report.render.curve_figure import draw_curve

        return draw_curve(self, self.collective_curve(protected), ax=ax)

    @cached_property
    def _collections(self) -> Collections | None:
        """The collections of these rows; None in a copy, or if the time limit stopped the audit."""
        if self._evidence is None or any(n.kind is NoteKind.TIME_LIMIT for n in self.notes):
            return None
        methods = () if self.validity is None else self.validity.methods
        return Collections(self._evidence, confirmation_of(methods))

    def _repr_html_(self) -> str:
        """Return the view in a notebook."""
        from proxyuse.report.render.notebook import audit_html

        return audit_html(self)

    @cached_property
    def measurement(self) -> Measurement:
        """The engines that measure the program on the population."""
        known = self._evidence
        return Measurement(Sample(self.program, self.population)) if known is None else known.engine

    @property
    def association(self) -> Association | None:
        """The measure of association; None in a copy of an audit with a measure of your own."""
        if self._evidence is not None:
            return self._evidence.association
        known = built_in_association(self.measures[0])
        return None if known is None else for_weights(known, self.population.weights)

    @cached_property
    def scale(self) -> Scale:
        """Which way is up: the positive class, or larger numbers."""
        outputs = self.measurement.sample.outputs()
        return scale_of(self.program.term, outputs, self.classes, self.settings.decision)

    @cached_property
    def outcomes(self) -> Outcomes:
        """The selection rate or the mean output of each group: context, not the verdict.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"age": [20, 30, 40, 50] * 50, "sex": ["f", "m", "m", "m"] * 50}
        >>> audit = pu.audit(pu.Program.parse("ite(age > 30, 'yes', 'no')"), data, "sex")
        >>> [(g.value, g.figures[0].at_least) for g in audit.outcomes.attributes[0].groups]
        [("'f'", 0.0), ("'m'", 0.6667)]
        """
        from proxyuse.report.direction import Directions

        return Directions(self, 1).outcomes()

    def direction(self, witness: Witness) -> Direction:
        """Return who gains and who loses by a witness, at the cost of one influence.

        With another person's value, `up` is the share of a group that would go to the positive
        decision or to a larger number, `down` the other way: what the computation gives at present.

        Examples
        --------
        >>> import proxyuse as pu
        >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
        >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 1, 0)"), data, "pregnant")
        >>> [(g.value, g.up, g.down) for g in audit.direction(audit.witnesses[0]).groups]
        [('0', 0.5, 0.0), ('1', 0.0, 0.5)]
        """
        from proxyuse.report.direction import Directions

        return Directions(self, 1).direction(witness.decomposition, witness.protected)

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
            f"<Audit: {self.verdict}, {len(self.witnesses)} witnesses among "
            f"{len(self.decompositions)} decompositions, {complete}>"
        )


def _judged_members(collection: Collection, judged: set[bytes] | None) -> frozenset[bytes]:
    """The digests of the members that were judged appropriate."""
    members = (member.expression.digest for member in collection.members)
    return frozenset(digest for digest in members if judged and digest in judged)
