"""Reads skops files: a zip archive of arrays and a schema. Everything is checked before loading.

The schema is walked before skops sees it. Every type must be on the allow-list in `skops_types`,
every array must be valid, and every tree must be a tree. The checked parts are written to a new
file in memory: without ids through which one part could refer to another, without file names, and
without unused members. skops loads that file, and `proxyuse.models.sklearn.consistency` checks
the resulting model.
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

from proxyuse.errors import CorruptFile, FileError
from proxyuse.input_limits import SKOPS_BYTES, SKOPS_NODES
from proxyuse.io.json_files import check_json
from proxyuse.lang.evaluate import Array
from proxyuse.models.sklearn.consistency import check_model
from proxyuse.models.sklearn.skops_types import ALLOWED, DROPPED, TRUSTED
from proxyuse.models.tree_arrays import check_tree

MAX_MEMBERS = 1_000_000
MAX_FEATURES = 1_000_000
PROTOCOLS = (1, 2)  # of skops; they do not differ in the allowed types

_PLAIN_NAME = re.compile(r"[\w.-]{1,200}", re.ASCII)
_VERSION = re.compile(r"[\w.+-]{1,40}", re.ASCII)
_NULL: dict[str, Any] = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}

Node = dict[str, Any]


def load_skops(data: bytes) -> tuple[object, str | None]:
    """The model in a skops file, and the version of scikit-learn that saved it."""
    with warnings.catch_warnings():  # `saved_with` says more than scikit-learn's warning
        warnings.simplefilter("ignore")
        return _load(data)


def _load(data: bytes) -> tuple[object, str | None]:
    try:
        import sklearn
        import skops.io
    except ImportError:
        raise FileError(
            "this is a skops file, but skops or scikit-learn is not installed: "
            "pip install 'proxyuse[files,sklearn]'"
        ) from None
    description, members = _unzip(data)
    checker = _Checker(members)
    try:
        root = checker.node(description)
    except RecursionError:
        raise CorruptFile("its schema is nested too deeply") from None
    _refuse_types(checker.unknown)
    saved_with = _saved_with(root, sklearn.__version__)
    clean = checker.zipped(root, description["protocol"])
    try:
        _refuse_types(set(skops.io.get_untrusted_types(data=clean)) - set(TRUSTED))
        # skops copies this list for every node, so it contains only what the file uses.
        model = skops.io.loads(clean, trusted=sorted(checker.names))
        check_model(model)
        return model, saved_with
    except FileError:
        raise
    except Exception as error:
        prefix = f"saved with {saved_with}; " if saved_with else ""
        raise FileError(
            f"{prefix}scikit-learn {sklearn.__version__} and skops {skops.__version__} cannot load "
            f"it ({type(error).__name__}: {error}); the file is corrupt, or needs another version "
            "of scikit-learn"
        ) from None


def _refuse_types(names: set[str]) -> None:
    if names:
        listed = ", ".join(sorted(names)[:8]) + (", ..." if len(names) > 8 else "")
        raise FileError(
            f"it contains types that are not on the list of safe types: {listed}. Such types could "
            "run code or crash the process. Only scikit-learn models that can be audited are "
            "loaded. Save models of other libraries in their own format. A pipeline that contains "
            "such a model can be saved with joblib and audited with --trust-pickle, if you trust "
            "the file"
        )


def _saved_with(root: Node, installed: str) -> str | None:
    """The scikit-learn version of the outermost estimator, and the installed one if different."""
    try:
        version = json.loads(root["content"]["content"]["_sklearn_version"]["content"])
    except (KeyError, TypeError):
        return None
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        raise CorruptFile("its scikit-learn version is invalid")
    if version == installed:
        return f"scikit-learn {version}"
    return f"scikit-learn {version} (read with scikit-learn {installed})"


# The archive


def _unzip(data: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The schema, and the other members by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_members(archive)
            members = _members(archive)
    except FileError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise CorruptFile(f"its zip archive is damaged: {error}") from None
    except (NotImplementedError, RuntimeError, ValueError, OSError, MemoryError) as error:
        raise CorruptFile(f"its zip archive cannot be read: {error}") from None
    text = members.pop("schema.json", None)
    if text is None:
        raise CorruptFile("it is a zip archive without schema.json, so it is not a skops file")
    check_json(text, "its schema")
    SKOPS_NODES.check(text.count(b'"__loader__"'), "its schema")  # before it takes memory
    try:
        description = json.loads(text.decode("utf-8"))
    except RecursionError:
        raise CorruptFile("its schema is nested too deeply") from None
    except ValueError as error:
        raise CorruptFile(f"its schema is not valid JSON in UTF-8: {error}") from None
    protocol = description.get("protocol") if isinstance(description, dict) else None
    if type(protocol) is not int or protocol not in PROTOCOLS:
        raise FileError(
            f"it uses skops protocol {protocol!r:.20}; supported protocols are "
            f"{' and '.join(map(str, PROTOCOLS))}: save it again with a current version of skops"
        )
    return description, members


def _check_members(archive: zipfile.ZipFile) -> None:
    members = archive.infolist()
    names = [member.filename for member in members]
    if len(members) > MAX_MEMBERS or len(set(names)) != len(names):
        raise CorruptFile("its zip archive has too many members, or the same one twice")
    for name in names:
        if not _PLAIN_NAME.fullmatch(name):
            raise CorruptFile(f"its zip archive has a member with the invalid name {name!r:.60}")
    SKOPS_BYTES.check(sum(member.file_size for member in members), "its zip archive")


def _members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The members by name. A zip archive may contain more than it states."""
    members, unpacked = {}, 0
    for name in archive.namelist():
        with archive.open(name) as file:
            members[name] = file.read(SKOPS_BYTES.value - unpacked + 1)
        unpacked += len(members[name])
        SKOPS_BYTES.check(unpacked, "its zip archive")
    return members


# The schema


class _Checker:
    """Checks a schema and builds a new one from its allowed parts.

    Attributes
    ----------
    unknown : the names of types that are not on the allow-list.
    names : the names of all types.
    """

    def __init__(self, members: dict[str, bytes]) -> None:
        self.unknown: set[str] = set()
        self.names: set[str] = set()
        self._members = members
        self._arrays: dict[str, Array] = {}
        self._nodes = 0
        self._numbers: dict[tuple[str, str], int] = {}  # of arrays, by file and type
        self._checks: dict[str, Callable[[Node], Node]] = {
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

    def node(self, raw: object) -> Node:
        """A node of the schema, checked with everything inside it."""
        if not isinstance(raw, dict):
            raise CorruptFile("a node of its schema is not an object")
        self._nodes += 1
        if self._nodes > SKOPS_NODES.value:
            raise SKOPS_NODES.exceeded(self._nodes, "its schema", at_least=True)
        loader, module, kind = (raw.get(key) for key in ("__loader__", "__module__", "__class__"))
        if not all(isinstance(word, str) for word in (loader, module, kind)):
            raise CorruptFile("a node of its schema has no type")
        if loader in DROPPED:
            return _NULL
        if loader == "JsonNode":
            return self._json(raw)
        name = f"{module}.{kind}"
        self.names.add(name)
        if name not in ALLOWED.get(str(loader), ()):
            self.unknown.add(name if loader in ALLOWED else f"{name} (as {loader})"[:200])
            return _NULL
        return {
            "__class__": kind,
            "__module__": module,
            "__loader__": loader,
            **self._checks[str(loader)](raw),
        }

    def zipped(self, root: Node, protocol: int) -> bytes:
        """A skops file with a checked schema and the arrays that it uses."""
        clean = io.BytesIO()
        with zipfile.ZipFile(clean, "w") as archive:
            for name in self._arrays:
                archive.writestr(name, self._members[name])
            archive.writestr("schema.json", json.dumps({**root, "protocol": protocol}))
        return clean.getvalue()

    # Containers and values

    def _json(self, node: Node) -> Node:
        content = node.get("content")
        _json_value(content)
        return {**_NULL, "content": content}

    def _dict(self, node: Node) -> Node:
        content, kinds = node.get("content"), self.node(node.get("key_types"))
        fits = isinstance(content, dict) and kinds["__loader__"] == "ListNode"
        if not fits or len(kinds["content"]) != len(content):  # type: ignore[arg-type]
            raise CorruptFile("a dict in its schema does not match its keys")
        if any(kind["__loader__"] != "TypeNode" for kind in kinds["content"]):
            raise CorruptFile("a dict in its schema has keys of an invalid type")
        clean = {name: self.node(value) for name, value in content.items()}  # type: ignore[union-attr]
        return {"content": clean, "key_types": kinds}

    def _sequence(self, node: Node) -> Node:
        return {"content": [self.node(value) for value in _list(node.get("content"))]}

    def _slice(self, node: Node) -> Node:
        parts = _dict(node.get("content"))
        clean = {key: parts.get(key) for key in ("start", "stop", "step")}
        if not all(value is None or type(value) is int for value in clean.values()):
            raise CorruptFile("a slice in its schema is not made of integers")
        return {"content": clean}

    def _name_alone(self, node: Node) -> Node:
        return {}

    def _partial(self, node: Node) -> Node:
        parts = _dict(node.get("content"))
        clean = {key: self.node(parts.get(key)) for key in ("func", "args", "kwds", "namespace")}
        function = clean["func"]
        if function["__loader__"] != "FunctionNode" or function["__class__"] != "check_array":
            self.unknown.add("functools.partial")
        if clean["args"].get("content") != [] or clean["namespace"] != _NULL:
            raise CorruptFile("a partial function in its schema has positional arguments")
        return {"content": clean}

    # Arrays

    def _array(self, node: Node) -> Node:
        if node.get("type") == "json":
            clean = self._sequence(node)
            shape = self.node(node.get("shape"))
            sizes = [_json_value(size.get("content")) for size in _list(shape.get("content"))]
            if not sizes or not all(type(size) is int and size >= 0 for size in sizes):
                raise CorruptFile("an array in its schema has an invalid shape")
            return {"type": "json", "shape": shape, **clean}
        name = node.get("file")
        if node.get("type") != "numpy" or not isinstance(name, str) or name == "schema.json":
            raise CorruptFile("an array in its schema has an unknown type")
        if name not in self._members:
            raise CorruptFile(f"its array {name:.60} is missing")
        if name not in self._arrays:
            self._arrays[name] = _read_array(name, self._members[name])
        if node["__class__"] != "ndarray" and self._arrays[name].shape != ():
            raise CorruptFile("a number in its schema is an array")
        key = name, f"{node['__module__']}.{node['__class__']}"
        number = self._numbers.setdefault(key, 1 + len(self._numbers))
        return {"type": "numpy", "file": name, "__id__": number}  # so that it is loaded once

    def _masked(self, node: Node) -> Node:
        parts = _dict(node.get("content"))
        return {"content": {key: self.node(parts.get(key)) for key in ("data", "mask")}}

    def _dtype(self, node: Node) -> Node:
        """A dtype, stored as an array of that type; the object dtype is an empty JSON array."""
        content = self.node(node.get("content"))
        objects = content["__loader__"] == "NdArrayNode" and content["type"] == "json"
        if not objects or content["__class__"] != "ndarray" or content["content"]:
            self._stored_array(content)
        return {"content": content}

    def _stored_array(self, node: Node) -> Array:
        """The array of a checked node."""
        if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy":
            raise CorruptFile("a node of its schema is not an array of numbers")
        return self._arrays[node["file"]]

    # Objects

    def _object(self, node: Node) -> Node:
        if node.get("content") is None:
            return {}
        content = self.node(node["content"])
        if content["__loader__"] != "DictNode" and content != _NULL:
            raise CorruptFile(f"the attributes of {node['__class__']} are not a dict")
        return {"content": content}

    def _loss(self, node: Node) -> Node:
        args = self.node(_dict(node.get("__reduce__")).get("args"))
        content = self.node(node.get("content"))
        numbers = [_json_value(value.get("content")) for value in _list(args.get("content"))]
        if args["__loader__"] != "TupleNode" or len(numbers) > 1 or content.get("content"):
            raise CorruptFile(f"the loss {node['__class__']} takes at most one number")
        if not all(type(number) in (int, float) for number in numbers):
            raise CorruptFile(f"the loss {node['__class__']} has an argument that is not a number")
        return {"__reduce__": {"args": args}, "content": content}

    def _tree(self, node: Node) -> Node:
        args = self.node(_dict(node.get("__reduce__")).get("args"))
        state = self.node(node.get("content"))
        if self.unknown:
            return _NULL
        parts = _list(args.get("content"))
        if (
            args["__loader__"] != "TupleNode"
            or len(parts) != 3
            or state["__loader__"] != "DictNode"
        ):
            raise CorruptFile("a tree has invalid arguments or state")
        fields = state["content"]
        expected_fields = {"max_depth", "node_count", "nodes", "values"}
        if set(fields) != expected_fields:
            raise CorruptFile(
                f"a tree does not have exactly the fields {', '.join(sorted(expected_fields))}"
            )
        _check_tree_state(
            n_features=_count(parts[0]),
            n_classes=self._stored_array(parts[1]),
            n_outputs=_count(parts[2]),
            max_depth=_count(fields["max_depth"]),
            node_count=_count(fields["node_count"]),
            nodes=self._stored_array(fields["nodes"]),
            values=self._stored_array(fields["values"]),
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
    """Raise an error for arrays that `sklearn.tree._tree.Tree` would follow unchecked."""
    from sklearn.tree._tree import NODE_DTYPE

    if n_features > MAX_FEATURES:
        raise CorruptFile(f"a tree has {n_features:,} features; the limit is {MAX_FEATURES:,}")
    if n_classes.dtype != np.intp or n_classes.shape != (n_outputs,) or n_outputs == 0:
        raise CorruptFile("a tree does not state the number of classes of each output")
    if np.any(n_classes < 1) or np.any(n_classes > 2**31 - 1):
        raise CorruptFile("an output of a tree has no classes, or too many")
    if nodes.dtype != NODE_DTYPE or nodes.ndim != 1:
        raise FileError(
            "the nodes of a tree have a different format in this version of scikit-learn; "
            "install the version that saved the model"
        )
    if len(nodes) != node_count or max_depth >= max(node_count, 1):
        raise CorruptFile(
            f"a tree has {len(nodes)} nodes, which does not match node_count={node_count} and "
            f"max_depth={max_depth}"
        )
    expected = (node_count, n_outputs, int(n_classes.max()))
    if values.dtype != np.float64 or values.shape != expected or not values.flags.c_contiguous:
        raise CorruptFile(
            f"the values of a tree: expected float64 of shape {expected}, got shape {values.shape}"
        )
    check_tree(
        nodes["left_child"], nodes["right_child"], nodes["feature"], nodes["threshold"], n_features
    )


# Values


def _dict(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CorruptFile("a node of its schema is not an object")
    return value


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise CorruptFile("a node of its schema is not a list")
    return value


def _json_value(content: object) -> object:
    """A value that the schema stores as JSON."""
    try:
        if isinstance(content, str):
            return json.loads(content)
    except (ValueError, RecursionError):
        pass
    raise CorruptFile("a value in its schema is not JSON")


def _count(node: Node) -> int:
    number = _json_value(node.get("content")) if node["__loader__"] == "JsonNode" else None
    if type(number) is not int or not 0 <= number <= 2**31 - 1:
        raise CorruptFile("a tree has a size that is not an integer")
    return number


def _read_array(name: str, data: bytes) -> Array:
    """Read an array in NumPy's format; its size must match its header."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise CorruptFile(f"its array {name} has an unknown format")
        header = np.lib.format.read_array_header_1_0
        if version == (2, 0):
            header = np.lib.format.read_array_header_2_0
        shape, _, kind = header(stream)
        if kind.hasobject or kind.kind not in "biufUSV" or not kind.isnative:
            raise CorruptFile(f"its array {name} has the type {kind!s:.60}, which is not allowed")
        if any(not 0 <= size <= len(data) for size in shape):  # items may have 0 bytes
            raise CorruptFile(f"its array {name} has an impossible shape")
        if math.prod(shape) * kind.itemsize != len(data) - stream.tell():
            raise CorruptFile(f"the size of its array {name} does not match its shape {shape}")
        stream.seek(0)
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except FileError:
        raise
    except Exception as error:  # a header is Python source, which can fail in many ways
        raise CorruptFile(f"its array {name} is damaged: {type(error).__name__}") from None
    _check_values(name, array)
    return array


def _check_values(name: str, array: Array) -> None:
    """Raise an error for bytes that are invalid for their type; NumPy does not check them."""
    flat = np.ascontiguousarray(array).reshape(-1)
    if array.dtype.kind == "b" and np.any(flat.view(np.uint8) > 1):
        raise CorruptFile(f"its array {name} has booleans that are neither true nor false")
    if array.dtype.kind == "U" and array.dtype.itemsize:
        codes = flat.view(np.uint32)
        if np.any(codes > 0x10FFFF) or np.any((codes >= 0xD800) & (codes < 0xE000)):
            raise CorruptFile(f"its array {name} has invalid Unicode characters")
