"""`torch.compile` with caches that grow from call to call: how many versions they take."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch", reason="the front end is torch's")


class LargeCache(torch.nn.Module):
    """A cache of 4 million elements at 128 positions, which its readers mask."""

    def forward(self, x: Any, cache: Any) -> Any:
        cache = torch.cat([cache, x], 1)
        return cache.mean(2).softmax(-1), cache


def test_a_large_cache_that_grows() -> None:
    compiled = torch.compile(LargeCache(), backend="lamina")
    before = lamina.compile_count()
    cache = torch.randn(1, 60, 1 << 15)
    for _ in range(8):
        x = torch.randn(1, 1, 1 << 15)
        found, grown = compiled(x, cache)
        wanted, cache = LargeCache()(x, cache)
        torch.testing.assert_close(found, wanted)
        assert torch.equal(grown, cache)
    assert lamina.compile_count() == before + 2  # 60; up to 256, as of small ones
