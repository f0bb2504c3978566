"""Changes to files: bytes, words of a text, trees of values, arrays, zip archives, columns.

Every change takes a random generator and is determined by it. `of_tree`, `of_text` and `of_array`
know the structure of what they change, because a random byte mostly breaks a file before anything
interesting reads it.
"""

from __future__ import annotations

import base64
import copy
import gzip
import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Mutation = Callable[[bytes, random.Random, Sequence[bytes]], bytes]
"""Changes the content of a file; the other contents are of the same format."""

NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 7, 255, 256, 1000, -(2**31), 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63,
    2**64, -(2**63) - 1, 10**30, 10**400, 0.5, -0.0, 1e-320, 5e-324, 1e308, -1e308, float("nan"),
    float("inf"), float("-inf"),
)  # fmt: skip
TEXTS: tuple[str, ...] = (
    "", " ", "0", "-1", "1e309", "nan", "NaN", "inf", "null", "true", "[]", "{}", "a", "k", "z",
    "\0", "\n", "\r", "\u202e", "\ud800", "\U0001f600", "ä" * 300, "'", '"', "`", "\\", "../../x",
    "/", "=1+1", "<script>", "%s%n", "os.system", "__class__", "!!python/object/apply:os.system",
    "2024-02-30", "9" * 500, "(" * 200, "x" * 5000,
)  # fmt: skip
WORDS: tuple[str, ...] = (
    "ite(", "and", "or", "not", "in", "{", "}", "(", ")", "[", "]", ",", ";", ":", "==", "<=", ">",
    "+", "*", "-", "lambda", ".", "float32:", "float64:", "argmax", "softmax", "sigmoid", "exp",
    "log", "fill", "missing", "true", "false", "nan", "inf", "-inf", "1e999", "0x10", "'u'", "a",
    "b", "k", "z", "&a", "*a", "<<:", "!!python/name:os.system", "---", "|", ">-", "#", "\t", "\n",
)  # fmt: skip
NAMES = ("a", "b", "k", "n", "w", "z", "id", "u", "v", "true", "false", "nan", "inf")
SIGNS = ("<", ">", "=", "+", "*", "-", "/", ",", "and", "or", "not", "in", "ite")
SPACES = (" ", "  ", "\t", "\n")
_TOKEN = re.compile(r"[A-Za-z_]+|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?|\s+|.", re.DOTALL)


# Bytes


def of_bytes(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Flip, set, delete, duplicate, insert, splice or cut off bytes."""
    changed = bytearray(data)
    size = len(changed)
    start = rng.randrange(size + 1)
    length = min(size - start, rng.choice((1, 1, 2, 4, 8, 50, 1000)))
    match rng.randrange(9):
        case 0 | 1 if start < size:
            changed[start] ^= 1 << rng.randrange(8)
        case 2 if start < size:
            changed[start] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
        case 3:
            del changed[start : start + length]
        case 4:
            changed[start:start] = changed[start : start + length] * rng.choice((1, 1, 3, 100))
        case 5:
            changed[start:start] = rng.randbytes(length or 1)
        case 6:
            other = rng.choice(others)
            from_other = rng.randrange(len(other) + 1)
            changed[start : start + length] = other[from_other : from_other + rng.choice((8, 500))]
        case 7:
            number = rng.choice((0, 1, 2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1))
            width = rng.choice((2, 4, 8))
            changed[start : start + width] = (number % 256**width).to_bytes(
                width, rng.choice(("little", "big"))
            )
        case _:
            del changed[start:]
    return bytes(changed)


# Text


def of_text(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace, delete, duplicate, swap or nest words of a text, or lines, or splice another."""
    text = data.decode("utf-8", "surrogateescape")
    if rng.random() < 0.3:
        lines = text.splitlines(keepends=True) or [""]
        other = rng.choice(others).decode("utf-8", "surrogateescape").splitlines(keepends=True)
        return _written("".join(_changed_list(lines, rng, other or [""], _other_word)))
    tokens: list[str] = _TOKEN.findall(text) or [""]
    start = rng.randrange(len(tokens))
    if rng.random() < 0.1:  # nested
        depth = rng.choice((3, 70, 2000))
        opening, closing = rng.choice(("()", "[]", "{}", ("not ", ""), ("- ", ""), ("ite(", ")")))
        tokens[start : start + 1] = [opening * depth, tokens[start], closing * depth]
        return _written("".join(tokens))
    other_tokens = _TOKEN.findall(rng.choice(others).decode("utf-8", "surrogateescape")) or [""]
    return _written("".join(_changed_list(tokens, rng, other_tokens, _other_word)))


def _written(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape" if "\ud800" not in text else "surrogatepass")


def _other_word(word: Any, rng: random.Random) -> str:
    if re.fullmatch(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", word) and rng.random() < 0.7:
        return str(_other_number(float(word) if len(word) < 300 else 1.0, rng))[:400]
    for alike in (NAMES, SIGNS, SPACES):  # mostly of the same kind, so that the text stays valid
        if word in alike and rng.random() < 0.7:
            return rng.choice(alike)
    return rng.choice((*WORDS, *TEXTS))


def _other_number(number: float, rng: random.Random) -> Any:
    match rng.randrange(5):
        case 0:
            return number + rng.choice((-1, 1))
        case 1:
            return -number
        case 2:
            return int(number) if np.isfinite(number) else 0
        case _:
            return rng.choice(NUMBERS[:18] + NUMBERS[19:])


def _changed_list(
    items: list[Any],
    rng: random.Random,
    others: Sequence[Any],
    other: Callable[[Any, random.Random], Any],
) -> list[Any]:
    """Change a list by one of the usual operations."""
    items = list(items)
    start = rng.randrange(len(items)) if items else 0
    length = rng.choice((1, 1, 1, 2, 10, 100))
    match rng.randrange(8):
        case 0 | 1 | 2 if items:
            items[start] = other(items[start], rng)
        case 3:
            del items[start : start + length]
        case 4:
            items[start:start] = items[start : start + length] * rng.choice((1, 1, 3, 50))
        case 5 if len(items) > 1:
            second = rng.randrange(len(items))
            items[start], items[second] = items[second], items[start]
        case 6 if others:
            from_other = rng.randrange(len(others))
            items[start : start + length] = others[from_other : from_other + length]
        case _:
            items.insert(start, rng.choice(others) if others else "")
    return items


# Trees of values


def of_tree(tree: Any, rng: random.Random, other: Any = None) -> Any:
    """Change one value of a tree of dicts, lists and scalars, in place if possible."""
    paths = _paths(tree)
    chosen: tuple[Any, Any] = rng.choice(paths) if paths else (None, None)
    holder, key = chosen
    donors = _paths(other) or paths
    donated = None
    if donors:
        donor, donor_key = rng.choice(donors)
        donated = donor[donor_key]
    if holder is None:
        return rng.choice((None, [], {}, 3, "x"))
    value = holder[key]
    match rng.randrange(12):
        case 0:
            if isinstance(holder, list):
                del holder[key]
            else:
                holder.pop(key)
        case 1 if isinstance(holder, list):
            holder[key:key] = [value] * rng.choice((1, 1, 2, 200))
        case 1:
            holder[rng.choice((*TEXTS, f"{key}_"))] = value
        case 2 | 3:
            holder[key] = _copied(donated)
        case 4:
            holder[key] = rng.choice((None, True, False, [], {}, "", 0, [value], {"a": value}))
        case 5:
            nested = value
            for _ in range(rng.choice((2, 30, 400))):
                nested = [nested] if rng.random() < 0.5 else {"content": nested}
            holder[key] = nested
        case 6 if isinstance(value, list) and value:
            holder[key] = value[: rng.randrange(len(value))]
        case 7 if isinstance(value, list) and value:
            holder[key] = _changed_list(value, rng, value, lambda item, _: item)
        case 8 if isinstance(value, dict) and value:
            renamed = rng.choice(list(value))
            value[rng.choice(TEXTS)] = value.pop(renamed)
        case _:
            holder[key] = _other_scalar(value, rng)
    return tree


def _other_scalar(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return rng.choice((not value, int(value), str(value)))
    if isinstance(value, int | float):
        number = float(value) if abs(value) < 2**1000 else 0.0
        return rng.choice((_other_number(number, rng), rng.choice(NUMBERS), str(value)))
    if isinstance(value, str):
        if value and rng.random() < 0.5:  # a number in quotes, or another word
            text = of_text(value.encode("utf-8", "surrogatepass"), rng, [b"1 2 a"])
            return text.decode("utf-8", "replace")
        return rng.choice((*TEXTS, *WORDS, str(rng.choice(NUMBERS[:18]))))
    return rng.choice((*NUMBERS, *TEXTS, None, True))


def _paths(tree: Any, most: int = 20_000) -> list[tuple[Any, Any]]:
    """Every holder and key in a tree, outer ones first."""
    found: list[tuple[Any, Any]] = []
    waiting = [tree]
    while waiting and len(found) < most:
        holder = waiting.pop()
        if not isinstance(holder, dict | list):
            continue
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def _copied(tree: Any) -> Any:
    return copy.deepcopy(tree)


def of_json(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the values of a JSON file; of a broken one, its text."""
    try:
        tree, other = json.loads(data), json.loads(rng.choice(others))
        return _json_bytes(of_tree(tree, rng, other))
    except (ValueError, RecursionError):  # it is broken, or an earlier change nested it too deeply
        return of_text(data, rng, others)


def of_json_lines(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the values of one line of a file of JSON lines."""
    lines = data.splitlines() or [b""]
    index = rng.randrange(len(lines))
    lines[index] = of_json(lines[index] or b"{}", rng, rng.choice(others).splitlines() or [b"{}"])
    return b"\n".join(lines) + b"\n"


def of_yaml(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the values of a YAML file; of a broken one, its text."""
    import yaml

    try:
        tree, other = yaml.safe_load(data), yaml.safe_load(rng.choice(others))
        return bytes(yaml.safe_dump(of_tree(tree, rng, other), encoding="utf-8", sort_keys=False))
    except (yaml.YAMLError, ValueError, RecursionError):
        return of_text(data, rng, others)


def _json_bytes(tree: Any) -> bytes:
    return json.dumps(tree).encode("utf-8", "surrogatepass")


# Arrays


def of_array(array: Any, rng: random.Random) -> Any:
    """Change the values, the shape or the type of an array."""
    array = np.array(array, copy=True)
    flat = array.reshape(-1)
    match rng.randrange(11):
        case 0 | 1 | 2 | 3 if flat.size:
            _change_items(flat, rng)
        case 4:
            return array[..., :-1] if array.ndim else array
        case 5:
            return array[1:] if array.ndim else array
        case 6:
            return array.T if array.ndim > 1 else array[None]
        case 7:
            return array.reshape(-1)
        case 8:
            return np.concatenate([array, array]) if array.ndim else np.array([array, array])
        case 9:
            return array[:0] if array.ndim else np.zeros(0)
        case _ if array.dtype.names is None:
            kinds = ("float64", "float32", "float16", "int64", "int8", "uint8", "bool", "U5", "S3")
            with np.errstate(all="ignore"):
                try:
                    return array.astype(rng.choice(kinds))
                except ValueError:
                    return array
    return array


def _change_items(flat: Any, rng: random.Random) -> None:
    if flat.dtype.names is not None:
        flat = flat[rng.choice(flat.dtype.names)]
    indices = rng.sample(range(flat.size), min(flat.size, rng.choice((1, 1, 3, 10**6))))
    for index in indices:
        value = flat[index]
        replacement: Any = rng.choice(NUMBERS)
        if flat.dtype.kind in "US":
            replacement = rng.choice(
                ("", "x", "u", "k", "\U0001f600" if flat.dtype.kind == "U" else "y")
            )
        elif rng.random() < 0.4 and flat.dtype.kind in "iuf":
            replacement = rng.choice((float(value) + 1, float(value) - 1, -float(value)))
        with np.errstate(all="ignore"):
            try:
                flat[index] = replacement
            except (OverflowError, ValueError, TypeError):
                flat[index] = rng.choice((0, 1, 100))


# Archives


def of_skops(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the description or an array of a skops file; of a broken one, its bytes."""
    try:
        description, members = unzipped(data)
        other, _ = unzipped(rng.choice(others))
    except (ValueError, KeyError, RecursionError, zipfile.BadZipFile):
        return of_bytes(data, rng, others)
    choice = rng.random()
    arrays = [name for name in members if name.endswith(".npy")]
    if choice < 0.35 and arrays:
        name = rng.choice(arrays)
        try:
            members[name] = stored(of_array(np.load(io.BytesIO(members[name])), rng))
        except Exception:  # changed before, so NumPy's reader can fail in any way
            members[name] = of_bytes(members[name], rng, list(members.values()))
    elif choice < 0.4 and len(arrays) > 1:
        first, second = rng.sample(arrays, 2)
        members[first], members[second] = members[second], members[first]
    elif choice < 0.45 and arrays:
        name = rng.choice(arrays)
        members[name] = of_bytes(members[name], rng, list(members.values()))
    elif choice < 0.75:
        _change_json_value(description, rng)
    elif choice < 0.8:
        _insert_code(description, rng)
    else:
        description = of_tree(description, rng, other)
    return zipped(description, members)


def _change_json_value(description: Any, rng: random.Random) -> None:
    """Change a value that the description stores as JSON text."""
    nodes = [
        holder[key]
        for holder, key in _paths(description)
        if isinstance(holder[key], dict) and holder[key].get("__loader__") == "JsonNode"
    ]
    if nodes:
        node = rng.choice(nodes)
        try:
            node["content"] = json.dumps(_other_scalar(json.loads(node["content"]), rng))
        except (ValueError, KeyError, TypeError):
            node["content"] = rng.choice(TEXTS)


CODE = (
    ("FunctionNode", "os", "system"),
    ("FunctionNode", "builtins", "exec"),
    ("TypeNode", "subprocess", "Popen"),
    ("ObjectNode", "pathlib", "Path"),
    ("OperatorFuncNode", "operator", "methodcaller"),
    ("MethodNode", "os", "system"),
    ("ConstructorFromReduceNode", "os", "system"),
)


def _insert_code(description: Any, rng: random.Random) -> None:
    """Let a part of the description name a function or class that runs code."""
    paths = [p for p in _paths(description) if isinstance(p[0][p[1]], dict)]
    if paths:
        holder, key = rng.choice(paths)
        loader, module, kind = rng.choice(CODE)
        holder[key] = {
            **holder[key],
            "__loader__": loader, "__module__": module, "__class__": kind,
        }  # fmt: skip


def unzipped(data: bytes) -> tuple[Any, dict[str, bytes]]:
    """The description of a skops file and its other members."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(members.pop("schema.json")), members


def zipped(description: Any, members: dict[str, bytes]) -> bytes:
    """A skops file; always the same bytes for the same content."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in {**members, "schema.json": _json_bytes(description)}.items():
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), content)
    return made.getvalue()


def stored(array: Any) -> bytes:
    """An array in NumPy's format."""
    made = io.BytesIO()
    np.save(made, array, allow_pickle=False)
    return made.getvalue()


def of_gzip(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the text in a gzip file."""
    try:
        inner = gzip.decompress(data)
        return gzip.compress(of_text(inner, rng, [gzip.decompress(rng.choice(others))]), mtime=0)
    except (OSError, EOFError, ValueError, zlib.error):
        return of_bytes(data, rng, others)


# UBJSON


def of_ubjson(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Change the values of a UBJSON file; of a broken one, its bytes."""
    from proxyuse.errors import FileError
    from proxyuse.models.xgboost.ubjson import read_ubjson

    try:
        tree, other = read_ubjson(data), read_ubjson(rng.choice(others))
    except FileError:
        return of_bytes(data, rng, others)
    try:
        return ubjson(of_tree(tree, rng, other))
    except RecursionError:  # too deep for this writer, but not for a file
        depth = 100_000
        return b"{" + _sized("learner") + b"[" * depth + b"]" * depth + b"}"


def ubjson(value: Any) -> bytes:
    """Write a value as UBJSON, without typed arrays."""
    match value:
        case None:
            return b"Z"
        case bool():
            return b"T" if value else b"F"
        case int():
            clipped = max(-(2**63), min(2**63 - 1, value))
            return b"L" + clipped.to_bytes(8, "big", signed=True)
        case float():
            return b"D" + np.array(value, ">f8").tobytes()
        case str():
            return b"S" + _sized(value)
        case list():
            return b"[" + b"".join(map(ubjson, value)) + b"]"
        case dict():
            inner = b"".join(_sized(str(key)) + ubjson(item) for key, item in value.items())
            return b"{" + inner + b"}"
    raise TypeError(type(value))


def _sized(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return b"L" + len(raw).to_bytes(8, "big") + raw


def renamed(data: bytes, rng: random.Random, others: Sequence[bytes]) -> bytes:
    """Replace the file by a pickle that would run code."""
    return rng.choice((
        base64.b64decode(b"gASVHQAAAAAAAACMBXBvc2l4lIwGc3lzdGVtlJOUjAJpZJSFlFKULg=="),
        b"cos\nsystem\n(S'id'\ntR.",
    ))  # fmt: skip
