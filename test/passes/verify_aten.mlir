// RUN: lamina-opt %s -p verify-aten --split-input-file --verify-diagnostics | filecheck %s

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
// CHECK: core_aten.add.Tensor: not allowed at the aten layer, only: aten, builtin, func, arith

// -----

// In-place ops are allowed at the top.
func.func @in_place(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.relu_.default(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @in_place
// CHECK-NEXT: aten.relu_.default

// -----

// What no memory holds is refused before anything is computed with its size.
func.func @too_large(%x: tensor<3000000000x3000000000xf32>) -> tensor<3000000000x3000000000xf32> {
  func.return %x : tensor<3000000000x3000000000xf32>
}
// CHECK: tensor<3000000000x3000000000xf32> has more elements than memory can hold, 2^59

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

// -----

// Nor does another language supply one.
func.func private @elsewhere(tensor<3xf32>) -> tensor<3xf32>
// CHECK: func.func: @elsewhere is declared without a body
// CHECK-NEXT: at: {{.*}}.mlir:56:1
// CHECK-NEXT: nearest supported: prims.extern, or loop.extern, for own kernels

// -----

// Kinds of arguments and results are known ones, and of the type that they need.
func.func @kinds(%x: tensor<3xf32> {lamina.kind = "arena"}) -> tensor<3xf32> {
  func.return %x : tensor<3xf32>
}
// CHECK: {{.*}}.mlir:64:1: error: func.func: argument 0 of @kinds: its lamina.kind is "arena"; kinds of arguments at the aten layer are input, parameter, buffer, constant

// -----

// The name of an op says at which layer it stands.
func.func @lower(%x: tensor<3xf32>) -> tensor<3xf32> {
  %0 = prims.exp(%x) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %0 : tensor<3xf32>
}
// CHECK: prims.exp: not allowed at the aten layer, only: aten, builtin
