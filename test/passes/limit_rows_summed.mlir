// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Where rows are summed over, loops over what else they have end at the numbers of calls as they do in other kernels: in
// what makes an element for each position, and in the sum of these, which a mask leaves as it is.
// CHECK-LABEL: @main
func.func @main(%x: tensor<64x32x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<4xf32> {
  %0 = func.call @losses(%x, %n) : (tensor<64x32x8xf32>, tensor<i64>) -> tensor<4xf32>
  func.return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func private @losses(
// CHECK:         add : tensor<64x32xf32>) {{.*}}lamina.ends = [#loop.bounds<2, lower affine_map<(d0, d1, d2, d3)[s0] -> ()>, upper affine_map<(d0, d1, d2, d3)[s0] -> (s0)>, counts [1]>]
// CHECK:         add : tensor<64xf32>) {{.*}}lamina.ends = [#loop.bounds<2, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [1]>]
// CHECK:         add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>}
func.func private @losses(%x: tensor<64x32x8xf32>, %n: tensor<i64>) -> tensor<4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (p, b, t, f) in [4, 16, 32, 8] reads(%x[p * 16 + b, t, f] : tensor<64x32x8xf32>) writes([p * 16 + b, t] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %s = arith.mulf %a, %a : f32
    loop.yield %s : f32
  }
  %1 = loop.generic (p, b, t) in [4, 16, 32] reads(%0[p * 16 + b, t] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([p * 16 + b] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %e: i64):
    %t = loop.index 2 : index
    %r = arith.index_cast %t : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 0.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %2 = loop.generic (p, b) in [4, 16] reads(%1[p * 16 + b] : tensor<64xf32>) writes([p] add : tensor<4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2 : tensor<4xf32>
}

// -----

// Not so where what is summed over rows reads all positions of each.
// CHECK-LABEL: @all
// CHECK-NOT:     lamina.ends
func.func @all(%x: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<4x32xf32> {
  %0 = func.call @sums(%x, %n) : (tensor<64x32xf32>, tensor<i64>) -> tensor<4x32xf32>
  func.return %0 : tensor<4x32xf32>
}
func.func private @sums(%x: tensor<64x32xf32>, %n: tensor<i64>) -> tensor<4x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (p, b, t) in [4, 16, 32] reads(%x[p * 16 + b, t] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([p * 16 + b, t] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %e: i64):
    %t = loop.index 2 : index
    %r = arith.index_cast %t : index to i64
    %c = arith.cmpi slt, %r, %e : i64
    %z = arith.constant 1.0 : f32
    %v = arith.select %c, %a, %z : f32
    loop.yield %v : f32
  }
  %1 = loop.generic (p, b, t) in [4, 16, 32] reads(%0[p * 16 + b, t] : tensor<64x32xf32>) writes([p, t] add : tensor<4x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %1 : tensor<4x32xf32>
}

// -----

// A nest of two results ends where what reads one of them does, if nobody reads the other: the least elements, of which
// only the places are wanted.
// CHECK-LABEL: @places
func.func @places(%x: tensor<4x128x8xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<4x128xi64> {lamina.sizes = [-1, 0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @least(%x) : (tensor<4x128x8xf32>) -> tensor<4x128xi64>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<4x128xi64>, tensor<i64>
}
// CHECK-LABEL: func.func private @least(
// CHECK:         tensor<4x128xi32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1,
// CHECK:         store : tensor<4x128xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.ends = [#loop.bounds<1,
func.func private @least(%x: tensor<4x128x8xf32>) -> tensor<4x128xi64> attributes {lamina.kernel} {
  %0, %1 = loop.generic (b, t, f) in [4, 128, 8] reads(%x[b, t, f] : tensor<4x128x8xf32>) writes([b, t] combine : tensor<4x128xf32>, [b, t] combine : tensor<4x128xi32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %f = loop.index 2 : index
    %i = arith.index_cast %f : index to i32
    loop.yield %a, %i : f32, i32
  } combine(0x7f800000 : f32, 2147483647 : i32) {
  ^bb0(%a: f32, %i: i32, %b: f32, %j: i32):
    %c = arith.cmpf olt, %a, %b : f32
    %v = arith.select %c, %a, %b : f32
    %k = arith.select %c, %i, %j : i32
    loop.yield %v, %k : f32, i32
  }
  %2 = loop.generic (b, t) in [4, 128] reads(%1[b, t] : tensor<4x128xi32>) writes([b, t] store : tensor<4x128xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%i: i32):
    %w = arith.extsi %i : i32 to i64
    loop.yield %w : i64
  }
  func.return %2 : tensor<4x128xi64>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
