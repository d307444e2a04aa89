// RUN: lamina-opt %s -p verify-core-aten --split-input-file --verify-diagnostics | filecheck %s

// A program of the layer comes out unchanged.
func.func @allowed(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = core_aten.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @allowed
// CHECK-NEXT: core_aten.add.Tensor(%x, %x)

// -----

// An op of another layer is named.
func.func @other_layer(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: aten.add.Tensor: not allowed at the core-aten layer, only: core_aten, builtin, func, arith

// -----

// Programs are one function.
func.func private @helper(%x: tensor<3xf32>) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
func.func @calls(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = func.call @helper(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK: func.call: calls @helper; programs are one function
// CHECK-NEXT: operand types: tensor<3xf32>
// CHECK-NEXT: at: {{.*}}.mlir:27:3
// CHECK-NEXT: nearest supported: the ops of the function in the place of its call
