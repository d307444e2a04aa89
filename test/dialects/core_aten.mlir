// RUN: %roundtrip
// RUN: %generic_roundtrip

// The same schemas as in aten, under a name that says what layer an op stands at.
// CHECK-LABEL: @main
func.func @main(%x: tensor<2x4xf32>, %w: tensor<4xf32>, %i: tensor<3xi64>, %m: tensor<2x4xi1>) {
  // CHECK: core_aten.add.Tensor(%x, %w, alpha = 2) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %0 = core_aten.add.Tensor(%x, %w, alpha = 2) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  // CHECK: core_aten.native_layer_norm.default(%x, normalized_shape = [4], weight = %w, bias = none, eps = 1.0e-05)
  %1, %2, %3 = core_aten.native_layer_norm.default(%x, [4], %w, none, 1.0e-05) : (tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<2x1xf32>, tensor<2x1xf32>)
  // CHECK: core_aten.embedding.default(%x, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %4 = core_aten.embedding.default(%x, %i) : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  // CHECK: core_aten._softmax.default(%x, dim = -1, half_to_float = false)
  %5 = core_aten._softmax.default(%x, dim = -1, half_to_float = false) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: core_aten.where.self(%m, %x, %{{.*}})
  %6 = core_aten.where.self(%m, %x, %0) : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // CHECK: core_aten.mean.dim(%x, dim = [-1], keepdim = true)
  %7 = core_aten.mean.dim(%x, [-1], true) : (tensor<2x4xf32>) -> tensor<2x1xf32>
  // CHECK: core_aten.mean.dim(%x, dim = none)
  %8 = core_aten.mean.dim(%x, none) : (tensor<2x4xf32>) -> tensor<f32>
  func.return
}
