"""Weights that `torch.compile` packs once: instances of a class, and changes of any kind."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import nn

from lamina.frontends.dynamo_call import WEIGHT_MODES, DynamoCall
from lamina.frontends.dynamo_weights import WeightPreparations
from lamina.runtime.buffers import live_bytes

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(3)]


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[WeightPreparations]]:
    """The preparations of graphs that a test compiles."""
    made: list[WeightPreparations] = []
    begin = DynamoCall.__init__

    def watched(self: DynamoCall, *args: Any, **keywords: Any) -> None:
        begin(self, *args, **keywords)
        if self.weights is not None:
            made.append(self.weights)

    monkeypatch.setattr(DynamoCall, "__init__", watched)
    yield made


class Network(nn.Module):
    """Products that pack their weights, and a norm that is folded into one of them."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.conv = nn.Conv1d(width, width, 1)
        self.norm = nn.BatchNorm1d(width)
        self.first = nn.Linear(8, 2 * width)
        self.second = nn.Linear(2 * width, 8)
        self.norm.running_mean = torch.randn(width)
        self.norm.running_var = torch.rand(width) + 0.5
        self.eval()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(self.norm(self.conv(x))).relu())


def compiled(module: nn.Module, weights: str = "checked") -> Callable[..., Any]:
    return torch.compile(module, backend="lamina", options={"weights": weights}, dynamic=False)


def example() -> torch.Tensor:
    return torch.randn(4, 32, 8)


def check(function: Callable[..., Any], module: nn.Module, x: torch.Tensor) -> None:
    close(function(x), module(x))


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Equal but for sums in another order, of numbers as large as the largest result."""
    atol = 1e-5 * float(expected.abs().max())
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("weights", WEIGHT_MODES)
def test_instances_of_one_class(weights: str, prepared: list[WeightPreparations]) -> None:
    modules, x = [Network() for _ in range(5)], example()
    functions = [compiled(module, weights) for module in modules]
    for _ in range(3):
        for module, function in zip(modules, functions, strict=True):
            check(function, module, x)
        for module, function in zip(reversed(modules), reversed(functions), strict=True):
            check(function, module, x)
    counts = {w.count for w in prepared if w.count}
    assert counts == (set() if weights == "passed" else {5}), counts


@pytest.mark.parametrize("weights", WEIGHT_MODES)
def test_layers_compiled_one_by_one(weights: str) -> None:
    def layer() -> nn.Module:
        return nn.TransformerEncoderLayer(32, 2, 64, batch_first=True).eval()

    layers = nn.ModuleList([layer() for _ in range(6)])
    functions = [compiled(one, weights) for one in layers]
    for _ in range(3):
        x = y = torch.randn(2, 5, 32)
        for one, function in zip(layers, functions, strict=True):
            x, y = function(x), one(y)
        close(x, y)


def _write(module: Network) -> None:
    for parameter in module.parameters():
        parameter.mul_(1.5)


def _write_an_element(module: Network) -> None:
    module.first.weight[3, 5] += 10


def _copy(module: Network) -> None:
    for parameter in module.parameters():
        parameter.copy_(torch.randn_like(parameter))


def _load(module: Network) -> None:
    module.load_state_dict(Network().state_dict())


def _load_others(module: Network) -> None:
    module.load_state_dict(Network().state_dict(), assign=True)


def _replace_data(module: Network) -> None:
    for parameter in module.parameters():
        parameter.data = torch.randn_like(parameter)


def _replace_data_twice(module: Network) -> None:
    """What comes second may be where the first was."""
    for _ in range(2):
        for parameter in module.parameters():
            parameter.data = parameter.data * 1.5


def _write_data(module: Network) -> None:
    """Moves no version counter."""
    for parameter in module.parameters():
        parameter.data.mul_(0.5)


def _average_data(module: Network) -> None:
    for ours, other in zip(module.parameters(), Network().parameters(), strict=True):
        ours.data.mul_(0.99).add_(other.data, alpha=0.01)


def _write_arrays(module: Network) -> None:
    for parameter in module.parameters():
        parameter.numpy()[...] *= 2


def _step(module: Network) -> None:
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1)
    with torch.enable_grad():
        module(example()).square().mean().backward()
    optimizer.step()


def _replace_parameter(module: Network) -> None:
    module.first.weight = nn.Parameter(torch.randn(64, 8))


def _replace_layer(module: Network) -> None:
    module.second = nn.Linear(64, 8)


def _write_buffers(module: Network) -> None:
    assert module.norm.running_mean is not None and module.norm.running_var is not None
    module.norm.running_mean += 1
    module.norm.running_var *= 2


def _train(module: Network) -> None:
    module.train()(example())
    module.eval()


def _swap(module: Network) -> None:
    first, second = module.first.weight, nn.Parameter(torch.randn(64, 8))
    first.data, second.data = second.data, first.data


def _initialize(module: Network) -> None:
    nn.init.orthogonal_(module.first.weight)
    nn.init.zeros_(module.first.bias)
    nn.init.ones_(module.conv.weight)


def _resize(module: Network) -> None:
    module.first.weight.untyped_storage().copy_(torch.randn(64, 8).untyped_storage())
    module.first.weight.add_(0)


CHANGES = (
    *(_write, _write_an_element, _copy, _load, _load_others, _replace_data, _replace_data_twice),
    *(_write_data, _average_data, _write_arrays, _step, _replace_parameter, _replace_layer),
    *(_write_buffers, _train, _swap, _initialize, _resize),
)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("weights", ["checked", "passed"])
def test_changes_count(weights: str, change: Callable[[Network], None]) -> None:
    module, other, x = Network(), Network(), example()
    function, other_function = compiled(module, weights), compiled(other, weights)
    for _ in range(3):
        for _ in range(3):
            check(function, module, x)
        check(other_function, other, x)
        before = function(x)
        change(module)
        after = function(x)
        assert not torch.allclose(before, after)
        close(after, module(x))


def test_frozen_weights_belong_to_a_module() -> None:
    first, second, x = Network(), Network(), example()
    functions = compiled(first, "frozen"), compiled(second, "frozen")
    expected = [first(x), second(x)]
    for _ in range(2):
        for function, result in zip(functions, expected, strict=True):
            close(function(x), result)
        _write(first)
        _write_data(second)


def test_tied_weights() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(50, 32)
            self.head = nn.Linear(32, 50, bias=False)
            self.head.weight = self.embed.weight

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.head(self.embed(x))

    modules, x = [Tied().eval(), Tied().eval()], torch.randint(50, (4, 7))
    modules[1].head.weight = modules[1].embed.weight = modules[0].embed.weight
    functions = [compiled(module) for module in modules]
    for _ in range(3):
        for module, function in zip(modules, functions, strict=True):
            check(function, module, x)
        modules[0].embed.weight.mul_(1.5)
    modules[0].head.weight = nn.Parameter(torch.randn(50, 32))  # no longer tied
    for module, function in zip(modules, functions, strict=True):
        check(function, module, x)


def test_functional_call() -> None:
    module, x = Network(), example()
    function = compiled(module)
    own = dict(module.named_parameters())
    for factor in (1.0, 2.0, 0.5, 3.0, 0.25, 1.0):
        weights = {name: parameter * factor for name, parameter in own.items()}
        for _ in range(2):
            actual = torch.func.functional_call(
                function, {f"_orig_mod.{n}": w for n, w in weights.items()}, (x,)
            )
            expected = torch.func.functional_call(module, weights, (x,))
            close(actual, expected)
        check(function, module, x)


def test_weights_that_change_in_every_call(prepared: list[WeightPreparations]) -> None:
    """They are read in each call then, until they hold still."""
    module, x = Network(), example()
    function = compiled(module)
    for _ in range(6):
        check(function, module, x)
        _write(module)
    (preparations,) = prepared
    assert preparations.count == 0
    for _ in range(3):
        check(function, module, x)
    assert preparations.count == 1


def test_weights_without_a_version_counter(prepared: list[WeightPreparations]) -> None:
    with torch.inference_mode():
        module, x = Network(), example()
        function = compiled(module)
        for _ in range(3):
            check(function, module, x)
            for parameter in module.parameters():
                parameter.view(-1)[5] += 1
    assert [preparations.count for preparations in prepared] == [0]


def test_only_what_is_packed_is_watched(prepared: list[WeightPreparations]) -> None:
    module = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 8)).eval()
    check(compiled(module), module, torch.randn(8, 16))
    (preparations,) = prepared
    assert len(preparations._places) == 2
    prepared.clear()
    norm = nn.LayerNorm(16).eval()
    check(compiled(norm), norm, torch.randn(8, 16))
    assert not prepared


def test_packed_weights_die_with_the_module(prepared: list[WeightPreparations]) -> None:
    modules, x = [Network(64), Network(64)], torch.randn(4, 64, 8)
    functions = [compiled(module) for module in modules]
    for function in functions:
        function(x)
    preparations = prepared[-1]
    assert preparations.count == 2
    storage = weakref.ref(modules[0].first.weight)
    before = live_bytes()
    del functions[0], modules[0], function
    gc.collect()
    assert storage() is None and preparations.count == 1
    assert live_bytes() < before
    check(functions[0], modules[0], x)


def test_replaced_parameters_are_let_go(prepared: list[WeightPreparations]) -> None:
    module, x = Network(), example()
    function = compiled(module)
    for _ in range(5):
        for _ in range(3):
            function(x)
        _replace_parameter(module)
    check(function, module, x)
    assert prepared[-1].count == 1


@pytest.mark.parametrize("weights", WEIGHT_MODES)
def test_threads(weights: str) -> None:
    """Each has a module of its own; all share the code."""
    x = example()

    def work(seed: int) -> None:
        with torch.no_grad():
            module = Network()
            function = compiled(module, weights)
            for number in range(20):
                check(function, module, x + seed)
                if weights != "frozen" and number % 3 == 2:
                    _copy(module)

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(work, range(6)))


def test_threads_on_one_module() -> None:
    module, x = Network(), example()
    function = compiled(module)
    check(function, module, x)
    expected = module(x)

    def work(_: int) -> None:
        with torch.no_grad():
            for _ in range(50):
                close(function(x), expected)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
