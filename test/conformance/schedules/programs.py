"""Small programs whose kernels, together, are of every class that `choose-schedule` knows.

Extents are such that tiles, vectors and blocks leave something over.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from xdsl.dialects.builtin import bf16, f32, f64, i8, i32, i64

from lamina.frontends.builder import ProgramBuilder

Build = Callable[[ProgramBuilder], None]
ROWS = (37, 70)


def _unary(name: str, p: ProgramBuilder, *, shape: Any = ROWS, element: Any = f32, **given: Any):
    found = p.op(name, p.input("x", shape, element), **given)
    p.output(*(found if isinstance(found, tuple) else (found,)))


def _chain(p: ProgramBuilder, element: Any = f32) -> None:
    x, y = p.input("x", ROWS, element), p.input("y", (70,), element)
    p.output(p.op("sigmoid.default", p.op("mul.Tensor", x, y)))


def _bytes(p: ProgramBuilder) -> None:
    x, y = p.input("x", (5, 203), i8), p.input("y", (5, 203), i8)
    p.output(p.op("add.Tensor", p.op("mul.Tensor", x, y), y))


def _turned(p: ProgramBuilder) -> None:
    x, y = p.input("x", ROWS), p.input("y", ROWS[::-1])
    p.output(p.op("mul.Tensor", p.op("t.default", x), y))


def _softmax_added(p: ProgramBuilder) -> None:
    x, y = p.input("x", ROWS), p.input("y", ROWS)
    p.output(p.op("add.Tensor", p.op("softmax.int", x, dim=1), y))


def _layer_norm(p: ProgramBuilder) -> None:
    x, w, b = p.input("x", ROWS), p.input("w", (70,)), p.input("b", (70,))
    p.output(p.op("layer_norm.default", x, [70], w, b))


def _normed_gradient(p: ProgramBuilder) -> None:
    """Sums over the rows of a kernel beside results of each row."""
    x, g, w = p.input("x", ROWS), p.input("g", ROWS), p.input("w", (70,))
    mean = p.op("mean.dim", x, [1], keepdim=True)
    away = p.op("sub.Tensor", x, mean)
    scaled = p.op("mul.Tensor", away, g)
    row = p.op("sum.dim_IntList", scaled, [1], keepdim=True)
    p.output(p.op("mul.Tensor", p.op("sub.Tensor", g, row), w))
    p.output(p.op("sum.dim_IntList", scaled, [0]))
    p.output(p.op("sum.dim_IntList", g, [0]))


def _cross_entropy(p: ProgramBuilder) -> None:
    x, labels = p.input("x", ROWS), p.input("labels", (37,), i64)
    wrapped = p.op("remainder.Scalar", labels, 70)
    p.output(p.op("cross_entropy_loss.default", x, wrapped, reduction=0))


def _row_sums(p: ProgramBuilder) -> None:
    x, y = p.input("x", (64, 70)), p.input("y", (64, 70))
    p.output(p.op("sum.dim_IntList", p.op("mul.Tensor", x, y), [1]))


def _column_sums(p: ProgramBuilder) -> None:
    x, y = p.input("x", ROWS), p.input("y", ROWS)
    p.output(p.op("sum.dim_IntList", p.op("mul.Tensor", x, y), [0]))


def _product(p: ProgramBuilder, *, rows: int = 37, terms: int = 70, columns: int = 85) -> None:
    x, y = p.input("x", (rows, terms)), p.input("y", (terms, columns))
    p.output(p.op("relu.default", p.op("mm.default", x, y)))


def _linear(p: ProgramBuilder, *, rows: int = 37, element: Any = f32) -> None:
    x = p.input("x", (rows, 64), element)
    w, b = p.parameter("w", (85, 64), element), p.parameter("b", (85,), element)
    p.output(p.op("gelu.default", p.op("linear.default", x, w, b)))


def _product_softmax(p: ProgramBuilder) -> None:
    x, w = p.input("x", (37, 70)), p.parameter("w", (85, 70))
    p.output(p.op("softmax.int", p.op("linear.default", x, w), dim=1))


def _normed_product(p: ProgramBuilder) -> None:
    """Rows are made in front of a product, and added and normed behind it."""
    x, w = p.input("x", (37, 64)), p.parameter("w", (64, 64))
    row = p.op("layer_norm.default", x, [64])
    y = p.op("add.Tensor", p.op("linear.default", row, w), x)
    p.output(p.op("layer_norm.default", y, [64]))


def _batches(p: ProgramBuilder) -> None:
    x, y = p.input("x", (3, 19, 33)), p.input("y", (3, 33, 40))
    p.output(p.op("bmm.default", x, y))


def _attention(
    p: ProgramBuilder, *, keys: int = 150, queries: int | None = None, causal: bool = False
) -> None:
    q = p.input("q", (1, 2, queries or keys, 32))
    k, v = p.input("k", (1, 2, keys, 32)), p.input("v", (1, 2, keys, 32))
    attention = "scaled_dot_product_attention.default"
    p.output(p.op(attention, q, k, v, is_causal=causal))


def _convolution(
    p: ProgramBuilder,
    *,
    channels: tuple[int, int] = (3, 10),
    size: int = 3,
    step: int = 1,
    groups: int = 1,
    transposed: bool = False,
    image: int = 19,
    element: Any = f32,
) -> None:
    ins, outs = channels
    shape = (ins, outs // groups) if transposed else (outs, ins // groups)
    x = p.input("x", (1, ins, image, image), element)
    w = p.parameter("w", (*shape, size, size), element)
    b = p.parameter("b", (outs,), element)
    pad = [size // 2] * 2
    y = p.op("convolution.default", x, w, b, [step] * 2, pad, [1, 1], transposed, [0, 0], groups)
    p.output(p.op("relu.default", y))


def _convolution_pooled(p: ProgramBuilder) -> None:
    x, w = p.input("x", (1, 8, 20, 20)), p.parameter("w", (8, 1, 3, 3))
    y = p.op("convolution.default", x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 8)
    p.output(p.op("avg_pool2d.default", p.op("relu.default", y), [2, 2]))


def _blurred(p: ProgramBuilder) -> None:
    """A chain of windows, of which the first may be computed by slices of the second."""
    x = p.input("x", (4, 40, 64))
    y = p.op("avg_pool2d.default", p.op("exp.default", x), [3, 3], [1, 1])
    p.output(p.op("avg_pool2d.default", y, [3, 3], [1, 1]))


def _scattered(p: ProgramBuilder) -> None:
    x, i, s = p.input("x", (50, 20)), p.input("i", (37, 20), i64), p.input("s", (37, 20))
    p.output(p.op("scatter_add.default", x, 0, p.op("remainder.Scalar", i, 50), s))


def _embedded(p: ProgramBuilder) -> None:
    table, i = p.input("table", (50, 20)), p.input("i", (7, 9), i64)
    p.output(p.op("embedding.default", table, p.op("remainder.Scalar", i, 50)))


def _bags(p: ProgramBuilder) -> None:
    table, i = p.input("table", (50, 20)), p.input("i", (63,), i64)
    starts = p.op("arange.start_step", 0, 63, 9, dtype=i64)
    p.output(p.op("embedding_bag.default", table, p.op("remainder.Scalar", i, 50), starts)[0])


def _rows_that_count(p: ProgramBuilder) -> None:
    """Their number follows from data."""
    x, w = p.input("x", (90,)), p.parameter("w", (40, 16))
    found = p.op("nonzero.default", p.op("gt.Scalar", x, 0.0))
    rows = p.op("mul.Tensor", p.op("to.dtype", found, f32), p.input("y", (1, 16)))
    p.output(p.op("relu.default", p.op("linear.default", rows, w)))


def _complex_rows(p: ProgramBuilder) -> None:
    x, y = p.input("x", (*ROWS, 2)), p.input("y", (*ROWS, 2))
    a, b = (p.op("view_as_complex.default", v) for v in (x, y))
    p.output(p.op("view_as_real.default", p.op("mul.Tensor", a, b)))


def _fourier(p: ProgramBuilder, *, size: int = 70) -> None:
    x = p.input("x", (5, size))
    p.output(p.op("view_as_real.default", p.op("fft_rfft.default", x)))


PROGRAMS: dict[str, Build] = {
    "chain": _chain,
    "chain of bf16": partial(_chain, element=bf16),
    "bytes": _bytes,
    "transpose": _turned,
    "turned copy": partial(_unary, "sum.dim_IntList", shape=(3, 33, 40), dim=[1]),
    "complex": _complex_rows,
    "softmax": _softmax_added,
    "log_softmax": partial(_unary, "log_softmax.int", dim=1),
    "log_softmax of bf16": partial(_unary, "log_softmax.int", dim=1, element=bf16),
    "softmax of columns": partial(_unary, "softmax.int", dim=0),
    "layer_norm": _layer_norm,
    "gradient of a norm": _normed_gradient,
    "cross_entropy": _cross_entropy,
    "logsumexp": partial(_unary, "logsumexp.default", dim=[1]),
    "argmax": partial(_unary, "max.dim", dim=1),
    "argmax of columns": partial(_unary, "max.dim", dim=0),
    "variance": partial(_unary, "var_mean.correction", dim=[1]),
    "row sums": _row_sums,
    "sum of all": partial(_unary, "sum.default", shape=(13, 700)),
    "products of f64": partial(_unary, "prod.dim_int", dim=1, element=f64),
    "integer sums": partial(_unary, "sum.dim_IntList", dim=[0], element=i32),
    "column sums": _column_sums,
    "average pooling": partial(
        _unary, "avg_pool2d.default", shape=(1, 3, 20, 20), kernel_size=[3, 3], stride=[1, 1]
    ),
    "maximum pooling": partial(
        _unary,
        "max_pool2d.default",
        shape=(1, 3, 21, 21),
        kernel_size=[3, 3],
        stride=[2, 2],
        padding=[1, 1],
    ),
    "product": _product,
    "product of a row": partial(_product, rows=1, columns=300),
    "product of few rows": partial(_product, rows=4, terms=300, columns=64),
    "long product": partial(_product, rows=20, terms=3000, columns=50),
    "product in parts": partial(_product, rows=16, terms=2048, columns=16),
    "row in parts": partial(_product, rows=1, terms=2048, columns=300),
    "linear": _linear,
    "linear of bf16": partial(_linear, element=bf16),
    "linear of a few rows of bf16": partial(_linear, rows=3, element=bf16),
    "product and softmax": _product_softmax,
    "normed product": _normed_product,
    "batches": _batches,
    "attention": _attention,
    "causal attention": partial(_attention, causal=True),
    "short attention": partial(_attention, keys=20),
    "long attention": partial(_attention, queries=64, keys=2100),
    "convolution": _convolution,
    "strided convolution": partial(_convolution, step=2, channels=(16, 20)),
    "wide convolution": partial(_convolution, channels=(32, 33), image=12),
    "grouped convolution": partial(_convolution, groups=2, channels=(8, 12)),
    "depthwise convolution": partial(_convolution, groups=24, channels=(24, 24)),
    "depthwise convolution of bf16": partial(
        _convolution, groups=24, channels=(24, 24), element=bf16
    ),
    "transposed convolution": partial(_convolution, transposed=True, step=2, channels=(6, 10)),
    "convolution and pooling": _convolution_pooled,
    "pooling twice": _blurred,
    "scatter": _scattered,
    "embedding": _embedded,
    "bags": _bags,
    "rows that count": _rows_that_count,
    "sort": partial(_unary, "sort.default", dim=1),
    "long sort": partial(_unary, "sort.default", shape=(3, 2100), dim=1),
    "sort of columns": partial(_unary, "sort.default", dim=0),
    "few of a row": partial(_unary, "topk.default", k=5),
    "few of a long row": partial(_unary, "topk.default", k=7, shape=(3, 5000)),
    "many of a long row": partial(_unary, "topk.default", k=300, shape=(3, 5000)),
    "median": partial(_unary, "kthvalue.default", k=1200, shape=(3, 5000)),
    "running sums": partial(_unary, "cumsum.default", dim=1),
    "running sums of columns": partial(_unary, "cumsum.default", dim=0),
    "running maxima": partial(_unary, "cummax.default", dim=1),
    "fourier": _fourier,
    "fourier of 256": partial(_fourier, size=256),
    "fourier of a prime": partial(_fourier, size=67),
}
"""Each with its name; what it computes is in the builder's ops."""


def text_of(name: str) -> str:
    """The program of that name, at the `aten` layer."""
    program = ProgramBuilder()
    PROGRAMS[name](program)
    return str(program.module())
