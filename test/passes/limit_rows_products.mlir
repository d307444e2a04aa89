// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Two products behind each other sum over sizes that have nothing to do with each other: loops end at
// both, and columns of the first product where the second one's terms do.
// CHECK-LABEL: @main
// CHECK:         func.func private @products(
// CHECK-SAME:    lamina.masks = array<i64: 0, 6, 3, 7>, lamina.zeros = array<i64: 2, 1, 6, 4, 1, 7>
// CHECK:         loop.generic (d0, d1) in [64, 96] {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}, counts [6]>]
// CHECK:         loop.generic (d0, d1, d2) in [64, 64, 96] {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}, counts [7]>, #loop.bounds<2, {{.*}}, counts [6]>]
// CHECK:         loop.generic (d0, d1) in [64, 64] {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}, counts [7]>]
// CHECK:         loop.generic (d0, d1, d2) in [64, 96, 64] {{.*}}lamina.ends = [#loop.bounds<1, {{.*}}, counts [6]>, #loop.bounds<2, {{.*}}, counts [7]>]
func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x64xf32>, %v: tensor<64x96xf32>, %l: tensor<i64> {lamina.kind = "input"}, %d: tensor<i64> {lamina.kind = "input"}, %e: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x96xf32> {lamina.sizes = [0, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %m, %n = func.call @below(%d, %e) : (tensor<i64>, tensor<i64>) -> (tensor<96xi1>, tensor<64xi1>)
  %p = func.call @pack(%m, %w) : (tensor<96xi1>, tensor<96x64xf32>) -> tensor<2x96x32xf32>
  %q = func.call @pack_wide(%n, %v) : (tensor<64xi1>, tensor<64x96xf32>) -> tensor<3x64x32xf32>
  %r = func.call @products(%m, %x, %p, %n, %q) : (tensor<96xi1>, tensor<64x96xf32>, tensor<2x96x32xf32>, tensor<64xi1>, tensor<3x64x32xf32>) -> tensor<64x96xf32>
  %0, %1 = func.call @copy(%l, %d) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %r, %0, %1 : tensor<64x96xf32>, tensor<i64>, tensor<i64>
}
func.func private @below(%d: tensor<i64>, %e: tensor<i64>) -> (tensor<96xi1>, tensor<64xi1>) attributes {lamina.kernel} {
  %0 = loop.generic (i) in [96] reads(%d[] : tensor<i64>) writes([i] store : tensor<96xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  %1 = loop.generic (i) in [64] reads(%e[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0, %1 : tensor<96xi1>, tensor<64xi1>
}
func.func private @pack(%m: tensor<96xi1>, %w: tensor<96x64xf32>) -> tensor<2x96x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [2, 96, 32] reads(%m[j] : tensor<96xi1>, %w[j, (i * 32) + k] : tensor<96x64xf32>) writes([i, j, k] store : tensor<2x96x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<2x96x32xf32>
}
func.func private @pack_wide(%m: tensor<64xi1>, %w: tensor<64x96xf32>) -> tensor<3x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [3, 64, 32] reads(%m[j] : tensor<64xi1>, %w[j, (i * 32) + k] : tensor<64x96xf32>) writes([i, j, k] store : tensor<3x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<3x64x32xf32>
}
func.func private @products(%m: tensor<96xi1>, %x: tensor<64x96xf32>, %p: tensor<2x96x32xf32>, %n: tensor<64xi1>, %q: tensor<3x64x32xf32>) -> tensor<64x96xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, k) in [64, 96] reads(%m[k] : tensor<96xi1>, %x[i, k] : tensor<64x96xf32>) writes([i, k] store : tensor<64x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [64, 64, 96] reads(%0[i, k] : tensor<64x96xf32>, %p[j floordiv 32, k, j mod 32] : tensor<2x96x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (i, k) in [64, 64] reads(%n[k] : tensor<64xi1>, %1[i, k] : tensor<64x64xf32>) writes([i, k] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %3 = loop.generic (i, j, k) in [64, 96, 64] reads(%2[i, k] : tensor<64x64xf32>, %q[j floordiv 32, k, j mod 32] : tensor<3x64x32xf32>) writes([i, j] add : tensor<64x96xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %3 : tensor<64x96xf32>
}
func.func private @copy(%l: tensor<i64>, %d: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%l[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%d[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}

// -----

// What is packed of others may be infinite behind the numbers, and 0 times that is no number: no sum ends.
// CHECK-LABEL: @main
// CHECK:         func.func private @products(
// CHECK-NOT:     lamina.zeros
// CHECK:         loop.generic (d0, d1) in [64, 96] {{.*}}live = [arg5 of 64]>} {
// CHECK:         loop.generic (d0, d1, d2) in [64, 64, 96] {{.*}}live = [arg5 of 64]>} {
// CHECK:         loop.generic (d0, d1) in [64, 64] {{.*}}live = [arg5 of 64]>} {
// CHECK:         loop.generic (d0, d1, d2) in [64, 96, 64] {{.*}}lamina.ends = [#loop.bounds<1, lower affine_map<(d0, d1, d2)[s0] -> ()>, upper affine_map<(d0, d1, d2)[s0] -> (s0)>, counts [6]>]} {
func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x64xf32>, %v: tensor<64x96xf32>, %l: tensor<i64> {lamina.kind = "input"}, %d: tensor<i64> {lamina.kind = "input"}, %e: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x96xf32> {lamina.sizes = [0, 1]}, tensor<i64> {lamina.kind = "size"}, tensor<i64> {lamina.kind = "size"}) {
  %m, %n = func.call @below(%d, %e) : (tensor<i64>, tensor<i64>) -> (tensor<96xi1>, tensor<64xi1>)
  %p = func.call @pack(%m, %w) : (tensor<96xi1>, tensor<96x64xf32>) -> tensor<2x96x32xf32>
  %q = func.call @pack_wide(%n, %v) : (tensor<64xi1>, tensor<64x96xf32>) -> tensor<3x64x32xf32>
  %r = func.call @products(%m, %x, %p, %n, %q) : (tensor<96xi1>, tensor<64x96xf32>, tensor<2x96x32xf32>, tensor<64xi1>, tensor<3x64x32xf32>) -> tensor<64x96xf32>
  %0, %1 = func.call @copy(%l, %d) : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  func.return %r, %0, %1 : tensor<64x96xf32>, tensor<i64>, tensor<i64>
}
func.func private @below(%d: tensor<i64>, %e: tensor<i64>) -> (tensor<96xi1>, tensor<64xi1>) attributes {lamina.kernel} {
  %0 = loop.generic (i) in [96] reads(%d[] : tensor<i64>) writes([i] store : tensor<96xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  %1 = loop.generic (i) in [64] reads(%e[] : tensor<i64>) writes([i] store : tensor<64xi1>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    %c = arith.cmpi slt, %q, %a : i64
    loop.yield %c : i1
  }
  func.return %0, %1 : tensor<96xi1>, tensor<64xi1>
}
func.func private @pack(%m: tensor<96xi1>, %w: tensor<96x64xf32>) -> tensor<2x96x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [2, 96, 32] reads(%m[j] : tensor<96xi1>, %w[j, (i * 32) + k] : tensor<96x64xf32>) writes([i, j, k] store : tensor<2x96x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 1.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<2x96x32xf32>
}
func.func private @pack_wide(%m: tensor<64xi1>, %w: tensor<64x96xf32>) -> tensor<3x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, j, k) in [3, 64, 32] reads(%m[j] : tensor<64xi1>, %w[j, (i * 32) + k] : tensor<64x96xf32>) writes([i, j, k] store : tensor<3x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 1.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<3x64x32xf32>
}
func.func private @products(%m: tensor<96xi1>, %x: tensor<64x96xf32>, %p: tensor<2x96x32xf32>, %n: tensor<64xi1>, %q: tensor<3x64x32xf32>) -> tensor<64x96xf32> attributes {lamina.kernel} {
  %0 = loop.generic (i, k) in [64, 96] reads(%m[k] : tensor<96xi1>, %x[i, k] : tensor<64x96xf32>) writes([i, k] store : tensor<64x96xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %1 = loop.generic (i, j, k) in [64, 64, 96] reads(%0[i, k] : tensor<64x96xf32>, %p[j floordiv 32, k, j mod 32] : tensor<2x96x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (i, k) in [64, 64] reads(%n[k] : tensor<64xi1>, %1[i, k] : tensor<64x64xf32>) writes([i, k] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %a, %z : f32
    loop.yield %y : f32
  }
  %3 = loop.generic (i, j, k) in [64, 96, 64] reads(%2[i, k] : tensor<64x64xf32>, %q[j floordiv 32, k, j mod 32] : tensor<3x64x32xf32>) writes([i, j] add : tensor<64x96xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pack_at = call>, lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %3 : tensor<64x96xf32>
}
func.func private @copy(%l: tensor<i64>, %d: tensor<i64>) -> (tensor<i64>, tensor<i64>) attributes {lamina.kernel} {
  %0 = loop.generic () in [] reads(%l[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  %1 = loop.generic () in [] reads(%d[] : tensor<i64>) writes([] store : tensor<i64>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: i64):
    loop.yield %a : i64
  }
  func.return %0, %1 : tensor<i64>, tensor<i64>
}
