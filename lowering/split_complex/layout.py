"""Primitives that move or make complex numbers: the same for each part."""

from __future__ import annotations

from typing import Any

from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.grammar import Kind
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.split_complex.table import ComplexBuilder, Parts, splits
from lamina.lowering.tensor_types import element_of, is_complex, part_type


@splits(
    "as_strided",
    "broadcast_in_dim",
    "cat",
    "clone",
    "collapse",
    "collapse_view",
    "copy_strided",
    "device_put",
    "empty",
    "empty_permuted",
    "empty_strided",
    "fill",
    "full",
    "full_like",
    "gather",
    "pad",
    "reshape",
    "rev",
    "scalar_tensor",
    "split_dim",
    "squeeze",
    "take",
    "transpose",
    "view_of",
)
def _same(op: SchemaOp, b: ComplexBuilder) -> Parts:
    return by_parts(op, b)


def by_parts(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Tensors and numbers by their parts, everything else as it is."""
    name = op.name.removeprefix("prims.")
    numbers = {slot.name for slot in op.slots.all if slot.kind is Kind.SCALAR}
    given = op.args()

    def made(place: int) -> SSAValue:
        parts = {
            key: _number(value, place) if key in numbers else _part(value, b, place)
            for key, value in given.items()
        }
        return b(name, **parts)

    return made(0), made(1)


@splits("put", "scatter")
def _written(op: SchemaOp, b: ComplexBuilder) -> Parts:
    """Stored or added part by part."""
    if op.arg("combiner") not in ("store", "add"):
        raise b.refuse("complex numbers are stored or added", "combiners store and add")
    return by_parts(op, b)


def _number(value: complex, place: int) -> float:
    """A part of a number that fills a tensor."""
    return value.imag if place else value.real


def _part(value: Any, b: ComplexBuilder, place: int) -> Any:
    """An argument for the real (0) or the imaginary (1) part of the result."""
    if isinstance(value, SSAValue):
        return b.parts(value)[place] if is_complex(element_of(value)) else value
    if isinstance(value, list):
        return [_part(entry, b, place) for entry in value]
    return part_type(value) if isinstance(value, Attribute) else value
