"""Functionalized programs compute what torch computes in place; what is unsure is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from lamina.dialects.context import Context
from lamina.dialects.errors import UnsupportedError
from lamina.frontends.exported_program import import_exported_program
from lamina.passes.contracts.verify_functional import VerifyFunctionalPass
from lamina.passes.functionalize.functionalize import FunctionalizePass
from lamina.runtime.interpreters import run_module


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def whole_after_part(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    y[1].mul_(2)
    y[:, 1:3] += 1
    return y


def part_after_whole(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    row, column = y[0], y.t()[1]
    y.relu_()
    return row.sum() + column


def through_split(x: torch.Tensor) -> torch.Tensor:
    y = x.clone()
    left, right = y.chunk(2, 1)
    right.copy_(left)
    left.zero_()
    return y


def through_unbind_and_permute(x: torch.Tensor) -> torch.Tensor:
    y = x.clone().permute(1, 0)
    first, *_ = y.unbind(0)
    first.add_(10)
    return y.contiguous()


def through_view(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    flat = y.view(-1)
    flat[3:8:2].fill_(5.0)
    flat.unsqueeze(0).sigmoid_()
    return y


def of_a_copy(x: torch.Tensor) -> torch.Tensor:
    y = x.t().reshape(-1)
    y = y.clone()
    y.exp_()
    return y + x.t().reshape(-1)


def dtype_of_target(x: torch.Tensor) -> torch.Tensor:
    y = x.half()
    y.add_(x)
    y[0] = 1.5
    return y


def of_a_constant(x: torch.Tensor) -> torch.Tensor:
    counts = torch.zeros(4)
    counts[1] += 2
    counts.clamp_(min=0.5)
    return x + counts


@pytest.mark.parametrize(
    "function",
    [
        whole_after_part,
        part_after_whole,
        through_split,
        through_unbind_and_permute,
        through_view,
        of_a_copy,
        dtype_of_target,
        of_a_constant,
    ],
)
def test_as_torch(function: Callable[..., torch.Tensor]) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    program = torch.export.export(_Program(function), (x,))
    imported = import_exported_program(program)
    FunctionalizePass().apply(Context(), imported.module)
    VerifyFunctionalPass().apply(Context(), imported.module)
    constants = [value.numpy() for value in imported.constants.values()]
    (result,) = run_module(imported.module, [*constants, x.numpy()])
    np.testing.assert_allclose(result, function(x.clone()).numpy(), rtol=1e-6)


def test_written_argument_is_a_result() -> None:
    class Counter(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count.add_(x)
            self.count[0].mul_(2)
            return self.count.sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    imported = import_exported_program(torch.export.export(Counter(), (x,)))
    FunctionalizePass().apply(Context(), imported.module)
    total, count = run_module(imported.module, [np.zeros(3, np.float32), x.numpy()])
    assert total == 7
    np.testing.assert_array_equal(count, [2, 2, 3])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            """
  %y = aten.renorm.default(%x, p = 2, dim = 0, maxnorm = 1) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %t = aten.t.default(%y) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %r = aten.reshape.default(%t, shape = [6]) : (tensor<3x2xf32>) -> tensor<6xf32>
  %0 = aten.relu_.default(%r) : (tensor<6xf32>) -> tensor<6xf32>
  func.return %y : tensor<2x3xf32>""",
            "reads a tensor after aten.relu_.default may have written it, depending on strides",
        ),
        (
            """
  %r = aten.atleast_2d.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = aten.relu_.default(%r) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %x : tensor<2x3xf32>""",
            "aten.relu_.default: writes a tensor that may or may not share memory with a function",
        ),
        (
            """
  %e = aten.expand.default(%x, size = [4, 2, 3]) : (tensor<2x3xf32>) -> tensor<4x2x3xf32>
  %0 = aten.relu_.default(%e) : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  func.return %x : tensor<2x3xf32>""",
            "aten.relu_.default: writes through aten.expand.default",
        ),
    ],
)
def test_refused(body: str, message: str) -> None:
    from xdsl.parser import Parser

    text = f"func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{{body}\n}}"
    module = Parser(Context(), text).parse_module()
    with pytest.raises(UnsupportedError, match=message):
        FunctionalizePass().apply(Context(), module)
