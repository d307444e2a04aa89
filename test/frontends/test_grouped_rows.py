"""Ops between a join of open dimensions and the view that splits them again, at many sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
functional = torch.nn.functional
Dim = torch.export.Dim
SHAPES = ((2, 3), (1, 5), (4, 9), (7, 2), (1, 1), (0, 4))


def _experts(x: Any, weight: Any, ids: Any) -> Any:
    """Tokens of a batch by few of several experts, whose weights come from a softmax."""
    rows = x.view(x.shape[0] * x.shape[1], x.shape[2])
    weights, chosen = (rows @ weight).softmax(-1).topk(2, dim=-1)
    hot = functional.one_hot(chosen, 6).to(x.dtype)
    shares = (hot * (weights / weights.sum(-1, keepdim=True)).unsqueeze(-1)).sum(1)
    made = (shares.unsqueeze(-1) * (rows * 2).unsqueeze(1)).sum(1)
    return made.view(x.shape), hot.sum((0, 1)), shares.mean(0, keepdim=True)


def _norms(x: Any, weight: Any, ids: Any) -> Any:
    rows = x.view(x.shape[0] * x.shape[1], 8)
    made = functional.layer_norm(rows, (8,)) + functional.embedding(ids.view(-1), weight.T)
    return made.view(x.shape), made.t().mean(1), (rows > 0).all(1).view(ids.shape), rows.sum()


def _losses(x: Any, weight: Any, ids: Any) -> Any:
    labels = torch.where(ids > 3, -100, ids).view(-1)
    scores = (x @ weight).view(-1, 6)
    logs = scores.log_softmax(-1).gather(1, ids.view(-1, 1)).squeeze(-1)
    sums = functional.cross_entropy(scores, labels, reduction="sum")
    return sums, -logs.sum(), functional.nll_loss(logs[:, None] + scores, labels, reduction="sum")


def _squares(x: Any, weight: Any, ids: Any) -> Any:
    scores = x @ x.transpose(1, 2)
    every = scores.flatten(1)
    return every.sum(1), every.abs().logsumexp(1), (every > 0).any(1), every.softmax(1).sum(1)


def _columns(x: Any, weight: Any, ids: Any) -> Any:
    """Columns of a product that are joined too, by rows and by batches of them."""
    batch, length, width = x.shape
    joined = x.permute(2, 0, 1).reshape(width, batch * length)
    made = torch.mm(weight.T, joined).view(weight.shape[1], batch, length)
    rows = torch.mm(x.reshape(batch * length, width), joined).view(batch, length, batch, length)
    return made, rows.sum((1, 3))


def _spread(x: Any, weight: Any, ids: Any) -> Any:
    """What channels of an image of two sizes have in common, and their means and deviations."""
    batch, length, width = x.shape
    image = (x[:, :, None] * x[:, None]).permute(0, 3, 1, 2).reshape(batch, width, length * length)
    grams = image @ image.transpose(1, 2) / 8
    rows = x.reshape(batch * length, width)
    return grams, image.std(-1, unbiased=False), image.norm(dim=-1), rows.var(1), rows.norm(dim=0)


_ALL = (_experts, _norms, _losses, _squares, _columns, _spread)


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function, self.weight = function, torch.nn.Parameter(torch.randn(8, 6))

    def forward(self, x: Any, ids: Any) -> Any:
        return self.function(x, self.weight, ids)


def _check(made: Any, expected: Any) -> None:
    for one, other in zip(made, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("function", _ALL, ids=lambda function: function.__name__[1:])
def test_exported(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    model = _Module(function).eval()
    dims = {0: Dim("batch", max=8), 1: Dim("length", max=64)}
    given = torch.randn(2, 3, 8), torch.randint(0, 6, (2, 3))
    with torch.no_grad():
        program = torch.export.export(model, given, dynamic_shapes=(dims, dims))
        compiled = lamina.compile(program, versions="padded")
        for shape in SHAPES:
            compiled(torch.full((8, 64, 8), float("nan")), torch.zeros(8, 64, dtype=torch.int64))
            x, ids = torch.randn(*shape, 8), torch.randint(0, 6, shape)
            _check(compiled(x, ids), model(x, ids))
    assert len(compiled.sizes) == 1


@pytest.mark.parametrize("function", _ALL, ids=lambda function: function.__name__[1:])
def test_graphs_of_dynamo(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=True)
    with torch.no_grad():
        for shape in SHAPES:
            given = torch.randn(*shape, 8), torch.randn(8, 6), torch.randint(0, 6, shape)
            _check(compiled(*given), function(*given))
