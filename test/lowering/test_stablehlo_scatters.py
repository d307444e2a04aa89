"""Scatters of several tensors: each by itself where the region keeps them apart."""

from __future__ import annotations

import numpy as np
import pytest

import lamina

TEXT = """
func.func @main(%a: tensor<6x3xf32>, %c: tensor<6x3xi32>, %i: tensor<4x1xi64>,
                %u: tensor<4x3xf32>, %v: tensor<4x3xi32>) -> (tensor<6x3xf32>, tensor<6x3xi32>) {
  %0:2 = "stablehlo.scatter"(%a, %c, %i, %u, %v) ({
  ^bb0(%p: tensor<f32>, %q: tensor<i32>, %r: tensor<f32>, %s: tensor<i32>):
    %t = stablehlo.add %p, %r : tensor<f32>
    %w = stablehlo.maximum %q, %s : tensor<i32>
    stablehlo.return RESULTS : tensor<f32>, tensor<i32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
      inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}
    : (tensor<6x3xf32>, tensor<6x3xi32>, tensor<4x1xi64>, tensor<4x3xf32>, tensor<4x3xi32>)
    -> (tensor<6x3xf32>, tensor<6x3xi32>)
  func.return %0#0, %0#1 : tensor<6x3xf32>, tensor<6x3xi32>
}
"""


def test_each_tensor_is_joined_by_its_own_part_of_the_region() -> None:
    generator = np.random.default_rng(0)
    a, u = (generator.standard_normal(s, np.float32) for s in ((6, 3), (4, 3)))
    c, v = (generator.integers(-9, 9, s).astype(np.int32) for s in ((6, 3), (4, 3)))
    places = np.array([[2], [0], [2], [7]])  # the last one is outside and left out
    sums, most = a.copy(), c.copy()
    np.add.at(sums, places[:3, 0], u[:3])
    np.maximum.at(most, places[:3, 0], v[:3])
    found = lamina.compile(TEXT.replace("RESULTS", "%t, %w"))(a, c, places, u, v)
    np.testing.assert_allclose(found[0], sums, rtol=1e-6)
    np.testing.assert_array_equal(found[1], most)


def test_results_that_take_elements_of_others_are_refused() -> None:
    mixed = TEXT.replace(
        "%w = stablehlo.maximum %q, %s : tensor<i32>",
        """%x = stablehlo.compare GT, %p, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %w = stablehlo.select %x, %q, %s : tensor<i1>, tensor<i32>""",
    )
    with pytest.raises(lamina.UnsupportedError, match="of 2 tensors, of which result 1 is complex"):
        lamina.compile(mixed.replace("RESULTS", "%t, %w"))
