// RUN: lamina-opt %s -p parallelize,jam --split-input-file --verify-diagnostics | filecheck %s

// Four sums at each point share what they read of %w; one is left, behind them.
func.func private @sums(%x: memref<8x45x12xf32>, %w: memref<12xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [8, 45, 12] reads(%x[i, j, k] : memref<8x45x12xf32>, %w[k] : memref<12xf32>) writes([i, j] add into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d2 x 4, jam = d1 x 4>} {
  ^bb0(%v: f32, %u: f32):
    %r = arith.mulf %v, %u : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @sums
// CHECK:         loop.generic (d0, d1, d2) in [8, 11, 12] slice(d0 = %[[N:.*]]) reads(%x[d0, d1 * 4, d2]
// CHECK-SAME:    %x[d0, (d1 * 4) + 1, d2]
// CHECK-SAME:    %x[d0, (d1 * 4) + 2, d2]
// CHECK-SAME:    %x[d0, (d1 * 4) + 3, d2]
// CHECK-SAME:    %w[d2] : memref<12xf32>)
// CHECK-SAME:    writes([d0, d1 * 4] add into %y : memref<8x45xf32>, [d0, (d1 * 4) + 1] add into %y
// CHECK-SAME:    lamina.schedule = #loop.schedule<vectorize = d2 x 4>
// CHECK-COUNT-4: arith.mulf
// CHECK:         loop.generic (d0, d1, d2) in [8, 1, 12] slice(d0 = %[[N]]) reads(%x[d0, d1 + 44, d2]
// CHECK-SAME:    writes([d0, d1 + 44] add into %y
// CHECK:         arith.mulf

// -----

// The body's position is that of the whole dimension.
func.func private @position(%y: memref<8x12xindex>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 12] writes([i, j] store into %y : memref<8x12xindex>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<jam = d1 x 2>} {
    %p = loop.index 1 : index
    loop.yield %p : index
  }
  func.return
}
// CHECK-LABEL: @position
// CHECK:         loop.generic (d0, d1) in [8, 6]
// CHECK:         %[[P:.*]] = loop.index 1
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         arith.muli %[[P]], %[[TWO]]

// -----

func.func private @reduced(%x: memref<8x45xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<jam = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: jam = d1: kept, and a loop of the task: none

// -----

func.func private @in_place(%y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%y[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<jam = d1 x 4>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: jam = d1: the nest reads what it writes
