"""What nests whose sizes are open move and compute, as formulas of the sizes of arguments."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from lamina.dialects.loop import GenericOp, SegmentReduceOp
from lamina.dialects.loop.labels import label_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.open_nests import extents_at
from lamina.dialects.sizes import Extent, quotients
from lamina.passes.contracts.symbolic_shapes import SymbolicShapes, infer_shapes
from lamina.passes.cost.fusion_cost import type_bytes
from lamina.passes.cost.kernel_costs import flops_of_point


@dataclass(frozen=True)
class OpenCost:
    """`traffic` of a nest in bytes, each array once, and `flops` one each, of sizes."""

    op: str
    traffic: Extent
    flops: Extent


def open_costs(function: FuncOp) -> list[OpenCost]:
    """Costs of the nests of a function at the loop layer, each by itself, in order.

    Raises InputError where a nest may leave its tensors (see `symbolic_shapes`).
    """
    with quotients():
        known = infer_shapes(function)
        ops = [op for op in function.body.block.ops if isinstance(op, GenericOp | OrderedNest)]
        return [_cost(op, known) for op in ops]


def traffic_of_ends(function: FuncOp) -> Extent:
    """Bytes of all arguments and results of a function: what no fusion spares."""
    with quotients():
        known = infer_shapes(function)
    end = function.body.block.last_op
    results = () if end is None else end.operands
    return _bytes((*function.body.block.args, *results), known)


def _cost(op: GenericOp | OrderedNest, known: SymbolicShapes) -> OpenCost:
    sizes = [known.numbers[value] for value in op.sizes]
    walked = extents_at(op, sizes)[1:] if isinstance(op, SegmentReduceOp) else extents_at(op, sizes)
    points: Extent = prod(walked)  # pyright: ignore[reportAssignmentType]
    arrays = dict.fromkeys((*op.operands, *op.results))
    return OpenCost(label_of(op), _bytes(tuple(arrays), known), points * flops_of_point(op))


def _bytes(values: tuple[SSAValue, ...], known: SymbolicShapes) -> Extent:
    total: Extent = 0
    for value in values:
        if isinstance(value.type, TensorType):
            element = type_bytes(TensorType(value.type.element_type, []))
            total = total + prod(known.shape(value)) * element  # pyright: ignore
    return total
