"""Every sample call gives what torch gives: interpreted as aten, as core_aten and as prims."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Block, Region, SSAValue

import lamina
from lamina.dialects import aten
from lamina.dialects.context import Context
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.torch_types import tensor_type
from lamina.lowering.aten_to_core_aten import ConvertAtenToCoreAtenPass
from lamina.lowering.core_aten_to_prims import ConvertCoreAtenToPrimsPass
from lamina.passes.contracts.verify_core_aten import VerifyCoreAtenPass
from lamina.passes.contracts.verify_functional import VerifyFunctionalPass
from lamina.passes.contracts.verify_prims import VerifyPrimsPass
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(4)


def _lines(name: str) -> list[str]:
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


ORDERED = _lines("ordered_samples.txt")
GRADIENTS = _lines("gradient_samples.txt")
COMPOSITES = _lines("composite_samples.txt")
LINEAR_ALGEBRA = _lines("linear_algebra_samples.txt")
STATISTICS = _lines("statistics_samples.txt")
SAMPLES = _lines("samples.txt") + ORDERED + GRADIENTS + COMPOSITES + LINEAR_ALGEBRA + STATISTICS
_PATTERN = re.compile(
    r"(?P<name>\w+\.\w+)\((?P<args>.*)\)(?: -> (?P<results>[\d, ]+))?(?P<no> !)?$"
)
_DTYPES = {
    f16: torch.float16,
    f32: torch.float32,
    f64: torch.float64,
    i1: torch.bool,
    i16: torch.int16,
    i32: torch.int32,
    i64: torch.int64,
}


class _Calls:
    """The names that samples use, with one generator for each sample."""

    def __init__(self) -> None:
        self.random = torch.Generator().manual_seed(7)

    def f(self, *shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=self.random)

    def p(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.random) * 2 + 0.1

    def u(self, *shape: int) -> torch.Tensor:
        return torch.rand(shape, generator=self.random) * 1.8 - 0.9

    def d(self, *shape: int) -> torch.Tensor:
        return self.f(*shape).double()

    def h(self, *shape: int) -> torch.Tensor:
        return self.f(*shape).half()

    def c(self, *shape: int) -> torch.Tensor:
        return torch.complex(self.f(*shape), self.f(*shape))

    def i(self, *shape: int, low: int = -3, high: int = 4) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.random)

    def i32(self, *shape: int, low: int = -3, high: int = 4) -> torch.Tensor:
        return self.i(*shape, low=low, high=high).int()

    def u8(self, *shape: int) -> torch.Tensor:
        return self.i(*shape, low=0, high=200).to(torch.uint8)

    def b(self, *shape: int) -> torch.Tensor:
        return self.i(*shape, low=0, high=2).bool()

    def no(self, *shape: int) -> torch.Tensor:
        """A mask that admits nothing in its last row."""
        mask = torch.ones(shape, dtype=torch.bool)
        mask[-1] = False
        return mask

    def z(self, *shape: int) -> torch.Tensor:
        """Normal numbers, with NaN, infinities and both zeros among them."""
        values = self.f(*shape)
        special = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0])
        values.view(-1)[-len(special) :] = special.flip(0)[: values.numel()]
        return values

    def ninf(self, *shape: int) -> torch.Tensor:
        """A first row of -inf."""
        values = self.f(*shape)
        values[0] = -math.inf
        return values

    def s(self, size: int) -> torch.Tensor:
        """A positive definite matrix."""
        half = self.f(size, size)
        return half @ half.T + torch.eye(size)

    def pivots(self, *rows: int) -> torch.Tensor:
        """As LAPACK gives them: the row, from 1, that each row was swapped with."""
        return torch.tensor(rows, dtype=torch.int32)

    def tri(self, size: int) -> torch.Tensor:
        """A Cholesky factor."""
        return torch.linalg.cholesky(self.s(size)).contiguous()

    def halves(self) -> torch.Tensor:
        return torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5])


def _parsed(line: str) -> tuple[str, list[Any], dict[str, Any], list[int], bool]:
    match = _PATTERN.match(line)
    assert match is not None, line
    calls = _Calls()
    names = {name: getattr(calls, name) for name in dir(calls) if not name.startswith("_")}
    names |= {
        "f16": f16,
        "f32": f32,
        "f64": f64,
        "i1": i1,
        "i64": i64,
        "int16": i16,
        "int32": i32,
        "inf": math.inf,
    }
    args, kwargs = eval(f"(lambda *a, **k: (list(a), k))({match['args']})", names)
    results = [int(number) for number in (match["results"] or "0").split(",")]
    return match["name"], args, kwargs, results, match["no"] is not None


def _expected(name: str, args: list[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    packet, _, overload = name.partition(".")
    function = getattr(getattr(torch.ops.aten, packet), overload)
    to_torch = lambda value: _DTYPES.get(value, value) if not isinstance(value, list) else value  # noqa: E731
    given = function(*map(to_torch, args), **{k: to_torch(v) for k, v in kwargs.items()})
    return _flat(given)


def _flat(results: Any) -> list[torch.Tensor]:
    """Results in one list, as ops have them: those of histogramdd are a tensor and a list."""
    if not isinstance(results, tuple | list):
        return [results]
    return [tensor for entry in results for tensor in _flat(entry)]


def _types(results: list[torch.Tensor]) -> list[TensorType] | None:
    """Their types; None leaves them to be inferred, where an output mask left some undefined."""
    if any(result is None for result in results):
        return None
    return [tensor_type(result) for result in results]


def _module(
    name: str,
    args: list[Any],
    kwargs: dict[str, Any],
    results: list[int],
    types: list[TensorType] | None,
) -> tuple[ModuleOp, list[np.ndarray]]:
    """A function that makes this one call on its arguments."""
    tensors: list[torch.Tensor] = []
    block = Block()

    def value(given: Any) -> Any:
        if isinstance(given, torch.Tensor):
            tensors.append(given)
            return block.insert_arg(tensor_type(given), len(block.args))
        if isinstance(given, list):
            return [value(entry) for entry in given]
        return given

    made = aten.op(name)(
        *map(value, args), **{k: value(v) for k, v in kwargs.items()}, result_types=types
    )
    block.add_op(made)
    returned: list[SSAValue] = [made.results[index] for index in results]
    block.add_op(func.ReturnOp(*returned))
    kind = ([a.type for a in block.args], [r.type for r in returned])
    module = ModuleOp([func.FuncOp("main", kind, Region(block))])
    return module, [tensor.numpy() for tensor in tensors]


def _check(actual: list[np.ndarray], expected: list[torch.Tensor], layer: str) -> None:
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.numpy().dtype and ours.shape == tuple(theirs.shape), layer
        tolerance = 2e-3 if theirs.dtype == torch.float16 else 2e-5
        np.testing.assert_allclose(
            ours, theirs.numpy(), rtol=tolerance, atol=tolerance / 10, err_msg=layer
        )


@pytest.mark.parametrize(
    "line",
    [pytest.param(s, marks=[] if n % 2 == 0 else pytest.mark.long) for n, s in enumerate(SAMPLES)],
)
def test_sample(line: str) -> None:
    name, args, kwargs, results, not_lowered = _parsed(line)
    everything = _expected(name, args, kwargs)
    expected = [everything[index] for index in results]
    types = _types(everything)
    module, inputs = _module(name, args, kwargs, results, types)
    context = Context()
    VerifyFunctionalPass().apply(context, module)
    _check(run_module(module, inputs), expected, "aten")

    ConvertAtenToCoreAtenPass().apply(context, module)
    VerifyCoreAtenPass().apply(context, module)
    _check(run_module(module, inputs), expected, "core_aten")

    if not_lowered:
        with pytest.raises(UnsupportedError):
            ConvertCoreAtenToPrimsPass().apply(context, module)
        return
    ConvertCoreAtenToPrimsPass().apply(context, module)
    VerifyPrimsPass().apply(context, module)
    _check(run_module(module, inputs), expected, "prims")


@pytest.mark.parametrize("line", ORDERED + GRADIENTS + STATISTICS)
def test_native(line: str) -> None:
    name, args, kwargs, results, _ = _parsed(line)
    everything = _expected(name, args, kwargs)
    types = _types(everything)
    module, inputs = _module(name, args, kwargs, results, types)
    made = lamina.compile(module, cache=False)(*inputs)
    native = list(made) if isinstance(made, list | tuple) else [made]
    _check(native, [everything[index] for index in results], "native")


def test_each_lowered_core_op_has_a_sample() -> None:
    from lamina.lowering.core_aten_to_prims.table import LOWERINGS

    sampled = {line.partition("(")[0] for line in SAMPLES}
    # Any contents are right, or torch draws other numbers (test/lowering/test_random.py).
    unsampled = {"empty.memory_format", "empty_strided.default"}
    unsampled |= {"rand.default", "randn.default", "randperm.default"}
    assert sorted(set(LOWERINGS.table()) - sampled - unsampled) == []


def test_transposed_convolution_multiplies_elements_only() -> None:
    """An infinite weight meets no zeros between the elements of the image."""
    x, w = torch.arange(1.0, 5).reshape(1, 2, 2), torch.ones(2, 1, 3)
    w[0, 0, 1] = torch.inf
    given = [x, w, None, [2], [0], [1], True, [0], 1]
    types = [tensor_type(torch.empty(1, 1, 5))]
    module, inputs = _module("convolution.default", given, {}, [0], types)
    (made,) = run_module(module, inputs)
    np.testing.assert_array_equal(made, [[[4, np.inf, 10, np.inf, 6]]])
