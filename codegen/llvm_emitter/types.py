"""xDSL types and constants as LLVM text.

Registers: i1 is `i1`, index is `i64`, bfloat16 is its bits (`i16`; nothing computes in it). Memory:
i1 is one byte, everything else as in registers.
"""

import struct
from collections.abc import Sequence
from functools import cache

from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    VectorType,
)
from xdsl.ir import Attribute

from lamina.codegen.target import MOST_VECTOR_BITS
from lamina.dialects.errors import UnsupportedError
from lamina.dialects.identity_cache import once_an_object

_FLOATS: dict[type[Attribute], tuple[str, int]] = {
    Float16Type: ("half", 16),
    BFloat16Type: ("i16", 16),
    Float32Type: ("float", 32),
    Float64Type: ("double", 64),
}

TILE = "x86_amx"
"""LLVM's type of a matrix tile."""

_INTEGER_BITS = (1, 8, 16, 32, 64)

#: Lanes of the widest vector of the smallest elements: more than that LLVM may not get through.
MOST_LANES = MOST_VECTOR_BITS // 8

#: How LLVM mangles a scalar type in the name of an overloaded intrinsic.
_MANGLED = {"half": "f16", "float": "f32", "double": "f64"}


_OF_ELEMENTS = frozenset({VectorType, MemRefType})


def scalar_type(element: Attribute) -> str:
    """LLVM's register type for a scalar type; UnsupportedError for any other type."""
    if found := _FLOATS.get(type(element)):
        return found[0]
    if type(element) is IndexType:
        return "i64"
    if isinstance(element, IntegerType) and element.width.data in _INTEGER_BITS:
        return f"i{element.width.data}"
    raise UnsupportedError(
        "codegen", "no machine type for this type", types=[str(element)], nearest="f32, i32, index"
    )


def register_type(type_: Attribute) -> str:
    """LLVM's register type for a scalar, 1-D vector, matrix tile or memref type."""
    if isinstance(type_, VectorType) and len(type_.get_shape()) == 2:
        return TILE
    if isinstance(type_, VectorType):
        return f"<{lanes(type_)} x {scalar_type(type_.element_type)}>"
    if isinstance(type_, MemRefType):
        return "ptr"
    return scalar_type(type_)


@once_an_object
def memory_scalar(element: Attribute) -> str:
    """LLVM's type of one element in memory."""
    text = scalar_type(element)
    return "i8" if text == "i1" else text


@once_an_object
def lanes(type_: Attribute) -> int:
    """Lanes of a 1-D static vector type, 1 for a scalar."""
    if not isinstance(type_, VectorType):
        return 1
    shape = type_.get_shape()
    if len(shape) != 1 or any(entry.value.data for entry in type_.scalable_dims):
        raise UnsupportedError("codegen", "only 1-D vectors have registers", types=[str(type_)])
    if not 0 < shape[0] <= MOST_LANES:
        raise UnsupportedError(
            "codegen",
            "no CPU has such a vector",
            types=[str(type_)],
            nearest=f"1 to {MOST_LANES} lanes",
        )
    return shape[0]


def element_of(type_: Attribute) -> Attribute:
    """The element type of a vector or memref, or the type itself."""
    return type_.element_type if type(type_) in _OF_ELEMENTS else type_  # pyright: ignore


def element_bits(element: Attribute) -> int:
    """Bits of a scalar in a register."""
    if found := _FLOATS.get(type(element)):
        return found[1]
    return element.width.data if isinstance(element, IntegerType) else 64


@once_an_object
def memory_bytes(element: Attribute) -> int:
    """Bytes of one element in memory."""
    return max(1, element_bits(element) // 8)


def vector_of(scalar: str, count: int) -> str:
    """`<count x scalar>`, or `scalar` alone when count is 0 (a scalar is wanted)."""
    return f"<{count} x {scalar}>" if count else scalar


def count_of(type_: Attribute) -> int:
    """Lanes for `vector_of`: 0 for a scalar."""
    return lanes(type_) if isinstance(type_, VectorType) else 0


@cache
def mangled(llvm: str) -> str:
    """Suffix of an overloaded intrinsic for an LLVM type: `<16 x float>` gives `v16f32`."""
    if llvm.startswith("<"):
        count, _, scalar = llvm[1:-1].split()
        return f"v{count}{mangled(scalar)}"
    return _MANGLED.get(llvm, llvm)


def float_literal(value: float, llvm: str) -> str:
    """A float constant: LLVM's exact hexadecimal form, rounded to the type first."""
    if llvm == "half":
        return f"0xH{struct.unpack('<H', _packed('<e', value))[0]:04X}"
    if llvm == "float":
        value = struct.unpack("<f", _packed("<f", value))[0]
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def float_literals(values: Sequence[float]) -> list[str]:
    """`float_literal` of many numbers that f32 can hold."""
    count = len(values)
    rounded = struct.unpack(f"<{count}f", struct.pack(f"<{count}f", *values))
    bits = struct.unpack(f"<{count}Q", struct.pack(f"<{count}d", *rounded))
    return [f"0x{number:016X}" for number in bits]


def _packed(layout: str, value: float) -> bytes:
    try:
        return struct.pack(layout, value)
    except OverflowError:
        return struct.pack(layout, float("inf") if value > 0 else float("-inf"))


def bfloat16_bits(value: float) -> int:
    """The bits of a float rounded to bfloat16, to nearest even."""
    bits = struct.unpack("<I", _packed("<f", value))[0]
    if value != value:
        return 0x7FC0
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16) & 0xFFFF


def _scalar_literal(value: float | int, element: Attribute) -> str:
    if type(element) is BFloat16Type:
        return str(bfloat16_bits(float(value)))
    llvm = scalar_type(element)
    if type(element) in _FLOATS:
        return float_literal(float(value), llvm)
    if llvm == "i1":
        return "true" if value else "false"
    return str(int(value))


def literal(value: Attribute, type_: Attribute) -> str:
    """A constant attribute as an LLVM operand (without its type)."""
    element = element_of(type_)
    if isinstance(value, (IntegerAttr, FloatAttr)):
        return _scalar_literal(value.value.data, element)
    if isinstance(value, DenseIntOrFPElementsAttr):
        count = lanes(type_)
        numbers = value.get_values()
        if numbers and (len(numbers) == 1 or value.is_splat()):
            first = _scalar_literal(numbers[0], element)  # pyright: ignore[reportArgumentType]
            return splat(scalar_type(element), first) if isinstance(type_, VectorType) else first
        if len(numbers) == count:
            scalar = scalar_type(element)
            parts = (_scalar_literal(v, element) for v in numbers)  # pyright: ignore
            return "<" + ", ".join(f"{scalar} {part}" for part in parts) + ">"
    raise UnsupportedError("arith.constant", "not a constant for a register", types=[str(type_)])


def splat(scalar: str, value: str) -> str:
    """A vector constant with one value in every lane."""
    if value in ("0", "0x0000000000000000", "false"):
        return "zeroinitializer"
    return f"splat ({scalar} {value})"
