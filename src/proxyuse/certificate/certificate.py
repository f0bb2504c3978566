"""A certificate: a claim about one program on one data set, as a file.

The claim is what an audit found. `verify` (in `verification`) checks it again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from proxyuse.auditing import Audit
from proxyuse.certificate.content import FORMAT, VERSION, content_of
from proxyuse.certificate.recorded_settings import settings_from
from proxyuse.errors import DataError, FileError
from proxyuse.hashes import content_hash
from proxyuse.io.json_schema import first_mistake
from proxyuse.io.reading import unreadable
from proxyuse.io.writing import written
from proxyuse.judge.judgment import Oracle
from proxyuse.notes import NoteKind

MOST_BYTES = 1 << 28
_SHOWN = 10
_AGAIN = "ask for the certificate again"


@dataclass(frozen=True)
class Certificate:
    """What an audit of one program on one data set found, with a hash over all of it.

    Attributes
    ----------
    content : all that it says, as in its file, which `certificate.schema.json` describes.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> certificate = certify(pu.audit(program, data, "pregnant"))
    >>> certificate.violations, certificate.complete
    (3, True)
    >>> print(certificate.content["claim"])
    Complete detection finds 3 violations and 3 witnesses at association of at least 0.1 and
    influence above 0.05.
    """

    content: Mapping[str, Any]

    @property
    def hash(self) -> str:
        """The hash over everything else in it."""
        return str(self.content["hash"])

    @property
    def violations(self) -> int:
        """How many witnesses were not judged appropriate."""
        return int(self.content["violations"])

    @property
    def complete(self) -> bool:
        """Whether every witness is listed."""
        return bool(self.content["complete"])

    def to_json(self) -> str:
        """The text of its file; the same certificate gives the same text."""
        text = json.dumps(
            self.content, allow_nan=False, ensure_ascii=False, indent=1, sort_keys=True
        )
        return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it to a file, whole or not at all."""
        return written(path, self.to_json())

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read what `save` wrote; a `FileError` for anything else.

        Nothing is checked but its form: that is what `verify` is for.
        """
        content = read_content(path)
        if mistake := mistake_in(content):
            raise FileError(f"{path}: not a certificate: {mistake}; {_AGAIN}")
        return cls(content)

    def __str__(self) -> str:
        return describe(self.content)


def certify(
    audit: Audit,
    oracle: Oracle | None = None,
    repaired: Mapping[str, Any] | None = None,
    *,
    date: str | None = None,
) -> Certificate:
    """Turn what an audit found into a certificate.

    Parameters
    ----------
    audit : what was found.
    oracle : who judges whether a witness is appropriate; see `Audit.violations`.
    repaired : what is to be told about a repair that led to the program; anything that JSON can
        hold. An entry ``original_program_hash`` can be checked against the original program.
    date : when, in whatever form; by default nothing is said of it.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"height": [1, 2, 1, 2], "pregnant": [1, 1, 0, 0]}
    >>> found = pu.audit(pu.Program.parse("ite(height == 1, 'a', 'b')"), data, "pregnant")
    >>> print(certify(found).content["claim"])
    Complete detection finds no violation and no witness at association of at least 0.1 and
    influence above 0.05.
    """
    if any(note.kind is NoteKind.TIME_LIMIT for note in audit.notes):
        raise DataError(
            "an audit that stopped at its time limit cannot be certified, because a check may stop "
            "elsewhere; audit again with a longer time limit, or with none"
        )
    try:
        # What was read back from JSON is what is compared: tuples are lists there.
        content = json.loads(
            json.dumps(content_of(audit, oracle, repaired=repaired, date=date), allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"a certificate cannot hold this ({error}); pass what JSON can hold, and finite numbers"
        ) from None
    if mistake := mistake_in({**content, "hash": ""}):
        raise DataError(f"an audit like this cannot be certified: {mistake}")
    return Certificate({**content, "hash": content_hash(content)})


def read_content(path: str | Path) -> dict[str, Any]:
    """The JSON object in a file that says it is a certificate."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
        if len(raw) > MOST_BYTES:
            raise FileError(f"{path}: too large for a certificate; is it the right file?")
        found = json.loads(
            raw,
            parse_constant=_number,
            parse_float=_number,
            object_pairs_hook=_each_once,
        )
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a certificate, not even text; {_AGAIN}") from None
    except RecursionError:
        raise FileError(f"{path}: not a certificate: nested too deeply; {_AGAIN}") from None
    except ValueError as error:
        why = f"not JSON ({error})" if isinstance(error, json.JSONDecodeError) else error
        raise FileError(f"{path}: not a certificate: {why}; {_AGAIN}") from None
    if mistake := _foreign(found):
        raise FileError(f"{path}: {mistake}")
    assert isinstance(found, dict)
    return found


def _foreign(found: object) -> str | None:
    """Why this is no certificate that can be read here; None if it says it is one."""
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        return f'not a certificate: no "format": "{FORMAT}"; {_AGAIN}'
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        return (
            f"written in version {version} of the format, and this proxyuse reads up to version "
            f"{VERSION}; upgrade it"
        )
    return None


def mistake_in(content: object) -> str | None:
    """Return where and how a content does not fit the schema; None if it fits."""
    if mistake := _foreign(content) or first_mistake(content, schema()):
        return mistake
    assert isinstance(content, Mapping)
    try:
        settings_from(content["settings"])
    except DataError as error:
        return str(error)
    return None


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of a certificate."""
    file = resources.files("proxyuse.certificate").joinpath("certificate.schema.json")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


def describe(content: Mapping[str, Any]) -> str:
    """A certificate in words."""
    program, data, settings = content["program"], content["data"], content["settings"]
    names = ", ".join(z["name"] for z in content["protected"])
    lines = [
        content["claim"],
        "",
        f"program    {program['size']:,} nodes, hash {program['hash']}",
        f"data       {data['rows']:,} rows, hash {data['hash']}",
        f"protected  {names}",
        f"thresholds association >= {settings['epsilon']:g}, influence > {settings['delta']:g}",
        f"measured   {content['decompositions']:,} decompositions",
    ]
    if content["unsettled"]:
        lines += ["", "Not settled:", *_few(content["unsettled"])]
    if content["witnesses"]:
        lines += ["", "Witnesses left:", *_few(list(map(_told, content["witnesses"])))]
    lines += ["", "Strongest pairs of association and influence:"]
    lines += _few([_figures(pair) for pair in content["front"]])
    if count := content["without_influence"]:
        lines.append(f"  (without {count:,} whose influence was not measured)")
    if content["repaired"] is not None:
        lines += ["", "The program is the result of a repair; see the entry 'repaired'."]
    return "\n".join([*lines, "", f"hash of this certificate {content['hash']}"])


def _few(told: list[str]) -> list[str]:
    more = len(told) - _SHOWN
    return [f"  {line}" for line in told[:_SHOWN]] + [f"  and {more:,} more"] * (more > 0)


def _told(witness: Mapping[str, Any]) -> str:
    said = witness["judgment"]
    if said is None:
        judged = "judged by nobody"
    else:
        verdict = "appropriate" if said["appropriate"] else "NOT appropriate"
        judged = f"judged {verdict} by {said['by'] or 'someone'}: {said['reason']}"
    return f"{_figures(witness)}; {judged}"


def _figures(pair: Mapping[str, Any]) -> str:
    text = pair["term"]
    brief = text if len(text) <= 60 else f"{text[:57]}..."
    return (
        f"{pair['protected']}: {pair['association']:.4f}, {pair['influence']:.4f} for {brief} "
        f"({pair['id']})"
    )


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an entry stands there twice")
    return found
