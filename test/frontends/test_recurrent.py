"""Recurrent layers of any length, of several layers and directions, packed ones too."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from xdsl.dialects.builtin import i64

import lamina
from lamina.frontends.builder import ProgramBuilder

pytestmark = pytest.mark.one_in(3)

LAYERS: dict[str, Callable[[], nn.RNNBase]] = {
    "lstm": lambda: nn.LSTM(8, 16),
    "gru": lambda: nn.GRU(8, 16, batch_first=True),
    "rnn": lambda: nn.RNN(8, 16, nonlinearity="relu", bias=False),
    "tanh": lambda: nn.RNN(8, 16, 2, bidirectional=True),
    "two layers and directions": lambda: nn.LSTM(8, 16, 2, bidirectional=True, dropout=0.5),
    "projected": lambda: nn.LSTM(8, 16, proj_size=4, bias=False, bidirectional=True),
    "gru of two directions": lambda: nn.GRU(8, 16, 2, bidirectional=True),
}


@pytest.fixture(autouse=True)
def captured_by_dynamo() -> Any:
    with torch._dynamo.config.patch(allow_rnn=True), torch.no_grad():
        yield


def _layer(name: str) -> nn.RNNBase:
    torch.manual_seed(0)
    return LAYERS[name]().eval()


def _inputs(layer: nn.RNNBase, *sizes: int) -> tuple[Tensor, ...]:
    """The inputs, of `sizes`, and a first state for two sequences."""
    count = layer.num_layers * (2 if layer.bidirectional else 1)
    states = [torch.randn(count, 2, layer.proj_size or layer.hidden_size)]
    if isinstance(layer, nn.LSTM):
        states.append(torch.randn(count, 2, layer.hidden_size))
    return torch.randn(*sizes, layer.input_size), *states


def _close(actual: Any, expected: Any) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("length", [1, 7])
@pytest.mark.parametrize("name", LAYERS)
def test_exported(name: str, length: int) -> None:
    layer = _layer(name)
    x, *states = _inputs(layer, *((2, length) if layer.batch_first else (length, 2)))
    given = tuple(states) if len(states) > 1 else states[0]
    compiled = lamina.compile(torch.export.export(layer, (x, given)))
    _close(compiled(x, given), layer(x, given))


@pytest.mark.parametrize("name", ["lstm", "gru", "two layers and directions"])
def test_torch_compile(name: str) -> None:
    """Also the op for one layer on a CPU, which torch takes for LSTMs outside of training."""
    layer = _layer(name)
    x = torch.randn(2, 5, 8) if layer.batch_first else torch.randn(5, 2, 8)
    torch._dynamo.reset()
    _close(torch.compile(layer, backend="lamina", fullgraph=True)(x), layer(x))


@pytest.mark.parametrize("reverse", [False, True])
def test_one_layer_of_the_cpu(reverse: bool) -> None:
    layer, x = _layer("lstm"), torch.randn(4, 2, 8)
    state = torch.randn(2, 1, 2, 16)

    def run(x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, ...]:
        weights = layer._flat_weights
        flags = 2, 16, 1, True, False, False, False
        return torch.ops.aten.mkldnn_rnn_layer(x, *weights, h, c, reverse, [], *flags)[:3]

    torch._dynamo.reset()
    expected = run(x, state[0], state[1])
    _close(torch.compile(run, backend="lamina", fullgraph=True)(x, state[0], state[1]), expected)


def _program(
    layer: nn.RNNBase, tensors: tuple[Tensor, ...], sizes: Tensor | None = None
) -> lamina.Compiled:
    program = ProgramBuilder()
    x = program.input("x", tuple(tensors[0].shape))
    more = [] if sizes is None else [program.input("sizes", tuple(sizes.shape), i64)]
    states = [program.input(f"h{n}", tuple(s.shape)) for n, s in enumerate(tensors[1:])]
    flat = {f"w{n}": weight for n, weight in enumerate(layer._flat_weights)}
    weights = [program.parameter(n, tuple(w.shape)) for n, w in flat.items()]
    flags = [layer.bias, layer.num_layers, layer.dropout, False, layer.bidirectional]
    overload = "input" if sizes is None else "data"
    results = program.op(
        f"{layer.mode.lower()}.{overload}",
        x,
        *more,
        states if isinstance(layer, nn.LSTM) else states[0],
        weights,
        *flags,
        *([layer.batch_first] if sizes is None else []),
    )
    program.output(*results)
    constants = {name: weight.detach() for name, weight in flat.items()}
    return lamina.compile(program.module(), constants=constants)


def _eager(layer: nn.RNNBase, tensors: tuple[Tensor, ...], sizes: Tensor) -> list[Tensor]:
    """By torch's op for packed sequences, each state rounded as it is."""
    states = list(tensors[1:]) if isinstance(layer, nn.LSTM) else tensors[1]
    flags = layer.bias, layer.num_layers, layer.dropout, False, layer.bidirectional
    function = getattr(torch, layer.mode.lower())
    return list(function(tensors[0], sizes, states, layer._flat_weights, *flags))


@pytest.mark.parametrize("sizes", [[2], [2, 2, 1, 1, 1], [2] * 6, [1, 1]])
@pytest.mark.parametrize("name", LAYERS)
def test_packed(name: str, sizes: list[int]) -> None:
    layer, steps = _layer(name), torch.tensor(sizes)
    tensors = _inputs(layer, sum(sizes))
    tensors = (tensors[0], *(state[:, : sizes[0]].contiguous() for state in tensors[1:]))
    compiled = _program(layer, tensors, steps)
    _close(list(compiled(tensors[0], steps, *tensors[1:])), _eager(layer, tensors, steps))


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_code_does_not_grow_with_the_length(name: str) -> None:
    """512 steps are a loop: they have the kernels of 7."""
    layer = _layer(name)
    counts: list[int] = []
    for length in (7, 512):
        tensors = _inputs(layer, *((2, length) if layer.batch_first else (length, 2)))
        compiled = _program(layer, tensors)
        states = tensors[1:] if isinstance(layer, nn.LSTM) else (tensors[1],)
        given = tuple(states) if isinstance(layer, nn.LSTM) else states[0]
        actual = list(compiled(*tensors))
        outputs, last = layer(tensors[0], given)
        _close(actual, [outputs, *(last if isinstance(last, tuple) else [last])])
        counts.append(len(compiled.kernels))
    assert counts[0] == counts[1]
