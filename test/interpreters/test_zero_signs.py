"""Interpreters keep the sign of zero where eager mode does."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from lamina.frontends.exported_program import import_exported_program
from lamina.runtime.interpreters import run_module

FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "celu": F.celu,
    "elu": F.elu,
    "selu": F.selu,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "clamp to 0": lambda x: x.clamp(0.0, 2.0),
    "clamp to -0": lambda x: x.clamp(-2.0, -0.0),
    "leaky_relu": F.leaky_relu,
    "relu": F.relu,
    "cumsum of one": lambda x: x[:, None].cumsum(1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_keep_their_sign(name: str) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return FUNCTIONS[name](x)

    x = torch.tensor([-0.0, 0.0, -0.0, 1.0, -1.0, torch.nan] * 6)  # vectors, and a rest
    program = import_exported_program(torch.export.export(Module(), (x,)))
    result = np.asarray(run_module(program.module, [x.numpy().copy()])[0])
    wanted = Module()(x)
    torch.testing.assert_close(torch.from_numpy(result), wanted, equal_nan=True)
    zeros = wanted == 0
    signs = torch.from_numpy(np.signbit(result))
    assert bool((signs == torch.signbit(wanted))[zeros].all())
