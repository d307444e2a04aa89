"""Softmaxes whose weights only products read: results are those of torch, tiny weights are 0."""

import re

import pytest
import torch

import lamina


class Masked(torch.nn.Module):
    """Attention with a mask that is added, of finite numbers, as Swin's windows have it."""

    def __init__(self, *, shows_weights: bool) -> None:
        super().__init__()
        self.shows_weights = shows_weights

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor
    ) -> tuple[torch.Tensor, ...]:
        weights = torch.softmax(q @ k.transpose(-1, -2) * 0.2 + mask, -1)
        return (weights @ v, weights) if self.shows_weights else (weights @ v,)


def arguments(dtype: torch.dtype) -> list[torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.where(torch.rand(49, 49) < 0.5, 0.0, -100.0)
    return [*(torch.randn(2, 3, 49, 32, dtype=dtype) for _ in range(3)), mask.to(dtype)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_masked_rows_are_those_of_torch(dtype: torch.dtype) -> None:
    given = arguments(dtype)
    program = torch.export.export(Masked(shows_weights=False), tuple(given))
    compiled = lamina.compile(program, cache=False)
    assert "lamina.flushed" in compiled.ir("prims")
    (found,), (wanted,) = compiled(*given), Masked(shows_weights=False)(*given)
    if dtype is torch.bfloat16:  # eager mode rounds scores and weights
        (exact,) = Masked(shows_weights=False)(*(x.double() for x in given))
        assert (found.double() - exact).norm() <= (wanted.double() - exact).norm()
    else:
        torch.testing.assert_close(found, wanted)


def test_weights_that_are_seen_stay_subnormal() -> None:
    given = arguments(torch.float32)
    program = torch.export.export(Masked(shows_weights=True), tuple(given))
    result, weights = lamina.compile(program, cache=False)(*given)
    wanted, expected = Masked(shows_weights=True)(*given)
    torch.testing.assert_close(result, wanted)
    tiny = torch.finfo(torch.float32).tiny
    subnormal = (expected > 0) & (expected < tiny)
    assert subnormal.any()
    assert ((weights > 0) & (weights < tiny))[subnormal].float().mean() > 0.9


def test_the_last_instruction_of_whole_vectors_leaves_tiny_weights_out() -> None:
    """So no subnormal number is made, nor an infinity put in the place of an argument."""
    given = arguments(torch.float32)
    program = torch.export.export(Masked(shows_weights=False), tuple(given))
    code = lamina.compile(program, target="x86-64-v4", cache=False).ir("asm")
    scaled = re.findall(r"vscalefps\t.*%zmm\d+(.*)", code)
    assert any("{z}" in masks for masks in scaled)
