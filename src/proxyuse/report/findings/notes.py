"""The sentence of each note."""

from __future__ import annotations

from typing import assert_never

from proxyuse import notes as n
from proxyuse.words import count, listed, short_decimals

DIGITS = 6
"""The digits of a threshold in a note; the program has the exact number."""


def note_sentence(note: n.Note, min_cell: int = 1) -> str:
    """A note as a sentence; numbers of rows below `min_cell` are withheld.

    Examples
    --------
    >>> note_sentence(n.ZeroWeight(n.RowCount(3)))
    'Dropped 3 rows of weight 0.'
    >>> note_sentence(n.ZeroWeight(n.RowCount(3)), min_cell=5)
    'Dropped fewer than 5 rows of weight 0.'
    >>> note_sentence(n.MissingCounted("2 rows", n.RowCount(7, private=True)), min_cell=5)
    "'2 rows' is missing in some rows. Missing counts as a value."
    """

    def rows(number: n.RowCount, noun: str = "row") -> str:
        return disclosed(number, min_cell, noun)

    match note:
        case n.ZeroWeight(number):
            return f"Dropped {rows(number)} of weight 0."
        case n.MissingDropped(attributes, number):
            names = " or ".join(map(repr, attributes))
            return f"Dropped {rows(number)} without a value for {names}."
        case n.MissingCounted(attribute, number):
            return f"{attribute!r} is missing in {rows(number)}. Missing counts as a value."
        case n.DerivedAttribute(attribute, expression, columns):
            names = listed(f"`{name}`" for name in columns)
            return f"{attribute!r} is derived from {names}: {expression}."
        case n.ProtectedBinned(attribute, bins):
            return f"The values of {attribute!r} were cut into {bins} bins."
        case n.ComputationsBinned(number, bins):
            return (
                f"The values of {count(number, 'computation')} were cut into {bins} bins to "
                "measure association."
            )
        case n.ComputationsCut(number, most):
            have = "has" if number == 1 else "have"
            return (
                f"{count(number, 'computation')} {have} more than {most} distinct values. "
                "Association was measured at the best cut: whether the value is above one "
                "threshold."
            )
        case n.LongSupport(number, most):
            have = "has" if number == 1 else "have"
            return (
                f"{count(number, 'computation')} {have} more than {most} distinct values that "
                "were not binned. A sample overestimates their association."
            )
        case n.ConditionHolds(condition, number, total):
            part = _of(number, total, min_cell)
            return f"{part[0].upper()}{part[1:]} satisfy the condition {condition}."
        case n.ConditionMissing(number):
            return f"Left out {rows(number)} for which the condition is missing."
        case n.ConditionReadsMissing(number, kept):
            return (
                f"A value that the condition reads is missing in {rows(number)}, which makes the "
                f"comparison false. Kept {rows(kept)} of these."
            )
        case n.TakenAsMissing(column, cells, words):
            return (
                f"Column {column!r}: {rows(cells, 'cell')} taken as missing ({', '.join(words)}), "
                "because all others are numbers."
            )
        case n.TakenFromProtected(column):
            return (
                f"{column!r} was taken from the protected data. The data also has a column of "
                "that name."
            )
        case n.UnmatchedProtected(number, total):
            return (
                f"Left out {_of(number, total, min_cell)} of the protected data that match no "
                "row of the data."
            )
        case n.RoundedDecisions(number, total):
            return (
                f"The decision for {_of(number, total, min_cell)} depends on how the model rounds "
                "sums."
            )
        case n.OpaqueSteps(steps):
            return f"The computations inside {listed(steps)} were not analyzed."
        case n.VariablesNotMeasured():
            return "Variables were not measured, as requested."
        case (
            n.PositionsSearched()
            | n.OperandsSearched()
            | n.TreesNotCombined()
            | n.SumsInTestsNotSearched()
            | n.CollectionsNotMeasured()
        ):
            return _not_exhausted(note)
        case n.NotSettled():
            return _not_settled(note)
        case (
            n.PairsSampled()
            | n.MethodsUsed()
            | n.InfluencesDrawn()
            | n.VariableDrawn()
            | n.NotListed()
            | n.Stopped()
        ):
            return _search_sentence(note)
        case _:
            assert_never(note)


def _search_sentence(
    note: n.PairsSampled
    | n.MethodsUsed
    | n.InfluencesDrawn
    | n.VariableDrawn
    | n.NotListed
    | n.Stopped,
) -> str:
    """How influence was computed, and what the search left out."""
    match note:
        case n.PairsSampled(pairs, alpha, beta, number):
            return (
                f"Influence was estimated from {pairs:,} pairs of rows. Each estimate is within "
                f"{alpha} of the exact value with probability {1 - beta:.4g}, all {number:,} at "
                f"once with probability at least {max(0.0, 1 - number * beta):.4g}."
            )
        case n.MethodsUsed(methods):
            used = ", ".join(f"{number:,} times {method}" for method, number in methods)
            return f"Influence was computed {used}."
        case n.InfluencesDrawn(number, error, beta):
            return (
                f"The influence of {count(number, 'decomposition')} was estimated from random "
                f"pairs of rows. Each estimate is within {error:.4f} of the exact value with "
                f"probability {1 - beta:g}."
            )
        case n.VariableDrawn(term, pairs, influence, error, beta):
            return (
                f"The influence of `{_short(term)}` was estimated from {pairs:,} random pairs of "
                f"rows: {influence:.4f}, within {error:.4f} with probability {1 - beta:g}."
            )
        case n.NotListed("occurrence sets", term, number):
            return f"Not all sets of the {number:,} occurrences of `{_short(term)}` are listed."
        case n.NotListed(_, term, number):
            return f"Not all {number:,} partial sums of `{_short(term)}` are listed."
        case n.Stopped(seconds, missing, number, total):
            return f"Stopped after {seconds:g} s, as requested. {_stopped(missing, number, total)}"
        case _:
            assert_never(note)


def _not_exhausted(
    note: n.PositionsSearched
    | n.OperandsSearched
    | n.TreesNotCombined
    | n.SumsInTestsNotSearched
    | n.CollectionsNotMeasured,
) -> str:
    """How far combinations were searched."""
    match note:
        case n.PositionsSearched(1, term, positions, bound):
            return (
                f"Combinations of the {positions:,} positions of `{_short(term)}` were searched, "
                f"but not exhaustively; none has more influence than {bound:.4f}."
            )
        case n.PositionsSearched(terms, term, _, bound):
            return (
                f"Combinations of the positions of {terms:,} terms were searched, but not "
                f"exhaustively; none has more influence than {bound:.4f} (`{_short(term)}`)."
            )
        case n.OperandsSearched(operands, number, name, measured, subsets):
            return (
                f"{_SUBSETS[operands]} of the {number:,} {operands} of {name} were searched, but "
                f"not exhaustively: {measured:,} of {_rounded(subsets)} were measured."
            )
        case n.TreesNotCombined(trees):
            return (
                f"Combinations of the {trees:,} trees were not searched; each tree was measured, "
                "and all of them together."
            )
        case n.SumsInTestsNotSearched():
            return "Partial sums inside the tests of the trees were not searched."
        case n.CollectionsNotMeasured(because):
            return f"Weakly associated computations were not taken together, {_BECAUSE[because]}."
        case _:
            assert_never(note)


_BECAUSE = {
    "influence": "because their influence is sampled or is not a share of decisions",
    "size": "because the program is too large and is not made of trees",
    "time": "because the time limit was reached",
}


def _not_settled(note: n.NotSettled) -> str:
    """What was not measured, or not precisely enough, and where it is."""
    term, number = f"`{_short(note.term)}`", _rounded(note.number).capitalize()
    at = f"at {', '.join(note.positions)}{', ...' if note.more else ''}"
    were = "was" if note.number == 1 else "were"
    match note.what:
        case "influences":
            return (
                f"The estimated influence of {term} ({at}) is too close to delta to decide whether "
                "this is a witness."
            )
        case "variables":
            return f"The variables of {term} were not measured."
        case "positions":
            return f"{number} position{_s(note)} of {term} ({at}) {were} not measured."
        case "computations":
            return f"{number} computation{_s(note)} inside {term} ({at}) {were} not measured."
        case "occurrence sets":
            return f"{number} set{_s(note)} of positions of {term} ({at}) {were} not measured."
        case "operand subsets":
            return (
                f"{number} subset{_s(note)} of the operands of {term} ({at}) {were} not measured."
            )
        case _:
            assert_never(note.what)


def _short(term: str) -> str:
    return short_decimals(term, DIGITS)


def _s(note: n.NotSettled) -> str:
    return "" if note.number == 1 else "s"


def _rounded(number: int) -> str:
    """A number of subsets, which can be too large to read.

    Examples
    --------
    >>> _rounded(1_048_555), _rounded(2**400)
    ('1,048,555', 'more than a trillion')
    """
    return f"{number:,}" if number <= 10**12 else "more than a trillion"


_SUBSETS = {"terms": "Partial sums", "factors": "Partial products", "conditions": "Subsets"}


def _stopped(missing: str, number: int | None, total: int | None) -> str:
    match missing:
        case "computations" if number is not None and total is not None:
            return f"{number:,} of {count(total, 'computation')} were not measured."
        case "below epsilon" if number is not None:
            return (
                f"The influence of {count(number, 'computation')} was not measured. Their "
                "association is below epsilon, so they cannot be witnesses."
            )
        case "trees":
            return "Computations inside the trees were not measured."
        case "combinations":
            return "Some combinations of terms or trees were not measured."
        case _:
            return "Some computations were not measured."


def disclosed(number: n.RowCount, min_cell: int, noun: str = "row") -> str:
    """A number of rows, or that it is withheld.

    Examples
    --------
    >>> disclosed(n.RowCount(1), 1), disclosed(n.RowCount(7), 5), disclosed(n.RowCount(4), 5)
    ('1 row', '7 rows', 'fewer than 5 rows')
    """
    if number.private and min_cell > 1:
        return f"some {noun}s"
    if number.rows < min_cell:
        return f"fewer than {min_cell} {noun}s"
    return count(number.rows, noun)


def _of(number: n.RowCount, total: int, min_cell: int) -> str:
    part = f"fewer than {min_cell}" if number.rows < min_cell else f"{number.rows:,}"
    return f"{part} of {count(total, 'row')}"
