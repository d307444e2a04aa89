"""Options and modes of `torch.compile(backend="lamina")`, and arguments that it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch._dynamo.exc import BackendCompilerFailed

from lamina.frontends.dynamo_options import MODES

pytestmark = pytest.mark.usefixtures("inference")


def with_options(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return torch.compile(function, backend="lamina", options=options)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


def test_unknown_options_are_refused() -> None:
    with pytest.raises(BackendCompilerFailed, match="option 'wieghts': there are weights"):
        with_options(mlp(), wieghts="frozen")(torch.randn(5, 8))
    with pytest.raises(BackendCompilerFailed, match="one of checked, passed, frozen"):
        with_options(mlp(), weights="packed")(torch.randn(5, 8))
    with pytest.raises(Exception, match="mode"):
        torch.compile(mlp(), backend="lamina", mode="fastest")(torch.randn(5, 8))


@pytest.mark.parametrize("mode", MODES)
def test_modes_of_torch_are_taken(mode: str | None) -> None:
    module, x = mlp(), torch.randn(5, 8)
    optimized = torch.compile(module, backend="lamina", mode=mode)
    torch.testing.assert_close(optimized(x), module(x), rtol=1e-4, atol=1e-5)


def test_nested_tensors_are_refused() -> None:
    x = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(4, 3)], layout=torch.jagged)
    for function in (lambda x: x * 2, lambda x: x.sin_()):
        with pytest.raises(BackendCompilerFailed, match=r"a nested tensor.*\n.*to_padded_tensor"):
            torch.compile(function, backend="lamina")(x)
