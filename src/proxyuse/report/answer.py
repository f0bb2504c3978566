"""A document as text for a terminal: the answer first, then the figures, then the notes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proxyuse.errors import FileError
from proxyuse.output.validity_words import confidence, confirmed_among
from proxyuse.output.words import count, indented, what_it_moves
from proxyuse.report.verdicts import exit_code_of
from proxyuse.report.wording import headline, lacking, on_lines, shortened, verdict_text
from proxyuse.verdict import counts

MOST_GROUPS = 5
MOST_REFERENCES = 8
MOST_NOTES = 8
MOST_TEXT = 64
MOST_NAME = 48

Found = Mapping[str, Any]


def exit_code(document: Found) -> int:
    """What a CI job is told of a document; see `exit_code_of`."""
    asked, among = document.get("validity"), None
    if asked is not None and asked["confirmed_only"]:
        among = {name: asked[f"{name}_violations"] for name in ("confirmed", "undecided")}
    return exit_code_of(document["violations"], document["complete"], among)


def answer(document: Found, *, color: bool = False) -> str:
    """The answer in words, then a table, reference points, notes."""
    bold = _bold if color else str
    told = {"notes": document["about"].get("notes", [])}
    document = on_lines({**document, "about": told})
    parts = [
        [bold(headline(document, _brief))],
        *_groups(document, bold),
        _nearest(document, bold),
        _references(document, bold),
        [_measured(document)],
        _statistics(document, bold),
        _notes(document, bold),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _measured(document: Found) -> str:
    limits = document["thresholds"]
    return (
        f"Measured: {count(document['decompositions'], 'decomposition')} on "
        f"{count(document['rows'], 'row')}. A witness has an association of at least "
        f"{limits['epsilon']:g}\nand an influence above {limits['delta']:g}; what these numbers "
        "mean is told in 'choose thresholds' of the documentation."
    )


# Groups of witnesses


def _groups(document: Found, bold: Callable[[str], str]) -> list[list[str]]:
    """A paragraph for each of the first groups, then a table of these."""
    groups = document["groups"]
    if not groups:
        return []
    by_id = {(w["protected"], w["id"]): w for w in document["witnesses"]}
    shown = [(group, by_id[group["protected"], group["front"]]) for group in groups[:MOST_GROUPS]]
    found = [
        _paragraph(place, group, front, by_id[group["protected"], group["strongest"]], document)
        for place, (group, front) in enumerate(shown, start=1)
    ]
    asked = ["verdict"] if document.get("validity") else []
    heads = ["", "protected", "association", "at most", "influence", "places", "witnesses",
             *asked, "id"]  # fmt: skip
    rows = [
        [f"{place}.", _name(front), *figures(front), f"{front['occurrences']:,}",
         f"{group['witnesses']:,}", *(front["validity"][name] for name in asked), front["id"]]
        for place, (group, front) in enumerate(shown, start=1)
    ]  # fmt: skip
    left = len(groups) - len(shown)
    more = [f"... and {count(left, 'more group')}; --json and --csv have all."] if left else []
    return [*found, [*text_table(heads, rows, bold), *more]]


def _paragraph(
    place: int, group: Found, front: Found, strongest: Found, document: Found
) -> list[str]:
    at = "" if front["occurrences"] == 1 else f", at {front['occurrences']:,} places"
    itself = " (the protected attribute itself)" if front["explicit"] else ""
    lines = [f"{place}. It looks at {front['reading']}{itself}{at}.", *_meaning(front, document)]
    lines += indented(verdict_text(document, front, _brief))
    lines += [f"   {text}" for text in _judged(front)]
    if strongest["association"] > front["association"] + 0.01:
        lines.append(
            f"   Closest to {_name(front)} around it: {strongest['reading']} "
            f"(association {strongest['association']:.3f})."
        )
    if group["witnesses"] > 1:
        others = group["witnesses"] - 1
        confirmed = _confirmed_around(document, group, front)
        lines.append(f"   {count(others, 'more witness', 'more witnesses')} around it{confirmed}.")
    return lines


def _confirmed_around(document: Found, group: Found, front: Found) -> str:
    """How many of the others of a group are confirmed, if that was asked."""
    if not document.get("validity"):
        return ""
    found = counts(
        w["validity"]["verdict"]
        for w in document["witnesses"]
        if (w["protected"], w["group"]) == (group["protected"], group["group"])
        and w["id"] != front["id"]
    )
    return confirmed_among(found, group["witnesses"] - 1)


def _judged(witness: Found) -> list[str]:
    said = witness["judgment"]
    if said is None:
        return []
    found = "appropriate" if said["appropriate"] else "NOT appropriate"
    return [f"Judged {found}{' by ' if said['by'] else ''}{said['by']}: {said['reason']}"]


def _meaning(witness: Found, document: Found) -> list[str]:
    """What association and influence come to, in shares of people and of decisions."""
    name, guess = _name(witness), witness["guess"]
    return [
        f"   Who knows it guesses {name} right for {percent(guess['informed'])} of people, "
        f"who does not, for {percent(guess['blind'])}.",
        f"   {moved(witness, document)}",
    ]


def figures(found: Found) -> list[str]:
    """Association, the most it could be, influence."""
    return [
        "" if found[name] is None else f"{found[name]:.3f}"
        for name in ("association", "ceiling", "influence")
    ]


# Where nothing passes, and what to compare with


def _nearest(document: Found, bold: Callable[[str], str]) -> list[str]:
    rows = [
        [_name(near), *figures(near), lacking(near), shortened(near["reading"], MOST_TEXT)]
        for near in document["nearest"]
    ]
    if not rows:
        return []
    heads = ["protected", "association", "at most", "influence", "is short of", "computation"]
    return [bold("Nearest to proxy use"), *text_table(heads, rows, bold)]


def _references(document: Found, bold: Callable[[str], str]) -> list[str]:
    """The raw variables most associated, and the whole output."""
    known = [r for r in document["references"] if r["association"] is not None]
    variables = [r for r in known if r["kind"] == "variable"]
    variables.sort(key=lambda r: -r["association"])
    outputs = [r for r in known if r["kind"] == "output"]
    rows = [
        [_name(r), *figures(r), shortened(r["name"] or "the whole output", MOST_TEXT)]
        for r in [*variables[:MOST_REFERENCES], *outputs]
    ]
    heads = ["protected", "association", "at most", "influence", "variable"]
    left = len(variables) - MOST_REFERENCES
    more = [f"... and {count(left, 'variable')} with less association."] if left > 0 else []
    return [bold("For comparison"), *text_table(heads, rows, bold), *more] if rows else []


def _statistics(document: Found, bold: Callable[[str], str]) -> list[str]:
    """What is to know of the verdicts."""
    asked = document.get("validity")
    if asked is None:
        return []
    told = list(asked["remarks"])
    if asked["confirmed_only"]:
        told.append("Only confirmed violations count for the exit code.")
    return [bold("Statistics"), *(f"- {text}" for text in told)] if told else []


def _notes(document: Found, bold: Callable[[str], str]) -> list[str]:
    told = [f"{note['kind']}: {note['text']}" for note in document["notes"]]
    told = [text for text in told if not text.startswith("method:")]
    told += document["about"].get("notes", [])
    told += [f"not settled: {text}" for text in document["unsettled"]["listed"]]
    if not told:
        return []
    left = len(told) - MOST_NOTES + document["unsettled"]["count"]
    left -= len(document["unsettled"]["listed"])
    more = [f"- ... and {left:,} more; --json has them"] if left > 0 else []
    return [bold("Notes"), *(f"- {text}" for text in told[:MOST_NOTES]), *more]


# One witness


def witnesses_of(document: Found, beginning: str) -> list[dict[str, Any]]:
    """The witness whose id begins so, for each attribute it is a proxy for; else a `FileError`."""
    found = [w for w in document["witnesses"] if w["id"].startswith(beginning)]
    if not found:
        some = count(len(document["witnesses"]), "witness", "witnesses")
        raise FileError(f"no witness has an id that begins with {beginning!r}, of {some}")
    ids = {w["id"] for w in found}
    if len(ids) > 1:
        raise FileError(f"{len(ids)} witnesses have ids that begin with {beginning!r}; give more")
    return found


def describe_witness(document: Found, witness: Found) -> str:
    """One witness in detail: what it computes, where, its figures, its table."""
    document, witness = on_lines(document), on_lines(witness)
    name = _name(witness)
    cut = witness["term_length"] > len(witness["term"])
    lines = [
        f"Witness {witness['id']} of {name}",
        "",
        f"It looks at {witness['reading']}.",
        *_meaning(witness, document),
        *indented(verdict_text(document, witness, _brief)),
        *(f"   {text}" for text in _judged(witness)),
        "",
        f"association  {witness['association']:.4f}"
        + ("" if witness["ceiling"] is None else f", at most {witness['ceiling']:.4f} with values "
           "so distributed"),
        *_bounds(document, witness, "association"),
        f"influence    {witness['influence']:.4f}",
        *_bounds(document, witness, "influence"),
        f"reach        {percent(witness['reach'])} of rows evaluate it",
        f"computation  {witness['term']}{' ...' if cut else ''}",
        f"positions    {_first(witness['positions'])}",
    ]  # fmt: skip
    if witness["origins"]:
        lines.append(f"in the model {_first(witness['origins'])}")
    table = witness["table"]
    heads = [f"rows by {name}", *table["columns"], "all"]
    rows = [
        [label, *map(_cell, cells), _cell(total)]
        for label, cells, total in zip(
            table["rows"], table["cells"], table["row_totals"], strict=True
        )
    ]
    rows.append(["all", *map(_cell, table["column_totals"]), _cell(document["rows"])])
    lines += ["", *text_table(heads, rows, str)]
    if document["min_cell"] > 1:
        lines.append(
            f"Counts below {document['min_cell']} are hidden. Counts that would reveal them are "
            "printed as ranges or withheld."
        )
    return "\n".join(lines)


def _bounds(document: Found, witness: Found, name: str) -> list[str]:
    """The confidence bounds of a measure, and the association without what chance adds."""
    said = witness.get("validity") or {}
    low, high = said.get(f"{name}_low"), said.get(f"{name}_high")
    lines = []
    ways = (document.get("validity") or {"ways": []})["ways"]
    alpha = next((way["alpha"] for way in ways if way["way"] == "confirm"), None)
    if low is not None and high is not None and alpha is not None:
        sure = f"each with {confidence(alpha)} confidence for all tests at once"
        lines.append(f"  bounds     {low:.4f} and {high:.4f}, {sure}")
    corrected = said.get("corrected_association") if name == "association" else None
    if corrected is not None:
        lines.append(f"  corrected  {corrected:.4f} without what chance adds in a sample")
    return lines


def _cell(cell: object) -> str:
    return f"{cell:,}" if isinstance(cell, int) else str(cell)


def _first(texts: Sequence[str], most: int = 5) -> str:
    left = len(texts) - most
    return "; ".join(texts[:most]) + (f"; and {left} more" if left > 0 else "")


# Words and tables


def _name(found: Found) -> str:
    return _brief(found["protected"])


def _brief(name: str) -> str:
    return shortened(name, MOST_NAME)


def moved(witness: Found, document: Found) -> str:
    """What the influence of a witness means."""
    influence = witness["influence"]
    return what_it_moves(influence, percent(influence), document["measures"]["influence"])


def percent(share: float) -> str:
    """A share in words.

    Examples
    --------
    >>> percent(0.5282), percent(0.0421), percent(1.0), percent(0.99996)
    ('52.8 %', '4.2 %', '100 %', 'over 99.9 %')
    """
    value = 100 * share
    if 0 < value < 0.1:
        return "under 0.1 %"
    if 99.9 < value < 100:
        return "over 99.9 %"
    return f"{value:.0f} %" if value in (0, 100) else f"{value:.1f} %"


def text_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], bold: Callable[[str], str]
) -> list[str]:
    """Columns side by side; numbers to the right."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    numbers = [all(_is_number(cell) for cell in column[1:]) for column in columns]

    def line(cells: Sequence[str]) -> str:
        parts = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numbers, strict=True)
        )
        return ("  " + "  ".join(parts)).rstrip()

    return [bold(line(heads)), *map(line, rows)]


def _is_number(cell: str) -> bool:
    digits = cell.replace(",", "").replace(".", "").replace(" to ", "").strip("<")
    return digits.isdigit() or cell in ("", "withheld")


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m"
