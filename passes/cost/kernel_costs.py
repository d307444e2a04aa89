"""What one call of a kernel moves and computes, counted from its nests, for the ledger.

Works on outlined kernels with tensors and on bufferized ones. `schedule` keeps the counts on the
function, since loops no longer show them.
"""

from __future__ import annotations

from dataclasses import astuple, fields
from math import ceil, log2, prod

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, MemRefType, TensorType, i64
from xdsl.ir import Operation, SSAValue

from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import FourierOp, GenericOp, SortOp
from lamina.dialects.loop.access import shape_of
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.packing import in_matrix_tiles, is_packed
from lamina.dialects.op_list import list_ops
from lamina.dialects.records import record
from lamina.passes.cost.fusion_cost import type_bytes, value_bytes, work
from lamina.passes.cost.unstructured_cost import fourier_operations, unstructured_work

COST = "lamina.cost"
"""Attribute of scheduled kernels: bytes, flops and cost units of one call."""

_FREE_BODY_OPS = ("loop.", "arith.constant", "arith.index_cast", "arith.extui", "arith.trunci")


@record
class KernelCost:
    """`traffic` in bytes, each array once; `flops` one each; `units` as in `fusion_cost`."""

    traffic: int
    flops: int
    units: int

    def attribute(self) -> DenseArrayBase:
        """The counts as an attribute, see `COST`; the largest i64 for those beyond it."""
        return DenseArrayBase.from_list(i64, [min(count, 2**63 - 1) for count in astuple(self)])


_COUNTS = fields(KernelCost)


def kernel_cost(function: func.FuncOp) -> KernelCost:
    """Of a kernel function: as was noted when it was scheduled, or counted now."""
    noted = function.attributes.get(COST)
    if isinstance(noted, DenseArrayBase) and noted.elt_type == i64 and len(noted) == len(_COUNTS):
        return KernelCost(*(int(n) for n in noted.get_values()))
    ops = [op for op in list_ops(function) if op.name.startswith("loop.")]
    results = sum(type_bytes(t) for t in function.function_type.outputs)
    return KernelCost(
        traffic=sum(map(_traffic, function.args)) + results,
        flops=sum(map(_flops, ops)),
        units=sum(work(op) if isinstance(op, GenericOp) else unstructured_work(op) for op in ops),
    )


def _traffic(argument: SSAValue) -> int:
    """Bytes touched of an argument: all of it, or one element for each look-up in a table."""
    size, looked_up = value_bytes(argument), 0
    kind = argument.type
    assert isinstance(kind, TensorType | MemRefType)
    element = size // max(1, prod(kind.get_shape()))
    for use in argument.uses:
        user = use.operation
        if not isinstance(user, GenericOp | OrderedNest) or argument not in user.sources:
            return size
        if argument in (*user.inputs, *user.outs):
            return size
        looked_up += _points(user) * element
    return min(size, looked_up)


def _points(op: GenericOp | OrderedNest) -> int:
    return op.points if isinstance(op, OrderedNest) else prod(op.extents)


def _flops(op: Operation) -> int:
    """Points of the domain times arithmetic in the body; comparisons of a sort by merging.

    Where only some elements of a row are asked for, each is looked at once, and these are sorted.
    """
    if isinstance(op, SortOp):
        *rows, length = shape_of(op.input)
        sorted_ones = length if op.window is None else op.window[1]
        looks = 0 if op.window is None else length
        return prod(rows) * (looks + sorted_ones * ceil(log2(max(1, sorted_ones))))
    if isinstance(op, FourierOp):
        return fourier_operations(op)
    if not isinstance(op, GenericOp | OrderedNest):
        return 0
    return _points(op) * flops_of_point(op)


def flops_of_point(op: GenericOp | OrderedNest) -> int:
    """Arithmetic that a nest does at one point of its domain."""
    body = sum(
        not o.name.startswith(_FREE_BODY_OPS) and o.name.startswith(("arith.", "math."))
        for region in op.regions
        for o in region.block.ops
    )
    if isinstance(op, GenericOp):
        if in_matrix_tiles(op) or is_packed(op):
            # Tiles widen what they multiply, tasks what they pack, or read packed.
            body -= sum(o.name == "arith.extf" for o in block_ops(op.block))
        body += sum(name not in ("store", COMBINE) for name in op.combiner_names)
    return body
