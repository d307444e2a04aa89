"""Ops that compute with sizes: what the number is that each of them gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.dialects.sizes import Extent, Size, UndecidedSizeError


class KnownSizes(Protocol):
    """What is known of the values of a program (`symbolic_shapes`)."""

    @property
    def numbers(self) -> Mapping[SSAValue, Extent]:
        """Numbers that are sizes."""
        ...

    def shape(self, value: SSAValue) -> tuple[Extent, ...]:
        """The shape of a tensor."""
        ...


def _size(op: Operation, known: KnownSizes) -> Extent | None:
    """A dimension of a tensor, where the op says which one as a constant, and it is known."""
    assert isinstance(op, SchemaOp)
    return _extent(known.shape(op.operands[0]), op.arg("dim"))


def _dim(op: Operation, known: KnownSizes) -> Extent | None:
    """What `tensor.dim` gives."""
    return _extent(known.shape(op.operands[0]), known.numbers.get(op.operands[1]))


def _extent(shape: tuple[Extent, ...], dim: object) -> Extent | None:
    """One of a shape; None where nobody knows which, or what it is."""
    if not isinstance(dim, int) or not -len(shape) <= dim < len(shape):
        return None
    extent = shape[dim]
    return extent if isinstance(extent, Size) or extent >= 0 else None


def _count(op: Operation, known: KnownSizes) -> Extent | None:
    total: Extent = 1
    for extent in known.shape(op.operands[0]):
        if not isinstance(extent, Size) and extent < 0:
            return None
        total = total * extent
    return total


def _constant(op: Operation, known: KnownSizes) -> Extent | None:
    value = op.properties.get("value")
    return value.value.data if isinstance(value, IntegerAttr) else None


def _arithmetic(function: Callable[..., Extent]) -> Callable[[Operation, KnownSizes], Any]:
    def compute(op: Operation, known: KnownSizes) -> Extent | None:
        values = [known.numbers.get(operand) for operand in op.operands]
        if any(value is None for value in values):
            return None
        try:
            return function(*values)
        except (UndecidedSizeError, ZeroDivisionError):
            return None

    return compute


_NUMBERS: Mapping[str, Callable[[Operation, KnownSizes], Extent | None]] = {
    "tensor.dim": _dim,
    "aten.sym_size.int": _size,
    "core_aten.sym_size.int": _size,
    "aten.size.int": _size,
    "aten.sym_numel.default": _count,
    "core_aten.sym_numel.default": _count,
    "aten.numel.default": _count,
    "arith.constant": _constant,
    "arith.addi": _arithmetic(lambda a, b: a + b),
    "arith.subi": _arithmetic(lambda a, b: a - b),
    "arith.muli": _arithmetic(lambda a, b: a * b),
    "arith.floordivsi": _arithmetic(lambda a, b: a // b),
    "arith.minsi": _arithmetic(min),
    "arith.maxsi": _arithmetic(max),
    "arith.index_cast": _arithmetic(lambda a: a),
}
"""Ops whose results are sizes: what each one is."""


SIZE_OPS = frozenset(_NUMBERS)
"""Names of the ops that compute with sizes."""


def number_of(op: Operation, known: KnownSizes) -> Extent | None:
    """What an op makes of sizes; None for ops that make something else, and where it is unknown."""
    rule = _NUMBERS.get(op.name)
    return None if rule is None else rule(op, known)
