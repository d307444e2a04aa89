"""Dot products of pairs, lane by lane: two terms of a sum of bf16 added to an f32 at once.

Memory packed in pairs (see `lamina.dialects.loop.pairs`) is read in such vectors: elements `2i` and
`2i + 1` belong to lane `i`. The machine multiplies with subnormal numbers as zeros.
"""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float32Type, VectorType
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.op_accessors import op_definition


class PairsOp(IRDLOperation):
    """Adds products of bf16, whose terms come in pairs, to a total of f32."""

    left = operand_def(VectorType)
    right = operand_def(VectorType)
    total = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = (
        "$left `,` $right `,` $total attr-dict `:` type($left) `,` type($right) `,` type($total) "
        "`->` type($result)"
    )

    def __init__(self, left: SSAValue, right: SSAValue, total: SSAValue) -> None:
        super().__init__(operands=[left, right, total], result_types=[total.type])

    def verify_(self) -> None:
        kinds = [v.type.element_type for v in (self.left, self.right, self.total)]  # pyright: ignore
        halves = all(isinstance(kind, BFloat16Type) for kind in kinds[:2])
        if not halves or not isinstance(kinds[2], Float32Type):
            raise VerifyException(f"{self.name}: multiplies bf16 and adds to f32")
        if self.result.type != self.total.type:
            raise VerifyException(f"{self.name}: the result has the type of the total")


@op_definition
class DotPairsOp(PairsOp):
    """`total[i] + left[2i] * right[2i] + left[2i + 1] * right[2i + 1]` in each lane `i`.

    `loop.dot_pairs %a, %b, %t : vector<8xbf16>, vector<8xbf16>, vector<4xf32> -> vector<4xf32>`
    """

    name = "loop.dot_pairs"

    def verify_(self) -> None:
        super().verify_()
        pairs, total = self.left.type, self.total.type
        assert isinstance(pairs, VectorType) and isinstance(total, VectorType)
        if self.right.type != pairs:
            raise VerifyException(f"{self.name}: both operands have one type")
        if len(total.get_shape()) != 1 or pairs.get_shape() != (2 * total.get_shape()[0],):
            raise VerifyException(
                f"{self.name}: {total} takes vectors of twice as many elements, not {pairs}"
            )
