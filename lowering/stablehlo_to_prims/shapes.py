"""Shapes and places that are known when a program is compiled."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.table import (
    HloBuilder,
    lowers,
    result_element,
    result_shape,
    scalar_constant,
)
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of


@lowers("reshape")
def reshape(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.reshape."""
    return b.reshape(op.operands[0], result_shape(op))


@lowers("broadcast_in_dim")
def broadcast_in_dim(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.broadcast_in_dim, whose dimensions rise."""
    x, dims, shape = op.operands[0], op.ints("broadcast_dimensions"), result_shape(op)
    if len(dims) != rank_of(x) or len(set(dims)) != len(dims):
        raise ValueError(f"dimensions {dims} for {x.type}")
    order = sorted(range(len(dims)), key=lambda place: dims[place])
    x = b.transpose(x, order)
    if shape_of(x) == shape:
        return x
    return b("broadcast_in_dim", x, shape, sorted(dims))


@lowers("broadcast")
def broadcast(op: HloOp, b: HloBuilder) -> SSAValue:
    """New dimensions in front."""
    return b.broadcast(op.operands[0], result_shape(op))


@lowers("transpose")
def transpose(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.transpose."""
    return b.transpose(op.operands[0], op.ints("permutation"))


@lowers("reverse")
def reverse(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.rev."""
    return reversed_dims(b, op.operands[0], op.ints("dimensions"))


def reversed_dims(b: HloBuilder, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    """The other way round along these dimensions."""
    return b("rev", x, list(dims)) if dims else x


@lowers("concatenate")
def concatenate(op: HloOp, b: HloBuilder) -> SSAValue:
    """prims.cat."""
    dim, parts = op.int("dimension"), list(op.operands)
    if not 0 <= dim < rank_of(parts[0]):
        raise ValueError(f"there is no dimension {dim} in {parts[0].type}")
    full = [part for part in parts if shape_of(part)[dim]] or parts[:1]
    return full[0] if len(full) == 1 else b("cat", full, dim)


@lowers("slice")
def slice_(op: HloOp, b: HloBuilder) -> SSAValue:
    """From the start to the limit, by the stride."""
    x = op.operands[0]
    bounds = zip(
        op.ints("start_indices"), op.ints("limit_indices"), op.ints("strides"), strict=True
    )
    for dim, (start, limit, stride) in enumerate(bounds):
        extent = shape_of(x)[dim]
        if not 0 <= start <= limit <= extent or stride < 1:
            raise ValueError(f"{start}:{limit}:{stride} of dimension {dim}, which has {extent}")
        if (start, limit, stride) != (0, extent, 1):
            x = _strided(b, x, dim, start, limit, stride)
    return x


def _strided(b: HloBuilder, x: SSAValue, dim: int, start: int, limit: int, step: int) -> SSAValue:
    """A line of steps may end inside the last one: what it lacks is cut beforehand."""
    if start == limit:
        return b.pad(x, dim, -start, limit - shape_of(x)[dim])
    return b.slice(x, dim, start, limit, step)


def dilated(b: HloBuilder, x: SSAValue, steps: Sequence[int]) -> SSAValue:
    """Zeros between elements, which are `steps` apart then."""
    return with_interior(b, x, [step - 1 for step in steps], 0)


def with_interior(
    b: HloBuilder, x: SSAValue, interior: Sequence[int], value: SSAValue | float
) -> SSAValue:
    """`interior` elements between two of x along each dimension."""
    for dim, between in enumerate(interior):
        shape = shape_of(x)
        if not between or shape[dim] < 2:
            continue
        rank = len(shape) + 1
        wide = b.reshape(x, [*shape[: dim + 1], 1, *shape[dim + 1 :]])
        high = [between if place == dim + 1 else 0 for place in range(rank)]
        wide = b.pad_dims(wide, [0] * rank, high, value)
        extent = shape[dim] * (between + 1)
        x = b.reshape(wide, [*shape[:dim], extent, *shape[dim + 1 :]])
        x = b.pad(x, dim, 0, -between)
    return x


@lowers("pad")
def pad(op: HloOp, b: HloBuilder) -> SSAValue:
    """A value around and between elements; negative amounts cut."""
    x, value = op.operands
    low, high = op.ints("edge_padding_low"), op.ints("edge_padding_high")
    between = op.ints("interior_padding")
    if not len(low) == len(high) == len(between) == rank_of(x) or min([*between, 0]) < 0:
        raise ValueError(f"{low}, {high}, {between} for {x.type}")
    element = element_of(x)
    if is_complex(element):
        parts = [
            _padded(b, b(name, x), (low, high, between), b(name, value))
            for name in ("real", "imag")
        ]
        return b("complex", *parts)
    number = scalar_number(value)
    return _padded(b, x, (low, high, between), value if number is None else number)


def _padded(
    b: HloBuilder,
    x: SSAValue,
    amounts: tuple[list[int], list[int], list[int]],
    value: SSAValue | float,
) -> SSAValue:
    low, high, between = amounts
    return b.pad_dims(with_interior(b, x, between, value), low, high, value)


def scalar_number(value: SSAValue) -> bool | int | float | None:
    """The number that a value is all over, if it is a literal of real numbers."""
    literal = scalar_constant(value)
    if not isinstance(literal, DenseIntOrFPElementsAttr):
        return None
    first = next(iter(literal.iter_values()))
    if isinstance(first, tuple):
        return None
    return bool(first) if str(literal.get_element_type()) == "i1" else first


@lowers("bitcast_convert")
def bitcast_convert(op: HloOp, b: HloBuilder) -> SSAValue:
    """The same bits in another type: pieces of an element, lowest first, are a last dimension."""
    x, element, shape = op.operands[0], result_element(op), result_shape(op)
    if rank_of(x) == len(shape):
        return x if element_of(x) == element else b("view_of_dtype", x, element)
    if is_complex(element_of(x)) or is_complex(element):
        raise b.refuse(f"from {x.type} to {op.results[0].type}", "types of one width")
    rows = x if rank_of(x) else b.reshape(x, [1])
    return b.reshape(b.core("view.dtype", rows, element)[0], shape)
