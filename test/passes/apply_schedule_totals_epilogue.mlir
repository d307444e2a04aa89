// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' --split-input-file --verify-diagnostics | filecheck %s --check-prefix CHOSEN

// What follows a product is computed of its register tiles: of each vector of totals, before it is
// stored. Nothing of the product is.
func.func private @bias(%a: memref<26x40xf32>, %b: memref<1x40x32xf32>, %c: memref<32xf32>, %y: memref<26x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 26>]} {
  %p = memref.alloc() : memref<26x32xf32>
  loop.generic (m, n, k) in [26, 32, 40] reads(%a[m, k] : memref<26x40xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x40x32xf32>) writes([m, n] add into %p : memref<26x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 3>} {
  ^bb0(%l: f32, %r: f32):
    %v = arith.mulf %l, %r : f32
    loop.yield %v : f32
  }
  loop.generic (m, n) in [26, 32] reads(%p[m, n] : memref<26x32xf32>, %c[n] : memref<32xf32>) writes([m, n] store into %y : memref<26x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%l: f32, %r: f32):
    %v = arith.addf %l, %r : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL:   @bias
// CHECK-NOT:     memref.alloc
// CHECK:         vector.fma
// CHECK:         [[R:%\S+]] = arith.addf %{{.*}} : vector<16xf32>
// CHECK:         vector.store [[R]], %{{.*}} : memref<832xf32>, vector<16xf32>
// CHOSEN-LABEL:  @bias
// CHOSEN:        #loop.schedule<compute_with>

// -----

// A longer body would need the registers that hold the totals: it runs on a panel in scratch.
func.func private @exponential(%a: memref<26x40xf32>, %b: memref<1x40x32xf32>, %y: memref<26x32xf32>) attributes {lamina.kernel} {
  %p = memref.alloc() : memref<26x32xf32>
  loop.generic (m, n, k) in [26, 32, 40] reads(%a[m, k] : memref<26x40xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x40x32xf32>) writes([m, n] add into %p : memref<26x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%l: f32, %r: f32):
    %v = arith.mulf %l, %r : f32
    loop.yield %v : f32
  }
  loop.generic (m, n) in [26, 32] reads(%p[m, n] : memref<26x32xf32>) writes([m, n] store into %y : memref<26x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%l: f32):
    %v = math.exp %l : f32
    loop.yield %v : f32
  }
  func.return
}
// CHOSEN-LABEL:  @exponential
// CHOSEN-NOT:    compute_with

// -----

func.func private @loops_of_its_own(%a: memref<26x40xf32>, %b: memref<1x40x32xf32>, %y: memref<26x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 26>]} {
  %p = memref.alloc() : memref<26x32xf32>
  loop.generic (m, n, k) in [26, 32, 40] reads(%a[m, k] : memref<26x40xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x40x32xf32>) writes([m, n] add into %p : memref<26x32xf32>) attributes {lamina.packing = #loop.packing<panel = 32>, lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 3>} {
  ^bb0(%l: f32, %r: f32):
    %v = arith.mulf %l, %r : f32
    loop.yield %v : f32
  }
  // expected-error@below {{unroll: of totals that another nest computes}}
  loop.generic (m, n) in [26, 32] reads(%p[m, n] : memref<26x32xf32>) writes([m, n] store into %y : memref<26x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<unroll = 2, compute_with>} {
  ^bb0(%l: f32):
    %v = arith.negf %l : f32
    loop.yield %v : f32
  }
  func.return
}
