"""Single numbers that are rounded from f64 by way of f32 to f16, on CPUs that convert f32 only.

Of a copysign in f64 in front of both roundings, LLVM makes a call of compiler-rt's `__truncdfhf2`,
which no library of a process need have.
"""

import pytest
import torch

import lamina
from lamina.codegen.target import Target

FUNCTIONS = {
    name: getattr(torch, name)
    for name in ("asinh", "atan", "erf", "erfinv", "exp", "log1p", "sin", "sinh", "tanh", "trunc")
}


@pytest.mark.parametrize("target", ["x86-64-v3", "x86-64-v4", "host"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(name: str, target: str) -> None:
    if target != "host" and not Target.parse(target).runs_here():
        pytest.skip(f"this CPU has not all instructions of {target}")

    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor, row: torch.Tensor) -> tuple[torch.Tensor, ...]:
            function = FUNCTIONS[name]
            return function(x).half(), (2 * x).half(), function(row.std(-1, correction=0))

    x = torch.tensor([0.3], dtype=torch.float64)
    row = torch.linspace(-1, 1, 40).half()
    compiled = lamina.compile(Module(), example_inputs=(x, row), target=target, cache=False)
    torch.testing.assert_close(compiled(x, row), Module()(x, row))
