// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s
// RUN: lamina-opt %s -p limit-rows,limit-rows --split-input-file | filecheck %s

// What panels are filled with ends where their mask does, though they read it in parts, beyond its edge, too.
// CHECK-LABEL: func.func private @packed(
// CHECK:         math.exp
// CHECK-NOT:     upper
// CHECK-LABEL: func.func private @masked(
// CHECK:         loop.generic (d0, d1, d2) in [64, 40, 16]
// CHECK-SAME:    lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [2]>]
// CHECK:         loop.generic (d0, d1, d2, d3) in [64, 2, 16, 32]
// CHECK-NOT:     lamina.ends
func.func @main(%x: tensor<64x40x16xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x2x16x32xf32>, tensor<64x2x16x32xf32>, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<40xi1>
  %0 = func.call @packed(%x) : (tensor<64x40x16xf32>) -> tensor<64x2x16x32xf32>
  %1 = func.call @masked(%x, %m) : (tensor<64x40x16xf32>, tensor<40xi1>) -> tensor<64x2x16x32xf32>
  %2 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2 : tensor<64x2x16x32xf32>, tensor<64x2x16x32xf32>, tensor<i64>
}
func.func private @below(%n: tensor<i64>) -> tensor<40xi1> attributes {lamina.kernel} {
  %0 = loop.generic (d0) in [40] reads(%n[] : tensor<i64>) writes([d0] store : tensor<40xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<40xi1>
}
func.func private @packed(%x: tensor<64x40x16xf32>) -> tensor<64x2x16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (b, n, k) in [64, 40, 16] reads(%x[b, n, k] : tensor<64x40x16xf32>) writes([b, n, k] store : tensor<64x40x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %e = math.exp %v : f32
    loop.yield %e : f32
  }
  %1 = loop.generic (b, p, k, n) in [64, 2, 16, 32] reads(%0[b, p * 32 + n, k] pad 0.0 : f32 : tensor<64x40x16xf32>) writes([b, p, k, n] store : tensor<64x2x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return %1 : tensor<64x2x16x32xf32>
}
func.func private @masked(%x: tensor<64x40x16xf32>, %m: tensor<40xi1>) -> tensor<64x2x16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (b, n, k) in [64, 40, 16] reads(%x[b, n, k] : tensor<64x40x16xf32>) writes([b, n, k] store : tensor<64x40x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %e = math.exp %v : f32
    loop.yield %e : f32
  }
  %1 = loop.generic (b, p, k, n) in [64, 2, 16, 32] reads(%m[p * 32 + n] pad false : tensor<40xi1>, %0[b, p * 32 + n, k] pad 0.0 : f32 : tensor<64x40x16xf32>) writes([b, p, k, n] store : tensor<64x2x16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %v: f32):
    %z = arith.constant 0.0 : f32
    %r = arith.select %c, %v, %z : f32
    loop.yield %r : f32
  }
  func.return %1 : tensor<64x2x16x32xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
