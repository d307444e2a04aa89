"""Element types of 8 bits and fewer that programs hold as codes: floats, and short integers.

A code is the bits of a number in the low bits of a ui8. Callers see arrays of the type itself,
one number a byte, where an argument or result has the attribute `lamina.codes`.
"""

from __future__ import annotations

from lamina.dialects.records import record

CODES = "lamina.codes"
"""Attribute of arguments and results of ui8: the name of the type whose codes they hold."""


@record
class NarrowInteger:
    """Integers of `bits` bits."""

    name: str
    bits: int
    is_signed: bool

    @property
    def limits(self) -> tuple[int, int]:
        """Least and greatest number."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.is_signed else (0, 2 * half - 1)


@record
class NarrowFloat:
    """Floats: a sign, `exponent` bits over `bias`, `mantissa` bits, with subnormal numbers.

    `greatest` is the code of the greatest finite number; what is beyond becomes `overflow`. `nan`
    is the code that NaN becomes; in types without NaN it is what conversions make of it. Without
    `has_negative_zero` the code of -0 is that of NaN.
    """

    name: str
    exponent: int
    mantissa: int
    bias: int
    greatest: int
    overflow: int
    nan: int
    infinity: int | None = None
    has_nan: bool = True
    has_negative_zero: bool = True

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return 1 + self.exponent + self.mantissa

    @property
    def sign(self) -> int:
        """The bit that negative numbers have."""
        return 1 << (self.exponent + self.mantissa)


@record
class PowerOfTwo:
    """2 to the power of the code less `bias`; the greatest code is NaN. No sign, no zero."""

    name: str
    bits: int
    bias: int


NarrowType = NarrowInteger | NarrowFloat | PowerOfTwo

_ROWS: tuple[NarrowType, ...] = (
    NarrowFloat("f8E4M3FN", 4, 3, 7, 0x7E, 0x7F, 0x7F),
    NarrowFloat("f8E4M3FNUZ", 4, 3, 8, 0x7F, 0x80, 0x80, has_negative_zero=False),
    NarrowFloat("f8E5M2", 5, 2, 15, 0x7B, 0x7C, 0x7E, infinity=0x7C),
    NarrowFloat("f8E5M2FNUZ", 5, 2, 16, 0x7F, 0x80, 0x80, has_negative_zero=False),
    NarrowFloat("f6E2M3FN", 2, 3, 1, 0x1F, 0x1F, 0x20, has_nan=False),
    NarrowFloat("f6E3M2FN", 3, 2, 3, 0x1F, 0x1F, 0x20, has_nan=False),
    NarrowFloat("f4E2M1FN", 2, 1, 1, 0x7, 0x7, 0x8, has_nan=False),
    PowerOfTwo("f8E8M0FNU", 8, 127),
    NarrowInteger("i4", 4, True),
    NarrowInteger("ui4", 4, False),
    NarrowInteger("i2", 2, True),
    NarrowInteger("ui2", 2, False),
)
NARROW_TYPES: dict[str, NarrowType] = {row.name: row for row in _ROWS}
"""By name, as MLIR spells it. The floats are those of the Open Compute Project and of Graphcore."""
