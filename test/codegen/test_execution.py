"""Scheduled IR files of this folder run on the CPU and compared with NumPy."""

from collections.abc import Callable

import numpy as np
import pytest

from lamina.dialects.errors import ExecutionError

Build = Callable[[str], Callable[..., None]]
rng = np.random.default_rng(7)


def floats(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def test_elementwise_with_masked_tail(build: Build) -> None:
    a, b = floats(37), floats(37)
    a[3] = a[35] = np.nan
    whole = np.full(64, 9.0, np.float32)
    build("elementwise")("main", a, b, whole[:37])
    np.testing.assert_array_equal(whole[:37], np.maximum(a + b, 0))
    assert (whole[37:] == 9).all()


def test_row_reduction_with_two_accumulators(build: Build) -> None:
    x = floats(6, 64)
    total, top, y = np.empty(6, np.float32), np.empty(6, np.float32), np.empty_like(x)
    build("row_reduction")("main", x, total, top, y)
    np.testing.assert_allclose(total, x.sum(1), atol=1e-5)
    np.testing.assert_array_equal(top, x.max(1))
    np.testing.assert_array_equal(y, x / total[:, None])


@pytest.mark.parametrize("place", [0, 1, 15, 16, 31, 47, 63])
def test_maximum_of_a_row_keeps_nan(build: Build, place: int) -> None:
    x = floats(6, 64)
    x[2, place] = np.nan
    total, top, y = np.empty(6, np.float32), np.empty(6, np.float32), np.empty_like(x)
    build("row_reduction")("main", x, total, top, y)
    assert np.isnan(top[2]) and np.isfinite(np.delete(top, 2)).all()


@pytest.mark.parametrize("limit", [0, 2, 3, 5, 6, 63, 64])
def test_parallel_covers_each_iteration_once(build: Build, limit: int) -> None:
    x, y, z = floats(101, 8), np.empty((101, 8), np.float32), np.empty((101, 8), np.float32)
    count, alone = np.zeros(64, np.int64), np.zeros(64, np.int64)
    build("parallel")("main", x, y, z, np.array([limit]), count, alone)
    np.testing.assert_array_equal(y, x * x)
    np.testing.assert_array_equal(z, (x * x)[::-1])
    expected = np.zeros(64, np.int64)
    expected[2:limit:3] = 2  # once by the team, once by one thread
    np.testing.assert_array_equal(count, expected)
    np.testing.assert_array_equal(alone, np.full(64, 10))


def lookup_arguments(index: list[int]) -> list[np.ndarray]:
    return [
        np.array(index, np.int32),
        np.arange(12, dtype=np.float32).reshape(4, 3),
        np.array([0, 7, 0, 1], np.uint8),  # any byte but 0 is true
        np.empty((5, 3), np.float32),
        np.empty(5, np.uint8),
    ]


def test_branches_lookups_and_booleans(build: Build) -> None:
    arguments = lookup_arguments([0, 2, -2, 1, -3])
    build("control_flow")("main", *arguments)
    _, table, _flags, out, on = arguments
    rows = [0, 2, 2, 1, 1]
    np.testing.assert_array_equal(out, table[rows])
    assert on.tolist() == [0, 0, 1, 1, 0]


def test_first_failed_assertion_is_reported_and_forgotten(build: Build) -> None:
    program = build("control_flow")
    with pytest.raises(ExecutionError, match=r"^index out of range$"):
        program("main", *lookup_arguments([0, 4, 3, 0, 0]))
    with pytest.raises(ExecutionError, match=r"^flagged row 3$"):
        program("main", *lookup_arguments([0, -1, -5, 0, 0]))
    program("main", *lookup_arguments([0, 0, 0, 0, 0]))


def test_vector_ops(build: Build) -> None:
    m = floats(4, 8)
    offsets = np.array([0, 5, 23, -8, 1, 1, 10**8, 2], np.int32)
    bits = np.array([1, 1, 1, 1, 0, 1, 0, 255], np.uint8)
    memory = np.zeros(5 * 8 + 16, np.float32)
    out, more = memory[3 : 3 + 40].reshape(5, 8), np.empty(8, np.uint8)
    build("vectors")("main", m, offsets, bits, out, more)
    flat, on = m.ravel(), bits != 0
    gathered = np.where(on, flat[np.where(on, offsets + 8, 0)], -1)
    np.testing.assert_array_equal(out[0], gathered)
    np.testing.assert_array_equal(out[1], np.stack([m[0, :4], m[1, :4]], 1).ravel())
    inserted = m[0].copy()
    inserted[5] = m[0, 2] + m[0, 3]
    np.testing.assert_array_equal(out[2], inserted)
    np.testing.assert_allclose(out[3], m[0] * m[1] + np.arange(8) / 2, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(out[4], np.where(on, m[0], 0))
    np.testing.assert_array_equal(more, on ^ (np.arange(8) < 3))


def test_narrow_floats_round_to_nearest_even(build: Build) -> None:
    x = floats(64) * 100
    x[:12] = [0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 65520, 65519, 6e-8, 2.9e-8, 1e-45]
    x[12:16] = np.array([0x3F808000, 0x3F818000, 0x7F800001, 0x00008001], np.uint32).view("f4")
    b, h = np.empty(64, np.uint16), np.empty(64, np.float16)
    y = np.empty((2, 64), np.float32)
    build("narrow_floats")("main", x, b, h, y)
    bits = x.view(np.uint32).astype(np.uint64)
    expected = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    nan = np.isnan(x)
    np.testing.assert_array_equal(b[~nan], expected[~nan])
    np.testing.assert_array_equal(y[0].view(np.uint32), b.astype(np.uint32) << 16)
    assert np.isnan(y[:, nan]).all() and nan.sum() == 2
    with np.errstate(over="ignore"):
        halves = x.astype(np.float16)
    np.testing.assert_array_equal(h[~nan], halves[~nan])
    np.testing.assert_array_equal(y[1], h.astype(np.float32))


def test_arena_views_and_a_second_entry(build: Build) -> None:
    program = build("arena")
    x, y, arena = np.arange(8, dtype=np.int32), np.empty(8, np.int32), np.zeros(128, np.int8)
    program("main", x, y, arena)
    np.testing.assert_array_equal(y, x * 4)
    np.testing.assert_array_equal(arena[64:96].view(np.int32), x * 2)
    assert not arena[:64].any()
    program("setup", x, y)
    np.testing.assert_array_equal(y, x * 2)


def test_division_rounds_as_named_and_never_traps(build: Build) -> None:
    least = -(2**31)
    x = np.array([7, -7, 7, -7, 6, -6, 0, least, least, 5, least, 1, -1, 8, 9, -9], np.int32)
    y = np.array([2, 2, -2, -2, 3, -3, 5, -1, 0, 0, 2, -7, 7, 3, -3, 9], np.int32)
    out = np.empty((6, 16), np.int32)
    build("division")("main", x, y, out)
    ok = (y != 0) & ~((x == least) & (y == -1))
    a, b = x[ok].astype(np.int64), y[ok].astype(np.int64)
    quotient = np.trunc(a / b).astype(np.int64)
    np.testing.assert_array_equal(out[0, ok], quotient)
    np.testing.assert_array_equal(out[1, ok], a - quotient * b)
    np.testing.assert_array_equal(out[2, ok], a // b)
    np.testing.assert_array_equal(out[3, ok], -(-a // b))
    ua, ub = x[ok].view(np.uint32).astype(np.int64), y[ok].view(np.uint32).astype(np.int64)
    np.testing.assert_array_equal(out[4, ok].view(np.uint32), ua // ub)
    np.testing.assert_array_equal(out[5, ok].view(np.uint32), -(-ua // ub))


def test_functions_in_vectors_and_scalars(build: Build) -> None:
    x = floats(17)
    y = np.empty_like(x)
    build("vector_functions")("main", x, y)
    wide = x.astype(np.float64)
    np.testing.assert_allclose(y[:16], np.exp(np.exp(wide[:16])), rtol=1e-6)
    np.testing.assert_allclose(y[16], np.sqrt(np.exp(wide[16])), rtol=1e-6)
