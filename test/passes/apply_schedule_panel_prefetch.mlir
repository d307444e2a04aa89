// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// Two tiles of ten rows. Of the same panel, lines sixteen terms ahead are fetched for each term. Of the next one, 256
// elements for each of the tiles: 13 for a row, 16 for a term.
func.func private @panels(%a: memref<20x64xf32>, %b: memref<4x64x32xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 20>]} {
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x64x32xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 10, prefetch = [1], prefetch_bytes = 2048, prefetch_panels = 1>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @panels
// CHECK-DAG:     [[AHEAD:%\S+]] = arith.constant 512 : index
// CHECK-DAG:     [[PANEL:%\S+]] = arith.constant 2048 : index
// CHECK-DAG:     [[ROW:%\S+]] = arith.constant 103 : index
// CHECK-DAG:     [[TERM:%\S+]] = arith.constant 16 : index
// CHECK:         scf.for
// CHECK:         loop.prefetch %{{.*}} {locality = 3 : i64}
// CHECK:         loop.prefetch %{{.*}} {locality = 3 : i64}
// CHECK:         loop.prefetch %{{.*}} {locality = 2 : i64}
// CHECK-NOT:     loop.prefetch %{{.*}} {locality = 2 : i64}
// CHECK:         vector.fma
// CHECK:         loop.prefetch %{{.*}} {locality = 3 : i64}

// -----

func.func private @rows(%a: memref<20x64xf32>, %b: memref<4x64x32xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 20>]} {
  // expected-error@below {{prefetch = [0]: of a packed product, [1] may be}}
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x64x32xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 10, prefetch = [0]>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @nothing(%a: memref<20x64xf32>, %b: memref<4x64x32xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<block = 20>]} {
  // expected-error@below {{prefetch_bytes: only with prefetch, of reads [0, 1]}}
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[n floordiv 32, k, n mod 32] : memref<4x64x32xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 10, prefetch_bytes = 64>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

// Where tasks pack panels, the next one is not there yet.
func.func private @packed_in_tasks(%a: memref<20x64xf32>, %b: memref<64x128xf32>, %c: memref<20x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<compute_at = panel, block = 20>]} {
  // expected-error@below {{prefetch_panels: of a product where the terms of a panel follow one another, and tasks do not pack it}}
  loop.generic (m, n, k) in [20, 128, 64] reads(%a[m, k] : memref<20x64xf32>, %b[k, n] : memref<64x128xf32>) writes([m, n] add into %c : memref<20x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32, pack_at = task>, lamina.schedule = #loop.schedule<vectorize = d1 x 16, unroll = 2, jam = d0 x 10, prefetch_panels = 1>} {
  ^bb0(%x: f32, %y: f32):
    %v = arith.mulf %x, %y : f32
    loop.yield %v : f32
  }
  func.return
}

// -----

func.func private @no_product(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<>]} {
  // expected-error@below {{prefetch_panels: only of packed products}}
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<prefetch_panels = 1>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
