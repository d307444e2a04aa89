// RUN: not lamina-opt %s 2>&1 | filecheck %s

// An order of axes names each axis of each result once.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.layout = array<i64: 1, 1>} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK: lamina.layout [1, 1] is no order of the axes of tensor<2x3xf32>
