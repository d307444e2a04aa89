"""Where f16 and bf16 are rounded: as torch's eager mode does, or once where a kernel ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import lamina

pytestmark = pytest.mark.one_in(2)

DTYPES = (torch.bfloat16, torch.float16)

CHAINS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sums": lambda x, y: (x + y) * x - (y + 1.7) / 0.3,
    "numbers": lambda x, y: torch.rsub(x, y, alpha=0.3) + torch.add(x, y, alpha=1.7) + (2.3 - x),
    "zero_dims": lambda x, y: (x + torch.tensor(0.3)) * torch.tensor(0.7),
    "functions": lambda x, y: torch.tanh(x * y + x) - torch.sigmoid(y) * 0.3,
    "logarithms": lambda x, y: torch.log1p(x.abs()) * torch.log2(y.abs() + 1) + torch.expm1(x),
    "powers": lambda x, y: (x**3 + y**2).abs().sqrt() / (x.abs() + 0.1) ** 1.7,
    "activations": lambda x, y: functional.silu(x) * functional.softplus(y) + functional.mish(x),
    "units": lambda x, y: functional.elu(x, 1.3) + functional.selu(y) + functional.hardswish(x * y),
    "bounds": lambda x, y: torch.clamp(x * 1.3, -0.7, 0.9) + functional.leaky_relu(y, 0.1),
    "choices": lambda x, y: torch.where(x > 0.1, x * y, y - x) + functional.hardshrink(x, 0.3),
    "remainders": lambda x, y: torch.remainder(x, y) + torch.fmod(y, 0.3) + torch.frac(x * y),
    "quotients": lambda x, y: (
        torch.div(x, y, rounding_mode="floor") - torch.divide(x, y, rounding_mode="trunc")
    ),
    "single_divisors": lambda x, y: (
        torch.div(x, y[:1], rounding_mode="trunc")
        - torch.div(y, 0.3, rounding_mode="floor")
        + torch.div(x, torch.tensor(-0.17), rounding_mode="trunc")
    ),
    "thresholds": lambda x, y: (
        functional.threshold(torch.where(y > 0, x, 0.1), 0.1, -2.0)
        + torch.ops.aten.hardtanh_backward(x, torch.where(x > 0, y, 0.1), -0.1, 0.1)
    ),
    "gradients": lambda x, y: (
        torch.ops.aten.hardsigmoid_backward(x, y)
        + torch.ops.aten.hardswish_backward(x, y)
        + torch.ops.aten.mish_backward(x, y)
        + torch.ops.aten.smooth_l1_loss_backward(x, y, x * y, 0, 0.7)
    ),
    "steps": lambda x, y: torch.xlogy(x, y.abs()) + torch.logit(torch.sigmoid(x)),
    "second_names": lambda x, y: (
        torch.special.sinc(x) * torch.special.logit(torch.special.expit(y))
        + torch.subtract(x, y, alpha=0.3).multiply(1.7)
    ),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3) * torch.lerp(x, y, x),
    "margins": lambda x, y: (
        functional.hinge_embedding_loss(x, torch.sign(y), margin=0.3, reduction="none")
        + functional.margin_ranking_loss(x, y, torch.sign(x), margin=0.3, reduction="none")
    ),
    "angles": lambda x, y: torch.atan2(x, y) + torch.asinh(x) + torch.sin(y),
}

INEXACT = {"remainders", "quotients", "single_divisors", "thresholds", "zero_dims"}
"""Chains in which the last bit of a half float decides."""


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Any:
        return self.function(*args)


def compiled(function: Callable[..., Any], *args: Tensor, **options: Any) -> lamina.Compiled:
    exported = torch.export.export(_Module(function), args)
    return lamina.compile(exported, cache=False, **options)


def operands(dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Whole vectors only: torch's loops for the rest round differently."""
    random = torch.Generator().manual_seed(3)
    x, y = (torch.randn(1024, generator=random) * 2 for _ in range(2))
    return x.to(dtype), y.to(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", CHAINS)
def test_eager_rounding_is_torchs_bit_for_bit(name: str, dtype: torch.dtype) -> None:
    x, y = operands(dtype)
    ours = compiled(CHAINS[name], x, y, rounding="eager")(x, y)
    theirs = CHAINS[name](x, y)
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    assert bool(same.all()), (x[~same], y[~same], ours[~same], theirs[~same])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", sorted(set(CHAINS) - INEXACT))
def test_a_kernel_rounds_once(name: str, dtype: torch.dtype) -> None:
    """Half a unit in the last place of the exact result, and f32's own error of the chain."""
    x, y = operands(dtype)
    ours = compiled(CHAINS[name], x, y)(x, y).double()
    exact = CHAINS[name](x.double(), y.double())
    unit = 2.0 ** -(8 if dtype == torch.bfloat16 else 11)
    smallest = 2.0 ** -(134 if dtype == torch.bfloat16 else 25)
    limit = exact.abs() * unit + smallest + 1e-5 * (1 + exact.abs())
    fine = (ours - exact).abs() <= limit
    fine |= exact.isnan() & ours.isnan()
    fine |= exact.abs() > torch.finfo(dtype).max
    assert bool(fine.all()), (x[~fine], y[~fine], ours[~fine], exact[~fine])


def test_the_two_differ() -> None:
    x, y = operands(torch.bfloat16)
    kernel = compiled(CHAINS["functions"], x, y)(x, y)
    assert not torch.equal(kernel, CHAINS["functions"](x, y))


@pytest.mark.parametrize("rounding", ["kernel", "eager"])
def test_conversions_of_the_program_always_round(rounding: str) -> None:
    def low(x: Tensor) -> Tensor:
        return x - x.to(torch.bfloat16).float()

    x = torch.randn(64)
    assert torch.equal(compiled(low, x, rounding=rounding)(x), low(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("integer", [torch.int64, torch.int32, torch.int16, torch.int8])
def test_integers_round_where_they_become_half_floats(
    integer: torch.dtype, dtype: torch.dtype
) -> None:
    """Those that f16 cannot hold are infinite before they are divided."""

    def program(x: Tensor) -> Tensor:
        return x.to(dtype) * 0.001

    limits = torch.iinfo(integer)
    x = torch.tensor([limits.min, limits.max, -127, 127, limits.max // 3], dtype=integer)
    made = compiled(program, x)(x)
    torch.testing.assert_close(made, program(x), rtol=0, atol=0)


@pytest.mark.parametrize("rounding", ["kernel", "eager"])
def test_sums_accumulate_in_single_precision(rounding: str) -> None:
    x = torch.full((4096,), 1.0, dtype=torch.bfloat16)
    assert compiled(lambda x: x.sum(), x, rounding=rounding)(x).item() == 4096


def test_rows_of_softmax_and_norms_round_once() -> None:
    def f(x: Tensor) -> Tensor:
        return functional.softmax(functional.layer_norm(x * 1.5, [128]), -1) * 3

    x = operands(torch.bfloat16)[0].reshape(8, 128)
    exact = f(x.double())
    assert bool(((compiled(f, x)(x) - exact).abs() <= exact.abs() * (2**-8 + 1e-5)).all())


def test_torch_compile_takes_the_option() -> None:
    x, y = operands(torch.bfloat16)
    chain = CHAINS["functions"]
    with torch.no_grad():
        eager = torch.compile(chain, backend="lamina", options={"rounding": "eager"})(x, y)
        kernel = torch.compile(chain, backend="lamina")(x, y)
    assert torch.equal(eager, chain(x, y))
    assert not torch.equal(kernel, eager)


def test_unknown_roundings_are_refused() -> None:
    x, y = operands(torch.bfloat16)
    with pytest.raises(lamina.InputError, match="no rounding is called 'up'; there are kernel, ea"):
        compiled(CHAINS["sums"], x, y, rounding="up")
    with pytest.raises(Exception, match="rounding='up': one of kernel, eager"), torch.no_grad():
        torch.compile(lambda x: x + 1, backend="lamina", options={"rounding": "up"})(x)


def test_the_ir_shown_is_the_one_that_runs() -> None:
    x, y = operands(torch.bfloat16)
    chain = CHAINS["sums"]
    counts = [
        compiled(chain, x, y, rounding=rounding).ir("fused").count("arith.truncf")
        for rounding in ("kernel", "eager")
    ]
    assert counts[0] == 1 < counts[1]


def test_exponential_of_the_soft_margin_loss_overflows_as_in_eager_mode() -> None:
    x, y = torch.tensor([-12.0, -3.0]).half(), torch.tensor([1.0, 1.0]).half()
    loss = compiled(functional.soft_margin_loss, x, y)(x, y)
    assert torch.isinf(functional.soft_margin_loss(x, y))
    assert torch.isinf(loss)
