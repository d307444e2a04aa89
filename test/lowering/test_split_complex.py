"""Programs on complex numbers give what torch gives: natively, and interpreted at every layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

import lamina
from lamina.dialects import prims
from lamina.dialects.context import Context
from lamina.frontends.exported_program import import_exported_program
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.lowering.split_complex.table import table
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

POINTWISE: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: 1j - x - y,
    "mul": lambda x, y: x * y * (2 - 1j),
    "mixed": lambda x, y: x * y.real + 3,
    "div": lambda x, y: x / y,
    "reciprocal": lambda x, y: 1j / x + y.reciprocal(),
    "neg": lambda x, y: -x,
    "conj": lambda x, y: x.conj() * y + y.conj(),
    "abs": lambda x, y: x.abs(),
    "angle": lambda x, y: x.angle(),
    "sgn": lambda x, y: x.sgn(),
    "exp": lambda x, y: x.exp(),
    "expm1": lambda x, y: x.expm1(),
    "log": lambda x, y: x.log(),
    "log1p": lambda x, y: x.log1p(),
    "log2": lambda x, y: x.log2(),
    "log10": lambda x, y: x.log10(),
    "sqrt": lambda x, y: x.sqrt(),
    "rsqrt": lambda x, y: x.rsqrt(),
    "sin": lambda x, y: x.sin(),
    "cos": lambda x, y: x.cos(),
    "tan": lambda x, y: x.tan(),
    "sinh": lambda x, y: x.sinh(),
    "cosh": lambda x, y: x.cosh(),
    "tanh": lambda x, y: x.tanh(),
    "asin": lambda x, y: x.asin(),
    "acos": lambda x, y: x.acos(),
    "atan": lambda x, y: x.atan(),
    "asinh": lambda x, y: x.asinh(),
    "acosh": lambda x, y: x.acosh(),
    "atanh": lambda x, y: x.atanh(),
    "sigmoid": lambda x, y: x.sigmoid(),
    "pow": lambda x, y: x**y,
    "powers": lambda x, y: x**2 + y**3,
    "pow_number": lambda x, y: x ** (1.5 + 0.5j),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5j),
    "eq": lambda x, y: (x == y) | (x != x),
    "ne": lambda x, y: x != y,
    "where": lambda x, y: torch.where(x.real > 0, x, y),
    "masked_fill": lambda x, y: x.masked_fill(x.imag > 0, 2j),
    "isfinite": lambda x, y: x.isfinite(),
    "isinf": lambda x, y: x.isinf(),
    "isnan": lambda x, y: x.isnan(),
    "isreal": lambda x, y: x.isreal(),
    "logical": lambda x, y: torch.logical_and(x, y) | torch.logical_not(x),
    "to_wide": lambda x, y: x.to(torch.complex128) + y,
    "from_real": lambda x, y: x.real.to(x.dtype) + y,
}

PARTS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "real": lambda x, y: x.real * y.imag,
    "view_as_real": lambda x, y: torch.view_as_real(x) * 2,
    "view_as_complex": lambda x, y: torch.view_as_complex(torch.view_as_real(x) + 1) * y,
    "complex": lambda x, y: torch.complex(x.real, y.real),
    "polar": lambda x, y: torch.polar(x.abs(), y.real),
}

MOVES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "returned": lambda x, y: (x, y, x),
    "twice": lambda x, y: (p := x + y, p),
    "transpose": lambda x, y: x.t() + y.reshape(3, 2),
    "reshape": lambda x, y: x.reshape(-1),
    "cat": lambda x, y: torch.cat([x, y], 1),
    "gather": lambda x, y: torch.gather(x, 0, torch.zeros(2, 3, dtype=torch.int64)),
    "index": lambda x, y: x[torch.tensor([1, 0])],
    "slice": lambda x, y: x[:, ::2] * y[0, 1],
    "flip": lambda x, y: x.flip(0),
    "pad": lambda x, y: functional.pad(x, (1, 2)),
    "roll": lambda x, y: torch.roll(x, 1, 1),
    "repeat": lambda x, y: x.repeat(2, 2),
    "tril": lambda x, y: x.tril(),
    "scatter_add": lambda x, y: x.scatter_add(1, torch.zeros(2, 3, dtype=torch.int64), y),
    "index_copy": lambda x, y: x.index_copy(0, torch.zeros(1, dtype=torch.int64), y[:1]),
    "full": lambda x, y: torch.full_like(x, 1 + 2j) + torch.ones_like(y),
}

SUMS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sum": lambda x, y: (x.sum(), y.sum(1)),
    "prod": lambda x, y: (x.prod(), y.prod(1)),
    "mean": lambda x, y: (x.mean(), y.mean(0)),
    "var": lambda x, y: (x.var(), y.std(1)),
    "cumsum": lambda x, y: x.cumsum(1),
    "any": lambda x, y: (x.any(), x.all()),
    "logsumexp": lambda x, y: (x.logsumexp(1), torch.logaddexp(x, y)),
    "cumprod": lambda x, y: x.cumprod(1),
    "distance": lambda x, y: functional.pairwise_distance(x, y),
    "softmax_of_real": lambda x, y: functional.softmax(x.real, 1) * y,
    "norm": lambda x, y: torch.linalg.vector_norm(x),
    "mm": lambda x, y: x @ y.T,
    "mm_adjoint": lambda x, y: x @ y.mH,
    "bmm": lambda x, y: torch.bmm(x[None], y.T[None]),
    "addmm": lambda x, y: torch.addmm(x[:, :1], x, y.T, beta=2, alpha=1 + 2j),
    "dot": lambda x, y: (torch.dot(x[0], y[0]), torch.vdot(x[0], y[0])),
    "conv": lambda x, y: functional.conv1d(x[None], y[None, :, :2] * (1 + 1j)),
    "linear": lambda x, y: functional.linear(x, y, y[:, 0]),
}

PROGRAMS = POINTWISE | PARTS | MOVES | SUMS


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def operands(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    random = torch.Generator().manual_seed(11)
    x, y = (torch.randn(2, 3, dtype=dtype, generator=random) * 1.5 for _ in range(2))
    x[0, 0], x[1, 0], y[0, 2], y[1, 2] = 0, 1.25, 2j, x[1, 2]
    return x, y


def listed(value: Any) -> list[Tensor]:
    return [v.resolve_conj() for v in (value if isinstance(value, tuple) else (value,))]


def agree(ours: Any, theirs: list[Tensor], layer: str) -> None:
    for mine, wanted in zip(listed(ours), theirs, strict=True):
        torch.testing.assert_close(mine, wanted, equal_nan=True, msg=lambda m: f"{layer}: {m}")


@pytest.mark.parametrize(
    "dtype",
    [torch.complex64, pytest.param(torch.complex128, marks=pytest.mark.long)],
    ids=["complex64", "complex128"],
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str, dtype: torch.dtype) -> None:
    args = operands(dtype)
    expected = listed(PROGRAMS[name](*args))
    exported = torch.export.export(_Module(PROGRAMS[name]), args)
    agree(lamina.compile(exported, cache=False)(*args), expected, "native")
    imported = import_exported_program(exported)
    if imported.constants:
        return
    start = "aten"
    for layer in ("functional", "core_aten", "prims", "loop", "fused", "bufferized", "scheduled"):
        run_pipeline(imported.module, pipeline(start=start, stop=layer), Context())
        start = layer
        made = run_module(imported.module, [a.numpy() for a in args])
        agree(tuple(torch.from_numpy(np.array(m, order="C")) for m in made), expected, layer)


@pytest.mark.parametrize("name", ["sqrt", "log", "exp", "abs", "acos", "asin", "asinh", "atanh"])
def test_signed_zeros_find_their_side_of_the_cut(name: str) -> None:
    finite = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0]
    points = np.array([[complex(x, y) for x in finite] for y in finite])
    for i, x in enumerate(finite):
        points.real[:, i], points.imag[i, :] = x, finite[i]
    function = {"acos": np.arccos, "asin": np.arcsin, "asinh": np.arcsinh, "atanh": np.arctanh}
    with np.errstate(all="ignore"):
        expected = function.get(name, getattr(np, name, None))(points)  # pyright: ignore
    given = "tensor<6x6xcomplex<f64>>"
    result = "tensor<6x6xf64>" if name == "abs" else given
    text = f"""
func.func @main(%z: {given}) -> {result} {{
  %r = prims.{name}(%z) : ({given}) -> {result}
  func.return %r : {result}
}}"""
    made = lamina.compile(text, cache=False)(points)
    np.testing.assert_allclose(made, expected, rtol=1e-12, atol=1e-14)


def test_quotients_neither_overflow_nor_vanish() -> None:
    x = torch.tensor([1e200 + 1e200j, 1e-200 + 1e-200j, 3 + 4j], dtype=torch.complex128)
    y = torch.tensor([2e200 - 1e200j, 1e-200 - 2e-200j, 1e300], dtype=torch.complex128)
    exported = torch.export.export(_Module(lambda x, y: x / y), (x, y))
    made = lamina.compile(exported, cache=False)(x, y)
    torch.testing.assert_close(made, x / y)


def test_what_is_not_defined_is_refused() -> None:
    text = """
func.func @main(%z: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %r = prims.erf(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  func.return %r : tensor<4xcomplex<f32>>
}"""
    with pytest.raises(lamina.UnsupportedError, match=r"prims\.erf: is not computed on complex"):
        lamina.compile(text, cache=False)


def test_imaginary_parts_are_never_dropped_silently() -> None:
    text = """
func.func @main(%z: tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32> {
  %r = aten.linalg_vector_norm.default(%z, dim = [1], keepdim = true) : (tensor<2x2xcomplex<f32>>) -> tensor<2x1xf32>
  %w = aten.expand.default(%r, size = [2, 2]) : (tensor<2x1xf32>) -> tensor<2x2xf32>
  func.return %w : tensor<2x2xf32>
}"""  # noqa: E501
    z = np.array([[3 + 4j, 0], [0, 1j]], np.complex64)
    np.testing.assert_allclose(lamina.compile(text, cache=False)(z), [[5, 5], [1, 1]], rtol=1e-6)


def test_every_split_names_a_primitive() -> None:
    for name in table():
        assert prims.op(name)


def test_long_running_products_are_formed_in_double_precision() -> None:
    angles = torch.linspace(-3, 3, 1000)
    unit = torch.polar(torch.ones(1000), angles)
    module = _Module(lambda x: x.cumprod(0))
    compiled = lamina.compile(torch.export.export(module, (unit,)), cache=False)
    exact = unit.to(torch.complex128).cumprod(0)
    assert (compiled(unit).to(torch.complex128) - exact).abs().max() < 1e-7
