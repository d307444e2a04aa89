"""Softmax of logits so large that the rounding errors of their scaling alone are huge."""

import pytest
import torch
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(3)


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


class CausalAttention(torch.nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class MaskedAttention(torch.nn.Module):
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.parametrize("keys", [7, 130])
@pytest.mark.parametrize("kind", [Attention, CausalAttention, MaskedAttention])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_rows_of_minus_infinity(dtype: torch.dtype, kind: type, keys: int) -> None:
    """Rows of scores that are all -inf give 0, whatever made them so; one +inf gives NaN.

    Torch's code for half floats gives 0 for +inf too if keys are many, NaN if they are few: what
    is right is its result in f32.
    """
    torch.manual_seed(0)
    q = torch.rand(1, 2, 9, 16).to(dtype)
    k, v = (torch.rand(1, 2, keys, 16).to(dtype) + 1 for _ in range(2))
    q[..., 2, 5] = float("-inf")
    q[..., 3, 5] = float("inf")
    q[..., 4, :] = torch.finfo(dtype).min
    q[..., 5, :] = torch.finfo(dtype).max
    given = [q, k * (1 if dtype == torch.float16 else 1e3), v]
    if kind is MaskedAttention:
        mask = torch.randn(9, keys).to(dtype)
        mask[0] = float("-inf")
        mask[1, 2] = float("-inf")
        mask[6, 3] = float("inf")
        mask[7] = torch.finfo(dtype).min
        given.append(mask)
    module = kind()
    got = lamina.compile(torch.export.export(module, tuple(given)), cache=False)(*given)
    # Eager mode rounds half-float weights before they multiply values; the f32 program does not.
    wide = {"rtol": 2e-2, "atol": 2e-2} if dtype.itemsize == 2 else {"rtol": 1e-4, "atol": 1e-5}
    wanted = (
        module(*(t.float() for t in given)).to(dtype) if dtype.itemsize == 2 else module(*given)
    )
    torch.testing.assert_close(got, wanted, equal_nan=True, **wide)
