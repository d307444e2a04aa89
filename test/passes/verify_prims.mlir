// RUN: lamina-opt %s -p verify-prims --split-input-file --verify-diagnostics | filecheck %s

// A program of the layer comes out unchanged.
func.func @allowed(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = prims.add(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK-LABEL: func.func @allowed
// CHECK-NEXT: prims.add(%x, %x)

// -----

// An op of another layer is named.
func.func @other_layer(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = aten.add.Tensor(%x, %x) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: aten.add.Tensor: not allowed at the prims layer, only: prims, builtin, func, arith

// -----

// Promotion and broadcasting are explicit: operands have one type.
func.func @types(%x: tensor<2x3xf32>, %p: tensor<2x3xi1>, %y: tensor<2x3xf64>) -> tensor<2x3xf32> {
  %0 = "prims.where"(%p, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: element types must be equal, got tensor<2x3xf32> and tensor<2x3xf64>

// -----

// Whether these are equal is known at run time only, which the op allows and the contract does not.
func.func @sizes(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = prims.add(%x, %y) : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: prims.add: shapes must be equal, got tensor<arg0.shape[0]x3xf32> and tensor<2x3xf32>; sizes are equal where lamina.dims of arguments gives them one name

// -----

// A condition has the shape of what it chooses from.
func.func @condition(%p: tensor<?x3xi1>, %x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = prims.where(%p, %x, %x) : (tensor<?x3xi1>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: prims.where: shapes must be equal, got tensor<2x3xf32> and tensor<arg0.shape[0]x3xi1>; sizes are equal where

// -----

// No op mutates here.
func.func @in_place(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = prims.copy_to(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: prims.copy_to: mutates its argument a; run functionalize first

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
// CHECK-NEXT: at: {{.*}}.mlir:63:3
// CHECK-NEXT: nearest supported: the ops of the function in the place of its call
