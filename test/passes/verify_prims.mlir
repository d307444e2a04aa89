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
// CHECK: aten.add.Tensor: not allowed at the

// -----

// Promotion and broadcasting are explicit: operands have one type.
func.func @types(%x: tensor<2x3xf32>, %p: tensor<2x3xi1>, %y: tensor<2x3xf64>) -> tensor<2x3xf32> {
  %0 = "prims.where"(%p, %x, %y) : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<2x3xf64>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}
// CHECK: element types must be equal, got tensor<2x3xf32> and tensor<2x3xf64>
