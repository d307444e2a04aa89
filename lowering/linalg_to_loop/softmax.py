"""`linalg.softmax`: the largest of a row, exponentials less it, their sum, and the quotient."""

from __future__ import annotations

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from lamina.dialects.linalg import StructuredOp
from lamina.dialects.loop.rounding import is_half
from lamina.lowering import scalar
from lamina.lowering.linalg_to_loop.table import LinalgBuilder, lowers
from lamina.lowering.prims_to_loop.table import Map, d
from lamina.lowering.tensor_types import element_of, is_float, shape_of


@lowers("linalg.softmax")
def _softmax(op: StructuredOp, b: LinalgBuilder) -> SSAValue:
    """Half floats are computed in f32."""
    source, shape = op.inputs[0], shape_of(op.outputs[0])
    element = element_of(source)
    axis = op.dimension.value.data if op.dimension is not None else -1
    if not 0 <= axis < len(shape) or not is_float(element) or shape_of(source) != shape:
        raise b.refuse(f"along dimension {axis}", "a tensor of floats and one of its dimensions")
    wide = f32 if is_half(element) else element
    kept: Map = [d(n) for n in range(len(shape)) if n != axis]
    most = b.reduce(source, [axis], "max", wide, lambda i, a: scalar.convert(i, a[0], wide))
    powers = b.generic(
        shape,
        [(source, None), (most, kept)],
        [(None, "store", shape, wide)],
        lambda i, a: [i.add(math.ExpOp(scalar.sub(i, scalar.convert(i, a[0], wide), a[1])))],
    ).res[0]
    total = b.reduce(powers, [axis], "add", wide)
    return b.generic(
        shape,
        [(powers, None), (total, kept)],
        [(None, "store", shape, element)],
        lambda i, a: [scalar.rounded(i, i.add(arith.DivfOp(a[0], a[1])), element)],
    ).res[0]
