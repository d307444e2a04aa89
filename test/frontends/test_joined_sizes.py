"""Dimensions of unknown size that a program joins and splits again, called with many sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
Dim = torch.export.Dim
SHAPES = ((2, 3), (1, 5), (4, 9), (7, 2), (1, 1))


def _split(x: Any, weight: Any, bias: Any) -> Any:
    rows = torch.nn.functional.linear(x.view(-1, x.shape[-1]), weight, bias)
    return rows.view(*x.shape[:2], -1)


def _added(x: Any, weight: Any, bias: Any) -> Any:
    return torch.addmm(bias, x.view(-1, x.shape[-1]), weight.T).view(*x.shape[:2], -1)


def _multiplied(x: Any, weight: Any, bias: Any) -> Any:
    return torch.mm(x.view(-1, x.shape[-1]), weight.T).view(*x.shape[:2], -1) + bias


def _joined(x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.linear(x.view(-1, x.shape[-1]), weight, bias).cumsum(0)


def _of_joined(x: Any, weight: Any, bias: Any) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ rows.T).sum(0), rows.shape[0] * bias


def _heads(x: Any, weight: Any, bias: Any) -> Any:
    batch, length, width = x.shape
    heads = x.transpose(0, 1).reshape(length, batch * 2, width // 2).transpose(0, 1)
    scores = torch.bmm(heads, heads.transpose(1, 2)).softmax(-1)
    made = torch.bmm(scores, heads).transpose(0, 1).reshape(length * batch, width)
    return torch.nn.functional.linear(made, weight, bias).view(length, batch, -1).transpose(0, 1)


def _differences(x: Any, weight: Any, bias: Any) -> Any:
    front = torch.zeros_like(x[:, :1])
    return x.diff(dim=1, prepend=front), (x.diff(dim=2) @ weight.T[1:]).mean(1) + bias


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(6, 8))
        self.bias = torch.nn.Parameter(torch.randn(6))

    def forward(self, x: Any) -> Any:
        return self.function(x, self.weight, self.bias)


@pytest.mark.parametrize(
    "function",
    [_split, _added, _multiplied, _joined, _of_joined, _heads, _differences],
    ids=lambda function: function.__name__[1:],
)
def test_joined_dimensions(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    model = _Module(function).eval()
    sizes = {"x": {0: Dim("batch", min=1, max=8), 1: Dim("length", min=1, max=64)}}
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(2, 3, 8),), dynamic_shapes=sizes)
        compiled = lamina.compile(program, versions="padded")
        for shape in SHAPES:
            x = torch.randn(*shape, 8)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)
    assert len(compiled.sizes) == 1


@pytest.mark.parametrize("function", [_split, _added, _multiplied, _joined])
def test_matrices_of_open_size(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for batch, length, features, columns in (
            (2, 3, 8, 6),
            (4, 9, 5, 12),
            (7, 2, 16, 3),
            (3, 5, 9, 7),
            (2, 7, 3, 20),
        ):
            inputs = (
                torch.randn(batch, length, features),
                torch.randn(columns, features),
                torch.randn(columns),
            )
            torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-5, atol=1e-5)
    assert lamina.compile_count() - before <= 3  # of five sizes
