// RUN: lamina-opt %s -p apply-winograd --split-input-file | filecheck %s

// The image is padded once; four groups of four products, by which of the two kinds stands along the
// lines and along the columns, and a nest that puts the results of a tile together.
func.func @main(%x: tensor<1x6x8x4xf32>, %w: tensor<5x4x3x3xf32>) -> tensor<1x6x8x5xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 6, 8, 5, 3, 3, 4] reads(%x[n, y + i - 1, x + j - 1, c] pad 0.0 : f32 : tensor<1x6x8x4xf32>, %w[o, c, i, j] : tensor<5x4x3x3xf32>) writes([n, y, x, o] add : tensor<1x6x8x5xf32>) attributes {lamina.winograd = "image"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x6x8x5xf32>
}
// CHECK-LABEL: @main
// CHECK:         %0 = loop.generic (d0, d1, d2) in [8, 10, 4] reads(%x[0, d0 + -1, d1 + -1, d2] pad
// Lines r and r + 2 of a tile, less columns r and r + 2.
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [2, 2, 1, 3, 4, 4] reads(%0[d2, d0 + (d3 * 2), d1 + (d4 * 2), d5] : tensor<1x8x10x4xf32>,
// CHECK-SAME:    lamina.op = "winograd_image"
// CHECK:           arith.subf
// Corners of the weight alone.
// CHECK:         loop.generic (d0, d1, d2, d3) in [2, 2, 5, 4] reads(%w[d2, d3, d0 * 2, d1 * 2] : tensor<5x4x3x3xf32>) writes(
// CHECK-SAME:    lamina.op = "winograd_weight"
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5, d6) in [2, 2, 1, 3, 4, 5, 4]
// CHECK-SAME:    writes([d0, d1, d2, d3, d4, d5] add : tensor<2x2x1x3x4x5xf32>)
// CHECK-SAME:    lamina.op = "winograd_product"
// CHECK-SAME:    lamina.fuse = "never"
// CHECK:         lamina.op = "winograd_product"
// CHECK:         lamina.op = "winograd_product"
// CHECK:         lamina.op = "winograd_product"
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [1, 3, 2, 4, 2, 5]
// CHECK-SAME:    writes([d0, (d1 * 2) + d2, (d3 * 2) + d4, d5] store : tensor<1x6x8x5xf32>)
// CHECK-SAME:    lamina.op = "winograd_result"
// CHECK-NOT:     in [1, 6, 8, 5, 3, 3, 4]

// -----

// Without the attribute nothing happens.
func.func @main(%x: tensor<1x8x10x4xf32>, %w: tensor<5x4x3x3xf32>) -> tensor<1x6x8x5xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 6, 8, 5, 3, 3, 4] reads(%x[n, y + i, x + j, c] : tensor<1x8x10x4xf32>, %w[o, c, i, j] : tensor<5x4x3x3xf32>) writes([n, y, x, o] add : tensor<1x6x8x5xf32>) {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x6x8x5xf32>
}
// CHECK-LABEL: @main
// CHECK:         in [1, 6, 8, 5, 3, 3, 4]
// CHECK-NOT:     winograd

// -----

// Products of lines of 16 tiles may share a kernel with their sums.
func.func @main(%x: tensor<1x8x34x4xf32>, %w: tensor<5x4x3x3xf32>) -> tensor<1x6x32x5xf32> {
  %r = loop.generic (n, y, x, o, i, j, c) in [1, 6, 32, 5, 3, 3, 4] reads(%x[n, y + i, x + j, c] : tensor<1x8x34x4xf32>, %w[o, c, i, j] : tensor<5x4x3x3xf32>) writes([n, y, x, o] add : tensor<1x6x32x5xf32>) attributes {lamina.winograd = "line"} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return %r : tensor<1x6x32x5xf32>
}
// CHECK-LABEL: @main
// CHECK-NOT:     lamina.fuse
// CHECK:         lamina.op = "winograd_result"
