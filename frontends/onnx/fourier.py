"""Fourier transforms; complex numbers are pairs in a last dim of two, real ones in one of one."""

from __future__ import annotations

from xdsl.dialects.builtin import f64

from lamina.frontends.onnx.node import Node
from lamina.frontends.onnx.table import imports
from lamina.frontends.onnx.values import Value, shape_of

_BY_LENGTH = 2
"""The normalization of torch's transforms that divides by their length."""


@imports("DFT", first=20)
def transform(n: Node) -> Value:
    """Along an axis that is an input."""
    axis = int(n.known(2).item()) if n.get(2) is not None else -2
    return _transform(n, n[0], n.counted(axis))


@imports("DFT", last=19)
def transform_by_attribute(n: Node) -> Value:
    """Along an axis that is an attribute."""
    return _transform(n, n[0], n.axis(1))


def _transform(n: Node, value: Value, axis: int) -> Value:
    """In f64: of sums that cancel, f32 would leave some millionths of the largest element."""
    return n.cast(_of_pairs(n, n.cast(value, f64), axis), n.element())


def _of_pairs(n: Node, value: Value, axis: int) -> Value:
    inverse, onesided = bool(n.attr("inverse", 0)), bool(n.attr("onesided", 0))
    size = shape_of(value)[axis]
    to_real = inverse and onesided
    given = n.get(1) is not None
    length = int(n.known(1).item()) if given else 2 * (size - 1) if to_real else size
    value = _of_size(n, value, axis, length // 2 + 1 if to_real else length)
    if to_real:
        real = n.op("_fft_c2r.default", _complex(n, value), [axis], _BY_LENGTH, length)
        return n.op("unsqueeze.default", real, -1)
    if onesided and shape_of(value)[-1] != 1:
        raise n.refuse("onesided transforms of complex numbers")
    return _bins(n, value, axis, onesided, inverse)


def _bins(n: Node, value: Value, axis: int, onesided: bool, inverse: bool) -> Value:
    """The transform as pairs: all of it, or the half that tells it of real numbers."""
    if onesided:
        real = n.op("squeeze.dim", value, -1)
        made = n.op("_fft_r2c.default", real, [axis], 0, True)
    else:
        scale = _BY_LENGTH if inverse else 0
        made = n.op("_fft_c2c.default", _complex(n, value), [axis], scale, not inverse)
    return n.op("view_as_real.default", made)


def _complex(n: Node, value: Value) -> Value:
    if shape_of(value)[-1] == 1:
        value = n.op("constant_pad_nd.default", value, [0, 1], 0)
    return n.op("view_as_complex.default", n.tensor(value))


def _of_size(n: Node, value: Value, axis: int, size: int) -> Value:
    """Cut along an axis, or with zeros behind."""
    more = size - shape_of(value)[axis]
    if more == 0:
        return value
    behind = len(shape_of(value)) - 1 - axis
    return n.op("constant_pad_nd.default", value, [0, 0] * behind + [0, more], 0)


@imports("STFT")
def short_time_transform(n: Node) -> Value:
    """Of frames of a signal, times a window: [batch, frame, bin, 2]."""
    step = int(n.known(1).item())
    if step < 1:
        raise n.refuse(f"a step of {step} between frames")
    window = n.get(2)
    if n.get(3) is None and window is None:
        raise n.refuse("neither a window nor the length of frames is given")
    given = n.get(3) is not None
    length = int(n.known(3).item()) if given or window is None else shape_of(window)[0]
    signal = n[0]
    if len(shape_of(signal)) == 2:
        signal = n.op("unsqueeze.default", signal, -1)
    frames = n.op("unfold.default", signal, 1, length, step)
    frames = n.op("permute.default", frames, [0, 1, 3, 2])
    if window is not None:
        frames = n.op("mul.Tensor", frames, n.reshape(window, [length, 1]))
    onesided = bool(n.attr("onesided", 1)) and shape_of(frames)[-1] == 1
    return n.cast(_bins(n, n.cast(frames, f64), 2, onesided, False), n.element())
