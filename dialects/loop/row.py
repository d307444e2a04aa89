"""`loop.row`: one slice of a buffer along its first dimension, in place."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition


@op_definition
class RowOp(IRDLOperation):
    """The memory of one slice along the first dimension, which is contiguous like the whole.

    `%r = loop.row %x[%i] : memref<5x4xf32> -> memref<4xf32>`
    """

    name = "loop.row"
    source = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $index `]` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, index: SSAValue) -> None:
        kind = source.type
        assert isinstance(kind, MemRefType)
        row = MemRefType(kind.element_type, kind.get_shape()[1:])
        super().__init__(operands=[source, index], result_types=[row])

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, MemRefType) and isinstance(result, MemRefType)
        if not source.get_shape():
            raise VerifyException("loop.row: a memref of no dimensions has no rows")
        if result != MemRefType(source.element_type, source.get_shape()[1:]):
            raise VerifyException(f"loop.row: {result} is no row of {source}")
