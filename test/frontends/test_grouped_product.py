"""Products of groups by a matrix each, and a mixture of experts of transformers."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import lamina

SHAPES = {
    "groups of rows": ((8, 16), (3, 16, 24)),
    "few rows": ((8, 16), (9, 16, 24)),
    "groups of columns": ((3, 4, 16), (16, 8)),
    "groups of terms": ((16, 8), (8, 24)),
    "batches": ((3, 4, 16), (3, 16, 24)),
}


@pytest.mark.parametrize("ends", [[2, 2, 8], [0, 8, 8], [3, 5, 8]])
@pytest.mark.parametrize("name", SHAPES)
def test_as_eager(name: str, ends: list[int]) -> None:
    """In bf16: torch traces no other dtype."""
    torch.manual_seed(0)
    x, y = (torch.randn(shape).bfloat16() for shape in SHAPES[name])
    if name == "few rows":
        ends = [*ends[:2], *[ends[1]] * 6, ends[2]]
    places = None if name == "batches" else torch.tensor(ends, dtype=torch.int32)

    def run(x: Tensor, y: Tensor) -> Tensor:
        return torch._grouped_mm(x, y, offs=places)

    torch._dynamo.reset()
    with torch.no_grad():
        actual = torch.compile(run, backend="lamina", fullgraph=True)(x, y)
        torch.testing.assert_close(actual, run(x, y))


@pytest.mark.parametrize(
    ("rows", "ends"),
    [
        (40, [7, 7, 30, 40]),  # one without rows
        (40, [0, 12, 12, 25]),  # rows behind the last are 0
        (40, [40, 40, 40, 40]),
        (40, [0, 0, 0, 0]),
        (40, [50, 50, 50, 50]),  # an end that is no place
        (3, [1, 1, 2, 3]),
        (3, [0, 1, 1, 1]),
        (4, [4, 4, 4, 4]),
    ],
)
@pytest.mark.parametrize("turned", [False, True])
def test_groups_of_rows(rows: int, ends: list[int], turned: bool) -> None:
    terms, columns, groups = 33, 20, len(ends)
    shape = (groups, columns, terms) if turned else (groups, terms, columns)
    kinds = f"tensor<{rows}x{terms}xf32>", "x".join(map(str, shape)), f"tensor<{groups}xi64>"
    matrices, made = f"tensor<{groups}x{terms}x{columns}xf32>", f"tensor<{rows}x{columns}xf32>"
    turn = f"%t = aten.transpose.int(%y, 1, 2) : (tensor<{kinds[1]}xf32>) -> {matrices}"
    text = f"""
func.func @main(%x: {kinds[0]}, %y: tensor<{kinds[1]}xf32>, %ends: {kinds[2]}) -> {made} {{
  {turn if turned else ""}
  %0 = aten._grouped_mm.default(%x, {"%t" if turned else "%y"}, %ends)
      : ({kinds[0]}, {matrices}, {kinds[2]}) -> {made}
  func.return %0 : {made}
}}"""
    random = np.random.default_rng(0)
    x = random.standard_normal((rows, terms), np.float32)
    y = random.standard_normal(shape, np.float32)
    actual = lamina.compile(text)(x, y, np.array(ends))
    expected, first = np.zeros((rows, columns), np.float32), 0
    for end, matrix in zip(ends, y.swapaxes(1, 2) if turned else y, strict=True):
        expected[first:end], first = x[first:end] @ matrix, end
    np.testing.assert_allclose(actual, expected, 1e-4, 1e-5)


def test_rows_are_multiplied_once() -> None:
    """Groups are calls of one kernel, which ends at the number of rows that each has."""
    groups, rows = 12, 200
    x, made = f"tensor<{rows}x64xf32>", f"tensor<{rows}x96xf32>"
    y, ends = f"tensor<{groups}x64x96xf32>", f"tensor<{groups}xi64>"
    compiled = lamina.compile(f"""
func.func @main(%x: {x}, %y: {y}, %ends: {ends}) -> {made} {{
  %0 = aten._grouped_mm.default(%x, %y, %ends) : ({x}, {y}, {ends}) -> {made}
  func.return %0 : {made}
}}""")
    calls = re.findall(r"func.call @(\w+)", compiled.ir("fused"))
    text = compiled.ir("fused").split("func.func private ")
    products = [part.split("(")[0][1:] for part in text if '"prims.contract"' in part]
    assert sum(calls.count(name) for name in products) == groups
    assert len(products) <= 3
    assert all("live = [" in part for part in text if '"prims.contract"' in part)


def test_mixture_of_experts() -> None:
    transformers: Any = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.MixtralConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        num_local_experts=4,
        use_cache=False,
    )
    model = transformers.MixtralForCausalLM(config).eval()
    tokens = torch.randint(0, 64, (2, 9))
    with torch.no_grad():
        expected = model(tokens).logits
        program = torch.export.export(model, (tokens,), strict=False)
        actual = lamina.compile(program)(tokens)
    torch.testing.assert_close(actual.logits, expected, rtol=1e-4, atol=1e-5)
