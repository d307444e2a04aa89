"""`masked_scatter` with open sizes: masks of elements, of rows, repeated by hand; odd sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
from dynamo_calls import check_sizes  # noqa: E402

SHAPES = ((3, 5, 8), (2, 10, 12), (2, 33, 17), (4, 2, 33), (5, 7, 3))
Made = tuple[Any, ...]


def _x(*shape: int) -> Any:
    return torch.randn(*shape)


def _mask(*shape: int) -> Any:
    return torch.rand(*shape) > 0.4


CASES: dict[str, tuple[Callable[..., Any], Callable[[int, int, int], Made]]] = {
    "elements": (
        lambda x, m, s: x.masked_scatter(m, s),
        lambda b, n, d: (_x(b, n, d), _mask(b, n, d), _x(b, n, d)),
    ),
    "rows": (
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s),
        lambda b, n, d: (_x(b, n, d), _mask(b, n), _x(b, n, d)),
    ),
    "rows repeated": (
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1).expand_as(x), s),
        lambda b, n, d: (_x(b, n, d), _mask(b, n), _x(b, n, d)),
    ),
    "rows of a joined source": (
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s),
        lambda b, n, d: (_x(b, n, d), _mask(b, n), _x(b * n + 3, d)),
    ),
    "batches": (
        lambda x, m, s: x.masked_scatter(m[:, None, None], s),
        lambda b, n, d: (_x(b, n, d), _mask(b), _x(b, n, d)),
    ),
    "a mask of columns": (
        lambda x, m, s: x.masked_scatter(m, s),
        lambda b, n, d: (_x(b, n, d), _mask(d), _x(b, n, d)),
    ),
    "a tensor that is repeated": (
        lambda x, m, s: x.masked_scatter(m, s),
        lambda b, n, d: (_x(b, 1, d), _mask(b, n, 1), _x(b * n, d)),
    ),
    "rows of a source of other rows": (
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s),
        lambda b, n, d: (_x(b, n, d), _mask(b, n), _x(b * n * d + 1)),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_open_sizes(name: str) -> None:
    check_sizes(*CASES[name], SHAPES, 0)


def test_what_is_behind_the_sizes_is_not_taken() -> None:
    """Memory behind an argument holds infinities: a source that is used up, and one that is not."""
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s), backend="lamina", dynamic=True
    )
    with torch.no_grad():
        for batch, length, width in ((3, 5, 8), (2, 9, 8), (2, 7, 5)):
            room = [torch.full((4 * batch * length * width,), torch.inf) for _ in range(2)]
            x, s = (r[: batch * length * width].view(batch, length, width) for r in room)
            x.copy_(torch.randn_like(x))
            s.copy_(torch.randn_like(s))
            for mask in (torch.ones(batch, length), torch.zeros(batch, length)):
                chosen = mask > 0
                wanted = x.masked_scatter(chosen.unsqueeze(-1), s)
                torch.testing.assert_close(compiled(x, chosen, s), wanted, rtol=0, atol=0)


def test_a_source_with_too_few_rows() -> None:
    torch.compiler.reset()
    compiled = torch.compile(
        lambda x, m, s: x.masked_scatter(m.unsqueeze(-1), s), backend="lamina", dynamic=True
    )
    with torch.no_grad():
        compiled(_x(3, 5, 8), _mask(3, 5), _x(15, 8))
        full = torch.ones(4, 6) > 0
        with pytest.raises(lamina.LaminaError, match="fewer elements than the mask"):
            compiled(_x(4, 6, 8), full, _x(23, 8))
        x, source = _x(4, 6, 8), _x(24, 8)
        torch.testing.assert_close(compiled(x, full, source), source.view(4, 6, 8))


@pytest.mark.parametrize("mask", [(2, 5, 8), (2, 5, 1), (2, 1, 1), (8,), (1,)])
def test_known_sizes(mask: tuple[int, ...]) -> None:
    """Masks of rows take rows where the source has as many elements in each."""
    torch.manual_seed(0)
    x, chosen = _x(2, 5, 8), _mask(*mask)
    sources = [_x(2, 5, 8), _x(10, 8), _x(5, 16)]

    def function(x: Any, m: Any, sources: list[Any]) -> list[Any]:
        return [
            x.masked_scatter(given, source)
            for source in sources
            for given in (m, m.expand(2, 5, 8))
        ]

    torch.compiler.reset()
    made = torch.compile(function, backend="lamina", dynamic=False)(x, chosen, sources)
    torch.testing.assert_close(made, function(x, chosen, sources), rtol=0, atol=0)
