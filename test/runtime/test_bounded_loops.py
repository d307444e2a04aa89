"""Versions for ranges of programs that enter below `aten`: constants, writes, numbers, bits."""

import numpy as np

import lamina


def test_constants_stand_beside_what_is_padded() -> None:
    weight = np.arange(12, dtype=np.float32).reshape(3, 4)
    compiled = lamina.compile(
        """
func.func @main(%x: tensor<?x3xf32> {lamina.dims = [#lamina.size<n in [0, 50]>]},
                %w: tensor<3x4xf32> {lamina.kind = "parameter", lamina.name = "w"})
    -> (tensor<?x4xf32>, tensor<3xf32>) {
  %c = arith.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %0 = core_aten.add.Tensor(%x, %c) : (tensor<?x3xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %1 = core_aten.mm.default(%0, %w) : (tensor<?x3xf32>, tensor<3x4xf32>) -> tensor<?x4xf32>
  %2 = core_aten.sum.dim_IntList(%0, [0]) : (tensor<?x3xf32>) -> tensor<3xf32>
  func.return %1, %2 : tensor<?x4xf32>, tensor<3xf32>
}""",
        constants={"w": weight},
    )
    for n in (5, 3, 0, 50, 1):
        x = np.random.default_rng(n).standard_normal((n, 3)).astype(np.float32)
        product, total = compiled(x)
        moved = x + np.array([1, 2, 3], np.float32)
        np.testing.assert_allclose(product, moved @ weight, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(total, moved.sum(0), rtol=1e-4, atol=1e-4)
    assert [version.of for version in compiled.sizes] == ["n = 5", "n <= 50"]


def test_an_argument_of_open_size_is_written() -> None:
    compiled = lamina.compile(
        """
func.func @main(%x: tensor<?xf32> {lamina.dims = [#lamina.size<n in [0, 50]>], lamina.name = "x"})
    -> (tensor<?xf32> {lamina.kind = "mutation", lamina.target = "x"}) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xf32>
  %r = loop.generic (d0)[s0 = %n] in [s0] reads(%x[d0] : tensor<?xf32>)
      writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    %w = arith.addf %v, %v : f32
    loop.yield %w : f32
  }
  func.return %r : tensor<?xf32>
}""",
        versions="padded",
    )
    for n in (5, 3, 0, 50):
        x = np.arange(n, dtype=np.float32)
        compiled(x)
        np.testing.assert_array_equal(x, 2 * np.arange(n))
    assert len(compiled.sizes) == 1


def test_a_size_is_an_argument() -> None:
    compiled = lamina.compile(
        """
func.func @main(%n: i64 {lamina.dims = [#lamina.size<n in [0, 50]>]}, %x: tensor<f32>)
    -> tensor<?xf32> {
  %m = arith.index_cast %n : i64 to index
  %r = loop.generic (d0)[s0 = %m] in [s0] reads(%x[] : tensor<f32>)
      writes([d0] store : tensor<?xf32>) {
  ^bb0(%v: f32):
    %s = loop.size 0 : index
    %c = arith.index_cast %s : index to i64
    %f = arith.sitofp %c : i64 to f32
    %w = arith.addf %v, %f : f32
    loop.yield %w : f32
  }
  func.return %r : tensor<?xf32>
}""",
        versions="padded",
    )
    for n in (5, 3, 0, 50):
        np.testing.assert_array_equal(compiled(n, np.float32(1)), np.full(n, 1 + n))
    assert len(compiled.sizes) == 1


def test_extremes_of_booleans_and_bits_begin_at_what_changes_nothing() -> None:
    compiled = lamina.compile(
        """
func.func @main(%x: tensor<?xi1> {lamina.dims = [#lamina.size<n in [0, 50]>]},
                %y: tensor<?xi32> {lamina.dims = [#lamina.size<n>]})
    -> (tensor<i1>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %zero = arith.constant 0 : index
  %n = tensor.dim %x, %zero : tensor<?xi1>
  %all, %any, %and, %or, %most, %product = loop.generic (d0)[s0 = %n] in [s0]
      reads(%x[d0] : tensor<?xi1>, %y[d0] : tensor<?xi32>)
      writes([] and : tensor<i1>, [] or : tensor<i1>, [] and : tensor<i32>, [] or : tensor<i32>,
             [] max : tensor<i32>, [] mul : tensor<i32>) {
  ^bb0(%v: i1, %w: i32):
    loop.yield %v, %v, %w, %w, %w, %w : i1, i1, i32, i32, i32, i32
  }
  func.return %all, %any, %and, %or, %most, %product
      : tensor<i1>, tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}""",
        versions="padded",
    )
    for n in (5, 1, 0, 50):
        x = np.random.default_rng(n).integers(0, 2, n).astype(bool)
        y = np.random.default_rng(n).integers(-9, 9, n).astype(np.int32)
        found = compiled(x, y)
        most = y.max() if n else np.iinfo(np.int32).min
        wanted = [x.all(), x.any(), np.bitwise_and.reduce(y), np.bitwise_or.reduce(y), most]
        for one, other in zip(found, [*wanted, np.prod(y, dtype=np.int32)], strict=True):
            np.testing.assert_array_equal(one, other)
