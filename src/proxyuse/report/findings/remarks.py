"""The sentence of each remark on a validity method."""

from __future__ import annotations

from typing import assert_never

from proxyuse.methods import Correction
from proxyuse.report.findings.notes import disclosed
from proxyuse.report.findings.style import plain_code
from proxyuse.validity import remarks as r
from proxyuse.words import count

MOST_TERM = 60


_NOT_TRAINED = (
    ' If the model was not trained on them, pass Confirmation(rows="held-out"), or --rows-are '
    "held-out."
)


def remark_sentence(remark: r.Remark, min_cell: int = 1) -> str:
    """A remark as a sentence; numbers of rows below `min_cell` are withheld.

    Examples
    --------
    >>> from proxyuse.notes import RowCount
    >>> remark_sentence(r.SmallPart(RowCount(3)), min_cell=5)
    'The smaller part has fewer than 5 rows, too few for a reliable answer.'
    """
    match remark:
        case r.ConfirmationLevel(alpha, tests, operators):
            sums = ", and for every partial sum" if operators else ""
            return (
                "If the rows were drawn independently, the chance of confirming even one "
                f"computation that is not a witness in the population is at most {_level(alpha)}. "
                f"This accounts for all {_counted(tests)}{sums}."
            )
        case r.TrainingRows(detected):
            why = " (what the model stores about its training data matches them)"
            return (
                f"The model was trained on these rows{why if detected else ''}. Confirmation "
                "accounts for everything that training could have chosen, so large computations "
                "are not confirmed. Audit on held-out rows to confirm more."
                + (_NOT_TRAINED if detected else "")
            )
        case r.AssumedHeldOut():
            return (
                "This holds if the model was not trained on these rows. If it was, pass "
                'Confirmation(rows="training"), or --rows-are training.'
            )
        case r.CopiedRows(rows):
            are = "is a copy of another row" if rows.rows == 1 else "are copies of other rows"
            return (
                f"{disclosed(rows, min_cell)} {are}. Each set of copies counts as one observation."
            )
        case r.Clusters(rows, clusters):
            return (
                f"The {rows:,} rows form {count(clusters, 'cluster')}, and each cluster counts as "
                "one observation."
            )
        case r.UnequalWeights(rows, size):
            return (
                f"Each of the {rows:,} rows is one observation, whatever its weight. Because "
                f"weights differ, they carry as much information as {size:,.0f} rows of equal "
                "weight."
            )
        case r.WeightsAreCounts(rows, records):
            return f"By weight, the {rows:,} rows represent {records:,.0f} records."
        case r.NoBounds(influence):
            return (
                f"There are no confidence bounds for {influence}, so no witness can be confirmed. "
                "Use quantitative input influence, squared change or a threshold such as "
                "moved:100."
            )
        case r.SquaredChangeBounds():
            return (
                "The bounds on squared change allow for a few outputs beyond the largest in these "
                "rows. There is no bound if the rows are too few for that, if a few extreme "
                "outputs decide the variance, or if the bound would take too long to compute. Such "
                "a witness cannot be decided. A threshold such as moved:100 needs fewer rows."
            )
        case r.SplitProcedure(splits, share, rows, needed):
            times = "once" if splits == 1 else f"{splits:,} times"
            return (
                f"The rows were split at random {times}, with {_level(share)} of {rows:,} for "
                "validation, in proportion to the protected values. A witness is confirmed if it "
                f"is one in both parts of at least {count(needed, 'split')}. This guarantees no "
                "error rate."
            )
        case r.ValueLacking(attribute, splits, total):
            return (
                f"In {splits:,} of {count(total, 'split')}, one part has no row with some value of "
                f"{attribute}, because too few rows have that value."
            )
        case r.SmallPart(rows):
            return (
                f"The smaller part has {disclosed(rows, min_cell)}, too few for a reliable answer."
            )
        case r.OtherWitnesses():
            return _others(remark)
        case r.ChosenByRows():
            return (
                "Not all computations were measured, and the choice depended on these rows. The "
                "number of tests counts only the measured ones."
            )
        case (
            r.PermutationLevel()
            | r.ExactPValues()
            | r.WeightsKept()
            | r.RecordsPermuted()
            | r.IndependenceOnly()
            | r.TooFewPermutations()
        ):
            return _permutation_sentence(remark)
        case _:
            assert_never(remark)


def _permutation_sentence(
    remark: r.PermutationLevel
    | r.ExactPValues
    | r.WeightsKept
    | r.RecordsPermuted
    | r.IndependenceOnly
    | r.TooFewPermutations,
) -> str:
    match remark:
        case r.PermutationLevel(tests, permutations, seed, correction, alpha):
            drawn = count(permutations, "permutation")
            promise = _PROMISES[correction].format(_level(alpha))
            return f"Permutation test of {_counted(tests)} with {drawn} (seed {seed}){promise}"
        case r.ExactPValues(0):
            return (
                "Exact p-values were requested, but no test allows them. They need two-valued "
                "computations and attributes with integer counts, and a correction other than "
                "Westfall-Young."
            )
        case r.ExactPValues(number):
            return count(number, "p-value is exact.", "p-values are exact.")
        case r.WeightsKept():
            return (
                "Rows kept their weights while protected values were permuted. Each row is one "
                "observation, whatever its weight."
            )
        case r.RecordsPermuted(records):
            return (
                f"Protected values were permuted over the {records:,.0f} records that the rows "
                "represent by weight."
            )
        case r.IndependenceOnly():
            return (
                "The test does not check whether the association reaches epsilon. It does not "
                "check influence."
            )
        case r.TooFewPermutations():
            return _too_few(remark)
        case _:
            assert_never(remark)


_ANY = (
    "the chance of confirming even one computation that is independent of the protected attribute"
)
_JOINTLY = (
    "the chance of confirming even one of the computations that are jointly independent of the "
    "protected attribute"
)
_PROMISES: dict[Correction, str] = {
    "westfall-young": f", corrected by Westfall-Young: {_JOINTLY} is at most {{}}.",
    "holm": f", corrected by Holm: {_ANY} is at most {{}}.",
    "bonferroni": f", corrected by Bonferroni: {_ANY} is at most {{}}.",
    "benjamini-hochberg": (
        ", corrected by Benjamini-Hochberg: the expected share of independent computations "
        "among the confirmed ones is at most {}, so some of the confirmed ones may be independent."
    ),
    "none": (
        ". Not corrected for the number of tests: about {} of the independent computations pass."
    ),
}


def _too_few(remark: r.TooFewPermutations) -> str:
    """Advice on how to reach a decision."""
    counted, remedies = "", ["Draw more"]
    if remark.tests is not None:
        counted = f"with {count(remark.tests, 'test')}, "
        if not remark.exact:
            remedies.append("request exact p-values")
        remedies.append("or use the Westfall-Young correction")
    drawn = count(remark.permutations, "permutation is", "permutations are")
    return (
        f"{drawn} too few to decide on {count(remark.undecided, 'witness', 'witnesses')}: "
        f"{counted}at least {remark.needed:,} are needed. {', '.join(remedies)}."
    )


def _others(remark: r.OtherWitnesses) -> str:
    """Computations that pass in the splits, with examples."""
    texts = [f"{plain_code(term, MOST_TERM)} for {name}" for term, name in remark.examples]
    examples = f"{': ' if remark.number <= len(texts) else ', such as '}{', '.join(texts)}."
    many = count(remark.number, "computation is a witness", "computations are witnesses")
    match remark.reason:
        case "parts only":
            return f"{many} in both parts of enough splits, but not on all rows{examples}"
        case "budget":
            them = "it" if remark.number == 1 else "them"
            return f"{many} on all rows and in the splits, but the budget excluded {them}{examples}"
        case _:
            assert_never(remark.reason)


def _counted(tests: r.Hypotheses) -> str:
    computations = count(tests.computations, "computation")
    if tests.attributes == 1:
        return computations
    pairs = count(tests.pairs, "pair")
    return f"{pairs} of {computations} and {tests.attributes} protected attributes"


def _level(share: float) -> str:
    """A share that the caller chose, with all its digits.

    Examples
    --------
    >>> _level(0.05), _level(0.001)
    ('5%', '0.1%')
    """
    return f"{100 * share:g}%"
