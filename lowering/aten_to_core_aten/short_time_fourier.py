"""Fourier transforms of overlapping frames of a signal, and back."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_complex, rank_of, shape_of

MOST_PIECES = 16
"""Steps of a frame that are added as shifted tensors; more of them are a scatter."""
_PADDING = {"reflect": "reflection_pad1d", "replicate": "replication_pad1d"}


@lowers("stft", "stft.center")
def stft(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Frames of n_fft samples, one every hop_length, times the window, each transformed."""
    x, size = op.arg("self"), op.arg("n_fft")
    single = rank_of(x) == 1
    x = b.view(x, [1, *shape_of(x)]) if single else x
    if op.schema.arg("center") is not None and op.arg("center"):
        x = _centered(op, b, x, size // 2)
    elif op.arg("align_to_window"):
        raise b.refuse("frames aligned to a shorter window", "align_to_window = false")
    batch, length = shape_of(x)
    hop = _hop(op, size)
    # Frames side by side, as in the result.
    frames = b("as_strided", x, [batch, size, 1 + (length - size) // hop], [length, 1, hop])
    window = _window(op, b, size)
    if window is not None:
        frames = b("mul.Tensor", frames, b.view(window, [size, 1]))
    scaling = 1 if op.arg("normalized") else 0
    if is_complex(element_of(frames)):
        found = b("_fft_c2c", frames, [1], scaling, True)
    else:
        found = b("_fft_r2c", frames, [1], scaling, op.arg("onesided") is not False)
    if is_complex(element_of(frames)) and op.arg("onesided"):
        raise b.refuse("half of the transform of complex samples", "onesided = false")
    found = b.view(found, shape_of(found)[1:]) if single else found
    asked = op.arg("return_complex")
    asked = is_complex(element_of(frames)) if asked is None else asked
    return found if asked else b("view_as_real", found)


def _centered(op: SchemaOp, b: CoreBuilder, x: SSAValue, by: int) -> SSAValue:
    """Padded by half a frame, so that frame t is centered at sample t * hop."""
    mode = op.arg("pad_mode")
    if mode == "constant":
        return b("constant_pad_nd", x, [by, by], 0)
    if mode not in _PADDING:
        raise b.refuse(f"padding by '{mode}'", "reflect, replicate, constant")
    padded = b(_PADDING[mode], b.view(x, [shape_of(x)[0], 1, shape_of(x)[1]]), [by, by])
    return b.view(padded, [shape_of(padded)[0], shape_of(padded)[2]])


def _hop(op: SchemaOp, size: int) -> int:
    return size // 4 if op.arg("hop_length") is None else op.arg("hop_length")


def _window(op: SchemaOp, b: CoreBuilder, size: int) -> SSAValue | None:
    """The window with zeros on both sides up to `size`; ones if only its length is given."""
    window, length = op.arg("window"), op.arg("win_length")
    if window is None:
        if length is None or length == size:
            return None
        element = element_of(op.arg("self"))
        window = b.full([length], 1.0, getattr(element, "element_type", element))
    left = (size - shape_of(window)[0]) // 2
    after = size - shape_of(window)[0] - left
    return b("constant_pad_nd", window, [left, after], 0) if left or after else window


@lowers("istft")
def istft(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """Frames put back where they came from and added, over the sum of squared windows."""
    x, size = op.arg("self"), op.arg("n_fft")
    if not is_complex(element_of(x)):
        x = b("view_as_complex", x)
    single = rank_of(x) == 2
    x = b.view(x, [1, *shape_of(x)]) if single else x
    frames = _frames(op, b, x, size)
    count, hop = shape_of(frames)[2], _hop(op, size)
    window = _window(op, b, size)
    if window is None:
        element = element_of(x)
        window = b.full([size], 1.0, getattr(element, "element_type", element))
    window = b.view(window, [size, 1])
    total = size + hop * (count - 1)
    made = _overlapped(b, b("mul.Tensor", frames, window), hop, total)
    squares = b("mul.Tensor", window, window)
    envelope = _overlapped(b, b.expand(squares, [1, size, count]), hop, total)
    start = size // 2 if op.arg("center") else 0
    end = start + op.arg("length") if op.arg("length") is not None else total - start
    made, envelope = (b("slice.Tensor", v, 1, start, min(end, total)) for v in (made, envelope))
    made = b("div.Tensor", made, envelope)
    if end > total:
        made = b("constant_pad_nd", made, [0, end - total], 0)
    return b.view(made, shape_of(op.results[0]))


def _frames(op: SchemaOp, b: CoreBuilder, x: SSAValue, size: int) -> SSAValue:
    """The inverse transform of each frame."""
    half = op.arg("onesided")
    if half is None:
        half = shape_of(x)[1] != size
    scaling = 1 if op.arg("normalized") else 2
    if op.arg("return_complex"):
        return b("_fft_c2c", x, [1], scaling, False)
    x = x if half else b("slice.Tensor", x, 1, 0, size // 2 + 1)
    return b("_fft_c2r", x, [1], scaling, size)


def _overlapped(b: CoreBuilder, frames: SSAValue, hop: int, total: int) -> SSAValue:
    """Frame t, a column, added at sample t * hop of `total` samples."""
    batch, size, count = shape_of(frames)
    pieces = -(-size // hop)
    if pieces <= MOST_PIECES:
        return b("slice.Tensor", _shifted(b, frames, hop, pieces), 1, 0, total)
    frames = b.permute(frames, [0, 2, 1])
    starts = b("mul.Scalar", b("arange.start_step", 0, count, 1, dtype=i64), hop)
    offsets = b("arange.start_step", 0, size, 1, dtype=i64)
    places = b("add.Tensor", b.view(starts, [count, 1]), offsets)
    empty = b.full([batch, total], 0.0, element_of(frames))
    return b("index_put", empty, [None, places], frames, True)


def _shifted(b: CoreBuilder, frames: SSAValue, hop: int, pieces: int) -> SSAValue:
    """Overlapping frames as sums: piece q of frame t goes where piece 0 of frame t + q does."""
    batch, size, count = shape_of(frames)
    if size % hop:
        frames = b("constant_pad_nd", frames, [0, 0, 0, pieces * hop - size], 0)
    split = b.view(frames, [batch, pieces, hop, count])
    total: SSAValue | None = None
    for q in range(pieces):
        piece = b.view(b("slice.Tensor", split, 1, q, q + 1), [batch, hop, count])
        piece = b("constant_pad_nd", piece, [q, pieces - 1 - q], 0)
        total = piece if total is None else b("add.Tensor", total, piece)
    assert total is not None
    return b.view(b.permute(total, [0, 2, 1]), [batch, (count + pieces - 1) * hop])
