"""`mask-cut-sums`: terms behind a cut are 0 where a product is not of panels (`lamina.cut`).

Sums of packed products end at the number of a cut, whatever schedule they have. Loops over rows end
at numbers of a call where all nests of a task can; so the cut becomes a mask of the terms, which
is true within such a loop and goes there:

    %r = loop.generic (i, k) reads(%w[k], %v[k, i]) ... lamina.cut = #loop.bounds<1, ... counts [2]>
    ^bb0(%a: f32, %b: f32):
      %c = arith.mulf %a, %b : f32
      loop.yield %c : f32

becomes

    %r = loop.generic (i, k) reads(%w[k], %v[k, i], %n[]) ...
    ^bb0(%a: f32, %b: f32, %n: i64):
      %c = arith.mulf %a, %b : f32
      %k = loop.index 1 : index
      ... %k < %n ...
      %s = arith.select %below, %c, %zero : f32
      loop.yield %s : f32
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import FloatAttr, i64
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap

from lamina.dialects.loop import GenericOp, IndexOp, YieldOp
from lamina.dialects.loop.bounds import CUT, cut_of
from lamina.dialects.loop.packing import is_packed
from lamina.dialects.loop.scalar_ops import compare_op, constant_op, select_op
from lamina.dialects.op_list import list_ops
from lamina.passes.kernel_passes import KernelPass
from lamina.passes.loop.loop_rewriting import rebuild


class MaskCutSumsPass(KernelPass):
    """Make terms behind a cut 0 where the sum is no packed product's."""

    name = "mask-cut-sums"

    def apply_to_kernel(self, kernel: func.FuncOp) -> None:
        mask_cut_sums(kernel, list_ops(kernel))


def mask_cut_sums(kernel: func.FuncOp, ops: Sequence[Operation]) -> bool:
    """The same of these ops of a kernel; whether there were any such sums."""
    found = [op for op in ops if isinstance(op, GenericOp) and CUT in op.attributes]
    found = [op for op in found if not is_packed(op)]
    for nest in found:
        _mask(nest, kernel)
    return bool(found)


def _mask(nest: GenericOp, kernel: func.FuncOp) -> None:
    cut = cut_of(nest)
    assert cut is not None
    dim, number = cut
    inputs = [*nest.inputs, kernel.body.block.args[number]]
    maps = [*nest.read_maps, AffineMap(len(nest.extents), 0, ())]
    pads = [*nest.pad_values, None]
    block, end = nest.block, nest.block.last_op
    assert isinstance(end, YieldOp)
    count = block.insert_arg(i64, len(nest.inputs))
    (term,) = end.values
    index = IndexOp(dim)
    position = arith.IndexCastOp(index.result, i64)
    below = compare_op(position.result, count, "slt")
    zero = constant_op(FloatAttr(0.0, term.type))  # pyright: ignore
    kept = select_op(below.result, term, zero.result)
    block.insert_ops_before([index, position, below, zero, kept], end)
    end.operands = [kept.result]
    del nest.attributes[CUT]
    rebuild(nest, inputs=inputs, input_maps=maps, pads=pads)


__all__ = ["MaskCutSumsPass", "mask_cut_sums"]
