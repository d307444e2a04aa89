"""Control flow with integers and sizes that depend on data, exported and through Dynamo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import lamina

Tensor = torch.Tensor


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def exported(
    function: Callable[..., Any], args: tuple[Tensor, ...]
) -> torch.export.ExportedProgram:
    return torch.export.export(_Program(function), args, strict=False)


def test_through_dynamo() -> None:
    def function(x: Tensor, n: Tensor) -> Tensor:
        y = torch.cond(x.sum() > 0, lambda v: v.sin(), lambda v: v.cos(), (x,))
        z = while_loop(lambda n, v: n > 0, lambda n, v: (n - 1, v * y), (n, x))[1]
        return scan(lambda h, v: (h + v, h * v), torch.zeros(4), z)[1]

    compiled = torch.compile(function, backend="lamina", fullgraph=True)
    x = torch.randn(3, 4)
    with torch.no_grad():
        for sign in (1, -1):
            given = sign * x.abs(), torch.tensor(2)
            torch.testing.assert_close(compiled(*given), function(*given))


def test_while_carries_integers() -> None:
    def function(x: Tensor) -> Any:
        def body(i: int, j: int, y: Tensor) -> Any:
            return i + 1, j - i, y * 2 + j

        i, j, y = while_loop(lambda i, j, y: i * 2 < j, body, (0, 20, x))
        return y + i, i + 1, j

    for sample in (torch.rand(4), torch.rand(3, 2)):
        compiled = lamina.compile(exported(function, (sample,)))
        torch.testing.assert_close(compiled(sample), function(sample))
        torch._dynamo.reset()
        through_dynamo = torch.compile(function, backend="lamina")
        torch.testing.assert_close(through_dynamo(sample), function(sample))


def test_branches_give_integers() -> None:
    def function(x: Tensor) -> Tensor:
        return x + torch.cond(x.sum() > 0, lambda x: 3, lambda x: 4, (x,))

    compiled = lamina.compile(exported(function, (torch.ones(4),)))
    for sign in (1, -1):
        sample = sign * torch.rand(4)
        torch.testing.assert_close(compiled(sample), function(sample))


def test_sizes_that_depend_on_data_stay_inside_branches_and_loops() -> None:
    def chosen(x: Tensor) -> Any:
        def then(x: Tensor) -> Any:
            return x.nonzero().sum(), x[x > 0.5].sum()

        return torch.cond(x.sum() > 0, then, lambda x: (x.sum().long(), x.sum()), (x,))

    def summed(x: Tensor) -> Any:
        def body(i: Tensor, total: Tensor) -> Any:
            return i + 1, total + torch.masked_select(x, x > i / 4).sum()

        return while_loop(lambda i, total: i < 3, body, (torch.tensor(0), torch.zeros(())))

    for function in (chosen, summed):
        compiled = lamina.compile(exported(function, (torch.ones(5),)))
        for sign in (1, -1):
            sample = sign * torch.rand(5)
            torch.testing.assert_close(compiled(sample), function(sample))


def test_sizes_that_depend_on_data_enter_branches() -> None:
    def function(x: Tensor) -> Tensor:
        chosen = x[x > 0]
        return torch.cond(x.sum() > 0, lambda y: y.sum(), lambda y: y.prod(), (chosen,))

    compiled = lamina.compile(exported(function, (torch.ones(4),)))
    for sample in (torch.ones(4), torch.randn(4), -torch.ones(4), torch.tensor([2.0, 3, -9, -9])):
        torch.testing.assert_close(compiled(sample), function(sample))
