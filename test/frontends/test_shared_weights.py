"""Weights that versions of one graph share: packed once, and again when they have changed."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import nn

from lamina.runtime import bind
from lamina.runtime.buffers import live_bytes, side_by_side

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]


class Versions:
    """A network called with sizes for which it has three versions, in one graph."""

    lengths = (4, 300, 2000)

    def __init__(self, weights: str, width: int = 256) -> None:
        self.module = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.module.eval()
        self.width = width
        self.function = torch.compile(
            self.module, backend="lamina", options={"weights": weights}, dynamic=True
        )

    def check(self, length: int) -> None:
        x = torch.randn(length, self.width)
        torch.testing.assert_close(self.function(x), self.module(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", ["checked", "frozen"])
def test_versions_share_what_they_pack(weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed: list[int] = []

    def counted(sizes: Sequence[int], what: str, room: Any = None) -> Any:
        packed.extend(sizes)
        return side_by_side(sizes, what, room)

    monkeypatch.setattr(bind, "side_by_side", counted)
    network = Versions(weights)
    for length in network.lengths * 2:
        network.check(length)
    assert len(packed) == 2 and sum(packed) == 2 * 4 * network.width**2


def test_versions_see_changes_of_what_another_has_packed() -> None:
    for change in (lambda w: w.mul_(2), lambda w: w.data.mul_(2), lambda w: w.data.zero_()):
        torch.compiler.reset()
        network = Versions("checked")
        network.check(4)
        with torch.no_grad():
            change(network.module[0].weight)
        for length in (2000, 4, 2000, 300):
            network.check(length)


def test_weights_that_versions_share_die_with_the_module() -> None:
    torch.compiler.reset()  # what other tests have left dies first
    gc.collect()
    network, before = Versions("checked"), live_bytes()
    for length in network.lengths:
        network.check(length)
    assert live_bytes() > before
    function = network.function
    del network
    torch.compiler.reset()
    del function
    gc.collect()
    assert live_bytes() == before
