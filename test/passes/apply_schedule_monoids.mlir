// RUN: lamina-opt %s -p apply-schedule --split-input-file --verify-diagnostics | filecheck %s

// Lanes keep tuples of their own; two accumulators are joined, then halves of the lanes.
func.func private @largest(%x: memref<3x20xf32>, %y: memref<3xf32>, %z: memref<3xi32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [3, 20] reads(%x[i, j] : memref<3x20xf32>) writes([i] combine into %y : memref<3xf32>, [i] combine into %z : memref<3xi32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d1 x 4, unroll = 2>} {
  ^bb0(%p: f32):
    %at = loop.index 1 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0xFF800000 : f32, 2147483647 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %above = arith.cmpf ogt, %a, %b : f32
    %same = arith.cmpf oeq, %a, %b : f32
    %before = arith.cmpi slt, %m, %n : i32
    %tie = arith.andi %same, %before : i1
    %left = arith.ori %above, %tie : i1
    %value = arith.select %left, %a, %b : f32
    %place = arith.select %left, %m, %n : i32
    loop.yield %value, %place : f32, i32
  }
  func.return
}
// CHECK-LABEL: func.func private @largest
// CHECK: %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK: "scf.parallel"
// CHECK: scf.for {{.*}} step %[[EIGHT]] iter_args({{.*}}) -> (vector<4xf32>, vector<4xi32>, vector<4xf32>, vector<4xi32>) {
// CHECK-COUNT-2: loop.cmpf %{{.*}}, %{{.*}} {predicate = 2 : i64} : vector<4xf32>
// CHECK: scf.yield
// CHECK: loop.cmpf %{{.*}} {predicate = 2 : i64} : vector<4xf32>
// CHECK: loop.cmpf %{{.*}} {predicate = 2 : i64} : vector<4xf32>
// CHECK: %[[V:.*]] = loop.select {{.*}} vector<4xf32> -> vector<4xf32>
// CHECK: %[[K:.*]] = loop.select {{.*}} vector<4xi32> -> vector<4xi32>
// CHECK: vector.shuffle %[[V]], %[[V]] [0, 1] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle %[[K]], %[[K]] [0, 1] : vector<4xi32>, vector<4xi32>
// CHECK: vector.shuffle %[[V]], %[[V]] [2, 3]
// CHECK: vector.extract %{{.*}}[1] : i32 from vector<2xi32>
// CHECK: %[[BEST:.*]] = arith.select %{{.*}} : f32
// CHECK: %[[PLACE:.*]] = arith.select %{{.*}} : i32
// CHECK: memref.store %[[BEST]]
// CHECK: memref.store %[[PLACE]]

// -----

// What a nest joins by a region is not added to totals row by row.
func.func private @summed_rows(%x: memref<3x20xf32>, %y: memref<20xf32>, %z: memref<20xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [3, 20] reads(%x[i, j] : memref<3x20xf32>) writes([j] combine into %y : memref<20xf32>, [j] combine into %z : memref<20xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%p: f32):
    loop.yield %p, %p : f32, f32
  } combine(0.0 : f32, 0.0 : f32) {
  ^bb0(%a: f32, %m: f32, %b: f32, %n: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.addf %m, %n : f32
    loop.yield %s, %t : f32, f32
  }
  func.return
}
// CHECK: not all its results are sums over its rows
