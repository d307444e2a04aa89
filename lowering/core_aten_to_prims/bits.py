"""The bits of numbers, seen as another dtype, and reduced by exclusive or."""

from __future__ import annotations

from xdsl.dialects.builtin import ComplexType, IntegerType, Signedness, f64
from xdsl.ir import Attribute, SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import (
    element_of,
    is_bool,
    is_complex,
    is_float,
    normalized_dims,
    rank_of,
    shape_of,
)


@lowers("hash_tensor")
def hash_tensor(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """Exclusive or of all elements as 64 bits: floats as f64, integers with their sign."""
    if op.arg("mode") != 0:
        raise b.refuse(f"hashing by mode {op.arg('mode')}", "mode 0")
    x, unsigned = op.arg("self"), element_of(op.results[0])
    if is_float(element_of(x)):
        x = b("view_of_dtype", b.convert(x, f64), unsigned)
    else:
        x = b.convert(x, unsigned)
    dims = normalized_dims(op.arg("dim"), rank_of(x))
    return b.reshape(b.reduce("xor_sum", x, dims), shape_of(op.results[0]))


@lowers("view.dtype")
def view_dtype(op: SchemaOp, b: PrimsBuilder) -> SSAValue:
    """The same bytes, the lowest first: elements of the last dimension are cut up or joined."""
    x, element, shape = op.arg("self"), element_of(op.results[0]), shape_of(op.results[0])
    if element_of(x) == element:
        return x
    if is_bool(element):
        # The bytes may be others than 0 and 1, which torch keeps; so it is with writes to them.
        raise b.refuse(f"{element_of(x)} as {element}", "ne(x, 0)")
    if is_bool(element_of(x)):
        x = b.convert(x, _unsigned(8))
        if element_of(x) == element:
            return x
    if is_complex(element_of(x)):  # a real part is in front of its imaginary one
        parts = [b.reshape(b(name, x), [*shape_of(x), 1]) for name in ("real", "imag")]
        pairs = b("cat", parts, rank_of(x))
        x = b.reshape(pairs, [*shape_of(x)[:-1], 2 * shape_of(x)[-1]] if rank_of(x) else [2])
    if not isinstance(element, ComplexType):
        return _with_bits(b, x, element, shape)
    pairs = _with_bits(b, x, element.element_type, [*shape, 2])
    columns = [b.slice(pairs, len(shape), place, place + 1) for place in (0, 1)]
    return b("complex", *(b.reshape(column, shape) for column in columns))


def _with_bits(b: PrimsBuilder, x: SSAValue, element: Attribute, shape: list[int]) -> SSAValue:
    """Real numbers as real numbers of another dtype, of that shape."""
    if element_of(x) == element:
        return b.reshape(x, shape)
    wide, narrow = _width(element_of(x)), _width(element)
    x = _as(b, x, _unsigned(wide))
    if wide > narrow:
        pieces = [_piece(b, x, position * narrow, narrow) for position in range(wide // narrow)]
        x = b("cat", pieces, rank_of(x))
    elif wide < narrow:
        x = _joined(b, x, narrow // wide, shape)
    return _as(b, b.reshape(x, shape), element)


def _width(element: Attribute) -> int:
    return getattr(element, "bitwidth")  # noqa: B009 - floats and integers both have it


def _unsigned(width: int) -> IntegerType:
    return IntegerType(width, Signedness.UNSIGNED)


def _as(b: PrimsBuilder, x: SSAValue, element: Attribute) -> SSAValue:
    return x if element_of(x) == element else b("view_of_dtype", x, element)


def _piece(b: PrimsBuilder, x: SSAValue, shift: int, width: int) -> SSAValue:
    """`width` bits from bit `shift` on, with a last dimension of extent 1."""
    moved = b.with_number("shift_right_arithmetic", x, shift) if shift else x
    mask = (1 << width) - 1
    low = b.convert(b.with_number("bitwise_and", moved, mask), _unsigned(width))
    return b.reshape(low, [*shape_of(x), 1])


def _joined(b: PrimsBuilder, x: SSAValue, count: int, shape: list[int]) -> SSAValue:
    """`count` neighbours as one number, the first one lowest."""
    width = _width(element_of(x))
    wide = _unsigned(width * count)
    rows = b.reshape(x, [*shape, count])
    total: SSAValue | None = None
    for position in range(count):
        piece = b.slice(rows, len(shape), position, position + 1)
        moved = b.convert(b.reshape(piece, shape), wide)
        if position:
            moved = b.with_number("shift_left", moved, position * width)
        total = moved if total is None else b("bitwise_or", total, moved)
    assert total is not None
    return total
