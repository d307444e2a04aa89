"""Images, and rows of any kind, made longer at their ends.

Where a dimension is open, its end stands somewhere in the padded one: constants are put behind it,
mirrored and repeated elements are read from computed places.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.numbers import as_size
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, resized, total
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number
from lamina.lowering.tensor_types import element_of

_PADS = tuple(f"{kind}_pad{rank}d" for kind in ("reflection", "replication") for rank in (1, 2, 3))


@bounds("constant_pad_nd", "pad")
def pad(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The last dimensions made longer or shorter."""
    values = op.args()
    tensor, mode, number = b.tensor(values["self"]), values.get("mode", "constant"), values["value"]
    if mode == "constant" and not all(isinstance(amount, int) for amount in values["pad"]):
        return _pad_by_sizes(tensor, [b.number(amount) for amount in values["pad"]], number, b)
    amounts = _amounts(values["pad"], b)
    if mode != "constant":
        return _read(tensor, amounts, mode, b)
    sizes = _longer(tensor, amounts, b)
    filled = b.filled(tensor, 0 if number is None else number, list(sizes))
    return resized(tensor, b(op.overload_name, **{**values, "self": filled}), sizes, b)


def _pad_by_sizes(tensor: Bounded, amounts: list[Number], number: Any, b: BoundBuilder) -> Bounded:
    """Constants in front and behind, as many as sizes say: what elements are is read from where
    they stand, if that is not known either."""
    fill = 0 if number is None else number
    for place, (front, behind) in enumerate(zip(amounts[::2], amounts[1::2], strict=True)):
        dim = tensor.rank - 1 - place
        own = b.size(tensor, dim)
        length = as_size(total(total(own, front, b), behind, b), b)
        bound = length.most or 0
        filled = Bounded(b.filled(tensor, fill, [dim]), tensor.sizes)
        if front.constant is not None:
            pair = [front.constant, bound - front.constant - tensor.shape[dim]]
            value = filled.value
            if any(pair):
                value = b("constant_pad_nd.default", value, [0, 0] * place + pair, fill)
        else:
            value = _moved(filled, dim, front, bound, fill, b)
        tensor = resized(tensor, value, {dim: length}, b)
    return tensor


def _moved(
    tensor: Bounded, dim: int, front: Number, bound: int, fill: Any, b: BoundBuilder
) -> SSAValue:
    """Elements behind others, as many as a number says, in a dimension of `bound`."""
    at = b("sub.Tensor", b.iota(bound), b.as_tensor(front))
    if not tensor.shape[dim] or not bound:
        shape = [bound if d == dim else extent for d, extent in enumerate(tensor.shape)]
        return b.full(shape, fill, element_of(tensor.value))
    inside = b("ge.Scalar", at, 0)
    inside = b("logical_and.default", inside, b("lt.Scalar", at, tensor.shape[dim]))
    at = b("clamp.default", at, 0, tensor.shape[dim] - 1)
    value = b("index_select.default", tensor.value, dim, at)
    return b.where(b.along(inside, dim, tensor.rank), value, fill)


@bounds(*_PADS)
def mirrored(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """Elements near an edge behind it once more."""
    amounts = _amounts(op.arg("padding"), b)
    mode = "reflect" if op.overload_name.startswith("reflection") else "replicate"
    return _read(b.tensor(op.arg("self")), amounts, mode, b)


def _amounts(given: Any, b: BoundBuilder) -> list[tuple[int, int]]:
    """Pairs in front and behind, the last dimension first."""
    if not all(isinstance(amount, int) for amount in given):
        raise b.refuse("an amount of padding that depends on data", "constant amounts")
    return list(zip(given[::2], given[1::2], strict=True))


def _longer(tensor: Bounded, amounts: list[tuple[int, int]], b: BoundBuilder) -> dict[int, Number]:
    """The new sizes of dimensions that are open."""
    found: dict[int, Number] = {}
    for place, (front, behind) in enumerate(amounts):
        dim = tensor.rank - 1 - place
        if tensor.sizes[dim] is None:
            continue
        size = b.size(tensor, dim)
        message = f"padding of {front} and {behind} leaves less than nothing of dimension {dim}"
        b.require_least(size, max(-front - behind, -front, -behind, 0), message)
        found[dim] = affine(size, 1, front + behind, b)
    return found


def _read(tensor: Bounded, amounts: list[tuple[int, int]], mode: str, b: BoundBuilder) -> Bounded:
    """Each dimension read from places that an edge mirrors, stops, or leads back to its start."""
    sizes = _longer(tensor, amounts, b)
    value = tensor.value
    for place, (front, behind) in enumerate(amounts):
        if not front and not behind:
            continue
        dim = tensor.rank - 1 - place
        size, bound = b.size(tensor, dim), tensor.shape[dim]
        needed = max(front, behind, 0) + (mode == "reflect")
        message = f"padding of {front} and {behind} does not fit dimension {dim}"
        b.require_least(size, needed if mode != "replicate" else 1, message)
        at = b("sub.Scalar", b.iota(max(bound + front + behind, 0)), front)
        at = _source(at, b.as_tensor(affine(size, 1, -1, b)), b.as_tensor(size), mode, b)
        at = b("clamp.default", at, 0, max(bound - 1, 0))
        value = b("index_select.default", value, dim, at)
    return resized(tensor, value, sizes, b)


def _source(at: SSAValue, last: SSAValue, count: SSAValue, mode: str, b: BoundBuilder) -> SSAValue:
    """Where what stands at places outside is read from."""
    if mode == "replicate":
        return b("minimum.default", b("clamp_min.default", at, 0), last)
    if mode == "circular":
        return b("remainder.Tensor", at, b("clamp_min.default", count, 1))
    if mode == "reflect":
        behind = b("abs.default", b("sub.Tensor", last, b("abs.default", at)))
        return b("sub.Tensor", last, behind)
    raise b.refuse(f"the mode {mode} where a size depends on data", "constant, reflect, replicate")
