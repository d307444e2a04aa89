"""Complex results against torch: both parts in vectors, for rows of any length and layout."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import lamina

SHAPES = [(7,), (17,), (5, 33), (64, 64), (3, 4, 37)]
DTYPES = [(torch.complex64, torch.float32), (torch.complex128, torch.float64)]


def _assert_same(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> None:
    class Module(torch.nn.Module):
        def forward(self, *args: torch.Tensor) -> torch.Tensor:
            return function(*args)

    made = lamina.compile(torch.export.export(Module(), inputs), cache=False)(*inputs)
    torch.testing.assert_close(made, function(*inputs), rtol=1e-5, atol=1e-5)


def _randn(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(len(shape)))


@pytest.mark.parametrize(("whole", "part"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_pointwise(shape: tuple[int, ...], whole: torch.dtype, part: torch.dtype) -> None:
    z, row = _randn(*shape, dtype=whole), _randn(shape[-1], dtype=whole)
    x, y = _randn(*shape, dtype=part), _randn(shape[-1], dtype=part)
    _assert_same(lambda z, row: z * row, z, row)
    _assert_same(lambda z, y: z.conj() * y + z, z, y)
    _assert_same(lambda x, y: torch.complex(x, y.expand_as(x)), x, y)
    _assert_same(lambda x: torch.polar(x.abs(), x), x)
    _assert_same(lambda x, y: torch.stack([x, x * y], -1), x, y)


@pytest.mark.parametrize(("whole", "part"), DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES[2:])
def test_layouts(shape: tuple[int, ...], whole: torch.dtype, part: torch.dtype) -> None:
    """Transposed operands, columns, slices, concatenations, and sums of rows in the kernel."""
    z, other = _randn(*shape, dtype=whole), _randn(*shape, dtype=whole).conj().resolve_conj()
    x, turned = _randn(*shape, dtype=part), _randn(*shape, dtype=part).mT.contiguous()
    _assert_same(lambda z, other: z.mT * other.mT, z, other)
    _assert_same(lambda x, turned: torch.complex(x, turned.mT), x, turned)
    _assert_same(lambda z, other: z * other[..., :1], z, other)
    _assert_same(lambda z, other: z[..., 1:] * other[..., :-1], z, other)
    _assert_same(lambda z, other: torch.cat([z, z * other], -1), z, other)
    _assert_same(lambda z: z * z.sum(-1, keepdim=True), z)
