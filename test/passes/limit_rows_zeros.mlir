// RUN: lamina-opt %s -p limit-rows --split-input-file | filecheck %s

// Values that a mask makes 0 end in zeros at its number: a product that sums over them need not read these.
// Masks that say what is copied of an argument are noted: its elements behind them need not be there.
// CHECK-LABEL: @zeros
// CHECK:         func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>, %count: tensor<i64>)
// CHECK-SAME:    lamina.masks = array<i64: 1, 2>
// CHECK:         func.func private @attend(
// CHECK-SAME:    lamina.zeros = array<i64: 2, 1, 4>
func.func @zeros(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %v = func.call @pack(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<1x64x32xf32>
  %0 = func.call @attend(%q, %k, %v, %m) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
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
func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<1x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [1, 64, 32] reads(%v[d1, (d0 * 32) + d2] : tensor<64x32xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1, d2] store : tensor<1x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 0.000000e+00 : f32
    %y = arith.select %c, %x, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<1x64x32xf32>
}
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
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

// Others are not known: each may be infinite, and 0 times that is no number.
// CHECK-LABEL: @ones
// CHECK:         lamina.bounds
// CHECK-NOT:     lamina.zeros
func.func @ones(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> (tensor<64x32xf32> {lamina.sizes = [0, -1]}, tensor<i64> {lamina.kind = "size"}) {
  %m = func.call @below(%n) : (tensor<i64>) -> tensor<64xi1>
  %v = func.call @pack(%w, %m) : (tensor<64x32xf32>, tensor<64xi1>) -> tensor<1x64x32xf32>
  %0 = func.call @attend(%q, %k, %v, %m) : (tensor<64x16xf32>, tensor<2x16x32xf32>, tensor<1x64x32xf32>, tensor<64xi1>) -> tensor<64x32xf32>
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
func.func private @pack(%v: tensor<64x32xf32>, %m: tensor<64xi1>) -> tensor<1x64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [1, 64, 32] reads(%v[d1, (d0 * 32) + d2] : tensor<64x32xf32>, %m[d1] : tensor<64xi1>) writes([d0, d1, d2] store : tensor<1x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%x: f32, %c: i1):
    %z = arith.constant 1.000000e+00 : f32
    %y = arith.select %c, %x, %z : f32
    loop.yield %y : f32
  }
  func.return %0 : tensor<1x64x32xf32>
}
func.func private @attend(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>, %m: tensor<64xi1>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %l = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%c: i1, %x: f32):
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%m[j] : tensor<64xi1>, %s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
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

// Both operands of a product without a mask end in zeros: so far as they do at one number, that is noted.
// CHECK-LABEL: func.func @matrices(
// CHECK:         func.call @multiply(%{{.*}}, %{{.*}}, %n)
// CHECK-LABEL: func.func private @multiply(
// CHECK-SAME:    %count: tensor<i64>
// CHECK-SAME:    lamina.zeros = array<i64: 0, 1, 2, 1, 1, 2>
func.func @matrices(%x: tensor<64x32xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}) -> tensor<64x64xf32> {
  %a = func.call @masked(%x, %n) : (tensor<64x32xf32>, tensor<i64>) -> tensor<64x32xf32>
  %b = func.call @packed(%w, %n) : (tensor<64x32xf32>, tensor<i64>) -> tensor<2x32x32xf32>
  %0 = func.call @multiply(%a, %b) : (tensor<64x32xf32>, tensor<2x32x32xf32>) -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
func.func private @masked(%x: tensor<64x32xf32>, %n: tensor<i64>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 32] reads(%x[d0, d1] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32, %e: i64):
    %i = loop.index 1 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %e : i64
    %z = arith.constant 0.000000e+00 : f32
    %r = arith.select %c, %v, %z : f32
    loop.yield %r : f32
  }
  func.return %0 : tensor<64x32xf32>
}
func.func private @packed(%x: tensor<64x32xf32>, %n: tensor<i64>) -> tensor<2x32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [2, 32, 32] reads(%x[(d0 * 32) + d2, d1] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([d0, d1, d2] store : tensor<2x32x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%v: f32, %e: i64):
    %i = loop.index 1 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %e : i64
    %z = arith.constant 0.000000e+00 : f32
    %r = arith.select %c, %v, %z : f32
    loop.yield %r : f32
  }
  func.return %0 : tensor<2x32x32xf32>
}
func.func private @multiply(%a: tensor<64x32xf32>, %b: tensor<2x32x32xf32>) -> tensor<64x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [64, 64, 32] reads(%a[d0, d2] : tensor<64x32xf32>, %b[d1 floordiv 32, d2, d1 mod 32] : tensor<2x32x32xf32>) writes([d0, d1] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %c = arith.mulf %x, %y : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<64x64xf32>
}

// -----

// At other numbers they are not: one of them is behind the other's.
// CHECK-LABEL: @one_matrix
// CHECK-NOT:     lamina.zeros
func.func @one_matrix(%x: tensor<64x32xf32>, %w: tensor<64x32xf32>, %n: tensor<i64> {lamina.kind = "input"}, %m: tensor<i64> {lamina.kind = "input"}) -> tensor<64x64xf32> {
  %a = func.call @masked(%x, %m) : (tensor<64x32xf32>, tensor<i64>) -> tensor<64x32xf32>
  %b = func.call @packed(%w, %n) : (tensor<64x32xf32>, tensor<i64>) -> tensor<2x32x32xf32>
  %0 = func.call @multiply(%a, %b) : (tensor<64x32xf32>, tensor<2x32x32xf32>) -> tensor<64x64xf32>
  func.return %0 : tensor<64x64xf32>
}
func.func private @masked(%x: tensor<64x32xf32>, %n: tensor<i64>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1) in [64, 32] reads(%x[d0, d1] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32, %e: i64):
    %i = loop.index 1 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %e : i64
    %z = arith.constant 0.000000e+00 : f32
    %r = arith.select %c, %v, %z : f32
    loop.yield %r : f32
  }
  func.return %0 : tensor<64x32xf32>
}
func.func private @packed(%x: tensor<64x32xf32>, %n: tensor<i64>) -> tensor<2x32x32xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [2, 32, 32] reads(%x[(d0 * 32) + d2, d1] : tensor<64x32xf32>, %n[] : tensor<i64>) writes([d0, d1, d2] store : tensor<2x32x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2]>} {
  ^bb0(%v: f32, %e: i64):
    %i = loop.index 1 : index
    %p = arith.index_cast %i : index to i64
    %c = arith.cmpi slt, %p, %e : i64
    %z = arith.constant 0.000000e+00 : f32
    %r = arith.select %c, %v, %z : f32
    loop.yield %r : f32
  }
  func.return %0 : tensor<2x32x32xf32>
}
func.func private @multiply(%a: tensor<64x32xf32>, %b: tensor<2x32x32xf32>) -> tensor<64x64xf32> attributes {lamina.kernel} {
  %0 = loop.generic (d0, d1, d2) in [64, 64, 32] reads(%a[d0, d2] : tensor<64x32xf32>, %b[d1 floordiv 32, d2, d1 mod 32] : tensor<2x32x32xf32>) writes([d0, d1] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%x: f32, %y: f32):
    %c = arith.mulf %x, %y : f32
    loop.yield %c : f32
  }
  func.return %0 : tensor<64x64xf32>
}
