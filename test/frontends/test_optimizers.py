"""`torch.compile(optimizer.step, backend="lamina")`: eager mode's parameters, and its state."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn, optim
from torch._dynamo.exc import BackendCompilerFailed

from lamina.frontends.dynamo import lamina_backend

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(3)]

STEPS = 5

OPTIMIZERS: dict[str, type[optim.Optimizer]] = {
    name: kind
    for name, kind in vars(optim).items()
    if isinstance(kind, type)
    and issubclass(kind, optim.Optimizer)
    and kind not in (optim.Optimizer, optim.LBFGS)  # which runs a closure of the user's
}

SKIPPED = (optim.Adafactor, optim.SparseAdam)
"""Dynamo leaves these to eager mode: a number is read within a `with`, gradients are sparse. So it
does, with any back end, where `fused=True` asks for torch's own kernels."""

FLAGS: dict[str, list[Any]] = {
    "foreach": [True, False],
    "fused": [True],
    "maximize": [True],
    "amsgrad": [True],
    "nesterov": [True],
    "centered": [True],
    "decoupled_weight_decay": [True],
    "weight_decay": [0.1],
    "momentum": [0.9],
    "dampening": [0.1],
    "capturable": [True],
    "differentiable": [True],
}


def variants(kind: type[optim.Optimizer]) -> list[dict[str, Any]]:
    """Each option of an optimizer by itself, and those that go together."""
    known = inspect.signature(kind).parameters
    own = {name: values for name, values in FLAGS.items() if name in known}
    single = [{name: value} for name, values in own.items() for value in values]
    together = ("foreach", "maximize", "amsgrad", "centered", "weight_decay", "momentum")
    found = [{}, *single, {name: own[name][0] for name in together if name in own}]
    if kind is optim.SGD:
        found = [
            {"momentum": 0.9, **v} if v.keys() & {"nesterov", "dampening"} else v for v in found
        ]
    return [variant for number, variant in enumerate(found) if variant not in found[:number]]


def cases() -> list[Any]:
    def is_short(name: str, variant: dict[str, Any]) -> bool:
        return not variant or (name in ("AdamW", "SGD") and len(variant) > 1)

    return [
        pytest.param(
            *(kind, variant),
            id=" ".join([name, *(f"{key}={value}" for key, value in variant.items())]),
            marks=[] if is_short(name, variant) else [pytest.mark.long],
        )
        for name, kind in OPTIMIZERS.items()
        for variant in variants(kind)
    ]


class Trained:
    """A module of a few parameters, and what optimizes it."""

    def __init__(self, kind: type[optim.Optimizer], variant: dict[str, Any]) -> None:
        torch.manual_seed(0)
        if kind is optim.SparseAdam:
            self.module: nn.Module = nn.Embedding(6, 3, sparse=True)
        else:
            self.module = nn.Linear(3, 4, bias=kind is not optim.Muon)
        make: Any = kind
        self.optimizer = make(self.module.parameters(), lr=0.05, **variant)

    def set_gradients(self, number: int) -> None:
        generator = torch.Generator().manual_seed(number)
        for parameter in self.module.parameters():
            gradient = torch.randn(parameter.shape, generator=generator)
            is_sparse = isinstance(self.optimizer, optim.SparseAdam)
            parameter.grad = gradient.to_sparse(1) if is_sparse else gradient

    def state(self) -> tuple[Any, ...]:
        """Copies of the parameters and of all that the optimizer keeps."""
        kept = [
            {key: v.clone() if isinstance(v, torch.Tensor) else v for key, v in entries.items()}
            for entries in self.optimizer.state.values()
        ]
        return [parameter.detach().clone() for parameter in self.module.parameters()], kept


def watching(trained: Trained, seen: list[int]) -> Callable[..., Any]:
    """The backend, which also looks whether anything has changed while it compiled."""

    def backend(graph_module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        before = trained.state()
        is_muon = isinstance(trained.optimizer, optim.Muon)  # computes in bf16
        options = {"rounding": "eager" if is_muon else "kernel"}
        found = lamina_backend(graph_module, examples, options=options)
        torch.testing.assert_close(trained.state(), before, rtol=0, atol=0)
        seen.append(len(graph_module.graph.nodes))
        return found

    return backend


@pytest.mark.parametrize(("kind", "variant"), cases())
def test_steps_are_those_of_eager_mode(
    kind: type[optim.Optimizer], variant: dict[str, Any]
) -> None:
    eager, ours = Trained(kind, variant), Trained(kind, variant)
    seen: list[int] = []
    step = torch.compile(ours.optimizer.step, backend=watching(ours, seen))
    for number in range(STEPS):
        eager.set_gradients(number)
        ours.set_gradients(number)
        with torch.enable_grad():
            try:
                eager.optimizer.step()
            except (RuntimeError, AssertionError):  # eager mode does not do this on a CPU
                assert variant.keys() & {"capturable", "differentiable"}
                return
            step()
    torch.testing.assert_close(ours.state(), eager.state())
    assert seen or kind in SKIPPED or "fused" in variant


def test_compiling_computes_nothing() -> None:
    """In-place ops of all kinds on tensors that a graph holds, by every spelling of them."""
    module = nn.Linear(3, 3)
    module.register_buffer("count", torch.zeros(()))
    module.register_buffer("mean", torch.zeros(3))
    held = list(module.state_dict(keep_vars=True).values())

    def function() -> None:
        module.count += 1
        module.count.mul_(2).sub_(1)
        module.mean.div_(3).fill_(2.0)
        module.mean[1:] = 7
        torch.add(module.mean, 1, out=module.mean)
        torch._foreach_add_([module.weight, module.bias], 1)
        module.weight.data.add_(3)
        module.weight.uniform_()
        module.bias.copy_(module.weight[0])

    def compile_only(graph_module: torch.fx.GraphModule, examples: list[Any]) -> Any:
        before = [(tensor.clone(), tensor._version) for tensor in held]
        lamina_backend(graph_module, examples)
        assert all(
            torch.equal(tensor, value) and tensor._version == version
            for tensor, (value, version) in zip(held, before, strict=True)
        )
        return graph_module.forward

    torch.compile(function, backend=compile_only)()
    for attribute in (module.weight, module.mean):  # what marks a tensor as held by the graph
        torch._dynamo.mark_static_address(attribute)
    torch._dynamo.reset()
    torch.compile(function, backend=compile_only)()


def test_overlaps_of_held_tensors_are_refused() -> None:
    parameter = nn.Parameter(torch.zeros(6))
    optimizer = optim.SGD([parameter], lr=1.0)
    parameter.grad = torch.ones(6)

    class Shifting(optim.SGD):
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for entry in group["params"]:
                    entry[1:].add_(entry[:-1])

    shifting = Shifting(optimizer.param_groups)
    with pytest.raises(BackendCompilerFailed, match="shares some elements with the tensor"):
        torch.compile(shifting.step, backend="lamina")()
