"""Gradients in bf16 through `torch.compile`, beside f64 and eager mode."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.func import grad
from torch.nn import functional

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]


def attended(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    weights = torch.linspace(-1, 1, value.shape[-1], dtype=query.dtype)
    return (functional.scaled_dot_product_attention(query, key, value) * weights).sum()


def test_attention_rounds_no_scores() -> None:
    """Weights are exponentials of scores less logarithms of sums: rounded to bf16 each, they are
    wrong by what the logarithm is large, three times eager's error of the gradient of queries."""
    torch.manual_seed(0)
    args = [torch.randn(2, 2, 33, 16) * scale for scale in (2, 2, 1)]
    halves = [x.bfloat16() for x in args]
    gradients: Callable[..., tuple[Tensor, ...]] = grad(attended, argnums=(0, 1, 2))
    exact = gradients(*(x.double() for x in halves))
    eager = gradients(*halves)
    ours = torch.compile(lambda *x: gradients(*x), backend="lamina")(*halves)
    for made, theirs, right in zip(ours, eager, exact, strict=True):
        own, other = ((x.double() - right).abs().max() for x in (made, theirs))
        assert own <= 1.2 * other


def test_gradients_of_convolutions_that_an_output_mask_leaves_out() -> None:
    weight = torch.randn(8, 4, 3, 3).bfloat16()

    def of_weight(weight: Tensor) -> Tensor:
        return functional.conv2d(image, weight).square().sum()

    image = torch.randn(2, 4, 6, 6).bfloat16()
    actual = torch.compile(lambda w: grad(of_weight)(w), backend="lamina")(weight)
    eager, image = grad(of_weight)(weight), image.double()
    exact = grad(of_weight)(weight.double())
    own, other = ((x.double() - exact).abs().max() for x in (actual, eager))
    assert own <= 1.2 * other
