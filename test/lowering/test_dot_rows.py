"""Few rows of bf16 by columns along the sum: dot products of neighbouring terms, nothing packed."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from xdsl.dialects.builtin import ModuleOp

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.dialects.errors import InputError
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.runtime.interpreters import run_module

pytestmark = pytest.mark.one_in(2)

TARGET = "znver4"
RUNS = Target.parse(TARGET).runs_here()


def _program(rows: int, terms: int, columns: int) -> str:
    x, w = f"tensor<{rows}x{terms}xbf16>", f"tensor<{columns}x{terms}xbf16>"
    y = f"tensor<{rows}x{columns}xbf16>"
    return f"""
func.func @main(%x: {x}, %w: {w}) -> {y} {{
  %0 = aten.linear.default(%x, %w) : ({x}, {w}) -> {y}
  func.return %0 : {y}
}}"""


def _operands(rows: int, terms: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(rows * terms + columns)
    shapes = (rows, terms), (columns, terms)
    x, w = (torch.randn(shape, generator=generator).bfloat16() for shape in shapes)
    return x, w


def _scheduled(text: str, target: str = TARGET) -> ModuleOp:
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", target=target), Context())
    return module


def _check(found: torch.Tensor, x: torch.Tensor, w: torch.Tensor) -> None:
    """Rounded once, from a sum in f32."""
    exact = x.double() @ w.double().T
    sizes = x.double().abs() @ w.double().abs().T
    apart = (found.double() - exact).abs()
    assert (apart <= exact.abs() * 2.0**-8 + sizes * 1e-6).all()


SHAPES = [(rows, 64, 40) for rows in range(1, 17)]
SHAPES += [(3, 33, 5), (4, 95, 17), (1, 300, 777), (6, 127, 33), (4, 2048, 100), (16, 515, 64)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values(shape: tuple[int, int, int]) -> None:
    text, (x, w) = _program(*shape), _operands(*shape)
    module = _scheduled(text)
    assert "loop.dot_pairs" in str(module)
    numpy = [v.view(torch.int16).numpy().view("V2") for v in (x, w)]
    import ml_dtypes

    found = run_module(module, [v.view(ml_dtypes.bfloat16).copy() for v in numpy])[0]
    _check(torch.from_numpy(found.astype(np.float32)), x, w)
    if RUNS:
        _check(lamina.compile(text, target=TARGET, cache=False)(x, w), x, w)


TILED = [(2, 64, 64), (3, 95, 128), (4, 2048, 64), (5, 130, 96), (7, 64, 64), (8, 515, 64)]
TILED += [(6, 70, 51), (8, 64, 50), (8, 64, 51)]


@pytest.mark.parametrize("shape", TILED, ids=str)
def test_tiles_of_rows_and_places(shape: tuple[int, int, int]) -> None:
    """A weight is read in several places at once, for all rows, where registers have the totals."""
    text, (x, w) = _program(*shape), _operands(*shape)
    target = f"{TARGET};l2_bytes=4096"
    module = lamina.parse(text)
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target=target), Context())
    rows, _, columns = shape
    places = next(n for n in (4, 3, 2) if columns % n == 0 and rows * n < 32)
    assert f"jam = {shape[0] * places}>" in str(module)
    if RUNS:
        _check(lamina.compile(text, target=target, cache=False)(x, w), x, w)


@pytest.mark.skipif(not RUNS, reason="this CPU lacks instructions of znver4")
@pytest.mark.parametrize("special", [float("inf"), float("-inf"), float("nan"), 3e38])
def test_special_values_stay_in_their_rows_and_columns(special: float) -> None:
    x, w = torch.ones(4, 77).bfloat16(), torch.ones(45, 77).bfloat16()
    x[2, 76], w[44, 3] = special, special
    found = lamina.compile(_program(4, 77, 45), target=TARGET, cache=False)(x, w)
    torch.testing.assert_close(found, torch.nn.functional.linear(x, w), equal_nan=True)


@pytest.mark.skipif(not RUNS, reason="this CPU lacks instructions of znver4")
def test_strided_arguments_and_a_bias() -> None:
    class Layer(torch.nn.Module):
        def forward(self, x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.gelu(torch.nn.functional.linear(x, w, b))

    x, w = _operands(5, 130, 90)
    b = torch.randn(90).bfloat16()
    compiled = lamina.compile(torch.export.export(Layer(), (x, w, b)), target=TARGET, cache=False)
    wide = torch.nn.functional.linear(x.float(), w.float(), b.float())
    turned = x.T.contiguous().T, w.T.contiguous().T
    for x_, w_ in ((x, w), turned):
        found = compiled(x_, w_, b)
        torch.testing.assert_close(
            found.float(), torch.nn.functional.gelu(wide), rtol=2.0**-7, atol=2.0**-7
        )


def test_columns_along_the_result_are_packed_or_read_as_they_stand() -> None:
    text = _program(4, 64, 64).replace("linear", "mm")
    assert "dot_pairs>" not in str(_scheduled(text))


def test_other_targets_refuse_the_clause() -> None:
    module = lamina.parse(_program(4, 64, 40))
    run_pipeline(module, pipeline(start="aten", stop="bufferized", target=TARGET), Context())
    assert "vectorize = d2 x 32, unroll = 2, dot_pairs" in str(module)
    with pytest.raises(InputError, match="dot_pairs: target x86-64-v4 has no dot products"):
        lamina.compile(str(module), target="x86-64-v4", cache=False)
