"""Random numbers: draws of prims.uniform and prims.normal, numbered later by a pass."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64, i1
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.conversion import Replacement
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_float, shape_of


def uniform(b: PrimsBuilder, shape: Sequence[int], element: Attribute) -> SSAValue:
    """Draws from [0, 1)."""
    return b("uniform", list(shape), low=0.0, high=1.0, dtype=element, device="cpu", stride=[])


@lowers("rand")
def rand(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.uniform."""
    _need_float(op, b)
    return uniform(b, shape_of(op.results[0]), element_of(op.results[0]))


@lowers("randn")
def randn(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """prims.normal."""
    _need_float(op, b)
    return b(
        "normal",
        shape_of(op.results[0]),
        mean=0.0,
        std=1.0,
        dtype=element_of(op.results[0]),
        device="cpu",
        requires_grad=False,
    )


def _need_float(op: SchemaOp, b: PrimsBuilder) -> None:
    if not is_float(element_of(op.results[0])):
        raise b.refuse(f"random numbers of type {element_of(op.results[0])}", "a float dtype")


@lowers("randperm")
def randperm(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The order of random keys; f64 keys hardly ever meet."""
    keys = uniform(b, shape_of(op.results[0]), f64)
    order = b.op("sort", keys, 0, False).results[1]
    return b.convert(order, element_of(op.results[0]))


@lowers("native_dropout")
def native_dropout(op: SchemaOp, b: PrimsBuilder) -> Replacement:
    """input * mask / (1 - p), with a mask that holds for 1 - p of the elements.

    In evaluation the input and a mask of ones.
    """
    x, p = op.arg("input"), op.arg("p")
    shape, element = shape_of(x), element_of(x)
    if op.arg("train") is False or p == 0:
        return [x, b.full(shape, True, i1)]
    if not is_float(element):
        raise b.refuse(f"dropout of {element} in training", "a float input")
    mask = b("lt", uniform(b, shape, f32), b.full(shape, 1 - p, f32))
    wide = f64 if element == f64 else f32
    scaled = b.with_number("mul", b.convert(mask, wide), 1 / (1 - p) if p < 1 else 0)
    kept = b("mul", b.convert(x, wide), scaled)
    return [b.convert(kept, element), mask]
