// RUN: lamina-opt %s -p "choose-schedule{target=x86-64-v4}" --split-input-file | filecheck %s

// Rows of a few columns fill vectors together.
// CHECK-LABEL: @few_columns
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 1, jam = d1 x 5>
func.func private @few_columns(%x: memref<1000x5xf32>, %y: memref<5xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 5] reads(%x[i, j] : memref<1000x5xf32>) writes([j] add into %y : memref<5xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Two columns leave the additions waiting for each other: two blocks of rows are added up at once.
// What is the same for all rows, as a mean of each column, is read in front of the loop.
// CHECK-LABEL: @two_columns
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 2, jam = d1 x 2>
func.func private @two_columns(%x: memref<1000x2xf32>, %m: memref<2xf32>, %y: memref<2xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 2] reads(%x[i, j] : memref<1000x2xf32>, %m[j] : memref<2xf32>) writes([j] add into %y : memref<2xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.subf %a, %b : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// Not rows that lie apart.
// CHECK-LABEL: @rows_apart
// CHECK-NOT:     jam
func.func private @rows_apart(%x: memref<1000x8xf32>, %y: memref<5xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 5] reads(%x[i, j] : memref<1000x8xf32>) writes([j] add into %y : memref<5xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// Not more columns than a vector has lanes, nor where the body asks for the row.
// CHECK-LABEL: @wide
// CHECK-NOT:     jam
func.func private @wide(%x: memref<1000x17xf32>, %y: memref<17xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 17] reads(%x[i, j] : memref<1000x17xf32>) writes([j] add into %y : memref<17xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32):
    loop.yield %a : f32
  }
  func.return
}

// -----

// CHECK-LABEL: @by_position
// CHECK-NOT:     jam
func.func private @by_position(%x: memref<1000x5xf32>, %y: memref<5xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 5] reads(%x[i, j] : memref<1000x5xf32>) writes([j] add into %y : memref<5xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32):
    %i = loop.index 0 : index
    %n = arith.index_cast %i : index to i32
    %f = arith.sitofp %n : i32 to f32
    %d = arith.mulf %a, %f : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// A mask of the rows that count is not asked, as the loop ends with these.
// CHECK-LABEL: @counted
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 1, jam = d1 x 5>
func.func private @counted(%m: memref<64xi1>, %x: memref<64x5xf32>, %n: memref<i64>, %y: memref<5xf32>) attributes {lamina.kernel, lamina.masks = array<i64: 0, 2>} {
  loop.generic (i, j) in [64, 5] reads(%m[i] : memref<64xi1>, %x[i, j] : memref<64x5xf32>) writes([j] add into %y : memref<5xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>, lamina.ends = [#loop.bounds<0, lower affine_map<(d0, d1)[s0] -> ()>, upper affine_map<(d0, d1)[s0] -> (s0)>, counts [2]>]} {
  ^bb0(%c: i1, %a: f32):
    %z = arith.constant 0.0 : f32
    %d = arith.select %c, %a, %z : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// What rows are multiplied by is spread over their columns.
// CHECK-LABEL: @weighted
// CHECK:         lamina.schedule = #loop.schedule<vectorize = d0 x 16, unroll = 1, jam = d1 x 5>
func.func private @weighted(%x: memref<1000x5xf32>, %w: memref<1000xf32>, %y: memref<5xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [1000, 5] reads(%x[i, j] : memref<1000x5xf32>, %w[i] : memref<1000xf32>) writes([j] add into %y : memref<5xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%a: f32, %b: f32):
    %d = arith.mulf %a, %b : f32
    loop.yield %d : f32
  }
  func.return
}

// -----

// A result that is no sum over the rows is stored element by element: vectors go along its columns.
func.func private @stored_beside(%x: memref<64x8xf32>, %y: memref<64x8xf32>, %z: memref<8xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [64, 8] reads(%x[i, j] : memref<64x8xf32>) writes([i, j] store into %y : memref<64x8xf32>, [j] add into %z : memref<8xf32>) attributes {lamina.nest = #loop.nest<rows = []>} {
  ^bb0(%a: f32):
    %v = math.absf %a : f32
    loop.yield %v, %v : f32, f32
  }
  func.return
}
// CHECK-LABEL: @stored_beside
// CHECK-NOT:     vectorize = d0
// CHECK:         func.return
