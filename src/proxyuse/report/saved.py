"""A document as a file: text out, and back in after a look at it, for it may be a stranger's."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from proxyuse.errors import FileError
from proxyuse.io.reading import unreadable
from proxyuse.report.document import FORMAT, VERSION, result_of
from proxyuse.report.schema import first_mistake, schema
from proxyuse.verdict import counts

MOST_BYTES = 1 << 30


def as_text(document: Mapping[str, Any]) -> str:
    """A document as JSON text; the same document gives the same text."""
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
    # Half a character stays an escape.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def read_document(path: str | Path) -> dict[str, Any]:
    """Read what `as_text` wrote to a file; a `FileError` for anything else."""
    path = Path(path)
    again = "write it with proxyuse audit --output"
    try:
        if path.stat().st_size > MOST_BYTES:
            raise FileError(f"{path}: too large for the result of an audit; {again}")
        found = json.loads(path.read_bytes(), parse_constant=_number, parse_float=_number)
    except OSError as error:
        raise unreadable(path, error) from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not the result of an audit, not even text; {again}") from None
    except RecursionError:
        raise FileError(f"{path}: not the result of an audit: nested too deeply; {again}") from None
    except ValueError as error:
        why = f"not JSON ({error})" if isinstance(error, json.JSONDecodeError) else error
        raise FileError(f"{path}: not the result of an audit: {why}; {again}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise FileError(f'{path}: not the result of an audit: no "format": "{FORMAT}"; {again}')
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise FileError(
            f"{path}: written in version {version} of the format by proxyuse "
            f"{found.get('proxyuse')}, and this proxyuse reads up to version {VERSION}; upgrade it"
        )
    if mistake := first_mistake(found, schema("audit")) or _loose_end(found):
        raise FileError(f"{path}: not the result of an audit: {mistake}; {again}")
    return found


def _loose_end(found: dict[str, Any]) -> str | None:
    """What a document refers to and does not hold, or says in two ways; None if all is well."""
    judged = [witness["judgment"] for witness in found["witnesses"]]
    violations = sum(said is None or not said["appropriate"] for said in judged)
    said = result_of(violations, len(judged), found["complete"])
    if (found["violations"], found["result"]) != (violations, said):
        return "its result is not what its witnesses say"
    counts = Counter(witness["protected"] for witness in found["witnesses"])
    if counts != Counter({z["name"]: z["witnesses"] for z in found["protected"]}):
        return "the witnesses of a protected attribute are not as many as it says"
    known = {(witness["protected"], witness["id"]) for witness in found["witnesses"]}
    for group in found["groups"]:
        for name in ("front", "strongest"):
            if (group["protected"], group[name]) not in known:
                return f"the {name} of group {group['group']} is not among the witnesses"
    if not _verdicts_fit(found):
        return "what it says of confirmed witnesses is not what its witnesses say"
    for witness in found["witnesses"]:
        table = witness["table"]
        shape = len(table["rows"]), len(table["columns"])
        fits = all(len(line) == shape[1] for line in table["cells"])
        lengths = len(table["cells"]), len(table["row_totals"]), len(table["commonest"])
        if not fits or lengths != (shape[0],) * 3 or len(table["column_totals"]) != shape[1]:
            return f"the table of witness {witness['id']} has lines of different lengths"
    return None


def _verdicts_fit(found: dict[str, Any]) -> bool:
    """Whether verdicts are there if statistics were asked, and are as many as is said."""
    asked = found.get("validity")
    said = [witness.get("validity") for witness in found["witnesses"]]
    if asked is None:
        return not any(said)
    if None in said:
        return False
    ways = {way["way"] for way in asked["ways"]}
    verdicts = counts(one["verdict"] for one in said)
    left = counts(
        one["verdict"]
        for one, witness in zip(said, found["witnesses"], strict=True)
        if witness["judgment"] is None or not witness["judgment"]["appropriate"]
    )
    return (
        all(set(one["by_way"]) == ways for one in said)
        and all(asked[name] == number for name, number in verdicts.items())
        and all(asked[f"{name}_violations"] == left[name] for name in ("confirmed", "undecided"))
    )


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is not a finite number")
    return number
