"""Ops of torch's namespaces beside aten: imported by what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch._prims  # registers the prims namespace
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed

import lamina
from lamina.dialects.errors import UnsupportedError

Q: Any = torch.ops.quantized_decomposed
P: Any = torch.ops.prims
CHAR = torch.int8


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def _per_tensor(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> Any:
    y = Q.quantize_per_tensor(x, 0.1, 3, -128, 127, CHAR)
    return y, Q.dequantize_per_tensor(y, 0.1, 3, -128, 127, CHAR)


def _per_channel(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> Any:
    y = Q.quantize_per_channel(x, scale, zero, 1, -128, 127, CHAR)
    return y, Q.dequantize_per_channel(y, scale, zero, 1, -128, 127, CHAR)


def _primitives(x: torch.Tensor, scale: torch.Tensor, zero: torch.Tensor) -> Any:
    y = P.convert_element_type(x * 2, torch.float64)
    line = P.iota(4, start=1, step=2, dtype=torch.int64, device="cpu", requires_grad=False)
    return y, line, P.sum(x, [1]), P.prod(x, [0]), P.collapse(x, 0, 1)


@pytest.mark.parametrize("function", [_per_tensor, _per_channel, _primitives])
def test_as_torch(function: Callable[..., Any]) -> None:
    random = torch.Generator().manual_seed(0)
    x = torch.randn(3, 4, generator=random)
    scale = torch.rand(4, generator=random) + 0.01
    zero = torch.tensor([0, 3, -2, 1])
    program = torch.export.export(_Program(function), (x, scale, zero), strict=False)
    given = lamina.compile(program, cache=False)(x, scale, zero)
    torch.testing.assert_close(given, function(x, scale, zero))


def test_a_users_op_is_refused_by_name() -> None:
    @torch.library.custom_op("lamina_inlined_test::twice", mutates_args=(), device_types="cuda")
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    program = torch.export.export(_Program(lambda x: twice(x)), (torch.randn(3),), strict=False)
    with pytest.raises(UnsupportedError, match=r"lamina_inlined_test\.twice.*: a custom op"):
        lamina.compile(program, cache=False)


@pytest.mark.parametrize("op", ["_linalg_det", "_linalg_slogdet"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64])
@pytest.mark.parametrize("transposed", [False, True])
def test_factors_of_a_determinant_depend_on_strides(
    op: str, dtype: torch.dtype, transposed: bool
) -> None:
    def function(x: torch.Tensor) -> Any:
        return getattr(torch.ops.aten, op)(x.mT if transposed else x)

    x = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1), dtype=dtype)
    program = torch.export.export(_Program(function), (x,), strict=False)
    given = lamina.compile(program, cache=False)(x)
    torch.testing.assert_close(tuple(given), tuple(function(x)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", [torch.linalg.det, lambda x: torch.linalg.slogdet(x)[1]])
@pytest.mark.parametrize("view", [torch.clone, torch.t])
def test_forward_derivatives_of_determinants(
    function: Callable[..., Any], view: Callable[..., Any]
) -> None:
    def derivative(x: torch.Tensor, t: torch.Tensor) -> Any:
        return torch.func.jvp(lambda y: function(view(y)), (x,), (t,))

    x = torch.randn(4, 4, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        given = torch.compile(derivative, backend="lamina")(x, x.cos())
    torch.testing.assert_close(given, derivative(x, x.cos()), rtol=1e-4, atol=1e-4)
