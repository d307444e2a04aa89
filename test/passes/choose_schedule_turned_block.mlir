// RUN: lamina-opt %s -p 'choose-schedule{target=x86-64-v4}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target=x86-64-v4},apply-schedule' --split-input-file | filecheck %s --check-prefix CODE

// What is copied for a product lies along its rows in memory: squares of a block of rows are turned in registers.
func.func private @turned(%x: memref<64x64xf32>, %b: memref<2x64x32xf32>, %n: memref<i64>, %m: memref<64x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, k) in [64, 64] reads(%x[k, i] : memref<64x64xf32>) writes([i, k] store into %m : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %w = math.absf %v : f32
    loop.yield %w : f32
  }
  loop.generic (i, n, k) in [64, 64, 64] reads(%m[i, k] : memref<64x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x64x32xf32>) writes([i, n] add into %c : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @turned
// CHECK:       #loop.schedule<vectorize = d1 x 16, tile = d0 x {{[0-9]+}}, transpose = d0
// CODE-LABEL:  @turned
// CODE:        vector.shuffle
// CODE-NOT:    vector.gather
// CODE:        vector.fma

// -----

// What lies along what is summed is swept row by row.
func.func private @straight(%x: memref<64x64xf32>, %b: memref<2x64x32xf32>, %m: memref<64x64xf32>, %c: memref<64x64xf32>) attributes {lamina.kernel} {
  loop.generic (i, k) in [64, 64] reads(%x[i, k] : memref<64x64xf32>) writes([i, k] store into %m : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %w = math.absf %v : f32
    loop.yield %w : f32
  }
  loop.generic (i, n, k) in [64, 64, 64] reads(%m[i, k] : memref<64x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<2x64x32xf32>) writes([i, n] add into %c : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = call>} {
  ^bb0(%p: f32, %q: f32):
    %r = arith.mulf %p, %q : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @straight
// CHECK-NOT:   transpose
// CODE-LABEL:  @straight
// CODE-NOT:    vector.shuffle
