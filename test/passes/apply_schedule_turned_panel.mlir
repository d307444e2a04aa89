// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics

// Vectors along the rows of a product are of one nest behind it: here there are two.
func.func private @two(%a: memref<64x32xf32>, %b: memref<2x32x32xf32>, %p: memref<64x64xf32>, %q: memref<64x64xf32>, %r: memref<64x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 64>]} {
  %s = memref.alloc() : memref<64x64xf32>
  loop.generic (m, n, k) in [64, 64, 32] reads(%a[m, k] : memref<64x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>) writes([m, n] add into %s : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  // expected-error@+1 {{vectorize: along rows only of one nest behind a product whose rows are taken in blocks}}
  loop.generic (n, m) in [64, 64] reads(%s[m, n] : memref<64x64xf32>) writes([n, m] store into %q : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, transpose = d0>} {
  ^bb0(%x: f32):
    %v = math.absf %x : f32
    loop.yield %v : f32
  }
  loop.generic (n, m) in [64, 64] reads(%s[m, n] : memref<64x64xf32>) writes([n, m] store into %r : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, transpose = d0>} {
  ^bb0(%x: f32):
    %v = arith.negf %x : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Squares are of the dimension that is contiguous in the panel: d0.
func.func private @other(%a: memref<64x32xf32>, %b: memref<2x32x32xf32>, %q: memref<64x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 64>]} {
  %s = memref.alloc() : memref<64x64xf32>
  loop.generic (m, n, k) in [64, 64, 32] reads(%a[m, k] : memref<64x32xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x32x32xf32>) writes([m, n] add into %s : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  // expected-error@+1 {{transpose: here d0, with vectors along d1}}
  loop.generic (n, m) in [64, 64] reads(%s[m, n] : memref<64x64xf32>) writes([n, m] store into %q : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, transpose = d1>} {
  ^bb0(%x: f32):
    %v = math.absf %x : f32
    loop.yield %v : f32
  }
  func.return
}
