"""Torch's schema grammar: one line such as `aten::add.Tensor(Tensor self, ...) -> Tensor`, parsed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any


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
_TYPE = re.compile(r"^(?P<base>[\w.]+)(?:\((?P<alias>[^)]*)\))?(?P<rest>(?:\?|\[\d*\])*)$")

NO_DEFAULT: Any = object()
"""Marks an argument that must be given."""


@dataclass(frozen=True)
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
        return self.kind in (Kind.TENSOR, Kind.SYMINT)


@dataclass(frozen=True)
class Arg:
    """One argument: `alias` is torch's annotation, such as `a!` for one that is written."""

    name: str
    type: SchemaType
    default: Any = NO_DEFAULT
    alias: str = ""
    kwarg_only: bool = False

    @property
    def required(self) -> bool:
        return self.default is NO_DEFAULT

    @property
    def mutated(self) -> bool:
        return "!" in self.alias


@dataclass(frozen=True)
class Result:
    """One result: its type, alias annotation and (often empty) name."""

    type: SchemaType
    alias: str = ""
    name: str = ""


@dataclass(frozen=True)
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
        return any(a.mutated for a in self.args)

    @property
    def aliases(self) -> bool:
        """Whether a result is a view of an argument."""
        return any(r.alias for r in self.results)

    def arg(self, name: str) -> Arg | None:
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
    """Split at top-level commas."""
    parts: list[str] = []
    depth, start, quoted = 0, 0, False
    for position, character in enumerate(text):
        if character in "\"'":
            quoted = not quoted
        elif quoted:
            continue
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


def _parse_type(text: str) -> tuple[SchemaType, str]:
    match = _TYPE.match(text)
    if match is None:
        return SchemaType(Kind.WORD, base=text), ""
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
    return kind, match["alias"] or ""


def _parse_arg(text: str, kwarg_only: bool) -> Arg:
    left, _, default = text.partition("=")
    type_text, _, name = left.strip().rpartition(" ")
    kind, alias = _parse_type(type_text)
    value = _parse_default(default, kind) if default else NO_DEFAULT
    return Arg(name, kind, value, alias, kwarg_only)


def _parse_result(text: str) -> Result:
    type_text, _, name = text.rpartition(" ") if " " in text else (text, "", "")
    kind, alias = _parse_type(type_text)
    return Result(kind, alias, name)


_ENUMS = {"Mean": 1, "Sum": 2}
"""The reduction enum of loss functions, which schemas write by name."""


def _parse_default(text: str, kind: SchemaType) -> Any:
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text.startswith("["):
        return [_parse_default(part, kind) for part in _split(text[1:-1])]
    if text[0] in "\"'":
        return text[1:-1]
    if text in _ENUMS:
        return _ENUMS[text]
    try:
        number = float(text) if kind.kind is Kind.FLOAT else _number(text)
    except ValueError:
        return text
    sized_list = kind.is_list and kind.size is not None
    return [number] * (kind.size or 0) if sized_list else number


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
