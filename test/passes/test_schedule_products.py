"""Matrix products, their epilogues and attention, run natively and compared with NumPy."""

from collections.abc import Callable
from itertools import product
from math import erf
from typing import Any

import numpy as np
import pytest

import lamina

pytestmark = pytest.mark.one_in(3)

Build = Any
Execute = Callable[..., list[np.ndarray]]
SIZES = (1, 2, 3, 5, 8, 13, 16, 17, 33, 64, 100, 129)
rng = np.random.default_rng(13)


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def agree(got: np.ndarray, wanted: np.ndarray, tolerance: float = 2e-5) -> None:
    assert got.shape == wanted.shape
    scale = max(1.0, float(np.abs(wanted).max(initial=0)))
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)


def axes(dims: str, sizes: dict[str, int]) -> tuple[int, ...]:
    return tuple(sizes[d] for d in dims)


def contract(
    build: Build, execute: Execute, left: str, right: str, out: str, sizes: dict[str, int]
) -> None:
    """Run the contraction that einsum calls `left,right->out` and compare."""
    order = out + "".join(d for d in sizes if d not in out)
    domain = ",".join(f"{d}={sizes[d]}" for d in order)
    a, b = build.argument(axes(left, sizes)), build.argument(axes(right, sizes))
    result = build.product(
        domain, (a, ",".join(left)), (b, ",".join(right)), ",".join(out), axes(out, sizes)
    )
    x, y = floats(*axes(left, sizes)), floats(*axes(right, sizes))
    (got,) = execute(build.text(result), x, y)
    agree(got, np.einsum(f"{left},{right}->{out}", x, y))


CASES = list(product(SIZES, repeat=3))
rng.shuffle(CASES)


@pytest.mark.parametrize(("m", "n", "k"), sorted(CASES[:40]))
def test_sizes(build: Build, execute: Execute, m: int, n: int, k: int) -> None:
    contract(build, execute, "mk", "kn", "mn", {"m": m, "n": n, "k": k})


@pytest.mark.parametrize(
    ("left", "right", "out"), list(product(("mk", "km"), ("kn", "nk"), ("mn", "nm")))
)
@pytest.mark.parametrize("sizes", [(33, 17, 13), (5, 129, 64), (64, 8, 100)])
def test_layouts(
    build: Build, execute: Execute, left: str, right: str, out: str, sizes: tuple[int, int, int]
) -> None:
    contract(build, execute, left, right, out, dict(zip("mnk", sizes, strict=True)))


@pytest.mark.parametrize(
    ("left", "right", "out"),
    [
        ("bmk", "bkn", "bmn"),
        ("mbk", "nbk", "bmn"),
        ("bmk", "kn", "bmn"),
        ("mk", "bnk", "bmn"),
        ("bmkj", "bjkn", "bmn"),
        ("mjk", "jkn", "mn"),
        ("kjm", "njk", "nm"),
        ("bcmk", "cbkn", "bcmn"),
        ("bmk", "bk", "bm"),
        ("mk", "k", "m"),
        ("m", "n", "mn"),
        ("mk", "pnk", "pmn"),
    ],
)
@pytest.mark.parametrize("sizes", [(2, 3, 5, 19, 33, 7), (1, 2, 17, 40, 1, 3)])
def test_batches_and_several_summed_dims(
    build: Build,
    execute: Execute,
    left: str,
    right: str,
    out: str,
    sizes: tuple[int, ...],
) -> None:
    named = dict(zip("bcmnkj", sizes, strict=True)) | {"p": 3}
    used = {d: e for d, e in named.items() if d in left + right}
    contract(build, execute, left, right, out, used)


@pytest.mark.parametrize("element", ["f64", "f16", "i32", "i64"])
def test_element_types(build: Build, execute: Execute, element: str) -> None:
    a, b = build.argument((18, 9), element), build.argument((9, 21), element)
    result = build.product("m=18,n=21,k=9", (a, "m,k"), (b, "k,n"), "m,n", (18, 21))
    dtype = {"f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64}[element]
    x, y = (rng.integers(-9, 9, s).astype(dtype) for s in ((18, 9), (9, 21)))
    (got,) = execute(build.text(result), x, y)
    np.testing.assert_array_equal(got, (x.astype(np.float64) @ y).astype(dtype))


def test_larger_than_the_caches(build: Build, execute: Execute) -> None:
    contract(build, execute, "mk", "kn", "mn", {"m": 517, "n": 643, "k": 1031})


def test_transposed_rows_too_long_to_copy(build: Build, execute: Execute) -> None:
    contract(build, execute, "km", "kn", "mn", {"m": 16, "n": 128, "k": 40_000})


def test_nothing_to_sum(build: Build, execute: Execute) -> None:
    contract(build, execute, "mk", "kn", "mn", {"m": 8, "n": 16, "k": 0})


GELU = """%h = arith.constant 0.5 : f32
%o = arith.constant 1.0 : f32
%s = arith.constant 0.70710678 : f32
%x = arith.addf %p0, %p1 : f32
%y = arith.mulf %x, %s : f32
%e = math.erf %y : f32
%f = arith.addf %e, %o : f32
%g = arith.mulf %x, %h : f32
%v = arith.mulf %g, %f : f32
loop.yield %v : f32"""


@pytest.mark.parametrize(("m", "n", "k"), [(1, 5, 3), (7, 129, 33), (64, 64, 16), (130, 20, 40)])
def test_bias_and_gelu(build: Build, execute: Execute, m: int, n: int, k: int) -> None:
    a, b, bias = build.argument((m, k)), build.argument((k, n)), build.argument((n,))
    made = build.product(f"m={m},n={n},k={k}", (a, "m,k"), (b, "k,n"), "m,n", (m, n))
    reads = [(made, "m,n"), (bias, "n")]
    (result,) = build.nest(f"m={m},n={n}", reads, [("m,n", "store", (m, n), "f32")], GELU)
    x, y, z = floats(m, k), floats(k, n), floats(n)
    plain, got = execute(build.text(made, result), x, y, z)
    wanted = x @ y + z
    agree(plain, x @ y)
    agree(got, wanted * 0.5 * (1 + np.vectorize(erf)(wanted * np.sqrt(0.5))))


@pytest.mark.parametrize(("m", "n", "k"), [(9, 21, 8), (70, 100, 33), (33, 640, 16), (12, 9000, 8)])
def test_softmax_over_whole_rows(build: Build, execute: Execute, m: int, n: int, k: int) -> None:
    a, b = build.argument((m, k)), build.argument((n, k))
    made = build.product(f"m={m},n={n},k={k}", (a, "m,k"), (b, "n,k"), "m,n", (m, n))
    x, y = floats(m, k), floats(n, k)
    (got,) = execute(build.text(build.softmax(made)), x, y)
    scores = x @ y.T
    raised = np.exp(scores - scores.max(1, keepdims=True))
    agree(got, raised / raised.sum(1, keepdims=True), 1e-4)


@pytest.mark.parametrize(
    ("heads", "rows", "others", "width"), [(1, 5, 5, 8), (3, 17, 33, 32), (4, 64, 64, 16)]
)
def test_attention(
    build: Build, execute: Execute, heads: int, rows: int, others: int, width: int
) -> None:
    """Two products with softmax between them; heads stay interleaved in the features."""
    features = heads * width
    q, k, v = (build.argument((n, features)) for n in (rows, others, others))
    domain = f"h={heads},s={rows},t={others},d={width}"
    place = f"h * {width} + d"
    shape = (heads, rows, others)
    scores = build.product(domain, (q, f"s, {place}"), (k, f"t, {place}"), "h,s,t", shape)
    domain = f"h={heads},s={rows},d={width},t={others}"
    weights = build.softmax(scores)
    result = build.product(
        domain, (weights, "h,s,t"), (v, f"t, {place}"), f"s, {place}", (rows, features)
    )
    arrays = [floats(n, features) for n in (rows, others, others)]
    (got,) = execute(build.text(result), *arrays)
    by_head = [x.reshape(-1, heads, width).transpose(1, 0, 2) for x in arrays]
    scored = by_head[0] @ by_head[1].transpose(0, 2, 1)
    raised = np.exp(scored - scored.max(-1, keepdims=True))
    mixed = (raised / raised.sum(-1, keepdims=True)) @ by_head[2]
    agree(got, mixed.transpose(1, 0, 2).reshape(rows, features), 1e-4)


def test_product_with_a_merged_result_axis(build: Build, execute: Execute) -> None:
    """Rows that are inner dims of the kernel, and a reader of single elements."""
    a, b, c = build.argument((33, 17)), build.argument((33, 5)), build.argument((33,))
    made = build.product("m=17,n=5,k=33", (a, "k,m"), (b, "k,n"), "5 * m + n", (85,))
    body = "%v = arith.addf %p0, %p1 : f32\nloop.yield %v : f32"
    writes = [("i", "store", (33,), "f32")]
    (result,) = build.nest("i=33", [(c, "i"), (made, "31")], writes, body)
    x, y, z = floats(33, 17), floats(33, 5), floats(33)
    (got,) = execute(build.text(result), x, y, z)
    agree(got, z + (x.T @ y).ravel()[31])


@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels", [(3, 8), (16, 33)])
@pytest.mark.parametrize("size", [3, 9])
def test_convolution(
    build: Build, execute: Execute, padding: int, stride: int, channels: tuple[int, int], size: int
) -> None:
    """Padded reads are on the packed side, or on the row side once the image has shrunk to 1x1."""
    inputs, outputs = channels
    reach = (size + 2 * padding - 3) // stride + 1
    image, weight = build.argument((5, inputs, size, size)), build.argument((outputs, inputs, 3, 3))
    domain = f"n=5,o={outputs},y={reach},x={reach},c={inputs},h=3,w=3"
    index = f"n, c, {stride} * y + h - {padding}, {stride} * x + w - {padding}"
    read = (image, index, "0.0 : f32") if padding else (image, index)
    shape = (5, outputs, reach, reach)
    result = build.product(domain, read, (weight, "o,c,h,w"), "n,o,y,x", shape)
    pixels, kernel = floats(5, inputs, size, size), floats(outputs, inputs, 3, 3)
    (got,) = execute(build.text(result), pixels, kernel)
    around = np.pad(pixels, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), axis=(2, 3))
    agree(got, np.einsum("ncyxhw,ochw->noyx", windows[:, :, ::stride, ::stride], kernel))


def test_padded_row_operand(build: Build, execute: Execute) -> None:
    a, b = build.argument((14, 8)), build.argument((8, 32))
    left = (a, "m - 1, k", "0.5 : f32")
    result = build.product("m=16,n=32,k=8", left, (b, "k,n"), "m,n", (16, 32))
    x, y = floats(14, 8), floats(8, 32)
    (got,) = execute(build.text(result), x, y)
    agree(got, np.pad(x, ((1, 1), (0, 0)), constant_values=0.5) @ y)


def test_constant_weights_are_packed_once(build: Build) -> None:
    kind = '{lamina.kind = "parameter", lamina.name = "w"}'
    a, b = build.argument((3, 40)), build.argument((70, 40), "f32", kind)
    result = build.product("m=3,n=70,k=40", (a, "m,k"), (b, "n,k"), "m,n", (3, 70))
    x, y = floats(3, 40), floats(70, 40)
    compiled = lamina.compile(build.text(result), constants={"w": y}, cache=False)
    assert "func.func @setup" in compiled.ir("scheduled")
    agree(compiled(x), x @ y.T)
    agree(compiled(2 * x), 2 * x @ y.T)


def test_epilogue_that_reads_another_column(build: Build, execute: Execute) -> None:
    """Such an epilogue cannot run panel by panel."""
    a, b = build.argument((129, 66)), build.argument((66, 100))
    made = build.product("m=129,n=100,k=66", (a, "m,k"), (b, "k,n"), "m,n", (129, 100))
    body = "%v = arith.subf %p0, %p1 : f32\nloop.yield %v : f32"
    writes = [("m,n", "store", (129, 100), "f32")]
    (fixed,) = build.nest("m=129,n=100", [(made, "m,n"), (made, "m,82")], writes, body)
    (turned,) = build.nest("m=129,n=100", [(made, "m,n"), (made, "m,99 - n")], writes, body)
    x, y = floats(129, 66), floats(66, 100)
    by_column, reversed_ = execute(build.text(fixed, turned), x, y)
    wanted = x @ y
    agree(by_column, wanted - wanted[:, 82:83])
    agree(reversed_, wanted - wanted[:, ::-1])
