// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"}' --split-input-file | filecheck %s
// RUN: lamina-opt %s -p 'choose-schedule{target="x86-64-v3"},choose-schedule{target="x86-64-v3"}' --split-input-file | filecheck %s

// Rows of eight lanes, two vectors a step; short ones stay on one thread.
func.func private @pointwise(%x: memref<45xf32>, %y: memref<45xf32>) attributes {lamina.kernel} {
  loop.generic (i) in [45] reads(%x[i] : memref<45xf32>) writes([i] store into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @pointwise
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]
// CHECK:         #loop.schedule<vectorize = d0 x 8, unroll = 2>

// -----

// What stands in the text wins, the rest is completed: a heavy body is not unrolled.
func.func private @given(%x: memref<100000xf32>, %y: memref<100000xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 500>]} {
  loop.generic (i) in [100000] reads(%x[i] : memref<100000xf32>) writes([i] store into %y : memref<100000xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<vectorize = d0 x 4>} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @given
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [0], tile = 500>]
// CHECK:         #loop.schedule<vectorize = d0 x 4, unroll = 1>

// -----

// A sum of rows has four accumulators; of few long rows, four are read at once, far apart.
func.func private @sums(%x: memref<4096x640xf32>, %y: memref<4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 640] reads(%x[i, j] : memref<4096x640xf32>) writes([i] add into %y : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @sums
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, jam = 4>]
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll = 2>

// -----

// Few rows by columns that lie along the sum: all of them, at several columns that lie far apart, though the caches hold both.
func.func private @few_rows(%a: memref<4x512xf32>, %b: memref<512x512xf32>, %c: memref<4x512xf32>) attributes {lamina.kernel} {
  loop.generic (m, n, k) in [4, 512, 512] reads(%a[m, k] : memref<4x512xf32>, %b[n, k] : memref<512x512xf32>) writes([m, n] add into %c : memref<4x512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%u: f32, %w: f32):
    %v = arith.mulf %u, %w : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @few_rows
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, jam = 8>]
// CHECK:         #loop.schedule<vectorize = d2 x 8, unroll = 1>

// -----

// Rows that share nothing, and that the caches hold, run one by one.
func.func private @near_sums(%x: memref<512x512xf32>, %y: memref<512xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [512, 512] reads(%x[i, j] : memref<512x512xf32>) writes([i] add into %y : memref<512xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @near_sums
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel>]

// -----

// Columns: tasks take runs of them, rows are added in streams.
func.func private @columns(%x: memref<4096x640xf32>, %y: memref<640xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [640, 4096] reads(%x[j, i] : memref<4096x640xf32>) writes([i] add into %y : memref<640xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @columns
// CHECK-SAME:    lamina.schedule = [#loop.rows<parallel, inner = [0], tile = 64>]
// CHECK:         #loop.schedule<vectorize = d0 x 8, tile = d0 x 2048, rfactor = d1 x 4>

// -----

// Those of a tensor beyond the caches jump from run to run: the next one is asked for. Narrow ones are further ahead.
func.func private @far_columns(%x: memref<65536x4096xf32>, %y: memref<4096xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [4096, 65536] reads(%x[j, i] : memref<65536x4096xf32>) writes([i] add into %y : memref<4096xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @far_columns
// CHECK:         rfactor = d1 x 8, prefetch_rows = 2>

// -----

func.func private @narrow_far_columns(%x: memref<1048576x256xf32>, %y: memref<256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [256, 1048576] reads(%x[j, i] : memref<1048576x256xf32>) writes([i] add into %y : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @narrow_far_columns
// CHECK:         rfactor = d1 x 8, prefetch_rows = 16>

// -----

// A transpose goes in square tiles.
func.func private @turned(%x: memref<300x200xf32>, %y: memref<200x300xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [200, 300] reads(%x[j, i] : memref<300x200xf32>) writes([i, j] store into %y : memref<200x300xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @turned
// CHECK-SAME:    inner = [0, 1], tile = 64>]
// CHECK:         #loop.schedule<vectorize = d1 x 8, tile = d0 x 64, transpose = d0>

// -----

// Of an extreme over rows, turned tiles would be stored over those of the rows before.
func.func private @turned_extreme(%x: memref<7x1x7x9xi16>, %y: memref<9x7x1xi16>, %z: memref<7x9x7x1xi64>) attributes {lamina.kernel} {
  loop.generic (i, j, k) in [7, 9, 7] reads(%x[i, 0, k, j] : memref<7x1x7x9xi16>) writes([j, k, 0] min into %y : memref<9x7x1xi16>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: i16):
    loop.yield %v : i16
  }
  loop.generic (i, j, k) in [7, 9, 7] reads(%x[i, 0, k, j] : memref<7x1x7x9xi16>) writes([i, j, k, 0] store into %z : memref<7x9x7x1xi64>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: i16):
    %w = arith.extsi %v : i16 to i64
    loop.yield %w : i64
  }
  func.return
}
// CHECK-LABEL: @turned_extreme
// CHECK-NOT:     transpose
// CHECK:         func.return

// -----

// The exponentials and their sum share their loop; what is computed once a row has no loops.
func.func private @softmax(%x: memref<64x256xf32>, %y: memref<64x256xf32>) attributes {lamina.kernel} {
  %m = memref.alloc() : memref<64xf32>
  %e = memref.alloc() : memref<64x256xf32>
  %s = memref.alloc() : memref<64xf32>
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([i] max into %m : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>, %m[i] : memref<64xf32>) writes([i, j] store into %e : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %d = arith.subf %v, %w : f32
    %u = math.exp %d : f32
    loop.yield %u : f32
  }
  loop.generic (i, j) in [64, 256] reads(%e[i, j] : memref<64x256xf32>) writes([i] add into %s : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [64, 256] reads(%e[i, j] : memref<64x256xf32>, %s[i] : memref<64xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %w: f32):
    %u = arith.divf %v, %w : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @softmax
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll = 4>
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll = 1>
// CHECK:         #loop.schedule<compute_with>
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll = 2>

// -----

// A nest that says what its loops are has loops of its own; so has the reader of one that is computed in them.
func.func private @own_loops(%x: memref<64x256xf32>, %y: memref<64x256xf32>) attributes {lamina.kernel} {
  %d = memref.alloc() : memref<64x256xf32>
  %e = memref.alloc() : memref<64x256xf32>
  loop.generic (i, j) in [64, 256] reads(%x[i, j] : memref<64x256xf32>) writes([i, j] store into %d : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = math.exp %v : f32
    loop.yield %u : f32
  }
  loop.generic (i, j) in [64, 256] reads(%d[i, j] : memref<64x256xf32>) writes([i, j] store into %e : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.schedule = #loop.schedule<compute_at = d1, unroll = 3>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  loop.generic (i, j) in [64, 256] reads(%e[i, j] : memref<64x256xf32>) writes([i, j] store into %y : memref<64x256xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    %u = arith.negf %v : f32
    loop.yield %u : f32
  }
  func.return
}
// CHECK-LABEL: @own_loops
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll =
// CHECK:         #loop.schedule<compute_at = d1, vectorize = d1 x 8, unroll = 3>
// CHECK:         #loop.schedule<vectorize = d1 x 8, unroll = 2>

// -----

// A kernel that has been scheduled stays as it is.
func.func private @loops(%x: memref<4xf32>) attributes {lamina.kernel} {
  func.return
}
// CHECK-LABEL: @loops
// CHECK-NOT:     lamina.schedule

// -----

// Columns that are one task stay one where the choice is read again.
// CHECK-LABEL: func.func private @one_task_of_columns
// CHECK-SAME: lamina.schedule = [#loop.rows<parallel = false, inner = [0]>]
func.func private @one_task_of_columns(%x: memref<48x256xf32>, %y: memref<256xf32>) attributes {lamina.kernel} {
  loop.generic (i, j) in [48, 256] reads(%x[i, j] : memref<48x256xf32>) writes([j] add into %y : memref<256xf32>) attributes {lamina.nest = #loop.nest<rows = [d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
