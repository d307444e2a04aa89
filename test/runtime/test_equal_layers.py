"""Equal layers of a network, compiled as one region, beside eager mode and code without."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower

WIDTH, HEADS, LENGTH = 384, 4, 12


class Block(torch.nn.Module):
    """A layer of a transformer whose norm stands in front, or behind; its bias is a gather."""

    def __init__(self, in_front: bool) -> None:
        super().__init__()
        self.in_front = in_front
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(WIDTH) for _ in range(2))
        self.inward = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.outward = torch.nn.Linear(WIDTH, WIDTH)
        self.wide = torch.nn.Linear(WIDTH, 2 * WIDTH)
        self.narrow = torch.nn.Linear(2 * WIDTH, WIDTH)
        self.table = torch.nn.Parameter(torch.randn(2 * LENGTH, HEADS))

    def attend(self, x: torch.Tensor, mask: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        """Attention with a bias by distance."""
        parts = self.inward(x).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        bias = self.table[places].permute(2, 0, 1)
        bias = bias.masked_fill(mask.logical_not(), -1e30)
        made = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], bias)
        return self.outward(F.dropout(made.transpose(1, 2).flatten(2), 0.1, self.training))

    def forward(self, x: torch.Tensor, mask: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        first, second = self.norms
        if self.in_front:
            x = x + self.attend(first(x), mask, places)
            return x + self.narrow(F.gelu(self.wide(second(x))))
        x = first(x + self.attend(x, mask, places))
        return second(x + self.narrow(F.gelu(self.wide(x))))


class Network(torch.nn.Module):
    """Layers; what all of them have made if `all_states`; the same weights in each if `tied`."""

    def __init__(self, layers: int, in_front: bool, all_states: bool, tied: bool) -> None:
        super().__init__()
        blocks = [Block(in_front)] * layers if tied else [Block(in_front) for _ in range(layers)]
        self.blocks = torch.nn.ModuleList(blocks)
        self.last = torch.nn.LayerNorm(WIDTH)
        self.all_states = all_states
        distances = torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)
        self.register_buffer("places", distances + LENGTH)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> list[torch.Tensor]:
        states, mask = [x], mask.expand(LENGTH, LENGTH)
        for block in self.blocks:
            states.append(block(states[-1], mask, self.places))
        return [*states[1:], self.last(states[-1])] if self.all_states else [self.last(states[-1])]


def _network(
    layers: int, in_front: bool = True, *, all_states: bool = False, tied: bool = False
) -> tuple[Network, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    network = Network(layers, in_front, all_states, tied).eval()
    return network, (torch.randn(2, LENGTH, WIDTH), torch.arange(LENGTH) < LENGTH - 3)


def _check(network: Network, given: tuple[torch.Tensor, ...]) -> lamina.Compiled:
    compiled = lamina.compile(torch.export.export(network, given), cache=False)
    assert compiled.ir("functional").count("control.repeat") == 1
    assert "control.repeat" not in compiled.ir("fused")
    with torch.no_grad():
        wanted = network(*given)
    for one, other in zip(compiled(*given), wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    return compiled


@pytest.mark.parametrize("in_front", [True, False])
@pytest.mark.parametrize("all_states", [True, False])
def test_layers_with_weights_of_their_own(in_front: bool, all_states: bool) -> None:
    _check(*_network(4, in_front, all_states=all_states))


def test_layers_that_share_their_weights() -> None:
    _check(*_network(3, tied=True))


def test_code_is_that_of_layers_written_out() -> None:
    network, given = _network(4)
    exported = torch.export.export(network, given)
    rolled = _check(network, given)
    written_out = lamina.Pipeline().drop("roll-layers", "roll-nests")
    flat = lamina.compile(exported, pipeline=written_out, cache=False)
    assert "control.repeat" not in flat.ir("functional")
    assert torch.equal(rolled(*given)[0], flat(*given)[0])
    assert [k.calls for k in rolled.kernels] == [k.calls for k in flat.kernels]


def test_ops_are_lowered_once_whatever_the_number_of_layers() -> None:
    texts = [lamina.compile(torch.export.export(*_network(n)), cache=False) for n in (3, 8)]
    few, many = (text.ir("prims").count(" = prims.contract") for text in texts)
    assert few == many


@pytest.mark.parametrize("layer", ("functional", "core_aten", "prims", "loop", "fused"))
def test_each_layer_means_the_same(layer: str) -> None:
    network, given = _network(3, all_states=True)
    imported = lamina.import_exported_program(torch.export.export(network, given))
    module = imported.module
    lower(module, "aten", layer, Target.host())
    assert ("control.repeat" in str(module)) == (layer != "fused")
    arrays = {name: np.asarray(value) for name, value in imported.constants.items()}
    arrays |= {"x": given[0].numpy(), "mask": given[1].numpy()}
    with torch.no_grad():
        wanted = network(*given)
    for one, other in zip(run_module(module, arrays), wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


def test_half_floats() -> None:
    network, given = _network(3)
    network, given = network.bfloat16(), (given[0].bfloat16(), given[1])
    found = lamina.compile(torch.export.export(network, given), cache=False)(*given)[0]
    with torch.no_grad():
        eager = network(*given)[0]
        exact = network.double()(given[0].double(), given[1])[0]
    assert (found - exact).abs().max() <= 1.5 * (eager - exact).abs().max()


def test_one_version_serves_all_batches() -> None:
    network, given = _network(3)
    torch._dynamo.reset()
    compiled = torch.compile(network, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    for batch in (2, 5, 1, 3):
        x = torch.randn(batch, LENGTH, WIDTH)
        with torch.no_grad():
            torch.testing.assert_close(
                compiled(x, given[1])[0], network(x, given[1])[0], rtol=1e-4, atol=1e-5
            )
    assert lamina.compile_count() - before <= 2


class ConvBlock(torch.nn.Module):
    """A residual block of convolutions: two of 3x3, or one between two that mix channels alone."""

    def __init__(self, wide: bool) -> None:
        super().__init__()
        sizes = [(256, 96, 1), (96, 96, 3), (96, 256, 1)] if wide else [(128, 128, 3)] * 2
        made = [
            (torch.nn.Conv2d(a, b, k, padding=k // 2, bias=False), torch.nn.BatchNorm2d(b))
            for a, b, k in sizes
        ]
        self.parts = torch.nn.ModuleList(torch.nn.Sequential(*pair) for pair in made)
        for _, norm in made:
            torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
            torch.nn.init.normal_(norm.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        *first, last = self.parts
        made = x
        for part in first:
            made = torch.relu(part(made))
        return torch.relu(last(made) + x)


def _images(blocks: int, wide: bool) -> tuple[torch.nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    channels = 256 if wide else 128
    made = [ConvBlock(wide) for _ in range(blocks)]
    network = torch.nn.Sequential(*made, torch.nn.Conv2d(channels, 64, 3, stride=2))
    return network.eval(), torch.randn(1, channels, 14, 14)


def _repeats(network: torch.nn.Module, x: torch.Tensor) -> int:
    """How many regions of equal nests a program has."""
    module = lamina.import_exported_program(torch.export.export(network, (x,))).module
    lower(module, "aten", "loop", Target.host())
    passes = pipeline(start="loop", stop="fused", enters=False)
    names = [spec.partition("{")[0] for spec in passes]
    run_pipeline(module, passes[: names.index("roll-nests") + 1], Context())
    return str(module).count("control.repeat")


@pytest.mark.parametrize("wide", [False, True])
def test_blocks_of_convolutions(wide: bool) -> None:
    network, x = _images(4, wide)
    assert _repeats(network, x) == 1
    exported = torch.export.export(network, (x,))
    rolled = lamina.compile(exported, cache=False)
    flat = lamina.compile(exported, pipeline=lamina.Pipeline().drop("roll-nests"), cache=False)
    with torch.no_grad():
        made, wanted = rolled(x), network(x)
        assert (made - wanted).abs().max() <= 2e-5 * wanted.abs().max()
        torch.testing.assert_close(rolled(x), flat(x), rtol=1e-4, atol=1e-5)


def test_kernels_of_blocks_of_convolutions_are_those_of_blocks_written_out() -> None:
    network, x = _images(4, wide=False)
    exported = torch.export.export(network, (x,))
    rolled = lamina.compile(exported, cache=False)
    flat = lamina.compile(exported, pipeline=lamina.Pipeline().drop("roll-nests"), cache=False)
    assert sorted(k.calls for k in rolled.kernels) == sorted(k.calls for k in flat.kernels)
    assert torch.equal(rolled(x), flat(x))


def test_kernels_of_blocks_of_bf16_multiply_what_those_of_blocks_written_out_do() -> None:
    network, x = _images(4, wide=False)
    network, x = network.bfloat16(), x.bfloat16()
    assert _repeats(network, x) == 1
    exported = torch.export.export(network, (x,))
    rolled = lamina.compile(exported, cache=False)
    flat = lamina.compile(exported, pipeline=lamina.Pipeline().drop("roll-nests"), cache=False)
    assert sorted(k.types for k in rolled.kernels) == sorted(k.types for k in flat.kernels)
    assert torch.equal(rolled(x), flat(x))


def test_two_blocks_of_convolutions_stay_as_they_are() -> None:
    assert _repeats(*_images(2, wide=True)) == 0
