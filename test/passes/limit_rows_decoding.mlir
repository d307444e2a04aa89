// RUN: lamina-opt %s -p limit-rows | filecheck %s

// Attention of one query, as of a decoder's step: its products are summed as they lie, in no tiles that
// could keep to bounds, so that loops end at the number of keys that count.
// CHECK-LABEL: func.func private @attention(
// CHECK-SAME:    %count: tensor<i64>)
// CHECK-NOT:     lamina.bounds
// CHECK:         add : tensor<2x1x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [4]>]}
// CHECK:         max : tensor<2x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1,
// CHECK:         add : tensor<2x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1,
// CHECK:         add : tensor<2x1x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<2,
// CHECK-NOT:     lamina.bounds
func.func @main(%q: tensor<2x1x8xf32>, %k: tensor<2x64x8xf32> {lamina.counts = ["", "size(n)", ""]}, %v: tensor<2x64x8xf32> {lamina.counts = ["", "size(n)", ""]}, %size: tensor<i64> {lamina.kind = "input", lamina.name = "size(n)"}) -> tensor<2x1x8xf32> attributes {lamina.compact} {
  %0 = func.call @below(%size) : (tensor<i64>) -> tensor<64xi1>
  %1 = func.call @attention(%0, %v, %k, %q) : (tensor<64xi1>, tensor<2x64x8xf32>, tensor<2x64x8xf32>, tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  func.return %1 : tensor<2x1x8xf32>
}
func.func private @below(%size: tensor<i64>) -> tensor<64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [64] reads(%size[] : tensor<i64>) writes([d0] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%1: i64):
    %2 = loop.index 0 : index
    %3 = arith.index_cast %2 : index to i64
    %4 = arith.cmpi slt, %3, %1 : i64
    loop.yield %4 : i1
  }
  func.return %0 : tensor<64xi1>
}
func.func private @attention(%0: tensor<64xi1>, %v: tensor<2x64x8xf32>, %k: tensor<2x64x8xf32>, %q: tensor<2x1x8xf32>) -> tensor<2x1x8xf32> attributes {lamina.kernel} {
  %1, %2 = loop.generic (d0, d1, d2) in [2, 64, 8] reads(%0[d1] : tensor<64xi1>, %v[d0, d1, d2] : tensor<2x64x8xf32>, %k[d0, d1, d2] : tensor<2x64x8xf32>) writes([d0, d1, d2] store : tensor<2x64x8xf32>, [d0, d1, d2] store : tensor<2x64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%3: i1, %4: f32, %5: f32):
    %6 = arith.constant 0.000000e+00 : f32
    %7 = arith.select %3, %4, %6 : f32
    %8 = arith.select %3, %5, %6 : f32
    loop.yield %7, %8 : f32, f32
  }
  %3 = loop.generic (d0, d1, d2) in [2, 64, 8] reads(%q[d0, 0, d2] : tensor<2x1x8xf32>, %2[d0, d1, d2] : tensor<2x64x8xf32>) writes([d0, 0, d1] add : tensor<2x1x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%4: f32, %5: f32):
    %6 = arith.mulf %4, %5 : f32
    loop.yield %6 : f32
  }
  %4 = loop.generic (d0, d1) in [2, 64] reads(%0[d1] : tensor<64xi1>, %3[d0, 0, d1] : tensor<2x1x64xf32>) writes([d0, 0] max : tensor<2x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%5: i1, %6: f32):
    %7 = arith.constant 0.353553385 : f32
    %8 = arith.mulf %6, %7 : f32
    %9 = arith.constant 0xff800000 : f32
    %10 = arith.select %5, %8, %9 : f32
    loop.yield %10 : f32
  }
  %5 = loop.generic (d0) in [2] reads(%4[d0, 0] : tensor<2x1xf32>) writes([d0, 0, 0] store : tensor<2x1x1xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%6: f32):
    %7 = arith.constant 0xff800000 : f32
    %8 = arith.cmpf oeq, %6, %7 : f32
    loop.yield %8 : i1
  }
  %6 = loop.generic (d0, d1) in [2, 64] reads(%4[d0, 0] : tensor<2x1xf32>, %0[d1] : tensor<64xi1>, %3[d0, 0, d1] : tensor<2x1x64xf32>) writes([d0, 0, d1] store : tensor<2x1x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%7: f32, %8: i1, %9: f32):
    %10 = arith.constant 0.353553385 : f32
    %11 = arith.mulf %9, %10 : f32
    %12 = arith.constant 0xff800000 : f32
    %13 = arith.select %8, %11, %12 : f32
    %14 = arith.subf %13, %7 : f32
    %15 = math.exp %14 {lamina.flushed} : f32
    loop.yield %15 : f32
  }
  %7 = loop.generic (d0, d1) in [2, 64] reads(%6[d0, 0, d1] : tensor<2x1x64xf32>) writes([d0, 0] add : tensor<2x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%8: f32):
    loop.yield %8 : f32
  }
  %8 = loop.generic (d0) in [2] reads(%7[d0, 0] : tensor<2x1xf32>) writes([d0, 0] store : tensor<2x1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%9: f32):
    %10 = arith.constant 1.000000e+00 : f32
    %11 = arith.divf %10, %9 : f32
    loop.yield %11 : f32
  }
  %9 = loop.generic (d0, d1, d2) in [2, 8, 64] reads(%6[d0, 0, d2] : tensor<2x1x64xf32>, %1[d0, d2, d1] : tensor<2x64x8xf32>) writes([d0, 0, d1] add : tensor<2x1x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%10: f32, %11: f32):
    %12 = arith.mulf %10, %11 : f32
    loop.yield %12 : f32
  }
  %10 = loop.generic (d0, d1) in [2, 8] reads(%5[d0, 0, 0] : tensor<2x1x1xi1>, %9[d0, 0, d1] : tensor<2x1x8xf32>, %8[d0, 0] : tensor<2x1xf32>) writes([d0, 0, d1] store : tensor<2x1x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%11: i1, %12: f32, %13: f32):
    %14 = arith.mulf %12, %13 : f32
    %15 = arith.constant 0.000000e+00 : f32
    %16 = arith.select %11, %15, %14 : f32
    loop.yield %16 : f32
  }
  func.return %10 : tensor<2x1x8xf32>
}
