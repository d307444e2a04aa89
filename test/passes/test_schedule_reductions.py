"""Reductions through the whole loop pipeline, run natively and compared with NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lamina.dialects.errors import UnsupportedError

pytestmark = pytest.mark.one_in(3)

Build = Any
Execute = Callable[..., list[np.ndarray]]
DTYPES = {"i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64}
DTYPES |= {"f16": np.float16, "f32": np.float32, "f64": np.float64}
REFERENCE = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
}
rng = np.random.default_rng(12)


def sample(shape: tuple[int, ...], element: str = "f32") -> np.ndarray:
    dtype = np.dtype(DTYPES[element])
    if dtype.kind == "b":
        return rng.random(shape) > 0.7
    if dtype.kind == "i":
        return rng.integers(-5, 6, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def agree(got: np.ndarray, wanted: np.ndarray, tolerance: float = 1e-5) -> None:
    assert got.shape == wanted.shape
    if wanted.dtype.kind == "f":
        scale = max(1.0, float(np.abs(wanted).max(initial=0)))
        np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("element", "combiner"),
    [("f32", c) for c in ("add", "mul", "max", "min")]
    + [("f64", "add"), ("f64", "min"), ("f16", "max"), ("i8", "max"), ("i8", "add")]
    + [("i32", c) for c in ("add", "mul", "max", "min", "and", "or")]
    + [("i64", c) for c in ("add", "max", "and")]
    + [("i1", c) for c in ("and", "or", "max", "min")],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_combiners(build: Build, execute: Execute, element: str, combiner: str, axis: int) -> None:
    lengths = (1, 2, 7, 16, 37, 70)
    results, arrays, expected = [], [], []
    for length in lengths:
        shape = (3, length) if axis else (length, 5)
        x = build.argument(shape, element)
        domain = f"i={shape[0]},j={shape[1]}"
        kept = "i" if axis else "j"
        results.append(build.reduce(combiner, x, domain, "i,j", kept, (shape[1 - axis],)))
        arrays.append(sample(shape, element))
        function = REFERENCE[combiner]
        expected.append(function.reduce(arrays[-1], axis=axis, dtype=arrays[-1].dtype))
    for got, wanted in zip(execute(build.text(*results), *arrays), expected, strict=True):
        agree(got, wanted)


@pytest.mark.parametrize("combiner", ["max", "min", "add"])
@pytest.mark.parametrize("position", [0, 5, 36])
def test_nan_reaches_the_result(
    build: Build, execute: Execute, combiner: str, position: int
) -> None:
    x = build.argument((3, 37))
    rows = build.reduce(combiner, x, "i=3,j=37", "i,j", "i", (3,))
    columns = build.reduce(combiner, x, "i=3,j=37", "i,j", "j", (37,))
    array = sample((3, 37))
    array[1, position] = np.nan
    by_row, by_column = execute(build.text(rows, columns), array)
    np.testing.assert_array_equal(np.isnan(by_row), [False, True, False])
    np.testing.assert_array_equal(np.isnan(by_column), np.arange(37) == position)


@pytest.mark.parametrize(
    ("write", "axes"),
    [
        ("", (0, 1, 2, 3)),
        ("i", (1, 2, 3)),
        ("l", (0, 1, 2)),
        ("j", (0, 2, 3)),
        ("i,l", (1, 2)),
        ("j,k", (0, 3)),
        ("i,k", (1, 3)),
        ("i,j,l", (2,)),
    ],
)
@pytest.mark.parametrize("shape", [(3, 5, 4, 19), (2, 1, 33, 16)])
def test_reduced_dims_anywhere(
    build: Build, execute: Execute, shape: tuple[int, ...], write: str, axes: tuple[int, ...]
) -> None:
    x = build.argument(shape)
    domain = ",".join(f"{d}={e}" for d, e in zip("ijkl", shape, strict=True))
    kept = tuple(e for a, e in enumerate(shape) if a not in axes)
    total = build.reduce("add", x, domain, "i,j,k,l", write, kept)
    top = build.reduce("max", x, domain, "i,j,k,l", write, kept)
    array = sample(shape)
    added, highest = execute(build.text(total, top), array)
    agree(added, array.sum(axis=axes))
    agree(highest, array.max(axis=axes))


def test_several_accumulators_in_one_nest(build: Build, execute: Execute) -> None:
    x = build.argument((9, 133))
    body = "%s = arith.mulf %p0, %p0 : f32\nloop.yield %p0, %s, %s : f32, f32, f32"
    writes = [
        ("i", "add", (9,), "f32"),
        ("i,j", "store", (9, 133), "f32"),
        ("i", "max", (9,), "f32"),
    ]
    results = build.nest("i=9,j=133", [(x, "i,j")], writes, body)
    array = sample((9, 133))
    total, squares, top = execute(build.text(*results), array)
    agree(total, array.sum(1))
    agree(squares, array**2)
    agree(top, (array**2).max(1))


def test_one_of_two_results_is_not_used(build: Build, execute: Execute) -> None:
    x = build.argument((6, 5, 21))
    body = "loop.yield %p0, %p0 : f32, f32"
    writes = [("i,k", "add", (6, 21), "f32"), ("i,k", "max", (6, 21), "f32")]
    _, top = build.nest("i=6,j=5,k=21", [(x, "i,j,k")], writes, body)
    array = sample((6, 5, 21))
    (got,) = execute(build.text(top), array)
    agree(got, array.max(1))


def test_stored_and_summed_by_column(build: Build, execute: Execute) -> None:
    x = build.argument((5, 37))
    writes = [("i,j", "store", (5, 37), "f32"), ("j", "add", (37,), "f32")]
    results = build.nest("i=5,j=37", [(x, "i,j")], writes, "loop.yield %p0, %p0 : f32, f32")
    array = sample((5, 37))
    copy, total = execute(build.text(*results), array)
    agree(copy, array)
    agree(total, array.sum(0))


@pytest.mark.parametrize("shape", [(16, 65), (33, 130), (67, 2049), (19, 5000), (2, 35, 200)])
@pytest.mark.parametrize(
    ("element", "combiner"),
    [("f32", "add"), ("f32", "max"), ("f64", "min"), ("i32", "add"), ("i1", "or")],
)
def test_rows_are_added_in_streams(
    build: Build, execute: Execute, shape: tuple[int, ...], element: str, combiner: str
) -> None:
    """Columns that fill more than a block of registers, with rows and columns left over."""
    x = build.argument(shape, element)
    names = "hij"[-len(shape) :]
    domain = ",".join(f"{d}={e}" for d, e in zip(names, shape, strict=True))
    result = build.reduce(combiner, x, domain, ",".join(names), "j", shape[-1:])
    array = sample(shape, element)
    (got,) = execute(build.text(result), array)
    axes = tuple(range(len(shape) - 1))
    agree(got, REFERENCE[combiner].reduce(array, axis=axes, dtype=array.dtype))


def test_streams_read_rows_and_scalars(build: Build, execute: Execute) -> None:
    """What a row shares is read once for each stream; two totals; a copy of what is read."""
    x, weight = build.argument((37, 150)), build.argument((37,))
    body = "%s = arith.mulf %p0, %p1 : f32\nloop.yield %s, %p0, %s : f32, f32, f32"
    writes = [("j", "add", (150,), "f32"), ("j", "max", (150,), "f32")]
    writes += [("i,j", "store", (37, 150), "f32")]
    results = build.nest("i=37,j=150", [(x, "i,j"), (weight, "i")], writes, body)
    array, factors = sample((37, 150)), sample((37,))
    total, top, product = execute(build.text(*results), array, factors)
    agree(total, factors @ array)
    agree(top, array.max(0))
    agree(product, factors[:, None] * array)


@pytest.mark.parametrize("shape", [(64, 9000), (34, 20011), (67, 9000)])
def test_far_rows_are_reduced_together(
    build: Build, execute: Execute, shape: tuple[int, int]
) -> None:
    """Four rows at once, two, or one: what divides their count; with lanes left over."""
    x = build.argument(shape)
    domain = f"i={shape[0]},j={shape[1]}"
    writes = [("i", "add", shape[:1], "f32"), ("i", "max", shape[:1], "f32")]
    total, top = build.nest(domain, [(x, "i,j")], writes, "loop.yield %p0, %p0 : f32, f32")
    halved = build.pointwise("arith.mulf %p0, %p0 : f32", total)
    array = sample(shape)
    got_total, got_top, got_square = execute(build.text(total, top, halved), array)
    wanted = array.sum(1, dtype=np.float64)
    agree(got_total, wanted)
    agree(got_top, array.max(1))
    agree(got_square, wanted**2)


def test_parts_of_rows_are_joined(build: Build, execute: Execute) -> None:
    x = build.argument((2048, 520))
    result = build.reduce("add", x, "i=2048,j=520", "i,j", "j", (520,))
    array = sample((2048, 520))
    (got,) = execute(build.text(result), array)
    agree(got, array.sum(0, dtype=np.float64))


def test_reductions_over_different_dims_are_refused(build: Build, execute: Execute) -> None:
    x = build.argument((5, 7))
    writes = [("i", "add", (5,), "f32"), ("j", "add", (7,), "f32")]
    results = build.nest("i=5,j=7", [(x, "i,j")], writes, "loop.yield %p0, %p0 : f32, f32")
    with pytest.raises(UnsupportedError, match="different dimensions"):
        execute(build.text(*results), sample((5, 7)))


@pytest.mark.parametrize(
    ("combiner", "value"), [("add", 0), ("mul", 1), ("max", -np.inf), ("min", np.inf)]
)
def test_reduction_over_nothing(
    build: Build, execute: Execute, combiner: str, value: float
) -> None:
    x = build.argument((3, 0))
    result = build.reduce(combiner, x, "i=3,j=0", "i,j", "i", (3,))
    doubled = build.pointwise("arith.addf %p0, %p0 : f32", result)
    one, two = execute(build.text(result, doubled), sample((3, 0)))
    np.testing.assert_array_equal(one, np.full(3, value))
    np.testing.assert_array_equal(two, np.full(3, value) * 2)


def test_sum_of_padded_windows(build: Build, execute: Execute) -> None:
    x = build.argument((2, 9, 11))
    body = "loop.yield %p0 : f32"
    writes = [("c,i,j", "max", (2, 5, 6), "f32")]
    reads = [(x, "c, 2 * i + h - 1, 2 * j + w - 1", "-1.0e30 : f32")]
    (result,) = build.nest("c=2,i=5,j=6,h=3,w=3", reads, writes, body)
    array = sample((2, 9, 11))
    (got,) = execute(build.text(result), array)
    around = np.pad(array, ((0, 0), (1, 1), (1, 1)), constant_values=-1e30)
    windows = np.lib.stride_tricks.sliding_window_view(around, (3, 3), axis=(1, 2))[:, ::2, ::2]
    agree(got, windows.max((3, 4)))


@pytest.mark.parametrize("shape", [(1, 1), (1, 300), (7, 33), (64, 17), (300, 130)])
def test_softmax(build: Build, execute: Execute, shape: tuple[int, int]) -> None:
    x = build.argument(shape)
    array = sample(shape) * 10
    (got,) = execute(build.text(build.softmax(x)), array)
    raised = np.exp(array - array.max(1, keepdims=True))
    agree(got, raised / raised.sum(1, keepdims=True))


@pytest.mark.parametrize("shape", [(36, 2, 1), (20, 200, 129, 1), (3, 4, 5, 6), (2, 3, 70)])
def test_softmax_with_more_axes(build: Build, execute: Execute, shape: tuple[int, ...]) -> None:
    """Axes that every nest walks as one are joined; what they share must have room for all."""
    x = build.argument(shape)
    array = sample(shape)
    (got,) = execute(build.text(build.softmax(x)), array)
    raised = np.exp(array - array.max(-1, keepdims=True))
    agree(got, raised / raised.sum(-1, keepdims=True))


@pytest.mark.parametrize("width", [5, 64, 769])
def test_layer_norm(build: Build, execute: Execute, width: int) -> None:
    shape = (50, width)
    x, scale = build.argument(shape), build.argument((width,))
    domain = f"i=50,j={width}"
    sums = build.nest(
        domain,
        [(x, "i,j")],
        [("i", "add", (50,), "f32"), ("i", "add", (50,), "f32")],
        "%q = arith.mulf %p0, %p0 : f32\nloop.yield %p0, %q : f32, f32",
    )
    body = f"""%n = arith.constant {1 / width:e} : f32
    %e = arith.constant 1.0e-5 : f32
    %m = arith.mulf %p1, %n : f32
    %s = arith.mulf %p2, %n : f32
    %t = arith.mulf %m, %m : f32
    %u = arith.subf %s, %t : f32
    %w = arith.addf %u, %e : f32
    %r = math.rsqrt %w : f32
    %c = arith.subf %p0, %m : f32
    %d = arith.mulf %c, %r : f32
    %v = arith.mulf %d, %p3 : f32
    loop.yield %v : f32"""
    reads = [(x, "i,j"), (sums[0], "i"), (sums[1], "i"), (scale, "j")]
    (result,) = build.nest(domain, reads, [("i,j", "store", shape, "f32")], body)
    array, weights = sample(shape), sample((width,))
    (got,) = execute(build.text(result), array, weights)
    centred = array - array.mean(1, keepdims=True)
    agree(got, centred / np.sqrt(array.var(1, keepdims=True) + 1e-5) * weights, 1e-4)


def test_rows_too_long_for_scratch(build: Build, execute: Execute) -> None:
    shape = (2, 400_000)
    x = build.argument(shape)
    array = sample(shape)
    (got,) = execute(build.text(build.softmax(x)), array)
    raised = np.exp(array.astype(np.float64) - array.max(1, keepdims=True))
    agree(got, raised / raised.sum(1, keepdims=True))


@pytest.mark.parametrize("shape", [(300, 8), (77, 513), (1000, 130), (4, 3, 700)])
def test_columns_are_reduced_side_by_side(
    build: Build, execute: Execute, shape: tuple[int, ...]
) -> None:
    x = build.argument(shape)
    dims = "ijk"[: len(shape)]
    domain = ",".join(f"{d}={e}" for d, e in zip(dims, shape, strict=True))
    index, kept = ",".join(dims), ",".join(d for d in dims if d != dims[-2])
    left = shape[:-2] + shape[-1:]
    total = build.reduce("add", x, domain, index, kept, left)
    top = build.reduce("max", x, domain, index, kept, left)
    body = "%v = arith.subf %p0, %p1 : f32\nloop.yield %v : f32"
    writes = [(index, "store", shape, "f32")]
    (below,) = build.nest(domain, [(x, index), (top, kept)], writes, body)
    array = sample(shape)
    added, difference = execute(build.text(total, below), array)
    agree(added, array.sum(-2), 1e-4)
    agree(difference, array - array.max(-2, keepdims=True))


@pytest.mark.parametrize(
    "shape", [(700, 300), (3, 900, 101), (2100, 45), (9000, 3), (2, 30, 7, 99)]
)
def test_softmax_over_an_outer_axis(build: Build, execute: Execute, shape: tuple[int, ...]) -> None:
    """Columns are taken in as many tasks as their scratch needs."""
    dims = "ijkl"[: len(shape)]
    axis = len(shape) - 2 if len(shape) < 4 else 1
    domain = ",".join(f"{d}={e}" for d, e in zip(dims, shape, strict=True))
    index, kept = ",".join(dims), ",".join(d for d in dims if d != dims[axis])
    left = shape[:axis] + shape[axis + 1 :]
    x = build.argument(shape)
    top = build.reduce("max", x, domain, index, kept, left)
    stored = [(index, "store", shape, "f32")]
    body = "%u = arith.subf %p0, %p1 : f32\n%v = math.exp %u : f32\nloop.yield %v : f32"
    (raised,) = build.nest(domain, [(x, index), (top, kept)], stored, body)
    total = build.reduce("add", raised, domain, index, kept, left)
    body = "%v = arith.divf %p0, %p1 : f32\nloop.yield %v : f32"
    (result,) = build.nest(domain, [(raised, index), (total, kept)], stored, body)
    array = sample(shape)
    (got,) = execute(build.text(result), array)
    powers = np.exp(array - array.max(axis, keepdims=True))
    agree(got, powers / powers.sum(axis, keepdims=True))


def normalizer(build: Build, shape: tuple[int, int], element: str) -> str:
    """The program that gives each row's maximum and the sum of exponentials less it."""
    x = build.argument(shape, element)
    domain, row = f"i={shape[0]}, j={shape[1]}", shape[:1]
    top = build.reduce("max", x, domain, "i, j", "i", row)
    body = f"%u = arith.subf %p0, %p1 : {element}\n%v = math.exp %u : {element}"
    total = build.nest(
        domain,
        [(x, "i, j"), (top, "i")],
        [("i", "add", row, element)],
        f"{body}\nloop.yield %v : {element}",
    )[0]
    return build.text(top, total)


@pytest.mark.parametrize("length", [1024, 1031, 2100])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_a_running_maximum(build: Build, execute: Execute, length: int, element: str) -> None:
    """Rows that rise, fall, are masked, are large, or have no finite maximum."""
    dtype = np.float32 if element == "f32" else np.float64
    steps = np.arange(length, dtype=dtype)
    x = (4 * rng.standard_normal((20, length))).astype(dtype)
    x[1], x[2], x[3], x[4] = steps, -steps, steps * 1e-3, 0
    x[5, : length // 2], x[6, length // 2 :], x[7] = -np.inf, -np.inf, -np.inf
    x[8, 3], x[9, -1], x[10, 5], x[11, -1] = np.nan, np.nan, np.inf, np.inf
    x[12], x[13], x[14] = np.finfo(dtype).max, -np.finfo(dtype).max, x[14] * 1e6
    x[15, -1], x[16, 0], x[17] = 1000, 1000, x[17] + 1e4
    with np.errstate(invalid="ignore", over="ignore"):
        top = x.max(1)
        total = np.exp((x - top[:, None]).astype(np.float64)).sum(1)
    got_top, got_total = execute(normalizer(build, (20, length), element), x)
    np.testing.assert_array_equal(got_top, top)
    np.testing.assert_allclose(got_total, total, rtol=2e-6 if element == "f32" else 1e-13)
