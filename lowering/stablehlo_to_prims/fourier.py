"""Fourier transforms of the last dimensions."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from lamina.dialects.stablehlo.attributes import word
from lamina.dialects.stablehlo.op import HloOp
from lamina.lowering.stablehlo_to_prims.table import HloBuilder, lowers, result_shape
from lamina.lowering.tensor_types import rank_of, shape_of

_NO_SCALE, _BY_SIZE = 0, 2
"""Norms of ATen's transforms."""


@lowers("fft")
def fft(op: HloOp, b: HloBuilder) -> SSAValue:
    """ATen's transforms; inverse ones are divided by the number of elements."""
    x, kind, length = op.operands[0], word(op.attr("fft_type")), op.ints("fft_length")
    rank = rank_of(x)
    dims = list(range(rank - len(length), rank))
    if not prod(result_shape(op)) or not prod(shape_of(x)):
        raise b.refuse("of a tensor without elements", "tensors with elements")
    if kind in ("FFT", "IFFT"):
        norm = _NO_SCALE if kind == "FFT" else _BY_SIZE
        return b.core("_fft_c2c.default", x, dims, norm, kind == "FFT")[0]
    if kind == "RFFT":
        return b.core("_fft_r2c.default", x, dims, _NO_SCALE, True)[0]
    if kind == "IRFFT":
        return b.core("_fft_c2r.default", x, dims, _BY_SIZE, length[-1])[0]
    raise b.refuse(f"no transform '{kind}'", "FFT, IFFT, RFFT, IRFFT")
