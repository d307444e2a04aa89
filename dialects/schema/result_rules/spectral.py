"""Result types of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ComplexType, TensorType, f32
from xdsl.ir import Attribute

from lamina.dialects.schema.promotion import complex_of, float_of, real_of
from lamina.dialects.schema.result_rules.shapes import (
    DYNAMIC,
    Args,
    Types,
    need_rank,
    tensor,
    wrap_dim,
    wrap_dims,
)


def _half(size: int) -> int:
    return DYNAMIC if size < 0 else size // 2 + 1


def _whole(size: int) -> int:
    return DYNAMIC if size < 0 else 2 * (size - 1)


def _complex(dtype: Attribute) -> Attribute:
    return complex_of(float_of(dtype))


def _real(dtype: Attribute) -> Attribute:
    return real_of(float_of(dtype))


def _lengths(args: Args) -> tuple[list[int], list[int]]:
    """Self's dims with the transformed ones resized, and which those are."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    if "n" in args:
        dims = [wrap_dim(args["dim"], len(shape))]
        sizes = None if args["n"] is None else [args["n"]]
    else:
        sizes = args["s"]
        dims = args["dim"]
        if dims is None:
            dims = range(len(shape) - len(sizes), len(shape)) if sizes else range(len(shape))
        dims = wrap_dims(list(dims), len(shape))
    if not shape:
        raise ValueError("a 0-d tensor has no dim to transform")
    if sizes is not None:
        _resize(shape, dims, sizes)
    return shape, dims


def _resize(shape: list[int], dims: Sequence[int], sizes: Sequence[int]) -> None:
    if len(sizes) != len(dims):
        raise ValueError(f"{len(sizes)} sizes for {len(dims)} dims")
    for dim, size in zip(dims, sizes, strict=True):
        shape[dim] = shape[dim] if size == -1 else DYNAMIC if size < 0 else size


def _given_last(args: Args) -> bool:
    sizes = [args["n"]] if "n" in args else args["s"]
    return bool(sizes) and sizes[-1] not in (None, -1)


def complex_to_complex(args: Args) -> Types:
    """`fft_fft`, `fft_fftn` and their inverses."""
    shape, _ = _lengths(args)
    return [tensor(shape, _complex(args["self"].element_type))]


def real_to_complex(args: Args) -> Types:
    """`fft_rfft`, `fft_ihfft`: half of the last transformed dim."""
    shape, dims = _lengths(args)
    if dims:
        shape[dims[-1]] = _half(shape[dims[-1]])
    return [tensor(shape, _complex(args["self"].element_type))]


def complex_to_real(args: Args) -> Types:
    """`fft_irfft`, `fft_hfft`: the last transformed dim made whole."""
    shape, dims = _lengths(args)
    if dims and not _given_last(args):
        shape[dims[-1]] = _whole(args["self"].get_shape()[dims[-1]])
    return [tensor(shape, _real(args["self"].element_type))]


def c2c(args: Args) -> Types:
    """`_fft_c2c`: self's type."""
    wrap_dims(args["dim"], len(args["self"].get_shape()))
    return [args["self"]]


def r2c(args: Args) -> Types:
    """`_fft_r2c`."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    dims = wrap_dims(args["dim"], len(shape))
    if args["onesided"] and dims:
        shape[dims[-1]] = _half(shape[dims[-1]])
    return [tensor(shape, _complex(value.element_type))]


def c2r(args: Args) -> Types:
    """`_fft_c2r`."""
    value: TensorType = args["self"]
    shape = list(value.get_shape())
    dims = wrap_dims(args["dim"], len(shape))
    size = args["last_dim_size"]
    shape[dims[-1]] = DYNAMIC if size < 0 else size
    return [tensor(shape, _real(value.element_type))]


def frequencies(args: Args) -> Types:
    """`fft_fftfreq`: n of them."""
    return [tensor((args["n"],), args["dtype"] or f32)]


def half_frequencies(args: Args) -> Types:
    """`fft_rfftfreq`: those of a real transform."""
    return [tensor((_half(args["n"]),), args["dtype"] or f32)]


def stft(args: Args) -> Types:
    """Batch, frequencies, frames; complex, or pairs of reals along a last dim."""
    value: TensorType = args["self"]
    shape = need_rank(value, (1, 2), "self")
    n_fft = args["n_fft"]
    hop = args["hop_length"] if args["hop_length"] is not None else n_fft // 4
    length = shape[-1]
    if args.get("center") and length >= 0:
        length += 2 * (n_fft // 2)
    frames = DYNAMIC if length < 0 else 1 + (length - n_fft) // hop
    imaginary = _complex(value.element_type) == value.element_type
    onesided = args["onesided"] if args["onesided"] is not None else not imaginary
    new = (*shape[:-1], n_fft // 2 + 1 if onesided else n_fft, frames)
    asked = args["return_complex"]
    if asked or (asked is None and imaginary):
        return [tensor(new, _complex(value.element_type))]
    return [tensor((*new, 2), _real(value.element_type))]


def istft(args: Args) -> Types:
    """The signal: `length`, or what the frames cover."""
    value: TensorType = args["self"]
    shape = need_rank(value, (2, 3), "self")
    n_fft = args["n_fft"]
    hop = args["hop_length"] if args["hop_length"] is not None else n_fft // 4
    length = args["length"]
    if length is None:
        covered = DYNAMIC if shape[-1] < 0 else n_fft + hop * (shape[-1] - 1)
        trimmed = 2 * (n_fft // 2) if args["center"] else 0
        length = DYNAMIC if covered < 0 else covered - trimmed
    dtype = value.element_type if args["return_complex"] else _real(value.element_type)
    return [tensor((*shape[:-2], length), dtype)]


def fourier(args: Args) -> Types:
    """`prims.fourier`: real or complex numbers along one dim."""
    value: TensorType = args["a"]
    shape, element = list(value.get_shape()), value.element_type
    kind, size = args["kind"], args["size"]
    if kind not in ("c2c", "r2c", "c2r"):
        raise ValueError(f"unknown kind '{kind}'; c2c, r2c, c2r")
    is_complex = isinstance(element, ComplexType)
    if is_complex != (kind != "r2c"):
        raise ValueError(f"'{kind}' of {value}")
    if not shape or size < 1 or (kind != "c2c" and size % 2):
        raise ValueError(f"'{kind}' of {size} numbers: rows of them, of an even size unless c2c")
    if (kind == "c2r") != args["inverse"] and kind != "c2c":
        raise ValueError(f"inverse: '{kind}' is{' not' * (kind == 'r2c')}")
    given = size // 2 + 1 if kind == "c2r" else size
    dim = wrap_dim(args["dim"], len(shape))
    if shape[dim] != given:
        raise ValueError(f"'{kind}' of {size} numbers has {given} along dim {dim}, got {value}")
    shape[dim] = size // 2 + 1 if kind == "r2c" and args["onesided"] else size
    return [tensor(shape, real_of(element) if kind == "c2r" else complex_of(element))]
