"""Samples of primitives give what torch gives: as loop nests, canonical ones and native code."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

import lamina
from lamina.dialects import prims
from lamina.dialects.context import Context
from lamina.dialects.errors import ExecutionError, UnsupportedError
from lamina.frontends.torch_types import ELEMENT_TYPES, tensor_type
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.lowering.prims_to_loop import ConvertPrimsToLoopPass
from lamina.lowering.prims_to_loop.table import LOWERINGS, limitations
from lamina.passes.contracts.verify_loop import VerifyLoopPass
from lamina.passes.loop.canonicalize_loop import CanonicalizeLoopPass
from lamina.passes.loop.loop_cse import LoopCsePass
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(3)

_LINES = (Path(__file__).parent / "prims_samples.txt").read_text().splitlines()
SAMPLES = [line for line in _LINES if line and not line.startswith("#")]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 2.0, 1e-3]

UNTESTABLE = {"conj", "conj_physical", "reshape", "svd", "xor_sum"}
"""torch's own primitives fail on real numbers, on the shape of a scalar, or outside of Inductor;
singular vectors are unique up to their signs."""


def _names() -> dict[str, Any]:
    """What samples may call; one generator for each sample."""
    random = torch.Generator().manual_seed(3)

    def f(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=random)

    def i(*shape: int) -> torch.Tensor:
        return torch.randint(-9, 10, shape, generator=random)

    def u8(*shape: int) -> torch.Tensor:
        return torch.randint(0, 10, shape, generator=random).to(torch.uint8)

    dtypes = {
        "f16t": torch.float16,
        "f32t": torch.float32,
        "f64t": torch.float64,
        "i1t": torch.bool,
        "i8t": torch.int8,
        "i16t": torch.int16,
        "i32t": torch.int32,
        "i64t": torch.int64,
        "u8t": torch.uint8,
    }
    special = torch.tensor(SPECIAL)
    return dtypes | {
        "inf": math.inf,
        "f": f,
        "i": i,
        "u8": u8,
        "p": lambda *s: f(*s).abs() + 0.1,
        "u": lambda *s: torch.rand(s, generator=random) * 1.8 - 0.9,
        "d": lambda *s: f(*s).double(),
        "h": lambda *s: f(*s).half(),
        "b": lambda *s: i(*s) > 0,
        "c": lambda *s: torch.complex(f(*s), f(*s)),
        "i8": lambda *s: i(*s).to(torch.int8),
        "i16": lambda *s: i(*s).to(torch.int16),
        "i32": lambda *s: i(*s).int(),
        "t": lambda *v: torch.tensor(v, dtype=torch.float32),
        "t32": lambda *v: torch.tensor(v, dtype=torch.int32),
        "z": special.clone,
        "zd": special.double,
        # Every special value meets every other.
        "zr": lambda: special.roll(4),
        "z2": lambda: torch.stack([special, special.roll(3), f(9), f(9).round()]),
        "full": lambda n, v: torch.full((n,), v),
        "one": lambda n, k: torch.arange(n) % k,
        "offsets": lambda *v: torch.tensor(v),
        "index": lambda extent, *s: torch.randint(0, extent, s, generator=random),
    }


def _parsed(line: str) -> tuple[str, list[Any], dict[str, Any]]:
    name, _, rest = line.partition("(")
    args, kwargs = eval(f"(lambda *a, **k: (list(a), k))({rest}", _names())
    return name, args, kwargs


def _tensors(args: list[Any]) -> list[torch.Tensor]:
    flat = [v for a in args for v in (a if isinstance(a, list) else [a])]
    return [v for v in flat if isinstance(v, torch.Tensor)]


def _module(name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[ModuleOp, list[Any]]:
    """A function that calls one primitive, and its arguments for NumPy."""
    block = Block()

    def value(given: Any) -> Any:
        if isinstance(given, torch.Tensor):
            return block.insert_arg(tensor_type(given), len(block.args))
        if isinstance(given, torch.dtype):
            return ELEMENT_TYPES[given]
        return [value(entry) for entry in given] if isinstance(given, list) else given

    op: Operation = prims.op(name)(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
    block.add_op(op)
    block.add_op(func.ReturnOp(*op.results))
    kind = ([a.type for a in block.args], [r.type for r in op.results])
    arrays = [t.numpy() for t in _tensors(args) if t.dtype != torch.bfloat16]
    return ModuleOp([func.FuncOp("main", kind, Region(block))]), arrays


def _expected(name: str, args: list[Any], kwargs: dict[str, Any], module: ModuleOp) -> np.ndarray:
    """What torch gives; our own primitives are compared with the interpreter of their layer."""
    packet = getattr(torch.ops.prims, name, None)
    if packet is None or name in UNTESTABLE:
        return run_module(module, [t.numpy() for t in _tensors(args)])[0]
    if (dtype := kwargs.pop("output_dtype", None)) is not None:
        args = [args[0].to(dtype), *args[1:]]
    if name in ("var", "amax", "amin", "sum", "prod") and args[1] is None:
        args = [args[0], list(range(args[0].dim())), *args[2:]]
    made = packet(*args, **kwargs)
    return (made[0] if isinstance(made, tuple) else made).contiguous().numpy()


def _lower(module: ModuleOp) -> None:
    ConvertPrimsToLoopPass().apply(Context(), module)
    VerifyLoopPass().apply(Context(), module)


def _check(actual: Any, expected: np.ndarray, layer: str) -> None:
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, layer
    tolerance = 2e-3 if expected.dtype == np.float16 else 2e-5
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance / 10, err_msg=layer)


@pytest.mark.parametrize("line", SAMPLES)
def test_sample(line: str) -> None:
    name, args, kwargs = _parsed(line)
    module, inputs = _module(name, args, kwargs)
    expected = _expected(name, args, kwargs, module)
    _lower(module)
    _check(run_module(module, inputs)[0], expected, "loop")
    CanonicalizeLoopPass().apply(Context(), module)
    LoopCsePass().apply(Context(), module)
    VerifyLoopPass().apply(Context(), module)
    _check(run_module(module, inputs)[0], expected, "canonical loop")
    native = lamina.compile(module, cache=False)(*inputs)
    _check(native[0] if isinstance(native, list | tuple) else native, expected, "native")


SEVERAL = [s for s in SAMPLES if s.startswith(("sort(", "scan_extreme(", "segment_max(", "frexp("))]


@pytest.mark.parametrize("line", SEVERAL)
def test_second_result(line: str) -> None:
    name, args, kwargs = _parsed(line)
    module, inputs = _module(name, args, kwargs)
    expected = run_module(module, inputs)[1]
    _lower(module)
    _check(run_module(module, inputs)[1], expected, "loop")
    _check(lamina.compile(module, cache=False)(*inputs)[1], expected, "native")


SOME = [
    pytest.param(s, marks=[] if n % 4 == 0 else pytest.mark.long) for n, s in enumerate(SAMPLES)
]
TARGETS = ["aarch64", pytest.param("x86-64-v3", marks=pytest.mark.long)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("line", SOME)
def test_sample_scheduled_for_another_cpu(line: str, target: str) -> None:
    """The scheduled program is interpreted: every access is checked, unwritten memory is NaN."""
    name, args, kwargs = _parsed(line)
    module, inputs = _module(name, args, kwargs)
    expected = _expected(name, args, kwargs, module)
    run_pipeline(module, pipeline(start="prims", target=target), Context())
    _check(run_module(module, inputs)[0], expected, f"scheduled for {target}")


BF16 = [
    "add(f(9), f(9))",
    "exp(f(9))",
    "maximum(z(), zr())",
    "lt(z(), zr())",
    "neg(z())",
    "sum(f(3, 40), [1])",
    "amax(f(3, 40), [1])",
    "var(f(3, 40), [1], 1)",
    "argmax(f(3, 40), [1])",
    "contract(f(3, 40), f(40, 5), [], [], [1], [0])",
    "convolution(f(1, 3, 8, 8), f(4, 3, 3, 3), [1, 1], [1, 1], [1, 1], 1)",
    "reduce_window(f(1, 1, 6, 6), 'max', [2, 2], [2, 2], [0, 0], [1, 1], False)",
    "where(b(9), f(9), f(9))",
    "pad(f(3), 0.5, [1], [1])",
    "take(f(10, 4), index(10, 3), 0)",
    "scan(f(9), 'add', 0)",
    "convert_element_type(f(9), f32t)",
    "convert_element_type(f(9) * 9, i64t)",
    "convert_element_type(f(9), i1t)",
]


def _cast(values: list[Any], given: torch.dtype, wanted: torch.dtype) -> list[Any]:
    fits = [isinstance(v, torch.Tensor) and v.dtype == given for v in values]
    return [v.to(wanted) if fit else v for v, fit in zip(values, fits, strict=True)]


@pytest.mark.parametrize("line", BF16)
def test_bfloat16_natively(line: str) -> None:
    """NumPy has no bfloat16, so it is compared with f32 of the same numbers, rounded at the end."""
    name, args, kwargs = _parsed(line)
    narrow = _cast(args, torch.float32, torch.bfloat16)
    module, inputs = _module(name, _cast(narrow, torch.bfloat16, torch.float32), kwargs)
    expected = torch.from_numpy(run_module(module, inputs)[0])
    module, _ = _module(name, narrow, kwargs)
    made = lamina.compile(module, cache=False)(*_tensors(narrow))
    expected = expected.to(made.dtype)
    torch.testing.assert_close(made, expected, rtol=1e-2, atol=1e-2, equal_nan=True)


def test_every_primitive_is_lowered_or_recorded() -> None:
    lowered, recorded = set(LOWERINGS.table()), set(limitations())
    assert lowered & recorded == set()
    assert sorted(lowered | recorded) == sorted(prims.Prims.names)


def test_each_lowered_primitive_has_a_sample() -> None:
    sampled = {line.partition("(")[0] for line in SAMPLES}
    # Any contents are right; torch has other numbers (test_random.py); or it is no torch primitive
    # but a kernel by name (test_linear_algebra.py).
    unsampled = {"empty", "empty_strided", "empty_permuted", "philox", "extern"}
    assert sorted(set(LOWERINGS.table()) - sampled - unsampled) == []


def test_locations_and_source_ops_are_kept() -> None:
    name, args, kwargs = _parsed("var(f(3, 4), [1])")
    module, _ = _module(name, args, kwargs)
    _lower(module)
    nests = [op for op in module.walk() if op.name == "loop.generic"]
    assert len(nests) > 1
    assert {str(op.attributes["lamina.op"]) for op in nests} == {'"prims.var"'}


@pytest.mark.parametrize(("index", "dim"), [([0, 5], 0), ([-1], 0), ([3], 1)])
def test_an_index_outside_is_an_error(index: list[int], dim: int) -> None:
    module, inputs = _module("take", [torch.zeros(5, 3), torch.tensor(index), dim], {})
    _lower(module)
    with pytest.raises(ExecutionError):
        run_module(module, inputs)
    with pytest.raises(ExecutionError):
        lamina.compile(module, cache=False)(*inputs)


@pytest.mark.parametrize("combiner", ["store", "add"])
@pytest.mark.parametrize("index", [[0, 5], [-1, 0], [1 << 62, 0]])
def test_a_scatter_outside_is_an_error(index: list[int], combiner: str) -> None:
    args = [torch.zeros(5, 3), torch.tensor(index), torch.ones(2, 3), 0, combiner]
    module, inputs = _module("put", args, {})
    _lower(module)
    with pytest.raises(ExecutionError, match="at least 0 and below 5"):
        run_module(module, inputs)
    with pytest.raises(ExecutionError, match="at least 0 and below 5"):
        lamina.compile(module, cache=False)(*inputs)


@pytest.mark.parametrize("offsets", [[0, 3, 2], [0, 2, 6], [-1, 2, 5]])
def test_offsets_outside_are_an_error(offsets: list[int]) -> None:
    args = [torch.zeros(5, 3), torch.zeros(5, dtype=torch.int64), torch.tensor(offsets)]
    module, inputs = _module("segment_sum", args, {})
    _lower(module)
    with pytest.raises(ExecutionError, match="must not fall"):
        run_module(module, inputs)
    with pytest.raises(ExecutionError, match="must not fall"):
        lamina.compile(module, cache=False)(*inputs)


@pytest.mark.parametrize(("rows", "length"), [(3, n) for n in (1, 2, 7, 8, 9, 17, 33, 65, 500)])
@pytest.mark.parametrize("descending", [False, True])
def test_sorts_of_many_lengths(rows: int, length: int, descending: bool) -> None:
    """Every number of merging passes: with ties, and with NaN."""
    x = torch.randint(-5, 5, (rows, length), generator=torch.Generator().manual_seed(1)).float()
    x[x == 4] = math.nan
    module, inputs = _module("sort", [x, 1, descending], {})
    values, places = torch.sort(x, stable=True, descending=descending)
    made = lamina.compile(module, cache=False)(*inputs)
    np.testing.assert_array_equal(made[0], values.numpy())
    np.testing.assert_array_equal(made[1], places.numpy())


@pytest.mark.long
def test_scatters_and_scans_on_several_threads() -> None:
    """Enough work to fork: leading rows, and strips of columns."""
    random = torch.Generator().manual_seed(2)
    index = torch.randint(0, 50, (3000,), generator=random)
    values = torch.randn(3000, 64, generator=random).double()
    module, inputs = _module("put", [torch.zeros(50, 64).double(), index, values, 0, "add"], {})
    expected = torch.zeros(50, 64).double().index_add(0, index, values)
    _check(lamina.compile(module, cache=False)(*inputs), expected.numpy(), "columns")
    x = torch.randn(64, 3000, generator=random).double()
    module, inputs = _module("scan", [x, "add", 1], {})
    _check(lamina.compile(module, cache=False)(*inputs), x.cumsum(1).numpy(), "scan")
    many = index.expand(64, 3000).contiguous()
    module, inputs = _module("scatter", [torch.zeros(64, 50).double(), many, x, 1, "add"], {})
    expected = torch.zeros(64, 50).double().scatter_add(1, many, x)
    _check(lamina.compile(module, cache=False)(*inputs), expected.numpy(), "rows")


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("add", [torch.zeros(3, dtype=torch.complex64)] * 2, "complex numbers"),
        ("gcd", [torch.zeros(3)] * 2, "integer"),
        ("lgamma", [torch.zeros(3, dtype=torch.int64)], "floating-point"),
        ("contract", [torch.zeros(2, dtype=torch.bool)] * 2 + [[], [], [0], [0]], "bools"),
        ("sub", [torch.zeros(3, dtype=torch.bool)] * 2, "bools"),
        ("exp", [torch.zeros(3, dtype=torch.int64)], "floating-point"),
    ],
)
def test_refusals_name_the_reason(name: str, args: list[Any], message: str) -> None:
    module, _ = _module(name, args, {})
    with pytest.raises(UnsupportedError, match=message) as refused:
        ConvertPrimsToLoopPass().apply(Context(), module)
    assert f"prims.{name}" in str(refused.value)


def test_sizes_that_data_decide_are_refused_with_the_op() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<?x1xi64> {
      %n = aten.nonzero.default(%x) : (tensor<4xf32>) -> tensor<?x1xi64>
      %y = prims.neg(%n) : (tensor<?x1xi64>) -> tensor<?x1xi64>
      func.return %y : tensor<?x1xi64>
    }"""
    module = lamina.parse(text)
    with pytest.raises(UnsupportedError, match=r"prims\.neg: dynamic dimensions"):
        ConvertPrimsToLoopPass().apply(Context(), module)
