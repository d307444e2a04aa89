"""Products of long sums in parts: what they compute, beside torch in doubles."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import lamina  # noqa: E402
from lamina.dialects.errors import InputError  # noqa: E402
from lamina.passes.loop.split_products import SplitProductsPass  # noqa: E402


class Product(torch.nn.Module):
    """`relu(a @ b + 1)`, of operands that may be turned."""

    def __init__(self, *, turned: bool) -> None:
        super().__init__()
        self.turned = turned

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.relu((a.t() @ b if self.turned else a @ b) + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("turned", [False, True], ids=["plain", "turned"])
@pytest.mark.parametrize(
    "rows, terms, columns",
    [(16, 4096, 16), (7, 30000, 9), (130, 9000, 33), (16, 12000, 100), (1, 65536, 20)],
)
def test_parts_are_the_product(
    rows: int, terms: int, columns: int, turned: bool, dtype: torch.dtype
) -> None:
    a = torch.randn(*((terms, rows) if turned else (rows, terms)), dtype=dtype)
    b = torch.randn(terms, columns, dtype=dtype)
    model = Product(turned=turned)
    compiled = lamina.compile(torch.export.export(model, (a, b)))
    assert any("join" in kernel.ops for kernel in compiled.kernels)
    exact, eager = model(a.double(), b.double()), model(a, b)
    error = (torch.as_tensor(compiled(a, b)).double() - exact).abs().max()
    assert error <= 2 * (eager.double() - exact).abs().max() + 1e-7 * exact.abs().max()


def test_infinities_and_nans() -> None:
    a, b = torch.randn(16, 4096), torch.randn(4096, 16)
    a[3, 4000], a[5, 1], b[7, 2] = float("inf"), float("nan"), float("-inf")
    model = Product(turned=False)
    compiled = lamina.compile(torch.export.export(model, (a, b)))
    wanted = model(a.double(), b.double()).float()
    torch.testing.assert_close(compiled(a, b), wanted, equal_nan=True, rtol=1e-6, atol=5e-5)


class OneRowEach(torch.nn.Module):
    """A batch of products of one row, by constant matrices with long sums."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 8192, 32))

    def forward(self, a: torch.Tensor) -> torch.Tensor:
        return torch.einsum("bk,bkn->bn", a, self.weight)


def test_batches_without_rows_take_their_sums_at_once() -> None:
    """Blocks of a sum, which rows of a task share, used to be chosen for them, and refused."""
    model, a = OneRowEach().eval(), torch.randn(8, 8192)
    with torch.no_grad():
        compiled = lamina.compile(torch.export.export(model, (a,)))
        exact = torch.einsum("bk,bkn->bn", a.double(), model.weight.double())
    error = (torch.as_tensor(compiled(a)).double() - exact).abs().max()
    assert error <= 1e-6 * exact.abs().max()


def test_no_parts_are_refused() -> None:
    with pytest.raises(InputError, match="parts = 0; a product has 1 part or more"):
        SplitProductsPass(parts=0)
