// RUN: lamina-opt %s -p narrow-scatters --split-input-file | filecheck %s
// RUN: lamina-opt %s -p narrow-scatters,narrow-scatters --split-input-file | filecheck %s

// A row more than the tensor has takes updates that do not count, and is cut off: they are masked, and nothing is made
// with room, nor copied behind.
// CHECK-LABEL: @room
// CHECK:         %[[INTO:[a-z0-9_]+]] = loop.generic (d0, d1) in [10, 4]
// CHECK-SAME:      reads(%t[d0, d1] : tensor<10x4xf32>)
// CHECK:         %[[R:[a-z0-9_]+]] = loop.scatter (d0, d1) in [6, 4]
// CHECK-SAME:      into(%[[INTO]] : tensor<10x4xf32>)
// CHECK-NEXT:    ^bb0(%[[I:[a-z0-9_]+]]: i64,
// CHECK:           %[[TEN:[a-z0-9_]+]] = arith.constant 10 : i64
// CHECK:           %[[ON:[a-z0-9_]+]] = arith.cmpi ne, %[[I]], %[[TEN]] : i64
// CHECK:           loop.yield %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[ON]] : index, index, f32, i1
// CHECK-NOT:     loop.generic
// CHECK:         func.return %[[R]]
func.func @room(%t: tensor<10x4xf32>, %i: tensor<6xi64>, %x: tensor<6x4xf32>) -> tensor<10x4xf32> {
  %0 = loop.generic (i, j) in [11, 4] reads(%t[i, j] pad 0.0 : f32 : tensor<10x4xf32>) writes([i, j] store : tensor<11x4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %1 = loop.scatter (d0, d1) in [6, 4] reads(%i[d0] : tensor<6xi64>, %x[d0, d1] : tensor<6x4xf32>) into(%0 : tensor<11x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    %sum = arith.addf %old, %v : f32
    loop.yield %row, %column, %sum : index, index, f32
  }
  %2 = loop.generic (i, j) in [10, 4] reads(%1[i, j] : tensor<11x4xf32>) writes([i, j] store : tensor<10x4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2 : tensor<10x4xf32>
}

// -----

// Several readers: what any of them reads stays. Of an argument the part is copied; a column is a position, which stays
// below the end.
// CHECK-LABEL: @readers
// CHECK:         %[[PART:[a-z0-9_]+]] = loop.generic (d0, d1) in [8, 3]
// CHECK-SAME:      reads(%t[d0, d1] : tensor<11x4xf32>)
// CHECK:         loop.scatter (d0, d1) in [6, 3]
// CHECK-SAME:      into(%[[PART]] : tensor<8x3xf32>)
// CHECK:           %[[BEHIND:[a-z0-9_]+]] = arith.subi
// CHECK:           %[[ON:[a-z0-9_]+]] = arith.cmpi uge, %[[BEHIND]], %{{[a-z0-9_]+}} : i64
// CHECK:           loop.yield %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}}, %[[ON]] : index, index, f32, i1
// CHECK:         loop.generic (d0, d1) in [5, 2]
// CHECK:         loop.generic (d0, d1) in [7, 3]
func.func @readers(%t: tensor<11x4xf32>, %i: tensor<6xi64>, %x: tensor<6x3xf32>) -> (tensor<5x2xf32>, tensor<7x3xf32>) {
  %1 = loop.scatter (d0, d1) in [6, 3] reads(%i[d0] : tensor<6xi64>, %x[d0, d1] : tensor<6x3xf32>) into(%t : tensor<11x4xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    %column = loop.index 1 : index
    loop.yield %row, %column, %v : index, index, f32
  }
  %2 = loop.generic (i, j) in [5, 2] reads(%1[i, j] : tensor<11x4xf32>) writes([i, j] store : tensor<5x2xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  %3 = loop.generic (i, j) in [7, 3] reads(%1[i + 1, j] : tensor<11x4xf32>) writes([i, j] store : tensor<7x3xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2, %3 : tensor<5x2xf32>, tensor<7x3xf32>
}

// -----

// What is returned, or read at an index that nobody knows, is read whole; so is what is read from its end.
// CHECK-LABEL: @whole
// CHECK-COUNT-3: loop.yield %{{[a-z0-9_]+}}, %{{[a-z0-9_]+}} : index, f32
// CHECK-NOT:     arith.cmpi
func.func @whole(%t: tensor<9xf32>, %i: tensor<6xi64>, %x: tensor<6xf32>) -> (tensor<9xf32>, tensor<6xf32>, tensor<4xf32>) {
  %0 = loop.scatter (d0) in [6] reads(%i[d0] : tensor<6xi64>, %x[d0] : tensor<6xf32>) into(%t : tensor<9xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    loop.yield %row, %v : index, f32
  }
  %1 = loop.scatter (d0) in [6] reads(%i[d0] : tensor<6xi64>, %x[d0] : tensor<6xf32>) into(%t : tensor<9xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    loop.yield %row, %old : index, f32
  }
  %2 = loop.generic (k) in [6] reads(%i[k] : tensor<6xi64>) sources(%1 : tensor<9xf32>) writes([k] store : tensor<6xf32>) {
  ^bb0(%p: i64, %from: tensor<9xf32>):
    %at = arith.index_cast %p : i64 to index
    %a = loop.read %from[%at] : tensor<9xf32>
    loop.yield %a : f32
  }
  %3 = loop.scatter (d0) in [6] reads(%i[d0] : tensor<6xi64>, %x[d0] : tensor<6xf32>) into(%t : tensor<9xf32>) {
  ^bb0(%p: i64, %v: f32, %old: f32):
    %row = arith.index_cast %p : i64 to index
    loop.yield %row, %v : index, f32
  }
  %4 = loop.generic (k) in [4] reads(%3[8 - k] : tensor<9xf32>) writes([k] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %0, %2, %4 : tensor<9xf32>, tensor<6xf32>, tensor<4xf32>
}

// -----

// Of what sizes that are not known nothing is left out.
// CHECK-LABEL: @open
// CHECK:         loop.scatter (d0)[s0 = %n] in [s0] reads(%i[d0] : tensor<?xi64>) into(%t : tensor<?xf32>)
// CHECK:         loop.generic (d0) in [4]
func.func @open(%t: tensor<?xf32> {lamina.dims = [#lamina.size<m in [4, ?]>]}, %i: tensor<?xi64> {lamina.dims = [#lamina.size<n>]}) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %i, %c0 : tensor<?xi64>
  %1 = loop.scatter (d0)[s0 = %n] in [s0] reads(%i[d0] : tensor<?xi64>) into(%t : tensor<?xf32>) {
  ^bb0(%p: i64, %old: f32):
    %row = arith.index_cast %p : i64 to index
    loop.yield %row, %old : index, f32
  }
  %2 = loop.generic (i) in [4] reads(%1[i] : tensor<?xf32>) writes([i] store : tensor<4xf32>) {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return %2 : tensor<4xf32>
}
