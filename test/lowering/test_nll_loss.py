"""Losses of class numbers against torch: of a vector and of samples, forward and backward."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

import lamina

FORWARD = torch.ops.aten.nll_loss_forward.default
BACKWARD = torch.ops.aten.nll_loss_backward.default
NAMES = {torch.int64: "i64", torch.float32: "f32", torch.float64: "f64"}


class _Loss(torch.nn.Module):
    """The loss, its total weight, and the gradient that both give."""

    def __init__(self, reduction: int, ignored: int) -> None:
        super().__init__()
        self.options = (reduction, ignored)

    def forward(
        self,
        grad: torch.Tensor,
        logs: torch.Tensor,
        target: torch.Tensor,
        weight: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, ...]:
        loss, total = FORWARD(logs, target, weight, *self.options)
        return loss, total, BACKWARD(grad, logs, target, weight, *self.options, total)


def _inputs(shape: tuple[int, ...], reduction: int, weighted: bool) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    logs = torch.randn(shape, generator=generator).log_softmax(-1)
    target = torch.tensor(2) if len(shape) == 1 else torch.tensor([2, 0, 1])
    grad = torch.randn(target.shape if reduction == 0 else (), generator=generator)
    weight = torch.rand(shape[-1], generator=generator) + 0.5
    return [grad, logs, target, *([weight] if weighted else [])]


CASES = list(product([(5,), (3, 5)], [0, 1, 2], [True, False], [-100, 2]))


@pytest.mark.parametrize(("shape", "reduction", "weighted", "ignored"), CASES)
def test_exported(shape: tuple[int, ...], reduction: int, weighted: bool, ignored: int) -> None:
    module, inputs = _Loss(reduction, ignored), _inputs(shape, reduction, weighted)
    made = lamina.compile(torch.export.export(module, tuple(inputs)), cache=False)(*inputs)
    torch.testing.assert_close(made, module(*inputs), equal_nan=True)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_torch_compile(shape: tuple[int, ...], reduction: int) -> None:
    module, inputs = _Loss(reduction, 1), _inputs(shape, reduction, True)
    with torch.no_grad():
        made = torch.compile(module, backend="lamina")(*inputs)
    torch.testing.assert_close(made, module(*inputs), equal_nan=True)


def _typed(values: list[torch.Tensor]) -> list[str]:
    shapes = ("".join(f"{extent}x" for extent in v.shape) for v in values)
    return [f"tensor<{s}{NAMES[v.dtype]}>" for s, v in zip(shapes, values, strict=True)]


def _called(op: str, inputs: list[torch.Tensor], outputs: list[torch.Tensor], options: str) -> Any:
    """What a program in text gives that calls one op."""
    kinds, results = _typed(inputs), _typed(outputs)
    arguments = ", ".join(f"%a{n}: {kind}" for n, kind in enumerate(kinds))
    tensors = ", ".join(f"%a{n}" for n in range(len(inputs)) if f"%a{n}" not in options)
    made = ", ".join(f"%r{n}" for n in range(len(outputs)))
    text = f"""
    func.func @main({arguments}) -> ({", ".join(results)}) {{
      {made} = aten.{op}.default({tensors}, {options})
        : ({", ".join(kinds)}) -> {results[0] if len(results) == 1 else f"({', '.join(results)})"}
      func.return {made} : {", ".join(results)}
    }}
    """
    return lamina.compile(text, cache=False)(*inputs)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("ignored", [-100, 2])
@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_vectors_of_one_element(reduction: int, ignored: int, dtype: torch.dtype) -> None:
    """The class of a vector, its gradient and its total weight may each be such a vector."""
    options = f"reduction = {reduction}, ignore_index = {ignored}"
    for classes in (1, 5):
        logs, weight = torch.randn(classes, dtype=dtype), torch.rand(classes, dtype=dtype) + 0.5
        target = torch.tensor([classes // 2])
        inputs = [logs, target, weight]
        eager = FORWARD(*inputs, reduction, ignored)
        made = _called("nll_loss_forward", inputs, list(eager), options)
        torch.testing.assert_close(made, eager, equal_nan=True)
        target = target if classes == 1 else target[0]  # torch takes no other in its gradient
        total = eager[1]
        for grad, whole in ((torch.randn(1).to(dtype), total), (total + 1, total.view(1))):
            wanted = BACKWARD(grad, logs, target, weight, reduction, ignored, whole)
            inputs = [grad, logs, target, weight, whole]
            text = f"{options}, total_weight = %a4"
            made = _called("nll_loss_backward", inputs, [wanted], text)
            torch.testing.assert_close(made, wanted, equal_nan=True)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_zero_losses_have_the_sign_of_torch(reduction: str) -> None:
    """Reduced losses are taken from a sum that begins at 0; others are negated."""

    class Loss(torch.nn.Module):
        def forward(self, logs: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.nll_loss(logs, target, reduction=reduction)

    inputs = (torch.zeros(3, 4), torch.tensor([1, 0, 3]))
    made = lamina.compile(torch.export.export(Loss(), inputs))(*inputs)
    eager = Loss()(*inputs)
    torch.testing.assert_close(1 / torch.as_tensor(made), 1 / eager)
