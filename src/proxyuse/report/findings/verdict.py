"""Sentences about the verdict: why it is what it is, what it means, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import assert_never

from proxyuse import verdict as v
from proxyuse.measure.influence import SquaredChange
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.result import AuditResult, Protected
from proxyuse.words import count, listed

MOST_NAMES = 3
_SQUARED_CHANGE = SquaredChange().name
NOT_TESTED = "To test whether chance could explain these findings, pass `--validity confirm`."


def reason_sentence(reason: v.Reason, protected: str, rows: int, style: Style = TEXT) -> str:
    """Why the verdict on an attribute is what it is.

    Parameters
    ----------
    reason : the reason.
    protected : the name of the attribute.
    rows : the number of rows.

    Examples
    --------
    >>> reason_sentence(v.TooFewRows(4, 60), "sex", 4)
    '4 rows are too few: even a copy of sex could not be confirmed.'
    >>> print(reason_sentence(v.NotConfirmed(14), "coin", 300))
    14 computations are above the thresholds in these 300 rows, but may be below them in the
    population.
    """
    name = style.name(protected)
    match reason:
        case v.TermsUnsettled(items):
            return f"The search is incomplete: {count(items, 'item is', 'items are')} not settled."
        case v.TimeLimitReached(seconds):
            return f"The search is incomplete: it was stopped after {seconds:g} s, as requested."
        case v.StepsNotAnalyzed(steps):
            return (
                f"The search is incomplete: computations inside {_first(steps, style.name)} were "
                "not analyzed and may be proxies."
            )
        case v.NotExhausted(spaces):
            are = "space was" if spaces == 1 else "spaces were"
            return (
                f"The search is incomplete: {spaces:,} {are} searched but not exhausted, which "
                "strict mode requires."
            )
        case v.ColumnsMissing(columns):
            have = "has" if len(columns) == 1 else "have"
            return (
                f"{_first(columns, style.code)} {have} no value in {_these(rows)}, so the search "
                f"cannot see how the model uses {'it' if len(columns) == 1 else 'them'}."
            )
        case v.ConstantAttribute():
            return f"{name} has only one value in {_these(rows)}."
        case v.TooFewRows(few):
            verb = "is" if few == 1 else "are"
            return (
                f"{count(few, 'row')} {verb} too few: even a copy of {name} could not be confirmed."
            )
        case v.NearlyUnique(values, many):
            return (
                f"{name} has {count(values, 'value')} in {count(many, 'row')}, so almost any "
                "computation identifies it."
            )
        case v.InfluenceUnbounded(influence, witnesses) if influence == _SQUARED_CHANGE:
            return (
                f"{_above(witnesses, rows)}, but these rows are too few, or their outputs too "
                "extreme, for confidence bounds on squared change."
            )
        case v.InfluenceUnbounded(influence, witnesses):
            return f"{_above(witnesses, rows)}, but there are no confidence bounds for {influence}."
        case v.TooFewPermutations(witnesses):
            return f"{_above(witnesses, rows)}, but there were too few permutations to decide."
        case v.NotConfirmed(witnesses):
            return f"{_above(witnesses, rows)}, but may be below them in the population."
        case v.NotTested(witnesses):
            them = "it" if witnesses == 1 else "them"
            return (
                f"{_above(witnesses, rows)}. No statistical test was run, so chance could "
                f"explain {them}."
            )
        case v.EpsilonOutOfReach(epsilon, highest):
            return (
                f"No computation in this model can reach an association of {epsilon:g} with "
                f"{name}: the highest possible value is {highest:.3f}."
            )
        case v.ReadsColumns(columns, confirmed):
            verb = "determine" if len(columns) > 1 else "determines"
            if not confirmed:
                verb = "seem to determine" if len(columns) > 1 else "seems to determine"
            return f"The model reads {_first(columns, style.code)}, which {verb} {name}."
        case v.CollectiveUse(members, distributed, confirmed):
            verb = "are" if confirmed else "may be"
            what = "a distributed proxy" if distributed else "a proxy"
            return f"Together, {members:,} computations {verb} {what} for {name}."
        case v.JudgedAppropriate(1):
            return "The only witness was judged appropriate."
        case v.JudgedAppropriate(witnesses):
            return f"All {witnesses:,} witnesses were judged appropriate."
        case _:
            assert_never(reason)


def _first(names: Sequence[str], styled: Callable[[str], str]) -> str:
    """The first names, and how many more there are."""
    shown = [styled(text) for text in names[:MOST_NAMES]]
    more = len(names) - MOST_NAMES
    return listed([*shown, f"{more:,} more"] if more > 0 else shown)


def _above(witnesses: int, rows: int) -> str:
    are = "computation is" if witnesses == 1 else "computations are"
    return f"{witnesses:,} {are} above the thresholds in {_these(rows)}"


def _these(rows: int) -> str:
    return "this row" if rows == 1 else f"these {rows:,} rows"


def advice(reason: v.Reason, protected: str, style: Style = TEXT) -> str:
    """What to do about a reason; empty if there is nothing to do."""
    name = style.name(protected)
    match reason:
        case v.TermsUnsettled():
            return "Pass a larger budget, or higher thresholds."
        case v.TimeLimitReached():
            return "Pass a longer time limit."
        case v.StepsNotAnalyzed():
            return "Replace these steps with transformers that can be translated."
        case v.NotExhausted():
            return "Pass a larger budget, or turn strict mode off."
        case v.ColumnsMissing():
            return "Audit rows in which these values are known."
        case v.ConstantAttribute():
            return f"Audit rows with several values of {name}."
        case v.TooFewRows(_, None):
            return "Audit more rows."
        case v.TooFewRows(_, needed):
            return f"Audit at least {needed:,} rows."
        case v.NearlyUnique():
            return f"Audit more rows, or group the values of {name}."
        case v.InfluenceUnbounded(influence) if influence == _SQUARED_CHANGE:
            return (
                "Audit more rows, or measure influence with a threshold such as moved:100, which "
                "needs fewer rows."
            )
        case v.InfluenceUnbounded():
            return "Use quantitative input influence, or let the audit fail on possible violations."
        case v.TooFewPermutations():
            return "Draw more permutations, or use confidence bounds."
        case v.NotConfirmed():
            return (
                "More rows can settle this. To make the audit fail on possible violations, pass "
                "`--fail-on possible`."
            )
        case v.NotTested():
            return NOT_TESTED
        case v.EpsilonOutOfReach():
            return (
                f"Choose epsilon below that, or group the values of {name}. A percentage such as "
                "50% stands for a share of the highest association that a test can have."
            )
        case v.ReadsColumns(columns):
            it = "it" if len(columns) == 1 else "them"
            return (
                f"If the model may read {it}, record that with `proxyuse judge`. Otherwise train "
                f"the model without {it}."
            )
        case v.CollectiveUse():
            return (
                "If the model may use them, record that with `proxyuse judge`. Otherwise repair "
                "the model with `proxyuse repair`."
            )
        case v.JudgedAppropriate():
            return ""
        case _:
            assert_never(reason)


def explained(protected: Protected, rows: int, style: Style = TEXT) -> list[str]:
    """Why the verdict on an attribute is what it is, and what to do."""
    name = protected.name
    sentences = [
        sentence
        for reason in protected.reasons
        for sentence in (reason_sentence(reason, name, rows, style), advice(reason, name, style))
    ]
    return [sentence for sentence in sentences if sentence]


def undecided(result: AuditResult, protected: Protected, style: Style = TEXT) -> str:
    """That nothing can be said about an attribute, why, and what to do."""
    decided = cannot_be_decided(style.name(protected.name))
    return " ".join([decided, *explained(protected, result.rows, style)])


def cannot_be_decided(names: str) -> str:
    """That the rows or the search give no answer."""
    return f"Proxy use of {names} cannot be decided."


def possible_means(result: AuditResult) -> str:
    """What a possible witness is, and what to do about it."""
    if result.validity is None:
        return NOT_TESTED
    counted = (
        "Possible violations count, as requested."
        if result.fail_on == "possible"
        else "To make the audit fail on possible violations, pass `--fail-on possible`."
    )
    return (
        "Possible means: above the thresholds in these rows, but not confirmed. In the population, "
        f"it may be below them. More rows can settle this. {counted}"
    )


def next_step(result: AuditResult) -> str:
    """What to do about a result that fails."""
    undecidable = [z for z in result.protected if z.verdict is v.Verdict.UNDECIDED]
    fails = result.verdict is v.Verdict.CONFIRMED or (
        result.fail_on == "possible" and result.violations + result.beyond_witnesses > 0
    )
    if not fails and undecidable:
        steps = dict.fromkeys(advice(reason, z.name) for z in undecidable for reason in z.reasons)
        return " ".join(["To decide:", *filter(None, steps)])
    return (
        "If these uses are acceptable, record that with `proxyuse judge` and pass the judgments as "
        "`oracle`. Otherwise replace them with `proxyuse repair`."
    )
