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
// CHECK: core_aten.add.Tensor: not allowed at the aten layer, only: aten, prims, builtin, func, arith

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
