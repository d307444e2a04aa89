"""Dimensions of unknown size that a program joins and splits again, called with many sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import lamina

torch: Any = pytest.importorskip("torch")
Dim = torch.export.Dim
SHAPES = ((2, 3), (1, 5), (4, 9), (7, 2), (1, 1))


def _split(x: Any, weight: Any, bias: Any) -> Any:
    rows = torch.nn.functional.linear(x.view(-1, x.shape[-1]), weight, bias)
    return rows.view(*x.shape[:2], -1)


def _added(x: Any, weight: Any, bias: Any) -> Any:
    return torch.addmm(bias, x.view(-1, x.shape[-1]), weight.T).view(*x.shape[:2], -1)


def _multiplied(x: Any, weight: Any, bias: Any) -> Any:
    return torch.mm(x.view(-1, x.shape[-1]), weight.T).view(*x.shape[:2], -1) + bias


def _joined(x: Any, weight: Any, bias: Any) -> Any:
    return torch.nn.functional.linear(x.view(-1, x.shape[-1]), weight, bias).cumsum(0)


def _of_joined(x: Any, weight: Any, bias: Any) -> Any:
    rows = x.reshape(-1, x.shape[-1])
    return (rows @ rows.T).sum(0), rows.shape[0] * bias


def _heads(x: Any, weight: Any, bias: Any) -> Any:
    batch, length, width = x.shape
    heads = x.transpose(0, 1).reshape(length, batch * 2, width // 2).transpose(0, 1)
    scores = torch.bmm(heads, heads.transpose(1, 2)).softmax(-1)
    made = torch.bmm(scores, heads).transpose(0, 1).reshape(length * batch, width)
    return torch.nn.functional.linear(made, weight, bias).view(length, batch, -1).transpose(0, 1)


def _differences(x: Any, weight: Any, bias: Any) -> Any:
    front = torch.zeros_like(x[:, :1])
    return x.diff(dim=1, prepend=front), (x.diff(dim=2) @ weight.T[1:]).mean(1) + bias


class _Module(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        self.weight = torch.nn.Parameter(torch.randn(6, 8))
        self.bias = torch.nn.Parameter(torch.randn(6))

    def forward(self, x: Any) -> Any:
        return self.function(x, self.weight, self.bias)


@pytest.mark.parametrize(
    "function",
    [_split, _added, _multiplied, _joined, _of_joined, _heads, _differences],
    ids=lambda function: function.__name__[1:],
)
def test_joined_dimensions(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    model = _Module(function).eval()
    sizes = {"x": {0: Dim("batch", min=1, max=8), 1: Dim("length", min=1, max=64)}}
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(2, 3, 8),), dynamic_shapes=sizes)
        compiled = lamina.compile(program, versions="padded")
        for shape in SHAPES:
            x = torch.randn(*shape, 8)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-5, atol=1e-5)
    assert len(compiled.sizes) == 1


@pytest.mark.parametrize("function", [_split, _added, _multiplied, _joined])
def test_matrices_of_open_size(function: Callable[..., Any]) -> None:
    torch.manual_seed(0)
    torch.compiler.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=True)
    before = lamina.compile_count()
    with torch.no_grad():
        for batch, length, features, columns in (
            (2, 3, 8, 6),
            (4, 9, 5, 12),
            (7, 2, 16, 3),
            (3, 5, 9, 7),
            (2, 7, 3, 20),
        ):
            inputs = (
                torch.randn(batch, length, features),
                torch.randn(columns, features),
                torch.randn(columns),
            )
            torch.testing.assert_close(compiled(*inputs), function(*inputs), rtol=1e-5, atol=1e-5)
    assert lamina.compile_count() - before <= 3  # of five sizes


def _heads_apart(q: Any, k: Any) -> Any:
    """Attention of heads of open number: batches and heads are joined for each product."""
    batch, heads, length, width = q.shape
    joined = [x.reshape(batch * heads, x.shape[2], width) for x in (q, k)]
    weights = torch.bmm(joined[0], joined[1].transpose(1, 2)).softmax(-1)
    made = torch.bmm(weights, joined[1]).view(batch, heads, length, width)
    return made, weights.view(batch, heads, length, k.shape[2]).argmax(-1)


def test_batches_of_products_that_are_joined_alike() -> None:
    batch, heads = Dim("batch", max=8), Dim("heads", max=8)
    dims = (
        {0: batch, 1: heads, 2: Dim("rows", max=32)},
        {0: batch, 1: heads, 2: Dim("keys", min=1, max=64)},
    )

    class Attention(torch.nn.Module):
        def forward(self, q: Any, k: Any) -> Any:
            return _heads_apart(q, k)

    given = torch.randn(3, 2, 9, 8), torch.randn(3, 2, 5, 8)
    program = torch.export.export(Attention(), given, dynamic_shapes=dims)
    compiled = lamina.compile(program, versions="padded")
    full = torch.full((8, 8, 64, 8), float("nan"))
    for b, h, n, m in ((3, 2, 9, 5), (1, 1, 1, 1), (8, 8, 32, 64), (2, 5, 31, 33)):
        compiled(full[:, :, :32], full)  # what a larger call leaves behind
        q, k = torch.randn(b, h, n, 8), torch.randn(b, h, m, 8)
        torch.testing.assert_close(compiled(q, k), _heads_apart(q, k), rtol=1e-4, atol=1e-4)
    assert compiled.sizes.reason is None


class _Codes(torch.nn.Module):
    """The nearest codes of pixels, by brackets, by `index_select` and from columns of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.codes = torch.nn.Parameter(torch.randn(40, 8))

    def forward(self, z: Any) -> Any:
        b, c, h, w = z.shape
        rows = z.permute(0, 2, 3, 1).reshape(-1, c)
        distances = self.codes.square().sum(1) - 2 * rows @ self.codes.t()
        places = distances.argmin(1)
        chosen = self.codes[places - 40].view(b, h, w, c).permute(0, 3, 1, 2)
        columns = self.codes.t()[:, places].view(c, b, h, w)
        again = self.codes.index_select(0, places).view(b, h, w, c)
        return chosen, (chosen - z).square().mean(), columns, again, places.view(b, h, w)


def test_places_that_are_joined() -> None:
    torch.manual_seed(0)
    model = _Codes().eval()
    sizes = {0: Dim("batch", min=1, max=8), 2: Dim("height", min=1, max=16)}
    sizes[3] = Dim("width", min=1, max=20)
    with torch.no_grad():
        program = torch.export.export(model, (torch.randn(2, 8, 3, 5),), dynamic_shapes=(sizes,))
        compiled = lamina.compile(program, versions="padded")
        full = torch.full((8, 8, 16, 20), float("nan"))
        for shape in ((2, 3, 5), (1, 1, 1), (8, 16, 20), (3, 1, 7), (1, 13, 1)):
            compiled(full)
            z = torch.randn(shape[0], 8, *shape[1:])
            torch.testing.assert_close(compiled(z), model(z), rtol=1e-4, atol=1e-4)
    assert len(compiled.sizes) == 1


def test_places_outside_of_a_table_are_refused() -> None:
    """Those that are joined, too, but only where a call has them."""

    class Rows(torch.nn.Module):
        def forward(self, table: Any, places: Any) -> Any:
            return table.index_select(0, places.view(-1)).view(*places.shape, 4)

    sizes = {0: Dim("batch", min=1, max=8), 1: Dim("length", min=1, max=16)}
    given = torch.randn(6, 4), torch.zeros(2, 3, dtype=torch.long)
    program = torch.export.export(Rows(), given, dynamic_shapes=(None, sizes))
    compiled = lamina.compile(program, versions="padded")
    table = torch.randn(6, 4)
    for wrong in (6, -1):
        with pytest.raises(lamina.LaminaError):
            compiled(table, torch.full((8, 16), wrong))
    places = torch.arange(10).view(2, 5) % 6
    torch.testing.assert_close(compiled(table, places), table[places])


@pytest.mark.parametrize("begin", [1, 3, 20])
def test_parts_that_begin_behind_the_first(begin: int) -> None:
    """They are what stands there, and nothing where a call has fewer."""
    compiled = lamina.compile(
        f"""
        func.func @main(%x: tensor<?x?xf32> {{lamina.dims = [
            #lamina.size<b in [0, 40]>, #lamina.size<l in [0, 64]>
          ]}}) -> (tensor<?x?xf32>, tensor<?xf32>) {{
          %0 = aten.slice.Tensor(%x, dim = 1, start = {begin})
            : (tensor<?x?xf32>) -> tensor<?x?xf32>
          %1 = aten.exp.default(%0) : (tensor<?x?xf32>) -> tensor<?x?xf32>
          %2 = aten.sum.dim_IntList(%0, dim = [1]) : (tensor<?x?xf32>) -> tensor<?xf32>
          func.return %1, %2 : tensor<?x?xf32>, tensor<?xf32>
        }}
        """,
        versions="padded",
    )
    for b, n in ((21, 30), (40, 64), (0, 5), (1, 0), (2, 1), (3, 2), (4, 3), (30, 20), (20, 21)):
        compiled(torch.full((40, 64), float("nan")))
        x = torch.randn(b, n)
        made, total = (torch.as_tensor(result) for result in compiled(x))
        wanted = x[:, begin:]
        torch.testing.assert_close(made, wanted.exp(), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(total, wanted.sum(1), rtol=1e-5, atol=1e-5)
