// RUN: lamina-opt %s -p verify-functional --split-input-file --verify-diagnostics | filecheck %s

// A program of the layer comes out unchanged.
func.func @allowed(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @allowed
// CHECK-NEXT: aten.add.Tensor(%x, %x)

// -----

// An op of another layer is named.
func.func @other_layer(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = core_aten.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: core_aten.add.Tensor: not allowed at the functional layer, only: aten, builtin, func, arith

// -----

// No op mutates here.
func.func @in_place(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.relu_.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: aten.relu_.default: mutates its argument self; run functionalize first

// -----

// Sizes are known here.
func.func @chosen(%x: tensor<4xf32>) -> tensor<?x1xi64> {
  %0 = aten.nonzero.default(%x) : (tensor<4xf32>) -> tensor<?x1xi64>
  func.return %0 : tensor<?x1xi64>
}
// CHECK: aten.nonzero.default: gives tensor<?x1xi64>; run bound-dynamic-shapes first

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
// CHECK-NEXT: at: {{.*}}.mlir:45:3
// CHECK-NEXT: nearest supported: the ops of the function in the place of its call
