// RUN: lamina-opt %s --split-input-file --verify-diagnostics | filecheck %s

// There is one entry for each input.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.input_layouts = []} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK: lamina.input_layouts has one entry for each of 1 inputs

// -----

// An order has each axis once.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.input_layouts = [array<i64: 0, 0>]} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK: lamina.input_layouts has [0, 0], no order of the axes of tensor<2x3xf32>

// -----

// An entry is an order, or `unit`.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.input_layouts = [1]} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK: lamina.input_layouts has 1 : i64: legal is an array<i64> of axes of a tensor, or unit
