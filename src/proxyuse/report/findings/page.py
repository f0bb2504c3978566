"""Sentences that only the HTML report needs: what its sections show, and what it cannot show."""

from __future__ import annotations

from proxyuse.report.findings.style import TEXT, Style
from proxyuse.words import count

ANSWER_HOLDS = (
    "The answer holds for these thresholds, rows and attributes; others may give a different one."
)
BEFORE_REPAIR = "Before the repair:"
BELOW_BEFORE_REPAIR = "Except for the section on the repair, this page describes that model."
GROUPS_SORTED = "Related witnesses are listed together, the group with the strongest witness first."
SORT_OR_SELECT = "Click a column heading to sort, or a row to see the witness."
CLOSEST = "These computations are not witnesses, but come closest to the thresholds."
COMPARED = (
    "The variables with the strongest association, each measured at all its occurrences, and the "
    "output of the model."
)
GROUPS_NOT_COMPUTED = "Not computed here because it takes too long. `proxyuse judge` shows it."
TREE_SHOWN = "The decision tree that contains the computation, which is highlighted."
REPRODUCE = (
    "The same model, rows and settings give the same figures. This command repeats the audit. It "
    "omits judgments, and the options of statistical tests:"
)
CERTIFY = (
    "To get a certificate that others can check with `proxyuse verify`, add `--certificate FILE`."
)
SELF_CONTAINED = "This file contains no rows of data and loads nothing from the network."

_LIMITS = (
    "Whether a use is acceptable or lawful. The report shows what the model does; you judge it.",
    "Why the model behaves this way, or what anyone intended.",
    "Anything about attributes that were not audited, or about people unlike those in these rows.",
    "That computations below the thresholds are unused. The model may use them, but they are "
    "weaker proxies or change fewer decisions.",
    "Which decision is better for a person. The report shows which way decisions go for each "
    "group, not which way is a benefit.",
)
_NOT_TESTED = "Whether the findings hold for other rows. That was not tested."


def not_shown(tested: bool) -> list[str]:
    """What the report does not show."""
    return [*_LIMITS] if tested else [*_LIMITS, _NOT_TESTED]


def exactness(sampled: bool, style: Style = TEXT) -> str:
    """Whether the figures are exact, and that significance was not tested.

    Examples
    --------
    >>> exactness(sampled=False)
    'These figures are exact for these rows. Statistical significance was not tested.'
    """
    figures = "These figures are exact for these rows."
    if sampled:
        estimated = style.figure("estimated", "influence")
        figures = (
            f"Influence is {estimated} from pairs of these rows. All other figures are exact for "
            "these rows."
        )
    return f"{figures} Statistical significance was {style.figure('not tested', 'verdict')}."


def chart(computations: int, style: Style = TEXT) -> str:
    """How to read the chart of all computations."""
    number = style.figure(count(computations, "computation"), "decompositions")
    return (
        f"Each point is one of {number} inside the model. Points farther right track the "
        f"protected attribute more closely ({style.figure('association', 'association')}). Points "
        f"higher up change more decisions ({style.figure('influence', 'influence')}). The points "
        f"in the shaded corner are {style.figure('witnesses', 'witness')}."
    )


def chart_cells(points: int, counted: int, step: float) -> str:
    """That computations far below the thresholds are drawn as cells."""
    return (
        f"{count(points, 'computation')} are drawn as single points, including every witness and "
        f"everything near the thresholds. {count(counted, 'computation')} far below the "
        f"thresholds are counted in shaded cells of {step:g} by {step:g}. The complete list is in "
        "`audit.to_frame()` and in the file that `--csv` writes."
    )


def chart_without_script(all_listed: bool) -> str:
    """That the chart needs JavaScript."""
    table = ", and the table below lists every point in the shaded corner" if all_listed else ""
    return (
        "The chart needs JavaScript, which is turned off. Everything else on this page works "
        f"without it{table}."
    )


def covered(sections: int, witnesses: int) -> str:
    """How many of the witnesses have a section."""
    return (
        f"This section covers {sections:,} of {witnesses:,} witnesses. For the others, run "
        "`proxyuse show audit.json --witness ID`."
    )


def more_groups(number: int) -> str:
    """How many groups only the table shows."""
    are = "is" if number == 1 else "are"
    return (
        f"{count(number, 'more group')} of related witnesses {are} in the table of all witnesses."
    )


def more_lines(number: int) -> str:
    """How many witnesses the table shows only with JavaScript."""
    return f"{number:,} more are in the files that `--output` and `--csv` write."


def evaluated_if(first: bool) -> str:
    """The line above the conditions on the path to a position."""
    return "The model evaluates it if:" if first else "Another occurrence is evaluated if:"


def evaluated_always(occurrences: int) -> str:
    """That no test stands before a computation."""
    at = "" if occurrences == 1 else ", in at least one position"
    return f"The model evaluates it for every row{at}, without a preceding test."


def tests_not_shown(number: int) -> str:
    """How many tests a drawing of a tree leaves out."""
    are = "is" if number == 1 else "are"
    return f"{count(number, 'test')} of this tree {are} not shown."


def one_of(operands: int, noun: str, unlisted: int) -> str:
    """The caption of the table of operands."""
    rest = f"; {unlisted:,} are not listed" if unlisted else ""
    return f"It is one of {operands:,} {noun}{rest}."


def more_in_notes(number: int) -> str:
    """How many unsettled items only the notes list."""
    return f"{number:,} more are listed in the notes."


def more_in_json(number: int) -> str:
    """How many unsettled items only the JSON result lists."""
    return f"{number:,} more unsettled items are listed in the JSON result."
