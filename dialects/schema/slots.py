"""How the arguments of one overload are stored: as operands, as a property, or as either."""

from __future__ import annotations

import struct
from enum import IntEnum
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Attribute, Operation

from lamina.dialects.schema.grammar import NO_DEFAULT, Arg, Kind, Schema

SEGMENTS = "operandSegmentSizes"
"""The property that says how many operands each argument has; only where that is not clear."""

PRESENT_SUFFIX = "_present"
"""Of a `Tensor?[]` with gaps: the property `<argument>_present` has a 1 for each tensor."""


class Role(IntEnum):
    """Where an argument is stored."""

    CONSTANT = 0
    """A property."""
    TENSOR = 1
    """One operand, or none if the argument is optional."""
    TENSORS = 2
    """Any number of operands."""
    MIXED = 3
    """A property, or one operand: a number known only at run time."""
    MIXED_LIST = 4
    """A property in which `DYNAMIC` stands for each entry that is an operand."""


class Slot:
    """One argument of an overload, with what construction, text and verification look up."""

    __slots__ = ("arg", "default", "kind", "name", "needed", "role", "segment", "type")

    def __init__(self, arg: Arg, segment: int) -> None:
        self.arg = arg
        self.name = arg.name
        self.type = arg.type
        self.kind = arg.type.kind
        self.role = _role_of(arg)
        self.segment = -1 if self.role is Role.CONSTANT else segment
        self.default: Any = arg.default
        self.needed = arg.required and not arg.type.optional
        """Whether leaving it out is an error."""

    @property
    def varies(self) -> bool:
        """Whether it may be stored as other than one operand."""
        return self.role is not Role.TENSOR or self.type.optional

    @property
    def absent(self) -> Any:
        """The value of an argument that is stored neither as operand nor as property."""
        default = self.default
        return None if default is NO_DEFAULT else default


def _role_of(arg: Arg) -> Role:
    if arg.type.kind is Kind.TENSOR:
        return Role.TENSORS if arg.type.is_list else Role.TENSOR
    if not arg.type.may_hold_values:
        return Role.CONSTANT
    return Role.MIXED_LIST if arg.type.is_list else Role.MIXED


class Slots:
    """The arguments of one overload, in schema order."""

    def __init__(self, schema: Schema) -> None:
        self.all: list[Slot] = []
        self.segments: list[Slot] = []
        for arg in schema.args:
            slot = Slot(arg, len(self.segments))
            self.all.append(slot)
            if slot.segment >= 0:
                self.segments.append(slot)
        self.by_name = {slot.name: slot for slot in self.all}
        varying = [slot for slot in self.segments if slot.varies]
        self.needs_segments = len(varying) > 1
        self._varying = varying[0].segment if len(varying) == 1 else None
        self._fixed = (1,) * len(self.segments)

    def sizes(self, op: Operation) -> tuple[int, ...]:
        """How many operands each of `segments` has in `op`. Raises ValueError if unclear."""
        count = len(op._operands)
        if self.needs_segments:
            attribute = op.properties.get(SEGMENTS)
            sizes = unpack_segments(attribute)
            if sizes is None or len(sizes) != len(self._fixed) or min(sizes) < 0:
                names = ", ".join(slot.name for slot in self.segments)
                raise ValueError(f"{SEGMENTS} must give one size for each of {names}")
            if sum(sizes) != count:
                raise ValueError(
                    f"{SEGMENTS} add up to {sum(sizes)}, but there are {count} operands"
                )
            return sizes
        fixed = self._fixed
        if self._varying is None:
            if count != len(fixed):
                raise ValueError(f"takes {len(fixed)} operands, not {count}")
            return fixed
        rest = count - len(fixed) + 1
        if rest < 0:
            raise ValueError(f"takes at least {len(fixed) - 1} operands, not {count}")
        return (*fixed[: self._varying], rest, *fixed[self._varying + 1 :])


def unpack_segments(attribute: Attribute | None) -> tuple[int, ...] | None:
    """The entries of an array of i32; None for any other attribute."""
    if isinstance(attribute, DenseArrayBase) and attribute.elt_type.size == 4:
        return _unpack(attribute.data.data)
    return None


@lru_cache(4096)
def _unpack(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // 4}i", data)
