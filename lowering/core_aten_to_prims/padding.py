"""Borders: constant, mirrored, repeated."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import (
    PrimsBuilder,
    accumulation_type,
    as_element,
    lowers,
)
from lamina.lowering.tensor_types import element_of, rank_of, shape_of


@lowers("constant_pad_nd")
def constant_pad(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.pad; torch lists the last dimension first."""
    x, amounts = op.arg("self"), op.arg("pad")
    rank = rank_of(x)
    low, high = [0] * rank, [0] * rank
    for position in range(len(amounts) // 2):
        low[rank - 1 - position] = amounts[2 * position]
        high[rank - 1 - position] = amounts[2 * position + 1]
    if not any(low) and not any(high):
        return x
    element: Attribute = element_of(x)
    return b("pad", x, as_element(op.arg("value"), element), low, high)


@lowers(
    *(
        f"{kind}_pad{n}d"
        for kind in ("reflection", "replication")
        for n in (1, 2, 3)
        if (kind, n) != ("replication", 1)
    )
)
def copied_pad(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """One dimension after the other."""
    x, amounts = op.arg("self"), op.arg("padding")
    mirrored = op.overload_name.startswith("reflection")
    for position in range(len(amounts) // 2):
        dim = rank_of(x) - 1 - position
        low, high = amounts[2 * position], amounts[2 * position + 1]
        x = (_mirror if mirrored else _repeat)(b, x, dim, max(low, 0), max(high, 0))
        # Negative amounts cut.
        x = b.slice(x, dim, max(-low, 0), shape_of(x)[dim] + min(high, 0))
    return x


@lowers(*(f"{kind}_pad{n}d_backward" for kind in ("reflection", "replication") for n in (1, 2, 3)))
def copied_pad_backward(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Each gradient is added where its element came from, one dimension after the other."""
    result: Attribute = element_of(op.results[0])
    grad = b.convert(op.arg("grad_output"), accumulation_type(result))
    amounts, shape = op.arg("padding"), shape_of(op.results[0])
    mirrored = op.overload_name.startswith("reflection")
    for position in range(len(amounts) // 2):
        dim = len(shape) - 1 - position
        extent, out = shape[dim], shape_of(grad)[dim]
        place = b.iota(out, i64, -amounts[2 * position])
        last = b.full([out], extent - 1, i64)
        if mirrored:
            place = b("sub", last, b("abs", b("sub", last, b("abs", place))))
        else:
            place = b("minimum", b.with_number("maximum", place, 0), last)
        into = b.full(
            [*shape_of(grad)[:dim], extent, *shape_of(grad)[dim + 1 :]], 0, element_of(grad)
        )
        grad = b("put", into, place, grad, dim, "add")
    return b.convert(grad, result)


def _mirror(b: PrimsBuilder, x: SSAValue, dim: int, low: int, high: int) -> SSAValue:
    extent = shape_of(x)[dim]
    pieces = [x]
    if low:
        pieces.insert(0, b("rev", b.slice(x, dim, 1, low + 1), [dim]))
    if high:
        pieces.append(b("rev", b.slice(x, dim, extent - 1 - high, extent - 1), [dim]))
    return b("cat", pieces, dim) if len(pieces) > 1 else x


def _repeat(b: PrimsBuilder, x: SSAValue, dim: int, low: int, high: int) -> SSAValue:
    shape = shape_of(x)
    pieces = [x]
    for count, start, place in ((low, 0, 0), (high, shape[dim] - 1, len(pieces) + 1)):
        if count:
            edge = b.slice(x, dim, start, start + 1)
            wide = [*shape[:dim], count, *shape[dim + 1 :]]
            pieces.insert(place, b.broadcast(edge, wide))
    return b("cat", pieces, dim) if len(pieces) > 1 else x
