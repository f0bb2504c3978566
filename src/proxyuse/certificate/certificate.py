"""A certificate: the result of an audit of one program on one dataset, as a file.

`verification.verify` checks it.
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
from proxyuse.report.findings.witness import decision

MAX_BYTES = 1 << 28
_SHOWN = 10
_AGAIN = "ask the author for a new copy"


@dataclass(frozen=True)
class Certificate:
    """The result of an audit of one program on one dataset, with a hash of the content.

    Attributes
    ----------
    content : the content of its file, which `certificate.schema.json` describes.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> certificate = certify(pu.audit(program, data, "pregnant"))
    >>> certificate.violations, certificate.complete
    (3, True)
    >>> print(certificate.content["claim"])
    A complete search finds 3 violations and 3 witnesses with an association of at least 0.1 and
    influence above 0.05.
    """

    content: Mapping[str, Any]

    @property
    def hash(self) -> str:
        """The hash of all other entries."""
        return str(self.content["hash"])

    @property
    def violations(self) -> int:
        """The number of witnesses that were not judged appropriate."""
        return int(self.content["violations"])

    @property
    def complete(self) -> bool:
        """Whether every witness is listed."""
        return bool(self.content["complete"])

    def to_json(self) -> str:
        """Return the text of its file. The same certificate gives the same text."""
        text = json.dumps(
            self.content, allow_nan=False, ensure_ascii=False, indent=1, sort_keys=True
        )
        return text.encode("utf-8", "backslashreplace").decode("utf-8") + "\n"

    def save(self, path: str | Path) -> Path:
        """Write it to a file atomically."""
        return written(path, self.to_json())

    @classmethod
    def read(cls, path: str | Path) -> Certificate:
        """Read a file that `save` wrote; raise a `FileError` for any other file.

        This checks only the form. `verify` checks the claim.
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
    """Create a certificate from an audit.

    Parameters
    ----------
    audit : the audit.
    oracle : judges whether a witness is appropriate; see `Audit.violations`.
    repaired : a description of the repair that led to the program, as JSON values. An entry
        ``original_program_hash`` can be verified with the original program.
    date : a date in any format; none by default.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"height": [1, 2, 1, 2], "pregnant": [1, 1, 0, 0]}
    >>> audit = pu.audit(pu.Program.parse("ite(height == 1, 'a', 'b')"), data, "pregnant")
    >>> print(certify(audit).content["claim"])
    A complete search finds no violations and no witnesses with an association of at least 0.1 and
    influence above 0.05.
    """
    if any(note.kind is NoteKind.TIME_LIMIT for note in audit.notes):
        raise DataError(
            "an audit that stopped at its time limit cannot be certified, because a repeated audit "
            "can stop at another point; audit again with a longer time limit, or without one"
        )
    try:
        # Verification compares the values that JSON gives back, such as lists for tuples.
        content = json.loads(
            json.dumps(content_of(audit, oracle, repaired=repaired, date=date), allow_nan=False)
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this cannot be written as JSON ({error}); pass JSON values and finite numbers"
        ) from None
    if mistake := mistake_in({**content, "hash": ""}):
        raise DataError(f"this audit cannot be certified: {mistake}")
    return Certificate({**content, "hash": content_hash(content)})


def read_content(path: str | Path) -> dict[str, Any]:
    """Read the JSON object of a file that is marked as a certificate."""
    path = Path(path)
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise FileError(f"{path}: too large for a certificate; check the path")
        content = json.loads(
            raw,
            parse_constant=_number,
            parse_float=_number,
            object_pairs_hook=_each_once,
        )
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a certificate: not a text file; {_AGAIN}") from None
    except RecursionError:
        raise FileError(f"{path}: not a certificate: nested too deeply; {_AGAIN}") from None
    except ValueError as error:
        reason = f"not JSON ({error})" if isinstance(error, json.JSONDecodeError) else error
        raise FileError(f"{path}: not a certificate: {reason}; {_AGAIN}") from None
    if mistake := _foreign(content):
        raise FileError(f"{path}: {mistake}")
    assert isinstance(content, dict)
    return content


def _foreign(content: object) -> str | None:
    """Return why this version cannot read a content; None if it is marked as a certificate."""
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        return f'not a certificate: no "format": "{FORMAT}"; {_AGAIN}'
    version = content.get("version")
    if isinstance(version, int) and version > VERSION:
        return (
            f"the certificate has format version {version}, and this proxyuse reads up to version "
            f"{VERSION}; upgrade proxyuse"
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
    """Return the JSON Schema of a certificate."""
    file = resources.files("proxyuse.certificate").joinpath("certificate.schema.json")
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return content


def describe(content: Mapping[str, Any]) -> str:
    """Describe a certificate in words."""
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
        lines += ["", "Remaining witnesses:", *_few(list(map(_judged, content["witnesses"])))]
    lines += ["", "Strongest pairs of association and influence:"]
    lines += _few([_figures(pair) for pair in content["front"]])
    if count := content["without_influence"]:
        lines.append(f"  (excluding {count:,} decompositions whose influence was not measured)")
    if content["repaired"] is not None:
        lines += ["", "The program is the result of a repair; see the entry 'repaired'."]
    return "\n".join([*lines, "", f"hash of this certificate {content['hash']}"])


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - _SHOWN
    return [f"  {line}" for line in lines[:_SHOWN]] + [f"  and {more:,} more"] * (more > 0)


def _judged(witness: Mapping[str, Any]) -> str:
    judgment = witness["judgment"]
    if judgment is None:
        return f"{_figures(witness)}; not judged"
    verdict = decision(judgment["appropriate"])
    by = f" by {judgment['by']}" if judgment["by"] else ""
    return f"{_figures(witness)}; judged {verdict}{by}: {judgment['reason']}"


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
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("it has an entry twice")
    return content
