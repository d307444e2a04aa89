// RUN: lamina-opt %s -p split-reductions --split-input-file | filecheck %s

// A long sum with one result becomes partial sums and their sum.
func.func @sum(%x: tensor<1048576xf32>) -> tensor<f32> {
  %s = loop.generic (d0) in [1048576] reads(%x[d0] : tensor<1048576xf32>)
      writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<f32>
}
// CHECK-LABEL: func.func @sum
// CHECK: %[[P:[^ ]*]] = loop.generic (d0, d1) in [16384, 64]
// CHECK-SAME: reads(%x[d0 + (d1 * 16384)] : tensor<1048576xf32>) writes([d1] add : tensor<64xf32>)
// CHECK: %[[J:[^ ]*]] = loop.generic (d0) in [64] reads(%[[P]][d0] : tensor<64xf32>) writes([] add : tensor<f32>)
// CHECK: func.return %[[J]]

// -----

// Many results are parallel as they are.
func.func @rows(%x: tensor<64x4096xf32>) -> tensor<64xf32> {
  %s = loop.generic (d0, d1) in [64, 4096] reads(%x[d0, d1] : tensor<64x4096xf32>)
      writes([d0] add : tensor<64xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<64xf32>
}
// CHECK-LABEL: func.func @rows
// CHECK: loop.generic (d0, d1) in [64, 4096]
// CHECK-NOT: loop.generic

// -----

// A prime extent has no equal parts, and a short reduction needs none.
func.func @prime(%x: tensor<65537xf32>, %y: tensor<512xf32>) -> (tensor<f32>, tensor<f32>) {
  %s = loop.generic (d0) in [65537] reads(%x[d0] : tensor<65537xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (d0) in [512] reads(%y[d0] : tensor<512xf32>) writes([] max : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func.func @prime
// CHECK: loop.generic (d0) in [65537]
// CHECK: loop.generic (d0) in [512]
// CHECK: func.return

// -----

// A body that asks for its position along the dimension finds it from the part and the place in it.
func.func @indexed(%x: tensor<65536xi64>) -> tensor<i64> {
  %s = loop.generic (d0) in [65536] reads(%x[d0] : tensor<65536xi64>) writes([] max : tensor<i64>) {
  ^bb0(%p: i64):
    %i = loop.index 0 : index
    %j = arith.index_cast %i : index to i64
    %v = arith.addi %p, %j : i64
    loop.yield %v : i64
  }
  func.return %s : tensor<i64>
}
// CHECK-LABEL: func.func @indexed
// CHECK: loop.generic (d0, d1) in [1024, 64] reads(%x[d0 + (d1 * 1024)]
// CHECK: %[[PLACE:.*]] = loop.index 0 : index
// CHECK: %[[PART:.*]] = loop.index 1 : index
// CHECK: %[[START:.*]] = arith.muli %[[PART]]
// CHECK: %[[AT:.*]] = arith.addi %[[PLACE]], %[[START]] : index
// CHECK: arith.index_cast %[[AT]] : index to i64
// CHECK: loop.generic (d0) in [64]

// -----

// Rows are summed in parts, each of which reads whole rows.
func.func @columns(%x: tensor<8192x2048xf32>) -> tensor<2048xf32> {
  %s = loop.generic (d0, d1) in [8192, 2048] reads(%x[d0, d1] : tensor<8192x2048xf32>)
      writes([d1] add : tensor<2048xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<2048xf32>
}
// CHECK-LABEL: func.func @columns
// CHECK: %[[P:[^ ]*]] = loop.generic (d0, d1, d2) in [16, 512, 2048]
// CHECK-SAME: reads(%x[(d0 * 512) + d1, d2] : tensor<8192x2048xf32>) writes([d0, d2] add : tensor<16x2048xf32>)
// CHECK: %[[J:[^ ]*]] = loop.generic (d0, d1) in [16, 2048] reads(%[[P]][d0, d1] : tensor<16x2048xf32>) writes([d1] add : tensor<2048xf32>)
// CHECK: func.return %[[J]]

// -----

// Sums that the rows themselves need afterwards stay whole, to share a kernel with what reads them;
// so do sums of what is computed here, and short ones.
func.func @shared(%x: tensor<8192x2048xf32>, %y: tensor<256x2048xf32>) -> (tensor<8192x2048xf32>, tensor<2048xf32>, tensor<2048xf32>) {
  %s = loop.generic (d0, d1) in [8192, 2048] reads(%x[d0, d1] : tensor<8192x2048xf32>) writes([d1] add : tensor<2048xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %d = loop.generic (d0, d1) in [8192, 2048] reads(%x[d0, d1] : tensor<8192x2048xf32>, %s[d1] : tensor<2048xf32>) writes([d0, d1] store : tensor<8192x2048xf32>) {
  ^bb0(%p: f32, %q: f32):
    %r = arith.subf %p, %q : f32
    loop.yield %r : f32
  }
  %t = loop.generic (d0, d1) in [8192, 2048] reads(%d[d0, d1] : tensor<8192x2048xf32>) writes([d1] add : tensor<2048xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %u = loop.generic (d0, d1) in [256, 2048] reads(%y[d0, d1] : tensor<256x2048xf32>) writes([d1] add : tensor<2048xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %d, %t, %u : tensor<8192x2048xf32>, tensor<2048xf32>, tensor<2048xf32>
}
// CHECK-LABEL: func.func @shared
// CHECK-NOT: [16,
// CHECK: func.return

// -----

// Tuples are split as numbers are: parts are runs of rows, and the region joins their results.
func.func @largest(%x: tensor<512x256xf32>) -> (tensor<f32>, tensor<i32>) {
  %v, %i = loop.generic (i, j) in [512, 256] reads(%x[i, j] : tensor<512x256xf32>)
      writes([] combine : tensor<f32>, [] combine : tensor<i32>) {
  ^bb0(%p: f32):
    %at = loop.index 0 : index
    %k = arith.index_cast %at : index to i32
    loop.yield %p, %k : f32, i32
  } combine(0xFF800000 : f32, 2147483647 : i32) {
  ^bb0(%a: f32, %m: i32, %b: f32, %n: i32):
    %above = arith.cmpf ogt, %a, %b : f32
    %value = arith.select %above, %a, %b : f32
    %place = arith.select %above, %m, %n : i32
    loop.yield %value, %place : f32, i32
  }
  func.return %v, %i : tensor<f32>, tensor<i32>
}
// CHECK-LABEL: func.func @largest
// CHECK: loop.generic (d0, d1, d2) in [8, 256, 64] reads(%x[d0 + (d2 * 8), d1] : tensor<512x256xf32>) writes([d2] combine : tensor<64xf32>, [d2] combine : tensor<64xi32>)
// CHECK: } combine(0xff800000 : f32, 2147483647 : i32) {
// CHECK: loop.generic (d0) in [64] reads(%{{.*}}[d0] : tensor<64xf32>, %{{.*}}[d0] : tensor<64xi32>) writes([] combine : tensor<f32>, [] combine : tensor<i32>)
// CHECK-NEXT: ^bb0(%[[V:.*]]: f32, %[[K:.*]]: i32):
// CHECK-NEXT: loop.yield %[[V]], %[[K]] : f32, i32
// CHECK-NEXT: } combine(0xff800000 : f32, 2147483647 : i32) {
// CHECK: arith.cmpf ogt

// -----

// Rows in front of the columns are tasks enough.
func.func @columns_of_rows(%x: tensor<64x512x256xf32>) -> tensor<64x256xf32> {
  %s = loop.generic (d0, d1, d2) in [64, 512, 256] reads(%x[d0, d1, d2] : tensor<64x512x256xf32>)
      writes([d0, d2] add : tensor<64x256xf32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s : tensor<64x256xf32>
}
// CHECK-LABEL: func.func @columns_of_rows
// CHECK: loop.generic (d0, d1, d2) in [64, 512, 256]
// CHECK-NEXT: ^bb0
// CHECK-NOT: loop.generic

// -----

// Exponentials are taken below the maximum of their part, and joined with it by one region.
func.func @log_sum_exp(%x: tensor<65536xf32>) -> (tensor<f32>, tensor<f32>) {
  %m = loop.generic (i) in [65536] reads(%x[i] : tensor<65536xf32>) writes([] max : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (i) in [65536] reads(%x[i] : tensor<65536xf32>, %m[] : tensor<f32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    %d = arith.subf %p, %q : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }
  func.return %m, %s : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func.func @log_sum_exp
// CHECK: %[[M:.*]] = loop.generic (d0, d1) in [1024, 64] {{.*}} writes([d1] max : tensor<64xf32>)
// CHECK: %[[ALL:.*]] = loop.generic (d0) in [64] reads(%[[M]][d0] : tensor<64xf32>) writes([] max : tensor<f32>)
// CHECK: %[[BELOW:.*]] = loop.generic (d0) in [64] reads(%[[M]][d0] : tensor<64xf32>) writes([d0] store : tensor<64xf32>)
// CHECK: %[[S:.*]] = loop.generic (d0, d1) in [1024, 64] reads(%{{.*}}, %[[BELOW]][d1] : tensor<64xf32>) writes([d1] add : tensor<64xf32>)
// CHECK: loop.generic (d0) in [64] reads(%[[M]][d0] : tensor<64xf32>, %[[S]][d0] : tensor<64xf32>) writes([] combine : tensor<f32>, [] combine : tensor<f32>)
// CHECK: } combine(0xff800000 : f32, 0.000000e+00 : f32) {
// CHECK: arith.maximumf
// CHECK-COUNT-2: math.exp

// -----

// Below another tensor's maximum they stay as they are.
func.func @below_another(%x: tensor<65536xf32>, %y: tensor<65536xf32>) -> tensor<f32> {
  %m = loop.generic (i) in [65536] reads(%y[i] : tensor<65536xf32>) writes([] max : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %s = loop.generic (i) in [65536] reads(%x[i] : tensor<65536xf32>, %m[] : tensor<f32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32, %q: f32):
    %d = arith.subf %p, %q : f32
    %e = math.exp %d : f32
    loop.yield %e : f32
  }
  func.return %s : tensor<f32>
}
// CHECK-LABEL: func.func @below_another
// CHECK-NOT: combine

// -----

// Parts are runs of memory: rows are divided, though they are fewer than the columns. Seven rows are
// too few for that.
func.func @matrix(%x: tensor<2048x3072xf32>, %y: tensor<7x65536xf32>) -> (tensor<f32>, tensor<f32>) {
  %s = loop.generic (d0, d1) in [2048, 3072] reads(%x[d0, d1] : tensor<2048x3072xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  %t = loop.generic (d0, d1) in [7, 65536] reads(%y[d0, d1] : tensor<7x65536xf32>) writes([] add : tensor<f32>) {
  ^bb0(%p: f32):
    loop.yield %p : f32
  }
  func.return %s, %t : tensor<f32>, tensor<f32>
}
// CHECK-LABEL: func.func @matrix
// CHECK: in [32, 3072, 64] reads(%x[d0 + (d2 * 32), d1] : tensor<2048x3072xf32>)
// CHECK: in [7, 1024, 64] reads(%y[d0, d1 + (d2 * 1024)] : tensor<7x65536xf32>)

// -----

// Each part is one position of a dimension that a mask ends: the join asks for the mask again, so that parts need be
// made no further. They are not dealt out then. Parts stand in front where rows of a few columns are side by side.
// CHECK-LABEL: @masked_positions
// CHECK:         [[PARTS:%\S+]] = loop.generic (d0, d1, d2, d3) in [64, 1, 4096, 5] reads(%mask[d0 + d1] : tensor<64xi1>, %x[d0 + d1, d2, d3] : tensor<64x4096x5xf32>) writes([d0, d3] add : tensor<64x5xf32>)
// CHECK:         loop.generic (d0, d1) in [64, 5] reads(%mask[d0] : tensor<64xi1>, [[PARTS]][d0, d1] : tensor<64x5xf32>) writes([d1] add : tensor<5xf32>)
// CHECK-NEXT:    ^bb0([[COUNTS:%\S+]]: i1, [[PART:%\S+]]: f32):
// CHECK-NEXT:      [[ZERO:%\S+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      [[CHOSEN:%\S+]] = arith.select [[COUNTS]], [[PART]], [[ZERO]] : f32
// CHECK-NEXT:      loop.yield [[CHOSEN]] : f32
func.func @masked_positions(%mask: tensor<64xi1>, %x: tensor<64x4096x5xf32>) -> tensor<5xf32> {
  %s = loop.generic (d0, d1, d2) in [64, 4096, 5] reads(%mask[d0] : tensor<64xi1>, %x[d0, d1, d2] : tensor<64x4096x5xf32>) writes([d2] add : tensor<5xf32>) {
  ^bb0(%m: i1, %a: f32):
    %i = loop.index 1 : index
    %z = arith.constant 0.0 : f32
    %c = arith.select %m, %a, %z : f32
    loop.yield %c : f32
  }
  func.return %s : tensor<5xf32>
}

// -----

// What a mask leaves out is added here, so that the join must not leave it out.
// CHECK-LABEL: @unlike_masks
// CHECK-NOT:     in [5, 64] reads(%mask
// CHECK:         func.return
func.func @unlike_masks(%mask: tensor<64xi1>, %x: tensor<64x4096x5xf32>) -> tensor<5xf32> {
  %s = loop.generic (d0, d1, d2) in [64, 4096, 5] reads(%mask[d0] : tensor<64xi1>, %x[d0, d1, d2] : tensor<64x4096x5xf32>) writes([d2] add : tensor<5xf32>) {
  ^bb0(%m: i1, %a: f32):
    %i = loop.index 1 : index
    %z = arith.constant 1.0 : f32
    %c = arith.select %m, %a, %z : f32
    loop.yield %c : f32
  }
  func.return %s : tensor<5xf32>
}

// -----

// CHECK-LABEL: @chosen_by_masks
// CHECK-NOT:     in [5, 64] reads(%mask
// CHECK:         func.return
func.func @chosen_by_masks(%mask: tensor<64xi1>, %x: tensor<64x4096x5xf32>) -> tensor<5xf32> {
  %s = loop.generic (d0, d1, d2) in [64, 4096, 5] reads(%mask[d0] : tensor<64xi1>, %x[d0, d1, d2] : tensor<64x4096x5xf32>) writes([d2] add : tensor<5xf32>) {
  ^bb0(%m: i1, %a: f32):
    %i = loop.index 1 : index
    %z = arith.constant 0.0 : f32
    %c = arith.select %m, %z, %a : f32
    loop.yield %c : f32
  }
  func.return %s : tensor<5xf32>
}

// -----

// Lines of images, of which a mask says how many count: each is a part of its own, so that loops over parts end there, too.
// CHECK-LABEL: @masked_lines
// CHECK:         [[PARTS:%\S+]] = loop.generic (d0, d1, d2, d3, d4) in [8, 4, 1, 256, 256] reads(%mask[d2 + d4] : tensor<256xi1>, %x[(d0 * 4) + d1, d2 + d4, d3] : tensor<32x256x256xf32>) writes([d0, d4] add : tensor<8x256xf32>)
// CHECK:         loop.generic (d0, d1) in [8, 256] reads(%mask[d1] : tensor<256xi1>, [[PARTS]][d0, d1] : tensor<8x256xf32>) writes([d0] add : tensor<8xf32>)
func.func @masked_lines(%mask: tensor<256xi1>, %x: tensor<32x256x256xf32>) -> tensor<8xf32> {
  %s = loop.generic (g, c, y, x) in [8, 4, 256, 256] reads(%mask[y] : tensor<256xi1>, %x[(g * 4) + c, y, x] : tensor<32x256x256xf32>) writes([g] add : tensor<8xf32>) {
  ^bb0(%m: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %e = arith.select %m, %v, %zero : f32
    loop.yield %e : f32
  }
  func.return %s : tensor<8xf32>
}

// -----

// Not single elements: parts of these have several.
// CHECK-LABEL: @masked_elements
// CHECK-NOT:     in [8, 1, 256, 256]
// CHECK:         writes([d0, ((d{{.}} * 16) + (d{{.}} * {{.}})) + d{{.}}] add : tensor<8x{{64|128}}xf32>)
func.func @masked_elements(%mask: tensor<65536xi1>, %x: tensor<8x65536xf32>) -> tensor<8xf32> {
  %s = loop.generic (g, x) in [8, 65536] reads(%mask[x] : tensor<65536xi1>, %x[g, x] : tensor<8x65536xf32>) writes([g] add : tensor<8xf32>) {
  ^bb0(%m: i1, %v: f32):
    %zero = arith.constant 0.0 : f32
    %e = arith.select %m, %v, %zero : f32
    loop.yield %e : f32
  }
  func.return %s : tensor<8xf32>
}
