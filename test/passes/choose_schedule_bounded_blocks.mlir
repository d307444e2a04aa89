// RUN: lamina-opt %s -p 'bufferize,choose-schedule{target="x86-64-v4;cores=2;l2_bytes=2097152"}' --split-input-file | filecheck %s

// Rows with bounds are computed as far as any of their block, which is shorter for that.
// CHECK-LABEL: @causal
// CHECK-SAME:    block = 64>
func.func private @causal(%q: tensor<1x2x1024x64xf32>, %0: tensor<2x32x64x32xf32>, %1: tensor<2x2x1024x32xf32>) -> tensor<1x2x1024x64xf32> attributes {lamina.kernel} {
  %2 = loop.generic (d0, d1, d2, d3) in [2, 1024, 1024, 64] reads(%q[0, d0, d1, d3] : tensor<1x2x1024x64xf32>, %0[d0, d2 floordiv 32, d3, d2 mod 32] : tensor<2x32x64x32xf32>) writes([0, d0, d1, d2] add : tensor<1x2x1024x1024xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2, d3) -> ()>, upper affine_map<(d0, d1, d2, d3) -> ((d1 + 1))>>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%3: f32, %4: f32):
    %5 = arith.mulf %3, %4 : f32
    loop.yield %5 : f32
  }
  %3 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%2[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1] max : tensor<1x2x1024xf32>) attributes {lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> ((d1 + 1))>>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%4: f32):
    %5 = arith.constant 1.250000e-01 : f32
    %6 = arith.mulf %4, %5 : f32
    %7 = loop.index 2 : index
    %8 = arith.index_cast %7 : index to i64
    %9 = loop.index 1 : index
    %10 = arith.index_cast %9 : index to i64
    %11 = arith.cmpi sge, %10, %8 : i64
    %12 = arith.constant 0xff800000 : f32
    %13 = arith.select %11, %6, %12 : f32
    loop.yield %13 : f32
  }
  %4 = loop.generic (d0, d1) in [2, 1024] reads(%3[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1, 0] store : tensor<1x2x1024x1xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%5: f32):
    %6 = arith.constant 0xff800000 : f32
    %7 = arith.cmpf oeq, %5, %6 : f32
    loop.yield %7 : i1
  }
  %5 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%3[0, d0, d1] : tensor<1x2x1024xf32>, %2[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1, d2] store : tensor<1x2x1024x1024xf32>) attributes {lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> ((d1 + 1))>>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%6: f32, %7: f32):
    %8 = arith.constant 1.250000e-01 : f32
    %9 = arith.mulf %7, %8 : f32
    %10 = loop.index 2 : index
    %11 = arith.index_cast %10 : index to i64
    %12 = loop.index 1 : index
    %13 = arith.index_cast %12 : index to i64
    %14 = arith.cmpi sge, %13, %11 : i64
    %15 = arith.constant 0xff800000 : f32
    %16 = arith.select %14, %9, %15 : f32
    %17 = arith.subf %16, %6 : f32
    %18 = math.exp %17 {lamina.flushed} : f32
    loop.yield %18 : f32
  }
  %6 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%5[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1] add : tensor<1x2x1024xf32>) attributes {lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> ((d1 + 1))>>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%7: f32):
    loop.yield %7 : f32
  }
  %7 = loop.generic (d0, d1) in [2, 1024] reads(%6[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1] store : tensor<1x2x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%8: f32):
    %9 = arith.constant 1.000000e+00 : f32
    %10 = arith.divf %9, %8 : f32
    loop.yield %10 : f32
  }
  %8 = loop.generic (d0, d1, d2, d3) in [2, 1024, 64, 1024] reads(%5[0, d0, d1, d3] : tensor<1x2x1024x1024xf32>, %1[d0, d2 floordiv 32, d3, d2 mod 32] : tensor<2x2x1024x32xf32>) writes([0, d0, d1, d2] add : tensor<1x2x1024x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.bounds = #loop.bounds<3, lower affine_map<(d0, d1, d2, d3) -> ()>, upper affine_map<(d0, d1, d2, d3) -> ((d1 + 1))>>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%9: f32, %10: f32):
    %11 = arith.mulf %9, %10 : f32
    loop.yield %11 : f32
  }
  %9 = loop.generic (d0, d1, d2) in [2, 1024, 64] reads(%4[0, d0, d1, 0] : tensor<1x2x1024x1xi1>, %8[0, d0, d1, d2] : tensor<1x2x1024x64xf32>, %7[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1, d2] store : tensor<1x2x1024x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%10: i1, %11: f32, %12: f32):
    %13 = arith.mulf %11, %12 : f32
    %14 = arith.constant 0.000000e+00 : f32
    %15 = arith.select %10, %14, %13 : f32
    loop.yield %15 : f32
  }
  func.return %9 : tensor<1x2x1024x64xf32>
}

// -----

// Without bounds all rows of a block read all panels.
// CHECK-LABEL: @plain
// CHECK-SAME:    block = 120>
func.func private @plain(%q: tensor<1x2x1024x64xf32>, %0: tensor<2x32x64x32xf32>, %1: tensor<2x2x1024x32xf32>) -> tensor<1x2x1024x64xf32> attributes {lamina.kernel} {
  %2 = loop.generic (d0, d1, d2, d3) in [2, 1024, 1024, 64] reads(%q[0, d0, d1, d3] : tensor<1x2x1024x64xf32>, %0[d0, d2 floordiv 32, d3, d2 mod 32] : tensor<2x32x64x32xf32>) writes([0, d0, d1, d2] add : tensor<1x2x1024x1024xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%3: f32, %4: f32):
    %5 = arith.mulf %3, %4 : f32
    loop.yield %5 : f32
  }
  %3 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%2[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1] max : tensor<1x2x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%4: f32):
    %5 = arith.constant 1.250000e-01 : f32
    %6 = arith.mulf %4, %5 : f32
    loop.yield %6 : f32
  }
  %4 = loop.generic (d0, d1) in [2, 1024] reads(%3[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1, 0] store : tensor<1x2x1024x1xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%5: f32):
    %6 = arith.constant 0xff800000 : f32
    %7 = arith.cmpf oeq, %5, %6 : f32
    loop.yield %7 : i1
  }
  %5 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%3[0, d0, d1] : tensor<1x2x1024xf32>, %2[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1, d2] store : tensor<1x2x1024x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%6: f32, %7: f32):
    %8 = arith.constant 1.250000e-01 : f32
    %9 = arith.mulf %7, %8 : f32
    %10 = arith.subf %9, %6 : f32
    %11 = math.exp %10 {lamina.flushed} : f32
    loop.yield %11 : f32
  }
  %6 = loop.generic (d0, d1, d2) in [2, 1024, 1024] reads(%5[0, d0, d1, d2] : tensor<1x2x1024x1024xf32>) writes([0, d0, d1] add : tensor<1x2x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%7: f32):
    loop.yield %7 : f32
  }
  %7 = loop.generic (d0, d1) in [2, 1024] reads(%6[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1] store : tensor<1x2x1024xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%8: f32):
    %9 = arith.constant 1.000000e+00 : f32
    %10 = arith.divf %9, %8 : f32
    loop.yield %10 : f32
  }
  %8 = loop.generic (d0, d1, d2, d3) in [2, 1024, 64, 1024] reads(%5[0, d0, d1, d3] : tensor<1x2x1024x1024xf32>, %1[d0, d2 floordiv 32, d3, d2 mod 32] : tensor<2x2x1024x32xf32>) writes([0, d0, d1, d2] add : tensor<1x2x1024x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%9: f32, %10: f32):
    %11 = arith.mulf %9, %10 : f32
    loop.yield %11 : f32
  }
  %9 = loop.generic (d0, d1, d2) in [2, 1024, 64] reads(%4[0, d0, d1, 0] : tensor<1x2x1024x1xi1>, %8[0, d0, d1, d2] : tensor<1x2x1024x64xf32>, %7[0, d0, d1] : tensor<1x2x1024xf32>) writes([0, d0, d1, d2] store : tensor<1x2x1024x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%10: i1, %11: f32, %12: f32):
    %13 = arith.mulf %11, %12 : f32
    %14 = arith.constant 0.000000e+00 : f32
    %15 = arith.select %10, %14, %13 : f32
    loop.yield %15 : f32
  }
  func.return %9 : tensor<1x2x1024x64xf32>
}
