// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// Of a panel, 8 of 24 terms are multiplied by both lines before those behind them: the first block, one in a loop that runs
// once, and the last, each with its loop over lines. Sums of three rows a line wait in between.
func.func private @windows(%a: memref<2x5x8xf32>, %b: memref<2x3x8x32xf32>, %c: memref<2x3x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel, block = 3, columns = 2, inner_rows = 1>]} {
  loop.generic (y, x, n, s, k) in [2, 3, 64, 3, 8] reads(%a[y, x + s, k] : memref<2x5x8xf32>, %b[n floordiv 32, s, k, n mod 32] : memref<2x3x8x32xf32>) writes([y, x, n] add into %c : memref<2x3x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 3, terms = 8>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @windows
// CHECK-DAG:     [[LINES:%\S+]] = arith.constant 2 : index
// CHECK:         "scf.parallel"({{%\S+}}, [[LINES]], {{%\S+}})
// CHECK:         [[SUMS:%\S+]] = memref.alloca() {{.*}}: memref<192xf32>
// CHECK:         scf.for {{.*}} to [[LINES]] step
// CHECK:           vector.fma
// CHECK:           vector.store {{%\S+}}, [[SUMS]]
// CHECK:         scf.for {{.*}} to [[LINES]] step
// CHECK:           vector.load [[SUMS]]
// CHECK:           vector.store {{%\S+}}, [[SUMS]]
// CHECK:         scf.for {{.*}} to [[LINES]] step
// CHECK:           vector.load [[SUMS]]
// CHECK-NOT:       vector.store {{%\S+}}, [[SUMS]]

// -----

// Groups are batches: no panel is that of two of them.
func.func private @groups(%a: memref<2x3x8xf32>, %b: memref<2x1x8x32xf32>, %c: memref<2x3x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 3, inner_rows = 1>]} {
  // expected-error@below {{inner_rows = 1: in front of the last row stand 0 of the product's}}
  loop.generic (g, x, n, k) in [2, 3, 32, 8] reads(%a[g, x, k] : memref<2x3x8xf32>, %b[g, n floordiv 32, k, n mod 32] : memref<2x1x8x32xf32>) writes([g, x, n] add into %c : memref<2x3x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 3>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @whole_rows(%a: memref<2x3x8xf32>, %b: memref<1x8x32xf32>, %c: memref<2x3xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 3, inner_rows = 1>]} {
  %p = memref.alloc() : memref<2x3x32xf32>
  // expected-error@below {{inner_rows = 1: of products computed at panels, along rows all of which count}}
  loop.generic (y, x, n, k) in [2, 3, 32, 8] reads(%a[y, x, k] : memref<2x3x8xf32>, %b[n floordiv 32, k, n mod 32] : memref<1x8x32xf32>) writes([y, x, n] add into %p : memref<2x3x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 3>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  loop.generic (y, x, n) in [2, 3, 32] reads(%p[y, x, n] : memref<2x3x32xf32>) writes([y, x] max into %c : memref<2x3xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @unequal(%a: memref<2x5x8xf32>, %b: memref<2x3x8x32xf32>, %c: memref<2x3x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 3, inner_rows = 1>]} {
  // expected-error@below {{terms = 12: a sum over 3 x 8 may be cut in 1, 2, 4, 8}}
  loop.generic (y, x, n, s, k) in [2, 3, 64, 3, 8] reads(%a[y, x + s, k] : memref<2x5x8xf32>, %b[n floordiv 32, s, k, n mod 32] : memref<2x3x8x32xf32>) writes([y, x, n] add into %c : memref<2x3x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d2 x 16, unroll = 2, jam = d1 x 3, terms = 12>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
