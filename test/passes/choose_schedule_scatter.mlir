// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"}' | filecheck %s --check-prefix CHOSEN
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v4"},apply-schedule' | filecheck %s

// Rows that go to elements side by side are written in vectors: the mask and the place are asked once for each row.
// CHOSEN-LABEL: @rows
// CHOSEN-SAME:    #loop.unstructured<parallel = false, lanes = 16, unroll = 4>
// CHECK-LABEL: @rows
// CHECK:         scf.for
// CHECK:           %[[ON:[a-z0-9_]+]] = arith.cmpi ne
// CHECK:           scf.if %[[ON]] {
// CHECK:             %[[INSIDE:[a-z0-9_]+]] = arith.cmpi ult
// CHECK:             cf.assert %[[INSIDE]]
// CHECK:             scf.if %[[INSIDE]] {
// CHECK:               scf.for
// CHECK-COUNT-4:         vector.store
func.func private @rows(%i: memref<6xi64>, %x: memref<6x128xf32>, %t: memref<10x128xf32>, %y: memref<10x128xf32>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [6, 128] reads(%i[d0] : memref<6xi64>, %x[d0, d1] : memref<6x128xf32>) into(%t : memref<10x128xf32> -> %y : memref<10x128xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %sum = arith.addf %old, %v : f32
    %ten = arith.constant 10 : i64
    %on = arith.cmpi ne, %p, %ten : i64
    loop.yield %row, %column, %sum, %on : index, index, f32, i1
  }
  func.return
}

// Places that differ along a row have no vectors, nor has a mask that does. What is copied first has.
// CHOSEN-LABEL: @apart
// CHOSEN-NOT:     lanes
// CHECK-LABEL: @apart
// CHECK-COUNT-5: vector.store %{{[0-9]+}}, %{{[0-9]+}}[%{{[0-9]+}}] : memref<80xf32>, vector<16xf32>
// CHECK-NOT:     vector.store
// CHECK-LABEL: @masked
// CHECK-COUNT-5: vector.store
// CHECK-NOT:     vector.store
func.func private @apart(%i: memref<6x8xi64>, %x: memref<6x8xf32>, %t: memref<10x8xf32>, %y: memref<10x8xf32>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [6, 8] reads(%i[d0, d1] : memref<6x8xi64>, %x[d0, d1] : memref<6x8xf32>) into(%t : memref<10x8xf32> -> %y : memref<10x8xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  func.return
}
func.func private @masked(%i: memref<6xi64>, %m: memref<8xi1>, %t: memref<10x8xf32>, %y: memref<10x8xf32>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [6, 8] reads(%i[d0] : memref<6xi64>, %m[d1] : memref<8xi1>) into(%t : memref<10x8xf32> -> %y : memref<10x8xf32>) {
  ^bb0(%p: i64, %on: i1, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %one = arith.addf %old, %old : f32
    loop.yield %row, %column, %one, %on : index, index, f32, i1
  }
  func.return
}

// Vectors of elements all of which have eight bytes have half as many.
// CHOSEN-LABEL: @wide
// CHOSEN-SAME:    lamina.schedule = [#loop.unstructured<{{.*}}lanes = 8{{.*}}>]
// CHECK-LABEL: @wide
// CHECK:         cf.assert
// CHECK:         vector.store %{{.*}} : memref<320xi64>, vector<8xi64>
func.func private @wide(%i: memref<6xi64>, %x: memref<6x32xi64>, %t: memref<10x32xi64>, %y: memref<10x32xi64>) attributes {lamina.kernel} {
  loop.scatter (d0, d1) in [6, 32] reads(%i[d0] : memref<6xi64>, %x[d0, d1] : memref<6x32xi64>) into(%t : memref<10x32xi64> -> %y : memref<10x32xi64>) {
  ^bb0(%p: i64, %v: i64, %old: i64):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %sum = arith.addi %old, %v : i64
    loop.yield %row, %column, %sum : index, index, i64
  }
  func.return
}
