// RUN: lamina-opt %s -p 'pair-results{target="x86-64-v3"},choose-schedule{target="x86-64-v3"},apply-schedule' --split-input-file | filecheck %s

// Each step of the outermost loop starts from zero and is added to the total.
func.func private @long(%x: memref<4x16xf32>, %s: memref<1xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4, 16] reads(%x[i, j] : memref<4x16xf32>) writes([0] add into %s : memref<1xf32>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: f32):
    %u = arith.mulf %v, %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @long
// CHECK:       [[ZERO:%.*]] = arith.constant dense<0.000000e+00> : vector<8xf32>
// CHECK:       scf.for {{.*}} iter_args([[TOTAL:%[0-9]+]] = [[ZERO]]
// CHECK:         [[PART:%[0-9]+]], {{.*}} = scf.for {{.*}} iter_args({{%[0-9]+}} = [[ZERO]]
// CHECK:         arith.addf [[PART]], [[TOTAL]] : vector<8xf32>

// -----

// Integers need no such care.
func.func private @integers(%x: memref<4x16xi32>, %s: memref<1xi32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4, 16] reads(%x[i, j] : memref<4x16xi32>) writes([0] add into %s : memref<1xi32>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%v: i32):
    loop.yield %v : i32
  }
  func.return
}
// CHECK-LABEL: @integers
// CHECK:       scf.for {{.*}} iter_args([[TOTAL:%[0-9]+]] = {{%.*}}
// CHECK:         scf.for {{.*}} iter_args({{%[0-9]+}} = [[TOTAL]]
