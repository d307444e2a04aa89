"""Vector math against 80-bit and arbitrary precision references, in units in the last place.

The sample covers every exponent, the usual range densely, the neighbourhood of 1, and the special
values. `LAMINA_EXHAUSTIVE=1` runs every f32 number through every unary function: four billion
numbers and their references in f64 take some minutes for each function, too long for every run.
"""

import ctypes
import os
import warnings
from collections.abc import Callable

import numpy as np
import pytest

from lamina.codegen import jit
from lamina.codegen.llvm_emitter.types import mangled
from lamina.codegen.target import Target
from lamina.codegen.vector_math import FUNCTIONS, function_text

MOST_ULP = 2.0
UNARY = [name for name, (_, operands) in FUNCTIONS.items() if operands == 1]
NUMPY = {
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "pow": "power",
}
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1e10, -1e10, 1e-40]

pytestmark = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="the reference needs 80-bit floats"
)

Function = Callable[..., np.ndarray]


def llvm_type(dtype: str, lanes: int) -> str:
    scalar = {"float32": "float", "float64": "double"}[dtype]
    return f"<{lanes} x {scalar}>" if lanes else scalar


def compiled(stem: str, dtype: str, lanes: int, target: Target) -> Function:
    """The function over whole arrays whose length is a multiple of `lanes`."""
    type_ = llvm_type(dtype, lanes)
    operands = FUNCTIONS[stem][1]
    text, shared = function_text(stem, type_, target)
    scalar = llvm_type(dtype, 0)
    size = np.dtype(dtype).itemsize
    arguments = ", ".join(f"{type_} %v{i}" for i in range(operands))
    lines = [*shared.declarations.values(), *shared.helpers.values(), text]
    lines.append("define i32 @lamina_main(ptr %args) #0 {\nentry:")
    for i in range(operands + 2):
        lines.append(f"  %g{i} = getelementptr ptr, ptr %args, i64 {i}")
        lines.append(f"  %p{i} = load ptr, ptr %g{i}")
    lines.append(f"  %n = load i64, ptr %p{operands + 1}\n  br label %loop\nloop:")
    lines.append("  %i = phi i64 [ 0, %entry ], [ %j, %loop ]")
    for i in range(operands + 1):
        lines.append(f"  %q{i} = getelementptr {scalar}, ptr %p{i}, i64 %i")
    for i in range(operands):
        lines.append(f"  %v{i} = load {type_}, ptr %q{i}, align {size}")
    lines.append(f"  %r = call {type_} @lamina.{stem}.{mangled(type_)}({arguments})")
    lines.append(f"  store {type_} %r, ptr %q{operands}, align {size}")
    lines.append(f"  %j = add i64 %i, {max(lanes, 1)}\n  %c = icmp slt i64 %j, %n")
    lines.append("  br i1 %c, label %loop, label %out\nout:\n  ret i32 0\n}")
    width = f'"prefer-vector-width"="{target.vector_bits}"'
    lines.append(f"attributes #0 = {{ nounwind {width} }}")
    lines.append(f"attributes #1 = {{ nounwind alwaysinline {width} }}")
    code = jit.compile_object("\n".join(lines), target)
    loaded = jit.load_object(code, ["lamina_main"], target, needs_openmp=False)
    native = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(loaded.addresses["lamina_main"])

    def run(*arrays: np.ndarray) -> np.ndarray:
        assert arrays[0].size % max(lanes, 1) == 0 and loaded.addresses
        result = np.empty_like(arrays[0])
        count = np.array([result.size])
        data = [a.ctypes.data for a in (*arrays, result, count)]
        native((ctypes.c_void_p * len(data))(*data))
        return result

    return run


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
    if stem in ("erf", "erfc"):
        return by_mpmath(stem, arrays[0])
    values = getattr(np, NUMPY.get(stem, stem))(*(a.astype(np.longdouble) for a in arrays))
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
def test_within_two_ulp(stem: str, dtype: str, target: Target) -> None:
    slow = stem in ("erf", "erfc", "sin", "cos", "tan")
    arrays = arguments(stem, dtype, 300 if slow else 20_000)
    lanes = target.lanes(8 * np.dtype(dtype).itemsize)
    assert_close(stem, compiled(stem, dtype, lanes, target)(*arrays), arrays)


@pytest.mark.parametrize("lanes", [0, 1, 4, 32])
@pytest.mark.parametrize("stem", ["exp", "tanh", "rsqrt", "sin", "pow"])
def test_any_number_of_lanes_gives_the_same(stem: str, lanes: int) -> None:
    target = Target.host()
    arrays = arguments(stem, "float32", 300)
    got = compiled(stem, "float32", lanes, target)(*arrays)
    assert_close(stem, got, arrays)


@pytest.mark.parametrize("name", ["aarch64", "riscv64"])
def test_every_function_compiles_for_other_architectures(name: str) -> None:
    from lamina.codegen.object_file import undefined_symbols

    target = Target.parse(name)
    for stem, (_, operands) in FUNCTIONS.items():
        for scalar, lanes in (("float", 4), ("double", 2)):
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


@pytest.mark.skipif(not os.environ.get("LAMINA_EXHAUSTIVE"), reason="takes minutes a function")
@pytest.mark.parametrize("stem", UNARY)
def test_every_float32(stem: str) -> None:
    target = Target.host()
    run = compiled(stem, "float32", target.lanes(32), target)
    double = compiled(stem, "float64", target.lanes(64), target)
    step = 1 << 22
    for start in range(0, 1 << 32, step):
        x = np.arange(start, start + step, dtype=np.uint64).astype(np.uint32).view(np.float32)
        # Our own f64 function, itself checked above, is reference enough for f32.
        want = double(x.astype(np.float64))
        distance = ulps(run(x), want)
        worst = int(np.argmax(distance))
        assert distance[worst] <= MOST_ULP, f"{stem}({x[worst]!r})"
