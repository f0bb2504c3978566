"""One witness in sentences, and what it comes to for a build: what formats for CI share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from proxyuse.report.answer import moved, percent
from proxyuse.report.wording import shortened, verdict_text
from proxyuse.verdict import Verdict
from proxyuse.words import count

MOST_NAME = 80
MOST_READING = 300
MOST_REASON = 1000

Found = Mapping[str, Any]


class Standing(StrEnum):
    """What a witness comes to for a build, the worst first."""

    FAILS = "fails"
    UNDECIDED = "cannot be decided"
    NOT_COUNTED = "not confirmed"
    APPROPRIATE = "judged appropriate"


def standing(document: Found, witness: Found) -> Standing:
    """Whether a witness fails a build, and why not; agrees with the exit code of the document.

    A witness that nobody judged appropriate fails, unless only confirmed ones are to count.

    Examples
    --------
    >>> document = {"validity": {"confirmed_only": True}}
    >>> witness = {"judgment": None, "validity": {"verdict": "possible"}}
    >>> standing(document, witness).value, standing({}, {"judgment": None}).value
    ('not confirmed', 'fails')
    """
    said, asked = witness["judgment"], document.get("validity")
    if said is not None and said["appropriate"]:
        return Standing.APPROPRIATE
    if asked is None or not asked["confirmed_only"]:
        return Standing.FAILS
    verdict = Verdict(witness["validity"]["verdict"])
    return {
        Verdict.CONFIRMED: Standing.FAILS,
        Verdict.POSSIBLE: Standing.NOT_COUNTED,
        Verdict.UNDECIDED: Standing.UNDECIDED,
    }[verdict]


def confirmed(witness: Found) -> bool | None:
    """Whether statistics confirm a witness; None if that was not asked."""
    said = witness.get("validity")
    return None if said is None else said["verdict"] == Verdict.CONFIRMED


def summary(witness: Found) -> str:
    """What the model does, in one sentence.

    Examples
    --------
    >>> found = {"protected": "z", "reading": "whether age is at most 30", "explicit": False}
    >>> summary({**found, "occurrences": 2})
    'The model uses a proxy for z: it looks at whether age is at most 30, at 2 places.'
    """
    begin = "In these rows the model uses" if confirmed(witness) is False else "The model uses"
    name = shortened(witness["protected"], MOST_NAME)
    used = f"{name} itself" if witness["explicit"] else f"a proxy for {name}"
    number = witness["occurrences"]
    at = "" if number == 1 else f", at {count(number, 'place')}"
    return f"{begin} {used}: it looks at {shortened(witness['reading'], MOST_READING)}{at}."


def sentences(document: Found, witness: Found) -> list[str]:
    """What the model does, what that comes to, whether it is real, what was said of it."""
    name = shortened(witness["protected"], MOST_NAME)
    guess = witness["guess"]
    most = "" if witness["ceiling"] is None else f" of at most {witness['ceiling']:.3f}"
    limits = document["thresholds"]
    told = [
        summary(witness),
        f"Who knows it guesses {name} right for {percent(guess['informed'])} of people, who does "
        f"not, for {percent(guess['blind'])}.",
        moved(witness, document),
        f"Association {witness['association']:.3f}{most} (threshold {limits['epsilon']:g}), "
        f"influence {witness['influence']:.3f} (threshold {limits['delta']:g}), reached by "
        f"{percent(witness['reach'])} of rows, id {witness['id']}.",
        verdict_text(document, witness, lambda text: shortened(text, MOST_NAME)),
        judged(witness),
    ]
    return [text for text in told if text]


def judged(witness: Found) -> str:
    """Who judged a witness, how and why."""
    said = witness["judgment"]
    if said is None:
        return "Nobody has judged whether this is appropriate."
    how = "appropriate" if said["appropriate"] else "NOT appropriate"
    by = f" by {shortened(said['by'], MOST_NAME)}" if said["by"] else ""
    return f"Judged {how}{by}: {shortened(said['reason'], MOST_REASON)}"
