"""What schedules fill of caches follows from the target's sizes."""

from __future__ import annotations

import re

import pytest

import lamina
from lamina.codegen.target import Target
from lamina.dialects.context import Context
from lamina.lowering.pipeline import pipeline, run_pipeline
from lamina.passes.cost.cache_shares import (
    column_scratch_bytes,
    columns_kept,
    pairs_packed,
    row_copy_bytes,
)

SUM = """
func.func @main(%x: tensor<512x8192x{element}>) -> tensor<8192x{element}> {{
  %0 = aten.sum.dim_IntList(%x, [0])
      : (tensor<512x8192x{element}>) -> tensor<8192x{element}>
  func.return %0 : tensor<8192x{element}>
}}"""


@pytest.mark.parametrize(
    ("l1d", "element", "columns"),
    [
        (32, "f32", 2048),
        (48, "f32", 2048),
        (64, "f32", 4096),
        (128, "f32", 8192),
        (32, "f64", 1024),
    ],
)
def test_totals_of_columns_fill_a_quarter_of_the_nearest_cache(
    l1d: int, element: str, columns: int
) -> None:
    target = f"x86-64-v4;l1d_bytes={l1d * 1024}"
    module = lamina.parse(SUM.format(element=element))
    run_pipeline(module, pipeline(stop="bufferized", target=target), Context())
    found = re.findall(r"tile = d\d+ x (\d+), rfactor", str(module))
    assert set(map(int, found)) == {columns}


def test_shares_grow_with_their_caches() -> None:
    small, large = (
        Target.parse(f"x86-64-v4;l1d_bytes={k * 1024};l2_bytes={k << 15}") for k in (16, 64)
    )
    assert columns_kept(small, 32) * 4 == columns_kept(large, 32)
    assert column_scratch_bytes(small) * 4 == column_scratch_bytes(large)
    assert pairs_packed(small, 64) * 4 == pairs_packed(large, 64)
    assert row_copy_bytes(small) < row_copy_bytes(large)
    assert row_copy_bytes(Target.parse("x86-64-v4;l2_bytes=16777216")) == row_copy_bytes(large)
