"""`torch.compile(backend="lamina")` of functions that take derivatives with `torch.func`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from torch.func import grad, jvp
from torch.nn import functional

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]


def check(function: Callable[..., Any], *args: Tensor) -> None:
    actual = torch.compile(function, backend="lamina")(*args)
    torch.testing.assert_close(actual, function(*args), rtol=1e-4, atol=1e-5)


def norms(y: Tensor) -> Tensor:
    return functional.layer_norm(y, (3,)).pow(3).sum()


def batches(y: Tensor) -> Tensor:
    return functional.batch_norm(y, None, None, training=True).pow(3).sum()


def groups(y: Tensor) -> Tensor:
    return functional.group_norm(y.view(1, 4, 3), 2).pow(3).sum()


def instances(y: Tensor) -> Tensor:
    return functional.instance_norm(y[None]).pow(3).sum()


def lines(y: Tensor) -> Tensor:
    return functional.conv1d(y[None], torch.ones(2, 4, 2)).pow(2).sum()


def images(y: Tensor) -> Tensor:
    weight = torch.arange(8.0).view(2, 1, 2, 2)
    return functional.conv_transpose2d(y.view(1, 2, 2, 3), weight, stride=2).pow(2).sum()


@pytest.mark.parametrize("function", [norms, batches, groups, instances, lines, images])
def test_results_that_an_output_mask_leaves_out(function: Callable[..., Tensor]) -> None:
    check(lambda y: grad(function)(y), torch.randn(4, 3))


def unfolded(y: Tensor) -> Tensor:
    return y.flatten().unfold(0, 5, 3).pow(2).sum()


def circular(y: Tensor) -> Tensor:
    return functional.pad(y[None], (1, 2), "circular").pow(3).sum()


def strided(y: Tensor) -> Tensor:
    return y.as_strided((2, 2), (1, 3)).pow(2).sum()


def overlapping(y: Tensor) -> Tensor:
    return y.as_strided((3, 3), (2, 1), 1).pow(2).sum()


def overwritten(y: Tensor) -> Tensor:
    y = y * 2
    y.as_strided((2, 2), (1, 3)).zero_()
    return y.pow(2).sum()


@pytest.mark.parametrize("function", [unfolded, circular, strided, overlapping, overwritten])
def test_gradients_of_views(function: Callable[..., Tensor]) -> None:
    check(lambda y: grad(function)(y), torch.randn(4, 3))


def test_gradient_of_the_only_window() -> None:
    check(lambda y: grad(lambda y: y.unfold(0, 1, 1).sum() * 3)(y), torch.tensor(2.0))


@pytest.mark.parametrize("heads", [1, 2])
def test_gradients_of_grouped_queries(heads: int) -> None:
    """Four heads of queries share those of keys and values, behind a mask of a cache."""
    mask = torch.arange(7) <= torch.arange(2, 7)[:, None]

    def attended(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        made = functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        return made.pow(3).sum()

    key, value = torch.randn(2, 2, heads, 7, 4)
    check(lambda *given: grad(attended, (0, 1, 2))(*given), torch.randn(2, 4, 5, 4), key, value)


def test_a_written_unfold_is_refused_inside_a_gradient() -> None:
    def function(y: Tensor) -> Tensor:
        y = y.clone()
        y.unfold(0, 3, 3).mul_(2)
        return y.sum()

    with pytest.raises(BackendCompilerFailed, match="windows of a written unfold"):
        torch.compile(lambda y: grad(function)(y), backend="lamina")(torch.randn(8))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: torch.dot(torch.ones(3), x[0]),
        lambda x: torch.vdot(x[0], torch.ones(3)),
        lambda x: torch.cholesky_solve(x[:, :2], torch.eye(4) * 2),
        lambda x: x.t() @ x[:, 1:],
        lambda x: torch.arange(12.0).view(3, 4) @ x.exp(),
        lambda x: torch.linalg.cholesky(x @ x.t() + 4 * torch.eye(4)),
        lambda x: torch.linalg.svdvals(x),
        lambda x: torch.fft.rfft(x).abs(),
        lambda x: torch.stack([x.exp(), x.clone().mul_(2)]),
    ],
)
def test_tangents(function: Callable[..., Tensor]) -> None:
    check(lambda x, t: jvp(function, (x,), (t,)), torch.randn(4, 3), torch.randn(4, 3))
