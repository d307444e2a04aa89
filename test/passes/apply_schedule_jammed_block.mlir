// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// A depthwise convolution in front of a product, jammed along the pixels of a block: seven of them
// share each vector of weights, and what follows of their sums is computed in registers. All of the
// block is made before the product begins.
func.func private @depthwise(%x: memref<16x16x32xf32>, %w: memref<3x3x32xf32>, %b: memref<32xf32>, %m: memref<1x32x16xf32>, %y: memref<14x14x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = block, block = 7>]} {
  %s = memref.alloc() : memref<14x14x32xf32>
  loop.generic (y, x, c, i, j) in [14, 14, 32, 3, 3] reads(%x[y + i, x + j, c] : memref<16x16x32xf32>, %w[i, j, c] : memref<3x3x32xf32>) writes([y, x, c] add into %s : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  %t = memref.alloc() : memref<14x14x32xf32>
  loop.generic (y, x, c) in [14, 14, 32] reads(%s[y, x, c] : memref<14x14x32xf32>, %b[c] : memref<32xf32>) writes([y, x, c] store into %t : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.addf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [14, 14, 16, 32] reads(%t[y, x, k] : memref<14x14x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<14x14x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @depthwise
// CHECK:         memref.alloca() {alignment = 64 : i64} : memref<224xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         scf.for
// CHECK-COUNT-7: vector.load %{{.*}} : memref<8192xf32>, vector<16xf32>
// CHECK-COUNT-7: vector.store %{{.*}} : memref<224xf32>, vector<16xf32>
// CHECK-NOT:     vector.store %{{.*}} : memref<224xf32>
// CHECK:         vector.fma

// -----

func.func private @more_than_a_block(%x: memref<16x16x32xf32>, %w: memref<3x3x32xf32>, %m: memref<1x32x16xf32>, %y: memref<14x14x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = block, block = 5>]} {
  %s = memref.alloc() : memref<14x14x32xf32>
  // expected-error@below {{jam = d1 x 5: a block may have 4 rows only}}
  loop.generic (y, x, c, i, j) in [14, 14, 32, 3, 3] reads(%x[y + i, x + j, c] : memref<16x16x32xf32>, %w[i, j, c] : memref<3x3x32xf32>) writes([y, x, c] add into %s : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 5>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [14, 14, 16, 32] reads(%s[y, x, k] : memref<14x14x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<14x14x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 4>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// What shares tiles of totals is in no streams of its own.
func.func private @streams(%x: memref<8x64x32xf32>, %y: memref<8x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  %s = memref.alloc() : memref<8x32xf32>
  loop.generic (y, c, k) in [8, 32, 64] reads(%x[y, k, c] : memref<8x64x32xf32>) writes([y, c] add into %s : memref<8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, tile = d1 x 32, rfactor = d2 x 4>} {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  // expected-error@below {{compute_with: only of totals whose vectors run along a kept dimension, in one stream}}
  loop.generic (y, c) in [8, 32] reads(%s[y, c] : memref<8x32xf32>) writes([y, c] store into %y : memref<8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%p: f32):
    %v = arith.negf %p : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// For the line of results behind, a tile asks for what windows read anew: in steps of one a pixel of
// the last line for each of theirs.
func.func private @fetched(%x: memref<16x16x32xf32>, %w: memref<3x3x32xf32>, %m: memref<1x32x16xf32>, %y: memref<14x14x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = block, block = 7>]} {
  %s = memref.alloc() : memref<14x14x32xf32>
  loop.generic (y, x, c, i, j) in [14, 14, 32, 3, 3] reads(%x[y + i, x + j, c] : memref<16x16x32xf32>, %w[i, j, c] : memref<3x3x32xf32>) writes([y, x, c] add into %s : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7, prefetch_rows = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [14, 14, 16, 32] reads(%s[y, x, k] : memref<14x14x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<14x14x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @fetched
// CHECK-COUNT-7: loop.prefetch %{{.*}} {locality = 2 : i64} : memref<8192xf32>
// CHECK-NOT:     loop.prefetch

// -----

// In steps of two it is two pixels of two lines.
func.func private @fetched_in_steps(%x: memref<29x29x32xf32>, %w: memref<3x3x32xf32>, %m: memref<1x32x16xf32>, %y: memref<14x14x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = block, block = 7>]} {
  %s = memref.alloc() : memref<14x14x32xf32>
  loop.generic (y, x, c, i, j) in [14, 14, 32, 3, 3] reads(%x[y * 2 + i, x * 2 + j, c] : memref<29x29x32xf32>, %w[i, j, c] : memref<3x3x32xf32>) writes([y, x, c] add into %s : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7, prefetch_rows = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [14, 14, 16, 32] reads(%s[y, x, k] : memref<14x14x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<14x14x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:    @fetched_in_steps
// CHECK-COUNT-28: loop.prefetch %{{.*}} {locality = 2 : i64} : memref<26912xf32>
// CHECK-NOT:      loop.prefetch

// -----

// Windows of one line slide along no other: nothing of the next line has been read, nor is new.
func.func private @one_line(%x: memref<14x16x32xf32>, %w: memref<3x32xf32>, %m: memref<1x32x16xf32>, %y: memref<14x14x16xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = block, block = 7>]} {
  %s = memref.alloc() : memref<14x14x32xf32>
  // expected-error@below {{prefetch_rows: with jam, of a read from outside of the kernel whose windows slide from row to row}}
  loop.generic (y, x, c, j) in [14, 14, 32, 3] reads(%x[y, x + j, c] : memref<14x16x32xf32>, %w[j, c] : memref<3x32xf32>) writes([y, x, c] add into %s : memref<14x14x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7, prefetch_rows = 1>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n, k) in [14, 14, 16, 32] reads(%s[y, x, k] : memref<14x14x32xf32>, %m[n floordiv 16, k, n mod 16] : memref<1x32x16xf32>) writes([y, x, n] add into %y : memref<14x14x16xf32>) attributes {lamina.packing = #loop.packing<panel = 16>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 1, jam = d1 x 7>} {
  ^bb0(%p: f32, %q: f32):
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
