// RUN: lamina-opt %s -p parallelize,tile-nests --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p parallelize,tile-nests,apply-schedule --split-input-file --verify-diagnostics | filecheck %s --check-prefix=LOOPS

// The last tile is shorter; the clause goes.
func.func private @tiled(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @tiled
// CHECK:         "scf.parallel"
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK:             loop.generic (d0, d1) in [8, 45] slice(d0 = %[[N]], d1 = %[[T]] x 16)
// CHECK-SAME:        lamina.schedule = #loop.schedule<vectorize = d1 x 4>
// LOOPS-LABEL: @tiled
// LOOPS:         "scf.parallel"
// LOOPS:           scf.for %[[T:.*]] =
// LOOPS:             %[[END:.*]] = arith.addi %[[T]]
// LOOPS:             arith.minsi %[[END]]
// LOOPS:             vector.load

// -----

// Nests that share their loops go together, and what they hand on stays in registers; the sum in
// front of them is one walk.
func.func private @shared(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<8xf32>
  %t = memref.alloc() : memref<8x45xf32>
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %m : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>, %m[i] : memref<8xf32>) writes([i, j] store into %t : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, tile = d1 x 16>} {
  ^bb0(%v: f32, %s: f32):
    %r = arith.subf %v, %s : f32
    loop.yield %r : f32
  }
  loop.generic (i, j) in [8, 45] reads(%t[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%v: f32):
    %r = arith.negf %v : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @shared
// CHECK:         scf.for %[[N:.*]] =
// CHECK:           loop.generic (d0, d1) in [8, 45] slice(d0 = %[[N]]) reads
// CHECK:           scf.for %[[T:.*]] =
// CHECK:             slice(d0 = %[[N]], d1 = %[[T]] x 16)
// CHECK:             slice(d0 = %[[N]], d1 = %[[T]] x 16)
// LOOPS-LABEL: @shared
// LOOPS:         memref.alloca() {{.*}} : memref<1xf32>
// LOOPS-NOT:     memref.alloca

// -----

// A tile that is not shorter than the dimension needs no loop.
func.func private @whole(%x: memref<8x45xf32>, %y: memref<8x45xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i, j] store into %y : memref<8x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 45>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @whole
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK-NOT:     tile
// CHECK:         func.return

// -----

func.func private @reduced(%x: memref<8x45xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d1 x 16>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: tile = d1: it is reduced; kept loops of a task: none

// -----

func.func private @row(%x: memref<8x45xf32>, %y: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [8, 45] reads(%x[i, j] : memref<8x45xf32>) writes([i] add into %y : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<tile = d0 x 2>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: tile = d0: the loops of a task are d1
