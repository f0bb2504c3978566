"""Sentences about a repair: what was replaced, why, what it costs, what was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from proxyuse.detect.collective_witness import NOUNS, on_variables
from proxyuse.report.findings.headline import INCOMPLETE
from proxyuse.report.findings.style import TEXT, Style
from proxyuse.report.findings.witness import associated, measured
from proxyuse.report.repair_result import (
    CandidateResult,
    CollectionChange,
    CollectivePoint,
    FrontierPoint,
    Loss,
    Removed,
    RepairResult,
    Step,
)
from proxyuse.words import count, fixed, listed, percent, short_decimals, shortened

MOST_TERM = 72
DIGITS = 3


def repair_headline(result: RepairResult, style: Style = TEXT) -> str:
    """The outcome in one sentence."""
    names = listed(map(style.name, result.protected))
    incomplete = "" if result.complete else f", but {INCOMPLETE}"
    if result.result != "repaired":
        if result.indistinct:
            return f"Nothing to repair: no violation for {names} is confirmed{incomplete}."
        return f"Nothing to repair: no violation for {names} found{incomplete}."
    removed = dict.fromkeys(step.removed.protected for step in result.steps)
    removed |= dict.fromkeys(change.protected for change in result.collections)
    names = listed(map(style.name, removed or result.protected))
    left = "violation" if result.judged_appropriate else "witness"
    if result.indistinct:
        left = "confirmed violation"
    return (
        f"The repair for {names} {_done(result, style)}; {_utility(result)}; no {left} is left on "
        f"these rows{incomplete}."
    )


def _done(result: RepairResult, style: Style) -> str:
    """What the repair did."""
    parts = [count(len(result.steps), "computation")] if result.steps else []
    parts += [_members_replaced(change) for change in result.collections]
    replaced = listed(parts) if parts and result.constant is None else "the whole program"
    known = _chosen(result)
    done = list(training(known, style))
    if parts or result.constant is not None or not done:
        done.append(f"replaced {replaced}")
    if known is not None and "refit" in known.methods:
        done.append("fitted the remaining numbers again")
    return ", then ".join(done)


def _chosen(result: RepairResult) -> CandidateResult | None:
    return next((known for known in result.candidates if known.chosen), None)


def training(known: CandidateResult | None, style: Style = TEXT) -> Iterator[str]:
    """How a candidate was trained again.

    Examples
    --------
    >>> known = CandidateResult(
    ...     ("drop", "reweigh", "constants"),
    ...     ("age", "job"),
    ...     3,
    ...     "",
    ...     0,
    ...     0.1,
    ...     None,
    ...     None,
    ...     None,
    ...     None,
    ...     None,
    ...     1.0,
    ...     True,
    ...     "",
    ... )
    >>> ", then ".join(training(known))
    'trained the model again without age and job and on reweighed rows'
    """
    if known is None:
        return
    columns = listed(map(style.name, known.columns)) if known.columns else ""
    texts = {
        "drop": f"without {columns}",
        "constrain": f"so that no path combines {columns}",
        "reweigh": "on reweighed rows",
        "coarsen": f"on coarser values of {columns}",
    }
    ways = [texts[method] for method in known.methods if method in texts]
    if ways:
        yield f"trained the model again {' and '.join(ways)}"


def _utility(result: RepairResult) -> str:
    """How the utility changed, on rows that trained nothing if there are any."""
    utility = result.utility
    loss, where = utility.selection, f" on {selection_rows(result)}"
    if loss is None:
        loss, where = utility.used, ""
    if loss.before == loss.after:
        return f"{utility.name}{where} stayed at {fixed(loss.after)}"
    return f"{utility.name}{where} went from {fixed(loss.before)} to {fixed(loss.after)}"


def selection_rows(result: RepairResult) -> str:
    """The rows that compared the candidates."""
    folds = result.utility.folds
    return "the validation rows" if folds is None else f"{count(folds, 'fold')} of held-out rows"


def replacement(step: Step, style: Style = TEXT) -> str:
    """What a step replaced."""
    first = step.changes[0]
    where = f" ({first.origin})" if first.origin else ""
    others = step.number_of_changes - 1
    more = f", and in {count(others, 'more place')}" if others else ""
    constant = short_decimals(first.value, DIGITS)
    term, value = (style.code(shortened(text, MOST_TERM)) for text in (first.reading, constant))
    rounded = "" if constant == first.value else " (rounded)"
    return f"Replaced {term}{where} with {value}{rounded}{more}."


def _members_replaced(change: CollectionChange) -> str:
    return (
        f"{change.replaced_positions:,} of the {count(change.positions, 'place')} of "
        f"{_members(change)}"
    )


def _members(change: CollectionChange) -> str:
    return count(change.members, *NOUNS[change.kind])


def collection_replacement(change: CollectionChange, style: Style = TEXT) -> str:
    """What was done to a collection, and what its members change together, before and after."""
    on = on_variables([style.name(name) for name in change.variables])
    one, many = NOUNS[change.kind]
    attribute = style.name(change.protected)
    who = f"{change.members:,} {many} on {on}, each associated with {attribute}"
    if change.members == 1:
        who = f"{count(1, one)} on {on}, which is associated with {attribute}"
    replaced = change.replaced_members
    where = f"{change.replaced_positions:,} of {count(change.positions, 'place')}"
    before, after = (_most(points) for points in (change.before, change.after))
    return (
        f"Replaced {replaced:,} of {who}, with constants in {where}. Before, together they changed "
        f"up to {before} of decisions; now {_rest(change, after)}, at epsilon and at all higher "
        f"levels of association. {_change_of_utility(change)}."
    )


def _most(points: Sequence[CollectivePoint]) -> str:
    return percent(max((point.at_most for point in points), default=0.0))


def _rest(change: CollectionChange, after: str) -> str:
    if not change.after:
        return "none is left"
    left = change.after[-1].members
    return f"the {count(left, *NOUNS[change.kind])} that remain change at most {after}"


def _change_of_utility(change: CollectionChange) -> str:
    name, before, after = change.utility, change.utility_before, change.utility_after
    name = name[:1].upper() + name[1:]
    if before == after:
        return f"{name} stayed at {after:.4f}"
    return f"{name} went from {before:.4f} to {after:.4f}"


def reason(removed: Removed, style: Style = TEXT) -> str:
    """Why a step was taken."""
    return (
        f"Reason: {style.code(shortened(removed.reading, MOST_TERM))} is a proxy for "
        f"{style.name(removed.protected)} (association "
        f"{associated(removed.association, removed.association_range)}, influence "
        f"{measured(removed.influence)}); {removed_judgment(removed)}."
    )


def removed_judgment(removed: Removed) -> str:
    """Who judged a removed violation."""
    if not removed.reason:
        return "not judged"
    by = f" by {removed.by}" if removed.by else ""
    return f"judged inappropriate{by}: {removed.reason}"


REMOVED_WITH_OTHER = "Removed: it was part of a computation that was replaced with a constant."
PARTLY_REPLACED = "Part of it was replaced with a constant. The rest is not a violation."
TRAINED_AGAIN = "The repair trained the model again."
NO_LONGER_VIOLATION = "Unchanged. After the other steps it is no longer a violation."


def search_limits(programs: int, constants: int) -> str:
    """How far the search for a repair went."""
    return (
        f"The search was limited to {programs:,} partly repaired programs and {constants:,} "
        "constants per expression. A better repair may exist."
    )


def constant_program(constant: str, style: Style = TEXT) -> str:
    """That the whole program became a constant."""
    value = style.code(shortened(constant, MOST_TERM))
    return (
        f"The whole program was replaced with {value}. No other repair that was tried loses less."
    )


def losses(result: RepairResult) -> list[str]:
    """The utility before and after."""
    utility = result.utility
    sets: list[tuple[Loss | None, str]] = [
        (utility.used, f"the {count(utility.used.rows, 'row')} used for the repair"),
        (utility.selection, selection_rows(result)),
    ]
    return [
        f"{utility.name} {loss.before:.4f} before, {loss.after:.4f} after, on {which}"
        for loss, which in sets
        if loss is not None
    ]


def costs(result: RepairResult) -> list[str]:
    """What the repair costs."""
    changed = result.changed if isinstance(result.changed, str) else f"{result.changed:,}"
    return [
        *losses(result),
        *qualities(result),
        f"predictions changed for {changed} of {result.rows:,} rows",
        _nodes(result),
    ]


def _nodes(result: RepairResult) -> str:
    """What became of the size of the program."""
    before, after = result.program.before.size, result.program.after.size
    if any(training(_chosen(result))):
        return f"the program had {count(before, 'node')} before and has {after:,} after"
    return f"{after:,} of {before:,} nodes of the program remain"


def qualities(result: RepairResult) -> list[str]:
    """What the repair does to probabilities, on rows that did not train the model."""
    chosen = _chosen(result)
    original = result.candidates[0] if result.candidates else None
    if chosen is None or original is None:
        return []
    figures = {
        "area under the ROC curve": (original.auc, chosen.auc),
        "log loss": (original.log_loss, chosen.log_loss),
        "calibration error": (original.calibration, chosen.calibration),
    }
    return [
        f"{name} {before:.4f} before, {after:.4f} after, on {selection_rows(result)}"
        for name, (before, after) in figures.items()
        if before is not None and after is not None
    ]


CANDIDATES = "Candidates"
MOST_REASONS = 4
"""The reasons that are listed, for candidates that were not made."""


def candidate_table(result: RepairResult, style: Style = TEXT) -> tuple[list[str], list[list[str]]]:
    """The candidates that were made, as a table: its heads and its lines."""
    heads = ["candidate", result.utility.name, "AUC", "log loss", "changed", "chosen"]
    lines = []
    stricter = _taken_over(result)
    for known in made(result):
        utility = _figure(known.utility)
        if known.error is not None:
            utility += f" \u00b1 {known.error:.4f}"
        lines.append(
            [
                candidate_name(known, style) + stricter * known.chosen,
                utility,
                _figure(known.auc),
                _figure(known.log_loss),
                "" if known.changed is None else percent(known.changed),
                "yes" if known.chosen else f"no: {known.rejected}" if known.rejected else "",
            ]
        )
    return heads, lines


def _taken_over(result: RepairResult) -> str:
    """The stricter threshold that the chosen candidate was repaired for; empty if there is none."""
    frontier = result.frontier
    for point in () if frontier is None else frontier.points:
        if frontier is not None and point.requested and point.taken_over is not None:
            return f" at {frontier.varies} {point.taken_over}"
    return ""


def made(result: RepairResult) -> list[CandidateResult]:
    """The original model, and the candidates that were repaired."""
    return [known for known in result.candidates if known.remaining is not None]


def not_made(result: RepairResult) -> str:
    """How many other candidates there could have been, and why they were not made."""
    reasons = Counter(known.rejected for known in result.candidates if known.remaining is None)
    if not reasons:
        return ""
    parts = [f"{number:,}: {reason}" for reason, number in reasons.most_common(MOST_REASONS)]
    others = reasons.total() - sum(number for _, number in reasons.most_common(MOST_REASONS))
    if others:
        parts.append(f"{others:,}: other reasons")
    number = count(reasons.total(), "other candidate")
    return f"{number} {'was' if reasons.total() == 1 else 'were'} not made ({'; '.join(parts)})."


def candidate_name(known: CandidateResult | FrontierPoint, style: Style = TEXT) -> str:
    """A candidate, or the model of a point of the frontier, in words.

    Examples
    --------
    >>> known = CandidateResult(
    ...     ("coarsen", "constants"),
    ...     ("age",),
    ...     1,
    ...     "high values merged",
    ...     0,
    ...     0.1,
    ...     None,
    ...     None,
    ...     None,
    ...     None,
    ...     None,
    ...     1.0,
    ...     True,
    ...     "",
    ... )
    >>> candidate_name(known)
    'coarsen age (high values merged), then constants'
    """
    if not known.methods:
        return "original model"
    steps = []
    columns = ", ".join(map(style.name, known.columns))
    for method in known.methods:
        about = f" {columns}" if columns and method in ("drop", "constrain", "coarsen") else ""
        detail = f" ({known.detail})" if known.detail and method == "coarsen" else ""
        steps.append(f"{method}{about}{detail}")
    return ", then ".join(steps)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def refusal(result: RepairResult) -> str:
    """Why the repaired model should not be used; empty if nothing speaks against it."""
    known = result.refusal
    if known is None:
        return ""
    name = result.utility.name
    if known.kind == "constant":
        return (
            f"The repaired model is not better than always predicting the same: its {name} is "
            f"{known.utility:.4f}, and that of the best constant prediction is {known.limit:.4f}. "
            "Judge which uses are appropriate, choose other thresholds, or train another model."
        )
    return (
        f"The repair loses {known.utility:.4f} of {name}, more than the {known.limit:g} that you "
        "accept. Judge which uses are appropriate, choose other thresholds, or accept a larger "
        "loss."
    )


def unconfirmed(result: RepairResult) -> str:
    """The violations that are left because they cannot be distinguished from chance."""
    if not result.indistinct:
        return ""
    verb = "is" if result.indistinct == 1 else "are"
    return (
        f"{count(result.indistinct, 'violation')} that cannot be distinguished from chance "
        f"{verb} left. To repair them as well, pass `unconfirmed`."
    )


INTERRUPTED = "The search was interrupted. This is the best repair until then."


def cautions(result: RepairResult) -> list[str]:
    """What a reader must know before using the repaired model."""
    texts = [refusal(result), INTERRUPTED if result.interrupted else ""]
    return [text for text in texts if text]


def limits(result: RepairResult) -> str:
    """What was searched for, and that weaker proxies remain."""
    bounds, remaining = result.thresholds, result.judged_appropriate
    judged = ""
    if remaining:
        verb = "remains" if remaining == 1 else "remain"
        judged = f" {count(remaining, 'witness', 'witnesses')} judged appropriate {verb}."
    return (
        f"Searched {count(result.rows, 'row')} for an association of at least {bounds.epsilon:g} "
        f"and an influence above {bounds.delta:g}.{judged} The model may still use computations "
        "below these thresholds."
    )


def written_files(written: Mapping[str, Any]) -> list[str]:
    """The files that were written."""
    lines = []
    if model := written.get("model"):
        lines.append(f"{model['file']}: {_model(model)}")
        lines.append(
            "the file was loaded again: it makes the same predictions, and an audit of it "
            "finds no confirmed violation"
        )
    contents = {
        "certificate": "the certificate",
        "program": "the program as text",
        "python": "the program as Python source",
        "report": "a report",
    }
    lines += [f"{written[name]}: {text}" for name, text in contents.items() if written.get(name)]
    return lines


def _model(model: Mapping[str, Any]) -> str:
    if model["class"] == "Program":
        return "the program as text"
    if model["unchanged"]:
        return f"the unchanged {model['class']}"
    if model["native"]:
        return f"a model of the same class ({model['class']})"
    return f"a model that runs the program ({model['class']}), because {model['why']}"
