// RUN: lamina-opt %s -p fuse-into-scatters --split-input-file | filecheck %s
// RUN: lamina-opt %s -p fuse-into-scatters,fuse-into-scatters --split-input-file | filecheck %s

// Places and updates that nothing else reads are computed where a point is; of places those once for each row.
// CHECK-LABEL: @places
// CHECK-NEXT:    loop.scatter (d0, d1) in [6, 4]
// CHECK-SAME:      reads(%i[d0] : tensor<6xi64>, %x[d0, d1] : tensor<6x4xf32>)
// CHECK-SAME:      into(%t : tensor<10x4xf32>)
// CHECK-NEXT:    ^bb0(%[[I:[a-z0-9_]+]]: i64, %[[X:[a-z0-9_]+]]: f32, %[[OLD:[a-z0-9_]+]]: f32):
// CHECK:           arith.negf %[[X]]
// CHECK:           arith.addi %[[I]]
func.func @places(%t: tensor<10x4xf32>, %i: tensor<6xi64>, %x: tensor<6x4xf32>) -> tensor<10x4xf32> {
  %0 = loop.generic (k) in [6] reads(%i[k] : tensor<6xi64>) writes([k] store : tensor<6xi64>) {
  ^bb0(%p: i64):
    %one = arith.constant 1 : i64
    %q = arith.addi %p, %one : i64
    loop.yield %q : i64
  }
  %1 = loop.generic (i, j) in [6, 4] reads(%x[i, j] : tensor<6x4xf32>) writes([i, j] store : tensor<6x4xf32>) {
  ^bb0(%a: f32):
    %b = arith.negf %a : f32
    loop.yield %b : f32
  }
  %2 = loop.scatter (d0, d1) in [6, 4] reads(%0[d0] : tensor<6xi64>, %1[d0, d1] : tensor<6x4xf32>) into(%t : tensor<10x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %sum = arith.addf %old, %v : f32
    loop.yield %row, %column, %sum : index, index, f32
  }
  func.return %2 : tensor<10x4xf32>
}

// -----

// A position of what is computed is one of the scatter.
// CHECK-LABEL: @positions
// CHECK-NEXT:    loop.scatter (d0) in [6]
// CHECK:           %[[D:[a-z0-9_]+]] = loop.index 0 : index
// CHECK:           arith.index_cast %[[D]] : index to i64
func.func @positions(%t: tensor<10xi64>) -> tensor<10xi64> {
  %0 = loop.generic (k) in [6] writes([k] store : tensor<6xi64>) {
    %p = loop.index 0 : index
    %q = arith.index_cast %p : index to i64
    loop.yield %q : i64
  }
  %1 = loop.scatter (d0) in [6] reads(%0[d0] : tensor<6xi64>) into(%t : tensor<10xi64>) {
  ^bb0(%p: i64, %old: i64):
    %row = arith.index_cast %p : i64 to index
    loop.yield %row, %p : index, i64
  }
  func.return %1 : tensor<10xi64>
}

// -----

// What something else reads as well, what costs much, and what would be computed more often than there are elements, is
// stored.
// CHECK-LABEL: @stored
// CHECK-COUNT-3: loop.generic
// CHECK:         loop.scatter (d0, d1, d2) in [2, 6, 4]
// CHECK-SAME:      reads(%{{[a-z0-9_]+}}[d1] : tensor<6xi64>, %{{[a-z0-9_]+}}[d0, d1, d2] : tensor<2x6x4xf32>)
func.func @stored(%t: tensor<2x10x4xf32>, %i: tensor<6xi64>, %x: tensor<2x6x4xf32>) -> (tensor<2x10x4xf32>, tensor<6x4xf32>) {
  %0 = loop.generic (k) in [6] reads(%i[k] : tensor<6xi64>) writes([k] store : tensor<6xi64>) {
  ^bb0(%p: i64):
    %one = arith.constant 1 : i64
    %q = arith.addi %p, %one : i64
    loop.yield %q : i64
  }
  %1 = loop.generic (b, i, j) in [2, 6, 4] reads(%x[b, i, j] : tensor<2x6x4xf32>) writes([b, i, j] store : tensor<2x6x4xf32>) {
  ^bb0(%a: f32):
    %b = math.exp %a : f32
    %c = math.sin %b : f32
    loop.yield %c : f32
  }
  %2 = loop.generic (i, j) in [6, 4] reads(%1[0, i, j] : tensor<2x6x4xf32>) writes([i, j] store : tensor<6x4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %3 = loop.scatter (d0, d1, d2) in [2, 6, 4] reads(%0[d1] : tensor<6xi64>, %1[d0, d1, d2] : tensor<2x6x4xf32>) into(%t : tensor<2x10x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %batch = loop.index 0 : index
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 2 : index
    loop.yield %batch, %row, %column, %v : index, index, index, f32
  }
  func.return %3, %2 : tensor<2x10x4xf32>, tensor<6x4xf32>
}
