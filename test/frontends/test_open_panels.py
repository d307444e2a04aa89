"""Attention of open lengths: keys and values are packed up to the panels that a call visits."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina
from lamina.codegen.target import Target
from lamina.frontends.exported_program import import_exported_program
from lamina.runtime.interpreters.run import run_module
from lamina.runtime.layers import lower, parse
from lamina.runtime.sized import padded_program

pytestmark = pytest.mark.one_in(2)

PANEL = 2 * Target.host().lanes(32)
"""Keys of a panel: two vectors of f32."""

SHAPES = ((1, 1), (1, 8), (3, 33), (2, 32), (4, 64), (1, 31), (2, 63), (4, 100))
"""Batches and lengths: fewer than a panel has, whole panels, one more and one less."""


class Attention(nn.Module):
    """Attention whose keys and values are computed, so that both are packed by kernels."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        """`q`, `k`, `v`: [batch, heads, length, 16]."""
        scaled = q * 2, k * 2, v * 3
        return functional.scaled_dot_product_attention(
            *scaled, is_causal=self.kind == "causal", enable_gqa=self.kind == "grouped"
        )


def _arguments(kind: str, batch: int, length: int) -> list[torch.Tensor]:
    heads = (4, 2, 2) if kind == "grouped" else (2, 2, 2)
    return [torch.randn(batch, own, length, 16) for own in heads]


def _exported(kind: str, most: tuple[int, int]) -> torch.export.ExportedProgram:
    batch, length = Dim("batch", min=1, max=most[0]), Dim("length", min=1, max=most[1])
    given = tuple(_arguments(kind, 3, 40))
    return torch.export.export(Attention(kind), given, dynamic_shapes=({0: batch, 2: length},) * 3)


def _padded(kind: str) -> tuple[nn.Module, lamina.Compiled]:
    return Attention(kind), lamina.compile(_exported(kind, (4, 128)), versions="padded")


def _ends_at_panels(text: str, panels: int) -> bool:
    """Whether packed keys end at a number of panels of the call, or with the panel of a number."""
    return re.search(rf"live = \[[^\]]*arg\d+( ceildiv {PANEL})? of {panels}\b", text) is not None


@pytest.mark.parametrize("kind", ["all", "causal", "grouped"])
def test_as_torch_at_odd_lengths(kind: str) -> None:
    torch.manual_seed(0)
    model, compiled = _padded(kind)
    for shape in SHAPES:
        given = _arguments(kind, *shape)
        torch.testing.assert_close(compiled(*given), model(*given), rtol=1e-4, atol=1e-5)
    made = compiled.sizes[-1].compiled.ir("bufferized")
    assert _ends_at_panels(made, 128 // PANEL)
    assert re.search(r"ceildiv (\d+) \* \1 of 128", made)  # values, in tiles of tasks


@pytest.mark.parametrize("kind", ["all", "causal"])
def test_nothing_behind_the_panels_is_read(kind: str) -> None:
    """What a longer call has left behind the panels of a short one is no number."""
    torch.manual_seed(0)
    model, compiled = _padded(kind)
    for shape in ((1, 1), (3, 33), (2, 32)):
        compiled(*(torch.full_like(x, np.nan) for x in _arguments(kind, 4, 128)))
        given = _arguments(kind, *shape)
        torch.testing.assert_close(compiled(*given), model(*given), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["all", "causal"])
def test_an_infinite_value_counts(kind: str) -> None:
    """A value behind a query of a causal mask is no number times a weight of 0."""
    model, compiled = _padded(kind)
    given = _arguments(kind, 1, 40)
    given[2][0, 0, 39, 3] = np.inf
    np.testing.assert_array_equal(
        torch.isnan(compiled(*given)).numpy(), torch.isnan(model(*given)).numpy()
    )


@pytest.mark.parametrize("kind", ["all", "causal"])
def test_layers_agree(kind: str) -> None:
    torch.manual_seed(0)
    bounds = (4, 64)
    module = import_exported_program(_exported(kind, bounds)).module
    names = re.findall(r"lamina.size<(\w+) in \[1, (\d+)\]", str(module))
    module = padded_program(module, {name: int(most) for name, most in names})
    layers: list[str] = []
    for above, below in (("functional", "bufferized"), ("bufferized", "scheduled")):
        lower(module, above, below, Target.host())
        layers.append(str(module))
    assert _ends_at_panels(layers[0], 64 // PANEL)
    for batch, length in ((1, 1), (2, 33), (2, 64)):
        given = _arguments(kind, batch, length)
        room = [np.full((bounds[0], 2, bounds[1], 16), np.nan, np.float32) for _ in given]
        for all_of_it, own in zip(room, given, strict=True):
            all_of_it[:batch, :, :length] = own.numpy()
        wanted = Attention(kind)(*given).numpy()
        for text in layers:
            made = run_module(parse(text), [*room, np.array(batch), np.array(length)])[0]
            cut = np.asarray(made)[:batch, :, :length]
            np.testing.assert_allclose(cut, wanted, 1e-4, 1e-4)
