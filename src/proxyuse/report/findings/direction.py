"""Sentences about direction: who gains and who loses, and what each group gets."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.measure.influence import Moved
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.other_findings import Collection
from proxyuse.report.outcome_result import (
    AttributeOutcomes,
    Direction,
    GroupDirection,
    OutcomeFigure,
    Outcomes,
    Output,
)
from proxyuse.report.result import AuditResult, Witness
from proxyuse.words import confidence, fixed, listed, percent

MOST_GROUPS = 3
"""The number of groups in a sentence; tables show all of them."""

MOST_SWAPS = 2
"""The number of groups with a sentence about a swap."""

OUTCOMES = "Decisions by group"
CONTEXT = "This is context, not the verdict."
DIRECTION_SWAP = (
    "The value comes from a random person of any group. What a swap takes away is what the "
    "computation gives at present."
)
NO_DIRECTION = (
    "The decision has more than two classes and none is the positive one, so a change has no "
    "direction. To choose one, pass `decision=Positive(label)`."
)
_PLAIN = {"true": "people who are {name}", "false": "people who are not {name}"}


# Parts of a sentence


def group_name(protected: str, value: str, style: Style = TEXT) -> str:
    """A group of people.

    Examples
    --------
    >>> group_name("married", "false"), group_name("age", "above 40")
    ('people who are not married', 'people with age above 40')
    >>> group_name("age", "above 22, at most 30")
    'people with age above 22 and at most 30'
    >>> group_name("status", "2 other values together")
    'people with one of 2 other values of status'
    """
    name = style.name(protected)
    if value in _PLAIN:
        return _PLAIN[value].format(name=name)
    if value.endswith(" together"):
        return f"people with one of {value.removesuffix(' together')} of {name}"
    if value.startswith("above "):  # words are in quotes
        value = value.replace(", at most ", " and at most ")
    return f"people with {name} {style.name(value)}"


def share_text(share: float | None, step: float) -> str:
    """A share that is rounded to multiples of a step.

    Examples
    --------
    >>> share_text(0.124, 0.002), share_text(0.0, 0.002), share_text(1.0, 0.002)
    ('12.4%', 'under 0.2%', 'over 99.8%')
    >>> share_text(None, 0.0), share_text(0.1234, 0.0), share_text(0.6, 0.2)
    ('withheld', '12.3%', '60%')
    """
    if share is None:
        return "withheld"
    if step == 0:
        return percent(share)
    if share < step:
        return f"under {100 * step:g}%"
    if share > 1 - step:
        return f"over {100 * (1 - step):g}%"
    return f"{fixed(100 * share, 1)}%" if step < 0.01 else f"{100 * share:.0f}%"


def points(difference: float, step: float = 0.0) -> str:
    """A difference of two shares.

    Examples
    --------
    >>> points(0.0971), points(0.01), points(0.1, 0.02)
    ('9.7 percentage points', '1 percentage point', '10 percentage points')
    """
    number = fixed(100 * abs(difference), 0 if step >= 0.01 else 1).removesuffix(".0")
    return f"{number} percentage point{'s' * (number != '1')}"


def number_text(value: float) -> str:
    """A mean of numeric outputs.

    Examples
    --------
    >>> number_text(41300.0), number_text(-0.25), number_text(1234.5678)
    ('41,300', '-0.25', '1,234.57')
    """
    text = f"{value:,.2f}" if abs(value) >= 100 else f"{value:.4g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def up_words(output: Output, style: Style = TEXT) -> tuple[str, str]:
    """What it means to go up, and to go down.

    Examples
    --------
    >>> up_words(Output("class", ">50K", "<=50K"))
    ('from `<=50K` to `>50K`', 'from `>50K` to `<=50K`')
    >>> up_words(Output("number", None, None))
    ('to a larger number', 'to a smaller number')
    """
    if output.positive is None or output.negative is None:
        return "to a larger number", "to a smaller number"
    positive, negative = style.code(output.positive), style.code(output.negative)
    return f"from {negative} to {positive}", f"from {positive} to {negative}"


# One computation


def direction(result: AuditResult, witness: Witness | Collection, style: Style = TEXT) -> list[str]:
    """Who gains and who loses by a witness: at present, and if the value were swapped."""
    known = witness.direction
    if known is None or len(known.groups) < 2:  # rare values can be one group of all people
        return []
    shown = [group for group in known.groups if group.changed is not None]
    first = sorted(shown, key=lambda group: -(group.changed or 0))[:MOST_SWAPS]
    output = result.outcomes.output
    measure = result.measures.influence
    name, several = witness.protected, isinstance(witness, Collection)
    sentences = [swapped(name, g, output, style, measure, several=several) for g in first]
    present = at_present(name, known, output, style, several=several)
    return [*present, *sentences, *estimated(known)]


def swapped(
    protected: str,
    group: GroupDirection,
    output: Output,
    style: Style = TEXT,
    measure: str = "",
    *,
    several: bool = False,
) -> str:
    """What a swap does to one group; `measure` is the name of the influence measure.

    `several` says whether the values of several computations are swapped.

    Examples
    --------
    >>> group = GroupDirection("true", 900, 0.123, 0.013, 0.11, None, 0.0)
    >>> print(swapped("married", group, Output("class", ">50K", "<=50K")))
    With another person's value, 12.3% of decisions about people who are married would change: 11.0%
    from `>50K` to `<=50K`, 1.3% the other way.
    >>> number = Output("number", None, None)
    >>> print(swapped("married", group, number))
    With another person's value, the output would change for 12.3% of people who are married: 11.0%
    to a smaller number, 1.3% to a larger one.
    >>> print(swapped("married", group, number, measure="moved by more than 100"))
    With another person's value, the output would move by more than 100 for 12.3% of people who are
    married: 11.0% to a smaller number, 1.3% to a larger one.
    """
    changed = style.figure(share_text(group.changed, group.step), "moved")
    people = group_name(protected, group.value, style)
    values = f"With another person's value{'s' * several}"
    start = f"{values}, {changed} of decisions about {people} would change"
    if output.kind == "number":
        start = f"{values}, the output would change for {changed} of {people}"
    if (moved := Moved.named(measure)) is not None:
        start = (
            f"{values}, the output would move by more than {moved.threshold} for {changed} of "
            f"{people}"
        )
    if group.up is None or group.down is None:
        return f"{start}."
    ways = sorted(zip((group.up, group.down), up_words(output, style), strict=True), reverse=True)
    if ways[0][0] == ways[1][0]:
        ways.reverse()
    (more, way), (less, _) = ways
    if output.kind == "number":
        opposite = "to a smaller one" if group.up >= group.down else "to a larger one"
    else:
        opposite = "the other way"
    return (
        f"{start}: {share_text(more, group.step)} {way}, {share_text(less, group.step)} {opposite}."
    )


def at_present(
    protected: str,
    known: Direction,
    output: Output,
    style: Style = TEXT,
    *,
    several: bool = False,
) -> list[str]:
    """What the computation gives each group now, compared with a random person's value.

    Examples
    --------
    >>> groups = (
    ...     GroupDirection("true", 900, 0.123, 0.013, 0.11, None, 0.0),
    ...     GroupDirection("false", 900, 0.08, 0.08, 0.0, None, 0.0),
    ... )
    >>> known = Direction(groups, None, None, None)
    >>> print(*at_present("married", known, Output("class", ">50K", "<=50K")))
    At present, this value raises the share of `>50K` by 9.7 percentage points for people who are
    married and lowers it by 8 percentage points for people who are not married.
    """
    if output.kind == "number":
        gains = [
            (-group.mean_change, number_text(abs(group.mean_change)), group)
            for group in known.groups
            if group.mean_change
        ]
        what = "the mean output"
    else:
        gains = [
            (group.down - group.up, points(group.down - group.up, group.step), group)
            for group in known.groups
            if group.up is not None and group.down is not None and group.up != group.down
        ]
        what = f"the share of {style.code(output.positive or '')}"
    up = sorted((gain for gain in gains if gain[0] > 0), key=lambda gain: -gain[0])[:MOST_GROUPS]
    down = sorted((gain for gain in gains if gain[0] < 0), key=lambda gain: gain[0])[:MOST_GROUPS]
    clauses: list[str] = []
    for verb, some in (("raises", up), ("lowers", down)):
        if some:
            alike: dict[str, list[str]] = {}
            for _, by, group in some:
                alike.setdefault(by, []).append(group_name(protected, group.value, style))
            people = listed(f"by {by} for {listed(names)}" for by, names in alike.items())
            verb = verb.removesuffix("s") if several else verb
            clauses.append(f"{verb} {'it' if clauses else what} {people}")
    values = "these values" if several else "this value"
    return [f"At present, {values} {' and '.join(clauses)}."] if clauses else []


def direction_table(
    result: AuditResult, witness: Witness, style: Style = TEXT
) -> tuple[list[str], list[list[str]]]:
    """The heads and lines of a table of changes by group; no lines if they were not computed."""
    known, output = witness.direction, result.outcomes.output
    if known is None:
        return [], []
    moved = Moved.named(result.measures.influence)
    which = "outputs that change" if output.kind == "number" else "decisions that change"
    if moved is not None:
        which = f"moved by more than {moved.threshold}"
    heads = [style.name(witness.protected), "rows", which]
    directed = output.kind in ("class", "number")
    if directed:
        heads += list(up_words(output, style))
    if output.kind == "number":
        heads.append("mean change")
    lines = []
    for group in known.groups:
        line = [style.name(group.value), f"{group.rows:,}", share_text(group.changed, group.step)]
        if directed:
            line += [share_text(group.up, group.step), share_text(group.down, group.step)]
        if output.kind == "number":
            line.append("withheld" if group.mean_change is None else number_text(group.mean_change))
        lines.append(line)
    return heads, lines


def direction_remarks(result: AuditResult, witness: Witness) -> list[str]:
    """How to read the table, and how exact it is."""
    known = witness.direction
    if known is None:
        return []
    directed = result.outcomes.output.kind in ("class", "number")
    return [DIRECTION_SWAP if directed else NO_DIRECTION, *estimated(known)]


def estimated(known: Direction) -> list[str]:
    """How precise an estimate is; nothing if it is exact."""
    if known.pairs is None or known.within is None:
        return []
    mean = ""
    if known.mean_within is not None:
        mean = f", and each mean change within {number_text(known.mean_within)}"
    return [
        f"Estimated from {known.pairs:,} random pairs of rows for each group. Each share is within "
        f"{100 * known.within:.1f} percentage points{mean}, with probability 0.95."
    ]


# The model as a whole


def figure_text(figure: OutcomeFigure, is_number: bool) -> str:
    """A rate or a mean.

    Examples
    --------
    >>> figure_text(OutcomeFigure(0.451, 0.451, 0.43, 0.47), False)
    '45.1%'
    >>> figure_text(OutcomeFigure(0.0, 0.008, 0.0, 0.01), False)
    'under 0.9%'
    >>> figure_text(OutcomeFigure(None, None, None, None), True)
    'withheld'
    >>> figure_text(OutcomeFigure(0.0, 1.0, 0.0, 1.0), False)
    'withheld'
    """
    if figure.at_least is None or figure.at_most is None:
        return "withheld"
    if is_number:
        return number_text(figure.at_least)
    if figure.at_least == 0 and figure.at_most == 1:
        return "withheld"
    least, most = percent(figure.at_least), percent(figure.at_most)
    if least == most:
        return least
    if figure.at_least == 0:
        return f"under {fixed(100 * figure.at_most + 0.05, 1)}%"
    return f"{least} to {most}"


def bounds_text(figure: OutcomeFigure, is_number: bool) -> str:
    """The confidence bounds of a rate or a mean; nothing if there are none.

    Examples
    --------
    >>> bounds_text(OutcomeFigure(0.451, 0.451, 0.43, 0.47), False)
    '43.0% to 47.0%'
    """
    if figure.low is None or figure.high is None:
        return ""
    text = number_text if is_number else percent
    return f"{text(figure.low)} to {text(figure.high)}"


def outcomes(result: AuditResult, style: Style = TEXT) -> list[str]:
    """What each group gets: one sentence per protected attribute, and that it is context."""
    known = result.outcomes
    sentences = [
        sentence
        for attribute in known.attributes
        if (sentence := attribute_outcome(known, attribute, style))
    ]
    return [*sentences, f"{outcome_remark(known)} {CONTEXT}"] if sentences else []


def attribute_outcome(known: Outcomes, attribute: AttributeOutcomes, style: Style = TEXT) -> str:
    """The rates or means of the groups of one attribute; nothing if fewer than two are known.

    Of many groups, only the two whose bounds are furthest apart are named. The highest and the
    lowest are often the smallest groups, about which the rows say little.
    """
    is_number = known.output.kind == "number"
    column = max(
        range(len(known.labels)),
        key=lambda c: (round(_clear_gap(attribute, c), 6), _spread(attribute, c)),
        default=-1,
    )
    if column < 0:
        return ""
    figures = [
        (group.figures[column], group_name(attribute.protected, group.value, style))
        for group in attribute.groups
        if figure_text(group.figures[column], is_number) != "withheld"
    ]
    if len(figures) < 2:
        return ""
    figures.sort(key=lambda pair: -(pair[0].at_least or 0.0))
    among, extremes = "", (figures[0][0], figures[-1][0])
    clearest = _clearest([figure for figure, _ in figures])
    if len(figures) > MOST_GROUPS or (clearest is not None and _bounds_overlap(*extremes)):
        chosen = clearest or extremes
        which = "the clearest difference among" if clearest else "the highest and the lowest of"
        among = f" ({which} {_groups_known(len(figures), len(attribute.groups))})"
        figures = [pair for pair in figures if any(pair[0] is figure for figure in chosen)]
    parts = listed(
        f"{style.figure(figure_text(figure, is_number), 'outcome')}"
        f"{_in_parentheses(bounds_text(figure, is_number))} for {name}"
        for figure, name in figures
    )
    label = "the mean output" if is_number else f"the share of {style.code(known.labels[column])}"
    text = f"{label[0].upper()}{label[1:]} is {parts}{among}"
    return f"{text}{_difference(figures[0][0], figures[-1][0], is_number)}."


def _in_parentheses(text: str) -> str:
    return f" ({text})" if text else ""


def _groups_known(known: int, total: int) -> str:
    """How many groups have a figure, and how many are withheld.

    Examples
    --------
    >>> _groups_known(6, 6), _groups_known(6, 7)
    ('6 groups', '6 groups; 1 more is withheld')
    """
    more = total - known
    return f"{known} groups" + (
        f"; {more} more {'is' if more == 1 else 'are'} withheld" * (more > 0)
    )


def _clearest(figures: Sequence[OutcomeFigure]) -> tuple[OutcomeFigure, OutcomeFigure] | None:
    """The two figures whose confidence bounds are furthest apart; None if all bounds overlap."""
    bounded = [figure for figure in figures if figure.low is not None and figure.high is not None]
    if not bounded:
        return None
    high = max(bounded, key=lambda figure: figure.low or 0.0)
    low = min(bounded, key=lambda figure: figure.high or 0.0)
    return None if _bounds_overlap(high, low) else (high, low)


def _bounds_overlap(high: OutcomeFigure, low: OutcomeFigure) -> bool:
    """Whether chance can explain that one figure is higher than the other, as far as is known."""
    return high.low is not None and low.high is not None and high.low <= low.high


def _clear_gap(attribute: AttributeOutcomes, column: int) -> float:
    """How far apart the bounds of two groups are in one figure; 0 if all bounds overlap."""
    clearest = _clearest([group.figures[column] for group in attribute.groups])
    return 0.0 if clearest is None else (clearest[0].low or 0.0) - (clearest[1].high or 0.0)


def _spread(attribute: AttributeOutcomes, column: int) -> float:
    """How much the groups differ in one figure."""
    values = [g.figures[column].at_least for g in attribute.groups]
    known = [value for value in values if value is not None]
    return max(known) - min(known) if known else -1.0


def _difference(high: OutcomeFigure, low: OutcomeFigure, is_number: bool) -> str:
    """The difference between two groups, and whether chance can explain it."""
    if high is low or high.at_least is None or low.at_least is None:
        return ""
    overlap = "; their confidence bounds overlap" if _bounds_overlap(high, low) else ""
    ends = [value or 0.0 for figure in (high, low) for value in (figure.at_least, figure.at_most)]
    width = ends[1] - ends[0] + ends[3] - ends[2]
    gap = (ends[0] + ends[1] - ends[2] - ends[3]) / 2
    if gap <= width:
        return overlap
    by = number_text(gap) if is_number else points(gap, width)
    return f", a difference of {'about ' if width or is_number else ''}{by}{overlap}"


def outcome_table(
    known: Outcomes, attribute: AttributeOutcomes, style: Style = TEXT
) -> tuple[list[str], list[list[str]]]:
    """The heads and lines of a table of outcomes by group, with bounds."""
    is_number = known.output.kind == "number"
    heads = [style.name(attribute.protected), "rows"]
    for label in known.labels:
        heads += [label if is_number else style.code(label), "bounds"]
    lines = []
    for group in attribute.groups:
        line = [style.name(group.value), f"{group.rows:,}"]
        for figure in group.figures:
            line += [figure_text(figure, is_number), bounds_text(figure, is_number)]
        lines.append(line)
    return heads, lines


def outcome_remark(known: Outcomes) -> str:
    """What the bounds of a table of outcomes mean."""
    return (
        f"The bounds hold for all groups at once with {confidence(1 - known.confidence)} "
        "confidence, if the rows are independent."
    )
