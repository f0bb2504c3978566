"""The document of a repair as text for a terminal, and as Markdown for a pull request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proxyuse.report.markdown import plain
from proxyuse.report.wording import on_lines, shortened
from proxyuse.words import count, listed

MOST_STEPS = 12
MOST_NOTES = 8
MOST_TERM = 72

Document = Mapping[str, Any]


def repair_answer(document: Document, *, color: bool = False) -> str:
    """What came of it, what was replaced by what and why, what it costs, what was written."""
    bold = (lambda text: f"\x1b[1m{text}\x1b[0m") if color else str
    document = on_lines({**document, "about": {"notes": document["about"].get("notes", [])}})
    parts = [
        [bold(repair_headline(document))],
        _steps(document, bold),
        [bold("What it costs"), *(f"- {line}" for line in _costs(document))]
        if document["result"] == "repaired"
        else [],
        _files(document, bold),
        [_measured(document)],
        _notes(document, bold),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def repair_markdown(document: Document) -> str:
    """The same as Markdown."""
    lines = [f"**{plain(repair_headline(document))}**", ""]
    rows = []
    for number, step in enumerate(document["steps"], start=1):
        removed, first = step["removed"], step["changes"][0]
        more = step["number_of_changes"] - 1
        what = plain(shortened(first["term"], MOST_TERM)) + (f" and {more:,} more" if more else "")
        rows.append(
            [
                f"{number}",
                what,
                plain(shortened(first["value"], MOST_TERM)),
                plain(first["origin"] or ""),
                plain(shortened(removed["term"], MOST_TERM)),
                plain(removed["protected"]),
                f"{removed['association']:.3f}",
                f"{removed['influence']:.3f}",
                plain(_judged(removed)),
            ]
        )
    if rows:
        heads = ["", "replaced", "by", "where in the model", "because of", "protected",
                 "association", "influence", "judged"]  # fmt: skip
        table = [heads, ["---"] * len(heads), *rows]
        lines += [*(f"| {' | '.join(row)} |" for row in table), ""]
    elif document["constant"] is not None:
        lines += [plain(_whole(document)), ""]
    told = _costs(document) if document["result"] == "repaired" else []
    told += [_measured(document), *_file_lines(document)]
    lines += [f"- {plain(line)}" for line in told]
    notes = _told(document)
    if notes:
        lines += ["", "Notes:", "", *(f"- {plain(note)}" for note in notes)]
    return "\n".join(lines) + "\n"


def repair_headline(document: Document) -> str:
    """What came of it, in a sentence or two."""
    names = listed(document["protected"])
    if document["result"] != "repaired":
        told = f"Nothing is to be repaired: no violation for {names} was found"
        return told + _unless(document)
    done = count(document["violations"], "violation")
    if document["steps"]:
        how = f"in {count(len(document['steps']), 'step')}"
    else:
        how = "by a program that always says the same"
    return f"Repaired: {done} for {names}, {how}; none is left" + _unless(document)


def _unless(document: Document) -> str:
    return "." if document["complete"] else ", but not everything could be settled."


def _steps(document: Document, bold: Callable[[str], str]) -> list[str]:
    if document["constant"] is not None:
        return [_whole(document)]
    steps = document["steps"]
    if not steps:
        return []
    lines = [bold("What was replaced")]
    for number, step in enumerate(steps[:MOST_STEPS], start=1):
        removed = step["removed"]
        lines += [
            f"{number}. {_replacement(step)}",
            f"   because of {shortened(removed['term'], MOST_TERM)}",
            f"   {removed['protected']}: association {removed['association']:.3f}, influence "
            f"{removed['influence']:.3f}; {_judged(removed)}",
        ]
    if len(steps) > MOST_STEPS:
        lines.append(f"... and {count(len(steps) - MOST_STEPS, 'more step')}; --json has them")
    return lines


def _whole(document: Document) -> str:
    return (
        f"The whole program became {shortened(document['constant'], MOST_TERM)}: no other repair "
        "that was tried loses less."
    )


def _replacement(step: Document) -> str:
    first = step["changes"][0]
    where = f" ({first['origin']})" if first["origin"] else ""
    others = step["number_of_changes"] - 1
    more = f", and {count(others, 'more place')}" if others else ""
    term, value = (shortened(first[name], MOST_TERM) for name in ("term", "value"))
    return f"{term}{where} became {value}{more}"


def _judged(removed: Document) -> str:
    if not removed["reason"]:
        return "nobody judged it"
    by = f" by {removed['by']}" if removed["by"] else ""
    return f"judged inappropriate{by}: {removed['reason']}"


def _costs(document: Document) -> list[str]:
    utility = document["utility"]
    lines = []
    for name, called in (("used", "that were used"), ("holdout", "of the hold-out")):
        loss = utility[name]
        if loss is not None:
            lines.append(
                f"{utility['name']}: {loss['before']:.4f} before, {loss['after']:.4f} after, on "
                f"the {count(loss['rows'], 'row')} {called}"
            )
    sizes = [document["program"][name]["size"] for name in ("before", "after")]
    return [
        *lines,
        f"predictions that changed: {_number(document['changed'])} of {document['rows']:,} rows",
        f"the program: {sizes[1]:,} of {sizes[0]:,} nodes are left",
    ]


def _number(value: int | str) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _files(document: Document, bold: Callable[[str], str]) -> list[str]:
    lines = _file_lines(document)
    return [bold("What was written"), *(f"- {line}" for line in lines)] if lines else []


def _file_lines(document: Document) -> list[str]:
    written = document["written"]
    lines = []
    if model := written.get("model"):
        lines.append(f"{model['file']}: {_model(model)}")
        lines.append(
            "it was read again: it predicts the same on every row, and an audit of it finds "
            "no violation"
        )
    called = {
        "certificate": "the certificate",
        "program": "the program as text",
        "python": "the program as Python source",
        "report": "a report like this",
    }
    lines += [f"{written[name]}: {text}" for name, text in called.items() if written.get(name)]
    return lines


def _model(model: Document) -> str:
    if model["class"] == "Program":
        return "the program as text"
    if model["unchanged"]:
        return f"the {model['class']} as it was given"
    if model["native"]:
        return f"the same kind of model as was given ({model['class']})"
    return f"a model that runs the program ({model['class']}), because {model['why']}"


def _measured(document: Document) -> str:
    limits, left = document["thresholds"], document["witnesses_left"]
    judged = f"; {count(left, 'witness', 'witnesses')} left, judged appropriate" if left else ""
    return (
        f"Looked for on {count(document['rows'], 'row')}: association of at least "
        f"{limits['epsilon']:g}, influence above {limits['delta']:g}{judged}. What is below these "
        "limits is still used."
    )


def _notes(document: Document, bold: Callable[[str], str]) -> list[str]:
    told = _told(document)
    return [bold("Notes"), *(f"- {text}" for text in told)] if told else []


def _told(document: Document) -> list[str]:
    told = [f"{n['kind']}: {n['text']}" for n in document["notes"] if n["kind"] != "method"]
    told += document["about"].get("notes", [])
    told += [f"not settled: {text}" for text in document["unsettled"]["listed"]]
    unlisted = document["unsettled"]["count"] - len(document["unsettled"]["listed"])
    left = len(told) + unlisted - MOST_NOTES
    return told[:MOST_NOTES] + ([f"... and {left:,} more; --json has them"] if left > 0 else [])
