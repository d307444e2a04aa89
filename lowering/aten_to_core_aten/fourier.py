"""Fourier transforms of torch.fft, from the three transforms that torch has inside."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, f32
from xdsl.ir import SSAValue

from lamina.dialects.records import mutable_record
from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.complex import conjugate
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import (
    element_of,
    is_complex,
    is_float,
    normalized,
    normalized_dims,
    rank_of,
    shape_of,
)

_SCALING = {
    (None, True): 0,
    (None, False): 2,
    ("backward", True): 0,
    ("backward", False): 2,
    ("ortho", True): 1,
    ("ortho", False): 1,
    ("forward", True): 2,
    ("forward", False): 0,
}
"""torch's number of a normalization, by its name and whether the transform is a forward one."""


@mutable_record
class Transform:
    """A call of torch.fft: the input in a float dtype, the dimensions, the sizes wanted there."""

    x: SSAValue
    dims: list[int]
    sizes: list[int] | None
    norm: str | None

    def scaling(self, forward: bool) -> int:
        """torch's number of the normalization."""
        return _SCALING[self.norm, forward]


def _transform(op: SchemaOp, b: CoreBuilder) -> Transform:
    names = {argument.name for argument in op.schema.args}
    x = op.arg("self")
    if not (is_float(element_of(x)) or is_complex(element_of(x))):
        x = b.cast(x, f32)
    rank = rank_of(x)
    if "n" in names:
        dims = [normalized(op.arg("dim"), rank)]
        sizes = None if op.arg("n") is None else [op.arg("n")]
    else:
        sizes, given = op.arg("s"), op.arg("dim")
        if given is None and sizes is not None:
            given = list(range(rank - len(sizes), rank))
        dims = normalized_dims(given, rank)
    norm = op.arg("norm")
    if (norm, True) not in _SCALING:
        raise b.refuse(f"no normalization '{norm}'", "backward, ortho, forward")
    return Transform(x, dims, sizes, norm)


def _resized(
    b: CoreBuilder, x: SSAValue, dims: Sequence[int], sizes: Sequence[int] | None
) -> SSAValue:
    """Cut, or filled up with zeros at the end; -1 keeps a size."""
    for dim, size in zip(dims, sizes or (), strict=False):
        extent = shape_of(x)[dim]
        if size == -1 or size == extent:
            continue
        if size < extent:
            x = b("slice.Tensor", x, dim, 0, size)
        else:
            after = [0] * (2 * (rank_of(x) - dim))
            after[-1] = size - extent
            x = b("constant_pad_nd", x, after, 0)
    return x


def _as_complex(b: CoreBuilder, x: SSAValue) -> SSAValue:
    element = element_of(x)
    return x if isinstance(element, ComplexType) else b.cast(x, ComplexType(element))  # pyright: ignore


@lowers("fft_fft", "fft_fft2", "fft_fftn", "fft_ifft", "fft_ifft2", "fft_ifftn")
def complex_to_complex(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Forward, or inverse for names that begin with i; a real input may be cheaper."""
    forward = not op.overload_name.startswith("fft_i")
    t = _transform(op, b)
    x = _resized(b, t.x, t.dims, t.sizes)
    if not t.dims:
        return _as_complex(b, x)
    if forward and not is_complex(element_of(x)):
        return b("_fft_r2c", x, t.dims, t.scaling(True), False)
    return b("_fft_c2c", _as_complex(b, x), t.dims, t.scaling(forward), forward)


@lowers("fft_rfft", "fft_rfft2", "fft_rfftn")
def real_to_complex(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The first half of the last dimension of the forward transform."""
    t = _transform(op, b)
    x = _resized(b, t.x, t.dims, t.sizes)
    return b("_fft_r2c", x, t.dims, t.scaling(True), True)


def _halved(b: CoreBuilder, t: Transform) -> tuple[SSAValue, int]:
    """The input with its last dimension cut to half of the result's size, and that size."""
    wanted = list(t.sizes) if t.sizes is not None else [shape_of(t.x)[d] for d in t.dims]
    last = wanted[-1] if t.sizes is not None else -1
    if last == -1:
        last = 2 * (shape_of(t.x)[t.dims[-1]] - 1)
    wanted[-1] = last // 2 + 1
    return _as_complex(b, _resized(b, t.x, t.dims, wanted)), last


@lowers("fft_irfft", "fft_irfft2", "fft_irfftn")
def complex_to_real(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The inverse of fft_rfft."""
    t = _transform(op, b)
    x, last = _halved(b, t)
    return b("_fft_c2r", x, t.dims, t.scaling(False), last)


@lowers("fft_hfft", "fft_hfft2", "fft_hfftn")
def hermitian_to_real(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The forward transform of a signal that is Hermitian in the last dimension."""
    t = _transform(op, b)
    x, last = _halved(b, t)
    scaling = t.scaling(True)
    if t.dims[:-1]:
        x = b("_fft_c2c", x, t.dims[:-1], scaling, True)
    return b("_fft_c2r", conjugate(b, x), t.dims[-1:], scaling, last)


@lowers("fft_ihfft", "fft_ihfft2", "fft_ihfftn")
def real_to_hermitian(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """The inverse of fft_hfft."""
    t = _transform(op, b)
    x = _resized(b, t.x, t.dims, t.sizes)
    scaling = t.scaling(False)
    x = conjugate(b, b("_fft_r2c", x, t.dims[-1:], scaling, True))
    return b("_fft_c2c", x, t.dims[:-1], scaling, False) if t.dims[:-1] else x


@lowers("fft_fftfreq", "fft_rfftfreq")
def frequencies(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """k / (n d) for each k, the second half negative; rfftfreq has the first half only."""
    n, d = op.arg("n"), op.arg("d")
    element = element_of(op.results[0])
    half = op.overload_name.startswith("fft_rfftfreq")
    first = b("arange.start_step", 0, n // 2 + 1 if half else (n + 1) // 2, 1, dtype=element)
    if not half:
        second = b("arange.start_step", -(n // 2), 0, 1, dtype=element)
        first = b("cat", [first, second], 0)
    return b("mul.Tensor", first, b.full([], 1.0 / (n * d), element))


@lowers("fft_fftshift", "fft_ifftshift")
def shift(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Half a turn along each dimension; ifftshift turns back."""
    x = op.arg("self")
    back = op.overload_name.startswith("fft_i")
    for dim in normalized_dims(op.arg("dim"), rank_of(x)):
        extent = shape_of(x)[dim]
        cut = extent // 2 if back else (extent + 1) // 2
        if 0 < cut < extent:
            tail = b("slice.Tensor", x, dim, cut, extent)
            x = b("cat", [tail, b("slice.Tensor", x, dim, 0, cut)], dim)
    return x
