"""Products of f16 and bf16: packed into panels of f32, summed in f32, rounded once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import lamina

DTYPES = (torch.bfloat16, torch.float16)


class _Module(nn.Module):
    def __init__(self, function: Callable[..., Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Tensor) -> Tensor:
        return self.function(*args)


PRODUCTS: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "mm": (torch.mm, [(17, 40), (40, 33)]),
    "bmm": (torch.bmm, [(3, 9, 20), (3, 20, 24)]),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, alpha=0.5), [(33,), (17, 40), (40, 33)]),
    "mv": (torch.mv, [(64, 32), (32,)]),
    "conv2d": (
        lambda x, w: nn.functional.conv2d(x, w, padding=1),
        [(1, 4, 9, 9), (8, 4, 3, 3)],
    ),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_round_once(name: str, dtype: torch.dtype) -> None:
    function, shapes = PRODUCTS[name]
    random = torch.Generator().manual_seed(5)
    args = tuple(torch.randn(shape, generator=random).to(dtype) for shape in shapes)
    compiled = lamina.compile(torch.export.export(_Module(function), args), cache=False)
    exact = function(*(x.double() for x in args))
    sizes = function(*(x.double().abs() for x in args))
    unit = 2.0 ** -(8 if dtype == torch.bfloat16 else 11)
    made = compiled(*args)
    assert made.dtype == dtype
    assert bool(((made.double() - exact).abs() <= exact.abs() * unit + sizes * 1e-6).all())
    packed = "lamina.packing" in compiled.ir("fused")
    assert packed == (name != "mv"), "all but one row are worth a packed operand"


def test_weights_of_one_row_are_packed_once() -> None:
    layer = nn.Linear(64, 96, dtype=torch.bfloat16)
    x = torch.randn(1, 64, dtype=torch.bfloat16)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (x,)), cache=False)
        expected = layer(x)
    assert "lamina.packing" in compiled.ir("fused")
    torch.testing.assert_close(compiled(x), expected)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("columns", [96, 41], ids=["whole panels", "part of one"])
def test_constants_of_few_rows_stay_half_floats(rows: int, columns: int) -> None:
    torch.manual_seed(1)
    layer = nn.Linear(70, columns, dtype=torch.float16)
    x = torch.randn(rows, 70, dtype=torch.float16)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(layer, (x,)), cache=False)
        exact = layer.double()(x.double())
    found = compiled(x).double()
    assert bool(((found - exact).abs() <= exact.abs() * 2.0**-11 + 1e-6).all())
    prepared = compiled.memory.constants
    assert prepared < 4 * 70 * columns, "widened, they would take four bytes each"
