"""Calls whose arguments and results nest, as data: what saved programs know of it.

A tree is what JSON can hold: `"*"` is a leaf, `None` an empty node, and other nodes are lists,
`["tuple", children]`, `["list", children]`, `["dict", keys, children]` and `["named", name, fields,
children]`. Neither torch nor JAX is needed to call a program by it.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lamina.dialects.errors import ArgumentError
from lamina.dialects.records import record
from lamina.runtime.dispatch.layout import Layout

LEAF = "*"

SCALARS = (type(None), bool, int, float, str)
"""Types of fixed values that are recorded."""

_PLAIN: dict[str, type] = {"tuple": tuple, "list": list}


class NoTreeError(ValueError):
    """A node that only the library which made it can take apart; the text names its type."""


@record
class FixedValue:
    """A leaf that the program was made for: None, a number or a string."""

    name: str
    value: Any


@record
class NestedStructure:
    """Maps a call's arguments to compiled inputs, and compiled outputs to what a call gives.

    `arguments` is the tree of `(args, kwargs)`, `results` that of what a call gives. `inputs` says
    of each leaf of the arguments whether it is an input, a `FixedValue`, or not read at all
    (False); `outputs` has for each leaf of the results the number of an output, or a `FixedValue`.
    `names` are those by which positional arguments may be passed.
    """

    arguments: Any
    results: Any
    inputs: tuple[bool | FixedValue, ...]
    outputs: tuple[int | FixedValue, ...]
    names: tuple[str, ...] = ()

    native_kind = "numpy"

    @property
    def is_flat(self) -> bool:
        """Whether all arguments are positional, no trees, and inputs."""
        positional, keywords = self._sides()
        return not keywords[1] and all(p == LEAF for p in positional) and set(self.inputs) <= {True}

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[Any]:
        """The arrays of a call; ArgumentError if they nest otherwise, or a fixed value differs."""
        positional, keywords = self._sides()
        if not kwargs and self.is_flat and len(args) == len(positional):
            return args
        args, kwargs = self._bind_names(args, kwargs)
        if len(args) != len(positional):
            listed = ", ".join(self.names[: len(positional)])
            raise ArgumentError(
                f"expected {len(positional)} positional arguments"
                f"{f' ({listed})' if listed else ''}, got {len(args)}"
            )
        if set(kwargs) != set(keywords[0]):
            raise ArgumentError(f"expected keywords {sorted(keywords[0])}, got {sorted(kwargs)}")
        names = dict(enumerate(self.names))
        found: list[Any] = []
        for number, (tree, value) in enumerate(zip(positional, args, strict=True)):
            found += _leaves(tree, value, names.get(number, str(number)))
        for name, tree in zip(*keywords, strict=True):
            found += _leaves(tree, kwargs[name], name)
        return list(self._passed(found))

    def layout(self, outputs: int) -> Layout:
        """The one result, a plain tuple, or the nest of all."""
        entries = tuple(None if isinstance(one, FixedValue) else one for one in self.outputs)
        if self.results == LEAF and self.outputs == (0,):
            return Layout("single", entries, native_kind=self.native_kind)
        is_plain = isinstance(self.results, list) and self.results[0] == "tuple"
        is_plain = is_plain and all(tree == LEAF for tree in self.results[-1])
        fixed = any(isinstance(one, FixedValue) and one.value is not None for one in self.outputs)
        finish = None if is_plain and not fixed else self._nest
        return Layout("tuple", entries, finish, native_kind=self.native_kind)

    def kept_by(self) -> str | None:
        """Nothing: it is data."""
        return None

    def recorded(self) -> NestedStructure:
        """Itself."""
        return self

    def to_json(self) -> dict[str, Any]:
        """What `from_json` reads."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> NestedStructure:
        """A structure of what `to_json` gave, read from JSON. KeyError or TypeError for others."""
        return cls(
            data["arguments"],
            data["results"],
            tuple(_leaf(leaf) for leaf in data["inputs"]),
            tuple(_leaf(leaf) for leaf in data["outputs"]),
            tuple(data["names"]),
        )

    def _sides(self) -> tuple[list[Any], tuple[list[str], list[Any]]]:
        """The trees of positional arguments, and the names and trees of keywords."""
        _, (positional, keywords) = self.arguments
        return positional[-1], (keywords[1], keywords[2])

    def _bind_names(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Moves keywords to the positions that they have."""
        moved, rest = list(args), dict(kwargs)
        for name in self.names[len(moved) : len(self._sides()[0])]:
            if name not in rest:
                break
            moved.append(rest.pop(name))
        return moved, rest

    def _passed(self, leaves: Sequence[Any]) -> Iterator[Any]:
        for said, leaf in zip(self.inputs, leaves, strict=True):
            if said is True:
                yield leaf
            elif isinstance(said, FixedValue) and not _is_same(leaf, said.value):
                raise ArgumentError(
                    f"argument '{said.name}': the program was made for {said.value!r} and is fixed "
                    f"to it, got {_short(leaf)}"
                )

    def _nest(self, results: Sequence[Any]) -> Any:
        leaves = iter(
            said.value if isinstance(said, FixedValue) else result
            for said, result in zip(self.outputs, results, strict=True)
        )
        return _built(self.results, leaves)


def _leaf(said: Any) -> Any:
    return FixedValue(**said) if isinstance(said, dict) else said


def _leaves(tree: Any, value: Any, name: str) -> Iterator[Any]:
    """The leaves of a value that nests as a tree says; ArgumentError, naming the part, if not."""
    if tree == LEAF:
        yield value
        return
    if tree is None:
        if value is not None:
            raise ArgumentError(f"argument '{name}': expected None, got {_short(value)}")
        return
    kind, children = tree[0], tree[-1]
    keys: Sequence[Any] = range(len(children))
    if kind == "dict":
        keys = tree[1]
        fits = isinstance(value, Mapping) and set(value) == set(keys)
    elif kind == "named":
        fits = isinstance(value, tuple) and getattr(value, "_fields", None) == tuple(tree[2])
    else:
        is_named = hasattr(value, "_fields")
        fits = isinstance(value, _PLAIN[kind]) and len(value) == len(children) and not is_named
    if not fits:
        raise ArgumentError(f"argument '{name}': expected {_text(tree)}, got {_short(value)}")
    for key, child in zip(keys, children, strict=True):
        part = f"{name}.{tree[2][key]}" if kind == "named" else f"{name}[{key!r}]"
        yield from _leaves(child, value[key], part)


def _built(tree: Any, leaves: Iterator[Any]) -> Any:
    if tree == LEAF:
        return next(leaves)
    if tree is None:
        return None
    children = [_built(child, leaves) for child in tree[-1]]
    if tree[0] == "dict":
        return dict(zip(tree[1], children, strict=True))
    if tree[0] == "named":
        return namedtuple(tree[1], tree[2])(*children)
    return _PLAIN[tree[0]](children)


def _text(tree: Any) -> str:
    """A tree as Python writes such values."""
    if tree is None or tree == LEAF:
        return str(tree)
    children = [_text(child) for child in tree[-1]]
    if tree[0] == "dict":
        pairs = zip(tree[1], children, strict=True)
        return "{" + ", ".join(f"{key!r}: {child}" for key, child in pairs) + "}"
    if tree[0] == "named":
        pairs = zip(tree[2], children, strict=True)
        return f"{tree[1]}({', '.join(f'{field}={child}' for field, child in pairs)})"
    if tree[0] == "list":
        return f"[{', '.join(children)}]"
    return f"({', '.join(children)}{',' if len(children) == 1 else ''})"


def _is_same(left: object, right: object) -> bool:
    return left is right or (type(left) is type(right) and left == right)


def _short(value: object) -> str:
    if isinstance(value, tuple | list) and len(value) <= 8:
        parts = ", ".join("*" if hasattr(part, "shape") else _short(part) for part in value)
        return f"[{parts}]" if isinstance(value, list) else f"({parts})"
    if isinstance(value, Mapping) and len(value) <= 8:
        return f"a {type(value).__name__} of {sorted(map(str, value))}"
    text = repr(value)
    is_short = len(text) <= 60 and not hasattr(value, "shape")
    return text if is_short else f"a {type(value).__name__}"
