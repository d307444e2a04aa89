"""What is joined, scattered and summed over two dimensions of unknown size, called with many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
from dynamo_calls import check_sizes  # noqa: E402

SHAPES = ((3, 5), (2, 10), (7, 40), (4, 2), (2, 33))
WIDTH = 8


def _two(batch: int, length: int) -> tuple[Any, ...]:
    return torch.randn(batch, length, WIDTH), torch.randn(batch, length, WIDTH)


def _rows(batch: int, length: int) -> tuple[Any, ...]:
    counts = (batch, length, 2 * batch, batch * length)
    return tuple(torch.randn(count, WIDTH) for count in counts)


def _columns(batch: int, length: int) -> tuple[Any, ...]:
    return torch.randn(batch, length), torch.randn(batch, 2 * length + 1)


def _indices(batch: int, length: int) -> tuple[Any, ...]:
    return torch.randn(batch, length, WIDTH), torch.randint(0, 20, (batch, length))


def _chosen(batch: int, length: int) -> tuple[Any, ...]:
    x = torch.randn(batch * length, 3)
    return x, torch.randn(batch * length, 3) > 0, torch.randn(batch * length, 3)


def _image(batch: int, length: int) -> tuple[Any, ...]:
    return (torch.randn(batch, WIDTH, length + 1, length // 2 + 1),)


def _pixels_behind_one(x: Any) -> Any:
    """Pixels with one row in front, as of a class; their number is a product in either order."""
    height, width = x.shape[2:]
    rows = x.permute(0, 2, 3, 1).reshape(-1, height * width, WIDTH)
    joined = torch.cat([x.new_ones(x.shape[0], 1, WIDTH), rows.softmax(2)], 1).tanh()
    image = joined[:, 1:].transpose(1, 2).reshape(-1, WIDTH, width * height)
    return joined, (image + x.flatten(2)).cumsum(2)


def _skewed(x: Any, y: Any) -> Any:
    """Rows of which each begins a column further to the right, of products of all with all."""
    products = torch.einsum("nci,nmi->ncm", x, y)
    longer = torch.nn.functional.pad(products, (0, 0, 0, 1))
    return longer.view(len(x), products.shape[2], products.shape[1] + 1) * 2


def _blocks(batch: int, length: int) -> tuple[Any, ...]:
    return torch.randn(batch, length, WIDTH), torch.randn(batch, length + 3, WIDTH)


CASES: dict[str, tuple[Callable[..., Any], Callable[..., tuple[Any, ...]]]] = {
    "batches joined": (lambda x, y: torch.cat([x * 2, y], 0), _two),
    "lengths joined": (lambda x, y: torch.cat([x, y + 1], 1), _two),
    "skewed rows": (_skewed, _blocks),
    "pixels behind one": (_pixels_behind_one, _image),
    "features joined": (lambda x, y: torch.cat([x, y], 2), _two),
    "behind known rows": (lambda x, y: torch.cat([x.new_ones(2, WIDTH), x[0]], 0), _two),
    "four joined": (lambda *rows: torch.cat(rows), _rows),
    "eight joined": (lambda *rows: torch.cat([*rows, *rows]), _rows),
    "integers joined": (lambda *rows: torch.cat([row.long() for row in rows]), _rows),
    "columns joined": (lambda x, y: torch.cat([x, y], 1), _columns),
    "mean of squares": (torch.nn.functional.mse_loss, _two),
    "sums": (lambda x, y: ((x * y).sum((0, 1)), x.amax((0, 1)), x.exp().sum()), _two),
    "gradient of a table": (
        lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 20, -1, False),
        _indices,
    ),
    "products of joined rows": (lambda x, y: x.view(-1, WIDTH).T @ x.view(-1, WIDTH), _two),
    "of two": (lambda x, y: x.view(-1, WIDTH).T @ (2 * y.view(-1, WIDTH)), _two),
    "chosen from a source": (lambda x, m, y: x.masked_scatter(m, y), _chosen),
}


@pytest.mark.parametrize("name", CASES)
def test_open_sizes(name: str) -> None:
    check_sizes(*CASES[name], SHAPES, 1e-5)


def test_a_source_with_too_few_elements() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x, m, y: x.masked_scatter(m, y), backend="lamina", dynamic=True)
    with torch.no_grad():
        compiled(*_chosen(3, 5))
        x, _, y = _chosen(4, 6)
        with pytest.raises(lamina.LaminaError, match="fewer elements than the mask"):
            compiled(x, torch.ones_like(x, dtype=torch.bool), y[:20])
