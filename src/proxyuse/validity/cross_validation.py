"""Cross-validation: a witness on one part of the rows must be a witness on the other part too.

The rows are split at random several times, stratified by the joint values of the protected
attributes. Detection runs on the analysis part, as on all rows, and its witnesses are measured on
the validation part. A witness is confirmed if it passes in enough splits.

The method is simple and checks both thresholds, but it guarantees no error rate. A part has fewer
rows than the sample, so true witnesses near a threshold are lost. All splits share their rows, so
noise that is strong in the sample is strong in many of its parts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Site
from proxyuse.measure.engine import Measurement
from proxyuse.measure.sample import Sample
from proxyuse.methods import CrossValidation
from proxyuse.notes import RowCount
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.validity.remarks import (
    OtherWitnesses,
    Remark,
    SmallPart,
    SplitProcedure,
    ValueLacking,
)
from proxyuse.verdict import Validity, Verdict

FEW_ROWS = 50
"""A remark warns about parts with fewer rows."""
MOST_NAMED = 3

Decomposed = dict[Key, Decomposition]
"""Decompositions by protected attribute and id."""


class Split(NamedTuple):
    """The result of one split of the rows.

    Attributes
    ----------
    witnesses : the witnesses in both parts.
    fewest : the number of rows of the smaller part.
    lacking : the protected attributes that lack a value in one of the parts.
    """

    witnesses: Decomposed
    fewest: int
    lacking: tuple[str, ...]


def cross_validate(evidence: Evidence, options: CrossValidation) -> Answer:
    """Count the splits of the rows in which each witness passes in both parts.

    Takes one detection on the analysis part per split, and the measures of its witnesses on the
    validation part.
    """
    strata = strata_of(evidence.engine.sample)
    splits = []
    for number in range(options.splits):
        rng = np.random.default_rng([options.seed, number])
        validation = validation_rows(strata, options.share, rng)
        _check_sizes(validation, options.share)
        splits.append(_split(evidence, validation))
    counts = Counter(key for split in splits for key in split.witnesses)
    validities = {}
    for key in (w.key for w in evidence.witnesses):
        enough = counts[key] >= options.needed
        verdict = Verdict.CONFIRMED if enough else Verdict.POSSIBLE
        validities[key] = Validity(verdict, confirmations=counts[key], splits=options.splits)
    procedure = SplitProcedure(options.splits, options.share, len(strata), options.needed)
    remarks: list[Remark] = [procedure, *_remarks_on_parts(splits)]
    remarks += _remarks_on_others(evidence, options, splits, counts)
    return Answer(validities, None, tuple(remarks))


def strata_of(sample: Sample) -> Array:
    """The stratum of each row: rows with equal protected values, after binning, share one."""
    codes = np.zeros(sample.n_rows, dtype=np.intp)
    for support in sample.attributes:
        _, codes = np.unique(codes * len(support) + support.codes, return_inverse=True)
    return codes


def validation_rows(strata: Array, share: float, rng: np.random.Generator) -> Array:
    """A mask of the validation rows: a share of each stratum, and of all rows.

    Systematic sampling: rows are in random order within their stratum, strata follow each other,
    and every ``1 / share``-th row is taken from a random start. So the share of each stratum is
    exact up to one row, a stratum of one row goes to a random part, and the total is exact too.

    Examples
    --------
    >>> strata = np.array([0] * 6 + [1] * 4)
    >>> rows = validation_rows(strata, 0.5, np.random.default_rng(0))
    >>> int(rows[:6].sum()), int(rows[6:].sum())
    (3, 2)
    """
    rank = rng.permutation(int(strata.max()) + 1)
    order = np.lexsort((rng.random(len(strata)), rank[strata]))
    steps = np.floor(share * np.arange(len(strata) + 1) + rng.random())
    rows = np.empty(len(strata), dtype=np.bool_)
    rows[order] = np.diff(steps) > 0
    return rows


def _split(evidence: Evidence, validation: Array) -> Split:
    """Detect on the analysis part, and measure its witnesses on the validation part."""
    if any(_undefined(evidence, part) for part in (validation, ~validation)):
        fewest = min(int(validation.sum()), int((~validation).sum()))
        return Split({}, fewest, _lacking(evidence, validation))
    analysis = evidence.again(~validation)
    engine = evidence.engine.on(evidence.population.taking(validation))
    witnesses = {w.key: w.decomposition for w in analysis.witnesses}
    # Detection lists only some sets of occurrences, and may list different ones on this part.
    missed = {w.key: w.decomposition for w in evidence.witnesses if w.key not in witnesses}
    witnesses |= _passing(analysis.engine, evidence, missed)
    sizes = engine.sample.n_rows, analysis.engine.sample.n_rows
    return Split(_passing(engine, evidence, witnesses), min(sizes), _lacking(evidence, validation))


def _undefined(evidence: Evidence, rows: Array) -> bool:
    """Whether influence is undefined on some rows, so that there are no witnesses."""
    sample = evidence.engine.sample
    try:
        sample.loss.scale(sample.outputs()[rows], sample.weights[rows])
    except DataError:
        return True
    return False


def _passing(engine: Measurement, evidence: Evidence, decompositions: Decomposed) -> Decomposed:
    """The decompositions that are witnesses on the rows of a measurement."""
    terms = list({d.expression.digest: d.expression for d in decompositions.values()}.values())
    if not terms:
        return {}
    associations = engine.associations(terms, evidence.association)
    row_of = {term.digest: row for row, term in enumerate(terms)}
    column_of = {name: column for column, name in enumerate(engine.protected_names)}
    associated = {
        key: d
        for key, d in decompositions.items()
        if associations[row_of[d.expression.digest], column_of[key[0]]] >= evidence.epsilon
    }
    sites = list({d.sites: None for d in associated.values()})
    influences = dict(zip(sites, _influences(engine, sites), strict=True))
    return {key: d for key, d in associated.items() if influences[d.sites] > evidence.delta}


def _influences(engine: Measurement, sets: Sequence[tuple[Site, ...]]) -> list[float]:
    """The influence through each set of positions, with single positions in bulk."""
    singles = [sites[0] for sites in sets if len(sites) == 1]
    known = dict(zip(singles, engine.influences(singles), strict=True)) if singles else {}
    return [known[s[0]] if len(s) == 1 else engine.influence(s) for s in sets]


def _lacking(evidence: Evidence, validation: Array) -> tuple[str, ...]:
    """The protected attributes with a value that is absent from one of the parts."""
    sample = evidence.engine.sample
    return tuple(
        name
        for name, support in zip(sample.protected_names, sample.attributes, strict=True)
        if any(
            len(np.unique(support.codes[part])) < len(support) for part in (validation, ~validation)
        )
    )


def _check_sizes(validation: Array, share: float) -> None:
    kept, rows = int(validation.sum()), len(validation)
    if min(kept, rows - kept) < 2:
        raise DataError(
            f"{rows} rows cannot be split for cross-validation: with a share of {share:g} a part "
            f"would have {min(kept, rows - kept)} of them, and each needs at least 2; pass more "
            "rows or another share"
        )


def _remarks_on_parts(splits: Sequence[Split]) -> list[Remark]:
    """Remarks on parts that lack values or have few rows."""
    lacking = Counter(name for split in splits for name in split.lacking)
    remarks: list[Remark] = [
        ValueLacking(name, often, len(splits)) for name, often in lacking.items()
    ]
    fewest = min(split.fewest for split in splits)
    if fewest < FEW_ROWS:
        remarks.append(SmallPart(RowCount(fewest)))
    return remarks


def _remarks_on_others(
    evidence: Evidence, options: CrossValidation, splits: Sequence[Split], counts: Counter[Key]
) -> list[Remark]:
    """Remarks on computations that pass in enough splits but are not listed for all rows."""
    own = {w.key for w in evidence.witnesses}
    others = {
        key: d
        for split in splits
        for key, d in split.witnesses.items()
        if counts[key] >= options.needed and key not in own
    }
    on_all_rows = _passing(evidence.engine, evidence, others)
    reported = {(w.protected, w.expression.digest) for w in evidence.witnesses}
    new = {k: d for k, d in on_all_rows.items() if (k[0], d.expression.digest) not in reported}
    in_parts_only = {key: d for key, d in others.items() if key not in on_all_rows}
    remarks: list[Remark] = []
    if in_parts_only:
        examples = _examples(in_parts_only, counts)
        remarks.append(OtherWitnesses("parts only", len(in_parts_only), examples))
    if new:
        remarks.append(OtherWitnesses("budget", len(new), _examples(new, counts)))
    return remarks


def _examples(some: Decomposed, counts: Counter[Key]) -> tuple[tuple[str, str], ...]:
    """The computations that pass in most splits, each with its protected attribute."""
    order = sorted(some, key=lambda key: (-counts[key], -some[key].associations[key[0]], key))
    return tuple((some[key].term, key[0]) for key in order[:MOST_NAMED])
