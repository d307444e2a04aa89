// RUN: lamina-opt %s -p parallelize,cache-read --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LOOPS

// What a task reads in jumps is copied first; its scratch is one row.
func.func private @copied(%x: memref<12x8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[k, i, j] : memref<12x8x45xf32>) writes([i, j] add into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 4, cache_read = [0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @copied
// CHECK:         %[[T:.*]] = memref.alloc() {{.*}} : memref<8x45x12xf32>
// CHECK:         "scf.parallel"
// CHECK:         loop.generic (d0, d1, d2) in [8, 45, 12] slice(d0 = %[[N:.*]]) reads(%x[d2, d0, d1]
// CHECK-SAME:    writes([d0, d1, d2] store into %[[T]]
// CHECK:         loop.generic (d0, d1, d2) in [8, 45, 12] slice(d0 = %[[N]]) reads(%[[T]][d0, d1, d2]
// CHECK-SAME:    lamina.schedule = #loop.schedule<vectorize = d2 x 4>
// LOOPS-LABEL: @copied
// LOOPS:         "scf.parallel"
// LOOPS:         memref.alloca() {{.*}} : memref<540xf32>

// -----

// Padding is copied as it is read.
func.func private @padded(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j + 1] pad 0.0 : f32 : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<cache_read = [0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @padded
// CHECK:         reads(%x[d0, d1 + 1] pad 0.000000e+00 : f32
// CHECK:         reads(%{{.*}}[d0, d1] : memref<8x45xf32>)

// -----

func.func private @which(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<cache_read = [1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: loop.generic: lamina.schedule: cache_read = [1] of 1 reads
