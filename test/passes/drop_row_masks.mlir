// RUN: lamina-opt %s -p drop-row-masks --split-input-file | filecheck %s

// A sum that ends at a number reads its rows as they are: they are not copied to be masked.
// CHECK-LABEL: @product(
// CHECK-NOT:     arith.select
// CHECK:         loop.generic (d0, d1, d2) in [32, 32, 64] reads(%x[d0, d2] : tensor<32x64xf32>, %p[d1 floordiv 32, d2, d1 mod 32] : tensor<1x64x32xf32>)
// CHECK-SAME:    lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [3]>}
func.func private @product(%m: tensor<64xi1>, %x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 0, 3>, lamina.zeros = array<i64: 2, 1, 3>} {
  %0 = loop.generic (i, k) in [32, 64] reads(%m[k] : tensor<64xi1>, %x[i, k] : tensor<32x64xf32>) writes([i, k] store : tensor<32x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, k)[n] -> ()>, upper affine_map<(i, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [32, 32, 64] reads(%0[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<32x32xf32>
}

// -----

// Rows whose terms lie apart are copied side by side.
// CHECK-LABEL: @product(
// CHECK:         arith.select
// CHECK:         reads(%0[d0, d2]
// CHECK-SAME:    lamina.ends
func.func private @product(%m: tensor<64xi1>, %x: tensor<64x32xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 0, 3>, lamina.zeros = array<i64: 2, 1, 3>} {
  %0 = loop.generic (i, k) in [32, 64] reads(%m[k] : tensor<64xi1>, %x[k, i] : tensor<64x32xf32>) writes([i, k] store : tensor<32x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, k)[n] -> ()>, upper affine_map<(i, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [32, 32, 64] reads(%0[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<32x32xf32>
}

// -----

// A sum that does not end there reads what is behind.
// CHECK-LABEL: @product(
// CHECK:         arith.select
// CHECK:         reads(%0[d0, d2]
// CHECK-NOT:     lamina.cut
func.func private @product(%m: tensor<64xi1>, %x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel, lamina.masks = array<i64: 0, 3>, lamina.zeros = array<i64: 2, 1, 3>} {
  %0 = loop.generic (i, k) in [32, 64] reads(%m[k] : tensor<64xi1>, %x[i, k] : tensor<32x64xf32>) writes([i, k] store : tensor<32x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, k)[n] -> ()>, upper affine_map<(i, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [32, 32, 64] reads(%0[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<unroll = 2>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1 : tensor<32x32xf32>
}

// -----

// What is masked is a result as well.
// CHECK-LABEL: @product(
// CHECK:         arith.select
// CHECK:         reads(%0[d0, d2]
// CHECK-SAME:    lamina.ends
func.func private @product(%m: tensor<64xi1>, %x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> (tensor<32x32xf32>, tensor<32x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 3>, lamina.zeros = array<i64: 2, 1, 3>} {
  %0 = loop.generic (i, k) in [32, 64] reads(%m[k] : tensor<64xi1>, %x[i, k] : tensor<32x64xf32>) writes([i, k] store : tensor<32x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(i, k)[n] -> ()>, upper affine_map<(i, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [32, 32, 64] reads(%0[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<2, lower affine_map<(i, j, k)[n] -> ()>, upper affine_map<(i, j, k)[n] -> (n)>, counts [3]>]} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %1, %0 : tensor<32x32xf32>, tensor<32x64xf32>
}
