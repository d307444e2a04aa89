"""Random integers, made of core_aten's rand in f64."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerType, f64, i64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_bool, is_float, shape_of

FLOAT_DIGITS = {"bf16": 8, "f16": 11, "f32": 24, "f64": 53}
"""Bits of the significand: floats hold all integers up to two to that."""

MOST_DIGITS = 53
"""Ranges up to two to that need one draw: u * range then never rounds up to range."""


@lowers("randint", "randint.generator", "randint.low", "randint.low_generator")
@lowers("randint_like", "randint_like.generator")
@lowers("randint_like.low_dtype", "randint_like.low_generator_dtype")
def randint(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Integers from low (0 if not given) up to high, which is left out."""
    low = op.arg("low") if op.schema.arg("low") is not None else 0
    return _between(op, b, low, op.arg("high"))


@lowers("randint_like.Tensor", "randint_like.Tensor_generator")
def randint_below_tensor(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """floor(u * high), with high known only at run time."""
    _no_generator(op, b)
    drawn = b("rand", shape_of(op.results[0]), dtype=f64)
    below = b("floor", b("mul.Tensor", drawn, b.cast(op.arg("high"), f64)))
    return b.cast(below, element_of(op.results[0]))


@lowers("random", "random.to", "random.from")
def random(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Integers that the dtype holds, from 0 or `from`; up to `to` if given, which is left out."""
    element = element_of(op.results[0])
    low = op.arg("from") if op.schema.arg("from") is not None else 0
    end = op.arg("to") if op.schema.arg("to") is not None else None
    return _between(op, b, low, _most(element) + 1 if end is None else end)


@lowers("randperm", "randperm.generator")
def randperm(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """core_aten.randperm without a generator."""
    _no_generator(op, b)
    return b("randperm", op.arg("n"), dtype=element_of(op.results[0]))


def _most(element: Attribute) -> int:
    """The largest integer that a draw without bounds may give."""
    if is_bool(element):
        return 1
    if is_float(element):
        return 1 << FLOAT_DIGITS[str(element)]
    assert isinstance(element, IntegerType)
    unsigned = str(element).startswith("ui")
    return (1 << (element.width.data - (not unsigned))) - 1


def _between(op: SchemaOp, b: CoreBuilder, low: int, end: int) -> SSAValue:
    _no_generator(op, b)
    if low >= end:
        raise b.refuse(f"an empty range from {low} to {end}", "a low bound below the high one")
    below = _below(b, shape_of(op.results[0]), end - low)
    return b.cast(b("add.Scalar", below, low) if low else below, element_of(op.results[0]))


def _below(b: CoreBuilder, shape: list[int], count: int) -> SSAValue:
    """i64 from 0 to count - 1; of more than 2^53, the remainder of 63 bits."""
    if count <= 1 << MOST_DIGITS:
        return _scaled(b, shape, count)
    high = b("mul.Scalar", _scaled(b, shape, 1 << 31), 1 << 32)
    bits = b("add.Tensor", high, _scaled(b, shape, 1 << 32))
    return b("remainder.Scalar", bits, count) if count < 1 << 63 else bits


def _scaled(b: CoreBuilder, shape: list[int], count: int) -> SSAValue:
    drawn = b("rand", shape, dtype=f64)
    return b.cast(b("floor", b("mul.Scalar", drawn, float(count))), i64)


def _no_generator(op: SchemaOp, b: CoreBuilder) -> None:
    if op.schema.arg("generator") is not None and op.arg("generator") is not None:
        raise b.refuse("a generator of its own", "no generator, and lamina.manual_seed")
