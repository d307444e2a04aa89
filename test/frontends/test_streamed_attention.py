"""Long rows of scores, walked in blocks of keys, beside eager mode step by step.

What is joined from block to block is right whatever stands in a block: rising maxima, blocks that
are masked, infinite and missing numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan
from typing import Any

import pytest
import torch
from attention_tolerances import TOLERANCES

import lamina
from lamina.codegen.target import STACK_BYTES, Target
from lamina.passes.cost.cache_shares import stream_block
from lamina.passes.cost.fusion_limits import LEAST_STREAM_BLOCKS as LEAST_BLOCKS
from lamina.passes.fusion.stream_dims import StreamDimsPass

pytestmark = pytest.mark.one_in(3)

Tensor = torch.Tensor
SHORT = 32
"""Keys of a block here, where not all of the program is compiled."""
BLOCK = stream_block(Target.host())
LONG = BLOCK * LEAST_BLOCKS
"""Keys that are walked in blocks of the usual size."""


def weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    scores = (q @ k.transpose(-1, -2)) * 0.125
    return scores if mask is None else scores.masked_fill(~mask, -inf)


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights(q, k).softmax(-1) @ v


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    mask = torch.arange(q.shape[-2])[:, None] >= torch.arange(k.shape[-2])
    return weights(q, k, mask).softmax(-1) @ v


def window(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    row, key = torch.arange(q.shape[-2])[:, None] * 8, torch.arange(k.shape[-2])
    return weights(q, k, (key <= row) & (row - key < 300)).softmax(-1) @ v


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return weights(q, k, mask).softmax(-1) @ v


def fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.125)


def with_logarithms(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of each row's sum of exponentials."""
    scores = weights(q, k)
    largest = scores.amax(-1, keepdim=True)
    raised = (scores - largest).exp()
    total = raised.sum(-1, keepdim=True)
    return (raised / total) @ v, largest + total.log()


def unscaled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = weights(q, k)
    return ((scores - scores.amax(-1, keepdim=True)).exp() @ v) * 2.0


def biased(q: Tensor, k: Tensor, v: Tensor, bias: Tensor) -> Tensor:
    return (torch.tanh(weights(q, k) / 5) * 5 + bias).softmax(-1) @ v


def arguments(heads: int, rows: int, keys: int, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    made = torch.Generator().manual_seed(keys)
    shapes = [(heads, rows, 64), (heads, keys, 64), (heads, keys, 64)]
    return [torch.randn(shape, generator=made).to(dtype) for shape in shapes]


def module_for(function: Callable[..., Any], given: list[Tensor]) -> Any:
    """The fused program, in blocks of 32 keys."""

    class Module(torch.nn.Module):
        def forward(self, *values: Tensor) -> Any:
            return function(*values)

    compiled = lamina.compile(torch.export.export(Module(), tuple(given)))
    module = lamina.parse(compiled.ir("fused"))
    StreamDimsPass(block=SHORT).apply(lamina.Context(), module)
    return module


def check(function: Callable[..., Any], given: list[Tensor], *, streamed: bool = True) -> None:
    module, near = module_for(function, given), TOLERANCES[given[0].dtype]
    assert ("lamina.stream" in str(module)) == streamed
    found, wanted = lamina.compile(module)(*given), function(*given)
    torch.testing.assert_close(found, wanted, rtol=near, atol=near, equal_nan=True)


@pytest.mark.parametrize("function", [plain, causal, window, with_logarithms, unscaled])
@pytest.mark.parametrize(("rows", "keys"), [(150, 128), (64, 161), (300, 400)])
def test_sizes(function: Callable[..., Any], rows: int, keys: int) -> None:
    check(function, arguments(4, rows, keys))


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("function", [plain, causal])
def test_types(function: Callable[..., Any], dtype: torch.dtype) -> None:
    module = module_for(function, given := arguments(4, 100, 200, dtype))
    assert "lamina.stream" in str(module)
    near = TOLERANCES[dtype]
    found, wanted = lamina.compile(module)(*given), function(*given)
    torch.testing.assert_close(found, wanted, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_floats_of_the_fused_op(dtype: torch.dtype) -> None:
    given = [t[None] for t in arguments(4, 100, 200, dtype)]
    check(torch.nn.functional.scaled_dot_product_attention, given)


@pytest.mark.parametrize("name", ["q", "k", "v"])
@pytest.mark.parametrize("value", [inf, -inf, nan, 1e38])
@pytest.mark.parametrize("function", [plain, causal])
def test_numbers_beyond_range(function: Callable[..., Any], name: str, value: float) -> None:
    given = arguments(2, 150, 150)
    given["qkv".index(name)][0, 60, 3] = value
    check(function, given)


def _mask(rows: int, keys: int) -> Tensor:
    """Rows without keys in their first blocks, in some, in their last ones, and in all."""
    mask = torch.rand(rows, keys, generator=torch.Generator().manual_seed(1)) > 0.5
    mask[0:20, : 2 * SHORT + 5] = False
    mask[20:40, SHORT : 3 * SHORT] = False
    mask[40:60, SHORT:] = False
    mask[60:70] = False
    mask[70, :-1] = False
    return mask


@pytest.mark.parametrize("function", [masked, fused])
def test_rows_with_blocks_without_keys(function: Callable[..., Any]) -> None:
    given = [t[None] for t in arguments(4, 100, 209)]
    check(function, [*given, _mask(100, 209)])


@pytest.mark.parametrize("value", [inf, nan])
def test_masked_rows_beside_numbers_beyond_range(value: float) -> None:
    given = arguments(4, 100, 192)
    given[1][:, 130, 5] = value
    check(masked, [*given, _mask(100, 192)])


@pytest.mark.parametrize("factor", [1.0, -1.0, 300.0])
def test_maxima_that_rise_and_fall(factor: float) -> None:
    q, k, v = arguments(4, 100, 192)
    q[..., 0] = 1
    k[..., 0] = torch.linspace(0, 100 * factor, 192)
    check(plain, [q, k, v])


def test_biases_and_soft_caps() -> None:
    given = arguments(4, 100, 192)
    check(biased, [*given, torch.randn(100, 192)])


def test_dropout_keeps_whole_rows_or_blocks() -> None:
    def dropped(q: Tensor, k: Tensor, v: Tensor, kept: Tensor) -> Tensor:
        return (weights(q, k).softmax(-1) * kept / 0.9) @ v

    given = arguments(4, 100, 192)
    kept = (torch.rand(4, 100, 192) > 0.1).float()
    check(dropped, [*given, kept], streamed=False)


@pytest.mark.parametrize("function", [plain, causal])
def test_long_rows(function: Callable[..., Any]) -> None:
    """In blocks of the usual size, of which a task keeps one, however many keys there are."""

    class Module(torch.nn.Module):
        def forward(self, *values: Tensor) -> Any:
            return function(*values)

    given = arguments(2, 256, LONG + 77)
    compiled = lamina.compile(torch.export.export(Module(), tuple(given)))
    assert f"block {BLOCK}>" in compiled.ir("fused")
    torch.testing.assert_close(compiled(*given), function(*given), rtol=2e-5, atol=2e-5)
    few = lamina.compile(torch.export.export(Module(), tuple(arguments(2, 256, LONG))))
    packed = 2 * 2 * (77 + 32) * 64 * 4
    assert compiled.memory.arena <= few.memory.arena + packed


def test_more_keys_than_a_row_may_have() -> None:
    given = [t[None] for t in arguments(1, 1100, 70_000)]

    class Module(torch.nn.Module):
        def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Any:
            return torch.nn.functional.scaled_dot_product_attention(query, key, value)

    compiled = lamina.compile(torch.export.export(Module(), tuple(given)))
    torch.testing.assert_close(compiled(*given), Module()(*given), rtol=2e-5, atol=2e-5)
    packed = 2 * (70_000 + 32) * 64 * 4
    assert compiled.memory.arena <= packed + 2 * STACK_BYTES


@pytest.mark.parametrize("features", [40, 64])
def test_nothing_is_left_of_calls_before(features: int) -> None:
    """Heads side by side in the result: sums begin where each head's columns are."""

    class Program(torch.nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            made = torch.nn.functional.scaled_dot_product_attention(q, k, v)
            return made.transpose(1, 2).flatten(2)

    given = tuple(torch.randn(1, 4, LONG, features) for _ in range(3))
    compiled = lamina.compile(torch.export.export(Program(), given), cache=False)
    assert "lamina.stream" in compiled.ir("fused")
    compiled(*(torch.full_like(value, nan) for value in given))
    torch.testing.assert_close(compiled(*given), Program()(*given), rtol=1e-4, atol=1e-4)
