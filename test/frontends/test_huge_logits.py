"""Softmax of logits so large that the rounding errors of their scaling alone are huge."""

import pytest
import torch
from torch.nn import functional

import lamina


class Softmax(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = x * 0.17677669529663687
        return x.softmax(-1), x.log_softmax(-1), x.logsumexp(-1)


class Attention(torch.nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v)


def _compare(module: torch.nn.Module, *arguments: torch.Tensor) -> None:
    got = lamina.compile(torch.export.export(module, arguments), cache=False)(*arguments)
    rtol = 1e-9 if arguments[0].dtype == torch.float64 else 1e-4
    torch.testing.assert_close(got, module(*arguments), rtol=rtol, atol=0, equal_nan=True)


@pytest.mark.parametrize("length", [5, 64, 1100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_softmax_of_scaled_logits(dtype: torch.dtype, length: int) -> None:
    torch.manual_seed(0)
    huge = 1e30 if dtype == torch.float32 else 1e300
    sizes = torch.tensor([1e5, 1e10, huge**0.5, huge], dtype=dtype)
    _compare(Softmax(), torch.randn(4, length, dtype=dtype) * sizes[:, None])


@pytest.mark.parametrize("keys", [17, 130, 1100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_attention(dtype: torch.dtype, keys: int) -> None:
    torch.manual_seed(0)
    k, v = torch.randn(1, 2, keys, 32, dtype=dtype), torch.rand(1, 2, keys, 32, dtype=dtype) + 1
    q = torch.randn(1, 2, 33, 32, dtype=dtype)
    huge = 1e30 if dtype == torch.float32 else 1e300
    for size in (huge**0.5, huge):
        _compare(Attention(), q * size, k, v)
    _compare(Attention(), q * huge, k * huge, v)  # infinities of both signs
