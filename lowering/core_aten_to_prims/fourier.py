"""Fourier transforms of torch's three kinds: one dimension after the other.

Sizes whose primes are small are `prims.fourier`; the others are left to an extern kernel. Odd sizes
of real numbers are transformed as complex ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt

from xdsl.ir import SSAValue

from lamina.dialects.loop.clauses import MOST_FACTOR
from lamina.dialects.loop.fourier import greatest_factor
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.core_aten_to_prims.linear_algebra import extern_call
from lamina.lowering.core_aten_to_prims.table import PrimsBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_certain, normalized_dims, rank_of, shape_of
from lamina.passes.cost.unstructured_cost import FEW_COLUMNS, MOST_POINTS


@lowers("_fft_r2c")
def real_to_complex(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """The last of the dimensions from real numbers, the others from complex ones."""
    x, dims = op.arg("self"), normalized_dims(op.arg("dim"), rank_of(op.arg("self")))
    if _is_refused(shape_of(x), dims):
        return extern_call(op, b, "fft.r2c")
    *others, last = dims
    size, scale = shape_of(x)[last], _scale(op, shape_of(x)[last])
    if size % 2:
        found = _transformed(b, b("complex", x, _zeros(b, x)), "c2c", size, last, scale)
        found = b.slice(found, last, 0, size // 2 + 1) if op.arg("onesided") else found
    else:
        found = _transformed(b, x, "r2c", size, last, scale, onesided=op.arg("onesided"))
    return [_complex_dims(op, b, found, others, forward=True)]


@lowers("_fft_c2c")
def complex_to_complex(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """Forward or inverse."""
    x, dims = op.arg("self"), normalized_dims(op.arg("dim"), rank_of(op.arg("self")))
    if _is_refused(shape_of(x), dims):
        return extern_call(op, b, "fft.c2c")
    return [_complex_dims(op, b, x, dims, forward=op.arg("forward"))]


@lowers("_fft_c2r")
def complex_to_real(op: SchemaOp, b: PrimsBuilder) -> Sequence[SSAValue]:
    """The inverse of `real_to_complex`."""
    x, size = op.arg("self"), op.arg("last_dim_size")
    *others, last = normalized_dims(op.arg("dim"), rank_of(x)) or [-1]
    made = shape_of(op.results[0])
    if last < 0 or shape_of(x)[last] != size // 2 + 1 or _is_refused(made, [*others, last]):
        return extern_call(op, b, "fft.c2r")
    x = _complex_dims(op, b, x, others, forward=False)
    if size % 2 == 0:
        return [_transformed(b, x, "c2r", size, last, _scale(op, size), inverse=True)]
    whole = _mirrored(b, x, last)
    found = _transformed(b, whole, "c2c", size, last, _scale(op, size), inverse=True)
    return [b("real", found)]


def _scale(op: SchemaOp, size: int) -> float:
    """Of one dimension; torch's numbers: none, the root of its size, its size."""
    return (1.0, 1 / sqrt(size), 1 / size)[op.arg("normalization")]


def _is_refused(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether the extern kernel does it: of large primes, of nothing, or over no dimension."""
    sizes = [shape[d] for d in dims]
    return (
        not sizes
        or 0 in shape
        or max(sizes) > MOST_POINTS
        or max(map(greatest_factor, sizes)) > MOST_FACTOR
    )


def _complex_dims(
    op: SchemaOp, b: PrimsBuilder, x: SSAValue, dims: Sequence[int], *, forward: bool
) -> SSAValue:
    """Complex transforms along dimensions, one after the other."""
    for dim in dims:
        size = shape_of(x)[dim]
        x = _transformed(b, x, "c2c", size, dim, _scale(op, size), inverse=not forward)
    return x


def _transformed(
    b: PrimsBuilder,
    x: SSAValue,
    kind: str,
    size: int,
    dim: int,
    scale: float,
    *,
    inverse: bool = False,
    onesided: bool = True,
) -> SSAValue:
    """Along one dimension, behind which there are many columns or none."""
    rank, columns = rank_of(x), shape_of(x)[dim + 1 :]
    if columns and is_certain(lambda: prod(columns) < FEW_COLUMNS):
        order = [*range(dim), *range(dim + 1, rank), dim]
        back = [*range(dim), rank - 1, *range(dim, rank - 1)]
        rows = b.transpose(x, order)
        return b.transpose(b("fourier", rows, kind, size, rank - 1, inverse, onesided, scale), back)
    return b("fourier", x, kind, size, dim, inverse, onesided, scale)


def _mirrored(b: PrimsBuilder, x: SSAValue, dim: int) -> SSAValue:
    """All N numbers of the first N // 2 + 1, for an odd N."""
    half = shape_of(x)[dim]
    parts = []
    for name in ("real", "imag"):
        part = b(name, x)
        other = b("rev", b.slice(part, dim, 1, half), [dim])
        other = b("neg", other) if name == "imag" else other
        parts.append(b("cat", [part, other], dim))
    return b("complex", *parts)


def _zeros(b: PrimsBuilder, x: SSAValue) -> SSAValue:
    return b.full(shape_of(x), 0.0, element_of(x))
