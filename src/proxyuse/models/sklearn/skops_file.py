"""skops files: a zip of arrays and a description; read, checked, and only then built.

The description is walked before skops sees it. Every part has to be on the list in
`skops_types`, every array is looked at, every tree is checked to be one. What
passes is written out anew, into a file in memory that holds nothing else: no ids by which a part
could stand for another, no names of files, no members that nobody asks for. That is what skops
loads, and `proxyuse.models.sklearn.consistency` looks at what came out.
"""

from __future__ import annotations

import io
import json
import math
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from proxyuse.errors import FileError
from proxyuse.lang.evaluate import Array
from proxyuse.models.sklearn.consistency import check_model
from proxyuse.models.sklearn.skops_types import ALLOWED, LEFT_OUT, TRUSTED
from proxyuse.models.tree_arrays import check_tree

MAX_UNPACKED = 1 << 30
MAX_DESCRIPTION = 1 << 28
MAX_MEMBERS = 1_000_000
MAX_FEATURES = 1_000_000
PROTOCOLS = (1, 2)  # of skops' descriptions: they agree in all that is allowed here

_PLAIN_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
_NOTHING: dict[str, Any] = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}

Node = dict[str, Any]


def load_skops(data: bytes) -> tuple[object, str | None]:
    """The model in a skops file, and the version of scikit-learn that saved it."""
    with warnings.catch_warnings():  # scikit-learn's, of versions, say less than saved_with
        warnings.simplefilter("ignore")
        return _load(data)


def _load(data: bytes) -> tuple[object, str | None]:
    try:
        import sklearn
        import skops.io
    except ImportError:
        raise FileError(
            "this is a skops file, and skops or scikit-learn is not installed: "
            "pip install 'proxyuse[files,sklearn]'"
        ) from None
    description, members = _unzip(data)
    checker = _Checker(members)
    try:
        root = checker.node(description)
    except RecursionError:
        raise FileError("its description is nested too deep") from None
    _refuse(checker.unknown)
    saved_with = _saved_with(root, sklearn.__version__)
    clean = checker.zipped(root, description["protocol"])
    try:
        _refuse(set(skops.io.get_untrusted_types(data=clean)) - set(TRUSTED))
        model = skops.io.loads(clean, trusted=TRUSTED)
        check_model(model)
        return model, saved_with
    except FileError:
        raise
    except Exception as error:
        said = f"saved with {saved_with}; " if saved_with else ""
        raise FileError(
            f"{said}scikit-learn {sklearn.__version__} and skops {skops.__version__} cannot build "
            f"it ({type(error).__name__}: {error}); the file is damaged, or another version of "
            "scikit-learn is needed"
        ) from None


def _refuse(names: set[str]) -> None:
    if names:
        some = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
        raise FileError(
            f"it holds what is not on the list of safe types: {some}; a file could run code "
            "or crash the process with it. Known are scikit-learn's models that can be audited; "
            "save models of other libraries in their own format"
        )


def _saved_with(root: Node, installed: str) -> str | None:
    """The version that the outermost estimator names, with the one here if it is another."""
    try:
        version = json.loads(root["content"]["content"]["_sklearn_version"]["content"])
    except (KeyError, TypeError):
        return None
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise FileError("its version of scikit-learn is not one")
    if version == installed:
        return f"scikit-learn {version}"
    return f"scikit-learn {version} (read with scikit-learn {installed})"


# The archive


def _unzip(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The description, and the other members by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive)
            members = {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise FileError(f"its zip archive is damaged: {error}") from None
    except (NotImplementedError, RuntimeError, ValueError, OSError, MemoryError) as error:
        raise FileError(f"its zip archive cannot be read: {error}") from None
    text = members.pop("schema.json", None)
    if text is None:
        raise FileError("it is a zip archive without schema.json, and so not a skops file")
    try:
        description = json.loads(text.decode("utf-8"))
    except RecursionError:
        raise FileError("its description is nested too deep") from None
    except ValueError as error:
        raise FileError(f"its description is not JSON in UTF-8: {error}") from None
    protocol = description.get("protocol") if isinstance(description, dict) else None
    if type(protocol) is not int or protocol not in PROTOCOLS:
        raise FileError(
            f"its format is number {protocol!r:.20} of skops; known are "
            f"{' and '.join(map(str, PROTOCOLS))}: save it again with a skops of today"
        )
    return description, members


def _check_members(archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > MAX_MEMBERS or len(set(names)) != len(names):
        raise FileError("its zip archive has too many members, or one twice")
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise FileError(f"its zip archive has a member with the name {name!r:.60}")
    if sum(member.file_size for member in members) > MAX_UNPACKED:
        raise FileError(f"its zip archive unpacks to more than {MAX_UNPACKED:,} bytes")
    if any(m.file_size > MAX_DESCRIPTION for m in members if m.filename == "schema.json"):
        raise FileError(f"its description is longer than {MAX_DESCRIPTION:,} bytes")


# The description


class _Checker:
    """Walks a description and makes another one of what is allowed.

    Attributes
    ----------
    unknown : names that are not on the list.
    """

    def __init__(self, members: dict[str, bytes]) -> None:
        self.unknown: set[str] = set()
        self._members = members
        self._arrays: dict[str, Array] = {}
        self._read = 0
        self._bodies: dict[str, Callable[[Node], Node]] = {
            "DictNode": self._dict,
            "ListNode": self._sequence,
            "TupleNode": self._sequence,
            "SetNode": self._sequence,
            "SliceNode": self._slice,
            "NdArrayNode": self._array,
            "MaskedArrayNode": self._masked,
            "DTypeNode": self._dtype,
            "TypeNode": self._name_alone,
            "FunctionNode": self._name_alone,
            "PartialNode": self._partial,
            "LossNode": self._loss,
            "ObjectNode": self._object,
            "TreeNode": self._tree,
        }

    def node(self, given: object) -> Node:
        """A part of a description, checked with all that is in it."""
        if not isinstance(given, dict):
            raise FileError("a part of its description is not an object")
        loader, module, kind = (given.get(key) for key in ("__loader__", "__module__", "__class__"))
        if not all(isinstance(word, str) for word in (loader, module, kind)):
            raise FileError("a part of its description does not say what it is")
        if loader in LEFT_OUT:
            return _NOTHING
        if loader == "JsonNode":
            return self._json(given)
        name = f"{module}.{kind}"
        if name not in ALLOWED.get(str(loader), ()):
            self.unknown.add(name if loader in ALLOWED else f"{name} (as {loader})"[:200])
            return _NOTHING
        return {
            "__class__": kind,
            "__module__": module,
            "__loader__": loader,
            **self._bodies[str(loader)](given),
        }

    def zipped(self, root: Node, protocol: int) -> bytes:
        """A skops file of a checked description and the arrays that it asks for."""
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for name in self._arrays:
                archive.writestr(name, self._members[name])
            archive.writestr("schema.json", json.dumps({**root, "protocol": protocol}))
        return made.getvalue()

    # Containers and values

    def _json(self, given: Node) -> Node:
        content = given.get("content")
        _said(content)
        return {**_NOTHING, "content": content}

    def _dict(self, given: Node) -> Node:
        content, kinds = given.get("content"), self.node(given.get("key_types"))
        fits = isinstance(content, dict) and kinds["__loader__"] == "ListNode"
        if not fits or len(kinds["content"]) != len(content):  # type: ignore[arg-type]
            raise FileError("a dict in its description does not fit its keys")
        if any(kind["__loader__"] != "TypeNode" for kind in kinds["content"]):
            raise FileError("the keys of a dict in its description are not of plain types")
        made = {name: self.node(value) for name, value in content.items()}  # type: ignore[union-attr]
        return {"content": made, "key_types": kinds}

    def _sequence(self, given: Node) -> Node:
        return {"content": [self.node(value) for value in _list(given.get("content"))]}

    def _slice(self, given: Node) -> Node:
        parts = _dict(given.get("content"))
        made = {key: parts.get(key) for key in ("start", "stop", "step")}
        if not all(value is None or type(value) is int for value in made.values()):
            raise FileError("a slice in its description is not made of whole numbers")
        return {"content": made}

    def _name_alone(self, given: Node) -> Node:
        return {}

    def _partial(self, given: Node) -> Node:
        parts = _dict(given.get("content"))
        made = {key: self.node(parts.get(key)) for key in ("func", "args", "kwds", "namespace")}
        function = made["func"]
        if function["__loader__"] != "FunctionNode" or function["__class__"] != "check_array":
            self.unknown.add("functools.partial")
        if made["args"].get("content") != [] or made["namespace"] != _NOTHING:
            raise FileError("a partial function in its description has more than names of options")
        return {"content": made}

    # Arrays

    def _array(self, given: Node) -> Node:
        if given.get("type") == "json":
            made = self._sequence(given)
            shape = self.node(given.get("shape"))
            sizes = [_said(size.get("content")) for size in _list(shape.get("content"))]
            if not sizes or not all(type(size) is int and size >= 0 for size in sizes):
                raise FileError("the shape of an array in its description is not one")
            return {"type": "json", "shape": shape, **made}
        name = given.get("file")
        if given.get("type") != "numpy" or not isinstance(name, str) or name == "schema.json":
            raise FileError("an array in its description is of an unknown kind")
        if name not in self._members:
            raise FileError(f"its array {name:.60} is missing")
        self._read += len(self._members[name])
        if self._read > MAX_UNPACKED:
            raise FileError(f"its arrays take more than {MAX_UNPACKED:,} bytes")
        if name not in self._arrays:
            self._arrays[name] = _read_array(name, self._members[name])
        if given["__class__"] != "ndarray" and self._arrays[name].shape != ():
            raise FileError("a number in its description is an array")
        return {"type": "numpy", "file": name}

    def _masked(self, given: Node) -> Node:
        parts = _dict(given.get("content"))
        return {"content": {key: self.node(parts.get(key)) for key in ("data", "mask")}}

    def _dtype(self, given: Node) -> Node:
        """A type, told by an array of it; that of objects, which has no file, by an empty one."""
        content = self.node(given.get("content"))
        objects = content["__loader__"] == "NdArrayNode" and content["type"] == "json"
        if not objects or content["__class__"] != "ndarray" or content["content"]:
            self._stored(content)
        return {"content": content}

    def _stored(self, node: Node) -> Array:
        """The array that a checked part stands for."""
        if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
            raise FileError("there is something else in place of an array of numbers")
        return self._arrays[node["file"]]

    # Objects

    def _object(self, given: Node) -> Node:
        if given.get("content") is None:
            return {}
        content = self.node(given["content"])
        if content["__loader__"] != "DictNode" and content != _NOTHING:
            raise FileError(f"the attributes of {given['__class__']} are not a dict")
        return {"content": content}

    def _loss(self, given: Node) -> Node:
        args = self.node(_dict(given.get("__reduce__")).get("args"))
        content = self.node(given.get("content"))
        numbers = [_said(value.get("content")) for value in _list(args.get("content"))]
        if args["__loader__"] != "TupleNode" or len(numbers) > 1 or content.get("content"):
            raise FileError(f"the loss {given['__class__']} is made of more than a number")
        if not all(type(number) in (int, float) for number in numbers):
            raise FileError(f"the loss {given['__class__']} is not made of a number")
        return {"__reduce__": {"args": args}, "content": content}

    def _tree(self, given: Node) -> Node:
        args = self.node(_dict(given.get("__reduce__")).get("args"))
        state = self.node(given.get("content"))
        if self.unknown:
            return _NOTHING
        parts = _list(args.get("content"))
        if (
            args["__loader__"] != "TupleNode"
            or len(parts) != 3
            or state["__loader__"] != "DictNode"
        ):
            raise FileError("a tree is not made of what a tree is made of")
        fields = state["content"]
        wanted = {"max_depth", "node_count", "nodes", "values"}
        if set(fields) != wanted:
            raise FileError(f"a tree has not just the fields {', '.join(sorted(wanted))}")
        _check_tree_state(
            n_features=_count(parts[0]),
            n_classes=self._stored(parts[1]),
            n_outputs=_count(parts[2]),
            max_depth=_count(fields["max_depth"]),
            node_count=_count(fields["node_count"]),
            nodes=self._stored(fields["nodes"]),
            values=self._stored(fields["values"]),
        )
        return {"__reduce__": {"args": args}, "content": state}


def _check_tree_state(
    *,
    n_features: int,
    n_classes: Array,
    n_outputs: int,
    max_depth: int,
    node_count: int,
    nodes: Array,
    values: Array,
) -> None:
    """Refuse what `sklearn.tree._tree.Tree` would copy and follow without looking."""
    from sklearn.tree._tree import NODE_DTYPE

    if n_features > MAX_FEATURES:
        raise FileError(
            f"a tree is over {n_features:,} features; at most {MAX_FEATURES:,} are allowed"
        )
    if n_classes.dtype != np.intp or n_classes.shape != (n_outputs,) or n_outputs == 0:
        raise FileError("a tree does not say how many classes each of its outputs has")
    if np.any(n_classes < 1) or np.any(n_classes > 2**31 - 1):
        raise FileError("an output of a tree has no classes, or too many")
    if nodes.dtype != NODE_DTYPE or nodes.ndim != 1:
        raise FileError(
            "the nodes of a tree are not as this version of scikit-learn knows them; load the "
            "model with the version that saved it"
        )
    if len(nodes) != node_count or max_depth >= max(node_count, 1):
        raise FileError(f"a tree has {len(nodes)} nodes and says {node_count}, {max_depth} deep")
    expected = (node_count, n_outputs, int(n_classes.max()))
    if values.dtype != np.float64 or values.shape != expected or not values.flags.c_contiguous:
        raise FileError(f"the values of a tree are {values.shape} and should be {expected}")
    check_tree(
        nodes["left_child"], nodes["right_child"], nodes["feature"], nodes["threshold"], n_features
    )


# Values


def _dict(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FileError("a part of its description is not an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise FileError("a part of its description is not an array")
    return value


def _said(content: object) -> object:
    """A value that stands in the description as JSON."""
    if not isinstance(content, str):
        raise FileError("a value in its description is not JSON")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise FileError("a value in its description is not JSON") from None


def _count(node: Node) -> int:
    number = _said(node.get("content")) if node["__loader__"] == "JsonNode" else None
    if type(number) is not int or not 0 <= number <= 2**31 - 1:
        raise FileError("a tree has a size that is not a whole number")
    return number


def _read_array(name: str, data: bytes) -> Array:
    """An array as NumPy stores it, if its bytes are as many as its header says."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise FileError(f"its array {name} has an unknown format")
        header = np.lib.format.read_array_header_1_0
        if version == (2, 0):
            header = np.lib.format.read_array_header_2_0
        shape, _, kind = header(stream)
        if kind.hasobject or kind.kind not in "biufUSV" or not kind.isnative:
            raise FileError(f"its array {name} holds {kind!s:.60}, which is not allowed")
        if any(not 0 <= size <= len(data) for size in shape):  # of no bytes there may be many
            raise FileError(f"its array {name} has an impossible shape")
        if math.prod(shape) * kind.itemsize != len(data) - stream.tell():
            raise FileError(f"its array {name} has not as many bytes as its shape {shape} takes")
        stream.seek(0)
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except FileError:
        raise
    except Exception as error:  # a header is Python text, which fails in many ways
        raise FileError(f"its array {name} is damaged: {type(error).__name__}") from None
    _check_values(name, array)
    return array


def _check_values(name: str, array: Array) -> None:
    """Refuse bytes that are no value of their type; NumPy takes them for granted."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.kind == "b" and np.any(flat.view(np.uint8) > 1):
        raise FileError(f"its array {name} has truth values that are neither true nor false")
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = flat.view(np.uint32)
        if np.any(codes > 0x10FFFF) or np.any((codes >= 0xD800) & (codes < 0xE000)):
            raise FileError(f"its array {name} has texts with characters that do not exist")
