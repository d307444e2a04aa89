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

// -----

// Columns of panels end at the number itself, which is twice another: panels have no ends in pairs. Rows of others end with pairs.
// CHECK-LABEL: func.func private @product(
// CHECK:         live = [16, arg2 of 64]
// CHECK-LABEL: func.func private @negated(
// CHECK:         live = [arg1 of 32, 2, 16]
func.func @main(%x: tensor<16x8xf32>, %p: tensor<2x8x32xf32>, %y: tensor<64x16xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x64xf32> {lamina.sizes = [-1, 0]}, tensor<64x16xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @product(%x, %p) : (tensor<16x8xf32>, tensor<2x8x32xf32>) -> tensor<16x64xf32>
  %1 = func.call @negated(%y) : (tensor<64x16xf32>) -> tensor<64x16xf32>
  %2 = func.call @twice(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1, %2 : tensor<16x64xf32>, tensor<64x16xf32>, tensor<i64>
}
func.func private @product(%x: tensor<16x8xf32>, %p: tensor<2x8x32xf32>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [16, 64, 8] reads(%x[i, k] : tensor<16x8xf32>, %p[j floordiv 32, k, j mod 32] : tensor<2x8x32xf32>) writes([i, j] add : tensor<16x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @negated(%y: tensor<64x16xf32>) -> tensor<64x16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 16] reads(%y[i, j] : tensor<64x16xf32>) writes([i, j] store : tensor<64x16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<64x16xf32>
}
func.func private @twice(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %b = arith.muli %a, %two : i64
    loop.yield %b : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// So they do where another reads pairs of them, and where these end is half of it.
// CHECK-LABEL: func.func @main(
// CHECK:         [[TWICE:%\S+]] = func.call @reach_0(%n)
// CHECK:         func.call @product(%x, %p, [[TWICE]])
// CHECK-LABEL: func.func private @product(
// CHECK:         live = [16, arg2 of 64]
func.func @main(%x: tensor<16x8xf32>, %p: tensor<2x8x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<16x64xf32> {lamina.sizes = [-1, 0]}, tensor<16x32xf32> {lamina.sizes = [-1, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @product(%x, %p) : (tensor<16x8xf32>, tensor<2x8x32xf32>) -> tensor<16x64xf32>
  %1 = func.call @negated(%0) : (tensor<16x64xf32>) -> tensor<16x64xf32>
  %2 = func.call @pairs(%0) : (tensor<16x64xf32>) -> tensor<16x32xf32>
  %3, %4 = func.call @twice(%n) : (tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %1, %2, %3, %4 : tensor<16x64xf32>, tensor<16x32xf32>, tensor<i64>, tensor<i64>
}
func.func private @product(%x: tensor<16x8xf32>, %p: tensor<2x8x32xf32>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [16, 64, 8] reads(%x[i, k] : tensor<16x8xf32>, %p[j floordiv 32, k, j mod 32] : tensor<2x8x32xf32>) writes([i, j] add : tensor<16x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @negated(%y: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [16, 64] reads(%y[i, j] : tensor<16x64xf32>) writes([i, j] store : tensor<16x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  func.return %0 : tensor<16x64xf32>
}
func.func private @pairs(%y: tensor<16x64xf32>) -> tensor<16x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, w) in [16, 32, 2] reads(%y[i, j * 2 + w] : tensor<16x64xf32>) writes([i, j] add : tensor<16x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16x32xf32>
}
func.func private @twice(%n: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %two = arith.constant 2 : i64
    %b = arith.muli %a, %two : i64
    loop.yield %b : i64
  }
  %1 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}
