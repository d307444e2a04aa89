// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// Four rows of three columns are three vectors, each with an accumulator; what is left of the rows is masked.
// Lanes of a column are joined by halves of the rows.
// CHECK-LABEL: @sums
// CHECK:         scf.for %[[I:[^ ]*]] = %{{[^ ]*}} to %{{[^ ]*}} step %{{.*}} iter_args(%{{[^ ]*}} = %[[Z:[^ ]*]], %{{[^ ]*}} = %[[Z]], %{{[^ ]*}} = %[[Z]])
// CHECK-COUNT-3:   vector.load %{{[^ ]*}}[%{{[^ ]*}}] : memref<30xf32>, vector<4xf32>
// CHECK:           scf.yield
// CHECK-COUNT-3: vector.maskedload
// CHECK:         vector.shuffle %{{[^ ]*}}, %{{[^ ]*}} [2, 3, 4, 5]
// CHECK-COUNT-3: vector.extract
// CHECK-NOT:     loop.gather
func.func private @sums(%x: memref<10x3xf32>, %y: memref<3xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  loop.generic (i, j) in [10, 3] reads(%x[i, j] : memref<10x3xf32>) writes([j] add into %y : memref<3xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 3>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// What is read otherwise is gathered: of what is the same for all rows in front of the loop.
// CHECK-LABEL: @centred
// CHECK-COUNT-2: loop.gather %{{[^ ]*}}[%{{[^ ]*}}] {{.*}} memref<2xf32>
// CHECK:         scf.for
// CHECK-NOT:       loop.gather
// CHECK:         scf.yield
func.func private @centred(%x: memref<16x2xf32>, %m: memref<2xf32>, %y: memref<2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  loop.generic (i, j) in [16, 2] reads(%x[i, j] : memref<16x2xf32>, %m[j] : memref<2xf32>) writes([j] max into %y : memref<2xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 2>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// One number of each row is loaded for all, and spread over its columns.
// CHECK-LABEL: @weighted
// CHECK-NOT:     loop.gather
// CHECK:         vector.shuffle %{{[^ ]*}}, %{{[^ ]*}} [0, 0, 1, 1]
// CHECK:         vector.shuffle %{{[^ ]*}}, %{{[^ ]*}} [2, 2, 3, 3]
func.func private @weighted(%x: memref<16x2xf32>, %w: memref<16xf32>, %y: memref<2xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]} {
  loop.generic (i, j) in [16, 2] reads(%x[i, j] : memref<16x2xf32>, %w[i] : memref<16xf32>) writes([j] add into %y : memref<2xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4, jam = d1 x 2>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %a, %b : f32
    loop.yield %d : f32
  }
  func.return
}
