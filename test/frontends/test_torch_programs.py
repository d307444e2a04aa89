"""`lamina.compile` of modules with example inputs and of graphs that make_fx has traced."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import lamina


class Scorer(torch.nn.Module):
    """A nested result, an argument that may be left out, weights and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(9, 5)
        self.register_buffer("scale", torch.linspace(1, 2, 5))

    def forward(self, x: torch.Tensor, y: torch.Tensor | None = None) -> dict[str, torch.Tensor]:
        scores = torch.softmax(self.linear(x) * self.scale, -1)
        return {"scores": scores if y is None else scores + y, "sum": x.sum()}


def two_results(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.softmax(a @ b, -1), a.sum(0)


def test_module_with_example_inputs() -> None:
    module, x = Scorer().eval(), torch.randn(7, 9)
    compiled = lamina.compile(module, example_inputs=(x,))
    with torch.no_grad():
        got, wanted = compiled(x), module(x)
    assert got.keys() == wanted.keys()
    torch.testing.assert_close(got, wanted)


def test_two_instances_keep_their_own_weights() -> None:
    x = torch.randn(7, 9)
    modules = [Scorer().eval() for _ in range(2)]
    compiled = [lamina.compile(module, example_inputs=[x]) for module in modules]
    with torch.no_grad():
        for ours, module in zip(compiled, modules, strict=True):
            torch.testing.assert_close(ours(x), module(x))


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_traced_graph_brings_its_shapes(mode: str) -> None:
    inputs = torch.randn(4, 33).t(), torch.randn(4, 17)
    graph = make_fx(two_results, tracing_mode=mode)(*inputs)
    torch.testing.assert_close(lamina.compile(graph)(*inputs), two_results(*inputs))


def test_traced_gradients() -> None:
    def step(w: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.func.grad(lambda w: (x @ w).tanh().square().sum())(w)

    inputs = torch.randn(6, 3), torch.randn(11, 6)
    torch.testing.assert_close(lamina.compile(make_fx(step)(*inputs))(*inputs), step(*inputs))


def scripted() -> Any:
    return torch.jit.script(two_results)


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no inputs": (lambda: lamina.compile(Scorer()), "Scorer without inputs.*compile.module, "),
    "a graph without shapes": (
        lambda: lamina.compile(torch.fx.symbolic_trace(two_results)),
        "GraphModule without inputs",
    ),
    "a tensor for a tuple": (
        lambda: lamina.compile(Scorer(), example_inputs=torch.randn(7, 9)),  # pyright: ignore
        "example_inputs is a Tensor: pass a tuple",
    ),
    "inputs that do not fit": (
        lambda: lamina.compile(Scorer(), example_inputs=(torch.randn(7, 8),)),
        "torch.export cannot export Scorer: .*same reduction dim",
    ),
    "a scripted function": (lambda: lamina.compile(scripted()), "ScriptFunction of torch.jit"),
    "a traced module": (
        lambda: lamina.compile(torch.jit.trace(Scorer().linear, torch.randn(2, 9))),
        "of torch.jit: export the module",
    ),
    "an exported program with inputs": (
        lambda: lamina.compile(
            torch.export.export(Scorer(), (torch.randn(7, 9),)), example_inputs=(1,)
        ),
        "an exported program has its inputs",
    ),
    "text with inputs": (
        lambda: lamina.compile("func.func @main()", example_inputs=(1,)),
        "example_inputs are for torch modules and JAX functions, not for a str",
    ),
    "a tensor": (lambda: lamina.compile(torch.ones(2)), "cannot compile a Tensor"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_exported_says_why(name: str) -> None:
    call, said = BAD[name]
    with pytest.raises(lamina.InputError, match=said) as caught:
        call()
    assert "\n" not in str(caught.value)
