// RUN: lamina-opt %s -p canonicalize-loop,verify-loop | filecheck %s
// RUN: not lamina-opt %s -p link-callees 2>&1 | filecheck %s --check-prefix=EARLY

// Programs that another program calls stand in its module; a pass runs on each of them as on the program itself.

// CHECK:       func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NEXT:    loop.extern "call.doubled" {}(%x : tensor<2x3xf32>)
// CHECK-NOT:     loop.reshape
// CHECK:       builtin.module @doubled {
// CHECK-NEXT:    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
// CHECK-NOT:       loop.reshape
// CHECK:           arith.addf
// EARLY:       link-callees: the program is ops on tensors by now; the pass takes explicit loops
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = loop.extern "call.doubled" {} (%x : tensor<2x3xf32>) : tensor<2x3xf32>
  %1 = loop.reshape %0 : tensor<2x3xf32> -> tensor<6xf32>
  %2 = loop.reshape %1 : tensor<6xf32> -> tensor<2x3xf32>
  func.return %2 : tensor<2x3xf32>
}
builtin.module @doubled {
  func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = loop.reshape %x : tensor<2x3xf32> -> tensor<6xf32>
    %1 = loop.reshape %0 : tensor<6xf32> -> tensor<2x3xf32>
    %2 = loop.generic (d0, d1) in [2, 3] reads(%1[d0, d1] : tensor<2x3xf32>) writes([d0, d1] store : tensor<2x3xf32>) {
    ^bb0(%a: f32):
      %b = arith.addf %a, %a : f32
      loop.yield %b : f32
    }
    func.return %2 : tensor<2x3xf32>
  }
}
