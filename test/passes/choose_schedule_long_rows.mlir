// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4;cores=2"}' | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4;cores=2"},apply-schedule' | filecheck %s --check-prefix LOOPS

// Half of the columns are a task, but never more than a clause may say.
// CHECK-LABEL: @many
// CHECK-SAME:    #loop.rows<parallel, inner = [0], tile = 1048576>
// LOOPS-LABEL: @many
func.func private @many(%x: memref<2x9000000xf32>, %out: memref<9000000xf32>) attributes {lamina.kernel} {
  loop.generic (j, i) in [9000000, 2] reads(%x[i, j] : memref<2x9000000xf32>) writes([j] add into %out : memref<9000000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}

// CHECK-LABEL: @fewer
// CHECK-SAME:    #loop.rows<parallel, inner = [0], tile = 1000000>
func.func private @fewer(%x: memref<2x2000000xf32>, %out: memref<2000000xf32>) attributes {lamina.kernel} {
  loop.generic (j, i) in [2000000, 2] reads(%x[i, j] : memref<2x2000000xf32>) writes([j] add into %out : memref<2000000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
