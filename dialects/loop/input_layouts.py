"""`lamina.input_layouts` of a nest: the orders of axes in which it reads copies of its inputs."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, TensorType, UnitAttr
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop.generic import GenericOp

INPUT_LAYOUTS = "lamina.input_layouts"
"""Attribute of a nest on tensors: for each input the axes of a copy in the order to store it in,
which the nest is to read instead, or `unit` for an input that is read as it is."""


def input_layouts(nest: GenericOp) -> tuple[tuple[int, ...] | None, ...]:
    """The order of axes of the copy of each input; None for one that is read as it is."""
    layouts = nest.attributes.get(INPUT_LAYOUTS)
    if not isinstance(layouts, ArrayAttr):
        return (None,) * len(nest.inputs)
    return tuple(
        tuple(int(axis) for axis in layout.iter_values())
        if isinstance(layout, DenseArrayBase)
        else None
        for layout in layouts
    )


def verify_input_layouts(nest: GenericOp, layouts: Attribute) -> None:
    """Raises VerifyException unless there is an order of all axes, or `unit`, for each input."""
    if not isinstance(layouts, ArrayAttr) or len(layouts) != len(nest.inputs):
        count = len(nest.inputs)
        raise VerifyException(
            f"{nest.name}: {INPUT_LAYOUTS} has one entry for each of {count} inputs"
        )
    for value, layout in zip(nest.inputs, layouts, strict=True):
        if isinstance(layout, UnitAttr):
            continue
        if not isinstance(layout, DenseArrayBase) or not isinstance(value.type, TensorType):
            legal = "an array<i64> of axes of a tensor, or unit"
            raise VerifyException(f"{nest.name}: {INPUT_LAYOUTS} has {layout}: legal is {legal}")
        order = list(layout.iter_values())
        if sorted(order) != list(range(len(value.type.get_shape()))):
            what = f"no order of the axes of {value.type}"
            raise VerifyException(f"{nest.name}: {INPUT_LAYOUTS} has {order}, {what}")


__all__ = ["INPUT_LAYOUTS", "input_layouts", "verify_input_layouts"]
