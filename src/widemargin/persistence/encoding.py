"""Objects as a JSON tree plus arrays, and back.

Plain values stand for themselves; everything else is a dictionary whose ``"$"`` says
what it is: ``tuple``, ``dict`` (keys of any kind), ``array``, ``scalar`` (a NumPy one),
``objects`` (an array of strings and the like), ``csr``, ``dtype``, ``type``, ``slice``,
``selector`` (of columns, by their dtype), ``record`` (one of our dataclasses) or
``object`` (an estimator). Only classes in `widemargin.persistence.allowed_classes` are
built; the file chooses among names, it brings none.
"""

from __future__ import annotations

import dataclasses
import re
from collections import UserList
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import make_column_selector

from widemargin.runtime.model_file_format import StorageError

from .allowed_classes import known_class, name_of

_MAX_DEPTH = 40
_DTYPE = re.compile(r"<[fi][48]|\|O|\|b1|<U[0-9]{1,4}")
_REMEDY = "use skops or pickle for it"
#: types that are no dtype, by which columns are selected
_TYPES = {
    kind.__name__: kind
    for kind in (object, bool, int, float, str, np.number, np.integer, np.floating)
}
_SELECTOR = ("pattern", "dtype_include", "dtype_exclude")


class Encoder:
    """Turn objects into a tree, collecting their arrays on the way."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return the tree of ``value``; ``where`` names it in a refusal."""
        if isinstance(value, np.generic):
            return {"$": "scalar", "array": self._keep(np.asarray(value))}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if sparse.issparse(value):
            return self._csr(value)
        if isinstance(value, (list, UserList)):  # scikit-learn < 1.9 has one of these
            return [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]
        if isinstance(value, tuple):
            items = [self.encode(v, f"{where}[{i}]") for i, v in enumerate(value)]
            return {"$": "tuple", "items": items}
        if isinstance(value, Mapping):
            pairs = [
                [self.encode(k, where), self.encode(v, f"{where}[{k!r}]")]
                for k, v in value.items()
            ]
            return {"$": "dict", "items": pairs}
        if isinstance(value, np.dtype):
            return {"$": "dtype", "dtype": value.str}
        if isinstance(value, slice):
            ends = [self.encode(v, where) for v in (value.start, value.stop)]
            return {"$": "slice", "items": [*ends, self.encode(value.step, where)]}
        if isinstance(value, type):
            return self._type(value, where)
        if type(value) is make_column_selector:
            fields = {k: self.encode(getattr(value, k), where) for k in _SELECTOR}
            return {"$": "selector", "fields": fields}
        return self._object(value, where)

    def _type(self, kind: type, where: str) -> Any:
        if _TYPES.get(kind.__name__) is kind:
            return {"$": "type", "name": kind.__name__}
        if issubclass(kind, np.generic):
            return {"$": "type", "dtype": np.dtype(kind).str}
        return self._object(kind, where)

    def _object(self, value: Any, where: str) -> Any:
        name = name_of(type(value))
        if name is None:
            kind = "a function" if callable(value) else f"a {type(value).__qualname__}"
            raise TypeError(
                f"{where} is {kind}, which a model file cannot hold: {_REMEDY}"
            )
        if dataclasses.is_dataclass(value):
            fields = {
                f.name: self.encode(getattr(value, f.name), f"{where}.{f.name}")
                for f in dataclasses.fields(value)
                if f.init
            }
            return {"$": "record", "class": name, "fields": fields}
        state = {
            key: self.encode(entry, f"{name}.{key}")
            for key, entry in value.__getstate__().items()
        }
        return {"$": "object", "class": name, "state": state}

    def _keep(self, array: NDArray[Any]) -> str:
        name = f"a{len(self.arrays)}"
        self.arrays[name] = array
        return name

    def _array(self, array: NDArray[Any], where: str) -> Any:
        if array.dtype != object:
            return {"$": "array", "array": self._keep(array)}
        items = [self.encode(v, where) for v in array.ravel()]
        return {"$": "objects", "shape": list(array.shape), "items": items}

    def _csr(self, matrix: Any) -> Any:
        rows = sparse.csr_matrix(matrix)
        parts = {k: self._keep(getattr(rows, k)) for k in ("data", "indices", "indptr")}
        return {"$": "csr", **parts, "shape": list(rows.shape)}


class Decoder:
    """Build objects from a tree and its arrays; refuse whatever does not fit."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays

    def decode(self, tree: Any, depth: int = 0) -> Any:
        """Return the object that ``tree`` describes."""
        if depth > _MAX_DEPTH:
            raise StorageError("nested too deeply")
        if isinstance(tree, list):
            return [self.decode(entry, depth + 1) for entry in tree]
        if not isinstance(tree, dict):
            return tree
        build = _BUILDERS.get(_text(tree, "$"))
        if build is None:
            raise StorageError(f"unknown kind {tree.get('$')!r:.40}")
        return build(self, tree, depth + 1)

    def _items(self, tree: dict[str, Any], depth: int) -> list[Any]:
        return [self.decode(entry, depth) for entry in _list(tree, "items")]

    def _tuple(self, tree: dict[str, Any], depth: int) -> tuple[Any, ...]:
        return tuple(self._items(tree, depth))

    def _dict(self, tree: dict[str, Any], depth: int) -> dict[Any, Any]:
        result = {}
        for pair in self._items(tree, depth):
            if not (isinstance(pair, list) and len(pair) == 2):
                raise StorageError("malformed dictionary")
            try:
                result[pair[0]] = pair[1]
            except TypeError:
                raise StorageError("malformed dictionary key") from None
        return result

    def _array(self, tree: dict[str, Any], depth: int) -> NDArray[Any]:
        return self._stored(tree, "array")

    def _scalar(self, tree: dict[str, Any], depth: int) -> Any:
        array = self._stored(tree, "array")
        if array.shape != ():
            raise StorageError("a scalar that is an array")
        return array[()]

    def _objects(self, tree: dict[str, Any], depth: int) -> NDArray[Any]:
        items, shape = self._items(tree, depth), _shape(tree)
        if int(np.prod(shape, dtype=object)) != len(items):
            raise StorageError("an array whose shape does not fit its items")
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):  # at once, lists would become dimensions
            array[place] = item
        return array.reshape(shape)

    def _csr(self, tree: dict[str, Any], depth: int) -> Any:
        data, indices, indptr = (
            self._stored(tree, part) for part in ("data", "indices", "indptr")
        )
        shape = _shape(tree)
        if len(shape) != 2 or data.ndim != 1 or indices.ndim != 1 or indptr.ndim != 1:
            raise StorageError("malformed sparse matrix")
        if data.dtype.kind != "f" or {indices.dtype.kind, indptr.dtype.kind} != {"i"}:
            raise StorageError("malformed sparse matrix")
        check_csr(data, indices, indptr, shape[0], shape[1])
        return sparse.csr_matrix((data, indices, indptr), shape=tuple(shape))

    def _dtype(self, tree: dict[str, Any], depth: int) -> np.dtype[Any]:
        text = _text(tree, "dtype")
        if _DTYPE.fullmatch(text) is None:
            raise StorageError(f"dtype {text!r:.40} is not allowed")
        return np.dtype(text)

    def _type(self, tree: dict[str, Any], depth: int) -> type:
        if "name" not in tree:
            return self._dtype(tree, depth).type
        name = _text(tree, "name")
        if name not in _TYPES:
            raise StorageError(f"type {name!r:.40} is not allowed")
        return _TYPES[name]

    def _slice(self, tree: dict[str, Any], depth: int) -> slice:
        ends = self._items(tree, depth)
        if len(ends) != 3 or not all(
            end is None or isinstance(end, (int, str)) for end in ends
        ):
            raise StorageError("malformed slice")
        return slice(*ends)

    def _selector(self, tree: dict[str, Any], depth: int) -> make_column_selector:
        fields = self._named(tree, "fields", depth)
        if set(fields) != set(_SELECTOR):
            raise StorageError("malformed selector of columns")
        return make_column_selector(**fields)

    def _record(self, tree: dict[str, Any], depth: int) -> Any:
        cls = known_class(_text(tree, "class"), record=True)
        fields = self._named(tree, "fields", depth)
        if set(fields) != {f.name for f in dataclasses.fields(cls) if f.init}:
            raise StorageError(f"a {cls.__name__} with other fields than it has")
        try:
            return cls(**fields)
        except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise StorageError(f"a {cls.__name__} that is none: {error}") from error

    def _object(self, tree: dict[str, Any], depth: int) -> Any:
        cls = known_class(_text(tree, "class"), record=False)
        state = self._named(tree, "state", depth)
        for name in state:
            # a class attribute is a method or a property: no file replaces those
            if not name.isidentifier() or name.startswith("__") or hasattr(cls, name):
                raise StorageError(
                    f"{cls.__name__} has no attribute {name!r:.60} to set"
                )
        instance = cls.__new__(cls)
        missing = set(cls._get_param_names()) - set(state)
        if missing:
            raise StorageError(f"{cls.__name__} without {', '.join(sorted(missing))}")
        try:
            instance.__setstate__(state)
        except (TypeError, ValueError, KeyError, AttributeError, IndexError) as error:
            raise StorageError(f"a {cls.__name__} that is none: {error}") from error
        return instance

    def _named(self, tree: dict[str, Any], key: str, depth: int) -> dict[str, Any]:
        fields = tree.get(key)
        if not isinstance(fields, dict):
            raise StorageError(f"malformed {key}")
        return {name: self.decode(entry, depth) for name, entry in fields.items()}

    def _stored(self, tree: dict[str, Any], key: str) -> NDArray[Any]:
        name = tree.get(key)
        if not isinstance(name, str) or name not in self._arrays:
            raise StorageError(f"array {name!r:.40} is not in the file")
        return self._arrays[name]


_BUILDERS = {
    "tuple": Decoder._tuple,
    "dict": Decoder._dict,
    "array": Decoder._array,
    "scalar": Decoder._scalar,
    "objects": Decoder._objects,
    "csr": Decoder._csr,
    "dtype": Decoder._dtype,
    "type": Decoder._type,
    "slice": Decoder._slice,
    "selector": Decoder._selector,
    "record": Decoder._record,
    "object": Decoder._object,
}


def check_csr(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    rows: int,
    columns: int,
) -> None:
    """Refuse a sparse matrix whose indices point anywhere but into itself."""
    if len(indptr) != rows + 1 or len(indices) != len(data):
        raise StorageError("malformed sparse matrix: lengths differ")
    if indptr[0] != 0 or indptr[-1] != len(data) or np.any(np.diff(indptr) < 0):
        raise StorageError("malformed sparse matrix: row starts")
    if len(indices) and (indices.min() < 0 or indices.max() >= columns):
        raise StorageError("malformed sparse matrix: column out of range")


def _text(tree: dict[str, Any], key: str) -> str:
    text = tree.get(key)
    if not isinstance(text, str):
        raise StorageError(f"malformed {key}")
    return text


def _list(tree: dict[str, Any], key: str) -> list[Any]:
    items = tree.get(key)
    if not isinstance(items, list):
        raise StorageError(f"malformed {key}")
    return items


def _shape(tree: dict[str, Any]) -> list[int]:
    shape = _list(tree, "shape")
    if len(shape) > 8 or not all(type(n) is int and 0 <= n < 1 << 31 for n in shape):
        raise StorageError("malformed shape")
    return shape
