// RUN: lamina-opt %s -p bound-dims | filecheck %s

// Causal: keys after the query have weights 0. Scores, maxima, exponentials, their sums, weights and
// the second product all have the bound.
// CHECK-LABEL: @causal
func.func private @causal(%q: tensor<2x64x16xf32>, %k: tensor<2x2x16x32xf32>, %v: tensor<2x1x64x32xf32>) -> tensor<2x64x32xf32> attributes {lamina.kernel} {
  // CHECK: lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2, d3) -> ()>, upper affine_map<(d0, d1, d2, d3) -> ((d1 + 1))>>
  %s = loop.generic (h, i, j, f) in [2, 64, 64, 16] reads(%q[h, i, f] : tensor<2x64x16xf32>, %k[h, j floordiv 32, f, j mod 32] : tensor<2x2x16x32xf32>) writes([h, i, j] add : tensor<2x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK: max : tensor<2x64xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ()>, upper affine_map<(d0, d1, d2) -> ((d1 + 1))>>
  %m = loop.generic (h, i, j) in [2, 64, 64] reads(%s[h, i, j] : tensor<2x64x64xf32>) writes([h, i] max : tensor<2x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32):
    %j = loop.index 2 : index
    %i = loop.index 1 : index
    %c = arith.cmpi sle, %j, %i : index
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  // CHECK: store : tensor<2x64x64xf32>) attributes {{.*}}lamina.bounds
  %e = loop.generic (h, i, j) in [2, 64, 64] reads(%s[h, i, j] : tensor<2x64x64xf32>, %m[h, i] : tensor<2x64xf32>) writes([h, i, j] store : tensor<2x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32, %l: f32):
    %j = loop.index 2 : index
    %i = loop.index 1 : index
    %c = arith.cmpi sle, %j, %i : index
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %z = arith.subf %y, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  // CHECK: add : tensor<2x64xf32>) attributes {{.*}}lamina.bounds
  %t = loop.generic (h, i, j) in [2, 64, 64] reads(%e[h, i, j] : tensor<2x64x64xf32>) writes([h, i] add : tensor<2x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: store : tensor<2x64x64xf32>) attributes {{.*}}lamina.bounds
  %p = loop.generic (h, i, j) in [2, 64, 64] reads(%e[h, i, j] : tensor<2x64x64xf32>, %t[h, i] : tensor<2x64xf32>) writes([h, i, j] store : tensor<2x64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  // CHECK: add : tensor<2x64x32xf32>) attributes {{.*}}lamina.bounds = #loop.bounds<3, lower affine_map<(d0, d1, d2, d3) -> ()>, upper affine_map<(d0, d1, d2, d3) -> ((d1 + 1))>>
  %o = loop.generic (h, i, f, j) in [2, 64, 32, 64] reads(%p[h, i, j] : tensor<2x64x64xf32>, %v[h, f floordiv 32, j, f mod 32] : tensor<2x1x64x32xf32>) writes([h, i, f] add : tensor<2x64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<2x64x32xf32>
}

// No softmax: what the mask leaves out is 0, in a band before the row.
// CHECK-LABEL: @band
func.func private @band(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  // CHECK: #loop.bounds<1, lower affine_map<(d0, d1, d2) -> ((d0 + -7))>, upper affine_map<(d0, d1, d2) -> ((d0 + 1))>>
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK: #loop.bounds<1, lower affine_map<(d0, d1) -> ((d0 + -7))>, upper affine_map<(d0, d1) -> ((d0 + 1))>>
  %p = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    %j = loop.index 1 : index
    %j64 = arith.index_cast %j : index to i64
    %i = loop.index 0 : index
    %i64 = arith.index_cast %i : index to i64
    %after = arith.cmpi sgt, %j64, %i64 : i64
    %apart = arith.subi %i64, %j64 : i64
    %eight = arith.constant 8 : i64
    %near = arith.cmpi slt, %apart, %eight : i64
    %zero = arith.constant 0.0 : f32
    %y = arith.select %near, %x, %zero : f32
    %z = arith.select %after, %zero, %y : f32
    loop.yield %z : f32
  }
  // CHECK: #loop.bounds<2, lower affine_map<(d0, d1, d2) -> ((d0 + -7))>, upper affine_map<(d0, d1, d2) -> ((d0 + 1))>>
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<64x32xf32>
}

// Added, -inf does not take the place of a score: that may be NaN. The weights may be NaN, too.
// CHECK-LABEL: @added
// CHECK-NOT: lamina.bounds
func.func private @added(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %v: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %p = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %c = arith.cmpi sle, %j, %i : index
    %zero = arith.constant 0.0 : f32
    %n = arith.constant 0xff800000 : f32
    %mask = arith.select %c, %zero, %n : f32
    %y = arith.addf %x, %mask : f32
    %z = math.exp %y : f32
    loop.yield %z : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<64x32xf32>
}

// Weights less something else than their maximum may be infinite where the mask leaves them out, and
// weights that are returned are needed.
// CHECK-LABEL: @other
// CHECK-NOT: lamina.bounds
func.func private @other(%q: tensor<64x16xf32>, %k: tensor<2x16x32xf32>, %l: tensor<64xf32>, %v: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 64, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<2x16x32xf32>) writes([i, j] add : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %p = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>, %l[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %m: f32):
    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %c = arith.cmpi sle, %j, %i : index
    %n = arith.constant 0xff800000 : f32
    %y = arith.select %c, %x, %n : f32
    %w = arith.subf %y, %m : f32
    %z = math.exp %w : f32
    loop.yield %z : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<64x32xf32>
}

// The weights are a result: only the second product leaves out what they are 0 at.
// CHECK-LABEL: @returned
func.func private @returned(%s: tensor<64x64xf32>, %v: tensor<1x64x32xf32>) -> (tensor<64x64xf32>, tensor<64x32xf32>) attributes {lamina.kernel} {
  // CHECK: store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  %p = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %c = arith.cmpi sle, %j, %i : index
    %n = arith.constant 0.0 : f32
    %y = arith.select %c, %x, %n : f32
    loop.yield %y : f32
  }
  // CHECK: lamina.bounds = #loop.bounds<2,
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %p, %o : tensor<64x64xf32>, tensor<64x32xf32>
}

// A product of fewer terms than the rows that it reads have: a block of one is none of the other.
// CHECK-LABEL: @fewer_terms
// CHECK-NOT: lamina.bounds
func.func private @fewer_terms(%x: tensor<64x64xf32>, %w: tensor<1x16x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %e = loop.generic (i, j) in [64, 64] reads(%x[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %c = arith.cmpi sle, %j, %i : index
    %z = arith.constant 0.0 : f32
    %y = arith.select %c, %v, %z : f32
    loop.yield %y : f32
  }
  %r = loop.generic (i, n, j) in [64, 32, 16] reads(%e[i, j] : tensor<64x64xf32>, %w[n floordiv 32, j, n mod 32] : tensor<1x16x32xf32>) writes([i, n] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}

// As many terms, for comparison.
// CHECK-LABEL: @as_many_terms
// CHECK: lamina.bounds = #loop.bounds<1,
// CHECK: lamina.bounds = #loop.bounds<2,
func.func private @as_many_terms(%x: tensor<64x64xf32>, %w: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %e = loop.generic (i, j) in [64, 64] reads(%x[i, j] : tensor<64x64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %j = loop.index 1 : index
    %i = loop.index 0 : index
    %c = arith.cmpi sle, %j, %i : index
    %z = arith.constant 0.0 : f32
    %y = arith.select %c, %v, %z : f32
    loop.yield %y : f32
  }
  %r = loop.generic (i, n, j) in [64, 32, 64] reads(%e[i, j] : tensor<64x64xf32>, %w[n floordiv 32, j, n mod 32] : tensor<1x64x32xf32>) writes([i, n] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %r : tensor<64x32xf32>
}
