"""Frozen dataclasses that are cheap to make: their methods are closures, not code of their own.

`dataclass(frozen=True)` writes and compiles six methods of each class, 0.3 ms, and the compiler has
hundreds of small records that a process may use a few of. A `record` has the constructor and the
fields of a dataclass, so that `fields` and `replace` take it, and compares, hashes and prints as
one, for a fifth of that. That nobody assigns to its fields is for the type checker to see.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import itemgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A class as `dataclass(frozen=True)` makes it, which inherits from records alone.

    Methods that the class defines itself stay.
    """
    made = dataclass(repr=False, eq=False)(cls)
    known = fields(made)  # pyright: ignore[reportArgumentType]
    compared = [f.name for f in known if f.compare]
    own = dict(made.__dict__)
    methods: dict[str, Callable[..., Any]] = {}
    if "__eq__" not in own:
        methods["__eq__"] = _equal(compared)
    if own.get("__hash__") is None:  # which a class has that defines `__eq__` alone
        methods["__hash__"] = _hash(compared)
    if "__repr__" not in own:
        methods["__repr__"] = _repr([f.name for f in known if f.repr])
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _values(names: list[str]) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    """What takes the values of these fields out of a record's dictionary."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda held: tuple([held[name] for name in names])


def _equal(names: list[str]) -> Callable[[Any, object], bool]:
    values = _values(names)

    def equal(self: Any, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self.__dict__) == values(other.__dict__)

    return equal


def _hash(names: list[str]) -> Callable[[Any], int]:
    values = _values(names)

    def hashed(self: Any) -> int:
        return hash(values(self.__dict__))

    return hashed


def _repr(names: list[str]) -> Callable[[Any], str]:
    def shown(self: Any) -> str:
        values = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{self.__class__.__qualname__}({values})"

    return shown
