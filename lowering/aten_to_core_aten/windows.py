"""Window functions of signal processing, as ATen has them."""

from __future__ import annotations

from math import pi

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from lamina.dialects.schema.op import SchemaOp
from lamina.lowering.aten_to_core_aten.table import CoreBuilder, lowers
from lamina.lowering.tensor_types import element_of, is_float


def _option(op: SchemaOp, name: str, default: float | bool) -> float | bool:
    return default if op.schema.arg(name) is None else op.arg(name)


def _line(op: SchemaOp, b: CoreBuilder) -> tuple[SSAValue | None, int]:
    """0, 1, ... in f64, and the length of a period; no line for windows of one point or none."""
    if not is_float(element_of(op.results[0])):
        raise b.refuse("a window of integers", "a float dtype")
    length = op.arg("window_length")
    if length < 2:
        return None, 1
    line = b("arange.start_step", 0, length, 1, dtype=f64)
    return line, length if _option(op, "periodic", True) else length - 1


def _ones(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    return b.full([op.arg("window_length")], 1.0, element_of(op.results[0]))


def _cosines(op: SchemaOp, b: CoreBuilder, *weights: float) -> SSAValue:
    """The sum of weight cos(2 pi k n / period) over weights k = 0, 1, ..."""
    line, period = _line(op, b)
    if line is None:
        return _ones(op, b)
    total = b.full([op.arg("window_length")], weights[0], f64)
    for turns, weight in enumerate(weights[1:], start=1):
        wave = b("cos", b("mul.Scalar", line, 2 * pi * turns / period))
        total = b("add.Tensor", total, b("mul.Scalar", wave, weight))
    return b.cast(total, element_of(op.results[0]))


@lowers("hann_window", "hann_window.periodic")
def hann(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1/2 - 1/2 cos."""
    return _cosines(op, b, 0.5, -0.5)


@lowers("hamming_window", "hamming_window.periodic")
@lowers("hamming_window.periodic_alpha", "hamming_window.periodic_alpha_beta")
def hamming(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """alpha - beta cos."""
    return _cosines(op, b, _option(op, "alpha", 0.54), -_option(op, "beta", 0.46))


@lowers("blackman_window", "blackman_window.periodic")
def blackman(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """0.42 - 0.5 cos + 0.08 cos of twice the angle."""
    return _cosines(op, b, 0.42, -0.5, 0.08)


@lowers("bartlett_window", "bartlett_window.periodic")
def bartlett(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """1 - |2n / period - 1|: a triangle."""
    line, period = _line(op, b)
    if line is None:
        return _ones(op, b)
    away = b("abs", b("add.Scalar", b("mul.Scalar", line, 2 / period), -1.0))
    return b.cast(b("add.Scalar", b("neg", away), 1.0), element_of(op.results[0]))


@lowers("kaiser_window", "kaiser_window.periodic", "kaiser_window.beta")
def kaiser(op: SchemaOp, b: CoreBuilder) -> SSAValue:
    """i0(beta sqrt(1 - (2n / period - 1)^2)) / i0(beta)."""
    line, period = _line(op, b)
    if line is None:
        return _ones(op, b)
    beta = float(_option(op, "beta", 12.0))
    away = b("add.Scalar", b("mul.Scalar", line, 2 / period), -1.0)
    height = b("add.Scalar", b("neg", b("mul.Tensor", away, away)), 1.0)
    height = b("clamp", height, 0.0)
    shape = b("i0", b("mul.Scalar", b("sqrt", height), beta))
    scaled = b("div.Tensor", shape, b("i0", b.full([], beta, f64)))
    return b.cast(scaled, element_of(op.results[0]))
