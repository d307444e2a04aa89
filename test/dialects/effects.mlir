// RUN: lamina-opt %s --split-input-file -p cse | filecheck %s

// Where something may be written between two equal ops, or later to one of their results, they are
// not the same.
// CHECK-LABEL: @aten
// CHECK-COUNT-2: aten.exp.default
// CHECK-NEXT: aten.add_.Tensor
func.func @aten(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = aten.add_.Tensor(%0, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
// -----
// Unused ops go, but not those that write or draw random numbers.
// CHECK-LABEL: @unused
// CHECK-NEXT: aten.mul_.Tensor
// CHECK-NEXT: aten.rand.default
// CHECK-NEXT: return
func.func @unused(%x: tensor<2xf32>) {
  %0 = aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = aten.mul_.Tensor(%x, %x) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %2 = aten.rand.default([2]) : () -> tensor<2xf32>
  func.return
}
// -----
// Below, nothing is ever written.
// CHECK-LABEL: @core
// CHECK-NEXT: %[[E:.*]] = core_aten.exp.default
// CHECK-NEXT: return %[[E]], %[[E]]
func.func @core(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %0 = core_aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = core_aten.exp.default(%x) : (tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
