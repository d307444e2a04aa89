// RUN: lamina-opt %s -p sink-row-factors | filecheck %s
// RUN: lamina-opt %s -p sink-row-factors,sink-row-factors | filecheck %s

// The exponentials are multiplied as they are; their sum divides the product.
// CHECK-LABEL: @softmax
func.func private @softmax(%s: tensor<64x64xf32>, %v: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %m = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: %[[e:.*]] = loop.generic {{.*}} writes([d0, d1] store
  %e = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  // CHECK: %[[t:.*]] = loop.generic {{.*}} writes([d0] add
  %t = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %p = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>, %t[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  // CHECK: %[[o:.*]] = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%[[e]][d0, d2] : tensor<64x64xf32>, %v
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK: %[[r:.*]] = loop.generic (d0, d1) in [64, 32] reads(%[[o]][d0, d1] : tensor<64x32xf32>, %[[t]][d0] : tensor<64xf32>) writes([d0, d1] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>}
  // CHECK: arith.divf
  // CHECK: func.return %[[r]]
  func.return %o : tensor<64x32xf32>
}

// Numbers that are no exponentials below 1 may be as large as their row's factor is small.
// CHECK-LABEL: @any
func.func private @any(%s: tensor<64x64xf32>, %t: tensor<64xf32>, %v: tensor<1x64x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  // CHECK: %[[p:.*]] = loop.generic
  // CHECK: arith.divf
  %p = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>, %t[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  // CHECK: %[[o:.*]] = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%[[p]]
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x64x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  // CHECK: func.return %[[o]]
  func.return %o : tensor<64x32xf32>
}

// Weights that matrix tiles read are rounded: exponentials are, in a nest of their own.
// CHECK-LABEL: @rounded
func.func private @rounded(%s: tensor<64x64xf32>, %v: tensor<2x32x16x2xbf16>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %m = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: %[[e:.*]] = loop.generic {{.*}} writes([d0, d1] store : tensor<64x64xf32>)
  %e = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  // CHECK: %[[t:.*]] = loop.generic {{.*}} reads(%[[e]]{{.*}} writes([d0] add
  %t = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  // CHECK: %[[h:.*]] = loop.generic (d0, d1) in [64, 64] reads(%[[e]][d0, d1] : tensor<64x64xf32>) writes([d0, d1] store : tensor<64x64xbf16>)
  // CHECK: arith.truncf {{.*}} {lamina.implicit, lamina.flushed} : f32 to bf16
  %p = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>, %t[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    %h = arith.truncf %z {lamina.implicit, lamina.flushed} : f32 to bf16
    loop.yield %h : bf16
  }
  // CHECK: %[[o:.*]] = loop.generic (d0, d1, d2) in [64, 32, 64] reads(%[[h]][d0, d2] : tensor<64x64xbf16>, %v
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xbf16>, %v[f floordiv 16, j floordiv 2, f mod 16, j mod 2] : tensor<2x32x16x2xbf16>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %c = arith.mulf %x, %y : f32
    loop.yield %c : f32
  }
  // CHECK: %[[r:.*]] = loop.generic (d0, d1) in [64, 32] reads(%[[o]][d0, d1] : tensor<64x32xf32>, %[[t]][d0] : tensor<64xf32>)
  // CHECK: arith.divf
  // CHECK-NOT: arith.truncf
  // CHECK: func.return %[[r]]
  func.return %o : tensor<64x32xf32>
}

// A rounding that the program asked for is of the weights themselves.
// CHECK-LABEL: @asked
func.func private @asked(%s: tensor<64x64xf32>, %v: tensor<2x32x16x2xbf16>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %m = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %e = loop.generic (i, j) in [64, 64] reads(%s[i, j] : tensor<64x64xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %t = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %p = loop.generic (i, j) in [64, 64] reads(%e[i, j] : tensor<64x64xf32>, %t[i] : tensor<64xf32>) writes([i, j] store : tensor<64x64xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    %h = arith.truncf %z : f32 to bf16
    loop.yield %h : bf16
  }
  // CHECK: %[[o:.*]] = loop.generic (d0, d1, d2) in [64, 32, 64]
  %o = loop.generic (i, f, j) in [64, 32, 64] reads(%p[i, j] : tensor<64x64xbf16>, %v[f floordiv 16, j floordiv 2, f mod 16, j mod 2] : tensor<2x32x16x2xbf16>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%a: bf16, %b: bf16):
    %x = arith.extf %a : bf16 to f32
    %y = arith.extf %b : bf16 to f32
    %c = arith.mulf %x, %y : f32
    loop.yield %c : f32
  }
  // CHECK-NOT: loop.generic
  // CHECK: func.return %[[o]]
  func.return %o : tensor<64x32xf32>
}
