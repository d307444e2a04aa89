"""Quick reading of an op's operand segments and integer arrays.

xDSL decodes them anew at each access, which was a tenth of the time that passes take.
"""

import struct
from functools import lru_cache
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Operation
from xdsl.irdl import VarOperand


@lru_cache(maxsize=4096)
def _decoded(data: bytes, letter: str, width: int) -> tuple[int, ...]:
    return struct.unpack(f"<{len(data) // width}{letter}", data)


def integers64(array: Any) -> tuple[int, ...]:
    """The numbers of an array of i64."""
    return _decoded(array.data.data, "q", 8)


def segment(index: int) -> property:
    """A property with the operands of one segment of an op that has `operandSegmentSizes`."""

    def operands(self: Operation) -> VarOperand:
        sizes = self.properties["operandSegmentSizes"]
        assert isinstance(sizes, DenseArrayBase)
        counts = _decoded(sizes.data.data, "i", 4)
        start = sum(counts[:index])
        return VarOperand(self.operands[start : start + counts[index]])

    return property(operands)
