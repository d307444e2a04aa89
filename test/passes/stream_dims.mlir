// RUN: lamina-opt %s -p 'stream-dims{block=32}' --split-input-file | filecheck %s

// Scores, maximum, exponentials, sums and the second product go through the keys together; what the
// sums divide comes after.
// CHECK-LABEL: @softmax
func.func private @softmax(%q: tensor<64x16xf32>, %k: tensor<5x16x32xf32>, %v: tensor<1x160x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  // CHECK: lamina.stream = #loop.stream<1, block 32>
  %s = loop.generic (i, j, f) in [64, 160, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<5x16x32xf32>) writes([i, j] add : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK: max : tensor<64xf32>) attributes {{.*}}lamina.stream = #loop.stream<1, block 32>
  %m = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: lamina.stream = #loop.stream<1, block 32>
  %e = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  // CHECK: lamina.stream = #loop.stream<1, block 32>
  %t = loop.generic (i, j) in [64, 160] reads(%e[i, j] : tensor<64x160xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: lamina.stream = #loop.stream<2, block 32>
  %o = loop.generic (i, f, j) in [64, 32, 160] reads(%e[i, j] : tensor<64x160xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x160x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK-NOT: lamina.stream
  %p = loop.generic (i, f) in [64, 32] reads(%o[i, f] : tensor<64x32xf32>, %t[i] : tensor<64xf32>) writes([i, f] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %p : tensor<64x32xf32>
}

// -----

// Weights that are divided by their sum need it whole, before the product.
// CHECK-LABEL: @divided
// CHECK-NOT: lamina.stream
func.func private @divided(%q: tensor<64x16xf32>, %k: tensor<5x16x32xf32>, %v: tensor<1x160x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 160, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<5x16x32xf32>) writes([i, j] add : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %t = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %p = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>, %t[i] : tensor<64xf32>) writes([i, j] store : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 160] reads(%p[i, j] : tensor<64x160xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x160x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<64x32xf32>
}

// -----

// The exponentials are less the maximum of something else: they do not scale with it.
// CHECK-LABEL: @other_maximum
// CHECK-NOT: lamina.stream
func.func private @other_maximum(%q: tensor<64x16xf32>, %k: tensor<5x16x32xf32>, %v: tensor<1x160x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 160, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<5x16x32xf32>) writes([i, j] add : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %m = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %e = loop.generic (i, j) in [64, 160] reads(%s[i, j] : tensor<64x160xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x160xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %y = arith.mulf %x, %x : f32
    %z = arith.subf %y, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 160] reads(%e[i, j] : tensor<64x160xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x160x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  func.return %o : tensor<64x32xf32>
}
