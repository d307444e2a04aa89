"""Torch's schema grammar: a line such as `aten::add.Tensor(Tensor self, ...) -> Tensor`, parsed."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import (
    ComplexType,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from lamina.dialects.records import record


class Kind(Enum):
    """What an argument may hold, without its `?` and `[]`."""

    TENSOR = "Tensor"
    SYMINT = "SymInt"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    SCALAR = "Scalar"
    STR = "str"
    DTYPE = "ScalarType"
    WORD = "word"
    """A layout, device, memory format, generator or the like: kept as a string."""


_KINDS = {
    "Tensor": Kind.TENSOR,
    "SymInt": Kind.SYMINT,
    "SymFloat": Kind.SCALAR,
    "SymBool": Kind.BOOL,
    "int": Kind.INT,
    "float": Kind.FLOAT,
    "bool": Kind.BOOL,
    "Scalar": Kind.SCALAR,
    "str": Kind.STR,
    "ScalarType": Kind.DTYPE,
    "complex": Kind.SCALAR,
}
ELEMENT_NAMES: dict[str, Attribute] = {
    "f32": f32,
    "f64": f64,
    "f16": f16,
    "bf16": bf16,
    "i1": i1,
    "i8": i8,
    "i16": i16,
    "i32": i32,
    "i64": i64,
    **{f"ui{width}": IntegerType(width, Signedness.UNSIGNED) for width in (8, 16, 32, 64)},
    "complex<f32>": ComplexType(f32),
    "complex<f64>": ComplexType(f64),
}
"""The element types that tensors of a program may have, by their text."""

ELEMENT_TYPES: dict[Attribute, str] = {kind: name for name, kind in ELEMENT_NAMES.items()}
"""The text of each element type."""

_TYPE = re.compile(r"^(?P<base>[\w.]+)(?:\((?P<alias>[^)]*)\))?(?P<rest>(?:\?|\[\d*\])*)$")

NO_DEFAULT: Any = object()
"""Marks an argument that must be given."""


@record
class SchemaType:
    """An argument's or result's type."""

    kind: Kind
    is_list: bool = False
    optional: bool = False
    optional_elements: bool = False
    base: str = ""
    size: int | None = None
    """Fixed list length that a single number is repeated to, as in `int[2]`."""

    @property
    def may_hold_values(self) -> bool:
        """Whether SSA values may stand here."""
        return (
            self.kind is Kind.TENSOR
            or self.kind is Kind.SYMINT
            or (self.kind is Kind.SCALAR and not self.is_list)
        )

    def __str__(self) -> str:
        """As torch spells it, without alias annotations: `Tensor?[]`, `int[2]?`."""
        if not self.is_list:
            return self.base + "?" * self.optional
        size = "" if self.size is None else str(self.size)
        return f"{self.base}{'?' * self.optional_elements}[{size}]{'?' * self.optional}"


@record
class Alias:
    """An alias annotation: `a` for a view, `a!` for what is written, `a -> *` for any view."""

    text: str

    @property
    def is_write(self) -> bool:
        """Whether the op writes to the memory of the argument."""
        return "!" in self.text

    @property
    def name(self) -> str:
        """The letter that an argument and the results that share its memory have in common."""
        return self.text.partition(" ")[0].rstrip("!")


@record
class Arg:
    """One argument. `alias` is None for one that is only read and that no result is a view of."""

    name: str
    type: SchemaType
    default: Any = NO_DEFAULT
    alias: Alias | None = None
    kwarg_only: bool = False

    @property
    def required(self) -> bool:
        """Whether it must be given; an optional one without a default may be given as None."""
        return self.default is NO_DEFAULT

    @property
    def mutated(self) -> bool:
        """Whether the op writes to it."""
        return self.alias is not None and self.alias.is_write


@record
class Result:
    """One result: its type, alias annotation and (often empty) name."""

    type: SchemaType
    alias: Alias | None = None
    name: str = ""


@record
class Schema:
    """One overload of one op."""

    namespace: str
    name: str
    overload: str
    args: tuple[Arg, ...]
    results: tuple[Result, ...]
    tags: frozenset[str]

    @property
    def overload_name(self) -> str:
        """`add.Tensor`; the unnamed overload is `default`."""
        return f"{self.name}.{self.overload or 'default'}"

    @property
    def mutates(self) -> bool:
        """Whether the op writes to an argument."""
        return any(a.mutated for a in self.args)

    @property
    def aliases(self) -> bool:
        """Whether a result is a view of an argument."""
        return any(r.alias is not None for r in self.results)

    def arg(self, name: str) -> Arg | None:
        """The argument of that name, or None."""
        return next((a for a in self.args if a.name == name), None)


def parse_schema(text: str, tags: frozenset[str] = frozenset()) -> Schema:
    """Parse one schema line. Raises ValueError for text outside the grammar."""
    match = re.match(r"^(\w+)::([\w]+)(?:\.(\w+))?\((.*)\) -> (.*)$", text)
    if match is None:
        raise ValueError(f"not a schema: {text}")
    namespace, name, overload, arguments, results = match.groups()
    args: list[Arg] = []
    kwarg_only = False
    for part in _split(arguments):
        if part == "*":
            kwarg_only = True
        else:
            args.append(_parse_arg(part, kwarg_only))
    body = results[1:-1] if results.startswith("(") else results
    return Schema(
        namespace,
        name,
        overload or "",
        tuple(args),
        tuple(_parse_result(part) for part in _split(body)),
        tags,
    )


def _split(text: str) -> list[str]:
    """Split at top-level commas; strings may hold escaped quotes."""
    parts: list[str] = []
    depth = start = 0
    for found in _SPLITTERS.finditer(text):
        mark = found[0]
        if mark in "([":
            depth += 1
        elif mark in ")]":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start : found.start()].strip())
            start = found.end()
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


_SPLITTERS = re.compile(r"[(),\[\]]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'")


@lru_cache(1024)
def _parse_type(text: str) -> tuple[SchemaType, Alias | None]:
    match = _TYPE.match(text)
    if match is None or "," in (match["alias"] or ""):  # such as Dict(Tensor, Tensor)
        return SchemaType(Kind.WORD, base=text), None
    base, rest = match["base"], match["rest"]
    is_list = "[" in rest
    before = rest.split("[")[0]
    after = rest.split("]")[-1]
    size = re.search(r"\[(\d+)\]", rest)
    kind = SchemaType(
        _KINDS.get(base, Kind.WORD),
        is_list=is_list,
        optional="?" in (after if is_list else before),
        optional_elements=is_list and "?" in before,
        base=base,
        size=int(size[1]) if size else None,
    )
    return kind, Alias(match["alias"]) if match["alias"] else None


def _parse_arg(text: str, kwarg_only: bool) -> Arg:
    left, _, default = text.partition("=")
    type_text, _, name = left.strip().rpartition(" ")
    kind, alias = _parse_type(type_text)
    value = _parse_default(default, kind) if default else NO_DEFAULT
    return Arg(name, kind, value, alias, kwarg_only)


def _parse_result(text: str) -> Result:
    named = text.endswith(")") or " " not in text
    type_text, _, name = (text, "", "") if named else text.rpartition(" ")
    kind, alias = _parse_type(type_text)
    return Result(kind, alias, name)


_ENUMS = {"Mean": 1, "Sum": 2}
"""The reduction enum of loss functions, which schemas may write by name."""

_DTYPE_CODES: dict[str, Attribute] = {
    code: ELEMENT_NAMES[name]
    for code, name in {
        "0": "ui8",
        "1": "i8",
        "2": "i16",
        "3": "i32",
        "4": "i64",
        "5": "f16",
        "6": "f32",
        "7": "f64",
        "9": "complex<f32>",
        "10": "complex<f64>",
        "11": "i1",
        "15": "bf16",
    }.items()
}
"""Torch's number of each dtype (c10/core/ScalarType.h), which is how defaults are written."""

_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


def _parse_default(text: str, kind: SchemaType) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text.startswith("["):
        return [_parse_one_default(part, kind) for part in _split(text[1:-1])]
    value = _parse_one_default(text, kind)
    return [value] * (kind.size or 1) if kind.is_list else value


def _parse_one_default(text: str, kind: SchemaType) -> Any:
    if text[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    if text in _ENUMS:
        return _ENUMS[text]
    if kind.kind is Kind.DTYPE:
        return _DTYPE_CODES[text]
    if kind.base == "MemoryFormat":
        return _MEMORY_FORMATS[int(text)]
    return float(text) if kind.kind is Kind.FLOAT else _number(text)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
