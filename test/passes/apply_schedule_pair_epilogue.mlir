// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// Sums of dot products leave registers as what follows makes of them: no scratch for them. Of 40 columns the last vector has eight.
// CHECK-LABEL: func.func private @dots
// CHECK-NOT:   memref<416xf32>
// CHECK:       loop.dot_pairs
// CHECK:       arith.addf {{.*}} : vector<16xf32>
// CHECK-NEXT:  arith.truncf {{.*}} : vector<16xf32> to vector<16xbf16>
// CHECK:       vector.maskedstore {{.*}} vector<16xbf16>
func.func private @dots(%a: memref<13x64xbf16>, %b: memref<3x32x16x2xbf16>, %e: memref<40xf32>, %c: memref<13x40xbf16>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 13>]} {
  %t = memref.alloc() : memref<13x40xf32>
  loop.generic (m, n, k) in [13, 40, 64] reads(%a[m, k] : memref<13x64xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<3x32x16x2xbf16>) writes([m, n] add into %t : memref<13x40xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 13>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  loop.generic (m, n) in [13, 40] reads(%t[m, n] : memref<13x40xf32>, %e[n] : memref<40xf32>) writes([m, n] store into %c : memref<13x40xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.truncf %v : f32 to bf16
    loop.yield %w : bf16
  }
  func.return
}

// -----

// Those of matrix tiles are no vectors.
func.func private @tiles(%a: memref<13x64xbf16>, %b: memref<3x32x16x2xbf16>, %e: memref<40xf32>, %c: memref<13x40xbf16>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 13>]} {
  %t = memref.alloc() : memref<13x40xf32>
  loop.generic (m, n, k) in [13, 40, 64] reads(%a[m, k] : memref<13x64xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<3x32x16x2xbf16>) writes([m, n] add into %t : memref<13x40xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pairs = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  // expected-error@below {{compute_with: of totals in register tiles of vectors}}
  loop.generic (m, n) in [13, 40] reads(%t[m, n] : memref<13x40xf32>, %e[n] : memref<40xf32>) writes([m, n] store into %c : memref<13x40xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.addf %x, %y : f32
    %w = arith.truncf %v : f32 to bf16
    loop.yield %w : bf16
  }
  func.return
}

// -----

// A single vector of sums would wait for each dot product: eight pairs of terms have sums of their own, added up behind 32 terms.
// CHECK-LABEL: func.func private @one_row
// CHECK-COUNT-8: loop.dot_pairs
// CHECK-NOT:     loop.dot_pairs
// CHECK-COUNT-8: arith.addf {{.*}} : vector<16xf32>
// CHECK-NOT:     arith.addf {{.*}} : vector<16xf32>
// CHECK:         vector.store
func.func private @one_row(%a: memref<1x64xbf16>, %b: memref<2x32x16x2xbf16>, %c: memref<1x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<>]} {
  loop.generic (m, n, k) in [1, 32, 64] reads(%a[m, k] : memref<1x64xbf16>, %b[n floordiv 16, k floordiv 2, n mod 16, k mod 2] : memref<2x32x16x2xbf16>) writes([m, n] add into %c : memref<1x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32, pairs = 1>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 1>} {
  ^bb0(%h: bf16, %g: bf16):
    %p = arith.extf %h : bf16 to f32
    %q = arith.extf %g : bf16 to f32
    %v = arith.mulf %p, %q : f32
    loop.yield %v : f32
  }
  func.return
}
