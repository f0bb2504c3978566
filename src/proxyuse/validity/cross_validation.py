"""Cross-validation: what is found in one part of the rows must be found again in the other.

The rows are split at random, again and again, each joint value of the protected attributes in
proportion. Detection runs on one part, as it does on all rows; the witnesses it finds there are
measured on the other. A witness is confirmed when that succeeds in enough splits.

It is simple and asks about both thresholds, but it promises no error rate. A part holds fewer rows
than the sample, so true witnesses near a threshold are lost; and all splits share their rows, so
noise that happens to be strong in the sample is strong in many of its parts.
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
from proxyuse.settings import CrossValidation
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.verdict import Validity, Verdict
from proxyuse.words import count, shortened

FEW_ROWS = 50
"""A part with fewer rows is told."""
MOST_NAMED = 3

Found = dict[Key, Decomposition]
"""Witnesses of some rows, by protected attribute and id."""


class Split(NamedTuple):
    """What one split of the rows showed.

    Attributes
    ----------
    found : the witnesses in both parts.
    fewest : the number of rows of the smaller part.
    lacking : the protected attributes that lack a value in one of the parts.
    """

    found: Found
    fewest: int
    lacking: tuple[str, ...]


def cross_validate(evidence: Evidence, options: CrossValidation) -> Answer:
    """In how many splits of the rows each witness is found in both parts.

    Costs for each split one detection on the analysis part, and on the validation part the
    measures of what was found.
    """
    strata = strata_of(evidence.engine.sample)
    splits = []
    for number in range(options.splits):
        rng = np.random.default_rng([options.seed, number])
        validation = validation_rows(strata, options.share, rng)
        _check_sizes(validation, options.share)
        splits.append(_split(evidence, validation))
    counts = Counter(key for split in splits for key in split.found)
    validities = {}
    for key in (w.key for w in evidence.witnesses):
        enough = counts[key] >= options.needed
        verdict = Verdict.CONFIRMED if enough else Verdict.POSSIBLE
        validities[key] = Validity(verdict, confirmations=counts[key], splits=options.splits)
    remarks = [_done(options, len(strata)), *_told_of_parts(splits)]
    remarks += _told_of_others(evidence, options, splits, counts)
    return Answer(validities, None, tuple(remarks))


def strata_of(sample: Sample) -> Array:
    """A number for each row: equal where all protected attributes are, as they are cut."""
    codes = np.zeros(sample.n_rows, dtype=np.intp)
    for support in sample.attributes:
        _, codes = np.unique(codes * len(support) + support.codes, return_inverse=True)
    return codes


def validation_rows(strata: Array, share: float, rng: np.random.Generator) -> Array:
    """Which rows are kept for validation: a share of each stratum, and of all rows.

    Rows stand in random order, stratum after stratum, and each ``1 / share``-th is taken from a
    random start. So of a stratum of m rows the share is taken up to one row more or less, a
    stratum of one row goes to a part at random, and all rows together keep the share as well.

    Examples
    --------
    >>> strata = np.array([0] * 6 + [1] * 4)
    >>> rows = validation_rows(strata, 0.5, np.random.default_rng(0))
    >>> int(rows[:6].sum()), int(rows[6:].sum())
    (3, 2)
    """
    place_of = rng.permutation(int(strata.max()) + 1)
    order = np.lexsort((rng.random(len(strata)), place_of[strata]))
    steps = np.floor(share * np.arange(len(strata) + 1) + rng.random())
    rows = np.empty(len(strata), dtype=np.bool_)
    rows[order] = np.diff(steps) > 0
    return rows


def _split(evidence: Evidence, validation: Array) -> Split:
    """Detect on one part of the rows, and measure what was found on the other."""
    if any(_undefined(evidence, part) for part in (validation, ~validation)):
        fewest = min(int(validation.sum()), int((~validation).sum()))
        return Split({}, fewest, _lacking(evidence, validation))
    analysis = evidence.again(~validation)
    engine = evidence.engine.on(evidence.population.taking(validation))
    found = {w.key: w.decomposition for w in analysis.witnesses}
    # Detection lists some sets of occurrences only: it may have listed another one on this part.
    missed = {w.key: w.decomposition for w in evidence.witnesses if w.key not in found}
    found |= _passing(analysis.engine, evidence, missed)
    sizes = engine.sample.n_rows, analysis.engine.sample.n_rows
    return Split(_passing(engine, evidence, found), min(sizes), _lacking(evidence, validation))


def _undefined(evidence: Evidence, rows: Array) -> bool:
    """Whether influence is undefined on some rows; then nothing is a witness there."""
    sample = evidence.engine.sample
    try:
        sample.loss.scale(sample.outputs()[rows], sample.weights[rows])
    except DataError:
        return True
    return False


def _passing(engine: Measurement, evidence: Evidence, some: Found) -> Found:
    """Those of some decompositions that are witnesses on the rows of an engine."""
    terms = list({d.expression.digest: d.expression for d in some.values()}.values())
    if not terms:
        return {}
    measured = engine.associations(terms, evidence.association)
    row_of = {term.digest: row for row, term in enumerate(terms)}
    place_of = {name: place for place, name in enumerate(engine.protected_names)}
    close = {
        key: d
        for key, d in some.items()
        if measured[row_of[d.expression.digest], place_of[key[0]]] >= evidence.epsilon
    }
    sites = list({d.sites: None for d in close.values()})
    influences = dict(zip(sites, _influences(engine, sites), strict=True))
    return {key: d for key, d in close.items() if influences[d.sites] > evidence.delta}


def _influences(engine: Measurement, sets: Sequence[tuple[Site, ...]]) -> list[float]:
    """The influence through each set of positions; those of single ones in bulk."""
    singles = [sites[0] for sites in sets if len(sites) == 1]
    known = dict(zip(singles, engine.influences(singles), strict=True)) if singles else {}
    return [known[s[0]] if len(s) == 1 else engine.influence(s) for s in sets]


def _lacking(evidence: Evidence, validation: Array) -> tuple[str, ...]:
    """The protected attributes that have a value which one of the parts lacks."""
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


def _done(options: CrossValidation, rows: int) -> str:
    times = "once" if options.splits == 1 else f"{options.splits:,} times"
    return (
        f"The rows were split at random {times}, {100 * options.share:g} % of {rows:,} for "
        "validation, in proportion to the protected values. A witness is confirmed if it is one in "
        f"both parts of at least {count(options.needed, 'split')}. This guarantees no error rate."
    )


def _told_of_parts(splits: Sequence[Split]) -> list[str]:
    """What is wrong with the parts of some splits."""
    lacking = Counter(name for split in splits for name in split.lacking)
    told = [
        f"In {often:,} of {count(len(splits), 'split')} one part lacks a value of {name}, which "
        "too few rows have."
        for name, often in lacking.items()
    ]
    fewest = min(split.fewest for split in splits)
    if fewest < FEW_ROWS:
        told.append(f"The smaller part has only {fewest} rows, too few for a reliable answer.")
    return told


def _told_of_others(
    evidence: Evidence, options: CrossValidation, splits: Sequence[Split], counts: Counter[Key]
) -> list[str]:
    """What was confirmed often enough without being a witness that was listed for all rows."""
    own = {w.key for w in evidence.witnesses}
    others = {
        key: d
        for split in splits
        for key, d in split.found.items()
        if counts[key] >= options.needed and key not in own
    }
    there = _passing(evidence.engine, evidence, others)
    reported = {(w.protected, w.expression.digest) for w in evidence.witnesses}
    new = {k: d for k, d in there.items() if (k[0], d.expression.digest) not in reported}
    none = {key: d for key, d in others.items() if key not in there}
    told = []
    if none:
        many = count(len(none), "computation is a witness", "computations are witnesses")
        told.append(
            f"{many} in both parts of enough splits, but not on all rows{_such(none, counts)}"
        )
    if new:
        many = count(len(new), "computation is a witness", "computations are witnesses")
        found, left = ("was", "it") if len(new) == 1 else ("were", "them")
        told.append(
            f"{many} on all rows and {found} found again in the splits, but the audit's budget "
            f"left {left} out{_such(new, counts)}"
        )
    return told


def _such(found: Found, counts: Counter[Key]) -> str:
    """The end of a sentence: those that were confirmed most often, as text."""
    order = sorted(found, key=lambda key: (-counts[key], -found[key].associations[key[0]], key))
    texts = [f"`{shortened(found[key].term)}` for {key[0]}" for key in order[:MOST_NAMED]]
    return f"{': ' if len(found) <= MOST_NAMED else ', such as '}{', '.join(texts)}."
