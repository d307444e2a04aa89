"""The bytes of a tensor as numbers of another dtype, complex ones included, against torch."""

from __future__ import annotations

from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")

PAIRS = (
    ("float32", "complex64"),
    ("complex64", "float32"),
    ("complex64", "complex128"),
    ("complex128", "complex64"),
    ("int64", "complex64"),
    ("complex64", "int64"),
    ("uint8", "complex64"),
    ("complex128", "int16"),
    ("float64", "int16"),
    ("int32", "float64"),
)


class _Viewed(torch.nn.Module):
    def __init__(self, dtype: Any) -> None:
        super().__init__()
        self.dtype = dtype

    def forward(self, x: Any) -> Any:
        return x.view(self.dtype)


class _Turned(torch.nn.Module):
    """Writes through the view."""

    def forward(self, x: Any) -> Any:
        x.view(torch.complex64).mul_(1j)
        return x + 0


def _numbers(dtype: Any, *shape: int) -> Any:
    generator = torch.Generator().manual_seed(0)
    if dtype.is_complex:
        return torch.randn(shape, generator=generator, dtype=dtype)
    return (torch.rand(shape, generator=generator) * 100).to(dtype)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_bytes_are_the_same(pair: tuple[str, str]) -> None:
    source, target = (getattr(torch, name) for name in pair)
    x = _numbers(source, 3, 16)
    module = _Viewed(target)
    found = lamina.compile(torch.export.export(module, (x,)), cache=False)(x)
    assert found.dtype is target
    assert torch.equal(found.view(torch.uint8), module(x).view(torch.uint8))


@pytest.mark.parametrize("pair", [("int64", "complex64"), ("complex64", "int64")], ids="-".join)
def test_one_number(pair: tuple[str, str]) -> None:
    source, target = (getattr(torch, name) for name in pair)
    x, module = _numbers(source), _Viewed(target)
    assert torch.equal(lamina.compile(torch.export.export(module, (x,)), cache=False)(x), module(x))


def test_writes_through_complex_numbers() -> None:
    x = _numbers(torch.float32, 4, 4)
    expected, module = x.clone(), _Turned()
    found = lamina.compile(torch.export.export(module, (x.clone(),)), cache=False)(x)
    torch.testing.assert_close(found, module(expected))
    torch.testing.assert_close(x, expected)
