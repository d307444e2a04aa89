// RUN: lamina-opt %s -p apply-schedule --split-input-file | filecheck %s

// A mask that is true below the number at which rows end is not read; what is no such mask is.
// CHECK-LABEL: func.func private @scattered(
// CHECK-SAME:    %m: memref<64xi1>, %k: memref<64xi1>, %n: memref<i64>, %y: memref<64x8xf32>)
// CHECK-DAG:     %[[TRUE:[0-9]+]] = arith.constant true
// CHECK-DAG:     %[[MASK:[0-9]+]] = loop.reshape %m
// CHECK-DAG:     %[[OTHER:[0-9]+]] = loop.reshape %k
// CHECK-NOT:     memref.load %[[MASK]]
// CHECK:         %[[ASKED:[0-9]+]] = memref.load %[[OTHER]]
// CHECK-NOT:     memref.load %[[MASK]]
// CHECK:         arith.andi %[[TRUE]], %[[ASKED]]
func.func private @scattered(%x: memref<64x8xf32>, %u: memref<64x8xf32>, %i: memref<64x8xi64>, %m: memref<64xi1>, %k: memref<64xi1>, %n: memref<i64>, %y: memref<64x8xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 3, 5>, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 8] reads(%u[i, j] : memref<64x8xf32>, %i[i, j] : memref<64x8xi64>, %m[i] : memref<64xi1>, %k[i] : memref<64xi1>) into(%x : memref<64x8xf32> -> %y : memref<64x8xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg5 of 64, 8], copied = [arg5 of 64, 8]>} {
  ^bb0(%v: f32, %at: i64, %on: i1, %own: i1, %old: f32):
    %row = loop.index 0 : index
    %place = arith.index_cast %at : i64 to index
    %both = arith.andi %on, %own : i1
    loop.yield %row, %place, %v, %both : index, index, f32, i1
  }
  func.return
}

// -----

// One that is true below another number, and one of columns, are read.
// CHECK-LABEL: func.func private @elsewhere(
// CHECK-DAG:     %[[MASK:[0-9]+]] = loop.reshape %m
// CHECK-DAG:     %[[OTHER:[0-9]+]] = loop.reshape %k
// CHECK-DAG:     memref.load %[[MASK]]
// CHECK-DAG:     memref.load %[[OTHER]]
func.func private @elsewhere(%x: memref<64x64xf32>, %u: memref<64x64xf32>, %i: memref<64x64xi64>, %m: memref<64xi1>, %k: memref<64xi1>, %n: memref<i64>, %o: memref<i64>, %y: memref<64x64xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 3, 6, 4, 5>, lamina.schedule = [#loop.unstructured<>]} {
  loop.scatter (i, j) in [64, 64] reads(%u[i, j] : memref<64x64xf32>, %i[i, j] : memref<64x64xi64>, %m[i] : memref<64xi1>, %k[j] : memref<64xi1>) into(%x : memref<64x64xf32> -> %y : memref<64x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg5 of 64, 64], copied = [arg5 of 64, 64]>} {
  ^bb0(%v: f32, %at: i64, %on: i1, %own: i1, %old: f32):
    %row = loop.index 0 : index
    %place = arith.index_cast %at : i64 to index
    %both = arith.andi %on, %own : i1
    loop.yield %row, %place, %v, %both : index, index, f32, i1
  }
  func.return
}
