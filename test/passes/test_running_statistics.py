"""Ops that write several tensors, or running statistics that their schemas do not mention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import lamina

A: Any = torch.ops.aten
F = torch.nn.functional


class _Program(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function  # pyright: ignore


def _legit(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return A._native_batch_norm_legit(x, None, None, mean, var, True, 0.1, 1e-5)


def _native(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return A.native_batch_norm(x, mean * 2, None, mean, var, True, 0.3, 1e-5), var + 1


def _evaluated(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return A._native_batch_norm_legit(x, None, None, mean, var, False, 0.1, 1e-5)[0]


def _batch(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return F.batch_norm(x, mean, var, var * 2, mean - 1, True, 0.2)


def _instance(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return F.instance_norm(x, mean, var, var, None, True, 0.2)


def _instance_evaluated(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    return F.instance_norm(x, mean, var, var, None, False, 0.2)


def _extrema_into(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    found, place = torch.empty(4, 5), torch.empty(4, 5, dtype=torch.int64)
    torch.max(x, 1, out=(found, place))
    torch.aminmax(x.view(-1, 3), dim=0, out=(mean, var))
    return found + place


def _argument_of_another_name(x: torch.Tensor, mean: torch.Tensor, var: torch.Tensor) -> Any:
    y = x * 2
    torch.dropout_(y, 0.5, False)
    return y.relu_()


FUNCTIONS = [
    _legit,
    _native,
    _evaluated,
    _batch,
    _instance,
    _instance_evaluated,
    _extrema_into,
    _argument_of_another_name,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_and_written_arguments(function: Callable[..., Any]) -> None:
    random = torch.Generator().manual_seed(3)
    x = torch.randn(4, 3, 5, generator=random)
    mean = torch.randn(3, generator=random)
    var = torch.rand(3, generator=random) + 0.5
    program = torch.export.export(_Program(function), (x, mean, var), strict=False)
    ours, theirs = [[t.clone() for t in (x, mean, var)] for _ in range(2)]
    given = lamina.compile(program, cache=False)(*ours)
    torch.testing.assert_close(given, function(*theirs))
    torch.testing.assert_close(ours, theirs)


def test_statistics_of_a_module_move_in_each_call() -> None:
    x = torch.randn(4, 3, 5, generator=torch.Generator().manual_seed(3))
    module = torch.nn.BatchNorm1d(3)

    class Observed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = torch.nn.BatchNorm1d(3)

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            y = self.norm(x)
            return y, self.norm.running_mean + 0, self.norm.running_var + 0  # pyright: ignore

    program = torch.export.export(Observed(), (x,), strict=False)
    compiled = lamina.compile(program, cache=False)
    for _ in range(3):
        y, mean, var = compiled(x)
        torch.testing.assert_close(y, module(x))
        torch.testing.assert_close(mean, module.running_mean)
        torch.testing.assert_close(var, module.running_var)
