// RUN: lamina-opt %s --split-input-file --to fused | filecheck %s

// Columns of windows are one nest, which reads the image with its border as it stands: no piece of the
// image is copied for each place in the window.
// CHECK-LABEL: @main
// CHECK-COUNT-1: func.call @kernel
// CHECK-NOT:     func.call
// CHECK:         loop.generic (d0, d1, d2, d3, d4, d5) in [2, 8, 3, 2, 5, 5] reads(%x[d0, d1, (d2 + (d4 * 2)) + -1, ((d3 * 3) + d5) + -1] pad 0.000000e+00 : f32 : tensor<2x8x10x6xf32>) writes([d0, d1, d2, d3, d4, d5] store : tensor<2x8x3x2x5x5xf32>)
// CHECK-NOT:     loop.generic
func.func @main(%x: tensor<2x8x10x6xf32>) -> tensor<2x48x25xf32> {
  %0 = aten.im2col.default(%x, kernel_size = [3, 2], dilation = [1, 3], padding = [1, 1], stride = [2, 1]) : (tensor<2x8x10x6xf32>) -> tensor<2x48x25xf32>
  func.return %0 : tensor<2x48x25xf32>
}
