"""Gradients of normalizations against torch's autograd, compiled."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import lamina

ATEN = torch.ops.aten


class _RmsNormGradient(torch.nn.Module):
    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.sizes = sizes

    def forward(self, g: Any, x: Any, rstd: Any, weight: Any) -> Any:
        return ATEN._fused_rms_norm_backward(g, x, self.sizes, rstd, weight, [True, True])


@pytest.mark.parametrize("sizes", [[40], [3, 40]])
def test_rms_norm(sizes: list[int]) -> None:
    """torch has no kernel of this op for CPUs: autograd of the formula in f64 is the reference."""
    torch.manual_seed(3)
    x, g, weight = torch.randn(7, 3, 40), torch.randn(7, 3, 40), torch.randn(sizes)
    x64, w64 = x.double().requires_grad_(), weight.double().requires_grad_()
    dims = list(range(-len(sizes), 0))
    rstd = ((x64 * x64).mean(dims, keepdim=True) + 1e-6).rsqrt()
    (x64 * rstd * w64).backward(g.double())
    exported = torch.export.export(_RmsNormGradient(sizes), (g, x, rstd.detach().float(), weight))
    made = lamina.compile(exported, cache=False)(g, x, rstd.detach().float(), weight)
    for ours, theirs in zip(made, (x64.grad, w64.grad), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)
