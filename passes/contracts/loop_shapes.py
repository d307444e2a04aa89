"""Shapes of what ops of the loop layer make, in the sizes of a function's arguments.

Nests stay inside of their tensors whatever the sizes are, and other ops have operands that go
together, or the program is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import IntAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from lamina.dialects.loop import (
    ExternOp,
    FourierOp,
    GenericOp,
    ReshapeOp,
    ScanOp,
    ScatterOp,
    SegmentReduceOp,
    SortOp,
)
from lamina.dialects.loop.kernel import floats_of
from lamina.dialects.loop.nest import OrderedNest
from lamina.dialects.loop.open_nests import extents_at, shapes_at, verify_reads_at
from lamina.dialects.loop.sort import verify_window
from lamina.dialects.sizes import Extent, UndecidedSizeError
from lamina.passes.contracts.size_numbers import KnownSizes
from lamina.passes.refusal import invalid

Shape = tuple[Extent, ...]

ONE_NAME = "sizes are equal where lamina.dims of arguments gives them one name"


def loop_shapes(op: Operation, known: KnownSizes) -> list[Shape]:
    """The shapes of the results of one of `SIZED_OPS`.

    Raises InputError for what does not hold whatever the sizes are.
    """
    try:
        return _RULES[type(op)](op, known)
    except VerifyException as error:
        raise invalid(op, str(error).removeprefix(f"{op.name}: ")) from None
    except UndecidedSizeError as error:
        reason = f"whether its accesses stay inside is open: {error}; {ONE_NAME}"
        raise invalid(op, reason) from None


def _of_nest(op: GenericOp, known: KnownSizes) -> list[Shape]:
    types = [_known_type(op, value, known) for value in op.inputs]
    return shapes_at(op, _sizes_of(op, op.sizes, known), types)


def _of_ordered_nest(op: OrderedNest, known: KnownSizes) -> list[Shape]:
    sizes = _sizes_of(op, op.sizes, known)
    verify_reads_at(op, sizes, [_known_type(op, value, known) for value in op.inputs])
    return op.shapes_at(extents_at(op, sizes), lambda value: _known_shape(op, value, known))


def _of_reshape(op: ReshapeOp, known: KnownSizes) -> list[Shape]:
    kind = op.result.type
    assert isinstance(kind, TensorType)
    shape = _with_sizes(kind, iter(_sizes_of(op, op.sizes, known)))
    made, source = sized_type(kind, shape), _known_type(op, op.source, known)
    if floats_of(made) != floats_of(source):
        raise VerifyException(f"may not change the element count: {source} to {made}")
    return [shape]


def _of_sort(op: SortOp, known: KnownSizes) -> list[Shape]:
    *rows, length = _known_shape(op, op.input, known)
    made = [length, length]
    if op.window is not None:
        sizes = _sizes_of(op, op.sizes, known)
        start, count = [entry if entry >= 0 else sizes[-1 - entry] for entry in op.window]
        verify_window((start, count), length)
        made = [count, length + count]
    return [(*rows, extent) for extent in made for _ in range(2)]


def _of_transform(op: FourierOp, known: KnownSizes) -> list[Shape]:
    shape = list(_known_shape(op, op.input, known))
    if op.kind.data != "r2c":
        shape.pop()
    shape[-2 if op.columns is not None and len(shape) > 1 else -1] = op.made.numbers
    return [(*shape, 2) if op.kind.data != "c2r" else tuple(shape)]


def _of_call(op: ExternOp, known: KnownSizes) -> list[Shape]:
    sizes = iter(_sizes_of(op, op.sizes, known))
    return [_with_sizes(value.type, sizes) for value in op.res]


_RULES: Mapping[type[Operation], Callable[[Any, KnownSizes], list[Shape]]] = {
    GenericOp: _of_nest,
    ReshapeOp: _of_reshape,
    ScanOp: _of_ordered_nest,
    ScatterOp: _of_ordered_nest,
    SegmentReduceOp: _of_ordered_nest,
    SortOp: _of_sort,
    FourierOp: _of_transform,
    ExternOp: _of_call,
}
"""Ops through which sizes are followed."""

SIZED_OPS = tuple(_RULES)
"""Their classes."""


def _with_sizes(kind: TensorType, sizes: Iterator[Extent]) -> Shape:
    """The shape of a type, with the next sizes for what it leaves open, in order."""
    return tuple([extent if extent >= 0 else next(sizes) for extent in kind.get_shape()])


def _sizes_of(op: Operation, values: Sequence[SSAValue], known: KnownSizes) -> list[Extent]:
    found: list[Extent] = []
    for value in values:
        if value not in known.numbers:
            raise invalid(op, "a size of it does not follow from those of the function's arguments")
        found.append(known.numbers[value])
    return found


def _known_shape(op: Operation, value: SSAValue, known: KnownSizes) -> Shape:
    if not isinstance(value.type, TensorType):
        raise invalid(op, f"sizes of tensors are followed, not of {value.type}")
    shape = known.shape(value)
    if any(isinstance(extent, int) and extent < 0 for extent in shape):
        raise invalid(op, f"it reads {value.type}, whose sizes do not follow from arguments'")
    return shape


def _known_type(op: Operation, value: SSAValue, known: KnownSizes) -> TensorType:
    shape = _known_shape(op, value, known)
    assert isinstance(value.type, TensorType)
    return sized_type(value.type, shape)


def sized_type(kind: TensorType, shape: Shape) -> TensorType:
    """A tensor type with sizes in the place of numbers."""
    extents = [extent if isinstance(extent, int) else IntAttr(extent) for extent in shape]  # pyright: ignore
    return TensorType(kind.element_type, extents)
