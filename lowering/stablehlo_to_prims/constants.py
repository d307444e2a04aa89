"""Tensors from nothing: literals, which are bound when a program is compiled, and positions."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr
from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.outline_literals import NAME
from lamina.lowering.stablehlo_to_prims.table import (
    HloBuilder,
    lowers,
    result_element,
    result_shape,
)
from lamina.lowering.tensor_types import is_complex, part_type


@lowers("constant")
def constant(op: HloOp, b: HloBuilder) -> SSAValue:
    """`arith.constant`; a complex number all over is made of its parts."""
    value = op.attr("value")
    if not isinstance(value, DenseIntOrFPElementsAttr | DenseResourceAttr):
        raise b.refuse(f"{value} is no literal that can be bound", "dense<...>")
    element = result_element(op)
    if is_complex(element) and isinstance(value, DenseIntOrFPElementsAttr):
        numbers = list(value.iter_values())
        if numbers and all(number == numbers[0] for number in numbers):
            parts: tuple[float, float] = numbers[0]  # pyright: ignore[reportAssignmentType]
            shape, part = result_shape(op), part_type(element)
            return b("complex", *(b.full(shape, number, part) for number in parts))
    made = b.insert(arith.ConstantOp(value, op.results[0].type))
    if NAME in op.attributes:
        made.attributes[NAME] = op.attributes[NAME]
    return made.results[0]


@lowers("iota")
def iota(op: HloOp, b: HloBuilder) -> SSAValue:
    """Positions along one dimension."""
    shape, dim, element = result_shape(op), op.int("iota_dimension"), result_element(op)
    if not 0 <= dim < len(shape):
        raise ValueError(f"there is no dimension {dim} in {shape}")
    part = part_type(element)
    line = b.iota(shape[dim], part)
    line = line if part == element else b.convert(line, element)
    return b.along(line, shape, dim)
