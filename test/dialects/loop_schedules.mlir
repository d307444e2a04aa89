// RUN: lamina-opt %s --split-input-file | lamina-opt --split-input-file | filecheck %s
// RUN: lamina-opt %s --split-input-file --print-op-generic | lamina-opt --split-input-file | filecheck %s

// Clauses in any order; they are printed in one.
func.func private @kernel(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 16, inner = [1], parallel>]} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<unroll = 2, vectorize = d1 x 8, nontemporal = [0], prefetch = [0], prefetch_bytes = 512>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: lamina.schedule = [#loop.rows<parallel, inner = [1], tile = 16>]
// CHECK: lamina.schedule = #loop.schedule<vectorize = d1 x 8, unroll = 2, prefetch = [0], prefetch_bytes = 512, nontemporal = [0]>

// -----

func.func private @all() attributes {a = #loop.schedule<>, b = #loop.schedule<compute_with>, c = #loop.schedule<order = [d1, d0], jam = d0 x 4, rfactor = d2 x 8, cache_read = [0, 1], online = false>, d = #loop.products<parallel = false, compute_at = block, block = 32, columns = 2, outer_columns = loops, inner_rows = 1, order = columns>, e = #loop.pairs<tile = 64>, f = #loop.unstructured<algorithm = selection, lanes = 16, sample = 512>} {
  func.return
}
// CHECK:      a = #loop.schedule<>
// CHECK-SAME: b = #loop.schedule<compute_with>
// CHECK-SAME: c = #loop.schedule<order = [d1, d0], jam = d0 x 4, rfactor = d2 x 8, online = false, cache_read = [0, 1]>
// CHECK-SAME: d = #loop.products<parallel = false, compute_at = block, block = 32, columns = 2, outer_columns = loops, inner_rows = 1, order = columns>
// CHECK-SAME: e = #loop.pairs<tile = 64>
// CHECK-SAME: f = #loop.unstructured<algorithm = selection, lanes = 16, sample = 512>
