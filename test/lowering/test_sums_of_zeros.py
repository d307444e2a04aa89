"""Sums begin at 0.0, as eager mode's: none is -0.0, whatever its terms are."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812

import lamina
from lamina.lowering.pipeline import LAYERS
from lamina.runtime.interpreters import run_module
from lamina.runtime.layers import parse

pytestmark = pytest.mark.one_in(2)

SHAPES = [(1, 1), (3, 1), (1, 5), (3, 4), (40, 33), (7, 700)]
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "sum": torch.sum,
    "sum of rows": lambda x: x.sum(1),
    "sum of columns": lambda x: x.sum(0, keepdim=True),
    "sum of a transposed tensor": lambda x: x.t().sum(0),
    "mean": lambda x: x.mean((0, 1)),
    "nansum": lambda x: x.nansum(1),
    "cumsum": lambda x: x.cumsum(-1),
    "cumsum of columns": lambda x: x.cumsum(0),
    "trace": torch.trace,
    "mm": lambda x: x @ torch.ones_like(x).t(),
    "bmm": lambda x: x[None] @ torch.ones_like(x)[None].transpose(1, 2),
    "mv": lambda x: x @ torch.ones_like(x)[0],
    "dot": lambda x: torch.dot(x[0], torch.ones_like(x)[0]),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None], 1),
    "conv1d": lambda x: F.conv1d(x[None], torch.ones_like(x)[None, :, :1]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_sum_is_negative_zero(name: str, dtype: torch.dtype) -> None:
    class Module(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return FUNCTIONS[name](x)

    for shape in SHAPES:
        x = torch.full(shape, -0.0, dtype=dtype)
        if name != "mm":  # eager mode's of one term is -0.0 where that is
            assert not torch.signbit(Module()(x)).any()
        compiled = lamina.compile(torch.export.export(Module(), (x,)))
        assert not torch.signbit(compiled(x)).any(), shape


@pytest.mark.parametrize("call", ["sum.dim_IntList(%x, dim = [1])", "cumsum.default(%x, 1)"])
@pytest.mark.parametrize("extent", [1, 3])
def test_layers_agree_with_native_code(extent: int, call: str) -> None:
    made = f"2x{extent}" if "cumsum" in call else "2"
    text = f"""func.func @main(%x: tensor<2x{extent}xf32>) -> tensor<{made}xf32> {{
      %0 = aten.{call} : (tensor<2x{extent}xf32>) -> tensor<{made}xf32>
      func.return %0 : tensor<{made}xf32>
    }}"""
    compiled = lamina.compile(text, cache=False)
    x = np.full((2, extent), -0.0, np.float32)
    results = {layer: run_module(parse(compiled.ir(layer)), [x])[0] for layer in LAYERS}
    results["native"] = np.asarray(compiled(x))
    signs = {where: np.signbit(result).any() for where, result in results.items()}
    assert not any(signs.values()), signs
