"""Matrix tiles of the scheduled level: registers of rows and columns that are multiplied at once.

A tile is a two-dimensional vector of at most 16 rows of at most 64 bytes. The left operand of a
product has rows of bf16 along the sum. The right operand has its rows in pairs: row `i` holds the
elements `2i` and `2i + 1` of the sum for each column in turn, as memory packed in pairs does. The
machine multiplies f32 sums of bf16, with subnormal numbers as zeros.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float32Type,
    IndexType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.dot_pairs import PairsOp
from lamina.dialects.op_accessors import op_definition

TILE_ROWS = 16
"""Rows of a tile, at most."""
TILE_COLUMNS = 16
"""Columns of f32 of a tile, at most: 64 bytes."""
TILE_TERMS = 32
"""Terms of a sum that one tile of bf16 holds, at most: 64 bytes."""


def tile_shape(op: Operation, kind: Attribute) -> tuple[int, int]:
    """(rows, elements of a row) of a tile type; VerifyException for what is none."""
    if not isinstance(kind, VectorType) or len(kind.get_shape()) != 2:
        raise VerifyException(f"{op.name}: a tile is a vector of two dimensions, not {kind}")
    if not isinstance(kind.element_type, BFloat16Type | Float32Type):
        raise VerifyException(f"{op.name}: a tile has elements of bf16 or f32, not {kind}")
    rows, columns = kind.get_shape()
    row_bytes = columns * (2 if isinstance(kind.element_type, BFloat16Type) else 4)
    if not 0 < rows <= TILE_ROWS or not 0 < row_bytes <= 4 * TILE_COLUMNS or row_bytes % 4:
        raise VerifyException(
            f"{op.name}: a tile has 1 to {TILE_ROWS} rows of whole words of 4 bytes, and of 4 to "
            f"{4 * TILE_COLUMNS} bytes, not {kind}"
        )
    return rows, columns


def _verify_access(op: Operation, memory: SSAValue, tile: SSAValue) -> None:
    tile_shape(op, tile.type)
    assert isinstance(memory.type, MemRefType) and isinstance(tile.type, VectorType)
    if memory.type.get_num_dims() != 1:
        raise VerifyException(f"{op.name}: the memory has one dimension, not {memory.type}")
    if memory.type.element_type != tile.type.element_type:
        raise VerifyException(f"{op.name}: {memory.type} has other elements than {tile.type}")


@op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros: `%t = loop.tile_zero : vector<16x16xf32>`."""

    name = "loop.tile_zero"
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, kind: VectorType) -> None:
        super().__init__(result_types=[kind])

    def verify_(self) -> None:
        tile_shape(self, self.result.type)


@op_definition
class TileLoadOp(IRDLOperation):
    """Reads a tile, each row `stride` elements after the one before.

    `%t = loop.tile_load %m[%at], %stride : memref<4096xbf16>, vector<16x32xbf16>`
    """

    name = "loop.tile_load"
    ref = operand_def(MemRefType)
    at = operand_def(IndexType)
    stride = operand_def(IndexType)
    result = result_def(VectorType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$ref `[` $at `]` `,` $stride attr-dict `:` type($ref) `,` type($result)"

    def __init__(self, ref: SSAValue, at: SSAValue, stride: SSAValue, kind: VectorType) -> None:
        super().__init__(operands=[ref, at, stride], result_types=[kind])

    def verify_(self) -> None:
        _verify_access(self, self.ref, self.result)


@op_definition
class TileStoreOp(IRDLOperation):
    """Writes a tile, each row `stride` elements after the one before.

    `loop.tile_store %t, %m[%at], %stride : vector<16x16xf32>, memref<256xf32>`
    """

    name = "loop.tile_store"
    tile = operand_def(VectorType)
    ref = operand_def(MemRefType)
    at = operand_def(IndexType)
    stride = operand_def(IndexType)
    traits = traits_def(MemoryWriteEffect())
    assembly_format = (
        "$tile `,` $ref `[` $at `]` `,` $stride attr-dict `:` type($tile) `,` type($ref)"
    )

    def __init__(self, tile: SSAValue, ref: SSAValue, at: SSAValue, stride: SSAValue) -> None:
        super().__init__(operands=[tile, ref, at, stride])

    def verify_(self) -> None:
        _verify_access(self, self.ref, self.tile)


@op_definition
class TileDotOp(PairsOp):
    """`total` plus the matrix product of `left` and `right`, whose rows are pairs of the sum.

    `%s = loop.tile_dot %a, %b, %t : vector<7x20xbf16>, vector<10x32xbf16>, vector<7x16xf32>`
    """

    name = "loop.tile_dot"

    def verify_(self) -> None:
        rows, terms = tile_shape(self, self.left.type)
        pairs, elements = tile_shape(self, self.right.type)
        total = tile_shape(self, self.total.type)
        super().verify_()
        if terms != 2 * pairs or total != (rows, elements // 2):
            raise VerifyException(
                f"{self.name}: {rows} rows of {terms} terms by {pairs} pairs of {elements // 2} "
                f"columns do not make {total[0]}x{total[1]}"
            )


TILE_OPS: tuple[type[Operation], ...] = (TileZeroOp, TileLoadOp, TileStoreOp, TileDotOp)
"""What works on matrix tiles."""
