// RUN: lamina-opt %s -p mask-cut-sums --split-input-file | filecheck %s
// RUN: lamina-opt %s -p mask-cut-sums,mask-cut-sums --split-input-file | filecheck %s

// What is behind the number in argument 2 is no term: 0 stands there, whatever is read.
// CHECK-LABEL: @weighted
// CHECK:         reads(%w[d0, d2] : tensor<2x64xf32>, %v[d2, d1] : tensor<64x8xf32>, %count[] : tensor<i64>)
// CHECK-NOT:     lamina.cut
// CHECK-SAME:    lamina.ends
// CHECK-NEXT:    ^bb0(%a: f32, %b: f32, [[N:%[0-9]+]]: i64):
// CHECK-NEXT:      %c = arith.mulf %a, %b : f32
// CHECK-NEXT:      [[K:%[0-9]+]] = loop.index 2 : index
// CHECK-NEXT:      [[I:%[0-9]+]] = arith.index_cast [[K]] : index to i64
// CHECK-NEXT:      [[P:%[0-9]+]] = arith.cmpi slt, [[I]], [[N]] : i64
// CHECK-NEXT:      [[Z:%[0-9]+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      [[S:%[0-9]+]] = arith.select [[P]], %c, [[Z]] : f32
// CHECK-NEXT:      loop.yield [[S]] : f32
func.func private @weighted(%w: tensor<2x64xf32>, %v: tensor<64x8xf32>, %count: tensor<i64>) -> tensor<2x8xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [2, 8, 64] reads(%w[d0, d2] : tensor<2x64xf32>, %v[d2, d1] : tensor<64x8xf32>) writes([d0, d1] add : tensor<2x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>, lamina.ends = [#loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<2x8xf32>
}

// -----

// Tiles of panels end their sums at the number themselves.
// CHECK-LABEL: @packed
// CHECK:         reads(%x[d0, d2] : tensor<32x64xf32>, %p[d1 floordiv 32, d2, d1 mod 32] : tensor<1x64x32xf32>)
// CHECK-SAME:    lamina.cut
func.func private @packed(%x: tensor<32x64xf32>, %p: tensor<1x64x32xf32>, %n: tensor<i64>) -> tensor<32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [32, 32, 64] reads(%x[i, k] : tensor<32x64xf32>, %p[j floordiv 32, k, j mod 32] : tensor<1x64x32xf32>) writes([i, j] add : tensor<32x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0]>, lamina.cut = #loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<32x32xf32>
}
