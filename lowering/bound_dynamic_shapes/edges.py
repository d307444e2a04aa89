"""Images, and rows of any kind, made longer at their ends.

Where a dimension is open, its end stands somewhere in the padded one: constants are put behind it,
mirrored and repeated elements are read from computed places.
"""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.size_arithmetic import affine, resized
from lamina.lowering.bound_dynamic_shapes.table import bounds
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number

_PADS = tuple(f"{kind}_pad{rank}d" for kind in ("reflection", "replication") for rank in (1, 2, 3))


@bounds("constant_pad_nd", "pad")
def pad(op: SchemaOp, b: BoundBuilder) -> Bounded:
    """The last dimensions made longer or shorter."""
    values = op.args()
    tensor, amounts = b.tensor(values["self"]), _amounts(values["pad"], b)
    mode = values.get("mode", "constant")
    if mode != "constant":
        return _read(tensor, amounts, mode, b)
    number = values.get("value")
    sizes = _longer(tensor, amounts, b)
    filled = b.filled(tensor, 0 if number is None else number, list(sizes))
    return resized(tensor, b(op.overload_name, **{**values, "self": filled}), sizes, b)


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
