// RUN: not lamina-opt %s 2>&1 | filecheck %s

// A copy is of a result that has a layout.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %e = loop.generic (i, j) in [2, 3] reads(%x[i, j] : tensor<2x3xf32>) writes([i, j] store : tensor<2x3xf32>) attributes {lamina.layout_copy} {
  ^bb0(%a: f32):
    %v = math.exp %a : f32
    loop.yield %v : f32
  }
  func.return %e : tensor<2x3xf32>
}
// CHECK: lamina.layout_copy without lamina.layout: nothing is copied
