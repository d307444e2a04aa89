// RUN: %roundtrip
// RUN: %generic_roundtrip

// CHECK-LABEL: @torchs_own
func.func @torchs_own(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %v: tensor<3xf32>) {
  // CHECK: prims.add(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %0 = prims.add(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  // CHECK: prims.broadcast_in_dim(%v, shape = [2, 3], broadcast_dimensions = [1]) : (tensor<3xf32>) -> tensor<2x3xf32>
  %1 = prims.broadcast_in_dim(%v, shape = [2, 3], broadcast_dimensions = [1]) : (tensor<3xf32>) -> tensor<2x3xf32>
  // CHECK: prims.convert_element_type(%x, dtype = f64) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  %2 = prims.convert_element_type(%x, f64) : (tensor<2x3xf32>) -> tensor<2x3xf64>
  // CHECK: prims.full(shape = [2, 3], fill_value = 0.5, dtype = f32, device = "cpu", requires_grad = false)
  %3 = prims.full([2, 3], 0.5, dtype = f32, device = "cpu", requires_grad = false) : () -> tensor<2x3xf32>
  // CHECK: prims.iota(length = 4, start = 1, step = 2, dtype = i64, device = "cpu", requires_grad = false)
  %4 = prims.iota(4, start = 1, step = 2, dtype = i64, device = "cpu", requires_grad = false) : () -> tensor<4xi64>
  // CHECK: prims.sum(%x, dims = [1]) : (tensor<2x3xf32>) -> tensor<2xf32>
  %5 = prims.sum(%x, dims = [1]) : (tensor<2x3xf32>) -> tensor<2xf32>
  // None where the default is a number: no correction is not the same as the default, 1.
  // CHECK: prims.var(%x, dims = [0], correction = none) : (tensor<2x3xf32>) -> tensor<3xf32>
  %6 = prims.var(%x, [0], none) : (tensor<2x3xf32>) -> tensor<3xf32>
  // CHECK: prims.transpose(%x, permutation = [1, 0])
  %7 = prims.transpose(%x, permutation = [1, 0]) : (tensor<2x3xf32>) -> tensor<3x2xf32>
  // CHECK: prims.cat([%x, %y], dim = 0)
  %8 = prims.cat([%x, %y], dim = 0) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
  // CHECK: prims.lt(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  %9 = prims.lt(%x, %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
  func.return
}

// Where torch's prims leave a hole (prims/extensions.tsv).
// CHECK-LABEL: @extensions
func.func @extensions(%a: tensor<2x3x4xf32>, %b: tensor<2x5x4xf32>, %x: tensor<1x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %i: tensor<7x2xi64>) {
  // CHECK: prims.contract(%a, %b, a_batch = [0], b_batch = [0], a_contract = [2], b_contract = [2]) : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  %0 = prims.contract(%a, %b, a_batch = [0], b_batch = [0], a_contract = [2], b_contract = [2]) : (tensor<2x3x4xf32>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
  // CHECK: prims.convolution(%x, %w, stride = [1, 1], padding = [1, 1], dilation = [1, 1], groups = 1)
  %1 = prims.convolution(%x, %w, stride = [1, 1], padding = [1, 1], dilation = [1, 1], groups = 1) : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
  // CHECK: prims.reduce_window(%x, combiner = "max", window = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false)
  %2 = prims.reduce_window(%x, combiner = "max", window = [2, 2], stride = [2, 2], padding = [0, 0], dilation = [1, 1], ceil_mode = false) : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  // CHECK: prims.take(%a, %i, dim = 1) : (tensor<2x3x4xf32>, tensor<7x2xi64>) -> tensor<2x7x2x4xf32>
  %3 = prims.take(%a, %i, dim = 1) : (tensor<2x3x4xf32>, tensor<7x2xi64>) -> tensor<2x7x2x4xf32>
  // CHECK: prims.pad(%a, value = 0.0, low = [0, 1, 0], high = [0, 1, 2]) : (tensor<2x3x4xf32>) -> tensor<2x5x6xf32>
  %4 = prims.pad(%a, value = 0.0, low = [0, 1, 0], high = [0, 1, 2]) : (tensor<2x3x4xf32>) -> tensor<2x5x6xf32>
  func.return
}
