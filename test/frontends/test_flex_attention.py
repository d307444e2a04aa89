"""`flex_attention`, whose scores and masks are functions of the user, against eager mode."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import lamina

pytestmark = pytest.mark.one_in(2)

SLOPES = torch.tensor([0.5, 0.25, 0.125, 0.0625])
DOCUMENTS = torch.arange(96) // 40

Function = Callable[..., Tensor]


def _causal(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i >= j


def _document(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (DOCUMENTS[i] == DOCUMENTS[j]) & (i >= j)


def _nothing_for_some(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return i > j + 3


def _slopes(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return score + SLOPES[h] * (j - i)


def _capped(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return torch.tanh(score / 20) * 20


class Attention(nn.Module):
    def __init__(self, score: Function | None, mask: Function | None, sizes: Any, **kwargs: Any):
        super().__init__()
        _, self.heads, self.groups, rows, columns, _ = sizes
        self.score, self.kwargs = score, kwargs
        self.mask = None
        if mask is not None:
            self.mask = create_block_mask(mask, None, None, rows, columns, device="cpu")

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Any:
        gqa = self.heads != self.groups
        given = dict(score_mod=self.score, block_mask=self.mask, enable_gqa=gqa, **self.kwargs)
        return flex_attention(q, k, v, **given)


# Sizes are batch, heads of queries, heads of keys, queries, keys, width.
CASES: dict[str, tuple[Function | None, Function | None, tuple[int, ...], dict[str, Any]]] = {
    "plain": (None, None, (2, 2, 2, 7, 5, 8), {}),
    "causal": (None, _causal, (2, 4, 4, 96, 96, 16), {}),
    "slopes": (_slopes, None, (1, 4, 4, 33, 40, 16), {"scale": 0.3}),
    "documents of groups": (_capped, _document, (1, 8, 2, 96, 96, 16), {}),
    "rows without keys": (_slopes, _nothing_for_some, (1, 4, 4, 17, 17, 8), {"return_lse": True}),
}


def _arguments(sizes: tuple[int, ...], dtype: torch.dtype = torch.float32) -> tuple[Tensor, ...]:
    torch.manual_seed(0)
    batch, heads, groups, rows, columns, width = sizes
    shapes = (heads, rows), (groups, columns), (groups, columns)
    return tuple(torch.randn(batch, *shape, width).to(dtype) for shape in shapes)


@pytest.mark.parametrize("way", ["export", "compile"])
@pytest.mark.parametrize("name", CASES)
def test_as_eager(name: str, way: str) -> None:
    score, mask, sizes, kwargs = CASES[name]
    module, given = Attention(score, mask, sizes, **kwargs), _arguments(sizes)
    torch._dynamo.reset()
    with torch.no_grad():
        expected = module(*given)
        if way == "export":
            actual = lamina.compile(torch.export.export(module, given))(*given)
        else:
            actual = torch.compile(module, backend="lamina", fullgraph=True)(*given)
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def _window(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (i >= j) & (i - j < 20)


def _prefix(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (j < 30) | (i >= j)


@pytest.mark.parametrize("mask", [_causal, _window, _prefix])
@pytest.mark.parametrize("way", ["export", "compile"])
def test_what_positions_mask_is_left_out(mask: Function, way: str) -> None:
    sizes = (1, 2, 2, 96, 96, 16)
    module, given = Attention(_capped, mask, sizes), _arguments(sizes)
    torch._dynamo.reset()
    with torch.no_grad():
        if way == "export":
            compiled = lamina.compile(torch.export.export(module, given))
            assert "lamina.bounds" in compiled.ir("fused")
        else:
            compiled = torch.compile(module, backend="lamina", fullgraph=True)
        torch.testing.assert_close(compiled(*given), module(*given), rtol=1e-4, atol=1e-5)


def test_the_function_itself_is_compiled() -> None:
    sizes = (1, 4, 4, 64, 64, 16)
    given = _arguments(sizes, torch.bfloat16)
    mask = create_block_mask(_causal, None, None, 64, 64, device="cpu")
    torch._dynamo.reset()
    with torch.no_grad():
        expected = flex_attention(*given, score_mod=_slopes, block_mask=mask)
        compiled: Any = torch.compile(flex_attention, backend="lamina", fullgraph=True)
        actual = compiled(*given, score_mod=_slopes, block_mask=mask)
    torch.testing.assert_close(actual, expected)
