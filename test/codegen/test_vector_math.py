"""Vector math against 80-bit and arbitrary precision references, in units in the last place.

The sample covers every exponent, the usual range densely, the neighbourhood of 1, and the special
values. `LAMINA_EXHAUSTIVE=1` runs every f32 number through every unary function, beside our own f64
function: half a minute for each, too long for every run.
"""

import ctypes
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lamina.codegen import jit
from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.target import Target
from lamina.codegen.vector_math import FUNCTIONS, function_text
from lamina.codegen.vector_math import SPECIAL as SPECIAL_FUNCTIONS
from lamina.dialects.elementwise import FUNCTIONS as ELEMENTWISE

MOST_ULP = 2.0
UNARY = [name for name, (_, operands) in FUNCTIONS.items() if operands == 1]
NUMPY = {name: row.numpy for name, row in ELEMENTWISE.items()} | {"pow": "power"}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e10, -1e10, 1e-40]

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="the reference needs 80-bit floats"
)

VectorFunction = Callable[..., Callable[..., np.ndarray]]


def sample(dtype: str, count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    float_type = np.dtype(dtype).type
    unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
    limits = np.finfo(dtype)
    edges = [limits.max, -limits.max, limits.tiny, -limits.smallest_subnormal]
    scales = rng.choice([1e-3, 0.1, 1, 3, 10, 100, 700, 1e5], count)
    near = rng.choice([1e-7, 1e-3, 0.1], count)
    with np.errstate(over="ignore"):
        parts = [
            np.array(SPECIAL + edges, dtype),
            rng.integers(0, 256, (count, unsigned.itemsize), np.uint8).view(dtype).ravel(),
            (rng.standard_normal(count) * scales).astype(dtype),
            rng.uniform(-1, 1, count).astype(dtype),
            (1 + rng.standard_normal(count) * near).astype(dtype),
        ]
    x = np.concatenate(parts).astype(float_type)
    return x[: x.size // 32 * 32]


def reference(stem: str, arrays: list[np.ndarray]) -> np.ndarray:
    """Right well beyond f64; mpmath where NumPy has no function or cannot reduce arguments."""
    if stem == "rsqrt":
        return 1 / np.sqrt(arrays[0].astype(np.longdouble))
    if stem == "sigmoid":
        return 1 / (1 + np.exp(-arrays[0].astype(np.longdouble)))
    if stem in ("erf", "erfc"):
        return by_mpmath(stem, arrays[0])
    values = getattr(np, NUMPY[stem])(*(a.astype(np.longdouble) for a in arrays))
    if stem in ("sin", "cos", "tan"):
        far = np.isfinite(arrays[0]) & (np.abs(arrays[0]) > 1e4)
        values[far] = by_mpmath(stem, arrays[0][far])
    return values


def by_mpmath(stem: str, x: np.ndarray) -> np.ndarray:
    mp = pytest.importorskip("mpmath")
    result = np.full(x.shape, np.nan, np.longdouble)
    with mp.workdps(360 if x.dtype == np.float64 else 80):
        for i, value in enumerate(x):
            if stem in ("erf", "erfc") and abs(value) > 30:
                result[i] = np.sign(value) if stem == "erf" else 1 - np.sign(value)
            elif np.isfinite(value):
                exact = getattr(mp, stem)(mp.mpf(float(value)))
                result[i] = np.longdouble(mp.nstr(exact, 25)) if value else np.longdouble(exact)
    return np.where((result == 0) & (x == 0), x.astype(np.longdouble), result)


def ulps(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Distance in units of the last place of the true value; infinite for wrong special values."""
    limits = np.finfo(got.dtype)
    rounded = want.astype(got.dtype)
    exponent = np.frexp(np.where(np.isfinite(want), np.abs(want), 0))[1] - 1
    unit = np.ldexp(want.dtype.type(1), np.maximum(exponent, limits.minexp) - limits.nmant)
    distance = np.abs(got.astype(want.dtype) - want) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    distance = np.where(same & ~np.isfinite(distance), 0, distance)
    wrong_sign = (want == 0) & (np.signbit(got) != np.signbit(want))
    return np.where(np.isnan(distance) | wrong_sign, np.inf, distance).astype(float)


def assert_close(stem: str, got: np.ndarray, arrays: list[np.ndarray]) -> None:
    distance = ulps(got, reference(stem, arrays))
    worst = int(np.argmax(distance))
    where = ", ".join(repr(a[worst]) for a in arrays)
    assert distance[worst] <= MOST_ULP, f"{stem}({where}) = {got[worst]!r}"


def arguments(stem: str, dtype: str, count: int) -> list[np.ndarray]:
    x = sample(dtype, count, seed=1)
    if FUNCTIONS[stem][1] == 1:
        return [x]
    y = sample(dtype, count, seed=2)
    if stem == "pow":
        whole = np.random.default_rng(3).integers(-30, 30, y.size).astype(dtype)
        y = np.where(np.arange(y.size) % 2, y, whole)
    special = np.array(SPECIAL, dtype)
    pairs = np.repeat(special, special.size), np.tile(special, special.size)
    return [np.concatenate([pairs[0], x]), np.concatenate([pairs[1], y])]


@pytest.fixture(autouse=True)
def quiet() -> object:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("stem", FUNCTIONS)
def test_within_two_ulp(
    stem: str, dtype: str, target: Target, vector_function: VectorFunction
) -> None:
    slow = stem in ("erf", "erfc", "sin", "cos", "tan")
    arrays = arguments(stem, dtype, 300 if slow else 20_000)
    lanes = target.lanes(8 * np.dtype(dtype).itemsize)
    assert_close(stem, vector_function(stem, dtype, lanes, target)(*arrays), arrays)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_flushed_exponentials_are_0_where_they_are_no_normal_numbers(
    dtype: str, target: Target, vector_function: VectorFunction
) -> None:
    limits = np.finfo(dtype)
    least = np.log(limits.tiny.astype(np.longdouble)).astype(dtype)
    steps = [least, np.nextafter(least, limits.min), np.nextafter(least, limits.max)]
    x = np.concatenate([np.array([*steps, -100], dtype), sample(dtype, 20_000, seed=4)])
    lanes = target.lanes(8 * np.dtype(dtype).itemsize)
    x = x[: x.size // lanes * lanes]
    exact, flushed = (
        vector_function(stem, dtype, lanes, target)(x) for stem in ("exp", "exp_flushed")
    )
    np.testing.assert_array_equal(flushed, np.where(exact < limits.tiny, 0, exact))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sigmoids_of_large_numbers_take_no_longer(
    dtype: str, vector_function: VectorFunction
) -> None:
    """A processor takes forty times as long where it makes subnormal numbers of them."""
    target = Target.host()
    lanes = target.lanes(8 * np.dtype(dtype).itemsize)
    sigmoid = vector_function("sigmoid", dtype, lanes, target)

    def least_time(x: float) -> float:
        given, taken = np.full(1 << 15, x, dtype), list[float]()
        for _ in range(20):
            start = time.process_time()
            sigmoid(given)
            taken.append(time.process_time() - start)
        return min(taken)

    far = 95 if dtype == "float32" else 720
    assert least_time(far) < 6 * least_time(0.5)


@pytest.mark.parametrize("lanes", [0, 1, 4, 32])
@pytest.mark.parametrize("stem", ["exp", "tanh", "rsqrt", "sin", "pow"])
def test_any_number_of_lanes_gives_the_same(
    stem: str, lanes: int, vector_function: VectorFunction
) -> None:
    target = Target.host()
    arrays = arguments(stem, "float32", 300)
    got = vector_function(stem, "float32", lanes, target)(*arrays)
    assert_close(stem, got, arrays)


@pytest.mark.parametrize("name", ["aarch64", "riscv64"])
def test_every_function_compiles_for_other_architectures(name: str) -> None:
    from lamina.codegen.object_file import undefined_symbols

    target = Target.parse(name)
    for stem, (_, operands) in (FUNCTIONS | SPECIAL_FUNCTIONS).items():
        whole = stem == "gcd"
        for scalar, lanes in (("i32" if whole else "float", 4), ("i64" if whole else "double", 2)):
            type_ = f"<{lanes} x {scalar}>"
            text, shared = function_text(stem, type_, target)
            operand = f"{type_} %x"
            call = ", ".join([operand] * operands)
            use = (
                f"define {type_} @use({type_} %x) {{\n"
                f"  %r = call {type_} @lamina.{stem}.{mangled(type_)}({call})\n"
                f"  ret {type_} %r\n}}\nattributes #1 = {{ alwaysinline }}"
            )
            parts = [*shared.declarations.values(), *shared.helpers.values(), text, use]
            code = jit.compile_object("\n".join(parts), target)
            assert undefined_symbols(code) == [], stem


_SWEEP = """define <8 x double> @distance(<8 x float> %y, <8 x double> %w) alwaysinline {
  %v = fpext <8 x float> %y to <8 x double>
  %size = call <8 x double> @llvm.fabs.v8f64(<8 x double> %w)
  %bits = bitcast <8 x double> %size to <8 x i64>
  %biased = lshr <8 x i64> %bits, splat (i64 52)
  %above = call <8 x i64> @llvm.umax.v8i64(<8 x i64> %biased, <8 x i64> splat (i64 897))
  %inverse = sub <8 x i64> splat (i64 2069), %above
  %scale_bits = shl <8 x i64> %inverse, splat (i64 52)
  %scale = bitcast <8 x i64> %scale_bits to <8 x double>
  %difference = fsub <8 x double> %v, %w
  %far = call <8 x double> @llvm.fabs.v8f64(<8 x double> %difference)
  %ulps = fmul <8 x double> %far, %scale
  %rounded = fptrunc <8 x double> %w to <8 x float>
  %same = fcmp ueq <8 x float> %rounded, %y
  %y_number = fcmp ord <8 x float> %y, %y
  %w_number = fcmp ord <8 x double> %w, %w
  %both = icmp eq <8 x i1> %y_number, %w_number
  %right = and <8 x i1> %same, %both
  %finite = fcmp olt <8 x double> %ulps, splat (double 1.0e9)
  %wrong = select <8 x i1> %finite, <8 x double> %ulps, <8 x double> splat (double 1.0e9)
  %kept = select <8 x i1> %finite, <8 x double> %ulps, <8 x double> zeroinitializer
  %result = select <8 x i1> %right, <8 x double> %kept, <8 x double> %wrong
  ret <8 x double> %result
}
define i32 @lamina_main(ptr %args) #0 {
entry:
  %g1 = getelementptr ptr, ptr %args, i64 1
  %p0 = load ptr, ptr %args
  %p1 = load ptr, ptr %g1
  %first = load i32, ptr %p0
  %lane0 = insertelement <16 x i32> poison, i32 %first, i64 0
  %all = shufflevector <16 x i32> %lane0, <16 x i32> poison, <16 x i32> zeroinitializer
  %begin = add <16 x i32> %all, <LANES>
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %x_bits = phi <16 x i32> [ %begin, %entry ], [ %next, %loop ]
  %worst = phi <16 x double> [ zeroinitializer, %entry ], [ %worse, %loop ]
  %where = phi <16 x i32> [ zeroinitializer, %entry ], [ %there, %loop ]
  %x = bitcast <16 x i32> %x_bits to <16 x float>
  %y = call <16 x float> @lamina.STEM.v16f32(<16 x float> %x)
  %xa = shufflevector <16 x float> %x, <16 x float> poison, <8 x i32> <LOW>
  %xb = shufflevector <16 x float> %x, <16 x float> poison, <8 x i32> <HIGH>
  %ya = shufflevector <16 x float> %y, <16 x float> poison, <8 x i32> <LOW>
  %yb = shufflevector <16 x float> %y, <16 x float> poison, <8 x i32> <HIGH>
  %xda = fpext <8 x float> %xa to <8 x double>
  %xdb = fpext <8 x float> %xb to <8 x double>
  %wa = call <8 x double> @lamina.STEM.v8f64(<8 x double> %xda)
  %wb = call <8 x double> @lamina.STEM.v8f64(<8 x double> %xdb)
  %da = call <8 x double> @distance(<8 x float> %ya, <8 x double> %wa)
  %db = call <8 x double> @distance(<8 x float> %yb, <8 x double> %wb)
  %d = shufflevector <8 x double> %da, <8 x double> %db, <16 x i32> <LANES>
  %more = fcmp ogt <16 x double> %d, %worst
  %worse = select <16 x i1> %more, <16 x double> %d, <16 x double> %worst
  %there = select <16 x i1> %more, <16 x i32> %x_bits, <16 x i32> %where
  %next = add <16 x i32> %x_bits, splat (i32 16)
  %j = add i32 %i, 16
  %c = icmp ult i32 %j, 67108864
  br i1 %c, label %loop, label %out
out:
  store <16 x double> %worse, ptr %p1, align 8
  %p2 = getelementptr i8, ptr %p1, i64 128
  store <16 x i32> %there, ptr %p2, align 8
  ret i32 0
}
declare <8 x double> @llvm.fabs.v8f64(<8 x double>)
declare <8 x i64> @llvm.umax.v8i64(<8 x i64>, <8 x i64>)
"""
"""Every f32 number from the given bits on, 2^26 of them: the largest distance in units of the last
place from our own f64 function, and where, in each lane."""


def sweep(stem: str, target: Target) -> tuple[float, float]:
    """(largest distance over all f32 numbers, the number), against the f64 function, in seconds.

    The f64 function is itself checked against more digits above.
    """
    parts: dict[str, str] = {}
    for type_ in ("<16 x float>", "<8 x double>"):
        text, shared = function_text(stem, type_, target)
        parts |= shared.declarations | shared.helpers | {type_: text}
    body = _SWEEP.replace("STEM", stem)
    for name, lanes in (("LANES", range(16)), ("LOW", range(8)), ("HIGH", range(8, 16))):
        body = body.replace(f"<{name}>", "<" + ", ".join(f"i32 {i}" for i in lanes) + ">")
    declared = "declare <8 x double> @llvm.fabs.v8f64(<8 x double>)"
    if any(part == declared for part in parts.values()):
        body = body.replace(declared, "")
    width = f'"prefer-vector-width"="{target.vector_bits}"'
    attributes = (
        f"attributes #0 = {{ nounwind {width} }}\nattributes #1 = {{ alwaysinline {width} }}"
    )
    code = jit.compile_object("\n".join([*parts.values(), body, attributes]), target)
    loaded = jit.load_object(code, ["lamina_main"], target, needs_openmp=False)
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.addresses["lamina_main"])

    def run(start: int) -> tuple[float, float]:
        first, out = np.array([start], np.uint32), np.zeros(24)
        native((ctypes.c_void_p * 2)(first.ctypes.data, out.ctypes.data))
        lane = int(np.argmax(out[:16]))
        return float(out[lane]), float(out[16:].view(np.float32)[lane])

    with ThreadPoolExecutor(2) as pool:
        return max(pool.map(run, range(0, 1 << 32, 1 << 26)))


@pytest.mark.skipif(not os.environ.get("LAMINA_EXHAUSTIVE"), reason="half a minute a function")
@pytest.mark.parametrize("stem", UNARY)
def test_every_float32(stem: str) -> None:
    if Target.host().lanes(32) != 16:
        pytest.skip("written for vectors of 512 bits")
    worst, where = sweep(stem, Target.host())
    assert worst <= MOST_ULP, f"{stem}({where!r})"
