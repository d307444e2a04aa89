"""Ops of MLIR on vectors that xDSL has not, or has for numbers alone: to be printed."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, MemRefType, VectorType
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from lamina.dialects.op_accessors import op_definition


@op_definition
class GatherOp(IRDLOperation):
    """Reads one element per lane, at `base[indices]` plus a number of elements."""

    name = "vector.gather"
    base = operand_def(MemRefType)
    offsets = var_operand_def(IndexType)
    indices = operand_def(VectorType)
    mask = operand_def(VectorType)
    pass_thru = operand_def(VectorType)
    result = result_def(VectorType)
    assembly_format = (
        "$base `[` $offsets `]` `[` $indices `]` `,` $mask `,` $pass_thru attr-dict `:` "
        "type($base) `,` type($indices) `,` type($mask) `,` type($pass_thru) `into` type($result)"
    )


@op_definition
class CompressStoreOp(IRDLOperation):
    """Writes the lanes whose mask is on side by side, from `base[indices]` on."""

    name = "vector.compressstore"
    base = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    mask = operand_def(VectorType)
    value = operand_def(VectorType)
    assembly_format = (
        "$base `[` $indices `]` `,` $mask `,` $value attr-dict `:` type($base) `,` type($mask) `,` "
        "type($value)"
    )


def _cast(name: str) -> type[Operation]:
    members = {
        "name": f"arith.{name}",
        "__module__": __name__,
        "__doc__": f"MLIR's `arith.{name}` of vectors.",
        "input": operand_def(VectorType),
        "result": result_def(VectorType),
        "assembly_format": "$input attr-dict `:` type($input) `to` type($result)",
        "traits": traits_def(Pure()),
    }
    return op_definition(type(name, (IRDLOperation,), members))


VECTOR_CASTS: dict[str, type[Operation]] = {
    name: _cast(name)
    for name in (
        "extsi",
        "extui",
        "trunci",
        "fptosi",
        "fptoui",
        "sitofp",
        "uitofp",
        "index_cast",
    )
}
"""Conversions lane by lane, by name."""
