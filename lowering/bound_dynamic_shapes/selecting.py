"""Elements and positions chosen by a mask: `nonzero`, `masked_select` and their kin."""

from __future__ import annotations

from itertools import pairwise
from math import comb, prod

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.compaction import compaction, flattened
from lamina.lowering.bound_dynamic_shapes.pointwise import aligned
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, whole
from lamina.lowering.tensor_types import element_of

LARGEST_GRID = 1 << 24
"""Places that `combinations` tests at most."""


def truth(tensor: Bounded, b: BoundBuilder) -> SSAValue:
    """Where elements are not zero; padding is left out."""
    value = tensor.value
    if element_of(value) != i1:
        value = b("ne.Scalar", value, 0)
    return b.filled(Bounded(value, tensor.sizes), False)


def coordinates(tensor: Bounded, b: BoundBuilder) -> list[Bounded]:
    """A vector of indices for each dimension of a mask: where it holds, in row-major order."""
    shape = tensor.shape
    chosen = compaction(flattened(truth(tensor, b), b), b)
    flat = chosen.moved(b.iota(prod(shape)), b)
    if len(shape) == 1:
        return [flat]
    found: list[Bounded] = []
    for dim, extent in enumerate(shape):
        value, step = flat.value, max(prod(shape[dim + 1 :]), 1)
        if step != 1:
            value = b("div.Scalar_mode", value, step, rounding_mode="floor")
        if dim:
            value = b("remainder.Scalar", value, max(extent, 1))
        found.append(Bounded(value, flat.sizes))
    return found


@bounds("nonzero", "argwhere")
def nonzero(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Rows of indices."""
    tensor = b.tensor(op.arg("self"))
    if not tensor.rank:
        vector = Bounded(b.reshape(tensor.value, [1]), (None,))
        (flat,) = coordinates(vector, b)
        return Bounded(b.full([1, 0], 0, i64), (*flat.sizes, None))
    found = coordinates(tensor, b)
    rows = b("stack.default", [index.value for index in found], 1)
    return Bounded(rows, (*found[0].sizes, None))


@bounds("nonzero_numpy", "where")
def nonzero_lists(op: SchemaOp, b: BoundBuilder) -> list[Bounded]:
    """A vector of indices for each dimension; a number counts as a vector of one."""
    tensor = b.tensor(op.operands[0])
    if not tensor.rank:
        tensor = Bounded(b.reshape(tensor.value, [1]), (None,))
    return coordinates(tensor, b)


@bounds("combinations")
def combinations(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Rows of r elements: places that grow from entry to entry, of which the number is known."""
    vector, r = b.tensor(op.arg("self")), op.arg("r")
    repeated = op.arg("with_replacement")
    if not vector.is_static:
        raise b.refuse("a number of elements that depends on data")
    (size,) = vector.shape
    rows = (comb(size + r - 1, r) if size else 0) if repeated else comb(size, r)
    if not rows or not r:
        return whole(b.full([rows, r] if r else [0], 0, element_of(vector.value)))
    if size**r > LARGEST_GRID:
        raise b.refuse(f"{size} to the power of {r} places are too many to choose from")
    if r == 1:
        return whole(b.reshape(vector.value, [size, 1]))
    grid = [b.reshape(b.iota(size), [-1, *([1] * (r - 1 - d))]) for d in range(r)]
    relation = "le.Tensor" if repeated else "lt.Tensor"
    mask = b(relation, grid[0], grid[1])
    for one, other in pairwise(grid[1:]):
        mask = b("logical_and.default", mask, b(relation, one, other))
    mask = b.expand(mask, [size] * r)
    places = [b.slice(index.value, 0, 0, rows) for index in coordinates(whole(mask), b)]
    return whole(b("index.Tensor", vector.value, [b("stack.default", places, 1)]))


@bounds("masked_select")
def masked_select(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Elements where the mask holds, both broadcast to a common shape."""
    value, mask = aligned([b.tensor(op.arg("self")), b.tensor(op.arg("mask"))], b)
    shape = b.broadcast(value.shape, mask.shape)
    sizes = tuple(a if a is not None else c for a, c in zip(value.sizes, mask.sizes, strict=True))
    whole_mask = Bounded(b.expand(mask.value, shape), sizes)
    chosen = compaction(flattened(truth(whole_mask, b), b), b)
    return chosen.moved(flattened(b.expand(value.value, shape), b), b)
