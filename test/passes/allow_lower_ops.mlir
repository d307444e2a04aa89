// RUN: lamina-opt %s -p allow-lower-ops --split-input-file | filecheck %s

// Ops of layers below the highest one are named, so that contracts let them stand.
// CHECK: builtin.module attributes {lamina.allow = ["core_aten.relu.default", "prims.exp"]}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = aten.tanh.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.exp(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = core_aten.relu.default(%1) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %2 : tensor<4xf32>
}

// -----

// Those of one layer are named nowhere; extern kernels stand at every layer.
// CHECK: builtin.module {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core_aten.tanh.default(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = prims.extern([%0], "mine.f", "{}") : (tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
