"""Attention of every size and mask, in one kernel and with memory linear in its length.

Beside torch's eager mode. What must not happen is that a kernel is refused for its scratch, or
that the scores of all rows are stored.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from attention_tolerances import TOLERANCES

import lamina
from lamina.codegen.target import STACK_BYTES, Target

pytestmark = pytest.mark.one_in(2)

Tensor = torch.Tensor
scaled_dot_product_attention = torch.nn.functional.scaled_dot_product_attention

HEADS = (1, 12, 16, 32)
KEYS = (1, 17, 128, 256, 512, 768, 1024, 2048, 4096, 8192)
WINDOW = 100


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v)


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def sliding(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    row = torch.arange(q.shape[-2])[:, None]
    column = torch.arange(k.shape[-2])[None]
    mask = (column <= row) & (column > row - WINDOW)
    return scaled_dot_product_attention(q, k, v, attn_mask=mask)


def grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def grouped_without_mask(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scaled_dot_product_attention(q, k, v, enable_gqa=True)


MASKS: dict[str, Callable[..., Tensor]] = {
    "plain": plain,
    "causal": causal,
    "bool": masked,
    "float": masked,
    "keys": masked,
    "heads": masked,
    "sliding": sliding,
    "grouped": grouped,
}


def mask_for(kind: str, batch: int, heads: int, keys: int, dtype: torch.dtype) -> list[Tensor]:
    """The mask that is passed, if there is one; no row of it is empty."""
    if kind == "bool":
        return [(torch.rand(keys, keys) > 0.3) | torch.eye(keys, dtype=torch.bool)]
    if kind == "float":
        return [torch.randn(keys, keys, dtype=dtype)]
    if kind == "keys":
        kept = torch.rand(batch, 1, 1, keys) > 0.3
        kept[..., 0] = True
        return [kept]
    if kind == "heads":
        return [torch.randn(1, heads, keys, keys, dtype=dtype)]
    return []


def compile_for(function: Callable[..., Any], *arguments: Tensor) -> Any:
    class Module(torch.nn.Module):
        def forward(self, *values: Tensor) -> Any:
            return function(*values)

    return lamina.compile(torch.export.export(Module(), arguments))


def check(kind: str, batch: int, heads: int, keys: int, dtype: torch.dtype = torch.float32) -> None:
    torch.manual_seed(keys)
    kept = heads // 4 if kind == "grouped" else heads
    q = torch.randn(batch, heads, keys, 64, dtype=dtype)
    k, v = (torch.randn(batch, kept, keys, 64, dtype=dtype) for _ in range(2))
    arguments = (q, k, v, *mask_for(kind, batch, heads, keys, dtype))
    function = MASKS[kind]
    compiled = compile_for(function, *arguments)
    wanted = function(*arguments)
    torch.testing.assert_close(
        compiled(*arguments), wanted, rtol=TOLERANCES[dtype], atol=TOLERANCES[dtype]
    )
    # Packed keys and values, what is the same for all heads, and the scratch of two threads.
    size = 8 if dtype == torch.float64 else 4
    packed = 2 * batch * kept * (keys + 32) * 64 * size
    assert compiled.memory.arena <= packed + keys * keys * 8 + 2 * STACK_BYTES


def cases() -> list[tuple[str, int, int, torch.dtype]]:
    """All sizes that torch can compute in some seconds, in an order of their own."""
    found = [
        (kind, heads, keys, dtype)
        for kind in MASKS
        for heads in HEADS
        for keys in KEYS
        for dtype in TOLERANCES
        if heads * keys * keys <= 1 << 28 and not (kind == "grouped" and heads == 1)
    ]
    random.Random(5).shuffle(found)
    return found


@pytest.mark.parametrize(
    ("kind", "heads", "keys"),
    [
        ("causal", 12, 768),
        ("causal", 16, 512),
        ("causal", 32, 256),
        ("bool", 1, 4096),
        ("float", 12, 1024),
        ("sliding", 12, 512),
        ("heads", 12, 256),
        ("grouped", 32, 256),
        ("plain", 1, 8192),
    ],
)
def test_sizes(kind: str, heads: int, keys: int) -> None:
    check(kind, 1, heads, keys)


@pytest.mark.parametrize("kind", ["causal", "keys", "heads"])
def test_batches(kind: str) -> None:
    check(kind, 16, 12, 128)


@pytest.mark.parametrize(("kind", "heads", "keys", "dtype"), cases()[:6])
def test_some(kind: str, heads: int, keys: int, dtype: torch.dtype) -> None:
    check(kind, 1, heads, min(keys, 1024), dtype)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "heads", "keys", "dtype"), cases())
def test_all(kind: str, heads: int, keys: int, dtype: torch.dtype) -> None:
    check(kind, 1, heads, keys, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("repeat", ["expand", "interleave"])
def test_repeated_heads(repeat: str, dtype: torch.dtype) -> None:
    """Keys and values that the program repeats for heads that share them are packed once."""

    def repeated(x: Tensor) -> Tensor:
        if repeat == "interleave":
            return x.repeat_interleave(4, 1)
        batch, heads, keys, size = x.shape
        wide = x[:, :, None].expand(batch, heads, 4, keys, size)
        return wide.reshape(batch, 4 * heads, keys, size)

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        made = scaled_dot_product_attention(q, repeated(k), repeated(v), is_causal=True)
        return made.transpose(1, 2).flatten(2)

    q = torch.randn(2, 8, 96, 64, dtype=dtype)
    k, v = (torch.randn(2, 2, 96, 64, dtype=dtype) for _ in range(2))
    compiled = compile_for(attend, q, k, v)
    tolerance = TOLERANCES.get(dtype, 2e-3)
    torch.testing.assert_close(compiled(q, k, v), attend(q, k, v), rtol=tolerance, atol=tolerance)
    host = Target.host()
    pairs = dtype == torch.bfloat16 and (host.dots_pairs or host.multiplies_tiles)
    # Where no instruction multiplies halves, queries are widened first.
    queries = 0 if dtype == torch.float32 or pairs else 8 * q.numel()
    assert compiled.memory.arena <= 2 * k.numel() * 4 + queries


def test_grouped_step_of_decoding() -> None:
    """Heads that share their keys are the rows of one product."""
    q = torch.randn(1, 8, 1, 64)
    k, v = (torch.randn(1, 2, 512, 64) for _ in range(2))
    compiled = compile_for(grouped_without_mask, q, k, v)
    wanted = grouped_without_mask(q, k, v)
    torch.testing.assert_close(compiled(q, k, v), wanted, rtol=2e-5, atol=2e-5)
    assert not any("broadcast" in op for kernel in compiled.kernels for op in kernel.ops)
    assert compiled.memory.arena < 4 * k.numel()  # neither is copied


def test_scratch_beyond_the_stack() -> None:
    """32 Ki keys: a block of eight rows takes a megabyte, and stands in the arena."""
    q = torch.randn(1, 1, 64, 16)
    k, v = torch.randn(1, 1, 1 << 15, 16), torch.randn(1, 1, 1 << 15, 16)
    compiled = compile_for(plain, q, k, v)
    torch.testing.assert_close(compiled(q, k, v), plain(q, k, v), rtol=2e-5, atol=2e-5)


def test_many_keys_of_few_rows() -> None:
    """A step of decoding against a long cache."""
    q = torch.randn(1, 12, 1, 64)
    k, v = torch.randn(1, 12, 4096, 64), torch.randn(1, 12, 4096, 64)
    compiled = compile_for(plain, q, k, v)
    torch.testing.assert_close(compiled(q, k, v), plain(q, k, v), rtol=2e-5, atol=2e-5)


def test_diffusion_block() -> None:
    """Self-attention of 64 x 64 pixels beside attention to the 77 words of a prompt."""

    def block(x: Tensor, words: Tensor, w: Tensor) -> Tensor:
        def heads(t: Tensor) -> Tensor:
            return t.view(t.shape[0], -1, 8, 40).transpose(1, 2)

        x = x.flatten(2).transpose(1, 2)
        for other in (x, words):
            q, k, v = heads(x @ w), heads(other @ w), heads(other @ w)
            made = scaled_dot_product_attention(q, k, v)
            x = x + made.transpose(1, 2).flatten(2) @ w
        return x

    x, words = torch.randn(1, 320, 64, 64), torch.randn(1, 77, 320)
    w = torch.randn(320, 320) / 18
    compiled = compile_for(block, x, words, w)
    torch.testing.assert_close(compiled(x, words, w), block(x, words, w), rtol=1e-4, atol=1e-4)
    assert compiled.memory.arena < 8 * 4096 * 4096  # a quarter of the scores
