"""The explicit uses of an audit, as a result has them."""

from __future__ import annotations

import math

from proxyuse.detect.decompositions import Decomposition
from proxyuse.judge.judgment import Oracle, judgment_of
from proxyuse.report.disclosure import share_step
from proxyuse.report.inputs import Audited
from proxyuse.report.other_findings import ClosestTest, ExplicitUse, Judgment
from proxyuse.report.reading import shown_text
from proxyuse.report.release import Release
from proxyuse.validity import explicit_use
from proxyuse.validity.column_rules import Prediction
from proxyuse.verdict import Verdict

_DECIMALS = 4


def explicit_of(
    audit: Audited, protected: str, oracle: Oracle | None, release: Release
) -> tuple[ExplicitUse, ...]:
    """The explicit uses of one protected attribute, with their judgments."""
    return tuple(
        _explicit(audit, use, oracle, release)
        for use in audit.explicit
        if use.protected == protected
    )


def _explicit(
    audit: Audited, use: explicit_use.ExplicitUse, oracle: Oracle | None, release: Release
) -> ExplicitUse:
    judgment, column, prediction = (
        judgment_of(oracle, use.witness),
        use.decomposition,
        use.prediction,
    )
    low, high = use.influence_interval or (None, None)
    return ExplicitUse(
        column=use.column,
        how=use.how,
        verdict=use.verdict,
        id=None if column is None else column.id,
        occurrences=0 if column is None else column.occurrences,
        influence=_rounded(use.influence),
        influence_low=None if low is None else _floor(low),
        influence_high=None if high is None else -_floor(-high),
        **_prediction(prediction, release.min_cell, release.withholds(use.protected)),
        repeats_witness=_repeats(audit, use),
        tests=tuple(_test(audit, test, use.protected, release) for test in use.tests),
        judgment=None
        if judgment is None
        else Judgment(judgment.appropriate, judgment.reason, judgment.by),
    )


def _prediction(
    prediction: Prediction | None, min_cell: int, withholds: bool
) -> dict[str, float | None]:
    """The shares of held-out rows; rounded down if they would reveal a small number of errors.

    If counts are withheld, other possible data have a few more errors, so a share is lowered by
    another step.
    """
    names = ("accuracy", "accuracy_low", "others", "others_low")
    if prediction is None:
        return dict.fromkeys(names)
    totals = {"accuracy": prediction.rows, "others": prediction.other_rows}
    errors = [(1 - getattr(prediction, name)) * rows for name, rows in totals.items()]
    small = withholds or min(*errors, errors[0] - errors[1]) < min_cell > 1
    shares: dict[str, float | None] = {}
    for name in names:
        share = float(getattr(prediction, name))
        rows = totals[name.removesuffix("_low")]
        step = share_step(rows, min_cell) if small else 0.0
        if step is None:
            shares[name] = 0.0
        elif step:
            steps = math.floor(share / step + 1e-9) - withholds
            shares[name] = max(0.0, round(min(steps * step, 1 - step), _DECIMALS))
        else:
            shares[name] = _floor(share) if name.endswith("_low") else _rounded(share)
    return shares


def _repeats(audit: Audited, use: explicit_use.ExplicitUse) -> bool:
    """Whether a witness already shows what an explicit use says.

    What an attribute was derived from is always shown.
    """
    z = next(z for z in audit.population.protected if z.name == use.protected)
    if use.witness is None or (use.how == "declared" and z.derivation is not None):
        return False
    own = [w.verdict for w in audit.witnesses if w.key == use.witness.key]
    return bool(own) and (own[0] is Verdict.CONFIRMED or not use.confirmed)


def _test(audit: Audited, test: Decomposition, protected: str, release: Release) -> ClosestTest:
    reading, _ = shown_text(test.expression, audit.population.columns)
    exact = test.associations[protected]
    association = release.association(test.expression, protected, exact)
    influence = _rounded(test.influence)
    return ClosestTest(test.id, reading, association.value, influence, association.range)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DECIMALS)


def _floor(value: float) -> float:
    return float(math.floor(value * 10**_DECIMALS) / 10**_DECIMALS)
