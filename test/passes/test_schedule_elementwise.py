"""Pointwise nests through the whole loop pipeline, run natively and compared with NumPy."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lamina
import lamina.passes.schedule.choose_schedule as choose_schedule
import lamina.passes.schedule.peel as peel
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError, UnsupportedError

Build = Any
Execute = Callable[..., list[np.ndarray]]
DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i32": np.int32,
    "i64": np.int64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}
rng = np.random.default_rng(11)


def sample(shape: tuple[int, ...], element: str = "f32") -> np.ndarray:
    dtype = np.dtype(DTYPES[element])
    if dtype.kind == "b":
        return rng.random(shape) > 0.5
    if dtype.kind == "i":
        return rng.integers(-100, 100, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def test_every_tail_length(build: Build, execute: Execute) -> None:
    """Vectors of any width meet every remainder; one program, so that it stays quick."""
    results, arrays, expected = [], [], []
    for length in range(1, 71):
        x = build.argument((length,))
        results.append(build.pointwise("arith.mulf %p0, %p0 : f32", x))
        arrays.append(sample((length,)))
        expected.append(arrays[-1] ** 2)
    for got, wanted in zip(execute(build.text(*results), *arrays), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("element", ["i1", "i8"])
def test_every_tail_length_of_narrow_elements(build: Build, execute: Execute, element: str) -> None:
    """Vectors of bytes have up to 64 lanes."""
    results, arrays = [], []
    for length in range(1, 140):
        x = build.argument((length,), element)
        results.append(build.pointwise(f"arith.andi %p0, %p0 : {element}", x, element=element))
        arrays.append(sample((length,), element))
    for got, wanted in zip(execute(build.text(*results), *arrays), arrays, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(
    ("element", "op", "reference"),
    [
        ("i1", "arith.xori", np.logical_xor),
        ("i1", "arith.andi", np.logical_and),
        ("i8", "arith.addi", np.add),
        ("i32", "arith.muli", np.multiply),
        ("i64", "arith.maxsi", np.maximum),
        ("f16", "arith.addf", np.add),
        ("f32", "arith.minimumf", np.minimum),
        ("f64", "arith.divf", np.divide),
    ],
)
def test_element_types(
    build: Build, execute: Execute, element: str, op: str, reference: np.ufunc
) -> None:
    shape = (3, 37)
    x, y = build.argument(shape, element), build.argument(shape, element)
    result = build.pointwise(f"{op} %p0, %p1 : {element}", x, y)
    left, right = sample(shape, element), sample(shape, element)
    (got,) = execute(build.text(result), left, right)
    np.testing.assert_array_equal(got, reference(left, right))


@pytest.mark.parametrize("element", ["i8", "i32", "i64"])
def test_division_in_a_masked_tail_does_not_trap(
    build: Build, execute: Execute, element: str
) -> None:
    x, y = build.argument((19,), element), build.argument((19,), element)
    result = build.pointwise(f"arith.divsi %p0, %p1 : {element}", x, y)
    left = sample((19,), element)
    right = rng.integers(1, 9, 19).astype(left.dtype)
    (got,) = execute(build.text(result), left, right)
    np.testing.assert_array_equal(got, np.trunc(left / right).astype(left.dtype))


def test_bfloat16_converts_to_the_nearest(build: Build, execute: Execute) -> None:
    x = build.argument((37,), "bf16")
    body = """%u = arith.extf %p0 : bf16 to f32
    %w = math.exp %u : f32
    %t = arith.truncf %w : f32 to bf16
    loop.yield %w, %t : f32, bf16"""
    writes = [("i", "store", (37,), "f32"), ("i", "store", (37,), "bf16")]
    results = build.nest("i=37", [(x, "i")], writes, body)
    bits = (sample((37,)).view(np.uint32) >> 16).astype(np.uint16)
    wide, narrow = execute(build.text(*results), bits)
    values = (bits.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(wide, np.exp(values), rtol=1e-6)
    rounded = (narrow.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(rounded, wide, rtol=2.0**-8)


@pytest.mark.parametrize("extents", [(7, 5, 19), (2, 33, 1), (16, 16, 16)])
@pytest.mark.parametrize("order", ["i,j,k", "k,j,i", "j,i,k", "i,k,j"])
def test_rearranged_reads(
    build: Build, execute: Execute, extents: tuple[int, int, int], order: str
) -> None:
    sizes = dict(zip("ijk", extents, strict=True))
    shape = tuple(sizes[d] for d in order.split(","))
    x, row, one = build.argument(shape), build.argument((extents[1],)), build.argument(())
    body = """%u = arith.mulf %p0, %p1 : f32
    %v = arith.addf %u, %p2 : f32
    loop.yield %v : f32"""
    domain = ",".join(f"{d}={e}" for d, e in sizes.items())
    reads = [(x, order), (row, "j"), (one, "")]
    (result,) = build.nest(domain, reads, [("i,j,k", "store", extents, "f32")], body)
    arrays = sample(shape), sample((extents[1],)), np.float32(2.5).reshape(())
    (got,) = execute(build.text(result), *arrays)
    turned = np.einsum(f"{order.replace(',', '')}->ijk", arrays[0])
    np.testing.assert_allclose(got, turned * arrays[1][:, None] + 2.5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(5, 37), (32, 48)])
def test_transposed_write(build: Build, execute: Execute, shape: tuple[int, int]) -> None:
    x = build.argument(shape)
    domain = f"i={shape[0]},j={shape[1]}"
    writes = [("j,i", "store", shape[::-1], "f32")]
    body = "%v = math.absf %p0 : f32\nloop.yield %v : f32"
    (result,) = build.nest(domain, [(x, "i,j")], writes, body)
    array = sample(shape)
    (got,) = execute(build.text(result), array)
    np.testing.assert_array_equal(got, abs(array).T)


def test_slices_with_offset_and_stride(build: Build, execute: Execute) -> None:
    x = build.argument((23, 90))
    writes = [("i,j", "store", (10, 40), "f32")]
    body = "%v = arith.subf %p0, %p1 : f32\nloop.yield %v : f32"
    reads = [(x, "2 * i + 3, 2 * j"), (x, "i, 89 - j")]
    (result,) = build.nest("i=10,j=40", reads, writes, body)
    array = sample((23, 90))
    (got,) = execute(build.text(result), array)
    np.testing.assert_array_equal(got, array[3:23:2, :80:2] - array[:10, ::-1][:, :40])


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("axis", [0, 1])
def test_padded_reads(build: Build, execute: Execute, before: int, axis: int) -> None:
    x = build.argument((6, 21))
    shape = (11, 21) if axis == 0 else (6, 26)
    index = f"i - {before}, j" if axis == 0 else f"i, j - {before}"
    writes = [("i,j", "store", shape, "f32")]
    body = "%v = arith.addf %p0, %p0 : f32\nloop.yield %v : f32"
    domain = f"i={shape[0]},j={shape[1]}"
    (result,) = build.nest(domain, [(x, index, "1.5 : f32")], writes, body)
    array = sample((6, 21))
    (got,) = execute(build.text(result), array)
    around = [(0, 0), (0, 0)]
    around[axis] = (before, 5 - before)
    np.testing.assert_array_equal(got, 2 * np.pad(array, around, constant_values=1.5))


def test_transposed_padded_read(build: Build, execute: Execute) -> None:
    x = build.argument((20, 7))
    writes = [("i,j", "store", (9, 22), "f32")]
    body = "%v = arith.negf %p0 : f32\nloop.yield %v : f32"
    (result,) = build.nest("i=9,j=22", [(x, "j - 1, i - 1", "0.0 : f32")], writes, body)
    array = sample((20, 7))
    (got,) = execute(build.text(result), array)
    np.testing.assert_array_equal(got, -np.pad(array, 1).T)


def test_index_values_in_the_body(build: Build, execute: Execute) -> None:
    x = build.argument((6, 37))
    body = """%i = loop.index 0 : index
    %j = loop.index 1 : index
    %before = arith.cmpi sle, %j, %i : index
    %zero = arith.constant 0.0 : f32
    %v = arith.select %before, %p0, %zero : f32
    %n = arith.index_cast %j : index to i64
    loop.yield %v, %n : f32, i64"""
    writes = [("i,j", "store", (6, 37), "f32"), ("i,j", "store", (6, 37), "i64")]
    results = build.nest("i=6,j=37", [(x, "i,j")], writes, body)
    array = sample((6, 37))
    lower, column = execute(build.text(*results), array)
    np.testing.assert_array_equal(lower, np.tril(array))
    np.testing.assert_array_equal(column, np.broadcast_to(np.arange(37), (6, 37)))


LOOKUP = """%i = arith.index_cast %p0 : i64 to index
%j = loop.index 1 : index
%v = loop.read %s0[%i, %j] : tensor<9x37xf32>
loop.yield %v : f32"""


def test_indirect_reads_are_checked(build: Build, execute: Execute) -> None:
    table, index = build.argument((9, 37)), build.argument((5,), "i64")
    writes = [("i,j", "store", (5, 37), "f32")]
    (result,) = build.nest("i=5,j=37", [(index, "i")], writes, LOOKUP, [table])
    text, values = build.text(result), sample((9, 37))
    (got,) = execute(text, values, np.array([8, 0, 3, 3, 1]))
    np.testing.assert_array_equal(got, values[[8, 0, 3, 3, 1]])
    for wrong in (-1, 9, 2**40, -(2**63)):
        with pytest.raises(ExecutionError, match=r"index out of range: .* below 9"):
            execute(text, values, np.array([0, 0, 0, 0, wrong]))


@pytest.mark.parametrize("position", [0, 17, 18])
def test_indirect_reads_are_checked_in_every_lane(
    build: Build, execute: Execute, position: int
) -> None:
    table, index = build.argument((10,)), build.argument((19,), "i32")
    body = """%i = arith.index_cast %p0 : i32 to index
    %v = loop.read %s0[%i] : tensor<10xf32>
    loop.yield %v : f32"""
    writes = [("i", "store", (19,), "f32")]
    (result,) = build.nest("i=19", [(index, "i")], writes, body, [table])
    values, places = sample((10,)), rng.integers(0, 10, 19).astype(np.int32)
    (got,) = execute(build.text(result), values, places)
    np.testing.assert_array_equal(got, values[places])
    places[position] = 10
    with pytest.raises(ExecutionError, match="below 10"):
        execute(build.text(result), values, places)


@pytest.mark.parametrize("shift", [-3, 0, 5, 6])
def test_computed_positions_are_checked_where_they_may_leave(
    build: Build, execute: Execute, shift: int
) -> None:
    table = build.argument((25,))
    body = f"""%c = arith.constant {shift} : index
    %i = loop.index 0 : index
    %j = arith.addi %i, %c : index
    %v = loop.read %s0[%j] : tensor<25xf32>
    loop.yield %v : f32"""
    (result,) = build.nest("i=20", [], [("i", "store", (20,), "f32")], body, [table])
    values = sample((25,))
    if 0 <= shift <= 5:
        (got,) = execute(build.text(result), values)
        np.testing.assert_array_equal(got, values[shift : shift + 20])
    else:
        with pytest.raises(ExecutionError, match="below 25"):
            execute(build.text(result), values)


def test_results_that_others_read_as_well(build: Build, execute: Execute) -> None:
    x = build.argument((4, 70))
    first = build.pointwise("math.exp %p0 : f32", x)
    second = build.pointwise("arith.mulf %p0, %p1 : f32", first, x)
    turned = build.reshape(first, (70, 4))
    array = sample((4, 70))
    one, two, three, four = execute(build.text(first, second, turned, x), array)
    np.testing.assert_allclose(one, np.exp(array), rtol=1e-6)
    np.testing.assert_allclose(two, np.exp(array) * array, rtol=1e-6)
    np.testing.assert_array_equal(three, one.reshape(70, 4))
    np.testing.assert_array_equal(four, array)


def test_rank_zero_and_empty(build: Build, execute: Execute) -> None:
    x, empty = build.argument(()), build.argument((0, 5))
    results = (
        build.pointwise("arith.addf %p0, %p0 : f32", x),
        build.pointwise("arith.addf %p0, %p0 : f32", empty),
    )
    one, none = execute(build.text(*results), np.float32(3).reshape(()), sample((0, 5)))
    assert one == 6 and none.shape == (0, 5)


@pytest.mark.parametrize("shape", [(1_000_003,), (3, 400_001), (1500, 1500)])
def test_larger_than_the_caches(build: Build, execute: Execute, shape: tuple[int, ...]) -> None:
    x = build.argument(shape)
    result = build.pointwise("arith.addf %p0, %p0 : f32", x)
    array = sample(shape)
    (got,) = execute(build.text(result), array)
    np.testing.assert_array_equal(got, array + array)


def test_index_maps_must_be_linear(build: Build, execute: Execute) -> None:
    x = build.argument((8,))
    writes = [("i", "store", (16,), "f32")]
    (result,) = build.nest("i=16", [(x, "i floordiv 2")], writes, "loop.yield %p0 : f32")
    with pytest.raises(UnsupportedError, match="not linear"):
        execute(build.text(result), sample((8,)))


@pytest.mark.parametrize(("rows", "length"), [(5, 260), (9, 67), (40, 17), (3, 9), (7, 64)])
@pytest.mark.parametrize("element", ["f32", "f64"])
def test_rows_stored_past_the_caches(
    build: Build, target: Target, monkeypatch: Any, rows: int, length: int, element: str
) -> None:
    """Rows that begin anywhere: aligned stores take over after the first elements of each."""
    x = build.argument((rows, length - 3), element)
    body = f"%v = arith.addf %p0, %p0 : {element}\nloop.yield %v : {element}"
    padded = build.nest(
        f"i={rows}, j={length}",
        [(x, "i, j - 1", f"0.5 : {element}")],
        [("i, j", "store", (rows, length), element)],
        body,
    )
    array = sample((rows, length - 3), element)
    monkeypatch.setattr(
        choose_schedule, "streamed_arguments", lambda *_: {"kernel_0": {1: Fraction(0)}}
    )
    monkeypatch.setattr(peel, "LEAST_RUN", 0)
    compiled = lamina.compile(build.text(*padded), target=target, cache=False)
    expected = np.pad(2 * array, ((0, 0), (1, 2)), constant_values=1)
    np.testing.assert_array_equal(compiled(array), expected)
    assert "nontemporal = true" in compiled.ir("scheduled")
