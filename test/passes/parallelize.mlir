// RUN: lamina-opt %s -p parallelize --split-input-file --verify-diagnostics | filecheck %s
// RUN: lamina-opt %s -p parallelize,parallelize --split-input-file --verify-diagnostics | filecheck %s --check-prefix=AGAIN

// Rows that are walked as one are one loop; the clause goes.
func.func private @rows(%x: memref<4x6x45xf32>, %y: memref<4x6xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j, k) in [4, 6, 45] reads(%x[i, j, k] : memref<4x6x45xf32>) writes([i, j] add into %y : memref<4x6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @rows
// CHECK-NOT:     #loop.rows
// CHECK:         %[[COUNT:.*]] = arith.constant 24 : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[COUNT]], %{{.*}})
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           loop.generic (d0, d1, d2) in [4, 6, 45] slice([d0, d1] = %[[N]])
// CHECK-SAME:      lamina.schedule = #loop.schedule<vectorize = d2 x 8>
// AGAIN-LABEL: @rows
// AGAIN:         "scf.parallel"
// AGAIN-NOT:     "scf.parallel"
// AGAIN:         func.return

// -----

// A row that is a loop of the task is whole in it, and the tasks divide it. The last one has less.
func.func private @tiled(%x: memref<4x45xf32>, %y: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [0], tile = 64>]} {
  loop.generic (i, j) in [4, 45] reads(%x[i, j] : memref<4x45xf32>) writes([i, j] store into %y : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @tiled
// CHECK:         scf.for %[[N:.*]] = %{{.*}} to %{{.*}} step
// CHECK:           %[[R:.*]] = arith.remui %[[N]]
// CHECK:           %[[LOW:.*]] = arith.muli %[[R]]
// CHECK:           loop.generic (d0, d1) in [4, 45] slice([d0, d1] = %[[LOW]] x 64)

// -----

// Rows that a nest sums over are walked by each task in turn, with all nests of the part.
func.func private @sums(%x: memref<4x6x45xf32>, %y: memref<4x6x45xf32>, %z: memref<4x45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j, k) in [4, 6, 45] reads(%x[i, j, k] : memref<4x6x45xf32>) writes([i, j, k] store into %y : memref<4x6x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<vectorize = d2 x 8>} {
  ^bb0(%v: f32):
    %r = math.exp %v : f32
    loop.yield %r : f32
  }
  loop.generic (i, j, k) in [4, 6, 45] reads(%x[i, j, k] : memref<4x6x45xf32>) writes([i, k] add into %z : memref<4x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1]>, lamina.schedule = #loop.schedule<compute_with>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @sums
// CHECK:         "scf.parallel"
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           scf.for %[[T:.*]] = %{{.*}} to %{{.*}} step
// CHECK-NEXT:        loop.generic (d0, d1, d2) in [4, 6, 45] slice(d0 = %[[N]], d1 = %[[T]]) {{.*}} store into %y
// CHECK:             loop.generic (d0, d1, d2) in [4, 6, 45] slice(d0 = %[[N]], d1 = %[[T]]) {{.*}} add into %z
// AGAIN-LABEL: @sums
// AGAIN:         "scf.parallel"
// AGAIN-NOT:     "scf.parallel"
// AGAIN:         func.return

// -----

// Packing for matrix tiles: a task copies some pairs of a tile.
func.func private @pairs(%x: memref<48x128xbf16>, %y: memref<3x64x16x2xbf16>) attributes {lamina.kernel, lamina.schedule = [#loop.pairs<parallel, tile = 32>]} {
  loop.generic (t, p, n, e) in [3, 64, 16, 2] reads(%x[(t * 16) + n, (p * 2) + e] : memref<48x128xbf16>) writes([t, p, n, e] store into %y : memref<3x64x16x2xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%v: bf16):
    loop.yield %v : bf16
  }
  func.return
}
// CHECK-LABEL: @pairs
// CHECK-NOT:     #loop.pairs
// CHECK:         %[[COUNT:.*]] = arith.constant 6 : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[COUNT]], %{{.*}})
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           %[[R:.*]] = arith.remui %[[N]]
// CHECK:           %[[LOW:.*]] = arith.muli %[[R]]
// CHECK:           %[[Q:.*]] = arith.divui %[[N]]
// CHECK:           slice(d0 = %[[Q]], d1 = %[[LOW]] x 32)
// AGAIN-LABEL: @pairs
// AGAIN:         "scf.parallel"
// AGAIN-NOT:     "scf.parallel"
// AGAIN:         func.return

// -----

// Both nests run the same row of what is between them; one task needs no loop.
func.func private @task(%x: memref<1x45xf32>, %y: memref<1x45xf32>) attributes {lamina.kernel} {
  %t = memref.alloc() : memref<1xf32>
  loop.generic (i, j) in [1, 45] reads(%x[i, j] : memref<1x45xf32>) writes([i] max into %t : memref<1xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  loop.generic (i, j) in [1, 45] reads(%x[i, j] : memref<1x45xf32>, %t[i] : memref<1xf32>) writes([i, j] store into %y : memref<1x45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32, %m: f32):
    %r = arith.subf %v, %m : f32
    loop.yield %r : f32
  }
  func.return
}
// CHECK-LABEL: @task
// CHECK:         %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NOT:     scf
// CHECK:         slice(d0 = %[[ZERO]]) reads(%x[d0, d1]
// CHECK:         slice(d0 = %[[ZERO]]) reads(%x[d0, d1]

// -----

// Rows far apart, side by side.
func.func private @jam(%x: memref<64x45xf32>, %y: memref<64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, jam = 4>]} {
  loop.generic (i, j) in [64, 45] reads(%x[i, j] : memref<64x45xf32>) writes([i] add into %y : memref<64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @jam
// CHECK:         arith.constant 16 : index
// CHECK:         slice(d0 = %{{.*}} x 4 step 16)

// -----

// A product has loops of its own.
func.func private @product(%x: memref<8x16xf32>, %w: memref<1x16x32xf32>, %y: memref<8x32xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.products<parallel>]} {
  loop.generic (i, j, k) in [8, 32, 16] reads(%x[i, k] : memref<8x16xf32>, %w[j floordiv 32, k, j mod 32] : memref<1x16x32xf32>) writes([i, j] add into %y : memref<8x32xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>, lamina.packing = #loop.packing<panel = 32>} {
  ^bb0(%a: f32, %b: f32):
    %v = arith.mulf %a, %b : f32
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @product
// CHECK-SAME:    lamina.schedule = [#loop.products<parallel>]
// CHECK-NOT:     slice

// -----

func.func private @wrong_jam(%x: memref<6x45xf32>, %y: memref<6xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<jam = 4>]} {
  loop.generic (i, j) in [6, 45] reads(%x[i, j] : memref<6x45xf32>) writes([i] add into %y : memref<6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: jam = 4: it divides the rows (6) of a kernel that only reduces them

// -----

func.func private @wrong_inner(%x: memref<6x45xf32>, %y: memref<6xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<inner = [1]>]} {
  loop.generic (i, j) in [6, 45] reads(%x[i, j] : memref<6x45xf32>) writes([i] add into %y : memref<6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: inner = [1]: rows of its kernel: 0 to 0

// -----

func.func private @wrong_tile(%x: memref<6x45xf32>, %y: memref<6xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, tile = 16>]} {
  loop.generic (i, j) in [6, 45] reads(%x[i, j] : memref<6x45xf32>) writes([i] add into %y : memref<6xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: tile: tasks would divide d1, which is reduced: 45 positions at least, which are all of it

// -----

func.func private @tiled_sums(%x: memref<6x45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<tile = 16>]} {
  loop.generic (i, j) in [6, 45] reads(%x[i, j] : memref<6x45xf32>) writes([j] add into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: inner, tile, jam: the kernel sums over rows; tasks are its rows in front of these

// -----

func.func private @parallel_sums(%x: memref<6x45xf32>, %y: memref<45xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j) in [6, 45] reads(%x[i, j] : memref<6x45xf32>) writes([j] add into %y : memref<45xf32>) attributes {lamina.nest = #loop.nest<rows = [d0]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: parallel: one task walks the rows that are summed over, and no row stands in front of them; here parallel = false

// -----

func.func private @wrong_pairs(%x: memref<48x128xbf16>, %y: memref<3x64x16x2xbf16>) attributes {lamina.kernel, lamina.schedule = [#loop.pairs<tile = 24>]} {
  loop.generic (t, p, n, e) in [3, 64, 16, 2] reads(%x[(t * 16) + n, (p * 2) + e] : memref<48x128xbf16>) writes([t, p, n, e] store into %y : memref<3x64x16x2xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3]>} {
  ^bb0(%v: bf16):
    loop.yield %v : bf16
  }
  func.return
}
// CHECK: error: loop.generic: lamina.schedule: tile = 24: a multiple of 16 that divides 64

// -----

// Rows that nothing reads are no tasks: of 2 x 128 rows, those whose second digit is below a count are.
func.func private @live(%x: memref<2x128x45xf32>, %n: memref<i64>, %y: memref<2x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel>]} {
  loop.generic (i, j, k) in [2, 128, 45] reads(%x[i, j, k] : memref<2x128x45xf32>) writes([i, j] add into %y : memref<2x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [2, arg1 of 128]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @live
// CHECK:         %[[COUNT:.*]] = loop.live_count(%n) in <[2, arg0 of 128]> : memref<i64>
// CHECK:         "scf.parallel"(%{{.*}}, %[[COUNT]], %{{.*}})
// CHECK:         ^bb0(%[[N:.*]]: index):
// CHECK:           %[[ROW:.*]] = loop.live_row %[[N]](%n) in <[2, arg0 of 128]> : memref<i64>
// CHECK:           loop.generic (d0, d1, d2) in [2, 128, 45] slice([d0, d1] = %[[ROW]])

// -----

// Pieces of one long row end behind the last that holds anything live.
func.func private @pieces(%x: memref<128x64xf32>, %n: memref<i64>, %y: memref<128x64xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [0], tile = 1024>]} {
  loop.generic (i, j) in [128, 64] reads(%x[i, j] : memref<128x64xf32>) writes([i, j] store into %y : memref<128x64xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [arg1 of 128, 64]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @pieces
// CHECK:         %[[ROWS:.*]] = loop.live_count(%n) in <[arg0 of 128]> : memref<i64>
// CHECK:         %[[LENGTH:.*]] = arith.muli %[[ROWS]], %{{.*}} : index
// CHECK:         %[[MORE:.*]] = arith.addi %[[LENGTH]], %{{.*}} : index
// CHECK:         %[[COUNT:.*]] = arith.divui %[[MORE]], %{{.*}} : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[COUNT]], %{{.*}})

// -----

// Rows that are reduced side by side are a quarter of those that count apart, and what is left runs by itself.
func.func private @side_by_side(%x: memref<128x64xf32>, %n: memref<i64>, %y: memref<128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, jam = 4>]} {
  loop.generic (i, j) in [128, 64] reads(%x[i, j] : memref<128x64xf32>) writes([i] add into %y : memref<128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0], live = [arg1 of 128]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @side_by_side
// CHECK:         %[[ROWS:.*]] = loop.live_count(%n) in <[arg0 of 128]> : memref<i64>
// CHECK:         %[[MANY:.*]] = arith.divui %[[ROWS]], %{{.*}} : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[MANY]], %{{.*}})
// CHECK-NEXT:    ^{{.*}}(%[[START:.*]]: index):
// CHECK-NEXT:      slice(d0 = %[[START]] x 4 step %[[MANY]])
// CHECK:         %[[DONE:.*]] = arith.muli %[[MANY]], %{{.*}} : index
// CHECK:         scf.for %[[ROW:.*]] = %[[DONE]] to %[[ROWS]] step
// CHECK:           slice(d0 = %[[ROW]])

// -----

// A row that is no task of its own ends none of them, also where there are as many of both.
func.func private @whole(%x: memref<128x128xf32>, %n: memref<i64>, %y: memref<128x128xf32>) attributes {lamina.kernel, lamina.schedule = [#loop.rows<parallel, inner = [1]>]} {
  loop.generic (i, j) in [128, 128] reads(%x[j, i] : memref<128x128xf32>) writes([i, j] store into %y : memref<128x128xf32>) attributes {lamina.nest = #loop.nest<rows = [d0, d1], live = [128, arg1 of 128]>} {
  ^bb0(%v: f32):
    loop.yield %v : f32
  }
  func.return
}
// CHECK-LABEL: @whole
// CHECK:         %[[ALL:.*]] = arith.constant 128 : index
// CHECK:         "scf.parallel"(%{{.*}}, %[[ALL]], %{{.*}})

// -----

// Nor are those of what is packed in pairs: of two batches of 4 x 3 tiles, those of heads below a count.
func.func private @live_pairs(%x: memref<2x4x48x128xbf16>, %n: memref<i64>, %y: memref<2x4x3x64x16x2xbf16>) attributes {lamina.kernel, lamina.schedule = [#loop.pairs<parallel, tile = 32>]} {
  loop.generic (b, h, t, p, n, e) in [2, 4, 3, 64, 16, 2] reads(%x[b, h, (t * 16) + n, (p * 2) + e] : memref<2x4x48x128xbf16>) writes([b, h, t, p, n, e] store into %y : memref<2x4x3x64x16x2xbf16>) attributes {lamina.nest = #loop.nest<rows = [d0, d1, d2, d3, d4], live = [2, arg1 of 4, 3, 64, 16]>} {
  ^bb0(%v: bf16):
    loop.yield %v : bf16
  }
  func.return
}
// CHECK-LABEL: @live_pairs
// CHECK:         %[[LIVE:.*]] = loop.live_count(%n) in <[2, arg0 of 4, 3]> : memref<i64>
// CHECK:         %[[COUNT:.*]] = arith.muli %[[LIVE]]
// CHECK:         "scf.parallel"(%{{.*}}, %[[COUNT]], %{{.*}})
// CHECK:           %[[ROW:.*]] = loop.live_row %{{.*}}(%n) in <[2, arg0 of 4, 3]> : memref<i64>
// CHECK:           slice([d0, d1, d2] = %[[ROW]], d3 = %{{.*}} x 32)
