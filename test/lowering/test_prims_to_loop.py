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
from lamina.lowering.prims_to_loop import ConvertPrimsToLoopPass
from lamina.lowering.prims_to_loop.table import LOWERINGS, limitations
from lamina.passes.canonicalize_loop import CanonicalizeLoopPass
from lamina.passes.loop_cse import LoopCsePass
from lamina.passes.verify_loop import VerifyLoopPass
from lamina.runtime.interpreters import run_module

_LINES = (Path(__file__).parent / "prims_samples.txt").read_text().splitlines()
SAMPLES = [line for line in _LINES if line and not line.startswith("#")]
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.5, 2.0, 1e-3]

UNTESTABLE = {"conj", "conj_physical", "reshape"}
"""torch's own primitives fail on real numbers, and on the shape of a scalar."""


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
        "index": lambda extent, *s: torch.randint(0, extent, s, generator=random),
    }


def _parsed(line: str) -> tuple[str, list[Any], dict[str, Any]]:
    name, _, rest = line.partition("(")
    args, kwargs = eval(f"(lambda *a, **k: (list(a), k))({rest}", _names())
    return name, args, kwargs


def _module(name: str, args: list[Any], kwargs: dict[str, Any]) -> tuple[ModuleOp, list[Any]]:
    tensors: list[torch.Tensor] = []
    block = Block()

    def value(given: Any) -> Any:
        if isinstance(given, torch.Tensor):
            tensors.append(given)
            return block.insert_arg(tensor_type(given), len(block.args))
        if isinstance(given, torch.dtype):
            return ELEMENT_TYPES[given]
        return [value(entry) for entry in given] if isinstance(given, list) else given

    op: Operation = prims.op(name)(*map(value, args), **{k: value(v) for k, v in kwargs.items()})
    block.add_op(op)
    block.add_op(func.ReturnOp(*op.results))
    kind = ([a.type for a in block.args], [r.type for r in op.results])
    return ModuleOp([func.FuncOp("main", kind, Region(block))]), [t.numpy() for t in tensors]


def _expected(name: str, args: list[Any], kwargs: dict[str, Any], module: ModuleOp) -> np.ndarray:
    """What torch gives; our own primitives are compared with the interpreter of their layer."""
    packet = getattr(torch.ops.prims, name, None)
    if packet is None or name in UNTESTABLE:
        tensors = [a.numpy() for a in args if isinstance(a, torch.Tensor)]
        return run_module(module, tensors)[0]
    if (dtype := kwargs.pop("output_dtype", None)) is not None:
        args = [args[0].to(dtype), *args[1:]]
    if name in ("var", "amax", "amin", "sum", "prod") and args[1] is None:
        args = [args[0], list(range(args[0].dim())), *args[2:]]
    return packet(*args, **kwargs).contiguous().numpy()


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


def test_every_primitive_is_lowered_or_recorded() -> None:
    lowered, recorded = set(LOWERINGS.table()), set(limitations())
    assert lowered & recorded == set()
    assert sorted(lowered | recorded) == sorted(prims.Prims.names)


def test_each_lowered_primitive_has_a_sample() -> None:
    sampled = {line.partition("(")[0] for line in SAMPLES}
    unsampled = {"empty", "empty_strided", "empty_permuted"}  # any contents are right
    assert sorted(set(LOWERINGS.table()) - sampled - unsampled) == []


def test_locations_and_source_ops_are_kept() -> None:
    name, args, kwargs = _parsed("var(f(3, 4), [1])")
    module, _ = _module(name, args, kwargs)
    _lower(module)
    nests = [op for op in module.walk() if op.name == "loop.generic"]
    assert len(nests) == 4
    assert {str(op.attributes["lamina.op"]) for op in nests} == {'"prims.var"'}


@pytest.mark.parametrize(("index", "dim"), [([0, 5], 0), ([-1], 0), ([3], 1)])
def test_an_index_outside_is_an_error(index: list[int], dim: int) -> None:
    module, inputs = _module("take", [torch.zeros(5, 3), torch.tensor(index), dim], {})
    _lower(module)
    with pytest.raises(ExecutionError):
        run_module(module, inputs)
    with pytest.raises(ExecutionError):
        lamina.compile(module, cache=False)(*inputs)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("add", [torch.zeros(3, dtype=torch.complex64)] * 2, "complex numbers"),
        ("lgamma", [torch.zeros(3)], "gamma functions"),
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


def test_dynamic_dimensions_are_refused_with_the_op() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %y = prims.exp(%x) : (tensor<?xf32>) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }"""
    module = lamina.parse(text)
    with pytest.raises(UnsupportedError, match=r"prims\.exp: dynamic dimensions"):
        ConvertPrimsToLoopPass().apply(Context(), module)
