"""Windows over images whose height and width are open: padded reads that end at a call's sizes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional

import lamina
from lamina.codegen.target import Target
from lamina.dialects.errors import ExecutionError
from lamina.frontends.exported_program import import_exported_program
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import lower
from lamina.runtime.sized import padded_program

pytestmark = pytest.mark.one_in(2)

SIZES = ((20, 28), (5, 3), (3, 17), (16, 16), (33, 64), (64, 31), (8, 7), (4, 63), (57, 5))
CHANNELS = 6


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, image: torch.Tensor, weight: torch.Tensor) -> Any:
        return self.function(image, weight)


def _depthwise(image: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return functional.conv2d(image, weight, padding=1, groups=CHANNELS)


PROGRAMS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "depthwise": _depthwise,
    "depthwise in steps": lambda x, w: functional.conv2d(x, w, stride=2, padding=1, groups=6),
    "depthwise dilated": lambda x, w: functional.conv2d(x, w, padding=2, dilation=2, groups=6),
    "depthwise and relu": lambda x, w: torch.relu(_depthwise(x * 2, w) - 1),
    "largest": lambda x, w: functional.max_pool2d(x, 3, 2, 1),
    "mean": lambda x, w: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=True),
    "zeros around": lambda x, w: functional.pad(x, (2, 1, 1, 2)),
    "number around": lambda x, w: functional.pad(x, (1, 1, 1, 1), value=2.5) + 1,
}


def _given(height: int, width: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    return torch.randn(2, CHANNELS, height, width), torch.randn(CHANNELS, 1, 3, 3)


def _program(name: str) -> torch.export.ExportedProgram:
    dims = {2: Dim("height", min=3, max=512), 3: Dim("width", min=3, max=512)}
    module = Function(PROGRAMS[name])
    return torch.export.export(module, _given(20, 28), dynamic_shapes=(dims, None))


@pytest.mark.parametrize("name", PROGRAMS)
def test_equals_torch(name: str) -> None:
    compiled = lamina.compile(_program(name), versions="padded")
    for height, width in SIZES:
        given = _given(height, width, height)
        columns_first = given[0].transpose(2, 3).contiguous().transpose(2, 3)
        for image in (given[0], columns_first):
            torch.testing.assert_close(
                compiled(image, given[1]), PROGRAMS[name](*given), rtol=1e-4, atol=1e-5
            )
    image = compiled.sizes[-1].compiled.inputs[0]
    assert image.extents is not None  # it is passed as the call has it


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_special_values_stay_in_their_windows(value: float) -> None:
    compiled = lamina.compile(_program("depthwise"), versions="padded")
    largest = lamina.compile(_program("largest"), versions="padded")
    for height, width in ((9, 11), (33, 40)):
        image, weight = _given(height, width)
        image[1, 2, -1, -1] = value
        for made, wanted in (
            (compiled(image, weight), _depthwise(image, weight)),
            (largest(image, weight), PROGRAMS["largest"](image, weight)),
        ):
            torch.testing.assert_close(made, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.parametrize("name", ["depthwise", "largest", "zeros around"])
def test_every_layer_means_the_same(name: str) -> None:
    image, weight = _given(20, 28)
    source = import_exported_program(_program(name)).module
    names = re.findall(r"#lamina.size<(\w+)", str(source))
    module = padded_program(source, dict.fromkeys(names, 64))
    padded = np.full((2, CHANNELS, 64, 64), np.nan, np.float32)
    padded[:, :, :20, :28] = image.numpy()
    given: list[Any] = [padded, weight.numpy(), np.array(20), np.array(28)]
    wanted = PROGRAMS[name](image, weight).numpy()
    start = "functional"
    for layer in ("core_aten", "prims", "loop", "fused", "bufferized", "scheduled"):
        lower(module, start, layer, Target.host())
        start = layer
        made = run_module(module.clone(), given)[0]
        np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-4, atol=1e-5)


def test_through_torch_compile() -> None:
    torch._dynamo.reset()
    function = PROGRAMS["depthwise and relu"]
    compiled = torch.compile(function, backend="lamina", dynamic=True, fullgraph=True)
    before = lamina.compile_count()
    for height, width in SIZES:
        given = _given(height, width)
        torch.testing.assert_close(compiled(*given), function(*given), rtol=1e-4, atol=1e-5)
    assert lamina.compile_count() - before <= 2


def test_a_product_of_fewer_terms_than_windows_may_have() -> None:
    """Windows of a row are as many as the matrix has rows, of which the version has room for more:
    what is behind them is neither read nor multiplied."""

    rows, matrix = torch.randn(17, 1, 5), torch.randn(3, 8)
    text = """
    func.func @main(%x: tensor<?x1x?xf32> {lamina.dims = [#lamina.size<n in [1, 64]>,
                                                          #lamina.size<h in [2, 256]>]},
                    %w: tensor<3x8xf32>) -> tensor<?x8xf32> {
      %n = aten.sym_size.int(%x, dim = 0) : (tensor<?x1x?xf32>) -> i64
      %p = aten.avg_pool2d.default(%x, [2, 2], [2, 2], [1, 1], true)
          : (tensor<?x1x?xf32>) -> tensor<?x1x?xf32>
      %l = aten.sym_size.int(%p, dim = 2) : (tensor<?x1x?xf32>) -> i64
      %v = aten.view.default(%p, size = [%n, %l])
          : (tensor<?x1x?xf32>, i64, i64) -> tensor<?x?xf32>
      %r = aten.mm.default(%v, %w) : (tensor<?x?xf32>, tensor<3x8xf32>) -> tensor<?x8xf32>
      func.return %r : tensor<?x8xf32>
    }"""
    compiled = lamina.compile(text, versions="padded")
    pooled = functional.avg_pool2d(rows, 2, stride=2, padding=1, ceil_mode=True)
    wanted = (pooled @ matrix)[:, 0]
    for _ in range(3):
        found = torch.from_numpy(compiled(rows.numpy(), matrix.numpy()))
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    with pytest.raises(ExecutionError, match="the sizes to sum over differ"):
        compiled(torch.randn(17, 1, 200).numpy(), matrix.numpy())
