"""An audit as a document: what a later reader, a report, `diff` and a CI job need, as JSON.

The document is an interface that is kept: `audit.schema.json` describes it, readers may rely on
what is there, and what is added later may be ignored. It holds no rows of data, no clock times and
no folders: the same audit gives the same bytes. Numbers of rows are printed as `disclosure` says,
measures with four decimals, and reach no finer than `min_cell` rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness, groups_of
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Judgment, Oracle, judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var, variables
from proxyuse.lang.positions import Site
from proxyuse.lang.text import Texts
from proxyuse.measure.association.information import entropy
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.notes import NoteKind
from proxyuse.output.words import describe_term
from proxyuse.program import Program
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.inputs import Audited
from proxyuse.report.remarks import remarks, without_small_counts
from proxyuse.report.tables import RowTables
from proxyuse.validity.content import assessment_content, validity_content
from proxyuse.verdict import counts

FORMAT = "proxyuse audit"
VERSION = 1
MIN_CELL = 5

_JUDGED = ("appropriate", "reason", "by")

MOST_TEXT = 4000  # characters of a computation
MOST_POSITIONS = 50
MOST_UNSETTLED = 100
NEAREST = 5
DECIMALS = 4


def document(
    audit: Audited,
    *,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
    oracle: Oracle | None = None,
    confirmed_only: bool = False,
    most_groups: int | None = None,
) -> dict[str, Any]:
    """Everything a reader needs to know of an audit, fit for JSON.

    Parameters
    ----------
    audit : what was found.
    about : what the caller knows of model and data: names of files, hashes, how many rows were
        read; anything that JSON can hold.
    min_cell : numbers of rows below this are not printed, nor what they could be computed from;
        1 prints all.
    oracle : who judges whether a witness is appropriate; see `Audit.violations`.
    confirmed_only : whether only violations that statistics confirm count for the exit code.
    most_groups : list only the representative and the strongest witness of so many groups, which
        is faster; the default lists every witness. Counts are always those of all witnesses.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> found = document(pu.audit(program, data, protected="pregnant"))
    >>> found["result"], found["complete"], len(found["witnesses"])
    ('proxy use', True, 3)
    >>> found["groups"][0]["front"] == found["witnesses"][0]["id"]
    True
    >>> found["witnesses"][0]["reading"], found["witnesses"][0]["association"]
    ('the value of vitamins', 1.0)
    """
    check_min_cell(min_cell)
    writer = _Writer(audit, int(min_cell))
    judged = [judgment_of(oracle, witness) for witness in audit.witnesses]
    violations = sum(said is None or not said.appropriate for said in judged)
    association, influence = audit.measures
    listed = None
    if most_groups is not None:
        groups = groups_of(audit.witnesses)[:most_groups]
        listed = {w.key for group in groups for w in (group.representative, group.strongest)}
    return {
        "format": FORMAT,
        "version": VERSION,
        "proxyuse": installed_version(),
        "about": _about(about),
        "result": result_of(violations, len(audit.witnesses), audit.complete),
        "violations": violations,
        "complete": audit.complete,
        "thresholds": {"epsilon": float(audit.epsilon), "delta": float(audit.delta)},
        "measures": {
            "association": association,
            "influence": influence,
            "sampled": any(note.kind is NoteKind.SAMPLED for note in audit.notes),
        },
        "min_cell": int(min_cell),
        "rows": audit.population.n_rows,
        "total_weight": _plain(audit.population.total),
        "weighted": bool((audit.population.weights != 1).any()),
        "program": {"size": audit.program.size, "variables": list(audit.program.variables)},
        "decompositions": len(audit.decompositions),
        "validity": _validity(audit, judged, int(min_cell), confirmed_only),
        "protected": writer.protected(),
        "groups": writer.groups(),
        "witnesses": [
            writer.witness(witness, said)
            for witness, said in zip(audit.witnesses, judged, strict=True)
            if listed is None or witness.key in listed
        ],
        "references": writer.references(),
        "nearest": writer.nearest(),
        "notes": remarks(audit.notes, int(min_cell)),
        "unsettled": {
            "count": len(audit.unsettled),
            "listed": [str(item) for item in audit.unsettled[:MOST_UNSETTLED]],
        },
    }


def ceiling(masses: Array) -> float:
    """The largest normalized mutual information that two distributions leave room for.

    ``I(X; Z) <= min(H(X), H(Z))`` and ``H(X, Z) >= max(H(X), H(Z))``, so no computation whose
    values are distributed as the rows of the table has more than
    ``min(H(X), H(Z)) / max(H(X), H(Z))`` with an attribute distributed as its columns.

    Examples
    --------
    >>> ceiling(np.array([[5.0, 0.0], [0.0, 5.0]])), ceiling(np.array([[3.0, 4.0]]))
    (1.0, 0.0)
    >>> round(ceiling(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.8113
    """
    ends = entropy(masses.sum(axis=1)), entropy(masses.sum(axis=0))
    if min(ends) == 0:
        return 0.0
    ratio = min(ends) / max(ends)
    return 1.0 if ratio > 1 - 1e-12 else ratio  # entropies of equal masses in another order


def figure(value: float, decimals: int = DECIMALS) -> float:
    """A measure as it is printed: 0 or 1 only if it is.

    Examples
    --------
    >>> figure(0.20751874), figure(0.9999999), figure(1e-9), figure(1.0)
    (0.2075, 0.9999, 0.0001, 1.0)
    """
    step = 10.0**-decimals
    if 0 < value < 1:
        return round(min(max(value, step), 1 - step), decimals)
    return round(value, decimals) + 0.0


def reach_decimals(min_cell: int, rows: int) -> int:
    """How many decimals of a share of rows are printed: no finer than `min_cell` rows.

    Examples
    --------
    >>> reach_decimals(5, 800), reach_decimals(1, 800), reach_decimals(5, 10**9)
    (2, 4, 4)
    """
    grain = math.ceil(math.log10(min_cell / rows))
    return DECIMALS if min_cell == 1 else min(max(-grain, 1), DECIMALS)


def installed_version() -> str:
    """The version of proxyuse."""
    try:
        return metadata.version("proxyuse")
    except metadata.PackageNotFoundError:
        return "unknown"


class _Writer:
    """The parts of a document that need measured computations; each is described once."""

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self.audit = audit
        self.tables = RowTables(audit, min_cell)
        self.informative = audit.measures[0] == NormalizedMutualInformation().name
        self.reach_decimals = reach_decimals(min_cell, audit.population.n_rows)
        self._texts = Texts(audit.program.precision)
        self._told: dict[bytes, dict[str, Any]] = {}
        self._joint: dict[tuple[bytes, str], JointTable] = {}
        self._printed: dict[tuple[bytes, str], dict[str, Any]] = {}

    def protected(self) -> list[dict[str, Any]]:
        """The protected attributes and their values."""
        witnesses = self.audit.witnesses
        return [
            {
                "name": z.name,
                "read_by_model": z.name in self.audit.explicit_use,
                "witnesses": sum(w.protected == z.name for w in witnesses),
                "groups": len({w.group for w in witnesses if w.protected == z.name}),
                "values": self.tables.values(z.name),
            }
            for z in self.audit.population.protected
        ]

    def groups(self) -> list[dict[str, Any]]:
        """Groups of nested witnesses, that of the strongest witness first."""
        return [
            {
                "protected": group.protected,
                "group": group.number,
                "front": group.representative.id,
                "strongest": group.strongest.id,
                "witnesses": len(group.witnesses),
            }
            for group in groups_of(self.audit.witnesses)
        ]

    def witness(self, witness: Witness, said: Judgment | None) -> dict[str, Any]:
        """One witness with what was said of it and its table."""
        found, name = witness.decomposition, witness.protected
        masses = self._table(found, name).masses
        return {
            "id": witness.id,
            "protected": name,
            "explicit": witness.explicit,
            "group": witness.group,
            **self._computation(found),
            **self._figures(found, name),
            "guess": {
                "informed": figure(float(masses.max(axis=1).sum() / masses.sum())),
                "blind": figure(float(masses.sum(axis=0).max() / masses.sum())),
            },
            "validity": self.audit.validity and validity_content(self.audit.validity, witness),
            "judgment": said and {field: getattr(said, field) for field in _JUDGED},
            "table": self._printed_table(found, name),
        }

    def references(self) -> list[dict[str, Any]]:
        """The figures of each variable, at all its places, and of the output, to compare with."""
        measured = self.audit.decompositions
        found: dict[str, Decomposition] = {}
        root = None
        for place, (term, sites) in enumerate(zip(measured.terms, measured.sites, strict=True)):
            if isinstance(term, Var):
                known = found.get(term.name)
                if known is None or known.occurrences < len(sites):
                    found[term.name] = measured[place]
            if Site(0) in sites:
                root = measured[place]
        named = [("variable", name, found.get(name)) for name in self.audit.program.variables]
        witnesses = {w.key for w in self.audit.witnesses}
        return [
            self._reference(z.name, kind, name, measured, witnesses)
            for z in self.audit.population.protected
            for kind, name, measured in [*named, ("output", None, root)]
        ]

    def _reference(
        self,
        protected: str,
        kind: str,
        name: str | None,
        found: Decomposition | None,
        witnesses: set[tuple[str, str]],
    ) -> dict[str, Any]:
        figures = dict.fromkeys(("association", "ceiling", "influence", "reach"))
        return {
            "protected": protected,
            "kind": kind,
            "name": name,
            "id": found and found.id,
            "witness": found is not None and (protected, found.id) in witnesses,
            "occurrences": found.occurrences if found else 0,
            **(figures if found is None else self._figures(found, protected)),
        }

    def nearest(self) -> list[dict[str, Any]]:
        """For attributes without witnesses, the computations that come nearest to being one."""
        with_witness = {w.protected for w in self.audit.witnesses}
        return [
            self._near(decomposition, z.name)
            for z in self.audit.population.protected
            if z.name not in with_witness
            for decomposition in self._nearest(z.name)
        ]

    def _nearest(self, protected: str) -> list[Decomposition]:
        """The computations with the least way to go to the threshold they are further from."""
        measured = self.audit.decompositions
        associations = measured.associations[:, measured.protected.index(protected)]
        to_go = _to_go(associations, self.audit.epsilon)
        influence_to_go = np.nan_to_num(_to_go(measured.influences, self.audit.delta))
        order = np.lexsort(
            (-associations, to_go + influence_to_go, np.fmax(to_go, influence_to_go))
        )
        found: dict[bytes, Decomposition] = {}
        for place in order.tolist():
            decomposition = measured[place]
            found.setdefault(decomposition.expression.digest, decomposition)
            if len(found) == NEAREST:
                break
        return list(found.values())

    def _near(self, found: Decomposition, protected: str) -> dict[str, Any]:
        short = max(0.0, self.audit.epsilon - found.associations[protected])
        delta = self.audit.delta
        lacking = None if found.influence is None else max(0.0, delta - found.influence)
        return {
            "id": found.id,
            "protected": protected,
            **self._computation(found),
            **self._figures(found, protected),
            "association_short_by": figure(short),
            "influence_short_by": None if lacking is None else figure(lacking),
        }

    def _computation(self, found: Decomposition) -> dict[str, Any]:
        term = found.expression
        if term.digest not in self._told:
            self._told[term.digest] = self._text(term)
        sites = found.sites[:MOST_POSITIONS]
        points = self.audit.program.points
        origins = (_origin(self.audit.program, site) for site in sites)
        return {
            **self._told[term.digest],
            "occurrences": found.occurrences,
            "positions": [str(points.position(site)) for site in sites],
            "origins": list(dict.fromkeys(filter(None, origins))),
        }

    def _text(self, term: Term) -> dict[str, Any]:
        text = self._texts.beginning(term, MOST_TEXT)
        return {
            "reading": describe_term(term, text, self.audit.population.columns),
            "term": text,
            "term_length": self._texts.length(term),
            "operator": term.tag,
            "variables": sorted(variables(term)),
            "size": term.size,
        }

    def _figures(self, found: Decomposition, protected: str) -> dict[str, Any]:
        most = ceiling(self._table(found, protected).masses) if self.informative else None
        return {
            "association": figure(found.associations[protected]),
            "ceiling": None if most is None else figure(most),
            "influence": None if found.influence is None else figure(found.influence),
            "reach": figure(found.reach, self.reach_decimals),
        }

    def _table(self, found: Decomposition, protected: str) -> JointTable:
        key = found.expression.digest
        if (key, protected) not in self._joint:
            for name, table in found.tables.items():
                self._joint[key, name] = table
        return self._joint[key, protected]

    def _printed_table(self, found: Decomposition, protected: str) -> dict[str, Any]:
        key = found.expression.digest, protected
        if key not in self._printed:
            table = self._table(found, protected)
            self._printed[key] = self.tables.printed(found.expression, table)
        return self._printed[key]


def _validity(
    audit: Audited, judged: Sequence[Judgment | None], min_cell: int, confirmed_only: bool
) -> dict[str, Any] | None:
    """What statistics were asked of the witnesses, and how many violations they confirm."""
    if audit.validity is None:
        if confirmed_only:
            raise DataError(
                "only confirmed witnesses are to count, but nothing was asked that could confirm "
                'them; audit with validity="confirm", "permutation" or "cross-validation"'
            )
        return None
    found = assessment_content(audit.validity, audit.witnesses)
    left = counts(
        audit.validity.of(witness).verdict
        for witness, said in zip(audit.witnesses, judged, strict=True)
        if said is None or not said.appropriate
    )
    return {
        **found,
        "remarks": [without_small_counts(text, min_cell) for text in found["remarks"]],
        "confirmed_violations": left["confirmed"],
        "undecided_violations": left["undecided"],
        "confirmed_only": bool(confirmed_only),
    }


def result_of(violations: int, witnesses: int, complete: bool) -> str:
    """The result in two words."""
    if violations:
        return "proxy use"
    if witnesses:
        return "judged appropriate"
    return "none found" if complete else "not settled"


def _to_go(values: Array, threshold: float) -> Array:
    """Which share of the way to a threshold is left; of one of 0, all until it is passed."""
    if threshold > 0:
        return np.maximum(0.0, 1 - values / threshold)
    return np.where(values > 0, 0.0, 1.0)


def _origin(program: Program, site: Site) -> str | None:
    """Where the part at a site came from: its own origin, or that of the nearest point above."""
    point = site.point
    while point >= 0:
        origin = program.origins.get(program.points.written[point])
        if origin is not None:
            return str(origin)
        point = program.points.parents[point]
    return None


def _plain(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _about(about: Mapping[str, object] | None) -> dict[str, Any]:
    """What the caller says, as JSON would give it back."""
    try:
        said: dict[str, Any] = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise DataError(f"about: {error}; pass texts, finite numbers, lists and mappings") from None
    return said
