// RUN: lamina-opt %s -p parallelize,rfactor --split-input-file --verify-diagnostics | filecheck %s

// Three parts, fifteen apart, are added up in a buffer of the task, then together.
func.func private @sum(%x: memref<8x45x12xf32>, %y: memref<8x12xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[i, j, k] : memref<8x45x12xf32>) writes([i, k] add into %y : memref<8x12xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, rfactor = d1 x 3>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @sum
// CHECK:         %[[T:.*]] = memref.alloc() {{.*}} : memref<8x12x3xf32>
// CHECK:         "scf.parallel"
// CHECK:         loop.generic (d0, d1, d2, d3) in [8, 15, 12, 3] slice(d0 = %[[N:.*]]) reads(%x[d0, d1 + (d3 * 15), d2]
// CHECK-SAME:    writes([d0, d2, d3] add into %[[T]]
// CHECK-SAME:    lamina.schedule = #loop.schedule<vectorize = d1 x 4>
// CHECK:         loop.generic (d0, d1, d2) in [8, 12, 3] slice(d0 = %[[N]]) reads(%[[T]][d0, d1, d2]
// CHECK-SAME:    writes([d0, d1] add into %y

// -----

func.func private @rest(%x: memref<8x45xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<rfactor = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: rfactor: 4 parts of the 45 of d1

// -----

func.func private @kept(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<rfactor = d1 x 3>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: rfactor = d1: dimensions that are reduced: none
