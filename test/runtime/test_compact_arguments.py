"""Arguments with several open sizes, which calls pass as they are: `compact-arguments`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import InputError
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower, parse

pytestmark = pytest.mark.one_in(2)

SIZES = ((50, 70), (3, 1), (1, 9), (16, 16), (17, 33), (100, 3), (128, 256), (7, 0), (0, 7), (1, 1))
Tensors = tuple[torch.Tensor, ...]


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def _alike(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns), torch.randn(rows, columns)


def _turned(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns), torch.randn(columns, rows)


def _wide(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns, 24), torch.randn(rows, columns, 24)


def _batches(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns, 24), torch.randn(rows, 24, columns)


def _images(rows: int, columns: int) -> Tensors:
    return torch.randn(2, 3, rows, columns), torch.randn(2, 3, rows, columns)


def _turned_places(rows: int, columns: int) -> Tensors:
    places = torch.arange(columns).flip(0)
    return torch.randn(rows, columns, 24), torch.randn(rows, columns, 24), places


def _own_places(rows: int, columns: int) -> Tensors:
    places = torch.arange(columns).flip(0).expand(rows, columns).contiguous()
    return torch.randn(rows, columns), torch.randn(rows, columns), places


def _drawn_places(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns, 24), torch.randint(max(columns, 1), (rows, columns, 24))


def _complex(rows: int, columns: int) -> Tensors:
    return torch.randn(rows, columns, dtype=torch.complex64), torch.randn(rows, columns)


def _rotated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    x, y = (torch.view_as_complex(z.unflatten(-1, (12, 2))) for z in (x, y))
    return torch.view_as_real(x * y).flatten(-2)


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[[int, int], Tensors]]] = {
    "pointwise": (lambda x, y: functional.silu(x) * y, _alike),
    "softmax": (lambda x, y: torch.softmax(x, -1) * y, _alike),
    "sums of columns": (lambda x, y: (x * y).sum(0), _alike),
    "transpose": (lambda x, y: x.t() + y, _turned),
    "layer norm": (lambda x, y: functional.layer_norm(x + y, (24,)), _wide),
    "heads": (lambda x, y: (x + y).transpose(0, 1).contiguous(), _wide),
    "images": (lambda x, y: functional.relu(x) - y, _images),
    "index_add": (lambda x, y, i: x.index_add(1, i, y), _turned_places),
    "scatter": (lambda x, y, i: x.scatter(1, i, y), _own_places),
    "index_select": (lambda x, y, i: x.index_select(1, i) * y, _turned_places),
    "gather": (lambda x, i: x.gather(1, i), _drawn_places),
    "gather in rows": (lambda x, y, i: x.gather(1, i) * y, _own_places),
    "flip": (lambda x, y: (x + y.flip(1)).flip(0, 1), _wide),
    "roll": (lambda x, y: x.roll(3, 1) * y.roll(-1, 0), _wide),
    "cat": (lambda x, y: torch.cat([x, y], 1), _wide),
    "repeated": (lambda x, y: (x * y)[:, :, None].expand(-1, -1, 3, -1).flatten(1, 2), _wide),
    "pairs": (_rotated, _wide),
    "complex": (lambda x, y: x * y, _complex),
    "product": (torch.mm, _turned),
    "batches of products": (torch.bmm, _batches),
    "booleans": (lambda x, y: (x > y, x.to(torch.float64), x), _alike),
}


def _dims(tensor: torch.Tensor, rows: int, columns: int, names: tuple[Any, Any]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for size, name in zip((rows, columns), names, strict=True):
        if size in tensor.shape:
            found[list(tensor.shape).index(size)] = name
    return found


def _compiled(name: str) -> Any:
    torch.manual_seed(0)
    function, make = PROGRAMS[name]
    names = Dim("rows", max=512), Dim("columns", max=512)
    given = make(50, 70)
    dims = (tuple(_dims(tensor, 50, 70, names) for tensor in given),)
    program = torch.export.export(Function(function), given, dynamic_shapes=dims)
    return lamina.compile(program, versions="padded")


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    compiled, (function, make) = _compiled(name), PROGRAMS[name]
    for rows, columns in SIZES:
        given = make(rows, columns)
        apart = [torch.stack([x, x], -1)[..., 0] for x in given]
        for arguments in (given, given, apart):
            torch.testing.assert_close(
                compiled(*arguments), function(*given), rtol=1e-4, atol=1e-5, equal_nan=True
            )
    inputs = compiled.sizes[-1].compiled.inputs[: len(given)]
    assert all(slot.extents is not None for slot in inputs if len(slot.shape) > 1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numpy_arrays(name: str) -> None:
    compiled, (function, make) = _compiled(name), PROGRAMS[name]
    for rows, columns in SIZES:
        given = make(rows, columns)
        made, wanted = compiled(*(x.numpy() for x in given)), function(*given)
        made, wanted = (v if isinstance(v, tuple) else (v,) for v in (made, wanted))
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-4, atol=1e-5)


def test_results_are_contiguous_and_of_their_size() -> None:
    compiled = _compiled("pointwise")
    made = compiled(torch.randn(50, 70), torch.randn(50, 70))
    assert made.is_contiguous()
    assert made.untyped_storage().nbytes() < 3 * 50 * 70 * 4  # the version is for 512x512


def test_through_torch_compile() -> None:
    function, make = PROGRAMS["pointwise"]
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    before = lamina.compile_count()
    for rows, columns in ((50, 70), (40, 60), (200, 30), (2, 250), (33, 17)):
        x, y = make(rows, columns)
        torch.testing.assert_close(compiled(x, y), function(x, y), rtol=1e-4, atol=1e-5)
        columns_first = x.t().contiguous().t()
        torch.testing.assert_close(compiled(columns_first, y), function(x, y), rtol=1e-4, atol=1e-5)
    assert lamina.compile_count() - before <= 4


def test_saved_programs_pass_them_too(tmp_path: Path) -> None:
    compiled, (function, make) = _compiled("pointwise"), PROGRAMS["pointwise"]
    file = tmp_path / "pointwise.lamina"
    compiled.save(file)
    loaded = lamina.load(file)
    for rows, columns in ((50, 70), (17, 33), (7, 0)):
        given = make(rows, columns)
        torch.testing.assert_close(loaded(*given), function(*given), rtol=1e-4, atol=1e-5)
        apart = [torch.stack([x, x], -1)[..., 0] for x in given]
        torch.testing.assert_close(loaded(*apart), function(*given), rtol=1e-4, atol=1e-5)


TEXT = """
func.func @main(%x: tensor<?x?xf32> {{lamina.dims = [#lamina.size<a in [0, 64]>, #lamina.size<b in [0, 128]>]}},
                %y: tensor<{other}xf32> {{lamina.dims = [{names}]}})
    -> (tensor<{other}xf32> {{lamina.dims = [{names}]}}) attributes {{lamina.compact}} {{
  %0 = aten.{op} : (tensor<?x?xf32>) -> tensor<{other}xf32>
  %1 = aten.mul.Tensor(%0, %y) : (tensor<{other}xf32>, tensor<{other}xf32>) -> tensor<{other}xf32>
  func.return %1 : tensor<{other}xf32>
}}
"""  # noqa: E501 - an op on one line
SAME, OTHER = "#lamina.size<a>, #lamina.size<b>", "#lamina.size<b>, #lamina.size<a>"


@pytest.mark.parametrize(
    ("op", "names"),
    [("silu.default(%x)", SAME), ("softmax.int(%x, dim = -1)", SAME), ("t.default(%x)", OTHER)],
)
@pytest.mark.parametrize("sizes", [(50, 100), (3, 1), (1, 17), (64, 128)])
def test_every_layer_means_the_same(op: str, names: str, sizes: tuple[int, int]) -> None:
    module = parse(TEXT.format(op=op, names=names, other="?x?"))
    rows, columns = sizes
    random = np.random.default_rng(0)
    x = random.standard_normal(sizes, np.float32)
    y = random.standard_normal(sizes if names == SAME else sizes[::-1], np.float32)
    wanted = run_module(module.clone(), [x, y])
    bounds = (64, 128) if names == SAME else (128, 64)
    padded = [np.full(shape, np.nan, np.float32) for shape in ((64, 128), bounds)]
    for whole, part in zip(padded, (x, y), strict=True):
        whole[: part.shape[0], : part.shape[1]] = part
    counts = [np.array(n) for n in (rows, columns)]
    start = "aten"
    for stop in ("functional", "fused", "bufferized", "scheduled"):
        lower(module, start, stop, Target.host(), enters=start == "aten")
        start = stop
        (made,) = run_module(module.clone(), [*padded, *counts])
        np.testing.assert_allclose(made, wanted[0], rtol=2e-5, atol=1e-6)
    assert "lamina.extents" in str(module)


def test_a_program_by_itself_has_the_layouts_of_its_types() -> None:
    module = parse(TEXT.format(op="silu.default(%x)", names=SAME, other="?x?"))
    lower(module, "aten", "bufferized", Target.host())
    with pytest.raises(InputError, match=r"'arg0' lies in memory as calls .* \(lamina.extents\)"):
        lamina.compile(str(module))
