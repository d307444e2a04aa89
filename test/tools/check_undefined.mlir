// RUN: not lamina-run %s --check 2>&1 | filecheck %s
// A result that depends on the order in which a region combines is not compared with what one order gives.

// CHECK: check failed: {{.*}}check_undefined.mlir:[[# @LINE + 2]]:3: the combining region is no commutative monoid: the identities combined with tuple 0 gives 0.0
func.func @main(%x: tensor<4x64xf32>) -> tensor<4xf32> {
  %v = loop.generic (d0, d1) in [4, 64] reads(%x[d0, d1] : tensor<4x64xf32>) writes([d0] combine : tensor<4xf32>) {
  ^bb0(%e: f32):
    loop.yield %e : f32
  } combine(0.0 : f32) {
  ^bb0(%a: f32, %b: f32):
    loop.yield %a : f32
  }
  func.return %v : tensor<4xf32>
}
