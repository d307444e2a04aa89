"""Result types of copies and conversions: same shape, another or the same element type."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, f16, f32, f64, i8, i16, i32, i64

from lamina.dialects.schema.promotion import category, complex_of, real_of, ui8
from lamina.dialects.schema.result_rules.shapes import DYNAMIC, Args, Types, broadcast, tensor


def to_dtype(args: Args) -> Types:
    """`to`, `_to_copy`: the dtype argument if given."""
    value: TensorType = args["self"]
    dtype = args.get("dtype")
    return [value if dtype is None else tensor(value.get_shape(), dtype)]


def to_other(args: Args) -> Types:
    """`to.other`, `type_as`: the other's element type."""
    return [tensor(args["self"].get_shape(), args["other"].element_type)]


_CASTS = {
    "Byte": ui8,
    "Char": i8,
    "Double": f64,
    "Float": f32,
    "Int": i32,
    "Long": i64,
    "Short": i16,
    "Half": f16,
}


def _cast(args: Args, name: str) -> Types:
    return [tensor(args["self"].get_shape(), _CASTS[name])]


def cast_byte(args: Args) -> Types:
    """`_cast_Byte`."""
    return _cast(args, "Byte")


def cast_char(args: Args) -> Types:
    """`_cast_Char`."""
    return _cast(args, "Char")


def cast_double(args: Args) -> Types:
    """`_cast_Double`."""
    return _cast(args, "Double")


def cast_float(args: Args) -> Types:
    """`_cast_Float`."""
    return _cast(args, "Float")


def cast_half(args: Args) -> Types:
    """`_cast_Half`."""
    return _cast(args, "Half")


def cast_int(args: Args) -> Types:
    """`_cast_Int`."""
    return _cast(args, "Int")


def cast_long(args: Args) -> Types:
    """`_cast_Long`."""
    return _cast(args, "Long")


def cast_short(args: Args) -> Types:
    """`_cast_Short`."""
    return _cast(args, "Short")


def chalf(args: Args) -> Types:
    """complex32."""
    return [tensor(args["self"].get_shape(), complex_of(f16))]


def view_as_real(args: Args) -> Types:
    """Complex numbers as pairs along a new last dim."""
    value: TensorType = args["self"]
    if category(value.element_type) != 3:
        raise ValueError(f"needs complex numbers, got {value}")
    return [tensor((*value.get_shape(), 2), real_of(value.element_type))]


def view_as_complex(args: Args) -> Types:
    """Pairs along the last dim as complex numbers."""
    value: TensorType = args["self"]
    shape = value.get_shape()
    if not shape or shape[-1] not in (2, DYNAMIC):
        raise ValueError(f"the last dim must be 2, got {value}")
    return [tensor(shape[:-1], complex_of(value.element_type))]


def real_part(args: Args) -> Types:
    """`real`: the parts' type."""
    value: TensorType = args["self"]
    return [tensor(value.get_shape(), real_of(value.element_type))]


def imaginary_part(args: Args) -> Types:
    """`imag`: the parts' type, of complex numbers only."""
    if category(args["self"].element_type) != 3:
        raise ValueError(f"needs complex numbers, got {args['self']}")
    return real_part(args)


def copy(args: Args) -> Types:
    """`copy`: self's type; the source broadcasts to it."""
    value, source = args["self"], args["src"]
    shape = value.get_shape()
    if len(broadcast(shape, source.get_shape())) != len(shape):
        raise ValueError(f"{source} does not broadcast to {value}")
    return [value]
