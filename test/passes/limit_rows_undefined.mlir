// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Windows begin in front of a batch: their reader says nothing of which rows it needs. What a product makes of elements
// behind those that a caller brings nobody needs.
// CHECK-LABEL: @windows
// CHECK:         func.func private @product(%x: tensor<128x4xf32>, %w: tensor<4x4xf32>, %count: tensor<i64>, %count_1: tensor<i64>,
// CHECK:           rows = [d0], live = [arg2 of 8, arg3 of 16]>
func.func @windows(%x: tensor<8x16x4xf32> {lamina.kind = "input", lamina.name = "x", lamina.counts = ["b", "n", ""]}, %w: tensor<4x4xf32>, %b: tensor<i64> {lamina.kind = "input", lamina.name = "b"}, %n: tensor<i64> {lamina.kind = "input", lamina.name = "n"}) -> (tensor<8x16x4xf32> {lamina.sizes = [0, 1, -1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %0 = loop.reshape %x : tensor<8x16x4xf32> -> tensor<128x4xf32>
  %1 = func.call @product(%0, %w) : (tensor<128x4xf32>, tensor<4x4xf32>) -> tensor<128x4xf32>
  %2 = func.call @window(%1) : (tensor<128x4xf32>) -> tensor<8x16x4xf32>
  func.return %2, %b, %n : tensor<8x16x4xf32>, tensor<i64>, tensor<i64>
}
func.func private @product(%x: tensor<128x4xf32>, %w: tensor<4x4xf32>) -> tensor<128x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [128, 4, 4] reads(%x[i, k] : tensor<128x4xf32>, %w[k, j] : tensor<4x4xf32>) writes([i, j] add : tensor<128x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<128x4xf32>
}
func.func private @window(%x: tensor<128x4xf32>) -> tensor<8x16x4xf32> attributes {lamina.kernel} {
  %0 = loop.generic (b, i, j) in [8, 16, 4] reads(%x[b * 16 + i - 1, j] pad 0.000000e+00 : f32 : tensor<128x4xf32>) writes([b, i, j] store : tensor<8x16x4xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<8x16x4xf32>
}

// -----

// Not so of what says where to read: there all places have to be legal.
// CHECK-LABEL: @places
// CHECK:         func.func private @halves(%x: tensor<16xf32>) -> tensor<16xf32>
// CHECK-NOT:       live
// CHECK:         func.func private @look_up(
func.func @places(%x: tensor<16xf32> {lamina.kind = "input", lamina.name = "x", lamina.counts = ["n"]}, %t: tensor<64xf32>, %n: tensor<i64> {lamina.kind = "input", lamina.name = "n"}) -> (tensor<16xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @halves(%x) : (tensor<16xf32>) -> tensor<16xf32>
  %1 = func.call @look_up(%0, %t) : (tensor<16xf32>, tensor<64xf32>) -> tensor<16xf32>
  func.return %1, %n : tensor<16xf32>, tensor<i64>
}
func.func private @halves(%x: tensor<16xf32>) -> tensor<16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [16] reads(%x[i] : tensor<16xf32>) writes([i] store : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    %h = arith.constant 5.000000e-01 : f32
    %c = arith.mulf %a, %h : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<16xf32>
}
func.func private @look_up(%x: tensor<16xf32>, %t: tensor<64xf32>) -> tensor<16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [16] reads(%x[-i + 15] : tensor<16xf32>) sources(%t : tensor<64xf32>) writes([i] store : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %s: tensor<64xf32>):
    %p = arith.fptosi %a : f32 to i64
    %q = arith.index_cast %p : i64 to index
    %v = loop.read %s[%q] : tensor<64xf32>
    loop.yield %v : f32
  }
  func.return %0 : tensor<16xf32>
}

// -----

// What another mask chooses is a number somewhere in the padding: all of it is made.
// CHECK-LABEL: @chosen
// CHECK:         func.func private @choose(
// CHECK-NOT:       live
// CHECK:         func.func private @flip(
func.func @chosen(%x: tensor<16xf32> {lamina.kind = "input", lamina.name = "x", lamina.counts = ["n"]}, %m: tensor<16xi1>, %n: tensor<i64> {lamina.kind = "input", lamina.name = "n"}) -> (tensor<16xf32> {lamina.sizes = [0]}, tensor<i64> {lamina.kind = "size"}) {
  %0 = func.call @choose(%x, %m) : (tensor<16xf32>, tensor<16xi1>) -> tensor<16xf32>
  %1 = func.call @flip(%0) : (tensor<16xf32>) -> tensor<16xf32>
  func.return %1, %n : tensor<16xf32>, tensor<i64>
}
func.func private @choose(%x: tensor<16xf32>, %m: tensor<16xi1>) -> tensor<16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [16] reads(%x[i] : tensor<16xf32>, %m[i] : tensor<16xi1>) writes([i] store : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %s = arith.select %c, %a, %z : f32
    loop.yield %s : f32
  }
  func.return %0 : tensor<16xf32>
}
func.func private @flip(%x: tensor<16xf32>) -> tensor<16xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [16] reads(%x[-i + 15] : tensor<16xf32>) writes([i] store : tensor<16xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0 : tensor<16xf32>
}
