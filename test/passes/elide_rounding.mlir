// RUN: lamina-opt %s -p elide-rounding | filecheck %s

// Inside a body an implicit rounding that is widened again goes; the last one stays.

// CHECK-LABEL: @body
// CHECK:       ^bb0(%a: bf16):
// CHECK-NEXT:    [[W:%\S+]] = arith.extf %a : bf16 to f32
// CHECK-NEXT:    [[S:%\S+]] = arith.addf [[W]], [[W]] : f32
// CHECK-NEXT:    [[M:%\S+]] = arith.mulf [[S]], [[S]] : f32
// CHECK-NEXT:    arith.truncf [[M]] {lamina.implicit} : f32 to bf16
// CHECK-NEXT:    loop.yield
func.func @body(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %y = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xbf16>) writes([d0] store : tensor<4xbf16>) {
  ^bb0(%a: bf16):
    %w = arith.extf %a : bf16 to f32
    %s = arith.addf %w, %w : f32
    %r = arith.truncf %s {lamina.implicit} : f32 to bf16
    %v = arith.extf %r : bf16 to f32
    %m = arith.mulf %v, %v : f32
    %t = arith.truncf %m {lamina.implicit} : f32 to bf16
    loop.yield %t : bf16
  }
  func.return %y : tensor<4xbf16>
}

// A rounding that the program asks for stays.

// CHECK-LABEL: @explicit
// CHECK:         arith.truncf {{.*}} : f32 to bf16
// CHECK-NEXT:    arith.extf
// CHECK-NEXT:    arith.subf
func.func @explicit(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xf32>) writes([d0] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    %r = arith.truncf %a : f32 to bf16
    %v = arith.extf %r : bf16 to f32
    %m = arith.subf %a, %v : f32
    loop.yield %m : f32
  }
  func.return %y : tensor<4xf32>
}

// A choice of rounded values is made of the exact ones.

// CHECK-LABEL: @choice
// CHECK:         [[A:%\S+]] = arith.constant 2.0
// CHECK:         [[E:%\S+]] = arith.extf %a : bf16 to f32
// CHECK:         arith.select %on, [[A]], [[E]] : f32
// CHECK-NEXT:    loop.yield
func.func @choice(%x: tensor<4xbf16>, %c: tensor<4xi1>) -> tensor<4xf32> {
  %y = loop.generic (d0) in [4] reads(%x[d0] : tensor<4xbf16>, %c[d0] : tensor<4xi1>)
      writes([d0] store : tensor<4xf32>) {
  ^bb0(%a: bf16, %on: i1):
    %one = arith.constant 1.0 : f32
    %s = arith.addf %one, %one : f32
    %r = arith.truncf %s {lamina.implicit} : f32 to bf16
    %v = arith.select %on, %r, %a : bf16
    %m = arith.extf %v : bf16 to f32
    loop.yield %m : f32
  }
  func.return %y : tensor<4xf32>
}

// What passes from nest to nest in a kernel is kept in f32, its pad too; what the kernel returns
// is rounded, for the nests inside as well.

// CHECK-LABEL: @kernel
// CHECK:       [[T:%[^,]+]], [[K:%\S+]] = loop.generic {{.*}} writes([d0] store : tensor<4xf32>, [d0] store : tensor<4xbf16>)
// CHECK:       reads([[T]][d0 + -1] pad 0.000000e+00 : f32 : tensor<4xf32>, [[K]][d0] : tensor<4xbf16>)
// CHECK-NEXT:  ^bb0(%p: f32, %q: bf16):
// CHECK-NEXT:    [[Q:%\S+]] = arith.extf %q : bf16 to f32
// CHECK-NEXT:    arith.addf %p, [[Q]] : f32
func.func @kernel(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
  %k0, %k1 = loop.kernel(%y = %x : tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xf32>) {
    %t, %u = loop.generic (d0) in [4] reads(%y[d0] : tensor<4xf32>)
        writes([d0] store : tensor<4xbf16>, [d0] store : tensor<4xbf16>) {
    ^bb0(%a: f32):
      %s = arith.mulf %a, %a : f32
      %r = arith.truncf %s {lamina.implicit} : f32 to bf16
      loop.yield %r, %r : bf16, bf16
    }
    %z = loop.generic (d0) in [4]
        reads(%t[d0 - 1] pad 0.0 : bf16 : tensor<4xbf16>, %u[d0] : tensor<4xbf16>)
        writes([d0] store : tensor<4xf32>) {
    ^bb0(%p: bf16, %q: bf16):
      %v = arith.extf %p : bf16 to f32
      %w = arith.extf %q : bf16 to f32
      %m = arith.addf %v, %w : f32
      loop.yield %m : f32
    }
    loop.return %u, %z : tensor<4xbf16>, tensor<4xf32>
  }
  func.return %k0, %k1 : tensor<4xbf16>, tensor<4xf32>
}

// What matrix tiles alone read stays rounded, subnormal numbers to zero as the tiles take them.

// CHECK-LABEL: @tiles
// CHECK:       writes([d0, d1] store : tensor<16x32xbf16>)
// CHECK:       arith.truncf %{{.*}} {lamina.implicit, lamina.flushed} : f32 to bf16
func.func @tiles(%x: tensor<16x32xf32>, %b: tensor<2x16x16x2xbf16>) -> tensor<16x32xf32> {
  %k = loop.kernel(%y = %x : tensor<16x32xf32>, %v = %b : tensor<2x16x16x2xbf16>) -> (tensor<16x32xf32>) {
    %t = loop.generic (i, j) in [16, 32] reads(%y[i, j] : tensor<16x32xf32>)
        writes([i, j] store : tensor<16x32xbf16>) {
    ^bb0(%a: f32):
      %r = arith.truncf %a {lamina.implicit} : f32 to bf16
      loop.yield %r : bf16
    }
    %z = loop.generic (i, f, j) in [16, 32, 32]
        reads(%t[i, j] : tensor<16x32xbf16>, %v[f floordiv 16, j floordiv 2, f mod 16, j mod 2] : tensor<2x16x16x2xbf16>)
        writes([i, f] add : tensor<16x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
    ^bb0(%p: bf16, %q: bf16):
      %l = arith.extf %p : bf16 to f32
      %w = arith.extf %q : bf16 to f32
      %m = arith.mulf %l, %w : f32
      loop.yield %m : f32
    }
    loop.return %z : tensor<16x32xf32>
  }
  func.return %k : tensor<16x32xf32>
}
