"""Counts that follow from others, each made once: what is equal is then one value.

Two ways through a network that shrink an image alike end in the same size, which needs no check.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.ir import SSAValue

from lamina.lowering.bound_dynamic_shapes.builder import BoundBuilder
from lamina.lowering.bound_dynamic_shapes.values import Bounded, Number, known


def affine(size: Number, factor: int, offset: int, b: BoundBuilder) -> Number:
    """`factor * size + offset`, for a positive factor."""
    if size.constant is not None:
        return known(factor * size.constant + offset)
    assert isinstance(size.value, SSAValue) and factor > 0
    origin, own, more = b.state.origins.get(size.value, (size.value, 1, 0))
    most = None if size.most is None else factor * size.most + offset
    least = None if size.least is None else factor * size.least + offset
    value = _of_origin(origin, factor * own, factor * more + offset, b)
    return _noted(Number(value, most, least), b)


def quotient(size: Number, offset: int, by: int, b: BoundBuilder) -> Number:
    """`(size + offset) // by`, rounded down."""
    if size.constant is not None:
        return known((size.constant + offset) // by)
    assert isinstance(size.value, SSAValue)
    origin, factor, more = b.state.origins.get(size.value, (size.value, 1, 0))
    key = (size.value, offset, by)
    value = b.state.quotients.get(key)
    if factor % by == 0:
        value = _of_origin(origin, factor // by, (more + offset) // by, b)
    elif value is None:
        moved = b("add.Scalar", size.value, offset) if offset else size.value
        value = b("div.Scalar_mode", moved, by, rounding_mode="floor")
        b.state.quotients[key] = value
    most = None if size.most is None else (size.most + offset) // by
    least = None if size.least is None else (size.least + offset) // by
    return _noted(Number(value, most, least), b)


def divides(by: int, size: Number, b: BoundBuilder) -> bool:
    """Whether a size is known to be a multiple of a number."""
    if not isinstance(size.value, SSAValue):
        return int(size.value) % by == 0
    _, factor, more = b.state.origins.get(size.value, (size.value, 1, 0))
    return factor % by == 0 and more % by == 0


def resized(tensor: Bounded, value: SSAValue, sizes: dict[int, Number], b: BoundBuilder) -> Bounded:
    """`value` with the sizes of a tensor, but for those of some dimensions."""
    return b.bounded(value, [sizes.get(dim, own) for dim, own in enumerate(tensor.sizes)])


def _of_origin(origin: SSAValue, factor: int, offset: int, b: BoundBuilder) -> SSAValue:
    if (factor, offset) == (1, 0):
        return origin
    key = (origin, factor, offset)
    found = b.state.affine.get(key)
    if found is None:
        found = origin if factor == 1 else b("mul.Scalar", origin, factor)
        found = b("add.Scalar", found, offset) if offset else found
        b.state.affine[key], b.state.origins[found] = found, key
    return found


def _noted(size: Number, b: BoundBuilder) -> Number:
    """What is known of a count goes with it."""
    assert isinstance(size.value, SSAValue)
    least = max(size.least or 0, b.state.least.get(size.value, 0))
    b.state.least[size.value] = least
    return replace(size, least=least)
