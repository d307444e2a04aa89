"""Ops along dimensions of known size: in the others, padding comes out where it went in."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.table import Results, bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Count, Number, known
from lamina.lowering.tensor_types import element_of, is_bool, normalized_dims, shape_of


def _along(tensor: Bounded, dims: list[int], b: BoundBuilder) -> None:
    if any(tensor.sizes[dim] is not None for dim in dims):
        raise b.refuse("works along a dimension whose size depends on data")


@bounds(
    "split.Tensor",
    "split_with_sizes",
    "chunk",
    "tensor_split.sections",
    "tensor_split.indices",
    "unbind.int",
    "glu",
)
def along(op: SchemaOp, b: BoundBuilder) -> Bounded | list[Bounded]:
    """The op on the padded tensor; `unbind` drops the dimension."""
    values = op.args()
    tensor = b.tensor(values["self"])
    given = values["dims"] if "dims" in values else [values["dim"]]
    if not given:
        raise b.refuse("goes through all elements, whose number depends on data")
    dims = normalized_dims(given, tensor.rank)
    _along(tensor, dims, b)
    drops = op.overload_name.startswith("unbind")
    sizes = tuple(s for d, s in enumerate(tensor.sizes) if not drops or d not in dims)
    made: Any = b.op(op.overload_name, **{**values, "self": tensor.value}).results
    found = [Bounded(value, sizes) for value in made]
    return found[0] if len(op.results) == 1 else found


@bounds("diff")
def diff(op: SchemaOp, b: BoundBuilder) -> Results:
    """Each element less the one in front of it."""
    values = op.args()
    tensor = b.tensor(values["self"])
    (dim,) = normalized_dims([values["dim"]], tensor.rank)
    if tensor.is_known(dim):
        return along(op, b)
    if values["n"] != 1 or values["append"] is not None or is_bool(element_of(tensor.value)):
        raise b.refuse("takes one difference of numbers here, and nothing is appended")
    value, sizes = tensor.value, list(tensor.sizes)
    if values["prepend"] is None:
        less = b("sub.Scalar", b.as_tensor(b.size(tensor, dim)), 1)
        sizes[dim] = b("clamp.default", less, min=0)
    else:
        front = b.tensor(values["prepend"])
        expected = [1 if d == dim else extent for d, extent in enumerate(tensor.shape)]
        if front.shape != expected or front.sizes != (*sizes[:dim], None, *sizes[dim + 1 :]):
            raise b.refuse("takes one element in front of each row")
        value = b("cat.default", [front.value, value], dim)
    extent = shape_of(value)[dim]
    later, earlier = b.slice(value, dim, 1, extent), b.slice(value, dim, 0, extent - 1)
    return Bounded(b("sub.Tensor", later, earlier), tuple(sizes))


@bounds("repeat")
def repeat(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Copies of the whole; where elements end, the next copy begins."""
    tensor = b.tensor(op.arg("self"))
    repeats = [as_size(b.number(entry), b) for entry in op.arg("repeats")]
    missing = len(repeats) - tensor.rank
    value = b.reshape(tensor.value, [*([1] * missing), *tensor.shape])
    sizes: list[Number | Count] = [*([None] * missing), *tensor.sizes]
    copies = [number.constant if sizes[d] is None else 1 for d, number in enumerate(repeats)]
    for dim, number in enumerate(repeats):
        count, extent = sizes[dim], shape_of(value)[dim]
        if copies[dim] is not None and (count is None or number.constant == 1):
            continue
        own = known(extent) if not isinstance(count, SSAValue) else Number(count, extent, 0)
        sizes[dim] = b.product(number, own)
        most = number.most
        assert most is not None
        if count is None:
            copies[dim] = most
            continue
        places = b.iota(most * extent)
        places = b("remainder.Tensor", places, b("clamp_min.default", b.as_tensor(own), 1))
        value = b("index_select.default", value, dim, places)
    return b.bounded(b("repeat.default", value, copies), sizes)
