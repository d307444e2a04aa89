"""What the body of a loop nest costs per point, in units of one floating-point add.

The weights are reciprocal throughputs of vector code relative to an add: divisions and square
roots stall the pipe for several cycles, transcendental functions are polynomials of that length.
"""

from math import prod

from xdsl.dialects.builtin import ComplexType, MemRefType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from lamina.dialects.elementwise import ROWS, Cost
from lamina.dialects.identity_cache import once_an_object
from lamina.dialects.ir_links import block_ops
from lamina.dialects.loop import GenericOp
from lamina.dialects.loop.monoid import COMBINE
from lamina.dialects.loop.packing import in_matrix_tiles, is_packed
from lamina.dialects.loop.special import SpecialOp

FREE = frozenset(
    {
        "arith.constant",
        "loop.yield",
        "loop.index",
        "arith.index_cast",
        "arith.bitcast",
    }
)
DIVISIONS = frozenset({"arith.divf", "arith.divsi", "arith.divui", "arith.remsi", "arith.remf"})

DIVISION_COST = 5
"""A division, in adds."""
SQRT_COST = 8
"""A square root, in adds."""
MATH_COST = 15
"""A function of `math`, such as an exponential, in adds."""
CURVE_COST = 35
"""A function of `math` with a polynomial for each part of its range or a division behind one, in
adds: a vector of an exponential takes 2.2 ns, of a hyperbolic tangent 5.0, of a sigmoid 5.1, of a
logarithm 5.5 (a thread of a Zen 4)."""
SPECIAL_COST = 60
"""A special function, such as lgamma, in adds."""
_COSTS: dict[Cost, int] = {
    "add": 1,
    "root": SQRT_COST,
    "function": MATH_COST,
    "curve": CURVE_COST,
    "special": SPECIAL_COST,
}
MATH_COSTS = {
    op: _COSTS[row.cost] for row in ROWS for op in row.loop_ops if op.startswith("math.")
} | {"math.fma": 1}
"""Ops of `math` to their cost; others of `math` cost `MATH_COST`."""
SPECIAL_COSTS = {row.name: _COSTS[row.cost] for row in ROWS if row.is_special}
"""Functions of `loop.special` to their cost."""
TILE_SPEED = 16
"""Products of bf16 in matrix tiles for one of f32 in vectors: 2 TFLOPS of a core against 0.13."""
READ_COST = 4
"""An indirect read: an address computation, a bounds check and a gather."""


def op_cost(op: Operation) -> int:
    """Cost of one body op; constants and terminators are free."""
    name = op.name
    if name in FREE:
        return 0
    if name in DIVISIONS:
        return DIVISION_COST
    if name == "loop.read":
        return READ_COST
    if type(op) is SpecialOp:
        return SPECIAL_COSTS.get(op.function.data, SPECIAL_COST)
    if name.startswith("math."):
        return MATH_COSTS.get(name, MATH_COST)
    return 1


def body_cost(op: GenericOp) -> int:
    """Cost of one point of the nest; 0 for pure rearrangements and constants.

    Combining regions count, named combiners do not.
    """
    return sum(op_cost(o) for region in op.regions for o in block_ops(region.block))


def work(op: GenericOp) -> int:
    """Cost of the whole nest, with one add for each value of each point that a name combines."""
    if in_matrix_tiles(op):
        return 2 * prod(op.extents) // TILE_SPEED
    reductions = sum(name not in ("store", COMBINE) for name in op.combiner_names)
    if is_packed(op):
        return prod(op.extents) * 2
    return prod(op.extents) * (body_cost(op) + reductions)


def value_bytes(value: SSAValue) -> int:
    """Bytes that a tensor or memref takes; booleans one each, other types nothing."""
    return type_bytes(value.type)


@once_an_object
def type_bytes(kind: Attribute) -> int:
    """Bytes that a value of the type takes; booleans one each, other types than arrays nothing."""
    if not isinstance(kind, TensorType | MemRefType):
        return 0
    element, factor = kind.element_type, 1
    if isinstance(element, ComplexType):
        element, factor = element.element_type, 2
    return prod(kind.get_shape()) * factor * element_bytes(element, 8)


def element_bytes(element: Attribute, bits: int = 64) -> int:
    """Bytes of one element; booleans take one, and types without a width those of so many bits."""
    return max(1, getattr(element, "bitwidth", bits) // 8)
