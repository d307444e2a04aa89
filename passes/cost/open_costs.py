"""What nests whose sizes are open move and compute, as formulas of the sizes of arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2, prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from lamina.dialects.control import RegionOp, ScanOp
from lamina.dialects.loop import ExternOp, FourierOp, GenericOp, SegmentReduceOp, SortOp
from lamina.dialects.loop.labels import label_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.open_nests import extents_at
from lamina.dialects.records import record
from lamina.dialects.sizes import Extent, Size, SizeName, quotients
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.cost.fusion_cost import type_bytes
from lamina.passes.cost.kernel_costs import flops_of_point
from lamina.passes.cost.unstructured_cost import row_operations

Counted = GenericOp | OrderedNest | SortOp | FourierOp | ExternOp
"""Ops that move and compute something."""


@record
class OpenCost:
    """`traffic` of a nest in bytes, each array once, and `flops` one each, of sizes."""

    op: str
    traffic: Extent
    flops: Extent


def open_costs(function: FuncOp) -> list[OpenCost]:
    """Costs of the ops of a function at the loop layer, each by itself, in order.

    Those of a scan are for all of its steps, those of other loops for one round; of both branches
    ops are listed.

    Raises InputError where a nest may leave its tensors (see `symbolic_shapes`).
    """
    with quotients():
        known = infer_shapes(function)
        return list(_costs(function.body.block, known, 1))


def traffic_of_ends(function: FuncOp) -> Extent:
    """Bytes of all arguments and results of a function: what no fusion spares."""
    with quotients():
        known = infer_shapes(function)
    end = function.body.block.last_op
    results = () if end is None else end.operands
    return _bytes((*function.body.block.args, *results), known)


def _costs(block: Block, known: SymbolicShapes, rounds: Extent) -> Iterator[OpenCost]:
    """Of a block that is run so many times."""
    for op in block.ops:
        if isinstance(op, RegionOp):
            steps = known.shape(op.sequences[0])[0] if isinstance(op, ScanOp) else 1
            for inner in op.blocks:
                yield from _costs(inner, known, rounds * steps)
        elif isinstance(op, Counted):
            cost = _cost(op, known)
            yield OpenCost(cost.op, cost.traffic * rounds, cost.flops * rounds)


def _cost(op: Counted, known: SymbolicShapes) -> OpenCost:
    moved = (
        op.results[:2] if isinstance(op, SortOp) else op.results
    )  # the others hold nothing of use
    arrays = dict.fromkeys((*op.operands, *moved))
    return OpenCost(label_of(op), _bytes(tuple(arrays), known), _flops(op, known))


def _flops(op: Counted, known: SymbolicShapes) -> Extent:
    """As `kernel_costs` counts them of numbers."""
    match op:
        case SortOp():
            *rows, length = known.shape(op.input)
            count = length if op.window is None else known.shape(op.res[0])[-1]
            looks = 0 if op.window is None else length
            return _product(rows) * (looks + count * _halvings(count))
        case FourierOp():
            floats = op.given.numbers * (1 if op.kind.data == "r2c" else 2)
            return _product(known.shape(op.input)) // floats * row_operations(op)
        case ExternOp():
            return 0
        case _:
            sizes = [known.numbers[value] for value in op.sizes]
            walked = extents_at(op, sizes)
            # Segments do not overlap: each position is in one at most.
            walked = walked[1:] if isinstance(op, SegmentReduceOp) else walked
            return _product(walked) * flops_of_point(op)


def _halvings(count: Extent) -> Extent:
    """How often a number is halved until one is left; of a size that is one of its own."""
    if isinstance(count, int):
        return ceil(log2(max(1, count)))
    return Size.of(SizeName(f"ceil(log2({count}))"))


def _product(extents: Sequence[Extent]) -> Extent:
    return prod(extents)  # pyright: ignore[reportArgumentType, reportReturnType]


def _bytes(values: tuple[SSAValue, ...], known: SymbolicShapes) -> Extent:
    total: Extent = 0
    for value in values:
        if isinstance(value.type, TensorType):
            element = type_bytes(TensorType(value.type.element_type, []))
            total = total + prod(known.shape(value)) * element  # pyright: ignore
    return total
