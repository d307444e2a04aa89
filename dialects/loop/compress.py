"""Lanes of a vector moved together."""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition


@op_definition
class CompressOp(IRDLOperation):
    """The lanes of a vector whose mask is on, in order; zeros behind them.

    There are 1, 2, 4, 8, ... lanes: for other numbers LLVM has no code, and ends the process.

    `%c = loop.compress %v, %m : vector<8xf32>, vector<8xi1> -> vector<8xf32>`
    """

    name = "loop.compress"
    value = operand_def(VectorType)
    mask = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = (
        "$value `,` $mask attr-dict `:` type($value) `,` type($mask) `->` type($result)"
    )

    def __init__(self, value: SSAValue, mask: SSAValue) -> None:
        super().__init__(operands=[value, mask], result_types=[value.type])

    def verify_(self) -> None:
        value, mask = self.value.type, self.mask.type
        assert isinstance(value, VectorType) and isinstance(mask, VectorType)
        lanes = value.get_shape()
        if len(lanes) != 1 or lanes[0].bit_count() != 1:
            raise VerifyException(f"{self.name}: {value}: it takes a power of two lanes")
        if self.result.type != value:
            raise VerifyException(f"{self.name}: the result has the type of the vector, {value}")
        if mask != VectorType(i1, value.get_shape()):
            raise VerifyException(f"{self.name}: the mask has an i1 for each lane of {value}")
