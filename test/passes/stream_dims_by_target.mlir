// RUN: lamina-opt %s -p 'stream-dims{target="x86-64-v4;l2_bytes=1048576"}' --split-input-file | filecheck %s --check-prefix SMALL
// RUN: lamina-opt %s -p 'stream-dims{target="x86-64-v4;l2_bytes=2097152"}' --split-input-file | filecheck %s --check-prefix LARGE

// Blocks of 64 rows fill an eighth of the second-level cache.
// SMALL-LABEL: @keys_4096
// SMALL: lamina.stream = #loop.stream<1, block 512>
// LARGE-LABEL: @keys_4096
// LARGE: lamina.stream = #loop.stream<1, block 1024>
func.func private @keys_4096(%q: tensor<64x16xf32>, %k: tensor<128x16x32xf32>, %v: tensor<1x4096x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 4096, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<128x16x32xf32>) writes([i, j] add : tensor<64x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %m = loop.generic (i, j) in [64, 4096] reads(%s[i, j] : tensor<64x4096xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %e = loop.generic (i, j) in [64, 4096] reads(%s[i, j] : tensor<64x4096xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %t = loop.generic (i, j) in [64, 4096] reads(%e[i, j] : tensor<64x4096xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 4096] reads(%e[i, j] : tensor<64x4096xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x4096x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %p = loop.generic (i, f) in [64, 32] reads(%o[i, f] : tensor<64x32xf32>, %t[i] : tensor<64xf32>) writes([i, f] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %p : tensor<64x32xf32>
}

// -----

// Fewer than four blocks are rows as they are.
// SMALL-LABEL: @keys_2048
// SMALL: lamina.stream = #loop.stream<1, block 512>
// LARGE-LABEL: @keys_2048
// LARGE-NOT: lamina.stream
func.func private @keys_2048(%q: tensor<64x16xf32>, %k: tensor<64x16x32xf32>, %v: tensor<1x2048x32xf32>) -> tensor<64x32xf32> attributes {lamina.kernel} {
  %s = loop.generic (i, j, f) in [64, 2048, 16] reads(%q[i, f] : tensor<64x16xf32>, %k[j floordiv 32, f, j mod 32] : tensor<64x16x32xf32>) writes([i, j] add : tensor<64x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %m = loop.generic (i, j) in [64, 2048] reads(%s[i, j] : tensor<64x2048xf32>) writes([i] max : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %e = loop.generic (i, j) in [64, 2048] reads(%s[i, j] : tensor<64x2048xf32>, %m[i] : tensor<64xf32>) writes([i, j] store : tensor<64x2048xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %l: f32):
    %z = arith.subf %x, %l : f32
    %w = math.exp %z : f32
    loop.yield %w : f32
  }
  %t = loop.generic (i, j) in [64, 2048] reads(%e[i, j] : tensor<64x2048xf32>) writes([i] add : tensor<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32):
    loop.yield %x : f32
  }
  %o = loop.generic (i, f, j) in [64, 32, 2048] reads(%e[i, j] : tensor<64x2048xf32>, %v[f floordiv 32, j, f mod 32] : tensor<1x2048x32xf32>) writes([i, f] add : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %c = arith.mulf %a, %b : f32
    loop.yield %c : f32
  }
  %p = loop.generic (i, f) in [64, 32] reads(%o[i, f] : tensor<64x32xf32>, %t[i] : tensor<64xf32>) writes([i, f] store : tensor<64x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%x: f32, %y: f32):
    %z = arith.divf %x, %y : f32
    loop.yield %z : f32
  }
  func.return %p : tensor<64x32xf32>
}
