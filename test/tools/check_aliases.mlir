// RUN: lamina-ops --check %s | filecheck %s
// Ops that would be refused on arguments are not refused on tensors of the program's own, nor
// sizes that a limit bounds, nor results that nobody uses.

// CHECK: nothing stops this program
func.func @main(%x: tensor<3x4xf32>, %s: tensor<3xi64>, %o: tensor<1xi64>) -> (tensor<4x3xf32>, tensor<?xi64>, tensor<1x4xf32>) {
  %c = aten.clone.default(%x) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %t = aten.t_.default(%c) : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %v = aten.select.int(%t, dim = 0, index = 1) : (tensor<4x3xf32>) -> tensor<3xf32>
  %z = aten.zero_.default(%v) : (tensor<3xf32>) -> tensor<3xf32>
  %r = aten.repeat_interleave.Tensor(%s) {lamina.limits = array<i64: 100>} : (tensor<3xi64>) -> tensor<?xi64>
  %b, %b1, %b2, %b3 = aten._embedding_bag.default(%x, %s, %o) : (tensor<3x4xf32>, tensor<3xi64>, tensor<1xi64>) -> (tensor<1x4xf32>, tensor<0xi64>, tensor<1xi64>, tensor<1xi64>)
  func.return %t, %r, %b : tensor<4x3xf32>, tensor<?xi64>, tensor<1x4xf32>
}
