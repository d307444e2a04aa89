// RUN: %roundtrip
// RUN: %generic_roundtrip

// A program as jax.jit(f).lower(x).as_text() prints it; each op that has a pretty form stands here.
// CHECK-LABEL: @elementwise
func.func public @elementwise(%x: tensor<3x4xf32> {mhlo.sharding = "{replicated}"}, %i: tensor<4xi32>, %p: tensor<3x4xi1>) -> (tensor<3x4xf32> {jax.result_info = "result"}) {
  %0 = stablehlo.tanh %x : tensor<3x4xf32>
  %1 = stablehlo.add %0, %x : tensor<3x4xf32>
  %2 = stablehlo.compare GT, %1, %x, TOTALORDER : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
  %3 = stablehlo.compare EQ, %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  %4 = stablehlo.select %2, %1, %x : tensor<3x4xi1>, tensor<3x4xf32>
  %5 = stablehlo.clamp %x, %4, %x : tensor<3x4xf32>
  %6 = stablehlo.convert %5 : (tensor<3x4xf32>) -> tensor<3x4xbf16>
  %7 = stablehlo.reduce_precision %x, format = e5m10 : tensor<3x4xf32>
  %8 = stablehlo.complex %x, %x : tensor<3x4xcomplex<f32>>
  %9 = stablehlo.abs %8 : (tensor<3x4xcomplex<f32>>) -> tensor<3x4xf32>
  %10 = stablehlo.is_finite %x : (tensor<3x4xf32>) -> tensor<3x4xi1>
  %11 = stablehlo.bitcast_convert %x : (tensor<3x4xf32>) -> tensor<3x4xui32>
  %12 = chlo.erf %x : tensor<3x4xf32> -> tensor<3x4xf32>
  %13 = chlo.zeta %x, %12 : tensor<3x4xf32>, tensor<3x4xf32> -> tensor<3x4xf32>
  %14, %15 = stablehlo.optimization_barrier %x, %i : tensor<3x4xf32>, tensor<4xi32>
  // CHECK: return
  return %14 : tensor<3x4xf32>
}
// -----
// CHECK-LABEL: @shapes
func.func @shapes(%x: tensor<3x4xf32>, %i: tensor<i32>) -> tensor<6x4xf32> {
  // CHECK: stablehlo.constant dense<[1, 2]> : tensor<2xui8>
  %c = stablehlo.constant dense<[1, 2]> : tensor<2xui8>
  // CHECK: stablehlo.constant dense<0xff800000> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.iota dim = 1 : tensor<3x4xi32>
  %0 = stablehlo.iota dim = 1 : tensor<3x4xi32>
  // CHECK: stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<3x4xf32>) -> tensor<4x3xf32>
  // CHECK: stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<2xf32>
  %2 = stablehlo.broadcast_in_dim %low, dims = [] : (tensor<f32>) -> tensor<2xf32>
  // CHECK: stablehlo.pad %x, %low, low = [0, -1], high = [1, 2], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = stablehlo.pad %x, %low, low = [0, -1], high = [1, 2], interior = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<4x8xf32>
  // CHECK: stablehlo.slice %x [0:3:2, 1:4] : (tensor<3x4xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.slice %x [0:3:2, 1:4] : (tensor<3x4xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %5 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
  %6 = stablehlo.dynamic_update_slice %x, %5, %i, %i : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
  // CHECK: stablehlo.reverse %{{.*}}, dims = [0] : tensor<3x4xf32>
  %7 = stablehlo.reverse %6, dims = [0] : tensor<3x4xf32>
  // CHECK: stablehlo.concatenate %x, %{{.*}}, dim = 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  %8 = stablehlo.concatenate %x, %7, dim = 0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<6x4xf32>
  func.return %8 : tensor<6x4xf32>
}
// -----
// CHECK-LABEL: @products
func.func @products(%x: tensor<2x3x4xf32>, %w: tensor<2x3x3xf32>, %s: tensor<4x4xf32>) -> tensor<2x4xcomplex<f32>> {
  // CHECK: stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, HIGHEST] :
  %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2], precision = [DEFAULT, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
  // CHECK: stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = {{\[\[}}1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]}
  %1 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]} : (tensor<2x3x4xf32>, tensor<2x3x3xf32>) -> tensor<2x2x4xf32>
  // CHECK: stablehlo.cholesky %s, lower = true : tensor<4x4xf32>
  %2 = stablehlo.cholesky %s, lower = true : tensor<4x4xf32>
  // CHECK: stablehlo.fft %{{.*}}, type = FFT, length = [4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %3 = stablehlo.slice %1 [0:2, 0:1, 0:4] : (tensor<2x2x4xf32>) -> tensor<2x1x4xf32>
  %4 = stablehlo.reshape %3 : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %5 = stablehlo.complex %4, %4 : tensor<2x4xcomplex<f32>>
  %6 = stablehlo.fft %5, type = FFT, length = [4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %7, %8 = stablehlo.custom_call @mine(%s) {backend_config = "", mhlo.backend_config = {uplo = 76 : ui8}, sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([k, l], []) {i=3, j=3, k=3, l=3}, custom>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<i32>)
  func.return %6 : tensor<2x4xcomplex<f32>>
}
// -----
// CHECK-LABEL: @regions
func.func @regions(%x: tensor<3x4xf32>, %i: tensor<3x4xi32>, %n: tensor<i32>) -> tensor<3xi32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  // CHECK: stablehlo.reduce(%x init: %zero), (%i init: %none) across dimensions = [1]
  // CHECK-SAME: reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>)
  %1:2 = stablehlo.reduce(%x init: %zero), (%i init: %none) across dimensions = [1] : (tensor<3x4xf32>, tensor<3x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
   reducer(%a: tensor<f32>, %c: tensor<f32>) (%b: tensor<i32>, %d: tensor<i32>) {
    %2 = stablehlo.compare GE, %a, %c, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.select %2, %a, %c : tensor<i1>, tensor<f32>
    %4 = stablehlo.select %2, %b, %d : tensor<i1>, tensor<i32>
    stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
  }
  // CHECK: stablehlo.while(%n_1 = %n, %y = %x) : tensor<i32>, tensor<3x4xf32> cond {
  // CHECK: compare LT, %n_1
  // CHECK: } do {
  // CHECK: stablehlo.add %n_1
  %5:2 = stablehlo.while(%n_1 = %n, %y = %x) : tensor<i32>, tensor<3x4xf32>
  cond {
    %2 = stablehlo.compare LT, %n_1, %none, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %2 : tensor<i1>
  } do {
    %2 = stablehlo.add %n_1, %n_1 : tensor<i32>
    stablehlo.return %2, %y : tensor<i32>, tensor<3x4xf32>
  }
  // CHECK: "stablehlo.case"(%n) ({
  %6 = "stablehlo.case"(%n) ({
    stablehlo.return %n : tensor<i32>
  }, {
    stablehlo.return %none : tensor<i32>
  }) : (tensor<i32>) -> tensor<i32>
  // CHECK: "stablehlo.gather"(%i, %{{.*}}) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
  %7 = "stablehlo.gather"(%i, %1#1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<3x4xi32>, tensor<3xi32>) -> tensor<3x4xi32>
  // CHECK: chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  %8:2 = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi32>)
  func.return %1#1 : tensor<3xi32>
}
