"""Dimensions that are repeated, or the same, counted from the last."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from xdsl.ir import Operation, SSAValue

from lamina.lowering.tensor_types import shape_of

_REPEATS = frozenset({"expand.default", "broadcast_in_dim"})


def unrepeated(value: SSAValue) -> SSAValue:
    """What dimensions of one are repeated of to make a value, of the same rank; or itself."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.name.partition(".")[2] not in _REPEATS:
        return value
    source = owner.operands[0]
    return unrepeated(source) if len(shape_of(source)) == len(shape_of(value)) else value


def ones_behind(shape: Sequence[int]) -> int:
    """How many of the last dimensions have one element."""
    return equal_behind(shape, [1] * len(shape))


def equal_behind(one: Sequence[object], other: Sequence[object]) -> int:
    """How many of the last entries are equal."""
    pairs = zip(reversed(one), reversed(other), strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
