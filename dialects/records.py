"""Frozen dataclasses that are cheap to make: their methods are closures, not code of their own.

`dataclass(frozen=True)` writes and compiles six methods of each class, 0.3 ms, and the compiler has
hundreds of small records that a process may use a few of. A `record` has the constructor and the
fields of a dataclass, so that `fields` and `replace` take it, and compares, hashes and prints as
one, for a fifth of that. That nobody assigns to its fields is for the type checker to see, but for
passes, which inherit from a frozen dataclass. A `mutable_record` is as a plain `dataclass` is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from operator import itemgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """A class as `dataclass(frozen=True)` makes it.

    Methods that the class defines itself stay.
    """
    return _with_methods(cls, is_hashed=True)


@dataclass_transform(field_specifiers=(field,))
def mutable_record(cls: type[T]) -> type[T]:
    """A class as `dataclass` makes it, whose fields may be assigned to: it has no hash."""
    return _with_methods(cls, is_hashed=False)


def _with_methods(cls: type[T], *, is_hashed: bool) -> type[T]:
    inherited = getattr(cls, "__dataclass_params__", None)
    is_frozen = inherited is not None and inherited.frozen
    made = dataclass(init=False, repr=False, eq=False, frozen=is_frozen)(cls)
    known = fields(made)  # pyright: ignore[reportArgumentType]
    compared = [f.name for f in known if f.compare]
    own = dict(made.__dict__)
    methods: dict[str, Callable[..., Any] | None] = {}
    if "__init__" not in own:
        methods["__init__"] = _first_init(made, known, is_frozen=is_frozen)
    if "__eq__" not in own:
        methods["__eq__"] = _equal(compared)
    if own.get("__hash__") is None:  # which a class has that defines `__eq__` alone
        methods["__hash__"] = _hash(compared) if is_hashed else None
    if "__repr__" not in own:
        methods["__repr__"] = _repr([f.name for f in known if f.repr])
    for name, method in methods.items():
        setattr(made, name, method)
    return made


def _first_init(
    made: Any, known: tuple[Field[Any], ...], *, is_frozen: bool
) -> Callable[..., None]:
    """A constructor that puts the one that is written for these fields into its own place.

    To compile that takes most of what a dataclass takes, and a process makes objects of a third of
    the classes that it imports.
    """

    def __init__(self: Any, *given: Any, **named: Any) -> None:  # noqa: N807 - as it is called
        made.__init__ = init = _init(made, known, is_frozen=is_frozen)
        init(self, *given, **named)

    return __init__


def _init(made: Any, known: tuple[Field[Any], ...], *, is_frozen: bool) -> Callable[..., None]:
    """The constructor that a dataclass of these fields has."""
    names: dict[str, Any] = {"_missing": MISSING, "_set": object.__setattr__}
    takes: dict[bool, list[str]] = {False: [], True: []}  # by position, by name only
    lines: list[str] = []
    for f in known:
        value = f.name
        if f.default_factory is not MISSING:
            names[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}()" + (
                f" if {value} is _missing else {value}" if f.init else ""
            )
            default = "=_missing"
        elif f.default is not MISSING:
            names[f"_default_{f.name}"] = f.default
            default = f"=_default_{f.name}"
        else:
            default = ""
        if f.init:
            takes[f.kw_only is True].append(f"{f.name}{default}")
        elif f.default is not MISSING:
            value = f"_default_{f.name}"  # so that it is among the values of the object
        elif f.default_factory is MISSING:
            continue
        lines.append(
            f"_set(self, {f.name!r}, {value})" if is_frozen else f"self.{f.name} = {value}"
        )
    if hasattr(made, "__post_init__"):
        lines.append("self.__post_init__()")
    by_name = ["*", *takes[True]] if takes[True] else []
    head = f"def __init__({', '.join(['self', *takes[False], *by_name])}):"
    exec("\n  ".join([head, *(lines or ["pass"])]), names)
    names["__init__"].__qualname__ = f"{made.__qualname__}.__init__"
    return names["__init__"]


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
