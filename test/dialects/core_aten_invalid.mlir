// RUN: %invalid

// CHECK: core_aten.linear.default
func.func @not_core(%x: tensor<2x4xf32>, %w: tensor<3x4xf32>) {
  %0 = core_aten.linear.default(%x, %w) : (tensor<2x4xf32>, tensor<3x4xf32>) -> tensor<2x3xf32>
  func.return
}
// -----
// Mutating overloads exist in aten alone.
// CHECK: core_aten.add_.Tensor
func.func @mutating(%x: tensor<2x4xf32>) {
  %0 = core_aten.add_.Tensor(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return
}
// -----
// CHECK: argument 'eps' is missing
func.func @missing(%x: tensor<2x4xf32>) {
  %0, %1, %2 = core_aten.native_layer_norm.default(%x, [4], none, none) : (tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  func.return
}
// -----
// CHECK: the result must be tensor<2x3xf32>, not tensor<3x2xf32>
func.func @result(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>) {
  %0 = core_aten.mm.default(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<3x2xf32>
  func.return
}
