// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// A mask of pairs that is false from a number of the call on along the second of each (`lamina.zeros` of truth values) bounds the keys of
// attention there, as a mask of positions does.
// CHECK-LABEL: @pairs_of_positions
// CHECK:         func.func private @attend(
// CHECK-SAME:    lamina.zeros = array<i64: 3, 1, 4>
// CHECK:         add : tensor<64x64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, {{.*}}counts [4]>
// CHECK:         max : tensor<64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, {{.*}}counts [4]>
// CHECK:         store : tensor<64x64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<1, {{.*}}counts [4]>
// CHECK:         add : tensor<64x32xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<2, {{.*}}counts [4]>
func.func @pairs_of_positions(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %t: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %p = func.call @pairs(%m, %t) : (tensor<64xi1>, tensor<64xi64>) -> tensor<64x64xi1>
  %0 = func.call @attend(%q, %k, %v, %p) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64x64xi1>) -> tensor<64x32xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x32xf32>, tensor<i64>
}
func.func private @below(%n: tensor<i64>) -> tensor<64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<64xi1>
}
func.func private @pairs(%m: tensor<64xi1>, %t: tensor<64xi64>) -> tensor<64x64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %t[i] : tensor<64xi64>, %t[j] : tensor<64xi64>) writes([i, j] store : tensor<64x64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%c: i1, %a: i64, %b: i64):
    %e = arith.cmpi eq, %a, %b : i64
    %r = arith.andi %c, %e : i1
    loop.yield %r : i1
  }
  func.return %0 : tensor<64x64xi1>
}
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64x64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[i, j] : tensor<64x64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[i, j] : tensor<64x64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, f, j) in [64, 32, 64] reads(%e[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}

// -----

// One that is true of pairs behind the number, too, bounds nothing.
// CHECK-LABEL: @either
// CHECK-NOT:     lamina.bounds
// CHECK-NOT:     lamina.zeros
func.func @either(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %t: tensor<64xi64>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %p = func.call @pairs(%m, %t) : (tensor<64xi1>, tensor<64xi64>) -> tensor<64x64xi1>
  %0 = func.call @attend(%q, %k, %v, %p) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64x64xi1>) -> tensor<64x32xf32>
  %1 = func.call @copy(%n) : (tensor<i64>) -> tensor<i64>
  func.return %0, %1 : tensor<64x32xf32>, tensor<i64>
}
func.func private @below(%n: tensor<i64>) -> tensor<64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i) in [64] reads(%n[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0 : tensor<64xi1>
}
func.func private @pairs(%m: tensor<64xi1>, %t: tensor<64xi64>) -> tensor<64x64xi1> attributes {lamina.kernel} {
  %0 = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %t[i] : tensor<64xi64>, %t[j] : tensor<64xi64>) writes([i, j] store : tensor<64x64xi1>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%c: i1, %a: i64, %b: i64):
    %e = arith.cmpi eq, %a, %b : i64
    %r = arith.ori %c, %e : i1
    loop.yield %r : i1
  }
  func.return %0 : tensor<64x64xi1>
}
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64x64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[i, j] : tensor<64x64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[i, j] : tensor<64x64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32, %t: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %t : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %r = loop.generic (i, f, j) in [64, 32, 64] reads(%e[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}
func.func private @copy(%n: tensor<i64>) -> tensor<i64> attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%n[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0 : tensor<i64>
}
