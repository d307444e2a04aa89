"""`torch.func` under `torch.compile(backend="lamina")`, with and without gradients recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._dynamo.exc import BackendCompilerFailed
from torch.func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

pytestmark = [pytest.mark.usefixtures("inference"), pytest.mark.one_in(2)]

WEIGHT = torch.linspace(-1, 1, 16).reshape(4, 4)


def cubes(x: Tensor) -> Tensor:
    return (x.sin() ** 3).sum()


def scaled(x: Tensor) -> Tensor:
    return x.cos() * x.sum()


def written(x: Tensor) -> Tensor:
    y = x * 2
    y[1:].mul_(3)
    return y.tanh().sum()


COMPOSITIONS: dict[str, Callable[[Tensor], Any]] = {
    "hessian": hessian(cubes),
    "hessian of a product": hessian(lambda x: (WEIGHT @ x).tanh().sum()),
    "hessian of writes": hessian(written),
    "grad of writes": grad(written),
    "jacfwd": jacfwd(scaled),
    "jacrev": jacrev(scaled),
    "jacfwd of jacrev": jacfwd(jacrev(cubes)),
    "jacrev of jacfwd": jacrev(jacfwd(cubes)),
    "jacfwd of jacfwd": jacfwd(jacfwd(cubes)),
    "jacrev of jacrev": jacrev(jacrev(cubes)),
    "grad of grad": grad(lambda x: grad(cubes)(x).sum()),
    "vmap of grad": lambda x: vmap(grad(cubes))(x.expand(3, -1)),
    "jacfwd of vmap": jacfwd(lambda x: vmap(lambda row: row * x)(WEIGHT)),
    "jvp": lambda x: jvp(scaled, (x,), (x,)),
    "vjp": lambda x: vjp(scaled, x)[1](x),
    "grad and value": grad_and_value(cubes),
}


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_compositions(name: str, recording: bool) -> None:
    function, x = COMPOSITIONS[name], torch.randn(4)
    with torch.set_grad_enabled(recording):
        optimized = torch.compile(lambda x: function(x), backend="lamina", fullgraph=True)
        for _ in range(2):
            torch.testing.assert_close(optimized(x), function(x), rtol=1e-4, atol=1e-5)


def test_a_refusal_leaves_all_transforms() -> None:
    def shifted(x: Tensor) -> Tensor:
        y = x * 2
        y[1:].add_(y[:-1])
        return y.sum()

    for transform in (hessian, grad, jacfwd):
        function = transform(shifted)
        with pytest.raises(BackendCompilerFailed, match="shares some elements"):
            torch.compile(lambda x, f=function: f(x), backend="lamina")(torch.randn(4))
        assert torch._C._functorch.maybe_current_level() is None
        x = torch.randn(4)
        torch.testing.assert_close(
            torch.compile(hessian(cubes), backend="lamina")(x), hessian(cubes)(x)
        )
