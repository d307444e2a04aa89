"""einsum: what sums nothing is an elementwise product."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamina
from lamina.runtime.interpreters.run import run_module

SHAPES = {
    "...i,...j->...ij": ((2, 3, 4), (2, 3, 5)),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "i,j->ji": ((3,), (4,)),
    "ij,jk->ikj": ((2, 3), (3, 4)),
    "bij,bjk->bik": ((2, 3, 1), (2, 1, 4)),  # a sum of one term
}


def _module(equation: str) -> torch.nn.Module:
    class Product(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.einsum(equation, x, y)

    return Product()


def _values(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Both zeros among them, each with numbers of both signs."""
    values = torch.tensor([-0.0, 1.0, -2.0, 0.0, 3.0, -1.5, 0.5])
    return values.repeat(12)[: int(np.prod(shape))].reshape(shape).to(dtype)


@pytest.mark.parametrize("equation", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.complex64])
def test_products_without_sums(equation: str, dtype: torch.dtype) -> None:
    x, y = (_values(shape, dtype) for shape in SHAPES[equation])
    module = _module(equation)
    compiled = lamina.compile(module, (x, y))
    assert torch.equal(compiled(x, y), module(x, y))


@pytest.mark.parametrize("equation", [e for e in SHAPES if e != "bij,bjk->bik"])
def test_zeros_keep_their_sign(equation: str) -> None:
    x, y = (_values(shape, torch.float32) for shape in SHAPES[equation])
    module, y = _module(equation), -y
    wanted = torch.signbit(module(x, y))
    assert wanted.any()
    assert torch.equal(torch.signbit(lamina.compile(module, (x, y))(x, y)), wanted)
    imported = lamina.import_exported_program(torch.export.export(module, (x, y)))
    (made,) = run_module(imported.module, [x.numpy(), y.numpy()])
    np.testing.assert_array_equal(np.signbit(made), wanted.numpy())
    assert "core_aten.mul.Tensor" in lamina.compile(module, (x, y)).ir("core_aten")
